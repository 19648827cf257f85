"""The ids of publications that are live for a window: an id is taken while its publication is remembered."""

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Int64s
from skyband.kernels.growth import grown
from skyband.pipeline.stage.expiry import CountOrder, LiveEntries, TimeOrder, in_order
from skyband.pipeline.stage.named_slots import NamedSlots
from skyband.table import Window, WindowKind

# The number at a slot that has no publication.
NOBODY = -1


class LiveIds:
    """Which ids are taken, and the order in which they are free again; it is as many as the window holds."""

    def __init__(self, window: Window, kind: pa.DataType) -> None:
        self._window = window
        self._kind = kind
        self._names = NamedSlots()
        # One more than there are slots, for entries that have lost theirs.
        self._number = np.full(1, NOBODY)
        self._n_recorded = 0
        self._by_time = TimeOrder()
        self._by_count = CountOrder(kind)

    def __len__(self) -> int:
        return len(self._names)

    def are_live(self, ids: pa.Array) -> Bools:
        """Which of these are taken."""
        found: Bools = self._names.find(ids) >= 0
        return found

    def add(self, ids: pa.Array, ts: Int64s) -> None:
        """Publications whose ids differ; one that is taken goes to the later publication."""
        if not len(ids):
            return
        self._free(self._names.find(ids), ids)
        slots, numbers = self._names.add(ids), np.arange(self._n_recorded, self._n_recorded + len(ids))
        self._n_recorded += len(ids)
        self._number = grown(self._number, self._names.n_slots, fill=NOBODY)
        self._number[slots] = numbers
        entries = LiveEntries(np.asarray(ts, np.int64), slots, numbers)
        if self._window.kind == WindowKind.TIME:
            self._by_time.add(entries)
        elif self._window.kind == WindowKind.COUNT:
            self._by_count.add(entries)

    def retract(self, ids: pa.Array) -> Bools:
        """Free ids, each of which is there once; which of them were taken."""
        slots = self._names.find(ids)
        self._free(slots, ids)
        return slots >= 0

    def _free(self, slots: Int64s, ids: pa.Array) -> None:
        there = slots >= 0
        if not there.any():
            return
        if self._window.kind == WindowKind.COUNT:
            self._by_count.withdraw(self._number[slots[there]], ids.filter(pa.array(there)))
        self._remove(slots[there])

    def _remove(self, slots: Int64s) -> None:
        self._number[slots] = NOBODY
        self._names.remove(slots)

    def forget(self, now: int | None) -> None:
        """Free what no window reaches any more."""
        if self._window.kind == WindowKind.COUNT:
            over = self._beyond()
        elif self._window.kind == WindowKind.TIME and now is not None:
            over = self._by_time.pop(now - self._window.size)
        else:
            return
        self._remove(over.slots[self._number[over.slots] == over.numbers])

    def _beyond(self) -> LiveEntries:
        """Take out what is not among the last ones."""
        order = self._by_count
        n_over = len(order.entries.ts) - self._window.size
        sure, tied = order.first(n_over)
        n_tied = max(n_over, 0) - len(sure)
        if n_tied < len(tied):
            some = order.entries.take(tied)
            tied = tied[in_order(some.ts, self._ids_of(some), some.numbers)[:n_tied]]
        return order.drop(np.concatenate([sure, tied]))

    def _ids_of(self, entries: LiveEntries) -> pa.Array:
        live = entries.take(~self._by_count.is_withdrawn(entries))
        return self._by_count.ids(entries, self._names.ids(live.slots, self._kind))

    def save(self) -> pa.Table:
        """One row a publication in the order of expiry; withdrawn ones too, where they keep a place."""
        by_count = self._window.kind == WindowKind.COUNT
        entries = self._by_count.entries if by_count else self._live_entries()
        ids = self._ids_of(entries) if by_count else self._names.ids(entries.slots, self._kind)
        order = in_order(entries.ts, ids, entries.numbers)
        withdrawn = self._by_count.is_withdrawn(entries)
        columns = {"id": ids, "ts": pa.array(entries.ts), "retracted": pa.array(withdrawn)}
        return pa.table(columns).take(pa.array(order))

    def _live_entries(self) -> LiveEntries:
        """Of a window in time those that are left; without a window the time of none matters."""
        if self._window.kind == WindowKind.TIME:
            entries = self._by_time.all()
            return entries.take(self._number[entries.slots] == entries.numbers)
        slots = self._names.used()
        return LiveEntries(np.zeros(len(slots), np.int64), slots, self._number[slots])

    def load(self, table: pa.Table) -> None:
        """Take on what `save` returned."""
        gone = np.zeros(len(table), np.bool_)
        if "retracted" in table.column_names:
            gone = table["retracted"].to_numpy().astype(np.bool_)
        ids, ts = _whole(table["id"], self._kind), table["ts"].to_numpy().astype(np.int64)
        if self._window.kind == WindowKind.COUNT:
            self._load_withdrawn(ids.filter(pa.array(gone)), ts[gone])
        self.add(ids.filter(pa.array(~gone)), ts[~gone])

    def _load_withdrawn(self, ids: pa.Array, ts: Int64s) -> None:
        """Entries that only keep a place; their ids may be those of others."""
        numbers = np.arange(len(ids))
        self._n_recorded = len(ids)
        self._by_count.add(LiveEntries(ts, np.zeros(len(ids), np.int64), numbers))
        self._by_count.withdraw(numbers, ids)

    def check(self) -> None:
        """Assert the invariants."""
        self._names.check()
        slots = self._names.used()
        assert len(np.unique(self._number[slots])) == len(slots)
        assert int((self._number != NOBODY).sum()) == len(slots)
        assert (self._number < self._n_recorded).all()


def _whole(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    joined = column.combine_chunks()
    return (joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)).cast(kind)
