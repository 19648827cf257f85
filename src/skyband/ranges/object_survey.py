"""Engines of the ranges family as witnesses: all objects that they know, and the candidates that they keep."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.contract.explanation import Bound
from skyband.contract.handle import show_count
from skyband.contract.tops import Id
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.id_order import labels
from skyband.ranges.rows import Subscriptions
from skyband.topk.scan_rows import ScanRows


class ObjectSurvey(NamedTuple):
    """What an engine knows about one subscription, which is one row: all objects, of which some were deleted.

    `bound` gives what the engine keeps of the object at a place, None for one that it does not know.
    """

    asked: Subscriptions
    now: int | None
    ids: pa.Array
    ts: Int64s
    x: Floats
    y: Floats
    alive: Bools
    bound: Callable[[int | None], Bound]

    def find(self, id: Id) -> int | None:
        """The place of an object."""
        if not len(self.ids) or pa.types.is_integer(self.ids.type) != isinstance(id, int):
            return None
        place = self.ids.index(pa.scalar(id, self.ids.type)).as_py()
        return None if place < 0 else int(place)

    def inside(self) -> Bools:
        """Which objects there are in the range of the subscription."""
        lo, hi = self.asked.lo[0], self.asked.hi[0]
        if self.x.shape[1] != len(lo):
            # Nothing but deletions, which do not tell how many dimensions there are.
            return np.zeros(len(self.y), np.bool_)
        inside: Bools = self.alive & ((lo <= self.x) & (self.x <= hi)).all(axis=1)
        return inside

    def order(self) -> Int64s:
        """The places of the objects in the range, best first."""
        inside = np.flatnonzero(self.inside())
        return inside[np.lexsort((-labels(self.ids.take(pa.array(inside))), self.y[inside]))]


def bound_by_rows(engine: str, rows: ScanRows, asked: Subscriptions) -> Callable[[int | None], Bound]:
    """What an engine with rows of objects keeps for a registered subscription."""
    return partial(_bound, engine, rows, int(rows.roster.ids.find(asked.ids)[0]))


def _bound(engine: str, rows: ScanRows, slot: int, object: int | None) -> Bound:
    buffers = rows.buffers
    row = slice(int(buffers.start[slot]), int(buffers.start[slot] + buffers.size[slot]))
    items, n = buffers.item[row], int(buffers.size[slot])
    found = np.flatnonzero(items == object) if object is not None else items[:0]
    has_all = bool(buffers.whole[slot]) and n < buffers.capacity[slot]
    limit = None if has_all or not n else float(buffers.score[row][-1])
    place = int(found[0]) + 1 if len(found) else None
    pruned = object is not None and place is None
    return Bound("row", n, place, limit, pruned, f"The engine {engine} keeps {_told(n, object, place, limit)}")


def _told(n: int, object: Any, place: int | None, limit: float | None) -> str:
    keeps = show_count(n, "candidate")
    if object is None:
        return f"{keeps}, and does not know this object."
    if place is not None:
        return f"{keeps}, and this is number {place} of them."
    if limit is None:
        return f"all that lies in the range, {keeps}: nothing else reaches the subscription."
    return f"{keeps}; what lies outside of the range, or behind the last of them at {limit}, does not reach it."
