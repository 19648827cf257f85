"""Scan for the ranked family: every event held against every subscription's intervals."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.contract import RankedEngine, pack, register, unpack
from skyband.engines.scan.labels import labels
from skyband.kernels.heap import make_heap
from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import BLOCK, Slots, grown
from skyband.kernels.stab import Found, Intervals, stab
from skyband.model.ranked import Publications, Subscriptions

Int64s = npt.NDArray[np.int64]


@register
class RankedScan(RankedEngine):
    """The k best-scoring interval subscriptions for each event, by brute force.

    An event costs two comparisons a dimension for every subscription.
    """

    name = "scan"
    good_for = "up to about a hundred thousand subscriptions, and as the baseline"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._slots = Slots()
        self._ids = IdMap()
        self._turn = np.zeros(0, np.int64)
        self._n_turns = 0
        self._labelled = True
        nothing = np.zeros((0, 0, BLOCK))
        self._intervals = Intervals(nothing, nothing, nothing, np.zeros(0, np.int64))

    @property
    def n_subscriptions(self) -> int:
        return self._ids.size

    def memory(self) -> dict[str, int]:
        return {"intervals": sum(array.nbytes for array in self._intervals), "ids": self._ids.n_bytes}

    def _registered(self, ids: pa.Array) -> npt.NDArray[np.bool_]:
        return self._ids.find(ids) >= 0

    def _subscribe(self, rows: Subscriptions) -> pa.Table:
        if len(rows.ids):
            self._add(rows)
        return self._schema().empty_table()

    def _add(self, rows: Subscriptions) -> None:
        slots = self._slots.take(np.zeros(len(rows.ids), np.int8))
        self._ids.add(rows.ids, slots)
        self._turn = grown(self._turn, self._slots.n_slots)
        self._turn[slots] = self._n_turns + np.arange(len(slots))
        self._n_turns += len(slots)
        if not len(self._intervals.lo):
            nothing = np.zeros((0, rows.lo.shape[1], BLOCK))
            self._intervals = self._intervals._replace(lo=nothing, hi=nothing, weight=nothing)
        before, n_blocks = len(self._intervals.lo), self._slots.n_blocks
        self._intervals = Intervals(
            grown(self._intervals.lo, n_blocks),
            grown(self._intervals.hi, n_blocks),
            grown(self._intervals.weight, n_blocks),
            grown(self._intervals.label, self._slots.n_slots),
        )
        self._intervals.lo[before:] = np.inf
        block, i = slots // BLOCK, slots % BLOCK
        self._intervals.lo[block, :, i] = rows.lo
        self._intervals.hi[block, :, i] = rows.hi
        self._intervals.weight[block, :, i] = rows.weights
        self._labelled = False

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        slots = self._ids.find(ids)
        self._intervals.lo[slots // BLOCK, :, slots % BLOCK] = np.inf
        self._intervals.hi[slots // BLOCK, :, slots % BLOCK] = -np.inf
        self._ids.remove(slots)
        self._slots.give(slots)
        return self._schema().empty_table()

    def _publish(self, rows: Publications) -> pa.Table:
        n = len(rows.ids)
        self._pass_time(rows)
        if not n or not self.n_subscriptions:
            return self._schema().empty_table()
        self._label()
        k = min(self.k, self.n_subscriptions)
        found = Found(np.zeros(n, np.int64), np.zeros((n, k), np.int64), np.zeros((n, k)))
        n_needed = rows.points.shape[1] if self.matching == "exact" else 1
        scratch = (make_heap(k), np.zeros(BLOCK), np.zeros(BLOCK, np.int64))
        stab(rows.points, n_needed, self._intervals, self._slots.n_blocks, *scratch, found)
        self._counters["compared"] += n * self.n_subscriptions
        self._counters["matches"] += int(found.length.sum())
        return self._matches(rows.ids, found)

    def _label(self) -> None:
        if not self._labelled:
            slots = np.flatnonzero(self._slots.used)
            self._intervals.label[slots] = labels(self._ids.ids(slots))
            self._labelled = True

    def _matches(self, events: pa.Array, found: Found) -> pa.Table:
        rank = np.arange(found.slot.shape[1])
        used = rank[None, :] < found.length[:, None]
        event, place = np.nonzero(used)
        if not len(event):
            return self._schema().empty_table()
        columns = [
            events.take(pa.array(event)),
            self._ids.ids(found.slot[used]),
            pa.array(found.score[used]),
            pa.array(place + 1, pa.int32()),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema())

    def _save(self) -> dict[str, pa.Table]:
        slots = np.flatnonzero(self._slots.used)
        slots = slots[np.argsort(self._turn[slots], kind="stable")]
        block, i = slots // BLOCK, slots % BLOCK
        lo, hi, weight = (array[block, :, i] for array in self._intervals[:3])
        asked = Subscriptions(self._ids.ids(slots), lo, hi, weight)
        return {
            "subscriptions": pack(asked) if len(slots) else pa.table({}),
        }

    def _load(self, tables: dict[str, pa.Table]) -> None:
        if len(tables["subscriptions"]):
            self._add(unpack(Subscriptions, tables["subscriptions"]))

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._slots.check()
        self._ids.check()
