"""The ranked family: events with missing dimensions, and weighted intervals ranked by how well they match."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Floats, Int32s, Int64s
from skyband.ranked.part import columns, flatten, known_dims, only_parts
from skyband.table.identity import unique_ids
from skyband.table.instant import instants
from skyband.table.plain import Doubtful, PlainRows, Row
from skyband.table.scalar import integers
from skyband.table.settings import Settings
from skyband.table.sieve import Parsed, Sieve, any_of
from skyband.table.subscription import LARGEST_K, boxes
from skyband.table.vector import Lists, all_finite, dense, dimensions, vectors

_NUMBERS = pa.list_(pa.float64())

PUBLICATIONS = pa.schema(
    [("id", pa.string()), ("ts", pa.int64()), ("point", _NUMBERS), ("upper", _NUMBERS), ("k", pa.int64())]
)
SUBSCRIPTIONS = pa.schema(
    [
        ("id", pa.string()),
        ("lo", _NUMBERS),
        ("hi", _NUMBERS),
        ("weights", _NUMBERS),
        ("dims", pa.list_(pa.int64())),
        ("budget", pa.int64()),
    ]
)

UNLIMITED = -1


class Publications(NamedTuple):
    """Events: the intervals from `points` to `upper`, which are equal for a point.

    NaN is a dimension that the event does not have; `k` is 0 where the event leaves it to the engine.
    """

    ids: Any
    ts: Int64s
    points: Floats
    upper: Floats
    k: Int64s


class Subscriptions(NamedTuple):
    """Closed weighted intervals in some of the dimensions; a side may be infinite.

    The parts of row i are those from `offsets[i]` to `offsets[i + 1]`, dimensions ascending. `budget` is UNLIMITED
    where none is given. `dims` is how many dimensions there are, 0 where nobody said.
    """

    ids: Any
    offsets: Int64s
    dim: Int32s
    lo: Floats
    hi: Floats
    weight: Floats
    budget: Int64s
    dims: int = 0

    @staticmethod
    def ragged() -> tuple[str, ...]:
        """The fields that `offsets` cuts into rows."""
        return ("dim", "lo", "hi", "weight")


class Updates(NamedTuple):
    """What shall change: intervals where `boxed`, weights where `weighed`, the budget where it is not UNLIMITED.

    Entries lie as in `Subscriptions`; NaN is what is not given. Where both are given, or intervals alone, dimensions
    that are not listed are not asked about any more.
    """

    ids: Any
    offsets: Int64s
    dim: Int32s
    lo: Floats
    hi: Floats
    weight: Floats
    budget: Int64s
    boxed: Bools
    weighed: Bools

    @staticmethod
    def ragged() -> tuple[str, ...]:
        """The fields that `offsets` cuts into rows."""
        return ("dim", "lo", "hi", "weight")


def parse_publications(table: pa.Table, settings: Settings) -> Parsed[Publications]:
    """The events of a table with the columns of `PUBLICATIONS`; null or NaN in `point` is missing."""
    sieve = Sieve(table, "ranked publications")
    sieve.require("id", "ts", "point")
    ids = unique_ids(sieve)
    ts = instants(sieve)
    k = _ks(sieve)
    points = vectors(sieve, "point")
    sieve.reject(points.null, "point", "point must not be null")
    all_finite(sieve, "point", points, nulls=True)
    upper = _uppers(sieve, points)
    dims = dimensions(sieve, settings, {"point": points})
    low, high = dense(sieve, points, dims, np.nan), dense(sieve, upper, dims, np.nan)
    high = np.where(np.isnan(high), low, high)
    return sieve.done(Publications(sieve.keep_arrow(ids), sieve.keep(ts), low, high, sieve.keep(k)))


def read_publications(rows: list[Row], settings: Settings) -> Publications:
    """Few plain events at points, with nothing missing, as `parse_publications` reads them, or `Doubtful`."""
    plain = PlainRows(rows, frozenset({"id", "ts", "point"}), frozenset({"k"}))
    k = plain.integers("k", 1, LARGEST_K) if plain.has("k") else np.zeros(len(plain), np.int64)
    points = plain.vectors("point", settings.dims)
    return Publications(plain.ids(), plain.times(), points, points, k)


def _ks(sieve: Sieve) -> Int64s:
    column = integers(sieve, "k")
    sieve.reject(~column.null & (column.values < 1), "k", "k must be at least 1")
    sieve.reject(column.values > LARGEST_K, "k", f"k must be at most {LARGEST_K}")
    return np.where(column.null, 0, column.values)


def _uppers(sieve: Sieve, points: Lists) -> Lists:
    upper = vectors(sieve, "upper")
    all_finite(sieve, "upper", upper, nulls=True)
    uneven = ~upper.null & (upper.lengths != points.lengths)
    sieve.reject(uneven, "upper", "upper must hold as many numbers as point")
    both = ~sieve.bad & ~upper.null
    rows, high = upper.rows[both[upper.rows]], upper.values[both[upper.rows]]
    low = points.values[both[points.rows]]
    alone = any_of(rows, np.isnan(low) & ~np.isnan(high), sieve.n_rows)
    sieve.reject(alone, "upper", "upper must be null in the dimensions that point does not have")
    sieve.reject(any_of(rows, high < low, sieve.n_rows), "upper", "upper must not be less than point in any dimension")
    return upper


def parse_subscriptions(table: pa.Table, settings: Settings) -> Parsed[Subscriptions]:
    """The subscriptions of a table with the columns of `SUBSCRIPTIONS`.

    Null in `lo` or `hi` leaves that side of the dimension open.
    """
    sieve = Sieve(table, "ranked subscriptions")
    sieve.require("id", "lo", "hi")
    ids = unique_ids(sieve)
    budget = _budgets(sieve)
    found = columns(sieve, *boxes(sieve, scalars=False, nulls_open=True))
    dims = known_dims(sieve, settings, found)
    parts = only_parts(flatten(sieve, found))
    return sieve.done(Subscriptions(sieve.keep_arrow(ids), *parts, sieve.keep(budget), dims))


def read_subscriptions(rows: list[Row], settings: Settings) -> Subscriptions:
    """Few plain subscriptions, closed in every dimension, as `parse_subscriptions` reads them, or `Doubtful`."""
    plain = PlainRows(rows, frozenset({"id", "lo", "hi"}), frozenset({"weights", "budget", "k"}))
    if plain.has("k"):
        # Workloads have one as a hint to whoever publishes.
        plain.integers("k")
    lo = plain.vectors("lo", settings.dims)
    n, dims = lo.shape
    hi = plain.vectors("hi", dims)
    # -0.0 and 0.0 are one weight.
    weight = plain.vectors("weights", dims) + 0.0 if plain.has("weights") else np.ones((n, dims))
    if not ((lo <= hi) & (weight >= 0.0)).all():
        raise Doubtful
    budget = plain.integers("budget", 0) if plain.has("budget") else np.full(n, UNLIMITED)
    offsets = np.arange(0, n * dims + 1, dims)
    dim = np.arange(n * dims, dtype=np.int32) % np.int32(dims)
    return Subscriptions(plain.ids(), offsets, dim, lo.ravel(), hi.ravel(), weight.ravel(), budget, dims)


def parse_updates(table: pa.Table, settings: Settings) -> Parsed[Updates]:
    """Changes to subscriptions: any of `lo` with `hi`, `weights` and `budget`, and `dims` as in subscriptions."""
    sieve = Sieve(table, "ranked updates")
    sieve.require("id")
    ids = unique_ids(sieve)
    budget = _budgets(sieve)
    found = columns(sieve, *boxes(sieve, scalars=False, nulls_open=True, required=False))
    boxed, weighed = ~found.lo.null, ~found.weights.null
    nothing = ~boxed & ~weighed
    sieve.reject(nothing & ~found.listed.null, "dims", "dims must come with lo and hi, or with weights")
    sieve.reject(nothing & (budget == UNLIMITED), "id", "an update must give lo and hi, weights or a budget")
    known_dims(sieve, settings, found)
    keep = sieve.keep
    parts = flatten(sieve, found)
    return sieve.done(Updates(sieve.keep_arrow(ids), *parts, keep(budget), keep(boxed), keep(weighed)))


def _budgets(sieve: Sieve) -> Int64s:
    column = integers(sieve, "budget")
    sieve.reject(~column.null & (column.values < 0), "budget", "budget must not be negative")
    return np.where(column.null, UNLIMITED, column.values)
