"""The ranges family: objects that move and change value, and subscriptions to the k least within a range."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.table.identity import ids as read_ids
from skyband.table.identity import unique_ids
from skyband.table.instant import instants
from skyband.table.plain import Doubtful, PlainRows, Row
from skyband.table.scalar import LARGEST, numbers
from skyband.table.settings import Settings
from skyband.table.sieve import Parsed, Sieve
from skyband.table.subscription import boxes, keep_boxes, ks
from skyband.table.vector import all_finite, dense, dimensions, no_nulls, vectors

PUBLICATIONS = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("object", pa.string()),
        ("x", pa.list_(pa.float64())),
        ("y", pa.float64()),
    ]
)
SUBSCRIPTIONS = pa.schema(
    [
        ("id", pa.string()),
        ("k", pa.int64()),
        ("lo", pa.list_(pa.float64())),
        ("hi", pa.list_(pa.float64())),
    ]
)


class Publications(NamedTuple):
    """Events: an object is now at x with value y, or is deleted.

    `y` is NaN where an object is deleted, and so is `x` where the deletion does not say where it was.
    """

    ids: Any
    ts: Int64s
    objects: Any
    x: Floats
    y: Floats
    deleted: Bools


class Subscriptions(NamedTuple):
    """Closed ranges, of which the k objects with the least y are wanted; a side may be infinite."""

    ids: Any
    k: Int64s
    lo: Floats
    hi: Floats


def parse_publications(table: pa.Table, settings: Settings) -> Parsed[Publications]:
    """The events of a table with the columns of `PUBLICATIONS`; `x` may be a number, a null `y` deletes."""
    sieve = Sieve(table, "ranges publications")
    sieve.require("id", "ts", "object", "x", "y")
    ids = unique_ids(sieve)
    ts = instants(sieve)
    objects = read_ids(sieve, "object")
    y = numbers(sieve, "y")
    too_large = ~y.null & ~(np.abs(y.values) <= LARGEST)
    sieve.reject(too_large, "y", "y must be a finite number of magnitude at most 1e150, or null to delete")
    x = vectors(sieve, "x", scalars=True)
    sieve.reject(x.null & ~y.null, "x", "x must not be null unless y is null too, to delete")
    no_nulls(sieve, "x", x)
    all_finite(sieve, "x", x)
    dims = dimensions(sieve, settings, {"x": x})
    keep = sieve.keep
    # Deletions that do not say where tell nothing of dimensions: while nothing else has, they count as one.
    places = dense(sieve, x, dims or min(sieve.n_rows, 1), np.nan)
    rows = Publications(
        sieve.keep_arrow(ids), keep(ts), sieve.keep_arrow(objects), places, keep(y.values), keep(y.null)
    )
    return sieve.done(rows)


def read_publications(rows: list[Row], settings: Settings) -> Publications:
    """Few plain events, none of which deletes, as `parse_publications` reads them, or `Doubtful`."""
    plain = PlainRows(rows, frozenset({"id", "ts", "object", "x", "y"}))
    if type(rows[0]["x"]) is list:
        x = plain.vectors("x", settings.dims)
    elif settings.dims in (None, 1):
        x = plain.numbers("x").reshape(-1, 1)
    else:
        raise Doubtful
    objects, deleted = plain.ids("object", unique=False), np.zeros(len(plain), np.bool_)
    return Publications(plain.ids(), plain.times(), objects, x, plain.numbers("y"), deleted)


def parse_subscriptions(table: pa.Table, settings: Settings) -> Parsed[Subscriptions]:
    """The subscriptions of a table with the columns of `SUBSCRIPTIONS`; `lo` and `hi` may be numbers."""
    sieve = Sieve(table, "ranges subscriptions")
    sieve.require("id", "k", "lo", "hi")
    ids = unique_ids(sieve)
    k = ks(sieve)
    box = keep_boxes(sieve, settings, *boxes(sieve, scalars=True, nulls_open=False))
    return sieve.done(Subscriptions(sieve.keep_arrow(ids), sieve.keep(k), box.lo, box.hi))
