"""Small worlds of subscriptions and publications that collide on purpose, and who reaches whom in them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from skyband.contract import find_engine
from skyband.contract.reading import read_publications, read_subscriptions
from skyband.table import UNBOUNDED, Bounds, Settings, Window

Row = dict[str, Any]
Scores = dict[tuple[Any, Any], float]

FAMILIES = ("window", "geotext", "ranges", "ranked")
DIMS = {"window": 2, "geotext": None, "ranges": 2, "ranked": 3}
SCORES = ["euclidean", "chebyshev", "sum", "cosine", "geodesic"]
RANKED_OPTIONS = [
    {"matching": matching, "interval": interval}
    for matching in ("relaxed", "exact")
    for interval in ("overlap", "inside")
]

# Few numbers, so that many are equal; and some whose squares are as large as is allowed, or vanish.
FEW_NUMBERS = st.integers(-3, 3).map(float)
NUMBERS = st.one_of(
    FEW_NUMBERS,
    st.sampled_from([0.1, 1 / 3, -1 / 3, 1e150, -1e150, 1e-100, 1e-162, -1e-162, 5e-324]),
    st.floats(-1e150, 1e150),
    st.floats(-3.0, 3.0),
)
WORDS = st.sampled_from(["jazz", "été", "e\u0301te\u0301", "猫", "😀", "", "a", "a\0", "zz"])
PROPORTIONS = st.one_of(st.integers(1, 3).map(float), st.sampled_from([1e-8, 1e-200, 0.3]))
ALPHAS = st.one_of(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.floats(0.0, 1.0))


UNIT = Bounds(0, 0, 1, 1)


def settings_of(family: str, bounds: Bounds = UNIT, window: Window = UNBOUNDED) -> Settings:
    """The settings of a family."""
    return Settings(dims=DIMS[family], bounds=bounds, window=window)


def subscriptions_of(family: str, rows: list[Row], settings: Settings) -> Any:
    """Subscriptions with the numbers from 0 as ids."""
    numbered = [{"id": i} | row for i, row in enumerate(rows)]
    return read_subscriptions(family, numbered, settings).parsed.rows


def publications_of(family: str, rows: list[Row], settings: Settings) -> Any:
    """Publications with the numbers from 0 as ids and times."""
    numbered = [{"id": i, "ts": i} | row for i, row in enumerate(rows)]
    return read_publications(family, numbered, settings).parsed.rows


def alone(family: str, subscriptions: list[Row], publications: list[Row], settings: Settings) -> Scores:
    """The score of each publication in the top of each subscription where there is nothing else, if it is in there."""
    found: Scores = {}
    for options in RANKED_OPTIONS if family == "ranked" else [{}]:
        for j, publication in enumerate(publications):
            engine = find_oracle(family)(settings, granularity="batch", on_error="raise", **options)
            engine.subscribe([{"id": i} | row for i, row in enumerate(subscriptions)])
            for change in engine.publish([{"id": j, "ts": j} | publication]).to_pylist():
                found[change["subscription"], j] = change["score"]
    return found


_ORACLES: dict[str, Callable[..., Any]] = {}


def find_oracle(family: str) -> Callable[..., Any]:
    """The engine that defines the answers of a family."""
    if family not in _ORACLES:
        _ORACLES[family] = find_engine(family, "oracle")
    return _ORACLES[family]


def unit(numbers: list[float]) -> list[float]:
    """Weights in these proportions, of unit length."""
    length = math.sqrt(math.fsum(n * n for n in numbers))
    return [n / length for n in numbers]


class Style(NamedTuple):
    """What the rows of a world have in common."""

    bounds: Bounds
    numbers: st.SearchStrategy[float]
    scores: list[str]


@st.composite
def styles(draw: st.DrawFn) -> Style:
    """A space of ordinary, very large or very small extent, few numbers or many, one score or all."""
    size = draw(st.sampled_from([1.0, 1.0, 3.0, 1e150, 1e-100]))
    bounds = Bounds(-size if draw(st.booleans()) else 0.0, 0.0, size, size)
    scores = draw(st.sampled_from([[score] for score in SCORES] + [SCORES]))
    return Style(bounds, draw(st.sampled_from([FEW_NUMBERS, NUMBERS])), scores)


@st.composite
def _words(draw: st.DrawFn, least: int) -> Row:
    terms = draw(st.lists(WORDS, min_size=least, max_size=4, unique=True))
    weights = [draw(PROPORTIONS) for _ in terms]
    # At least one of them must not vanish beside 1.
    return {"terms": terms, "weights": unit([1.0, *weights[1:]]) if terms else []}


def _place(draw: st.DrawFn, bounds: Bounds) -> Row:
    share = st.one_of(st.integers(0, 2).map(lambda n: n / 2), st.floats(0.0, 1.0))
    x, y = draw(share), draw(share)
    return {
        "x": min(bounds.x_min + x * (bounds.x_max - bounds.x_min), bounds.x_max),
        "y": min(bounds.y_min + y * (bounds.y_max - bounds.y_min), bounds.y_max),
    }


@st.composite
def _window_subscription(draw: st.DrawFn, style: Style) -> Row:
    score = draw(st.sampled_from(style.scores))
    row: Row = {"k": draw(st.integers(1, 3)), "score": score, "point": None, "weights": None, "threshold": None}
    row["weights" if score == "sum" else "point"] = [draw(style.numbers), draw(style.numbers)]
    if score == "geodesic":
        row["point"] = [draw(st.floats(-180.0, 180.0)), draw(st.floats(-90.0, 90.0))]
    if score == "chebyshev":
        row["weights"] = [abs(draw(style.numbers)), abs(draw(style.numbers))]
    if draw(st.integers(0, 2)) == 0:
        row["threshold"] = draw(st.one_of(st.sampled_from([-1.0, 0.0, 1.0, 2.0]), style.numbers))
    return row


@st.composite
def _geotext_subscription(draw: st.DrawFn, style: Style) -> Row:
    threshold = draw(st.one_of(st.none(), st.none(), st.sampled_from([0.2, 0.5, 1.0]), st.floats(-0.5, 1.5)))
    row: Row = {"k": draw(st.integers(1, 3)), "alpha": draw(ALPHAS), "threshold": threshold}
    return row | _place(draw, style.bounds) | draw(_words(1))


@st.composite
def _range(draw: st.DrawFn, style: Style) -> Row:
    ends = st.one_of(style.numbers, st.sampled_from([-math.inf, math.inf]))
    pairs = [sorted([draw(ends), draw(ends)]) for _ in range(2)]
    return {"k": draw(st.integers(1, 3)), "lo": [pair[0] for pair in pairs], "hi": [pair[1] for pair in pairs]}


@st.composite
def _intervals(draw: st.DrawFn, style: Style) -> Row:
    """Parts in a few of the dimensions, seldom open on both sides or none at all, which every event reaches."""
    dims = draw(st.lists(st.integers(0, 2), min_size=draw(st.sampled_from([0, 1, 1, 1])), max_size=2, unique=True))
    ends = st.one_of(style.numbers, style.numbers, style.numbers, st.sampled_from([-math.inf, math.inf]))
    pairs = [sorted([draw(ends), draw(ends)]) for _ in dims]
    return {"dims": dims, "lo": [pair[0] for pair in pairs], "hi": [pair[1] for pair in pairs]}


@st.composite
def _event(draw: st.DrawFn, style: Style) -> Row:
    point = [draw(st.one_of(st.none(), style.numbers)) for _ in range(3)]
    upper = [None if x is None else draw(st.sampled_from([None, max(x, 0.0), max(x, 2.0)])) for x in point]
    return {"point": point, "upper": upper}


@st.composite
def _object_change(draw: st.DrawFn, style: Style) -> Row:
    y = draw(st.sampled_from([None, 0.0, 1.0]))
    x = [draw(style.numbers), draw(style.numbers)]
    return {"object": draw(st.integers(0, 3)), "y": y, "x": None if y is None and draw(st.booleans()) else x}


@st.composite
def _message(draw: st.DrawFn, style: Style) -> Row:
    return _place(draw, style.bounds) | draw(_words(0))


@st.composite
def _point(draw: st.DrawFn, style: Style) -> Row:
    return {"point": [draw(style.numbers), draw(style.numbers)]}


SUBSCRIPTION = {
    "window": _window_subscription,
    "geotext": _geotext_subscription,
    "ranges": _range,
    "ranked": _intervals,
}
PUBLICATION = {"window": _point, "geotext": _message, "ranges": _object_change, "ranked": _event}


def is_at_least(score: float, other: float, ascending: bool) -> bool:
    """Whether a score is as good as another one."""
    return score <= other if ascending else score >= other


def is_ascending(row: Row) -> bool:
    """Whether smaller scores are better for a subscription."""
    return row.get("score") in ("euclidean", "chebyshev")


def columns(values: list[float], times: list[int]) -> tuple[Any, Any]:
    """Worst scores and the times they hold until, as arrays."""
    return np.array(values, np.float64), np.array(times, np.int64)
