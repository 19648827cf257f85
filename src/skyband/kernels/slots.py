"""Slots of a growable struct-of-arrays table, handed out in blocks and reused through free lists.

A block holds slots of one kind only, so that a loop over a block runs one score over contiguous numbers.
Invariants: each slot is either in use or on the free list of its block's kind, never both; blocks are never given up.
"""

from collections.abc import Iterator

import numpy as np

from skyband.kernels.array import Bools, Int8s, Int64s
from skyband.kernels.growth import resized

BLOCK = 256


def each_kind(kinds: Int8s) -> Iterator[tuple[int, Int64s | slice]]:
    """The kinds there are in ascending order, and where each of them is."""
    if len(kinds) == 1:
        yield int(kinds[0]), slice(None)
        return
    for kind in np.unique(kinds).tolist():
        yield kind, np.flatnonzero(kinds == kind)


class Slots:
    """Which slots are in use, by kind."""

    def __init__(self) -> None:
        self.kinds = np.zeros(0, np.int8)
        self._free: dict[int, Int64s] = {}
        self._used = np.zeros(0, np.bool_)

    @property
    def n_blocks(self) -> int:
        return len(self.kinds)

    @property
    def n_slots(self) -> int:
        return len(self.kinds) * BLOCK

    @property
    def used(self) -> Bools:
        """For each slot, whether it is in use."""
        return self._used

    def take(self, kinds: Int8s) -> Int64s:
        """One slot for each wanted kind; the lowest free ones first."""
        slots = np.empty(len(kinds), np.int64)
        for kind, wanted in each_kind(kinds):
            slots[wanted] = self._take_kind(kind, len(slots[wanted]))
        self._used[slots] = True
        return slots

    def _take_kind(self, kind: int, n: int) -> Int64s:
        free = self._free.get(kind, np.empty(0, np.int64))
        if n > len(free):
            new_blocks = -(-(n - len(free)) // BLOCK)
            fresh = np.arange(self.n_slots, self.n_slots + new_blocks * BLOCK, dtype=np.int64)
            self.kinds = resized(self.kinds, self.n_blocks + new_blocks, kind)
            self._used = resized(self._used, self.n_slots)
            free = np.concatenate([free, fresh])
        self._free[kind] = free[n:]
        return free[:n]

    def give(self, slots: Int64s) -> None:
        """Take slots back."""
        self._used[slots] = False
        kinds = self.kinds[slots // BLOCK]
        for kind, some in each_kind(kinds):
            free, given = self._free[kind], np.sort(slots[some])
            self._free[kind] = np.insert(free, np.searchsorted(free, given), given)

    def check(self) -> None:
        """Assert the invariants."""
        free = np.concatenate([np.empty(0, np.int64), *self._free.values()])
        assert len(np.unique(free)) == len(free)
        assert not self._used[free].any()
        assert len(free) + int(self._used.sum()) == self.n_slots
        for kind, slots in self._free.items():
            assert (self.kinds[slots // BLOCK] == kind).all()
