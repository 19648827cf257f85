"""Pairs: which living objects were delivered to whom and are in their row no longer, in eight bytes each.

A subscription has a number for as long as it asks the same question, its tenancy; an object has one for as long as it
exists, its incarnation. A pair is both in one integer, in open addressing. What becomes untrue is not looked for: the
number is given up, and the pair is garbage until the table is laid anew. Then those who are there are numbered from 1,
so that numbers stay small and 0 is nobody.

Invariants: no pair is in the table twice; at most 5 of 8 places are in use; tenancies in use are distinct, and so are
incarnations; each is less than its next number, and that is less than 2**31.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.growth import grown

NOBODY = 0
FEWEST = 64
# Numbers given up before they are given anew, at least: laying anew takes a map of all numbers.
SPARE = 1 << 16


class Pairs(NamedTuple):
    """`key` is the table, with `n[0]` in use; `next` are the next tenancy and the next incarnation.

    By subscription its tenancy, NOBODY where a slot is free; by object its incarnation, and the step of its last death.
    """

    key: Int64s
    n: Int64s
    next: Int64s
    tenancy: Int64s
    incarnation: Int64s
    death: Int64s


@inlined
def _find(keys: Int64s, tenancy: int, incarnation: int) -> int:
    """The place of this pair, or the empty one where it would be."""
    # Factors below 2**32 for numbers below 2**31: nothing overflows.
    code = (tenancy * 2654435761) & 0xFFFFFFFF
    code = ((code >> 1) ^ incarnation) * 2246822519 & 0xFFFFFFFF
    mask = len(keys) - 1
    place = (code ^ (code >> 15)) & mask
    wanted = tenancy << 32 | incarnation
    while keys[place] != NOBODY and keys[place] != wanted:
        place = (place + 1) & mask
    return place


@kernel
def has_room(pairs: Pairs, n: int) -> bool:
    """Whether n more pairs can be noted."""
    return 8 * (pairs.n[0] + n) <= 5 * len(pairs.key)


@kernel
def remember(pairs: Pairs, row: int, object: int) -> None:
    """Note that an object was delivered to the tenant of a row; the table has room for it."""
    tenancy, incarnation = pairs.tenancy[row], pairs.incarnation[object]
    place = _find(pairs.key, tenancy, incarnation)
    if pairs.key[place] == NOBODY:
        pairs.key[place] = tenancy << 32 | incarnation
        pairs.n[0] += 1


@kernel
def remembers(pairs: Pairs, row: int, object: int) -> bool:
    """Whether this object, as it is now, was delivered to the tenant of a row."""
    place = _find(pairs.key, pairs.tenancy[row], pairs.incarnation[object])
    return pairs.key[place] != NOBODY


@kernel
def remember_all(pairs: Pairs, rows: Int64s, objects: Int64s) -> None:
    """Note deliveries; the table has room for them."""
    for i in range(len(rows)):
        remember(pairs, rows[i], objects[i])


@kernel
def bury(pairs: Pairs, object: int, step: int) -> None:
    """Note that an object ends in this step: what comes under its name later is new to everyone."""
    pairs.death[object] = step
    pairs.incarnation[object] = pairs.next[1]
    pairs.next[1] += 1


@kernel
def _count_true(keys: Int64s, tenancies: Int64s, incarnations: Int64s) -> int:
    n = 0
    for key in keys:
        if tenancies[key >> 32] != NOBODY and incarnations[key & 0xFFFFFFFF] != NOBODY:
            n += 1
    return n


@kernel
def _move(keys: Int64s, tenancies: Int64s, incarnations: Int64s, to: Int64s) -> int:
    """Put the pairs that are still true into an empty table under their new numbers; returns how many."""
    n = 0
    for key in keys:
        tenancy, incarnation = tenancies[key >> 32], incarnations[key & 0xFFFFFFFF]
        if tenancy != NOBODY and incarnation != NOBODY:
            to[_find(to, tenancy, incarnation)] = tenancy << 32 | incarnation
            n += 1
    return n


class DeliveryPairs:
    """The owner of the pairs: hands out numbers, makes room, forgets what is untrue."""

    def __init__(self) -> None:
        numbers = (np.zeros(0, np.int64) for _ in range(3))
        self.pairs = Pairs(np.zeros(FEWEST, np.int64), np.zeros(1, np.int64), np.ones(2, np.int64), *numbers)
        self._n_objects = 0

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.pairs)

    def begin(self, slots: Int64s, n_slots: int) -> None:
        """These slots are tenancies that begin now: nothing was delivered to them."""
        self.pairs = self.pairs._replace(tenancy=grown(self.pairs.tenancy, n_slots))
        if self.pairs.next[0] + len(slots) > self._most(self.pairs.tenancy):
            self._lay_anew(0)
        self.pairs.tenancy[slots] = self.pairs.next[0] + np.arange(len(slots))
        self.pairs.next[0] += len(slots)

    def end(self, slots: Int64s) -> None:
        """These slots are free."""
        self.pairs.tenancy[slots] = NOBODY

    def bear(self, n_objects: int) -> None:
        """There are so many objects now; the new ones have never died."""
        n_new = n_objects - self._n_objects
        if n_new > 0:
            incarnation, death = grown(self.pairs.incarnation, n_objects), grown(self.pairs.death, n_objects)
            incarnation[self._n_objects : n_objects] = self.pairs.next[1] + np.arange(n_new)
            death[self._n_objects : n_objects] = -1
            self.pairs = self.pairs._replace(incarnation=incarnation, death=death)
            self.pairs.next[1] += n_new
            self._n_objects = n_objects

    def reserve(self, n_pairs: int) -> None:
        """Make sure that there is room for so many more."""
        wasteful = self.pairs.next[1] > self._most(self.pairs.incarnation)
        if wasteful or not has_room(self.pairs, n_pairs):
            self._lay_anew(n_pairs)

    @staticmethod
    def _most(numbers: Int64s) -> int:
        return 4 * len(numbers) + SPARE

    def _lay_anew(self, n_pairs: int) -> None:
        old = self.pairs
        tenancies = self._renumbered(old.tenancy, int(old.next[0]))
        incarnations = self._renumbered(old.incarnation, int(old.next[1]))
        n_places, n_true = FEWEST, _count_true(old.key, tenancies, incarnations)
        while 5 * n_places < 16 * (n_true + n_pairs):
            n_places *= 2
        key = np.zeros(n_places, np.int64)
        old.n[0] = _move(old.key, tenancies, incarnations, key)
        self.pairs = Pairs(key, old.n, old.next, tenancies[old.tenancy], incarnations[old.incarnation], old.death)
        old.next[:] = tenancies.max(initial=0) + 1, incarnations.max(initial=0) + 1

    @staticmethod
    def _renumbered(numbers: Int64s, end: int) -> Int64s:
        """For each number its new one, NOBODY where it is not in use."""
        map = np.zeros(end, np.int64)
        used = numbers[numbers != NOBODY]
        map[used] = np.arange(1, len(used) + 1)
        return map

    def held(self) -> tuple[Int64s, Int64s]:
        """The slots and the objects of all pairs that are true, by slot."""
        keys = self.pairs.key[self.pairs.key != NOBODY]
        row_of, object_of = (self._places(part) for part in (self.pairs.tenancy, self.pairs.incarnation))
        rows, objects = row_of[keys >> 32], object_of[keys & 0xFFFFFFFF]
        true = (rows >= 0) & (objects >= 0)
        order = np.lexsort((objects[true], rows[true]))
        return rows[true][order], objects[true][order]

    def _places(self, numbers: Int64s) -> Int64s:
        places = np.full(int(self.pairs.next.max()), -1, np.int64)
        used = np.flatnonzero(numbers)
        places[numbers[used]] = used
        return places

    def add(self, slots: Int64s, objects: Int64s) -> None:
        """Note deliveries."""
        self.reserve(len(slots))
        remember_all(self.pairs, slots, objects)

    def check(self) -> None:
        """Assert the invariants."""
        keys = self.pairs.key[self.pairs.key != NOBODY]
        assert len(keys) == self.pairs.n[0] == len(np.unique(keys))
        assert 8 * len(keys) <= 5 * len(self.pairs.key)
        for numbers, end in zip((self.pairs.tenancy, self.pairs.incarnation), self.pairs.next.tolist(), strict=True):
            used = numbers[numbers != NOBODY]
            assert len(np.unique(used)) == len(used)
            assert used.max(initial=0) < end < 2**31
        for key in keys.tolist():
            place = _find(self.pairs.key, key >> 32, key & 0xFFFFFFFF)
            assert self.pairs.key[place] == key
