"""How tests draw objects that change, and ranges."""

import math

from hypothesis import strategies as st

from skyband.workload.course import Course
from skyband.workload.draw import KS, Batch, Draws, Row, spans


@st.composite
def _changes(draw: st.DrawFn) -> Row:
    row: Row = {"object": draw(st.integers(0, 6)), "x": draw(st.integers(0, 3).map(float))}
    return row | {"y": draw(st.sampled_from([None, 0.0, 1.0, 2.0, 3.0]))}


@st.composite
def _lives(draw: st.DrawFn) -> list[Row]:
    """One object that swings between two places, is deleted, and is born again."""
    states: list[Row] = []
    for n_places in draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)):
        states += [{"x": 3.0 * (i % 2), "y": draw(st.sampled_from([0.0, 1.0]))} for i in range(n_places)]
        states.append({"x": 0.0, "y": None})
    return states[: draw(st.sampled_from([-1, None]))]


class RangesDraws(Draws):
    """Few objects in few places, and ranges that often have no end."""

    subscriptions = st.builds(lambda span, k: span | {"k": k}, spans(), KS)
    publications = _changes()
    has_streams = True

    def batches(self, most: int) -> st.SearchStrategy[Batch]:
        """Every other batch is lives of one object, none of it late.

        Rows drawn one by one hardly ever tell an object, lose it, delete it, and tell and lose it again in one batch.
        """
        lives = _lives().map(lambda states: [(st.integers(0, 1), {"object": 0} | state) for state in states])
        return st.one_of(lives, super().batches(most))

    def question(self, course: Course) -> Row:
        """A range."""
        lo, hi = sorted(course.draw.choice((-math.inf, 0.0, 1.0, 2.0, 9.0, math.inf)) for _ in range(2))
        return {"lo": lo, "hi": hi}

    def content(self, course: Course, i: int) -> Row:
        """A change of one of some objects, at times its end."""
        far = course.height(i)
        y = None if course.draw.random() < 0.15 else far
        return {"object": course.draw.randrange(max(3, course.n // 6)), "x": float(course.draw.randrange(10)), "y": y}


DRAWS = RangesDraws()
