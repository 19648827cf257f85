"""The rows of a Scan: one buffer a subscription in a shared pool."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.array import Bools, Floats, Int8s, Int64s
from skyband.kernels.growth import grown_all
from skyband.kernels.idmap import IdMap
from skyband.kernels.ragged import offsets_of, places_of
from skyband.table import shorten
from skyband.table.argument import check_integer
from skyband.topk.kernels.buffer import DELIVERED, MEMBER, Buffers, FoundChanges, leave_all, mark_all
from skyband.topk.roster import Deliveries, Pool, Roster


class Reserve(NamedTuple):
    """How many candidates a row holds: `times` as many as its k, and `more`."""

    times: int = 2
    more: int = 8


DEFAULT_RESERVE = Reserve()
MOST_TIMES, MOST_MORE = 1000, 1_000_000


def check_reserve(given: object) -> Reserve:
    """The reserve that a pair of integers means."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ValueError(f"reserve is a pair of integers, how many times k and how many more, not {shorten(given)}.")
    times = check_integer("The first of reserve", given[0], 1, MOST_TIMES)
    return Reserve(times, check_integer("The second of reserve", given[1], 0, MOST_MORE))


class ScanRows:
    """Subscriptions and their buffers."""

    def __init__(self, reserve: Reserve = DEFAULT_RESERVE) -> None:
        self.reserve = check_reserve(reserve)
        self.roster = Roster()
        by_slot: list[npt.NDArray[Any]] = [np.zeros(0, np.int64) for _ in range(5)]
        by_slot += [np.zeros(0, np.bool_), np.zeros(0)]
        pool: list[npt.NDArray[Any]] = [np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.uint8)]
        self.buffers = Buffers._make([*by_slot, *pool])
        self._n_pool = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)

    @property
    def n_bytes(self) -> int:
        return self.roster.n_bytes + sum(array.nbytes for array in self.buffers)

    def add(self, ids: pa.Array, kinds: Int8s, ks: Int64s, signs: Floats) -> Int64s:
        """Slots with empty rows for new subscriptions."""
        slots = self.roster.enlist(ids, kinds)
        self.buffers = grown_all(self.buffers, self.roster.slots.n_slots, Buffers._fields[:7])
        self.buffers.k[slots], self.buffers.sign[slots] = ks, signs
        self.buffers.capacity[slots] = self.reserve.times * ks + self.reserve.more
        self.buffers.size[slots] = self.buffers.departed[slots] = 0
        self.buffers.whole[slots] = False
        self.buffers.start[slots] = self._allocate(self.buffers.capacity[slots] + ks)
        return slots

    def _allocate(self, lengths: Int64s) -> Int64s:
        starts = np.empty(len(lengths), np.int64)
        fresh = np.ones(len(lengths), np.bool_)
        for length in np.unique(lengths):
            free = self._free[int(length)]
            reused = np.flatnonzero(lengths == length)[: len(free)]
            for i in reused:
                starts[i] = free.pop()
            fresh[reused] = False
        offsets = self._n_pool + offsets_of(lengths[fresh])
        starts[fresh], self._n_pool = offsets[:-1], int(offsets[-1])
        self.buffers = grown_all(self.buffers, self._n_pool, Buffers._fields[7:])
        return starts

    def remove(self, slots: Int64s) -> None:
        """Give up slots and their rows."""
        for slot in slots:
            length = int(self.buffers.capacity[slot] + self.buffers.k[slot])
            self._free[length].append(int(self.buffers.start[slot]))
        self.buffers.k[slots] = self.buffers.capacity[slots] = self.buffers.size[slots] = 0
        self.roster.dismiss(slots)

    def resize(self, slots: Int64s, k: int) -> None:
        """Let slots ask for k; what is not in the top is not delivered any more.

        A row that has to hold more moves to where it has room, others keep theirs.
        """
        for slot in slots.tolist():
            row = slice(int(self.buffers.start[slot]), int(self.buffers.start[slot] + self.buffers.size[slot]))
            marks = self.buffers.mark[row]
            marks[marks & MEMBER == 0] = 0
            if k > self.buffers.k[slot]:
                self._lay_anew(slot, k)
            else:
                self.buffers.capacity[slot] += self.buffers.k[slot] - k
                self.buffers.k[slot] = k

    def _lay_anew(self, slot: int, k: int) -> None:
        start, size = int(self.buffers.start[slot]), int(self.buffers.size[slot])
        capacity = max(self.reserve.times * k + self.reserve.more, int(self.buffers.capacity[slot]))
        to = int(self._allocate(np.array([capacity + k]))[0])
        for pool in self.buffers[7:]:
            pool[to : to + size] = pool[start : start + size].copy()
        self._free[int(self.buffers.capacity[slot] + self.buffers.k[slot])].append(start)
        self.buffers.start[slot], self.buffers.capacity[slot], self.buffers.k[slot] = to, capacity, k

    def ks(self, slots: Int64s) -> Int64s:
        return self.buffers.k[slots]

    def signs(self, slots: Int64s) -> Floats:
        return self.buffers.sign[slots]

    def n_members(self, slots: Int64s) -> int:
        return int(self.buffers.k[slots].sum())

    def leave(self, slots: Int64s, told: FoundChanges) -> None:
        leave_all(slots, self.buffers, told)

    def pool(self, slots: Int64s) -> Pool:
        """All entries of these rows."""
        buffers = self.buffers
        return Pool(buffers.start[slots], buffers.size[slots], buffers.item, buffers.score)

    def ranking(self, schema: pa.Schema, slots: Int64s, items: IdMap, base: int) -> pa.Table:
        """The first k entries of these rows."""
        rows = self.pool(slots)
        tops = rows._replace(n=np.minimum(self.buffers.k[slots], rows.n))
        return self.roster.ranking(schema, slots, tops, items, base)

    def delivered(self, slots: Int64s) -> Deliveries:
        """What rows hold below their tops that was delivered."""
        n = self.buffers.size[slots]
        at = places_of(self.buffers.start[slots], n)
        told = self.buffers.mark[at] & (DELIVERED | MEMBER) == DELIVERED
        return Deliveries(np.repeat(slots, n)[told], self.buffers.item[at[told]])

    def mark_delivered(self, delivered: Deliveries) -> Bools:
        """Note what was delivered; says which of it rows hold."""
        held = np.zeros(len(delivered.slot), np.bool_)
        mark_all(self.buffers, *delivered, held)
        return held

    def check(self) -> None:
        """Assert the invariants that rows have among themselves."""
        self.roster.check()
        taken = np.zeros(self._n_pool, np.int64)
        for slot in self.roster.in_turn():
            start = int(self.buffers.start[slot])
            taken[start : start + int(self.buffers.capacity[slot] + self.buffers.k[slot])] += 1
        assert (taken <= 1).all()
