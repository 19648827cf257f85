"""A map from ids to slots and back: open addressing over the ids' bytes, no Python object per id.

Integers are in a map of numbers, which holds them by slot. A string is its UTF-8: `places` holds slots (or EMPTY, or
GONE where one was removed); the bytes of slot s are `arena[start[s] : start[s] + length[s]]`. Invariants: every slot
with `length >= 0` is found by its own bytes; the number of places is a power of two, at least twice the places in use
or GONE; removed bytes make up at most about half of the arena.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bytes, Int32s, Int64s
from skyband.kernels.byte_copy import copy_bytes
from skyband.kernels.compile import kernel
from skyband.kernels.extreme import largest
from skyband.kernels.growth import BY_A_QUARTER, grown
from skyband.kernels.id_list import INTEGERS, TEXTS, AnyIds, IdBytes, IdList, id_bytes, id_numbers
from skyband.kernels.number_map import NumberMap

EMPTY = -1
GONE = -2


class Places(NamedTuple):
    """The arrays of an IdMap."""

    places: Int32s
    start: Int64s
    length: Int32s
    arena: Bytes


@kernel
def _hash(data: Bytes, lo: int, hi: int) -> int:
    # FNV-1a in 32 bits, finished with a mix of the high bits: the products stay below 2**57, so nothing overflows.
    code = 2166136261
    for i in range(lo, hi):
        code = ((code ^ int(data[i])) * 16777619) & 0xFFFFFFFF
    return code ^ (code >> 15)


@kernel
def _same(data: Bytes, lo: int, hi: int, arena: Bytes, start: int) -> bool:
    for i in range(hi - lo):
        if data[lo + i] != arena[start + i]:
            return False
    return True


@kernel
def _find(table: Places, data: Bytes, lo: int, hi: int) -> int:
    """The place that holds these bytes, or -1."""
    mask = len(table.places) - 1
    place = _hash(data, lo, hi) & mask
    while table.places[place] != EMPTY:
        slot = table.places[place]
        if slot >= 0 and table.length[slot] == hi - lo and _same(data, lo, hi, table.arena, table.start[slot]):
            return place
        place = (place + 1) & mask
    return -1


@kernel
def _put(table: Places, data: Bytes, lo: int, hi: int, slot: int, top: int) -> int:
    """Write a new id at the end of the arena and into an empty place; returns the arena's new end."""
    mask = len(table.places) - 1
    place = _hash(data, lo, hi) & mask
    while table.places[place] != EMPTY:
        place = (place + 1) & mask
    table.places[place] = slot
    table.start[slot], table.length[slot] = top, hi - lo
    for j in range(hi - lo):
        table.arena[top + j] = data[lo + j]
    return top + hi - lo


@kernel
def find_ids(table: Places, ids: IdBytes, slots: Int64s) -> None:
    """The slot of each id, -1 for an unknown one."""
    for i in range(len(slots)):
        place = _find(table, ids.data, ids.ends[i], ids.ends[i + 1])
        slots[i] = -1 if place < 0 else table.places[place]


@kernel
def add_ids(table: Places, ids: IdBytes, slots: Int64s, top: int) -> int:
    """Put new ids at these slots; returns the arena's new end."""
    for i in range(len(slots)):
        top = _put(table, ids.data, ids.ends[i], ids.ends[i + 1], slots[i], top)
    return top


@kernel
def take_ids(table: Places, ids: IdBytes, fresh: Int64s, slots: Int64s, top: int) -> int:
    """The slot of each id; an unknown one takes the next of the fresh slots. Returns how many were taken."""
    n_taken = 0
    for i in range(len(slots)):
        lo, hi = ids.ends[i], ids.ends[i + 1]
        place = _find(table, ids.data, lo, hi)
        if place < 0:
            slots[i] = fresh[n_taken]
            top = _put(table, ids.data, lo, hi, slots[i], top)
            n_taken += 1
        else:
            slots[i] = table.places[place]
    return n_taken


@kernel
def remove_slots(table: Places, slots: Int64s) -> int:
    """Forget the ids of these slots; returns how many bytes of the arena that leaves unused."""
    n_unused = 0
    for slot in slots:
        start, length = table.start[slot], table.length[slot]
        place = _find(table, table.arena, start, start + length)
        table.places[place] = GONE
        table.length[slot] = -1
        n_unused += length
    return n_unused


@kernel
def place_slots(table: Places) -> None:
    """Put every slot that has an id into empty places."""
    mask = len(table.places) - 1
    for slot in range(len(table.length)):
        if table.length[slot] >= 0:
            start = table.start[slot]
            place = _hash(table.arena, start, start + table.length[slot]) & mask
            while table.places[place] != EMPTY:
                place = (place + 1) & mask
            table.places[place] = slot


@kernel
def gather_ids(table: Places, slots: Int64s, ends: Int64s, data: Bytes) -> None:
    """Copy the bytes of these slots to `data`, id i to `data[ends[i] : ends[i + 1]]`."""
    for i in range(len(slots)):
        # What is overwritten behind an id is written again by the next.
        copy_bytes(table.arena, table.start[slots[i]], ends[i + 1] - ends[i], data, ends[i])


