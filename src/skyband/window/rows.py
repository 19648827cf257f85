"""The window family: points in space, and subscriptions that rank them over a sliding window."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Floats, Int8s, Int64s
from skyband.table.identity import unique_ids
from skyband.table.operation import published
from skyband.table.plain import Doubtful, PlainRows, Row
from skyband.table.scalar import filled, null_mask, texts
from skyband.table.settings import Settings, Windows
from skyband.table.sieve import Parsed, Sieve, any_of
from skyband.table.subscription import LARGEST_K, WINDOW_COLUMNS, keep_windows, ks, plain_windows, thresholds, windows
from skyband.table.vector import Lists, all_finite, dense, dimensions, no_nulls, vectors
from skyband.topk.score import FORMS, scores

SCORES = [form.name for form in FORMS.values()]
BY_NAME = {form.name: form for form in FORMS.values()}

PUBLICATIONS = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("point", pa.list_(pa.float64()))])
SUBSCRIPTIONS = pa.schema(
    [
        ("id", pa.string()),
        ("k", pa.int64()),
        ("score", pa.string()),
        ("point", pa.list_(pa.float64())),
        ("weights", pa.list_(pa.float64())),
        ("window_us", pa.int64()),
        ("window_n", pa.int64()),
        ("threshold", pa.float64()),
    ]
)


class Publications(NamedTuple):
    """Points and when they were published; `points` has one row each."""

    ids: Any
    ts: Int64s
    points: Floats


class Subscriptions(NamedTuple):
    """Subscriptions to the k best points of a window.

    `score` holds the values of `Score`. `points` is the centre of a distance, and the weight vector of sum
    and cosine; `weights` the attribute weights of chebyshev, 1.0 elsewhere; `threshold` NaN when not Boolean.
    """

    ids: Any
    k: Int64s
    score: Int8s
    points: Floats
    weights: Floats
    window: Windows
    threshold: Floats


def parse_publications(table: pa.Table, settings: Settings) -> Parsed[Publications]:
    """The publications of a table with the columns of `PUBLICATIONS`."""
    sieve = Sieve(table, "window publications")
    sieve.require("id", "ts", "point")
    ids, ts = published(sieve)
    points = vectors(sieve, "point")
    sieve.reject(points.null, "point", "point must not be null")
    _usable(sieve, "point", points)
    dims = dimensions(sieve, settings, {"point": points})
    rows = Publications(sieve.keep_arrow(ids), sieve.keep(ts), dense(sieve, points, dims, np.nan))
    return sieve.done(rows)


def read_publications(rows: list[Row], settings: Settings) -> Publications:
    """Few plain publications as `parse_publications` reads them, or `Doubtful`."""
    plain = PlainRows(rows, frozenset({"id", "ts", "point"}))
    return Publications(plain.ids(), plain.times(), plain.vectors("point", settings.dims))


def read_subscriptions(rows: list[Row], settings: Settings) -> Subscriptions:
    """Few plain subscriptions that have the same columns as `parse_subscriptions` reads them, or `Doubtful`."""
    plain = PlainRows(rows, frozenset({"id", "k", "score"}), WINDOW_COLUMNS | {"point", "weights"})
    if plain.has("point") == plain.has("weights"):
        raise Doubtful
    given = "point" if plain.has("point") else "weights"
    forms = [BY_NAME.get(name) if type(name) is str else None for name in plain.column("score")]
    if any(form is None or form.on_sphere or form.vector not in (given, "either") for form in forms):
        raise Doubtful
    vectors = plain.vectors(given, settings.dims)
    return Subscriptions(
        plain.ids(),
        plain.integers("k", 1, LARGEST_K),
        np.array([form.score for form in forms if form is not None], np.int8),
        vectors,
        np.ones(vectors.shape),
        plain_windows(plain, settings),
        np.full(len(plain), np.nan),
    )


def parse_subscriptions(table: pa.Table, settings: Settings) -> Parsed[Subscriptions]:
    """The subscriptions of a table with the columns of `SUBSCRIPTIONS`."""
    sieve = Sieve(table, "window subscriptions")
    sieve.require("id", "score", "k or threshold", "point or weights")
    ids = unique_ids(sieve)
    threshold = thresholds(sieve)
    k = ks(sieve, ~np.isnan(threshold))
    score = _scores(sieve)
    window = windows(sieve, settings)
    points, weights = vectors(sieve, "point"), vectors(sieve, "weights")
    _check_vectors(sieve, score, points, weights)
    dims = dimensions(sieve, settings, {"point": points, "weights": weights})
    keep = sieve.keep
    matrices = _matrices(sieve, keep(score), points, weights, dims)
    rows = Subscriptions(
        sieve.keep_arrow(ids), keep(k), keep(score), *matrices, keep_windows(sieve, window), keep(threshold)
    )
    return sieve.done(rows)


def _scores(sieve: Sieve) -> Int8s:
    names = texts(sieve, "score")
    sieve.reject(null_mask(names), "score", "score must not be null")
    found = pc.index_in(names, value_set=pa.array(SCORES))
    unknown = null_mask(found) & ~null_mask(names)
    sieve.reject(unknown, "score", f"score must be one of {', '.join(SCORES)}")
    numbers: Int8s = np.array(list(FORMS), np.int8)[filled(found, 0)]
    return numbers


def _usable(sieve: Sieve, name: str, lists: Lists) -> None:
    no_nulls(sieve, name, lists)
    all_finite(sieve, name, lists)


def _check_vectors(sieve: Sieve, score: Int8s, points: Lists, weights: Lists) -> None:
    """Each score has the vectors it needs; one that it has no use for is ignored, as an unknown column is."""
    _usable(sieve, "point", points)
    _usable(sieve, "weights", weights)
    for form in FORMS.values():
        at, name = score == form.score, form.name
        if form.vector == "either":
            sieve.reject(at & points.null & weights.null, "weights", f"{name} needs weights or a point")
            sieve.reject(at & ~points.null & ~weights.null, "point", f"{name} takes weights or a point, not both")
        elif form.vector == "point":
            sieve.reject(at & points.null, "point", f"{name} needs a point")
        else:
            sieve.reject(at & weights.null, "weights", f"{name} needs weights")
        if form.on_sphere:
            _check_places(sieve, at, name, points)
        if form.weighs:
            negative = any_of(weights.rows, weights.values < 0, sieve.n_rows) & at
            sieve.reject(negative, "weights", f"{name} weights must not be negative")
    uneven = ~points.null & ~weights.null & (points.lengths != weights.lengths)
    sieve.reject(uneven, "weights", "weights must hold as many numbers as point")


def _check_places(sieve: Sieve, at: Bools, name: str, points: Lists) -> None:
    """A place is a longitude and a latitude, and nothing else."""
    sieve.reject(at & (points.lengths != 2), "point", f"{name} needs a longitude and a latitude")
    limits = np.where(np.arange(len(points.values)) == points.offsets[points.rows], 180.0, 90.0)
    outside = any_of(points.rows, ~(np.abs(points.values) <= limits), sieve.n_rows)
    reason = f"{name} needs a longitude from -180 to 180 and a latitude from -90 to 90"
    sieve.reject(at & outside, "point", reason)


def _matrices(sieve: Sieve, score: Int8s, points: Lists, weights: Lists, dims: int) -> tuple[Floats, Floats]:
    vectors = dense(sieve, points, dims, np.nan)
    given = dense(sieve, weights, dims, 1.0)
    from_weights = points.null[~sieve.bad] | np.isin(score, scores(lambda form: form.vector == "weights"))
    vectors[from_weights] = given[from_weights]
    given[~np.isin(score, scores(lambda form: form.weighs))] = 1.0
    return vectors, given
