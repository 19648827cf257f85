"""The ranked family: events with missing dimensions, and weighted boxes ranked by how well they match."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skyband.model.identity import unique_ids
from skyband.model.instant import instants
from skyband.model.settings import Settings
from skyband.model.sieve import Parsed, Sieve, any_of
from skyband.model.subscription import boxes
from skyband.model.vector import Lists, all_finite, dense, dimensions, no_nulls, vectors

PUBLICATIONS = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("point", pa.list_(pa.float64()))])
SUBSCRIPTIONS = pa.schema(
    [
        ("id", pa.string()),
        ("lo", pa.list_(pa.float64())),
        ("hi", pa.list_(pa.float64())),
        ("weights", pa.list_(pa.float64())),
    ]
)


class Publications(NamedTuple):
    """Events; NaN in `points` is a dimension that the event does not have."""

    ids: Any
    ts: NDArray[np.int64]
    points: NDArray[np.float64]


class Subscriptions(NamedTuple):
    """Closed boxes with a weight for each dimension; a side may be infinite."""

    ids: Any
    lo: NDArray[np.float64]
    hi: NDArray[np.float64]
    weights: NDArray[np.float64]


def parse_publications(table: pa.Table, settings: Settings) -> Parsed[Publications]:
    """The events of a table with the columns of `PUBLICATIONS`; null or NaN in `point` is missing."""
    sieve = Sieve(table, "ranked publications")
    sieve.require("id", "ts", "point")
    ids = unique_ids(sieve)
    ts = instants(sieve)
    points = vectors(sieve, "point")
    sieve.reject(points.null, "point", "point must not be null")
    all_finite(sieve, "point", points, nulls=True)
    dims = dimensions(sieve, settings, {"point": points})
    rows = Publications(sieve.keep_arrow(ids), sieve.keep(ts), dense(sieve, points, dims, np.nan))
    return sieve.done(rows)


def parse_subscriptions(table: pa.Table, settings: Settings) -> Parsed[Subscriptions]:
    """The subscriptions of a table with the columns of `SUBSCRIPTIONS`.

    Null in `lo` or `hi` leaves that side of the dimension open; without weights all are 1.
    """
    sieve = Sieve(table, "ranked subscriptions")
    sieve.require("id", "lo", "hi")
    ids = unique_ids(sieve)
    lo, hi = boxes(sieve, scalars=False, nulls_open=True)
    weights = _weights(sieve, lo)
    dims = dimensions(sieve, settings, {"lo": lo, "hi": hi, "weights": weights})
    lo_kept, hi_kept = dense(sieve, lo, dims, np.nan), dense(sieve, hi, dims, np.nan)
    rows = Subscriptions(sieve.keep_arrow(ids), lo_kept, hi_kept, dense(sieve, weights, dims, 1.0))
    return sieve.done(rows)


def _weights(sieve: Sieve, lo: Lists) -> Lists:
    weights = vectors(sieve, "weights")
    no_nulls(sieve, "weights", weights)
    all_finite(sieve, "weights", weights)
    negative = any_of(weights.rows, weights.values < 0, sieve.n_rows)
    sieve.reject(negative, "weights", "weights must not be negative")
    uneven = ~weights.null & (weights.lengths != lo.lengths)
    sieve.reject(uneven, "weights", "weights must hold as many numbers as lo and hi")
    return weights