class IdMap:
    """Ids of one type, each at a slot of the caller's choosing."""

    def __init__(self) -> None:
        self.type: pa.DataType | None = None
        self.size = 0
        self._numbers = NumberMap()
        self._taken = 0
        self._top = 0
        self._garbage = 0
        self._table = Places(
            np.full(16, EMPTY, np.int32),
            np.zeros(0, np.int64),
            np.full(0, -1, np.int32),
            np.zeros(0, np.uint8),
        )

    @property
    def n_bytes(self) -> int:
        return self._numbers.n_bytes + sum(array.nbytes for array in self._table)

    @property
    def _numeric(self) -> bool:
        return self.type is INTEGERS

    def find(self, ids: AnyIds) -> Int64s:
        """The slot of each id, -1 for an unknown one."""
        if not (self.size and len(ids) and self.type == ids.type):
            return np.full(len(ids), -1, np.int64)
        if self._numeric:
            return self._numbers.find(id_numbers(ids))
        slots = np.empty(len(ids), np.int64)
        find_ids(self._table, id_bytes(ids), slots)
        return slots

    def add(self, ids: AnyIds, slots: Int64s) -> None:
        """Put new ids at free slots; neither may be in the map already."""
        if not len(ids):
            return
        self.type = INTEGERS if ids.type == INTEGERS else TEXTS
        if self._numeric:
            self._numbers.add(id_numbers(ids), slots)
            self.size += len(ids)
            return
        given = id_bytes(ids)
        self._reserve(len(ids), largest(slots) + 1, int(given.ends[-1] - given.ends[0]))
        self._top = add_ids(self._table, given, slots, self._top)
        self.size += len(ids)
        self._taken += len(ids)

    def take(self, ids: AnyIds, fresh: Int64s) -> tuple[Int64s, int]:
        """The slot of each text, and how many were unknown: they have the first of as many fresh slots."""
        n = len(ids)
        if not n:
            return fresh[:0], 0
        self.type = TEXTS
        given, slots = id_bytes(ids), np.empty(n, np.int64)
        self._reserve(n, int(fresh.max()) + 1, int(given.ends[-1] - given.ends[0]))
        n_taken = take_ids(self._table, given, fresh, slots, self._top)
        if n_taken:
            last = fresh[n_taken - 1]
            self._top = int(self._table.start[last] + self._table.length[last])
        self.size += n_taken
        self._taken += n_taken
        return slots, n_taken

    def remove(self, slots: Int64s) -> None:
        """Forget the ids at these slots."""
        self.size -= len(slots)
        if self._numeric:
            self._numbers.remove(slots)
            return
        self._garbage += remove_slots(self._table, slots)
        if self._garbage > 4096 and 2 * self._garbage > self._top:
            self._compact()

    def shift(self, n: int) -> None:
        """Renumber: slot s becomes s - n. The first n slots must hold no id."""
        if self._numeric:
            self._numbers.shift(n)
            return
        start, length = self._table.start[n:].copy(), self._table.length[n:].copy()
        self._table = self._table._replace(start=start, length=length)
        self._compact()

    def ids(self, slots: Int64s) -> pa.Array:
        """The ids at these slots, as an Arrow array."""
        return self.named(slots).to_arrow()

    def named(self, slots: Int64s) -> IdList:
        """The ids at these slots, copied."""
        if self.type is INTEGERS:
            return IdList.of_integers(self._numbers.numbers(slots))
        ends, data = self._gather(np.ascontiguousarray(slots, np.int64))
        return IdList.of_bytes(IdBytes(data, ends))

    def _gather(self, slots: Int64s) -> tuple[Int64s, Bytes]:
        ends = np.zeros(len(slots) + 1, np.int64)
        if len(slots):
            np.cumsum(self._table.length[slots], out=ends[1:])
        data = np.empty(int(ends[-1]), np.uint8)
        gather_ids(self._table, slots, ends, data)
        return ends, data

    def _reserve(self, n: int, slots: int, n_bytes: int) -> None:
        if slots > len(self._table.start) or self._top + n_bytes > len(self._table.arena):
            self._table = self._table._replace(
                start=grown(self._table.start, slots, share=BY_A_QUARTER),
                length=grown(self._table.length, slots, fill=-1, share=BY_A_QUARTER),
                arena=grown(self._table.arena, self._top + n_bytes, share=BY_A_QUARTER),
            )
        if 2 * (self._taken + n) > len(self._table.places):
            self._rehash(self.size + n)

    def _rehash(self, expected: int) -> None:
        n_places = 16
        while n_places < 3 * expected:
            n_places *= 2
        self._table = self._table._replace(places=np.full(n_places, EMPTY, np.int32))
        place_slots(self._table)
        self._taken = self.size

    def _compact(self) -> None:
        slots = np.flatnonzero(self._table.length >= 0)
        ends, data = self._gather(slots)
        start = np.zeros_like(self._table.start)
        start[slots] = ends[:-1]
        self._table = self._table._replace(start=start, arena=data)
        self._top, self._garbage = len(data), 0
        self._rehash(self.size)

    def check(self) -> None:
        """Assert the invariants."""
        if self._numeric:
            self._numbers.check()
            assert self._numbers.size == self.size
            return
        slots = np.flatnonzero(self._table.length >= 0)
        assert len(slots) == self.size
        assert len(self._table.places) & (len(self._table.places) - 1) == 0
        assert 2 * self._taken <= len(self._table.places)
        assert int((self._table.places != EMPTY).sum()) == self._taken
        assert np.array_equal(self.find(self.ids(slots)), slots)
