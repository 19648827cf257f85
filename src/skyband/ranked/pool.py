"""The pool: the parts of all subscriptions, those of one side by side, and what is known of each owner.

Behind its parts an owner may have one more row, its *base*: an interval that everything meets, for the parts that are
open on both sides, or in place of parts where exact matching asks for nothing. Rows are reused, but not while an index
that is built as a whole may still name them.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.extreme import largest
from skyband.kernels.growth import BY_A_QUARTER, grown
from skyband.kernels.ragged import offsets_of, places_of
from skyband.ranked.kernels.parts import HI, KEY, LO, OWNER
from skyband.ranked.kernels.ranking import SPAN_BITS

NOT_INDEXED, LARGE, SMALL, OLD, YOUNG = range(5)


class PoolRows(NamedTuple):
    """Rows to put into the pool, laid end to end by owner: `n_rows` of each, `n_parts` of them parts."""

    n_rows: Int64s
    n_parts: Int64s
    dim: Int32s
    lo: Floats
    hi: Floats
    key: Floats
    weight: Floats


class OwnerPool:
    """Growable arrays by row (`fact`, `dim`, `weight`, `layer`) and by owner (the others)."""

    def __init__(self) -> None:
        self.fact = np.zeros((0, 4))
        self.dim = np.zeros(0, np.int32)
        self.weight = np.zeros(0)
        self.layer = np.zeros(0, np.int8)
        self.n_rows = 0
        self.first = np.zeros(0, np.int64)
        self.n_owned = np.zeros(0, np.int32)
        self.n_parts = np.zeros(0, np.int32)
        self.span = np.zeros(0, np.int64)
        self.needed = np.zeros(0, np.int32)
        self.budget = np.zeros(0, np.int64)
        self.alive = np.zeros(0, np.bool_)
        self._free: dict[int, Int64s] = {}

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in vars(self).values() if isinstance(array, np.ndarray))

    def put(self, owners: Int64s, rows: PoolRows) -> Int64s:
        """Give owners their rows; answers with the places of the rows."""
        n_owners = largest(owners) + 1 if len(owners) else 0
        if n_owners > len(self.alive):
            self._make_room(n_owners)
        first = self._take(rows.n_rows)
        places = places_of(first, rows.n_rows)
        self.fact[places, LO], self.fact[places, HI] = rows.lo, rows.hi
        self.fact[places, KEY], self.fact[places, OWNER] = rows.key, np.repeat(owners, rows.n_rows)
        self.dim[places], self.weight[places], self.layer[places] = rows.dim, rows.weight, NOT_INDEXED
        self.first[owners], self.n_owned[owners], self.n_parts[owners] = first, rows.n_rows, rows.n_parts
        some = np.flatnonzero(rows.n_parts)
        leading = np.zeros(len(first), np.bool_)
        leading[some] = self.dim[first[some] + rows.n_parts[some] - 1] == rows.n_parts[some] - 1
        self.span[owners] = first << SPAN_BITS | rows.n_parts << 1 | leading
        self.alive[owners] = True
        return places

    def _make_room(self, n_owners: int) -> None:
        for name in ("first", "n_owned", "n_parts", "span", "needed", "budget", "alive"):
            setattr(self, name, grown(getattr(self, name), n_owners, share=BY_A_QUARTER))

    def _take(self, sizes: Int64s) -> Int64s:
        """The first rows of so many each, of those that are free or behind all others."""
        first = self._take_one(int(sizes[0])) if len(sizes) == 1 else self._take_many(sizes)
        if self.n_rows > len(self.dim):
            for name in ("fact", "dim", "weight", "layer"):
                setattr(self, name, grown(getattr(self, name), self.n_rows, share=BY_A_QUARTER))
        return first

    def _take_one(self, size: int) -> Int64s:
        free = self._free.get(size)
        if free is not None and len(free):
            self._free[size] = free[:-1]
            return free[-1:]
        self.n_rows += size
        return np.array([self.n_rows - size])

    def _take_many(self, sizes: Int64s) -> Int64s:
        first = np.full(len(sizes), -1, np.int64)
        for size in np.unique(sizes).tolist():
            free = self._free.get(size)
            if free is not None and len(free):
                wanted = np.flatnonzero(sizes == size)[: len(free)]
                first[wanted] = free[len(free) - len(wanted) :]
                self._free[size] = free[: len(free) - len(wanted)]
        new = np.flatnonzero(first < 0)
        offsets = self.n_rows + offsets_of(sizes[new])
        first[new], self.n_rows = offsets[:-1], int(offsets[-1])
        return first

    def rows_of(self, owners: Int64s) -> Int64s:
        """The places of the rows of these owners, one owner's after the other's."""
        return places_of(self.first[owners], self.n_owned[owners])

    def kill(self, owners: Int64s) -> None:
        """Let nothing meet the rows of these owners any more."""
        places = self.rows_of(owners)
        self.fact[places, LO], self.fact[places, HI] = np.inf, -np.inf
        self.alive[owners] = False

    def free(self, first: Int64s, sizes: Int64s) -> None:
        """Take back rows that no index names."""
        self.layer[places_of(first, sizes)] = NOT_INDEXED
        for size in np.unique(sizes).tolist():
            back = first[sizes == size]
            self._free[size] = np.concatenate([self._free.get(size, back[:0]), back])

    def check(self) -> None:
        """Assert that every row has one owner or is free, and that owners know theirs."""
        taken = np.zeros(self.n_rows, np.int64)
        owners = np.flatnonzero(self.alive)
        places = self.rows_of(owners)
        taken[places] += 1
        for size, first in self._free.items():
            taken[places_of(first, np.full(len(first), size))] += 1
        assert taken.max(initial=0) <= 1
        assert (self.fact[places, OWNER] == np.repeat(owners, self.n_owned[owners])).all()
        assert (self.fact[places, LO] <= self.fact[places, HI]).all()
