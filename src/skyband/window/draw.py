"""How tests draw points, and subscriptions of every score."""

from hypothesis import strategies as st

from skyband.workload.course import Course
from skyband.workload.draw import KS, NUMBERS, Draws, Row, windows

SCORES = ["euclidean", "chebyshev", "sum", "cosine", "geodesic"]
# Distances on Earth are in metres.
FAR = 120_000.0


@st.composite
def _subscriptions(draw: st.DrawFn) -> Row:
    score = draw(st.sampled_from(SCORES))
    vector = draw(st.tuples(NUMBERS, NUMBERS).map(list))
    row: Row = {"k": draw(KS), "score": score, "point": None, "weights": None, "threshold": None}
    row["weights" if score == "sum" else "point"] = vector
    if score == "chebyshev" and draw(st.booleans()):
        row["weights"] = draw(st.sampled_from([[0.0, 1.0], [2.0, 1.0]]))
    if draw(st.integers(0, 3)) == 0:
        row["threshold"] = draw(st.sampled_from([-1.0, 0.0, 1.0, 2.0])) * (FAR if score == "geodesic" else 1.0)
        row["k"] = draw(st.sampled_from([None, 1, 3]))
    return row | draw(windows())


class WindowDraws(Draws):
    """Points that lie on each other, and vectors that are 0."""

    subscriptions = _subscriptions()
    publications = st.builds(lambda x, y: {"point": [x, y]}, NUMBERS, NUMBERS)
    has_streams = True

    def question(self, course: Course) -> Row:
        """A score, with few vectors."""
        draw = course.draw
        named = SCORES if course.order in ("random", "ties") else SCORES[:3]
        score = draw.choice([score for score in named if course.dims == 2 or score != "geodesic"])
        vector = [draw.choice((0.0, 0.0, 1.0, -2.0)) for _ in range(course.dims)]
        row: Row = {"score": score, "point": None, "weights": None, "threshold": None}
        row["weights" if score == "sum" else "point"] = vector
        if draw.random() < 0.1:
            row["threshold"] = draw.randrange(1, 4) * (FAR if score == "geodesic" else 1.0)
        return row

    def content(self, course: Course, i: int) -> Row:
        """A point on the first axis, or near it."""
        far = course.height(i)
        turned = [
            course.draw.choice((-1.0, 0.0, 1.0)) if course.order == "ties" else 0.0 for _ in range(course.dims - 1)
        ]
        return {"point": [far, *turned]}


DRAWS = WindowDraws()
