"""The deliveries that no row holds any more: a set of pairs of turn and item, by open addressing.

A pair lies at its hash or behind it; `turn` is EMPTY where nothing lies. Invariants: the number of places is a power of
two, more than half of them empty; `used[0]` counts the pairs. Pairs are never taken out singly: the set is built anew
from those that may still matter when it has filled up.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Int64s
from skyband.kernels.compile import inlined, kernel

EMPTY = -1


class DeliverySet(NamedTuple):
    """Pairs of turn and item."""

    turn: Int64s
    item: Int64s
    used: Int64s


def make_delivery_set(capacity: int) -> DeliverySet:
    """Room for `capacity` pairs."""
    places = 1 << max(3, int(2 * capacity).bit_length())
    return DeliverySet(np.full(places, EMPTY, np.int64), np.zeros(places, np.int64), np.zeros(1, np.int64))


@kernel
def has_room(deliveries: DeliverySet, n: int) -> bool:
    """Whether n more pairs can be noted."""
    return 2 * (deliveries.used[0] + n) < len(deliveries.turn)


@inlined
def _place(deliveries: DeliverySet, turn: int, item: int) -> int:
    turns, items = deliveries.turn, deliveries.item
    mask = len(turns) - 1
    # Odd multipliers below 2**31 and a fold: the low bits of both numbers reach the low bits of the place.
    code = (turn * 1640531527) ^ (item * 1274126177)
    place = (code ^ (code >> 29)) & mask
    while turns[place] != EMPTY and (turns[place] != turn or items[place] != item):
        place = (place + 1) & mask
    return place


@kernel
def remember(deliveries: DeliverySet, turn: int, item: int) -> None:
    """Note a pair; there is room for it."""
    place = _place(deliveries, turn, item)
    if deliveries.turn[place] == EMPTY:
        deliveries.turn[place], deliveries.item[place] = turn, item
        deliveries.used[0] += 1


@kernel
def remember_all(deliveries: DeliverySet, turns: Int64s, items: Int64s) -> None:
    """Note pairs; there is room for them."""
    for i in range(len(turns)):
        remember(deliveries, turns[i], items[i])


@kernel
def recalls(deliveries: DeliverySet, turn: int, item: int) -> bool:
    """Whether a pair was noted."""
    return deliveries.used[0] > 0 and deliveries.turn[_place(deliveries, turn, item)] != EMPTY


@kernel
def take_pairs(deliveries: DeliverySet, turns: Int64s, items: Int64s, fresh: Bools) -> None:
    """Note pairs, for which there is room; `fresh` says which of them were not noted before."""
    for i in range(len(turns)):
        n_before = deliveries.used[0]
        remember(deliveries, turns[i], items[i])
        fresh[i] = deliveries.used[0] > n_before


@kernel
def _copy(source: DeliverySet, wanted: Bools, into: DeliverySet) -> None:
    for place in range(len(wanted)):
        if wanted[place]:
            remember(into, source.turn[place], source.item[place])


def renewed(deliveries: DeliverySet, room: int, first_item: int, turns: Int64s) -> DeliverySet:
    """The pairs of items from `first_item` on and of these turns, sorted, in a set with room for that many more."""
    wanted = (deliveries.turn != EMPTY) & (deliveries.item >= first_item) & np.isin(deliveries.turn, turns)
    into = make_delivery_set(2 * int(wanted.sum()) + room)
    _copy(deliveries, wanted, into)
    return into


def enlarged(deliveries: DeliverySet, n: int) -> DeliverySet:
    """The same pairs in a set with room for n more, and for as many again as there are."""
    into = make_delivery_set(2 * int(deliveries.used[0]) + n)
    _copy(deliveries, deliveries.turn != EMPTY, into)
    return into


def held_pairs(deliveries: DeliverySet) -> tuple[Int64s, Int64s]:
    """The turns and the items of all pairs."""
    held = deliveries.turn != EMPTY
    return deliveries.turn[held], deliveries.item[held]


def check_delivery_set(deliveries: DeliverySet) -> None:
    """Assert the invariants."""
    taken = np.flatnonzero(deliveries.turn != EMPTY)
    assert len(taken) == deliveries.used[0] < len(deliveries.turn) / 2
    for place in taken:
        assert recalls(deliveries, int(deliveries.turn[place]), int(deliveries.item[place]))
