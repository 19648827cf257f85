"""Rows that collide on purpose: few distinct numbers, few words, few ids, times that repeat and go back."""

import math
from typing import Any

from hypothesis import strategies as st

Row = dict[str, Any]

SCORES = ["euclidean", "chebyshev", "sum", "cosine", "geodesic"]
WORDS = ["jazz", "été", "猫", "a", "zz"]
NUMBERS = st.integers(-2, 2).map(float)
KS = st.sampled_from([1, 1, 2, 3, 12])
WEIGHTS = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.1])
RANKED_DIMS = 3
IDS = {
    "integer": [*range(-3, 24), 2**62],
    "text": ["", "a", "b", "ab", "é", "e\u0301", "猫", "😀", "\uffff", "z" * 40],
}
IDS["text"] += [f"p{i}" for i in range(16)]


def window_of(draw: st.DrawFn) -> Row:
    """A window of its own, of either kind, or none."""
    kind = draw(st.sampled_from(["window_us", "window_n", None]))
    return {"window_us": None, "window_n": None} | ({kind: draw(st.integers(1, 8))} if kind else {})


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
def _place(draw: st.DrawFn) -> Row:
    return {"x": draw(st.integers(0, 2)) / 2, "y": draw(st.integers(0, 2)) / 2}


@st.composite
def _window_subscription(draw: st.DrawFn) -> Row:
    score = draw(st.sampled_from(SCORES))
    vector = draw(st.tuples(NUMBERS, NUMBERS).map(list))
    row: Row = {"k": draw(KS), "score": score, "point": None, "weights": None, "threshold": None}
    row["weights" if score == "sum" else "point"] = vector
    if score == "chebyshev" and draw(st.booleans()):
        row["weights"] = draw(st.sampled_from([[0.0, 1.0], [2.0, 1.0]]))
    if draw(st.integers(0, 3)) == 0:
        row["threshold"] = draw(st.sampled_from([-1.0, 0.0, 1.0, 2.0])) * (120_000.0 if score == "geodesic" else 1.0)
        row["k"] = draw(st.sampled_from([None, 1, 3]))
    return row | window_of(draw)


@st.composite
def _geotext_subscription(draw: st.DrawFn) -> Row:
    row: Row = {"k": draw(KS), "alpha": draw(st.sampled_from([0.0, 0.3, 1.0])), "threshold": None}
    if draw(st.integers(0, 3)) == 0:
        row["threshold"] = draw(st.sampled_from([0.2, 0.7]))
    return row | draw(_place()) | draw(_words(1)) | window_of(draw)


@st.composite
def _range(draw: st.DrawFn) -> Row:
    ends = [draw(st.sampled_from([-math.inf, 0.0, 1.0, 2.0, 3.0, math.inf])) for _ in range(2)]
    lo, hi = min(ends), max(ends)
    return {"lo": lo, "hi": hi, "k": draw(KS)}


@st.composite
def _intervals(draw: st.DrawFn) -> Row:
    """Intervals in every dimension, or in those that are listed; open sides and weights of 0 among them."""
    dims = list(range(RANKED_DIMS))
    row: Row = {"dims": None}
    if draw(st.integers(0, 2)) == 0:
        dims = row["dims"] = draw(st.lists(st.sampled_from(dims), max_size=RANKED_DIMS, unique=True))
    pairs = [draw(_range()) for _ in dims]
    row["lo"] = [None if pair["lo"] < 0.0 and draw(st.booleans()) else pair["lo"] for pair in pairs]
    row["hi"] = [pair["hi"] for pair in pairs]
    row["weights"] = draw(st.one_of(st.none(), st.tuples(*(WEIGHTS for _ in dims)).map(list)))
    return row | {"budget": draw(st.sampled_from([None, None, None, 0, 1, 2]))}


@st.composite
def _revision(draw: st.DrawFn) -> Row:
    """Anything that an update may give: intervals, weights, both, or a budget alone; or nothing, which is rejected."""
    row = draw(_intervals())
    if draw(st.booleans()):
        row |= {"lo": None, "hi": None}
        if row["weights"] is None:
            row["dims"] = None
    return row


@st.composite
def _event(draw: st.DrawFn) -> Row:
    point = [draw(st.one_of(st.none(), NUMBERS, NUMBERS)) for _ in range(RANKED_DIMS)]
    upper = None
    if draw(st.booleans()):
        upper = [None if x is None else draw(st.sampled_from([None, x, x + 1.0, 3.0])) for x in point]
    return {"point": point, "upper": upper, "k": draw(st.sampled_from([None, None, 1, 2, 12]))}


@st.composite
def _object_change(draw: st.DrawFn) -> Row:
    row: Row = {"object": draw(st.integers(0, 6)), "x": draw(st.integers(0, 3).map(float))}
    return row | {"y": draw(st.sampled_from([None, 0.0, 1.0, 2.0, 3.0]))}


SUBSCRIPTIONS = {
    "window": _window_subscription(),
    "geotext": _geotext_subscription(),
    "ranges": _range(),
    "ranked": _intervals(),
}

PUBLICATIONS = {
    "window": st.builds(lambda x, y: {"point": [x, y]}, NUMBERS, NUMBERS),
    "geotext": st.builds(lambda place, words: place | words, _place(), _words(0)),
    "ranges": _object_change(),
    "ranked": _event(),
}


@st.composite
def _lives(draw: st.DrawFn) -> list[Row]:
    """One object that swings between two places, is deleted, and is born again."""
    states: list[Row] = []
    for n_places in draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)):
        states += [{"x": 3.0 * (i % 2), "y": draw(st.sampled_from([0.0, 1.0]))} for i in range(n_places)]
        states.append({"x": 0.0, "y": None})
    return states[: draw(st.sampled_from([-1, None]))]


@st.composite
def batches(draw: st.DrawFn, family: str, most: int) -> list[tuple[st.SearchStrategy[int], Row]]:
    """Publications without ids, each with what draws how much later it is than the latest before it; some may be late.

    Every other batch of ranges is lives of one object, none of it late: rows drawn one by one hardly ever tell an
    object, lose it, delete it, and tell and lose it again within one batch.
    """
    if family == "ranges" and draw(st.booleans()):
        return [(st.integers(0, 1), {"object": 0} | state) for state in draw(_lives())]
    contents = draw(st.lists(PUBLICATIONS[family], min_size=1, max_size=most))
    return [(st.integers(-7, 4), content) for content in contents]


# What a subscription of ranked may be updated with, but for its id.
UPDATES = _revision()
