"""The covering family: boxes, of which one may cover another. It has no publications."""

from typing import Any, NamedTuple

import pyarrow as pa

from skyband.kernels.array import Floats
from skyband.table.identity import unique_ids
from skyband.table.settings import Settings
from skyband.table.sieve import Parsed, Sieve
from skyband.table.subscription import boxes, keep_boxes

SUBSCRIPTIONS = pa.schema([("id", pa.string()), ("lo", pa.list_(pa.float64())), ("hi", pa.list_(pa.float64()))])


class Subscriptions(NamedTuple):
    """Closed boxes; a side may be infinite, which null in a row leaves it."""

    ids: Any
    lo: Floats
    hi: Floats


def parse_subscriptions(table: pa.Table, settings: Settings) -> Parsed[Subscriptions]:
    """The subscriptions of a table with the columns of `SUBSCRIPTIONS`; `lo` and `hi` may be numbers."""
    sieve = Sieve(table, "covering subscriptions")
    sieve.require("id", "lo", "hi")
    ids = unique_ids(sieve)
    box = keep_boxes(sieve, settings, *boxes(sieve, scalars=True, nulls_open=True))
    return sieve.done(Subscriptions(sieve.keep_arrow(ids), box.lo, box.hi))
