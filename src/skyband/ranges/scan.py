"""Scan for the ranges family: every change of an object held against every range."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import Engine, pack, register, take, unpack
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.growth import grown, grown_all
from skyband.kernels.heap import make_heap
from skyband.kernels.id_order import labels
from skyband.kernels.idmap import IdMap
from skyband.kernels.room import pauses
from skyband.kernels.slots import BLOCK
from skyband.ranges.kernels.range_scan import Inside, ObjectChanges, Ranges, ScanObjects, search_rows, sweep
from skyband.ranges.object_survey import ObjectSurvey, bound_by_rows
from skyband.ranges.rows import Publications, Subscriptions
from skyband.table import change_schema, ranking_schema
from skyband.table.answer_rows import AnswerRows, answer_shape
from skyband.topk.delivery_memory import DeliveryMemory
from skyband.topk.kernels.buffer import Stamps, check_row
from skyband.topk.roster import Deliveries
from skyband.topk.scan_rows import ScanRows


class Known(NamedTuple):
    """Objects as a snapshot keeps them."""

    ids: Any
    ts: Int64s
    x: Floats
    y: Floats
    alive: Bools


@register
class RangesScan(Engine[Subscriptions, Publications]):
    """Range top-k over changing objects, by brute force.

    A change costs two comparisons a dimension for every subscription. Deleted objects are remembered by their time,
    so that an older change that arrives late does not bring them back.
    """

    family = "ranges"
    name = "scan"
    good_for = "up to about a hundred thousand subscriptions, and as the baseline"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rows = ScanRows()
        self._change_log = DeliveryMemory(self._rows)
        self._ids = IdMap()
        self._ts = np.zeros(0, np.int64)
        self._objects = ScanObjects(np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.bool_), np.zeros(0, np.int64))
        nothing, flags = np.zeros((0, 0, BLOCK)), np.zeros(BLOCK, np.bool_)
        self._ranges = Ranges(nothing, nothing, np.zeros((0, BLOCK)), np.zeros((0, BLOCK), np.bool_))
        self._scratch = Inside(
            np.zeros(0), flags, flags.copy(), make_heap(64), np.zeros(2, np.int64), np.zeros(2, np.int64)
        )

    @property
    def n_subscriptions(self) -> int:
        return self._rows.roster.ids.size

    def memory(self) -> dict[str, int]:
        return {
            "rows": self._rows.n_bytes,
            "ranges": sum(array.nbytes for array in self._ranges),
            "objects": self._ids.n_bytes + self._ts.nbytes + sum(array.nbytes for array in self._objects),
        }

    def _registered(self, ids: pa.Array) -> Bools:
        return self._rows.roster.ids.find(ids) >= 0

    def _subscribe(self, rows: Subscriptions) -> pa.Table:
        if len(rows.ids):
            self._search(self._add(rows))
        return self._table(1)

    def _add(self, rows: Subscriptions) -> Int64s:
        kinds = np.zeros(len(rows.ids), np.int8)
        slots = self._rows.add(rows.ids, kinds, rows.k, np.ones(len(rows.ids)))
        dims, n_blocks = rows.lo.shape[1], self._rows.roster.slots.n_blocks
        if not len(self._ranges.lo):
            self._ranges = self._ranges._replace(lo=np.zeros((0, dims, BLOCK)), hi=np.zeros((0, dims, BLOCK)))
        before = len(self._ranges.lo)
        self._ranges = grown_all(self._ranges, n_blocks, ("lo", "hi", "gate", "dirty"))
        self._ranges.lo[before:] = np.inf
        self._ranges.lo[slots // BLOCK, :, slots % BLOCK] = rows.lo
        self._ranges.hi[slots // BLOCK, :, slots % BLOCK] = rows.hi
        return slots

    def _search(self, slots: Int64s) -> None:
        self._make_room(dims=self._ranges.lo.shape[1])
        most = int(self._rows.buffers.capacity.max(initial=1))
        if most > len(self._scratch.heap.keys):
            self._scratch = self._scratch._replace(heap=make_heap(2 * most))
        n_told = int(np.maximum(self._rows.buffers.k[slots], self._rows.buffers.size[slots]).sum())
        self._change_log.reserve(2 * n_told, 0)
        n_objects = self._ids.size
        told = self._change_log.told
        search_rows(slots, self._ranges, self._rows.buffers, self._objects, n_objects, self._scratch, told)
        self._count_work()

    def _make_room(self, dims: int) -> None:
        # Until the number of dimensions is known there are deletions alone. Without subscriptions there are no ranges
        # either, whose dimensions would be none: where objects are has to stay known.
        if dims and self._objects.x.shape[0] != dims:
            self._objects = self._objects._replace(x=np.zeros((dims, len(self._objects.y))))
            self._scratch = self._scratch._replace(x=np.zeros(dims))
        n = self._ids.size
        x = grown(self._objects.x, n, axis=1)
        self._objects = grown_all(self._objects, n, ("y", "alive", "label"))._replace(x=x)
        self._ts = grown(self._ts, n)

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        slots = self._rows.roster.ids.find(ids)
        self._change_log.leave(slots)
        changes = self._table(1)
        self._ranges.lo[slots // BLOCK, :, slots % BLOCK] = np.inf
        self._rows.remove(slots)
        return changes

    def _resize(self, ids: pa.Array, k: int) -> pa.Table:
        slots = self._rows.roster.ids.find(ids)
        self._rows.resize(slots, k)
        self._change_log.forget(slots)
        self._search(slots)
        return self._table(1)

    def _publish(self, rows: Publications) -> pa.Table:
        if not len(rows.ids):
            return self._table(1)
        objects = self._object_slots(rows.objects)
        self._make_room(rows.x.shape[1])
        self._objects.label[: self._ids.size] = labels(self._ids.ids(np.arange(self._ids.size)))
        start = int(rows.ts[0]) if self.now is None else self.now
        now = np.maximum.accumulate(np.maximum(rows.ts, start))
        self.now = int(now[-1])
        kept = self._in_time(objects, rows.ts)
        self._counters["late"] += len(objects) - len(kept)
        if not len(kept):
            return self._table(1)
        end = np.array([len(kept)]) if self.granularity == "batch" else np.arange(1, len(kept) + 1)
        changes = self._changes_of(take(rows, kept), objects[kept], end)
        self._sweep(changes)
        at = now[-1:] if self.granularity == "batch" else now[kept]
        return self._table_at(at)

    def _object_slots(self, ids: pa.Array) -> Int64s:
        slots = self._ids.find(ids)
        new = pc.unique(ids.filter(pa.array(slots < 0)))
        size = self._ids.size
        self._ids.add(new, np.arange(size, size + len(new), dtype=np.int64))
        if len(new):
            self._ts = grown(self._ts, self._ids.size)
            self._ts[size : self._ids.size] = np.iinfo(np.int64).min
        return self._ids.find(ids)

    def _in_time(self, objects: Int64s, ts: Int64s) -> Int64s:
        """The rows that are no older than what is known of their object by then."""
        kept = []
        for i, (object, when) in enumerate(zip(objects.tolist(), ts.tolist(), strict=True)):
            if when >= self._ts[object]:
                self._ts[object] = when
                kept.append(i)
        return np.array(kept, np.int64)

    def _changes_of(self, rows: Publications, objects: Int64s, end: Int64s) -> ObjectChanges:
        for change in np.flatnonzero(rows.deleted):
            self._change_log.end_life(int(objects[change]), int(np.searchsorted(end, change, side="right")))
        return ObjectChanges(objects, rows.x, rows.y, ~rows.deleted, end.astype(np.int64))

    def _sweep(self, changes: ObjectChanges) -> None:
        self._counters["compared"] += len(changes.object) * self.n_subscriptions
        since = np.zeros(3, np.int64)
        buffers, n_blocks = self._rows.buffers, self._rows.roster.slots.n_blocks

        def go_on() -> bool:
            known, scratch, change_log = (self._objects, self._ids.size), self._scratch, self._change_log
            return sweep(
                since, n_blocks, self._ranges, buffers, *known, changes, scratch, change_log.told, change_log.ghosts
            )

        for _ in pauses(go_on, lambda: tuple(since.tolist())):
            self._change_log.reserve(*self._scratch.wanted.tolist())
        self._count_work()

    def _count_work(self) -> None:
        self._counters["refilled"] += int(self._scratch.counts[0])
        self._counters["compared"] += int(self._scratch.counts[1])
        self._scratch.counts[:] = 0

    def _advance(self, now: int) -> pa.Table:
        return self._table(1)

    def _table(self, n_steps: int) -> AnswerRows:
        return self._table_at(np.full(n_steps, self.now or 0, np.int64))

    def _table_at(self, at: Int64s) -> AnswerRows:
        kinds = self._id_type("subscriptions id"), self._id_type("publications object")
        return self._change_log.answer(answer_shape(change_schema, *kinds), self._ids, 0, at)

    def _tally(self, changes: pa.Table) -> dict[str, int]:
        return self._change_log.tally

    def _top(self, ids: pa.Array | None) -> pa.Table:
        slots = self._rows.roster.in_turn() if ids is None else self._rows.roster.ids.find(ids)
        schema = ranking_schema(self._id_type("subscriptions id"), self._id_type("publications object"))
        return self._rows.ranking(schema, slots, self._ids, 0)

    def _subscriptions_of(self, slots: Int64s) -> Subscriptions:
        block, i = slots // BLOCK, slots % BLOCK
        return Subscriptions(
            self._rows.roster.ids.ids(slots),
            self._rows.buffers.k[slots],
            self._ranges.lo[block, :, i],
            self._ranges.hi[block, :, i],
        )

    def _question_rows(self, ids: pa.Array) -> Subscriptions:
        return self._subscriptions_of(self._rows.roster.ids.find(ids))

    def _evidence(self, asked: Subscriptions) -> ObjectSurvey:
        objects, n = self._objects, self._ids.size
        ids = self._ids.ids(np.arange(n)) if n else pa.array([], self._id_type("publications object"))
        known = (ids, self._ts[:n], objects.x[:, :n].T, objects.y[:n], objects.alive[:n])
        return ObjectSurvey(asked, self.now, *known, bound_by_rows(self.name, self._rows, asked))

    def _save(self) -> dict[str, pa.Table]:
        slots, n = self._rows.roster.in_turn(), self._ids.size
        row_of = np.zeros(self._rows.roster.slots.n_slots, np.int64)
        row_of[slots] = np.arange(len(slots))
        asked, objects = self._subscriptions_of(slots), self._objects
        known = Known(
            self._ids.ids(np.arange(n)),
            self._ts[:n],
            objects.x[:, :n].T.copy(),
            objects.y[:n],
            objects.alive[:n],
        )
        delivered = self._rows.delivered(slots).joined(self._change_log.lost())
        return {
            "subscriptions": pack(asked) if len(slots) else pa.table({}),
            "objects": pack(known) if n else pa.table({}),
            "delivered": pa.table({"subscription": row_of[delivered.slot], "object": delivered.item}),
        }

    def _load(self, tables: dict[str, pa.Table]) -> None:
        if len(tables["objects"]):
            known = unpack(Known, tables["objects"])
            self._ids.add(known.ids, np.arange(len(known.ids), dtype=np.int64))
            self._ts = known.ts
            self._objects = ScanObjects(
                np.ascontiguousarray(known.x.T), known.y, known.alive.astype(np.bool_), labels(known.ids)
            )
            self._scratch = self._scratch._replace(x=np.zeros(known.x.shape[1]))
        slots = np.zeros(0, np.int64)
        if len(tables["subscriptions"]):
            slots = self._add(unpack(Subscriptions, tables["subscriptions"]))
            self._search(slots)
            self._change_log.discard()
        row, item = (tables["delivered"][name].to_numpy() for name in ("subscription", "object"))
        delivered = Deliveries(slots[row], item)
        self._change_log.remember(delivered, self._rows.mark_delivered(delivered))

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._rows.check()
        self._ids.check()
        for slot in self._rows.roster.in_turn():
            check_row(self._rows.buffers, int(slot), Stamps(self._objects.label, 0))
