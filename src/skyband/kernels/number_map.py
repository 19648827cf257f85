"""A map from integers to slots and back: open addressing over an array of the integers by slot.

`places` holds slots, or EMPTY, or GONE where one was removed. Invariants: every slot that is `used` is found by its own
number; the number of places is a power of two, and at least a third of them are neither in use nor GONE.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.extreme import largest
from skyband.kernels.growth import BY_A_QUARTER, blank, grown

EMPTY = -1
GONE = -2
LOW_BITS = 2**32 - 1
# An odd number of 27 bits: its product with one of 32 bits does not overflow.
FACTOR = 0x45D9F3B


class NumberPlaces(NamedTuple):
    """The arrays of a NumberMap."""

    places: Int32s
    number: Int64s
    used: Bools


@inlined
def _mixed(code: int) -> int:
    code = ((code >> 16) ^ code) * FACTOR & LOW_BITS
    code = ((code >> 16) ^ code) * FACTOR & LOW_BITS
    return (code >> 16) ^ code


@inlined
def _hash(number: int) -> int:
    return _mixed(_mixed((number >> 32) & LOW_BITS) ^ (number & LOW_BITS))


@inlined
def _place_of(table: NumberPlaces, number: int) -> int:
    """The place that holds a number, or -1."""
    mask = len(table.places) - 1
    place = _hash(number) & mask
    while table.places[place] != EMPTY:
        slot = table.places[place]
        if slot >= 0 and table.number[slot] == number:
            return place
        place = (place + 1) & mask
    return -1


@inlined
def _put(table: NumberPlaces, number: int, slot: int) -> None:
    mask = len(table.places) - 1
    place = _hash(number) & mask
    while table.places[place] != EMPTY:
        place = (place + 1) & mask
    table.places[place] = slot


@kernel
def find_numbers(table: NumberPlaces, numbers: Int64s, slots: Int64s) -> None:
    """The slot of each number, -1 for an unknown one."""
    for i in range(len(slots)):
        place = _place_of(table, numbers[i])
        slots[i] = -1 if place < 0 else table.places[place]


@kernel
def add_numbers(table: NumberPlaces, numbers: Int64s, slots: Int64s) -> None:
    """Put new numbers at these slots."""
    for i in range(len(slots)):
        table.number[slots[i]], table.used[slots[i]] = numbers[i], True
        _put(table, numbers[i], slots[i])


@kernel
def remove_numbers(table: NumberPlaces, slots: Int64s) -> None:
    """Forget the numbers at these slots."""
    for slot in slots:
        table.places[_place_of(table, table.number[slot])] = GONE
        table.used[slot] = False


@kernel
def place_numbers(table: NumberPlaces) -> None:
    """Put every slot that is used into empty places."""
    for slot in range(len(table.used)):
        if table.used[slot]:
            _put(table, table.number[slot], slot)


def _no_places(n: int) -> Int32s:
    return np.full(n, EMPTY, np.int32)


class NumberMap:
    """Distinct integers, each at a slot of the caller's choosing."""

    def __init__(self) -> None:
        self.size = 0
        self._taken = 0
        self._table = NumberPlaces(_no_places(16), blank(0, dtype=np.int64), blank(0, dtype=np.bool_))

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self._table)

    def find(self, numbers: Int64s) -> Int64s:
        """The slot of each number, -1 for an unknown one."""
        slots = np.empty(len(numbers), np.int64)
        find_numbers(self._table, numbers, slots)
        return slots

    def add(self, numbers: Int64s, slots: Int64s) -> None:
        """Put new numbers at free slots; neither may be in the map already."""
        n = len(numbers)
        n_slots = 1 + largest(slots) if n else 0
        places, number, used = self._table
        if n_slots > len(number):
            longer = grown(number, n_slots, share=BY_A_QUARTER), grown(used, n_slots, share=BY_A_QUARTER)
            self._table = NumberPlaces(places, *longer)
        if 3 * (self._taken + n) > 2 * len(self._table.places):
            self._rehash(self.size + n)
        add_numbers(self._table, numbers, slots)
        self.size += n
        self._taken += n

    def remove(self, slots: Int64s) -> None:
        """Forget the numbers at these slots."""
        remove_numbers(self._table, slots)
        self.size -= len(slots)

    def shift(self, n: int) -> None:
        """Renumber: slot s becomes s - n. The first n slots must hold nothing."""
        number, used = self._table.number[n:].copy(), self._table.used[n:].copy()
        self._table = self._table._replace(number=number, used=used)
        self._rehash(self.size)

    def numbers(self, slots: Int64s) -> Int64s:
        """The numbers at these slots."""
        numbers: Int64s = self._table.number[slots]
        return numbers

    def _rehash(self, expected: int) -> None:
        n_places = 16
        while n_places < 2 * expected:
            n_places *= 2
        self._table = self._table._replace(places=_no_places(n_places))
        place_numbers(self._table)
        self._taken = self.size

    def check(self) -> None:
        """Assert the invariants."""
        table, slots = self._table, np.flatnonzero(self._table.used)
        assert len(slots) == self.size
        assert len(table.places) & (len(table.places) - 1) == 0
        assert 3 * self._taken <= 2 * len(table.places)
        assert int((table.places != EMPTY).sum()) == self._taken
        assert np.array_equal(self.find(self.numbers(slots)), slots)
