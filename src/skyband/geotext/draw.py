"""How tests draw messages, and subscriptions to a few words at a few places."""

import math

from hypothesis import strategies as st

from skyband.workload.course import Course
from skyband.workload.draw import KS, Draws, Row, windows

WORDS = ["jazz", "été", "猫", "a", "zz"]


def unit(numbers: list[int]) -> list[float]:
    """Weights in these proportions, of unit length."""
    length = math.sqrt(sum(n * n for n in numbers))
    return [n / length for n in numbers]


@st.composite
def _words(draw: st.DrawFn, least: int) -> Row:
    terms = draw(st.lists(st.sampled_from(WORDS), min_size=least, max_size=3, unique=True))
    counts = draw(st.lists(st.integers(1, 2), min_size=len(terms), max_size=len(terms)))
    return {"terms": terms, "weights": unit(counts) if terms else []}


@st.composite
def _places(draw: st.DrawFn) -> Row:
    return {"x": draw(st.integers(0, 2)) / 2, "y": draw(st.integers(0, 2)) / 2}


@st.composite
def _subscriptions(draw: st.DrawFn) -> Row:
    row: Row = {"k": draw(KS), "alpha": draw(st.sampled_from([0.0, 0.3, 1.0])), "threshold": None}
    if draw(st.integers(0, 3)) == 0:
        row["threshold"] = draw(st.sampled_from([0.2, 0.7]))
    return row | draw(_places()) | draw(_words(1)) | draw(windows())


class GeotextDraws(Draws):
    """Few words, and nine places."""

    subscriptions = _subscriptions()
    publications = st.builds(lambda place, words: place | words, _places(), _words(0))
    has_streams = True

    def question(self, course: Course) -> Row:
        """Words at the origin, or beside it."""
        row = _place(course, 0.0) | _few(course, 1) | {"alpha": course.draw.choice((0.0, 0.3, 0.9, 1.0))}
        return row | {"threshold": course.draw.choice((None, None, None, 0.2, 0.7))}

    def content(self, course: Course, i: int) -> Row:
        """A message with up to three words."""
        return _place(course, course.height(i)) | _few(course, 0)


def _place(course: Course, far: float) -> Row:
    along = min(far / (course.n + course.width + 1), 1.0)
    return {"x": along, "y": course.draw.choice((0.0, along, course.draw.random()))}


def _few(course: Course, least: int) -> Row:
    terms = course.draw.sample(WORDS, course.draw.randint(least, 3))
    return {"terms": terms, "weights": unit([course.draw.randint(1, 3) for _ in terms]) if terms else []}


DRAWS = GeotextDraws()
