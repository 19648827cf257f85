"""A memory of deliveries that no row holds any more: a set of pairs of turn and item, by open addressing.

A pair lies at its hash or behind it; `turn` is EMPTY where nothing lies. Invariants: the number of places is a power of
two, more than half of them empty; `used[0]` counts the pairs. Pairs are never taken out singly: the set is built anew
from those that may still matter when it has filled up.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Int64s
from skyband.kernels.compile import inlined, kernel

EMPTY = -1


class Memory(NamedTuple):
    """Pairs of turn and item."""

    turn: Int64s
    item: Int64s
    used: Int64s


def make_memory(capacity: int) -> Memory:
    """Room for `capacity` pairs."""
    places = 1 << max(3, int(2 * capacity).bit_length())
    return Memory(np.full(places, EMPTY, np.int64), np.zeros(places, np.int64), np.zeros(1, np.int64))


@kernel
def has_room(memory: Memory, n: int) -> bool:
    """Whether n more pairs can be noted."""
    return 2 * (memory.used[0] + n) < len(memory.turn)


@inlined
def _place(memory: Memory, turn: int, item: int) -> int:
    turns, items = memory.turn, memory.item
    mask = len(turns) - 1
    # Odd multipliers below 2**31 and a fold: the low bits of both numbers reach the low bits of the place.
    code = (turn * 1640531527) ^ (item * 1274126177)
    place = (code ^ (code >> 29)) & mask
    while turns[place] != EMPTY and (turns[place] != turn or items[place] != item):
        place = (place + 1) & mask
    return place


@kernel
def remember(memory: Memory, turn: int, item: int) -> None:
    """Note a pair; there is room for it."""
    place = _place(memory, turn, item)
    if memory.turn[place] == EMPTY:
        memory.turn[place], memory.item[place] = turn, item
        memory.used[0] += 1


@kernel
def remember_all(memory: Memory, turns: Int64s, items: Int64s) -> None:
    """Note pairs; there is room for them."""
    for i in range(len(turns)):
        remember(memory, turns[i], items[i])


@kernel
def recalls(memory: Memory, turn: int, item: int) -> bool:
    """Whether a pair was noted."""
    return memory.used[0] > 0 and memory.turn[_place(memory, turn, item)] != EMPTY


@kernel
def _copy(source: Memory, wanted: Bools, into: Memory) -> None:
    for place in range(len(wanted)):
        if wanted[place]:
            remember(into, source.turn[place], source.item[place])


def renewed(memory: Memory, room: int, first_item: int, turns: Int64s) -> Memory:
    """The pairs of items from `first_item` on and of these turns, sorted, in a set with room for that many more."""
    wanted = (memory.turn != EMPTY) & (memory.item >= first_item) & np.isin(memory.turn, turns)
    into = make_memory(2 * int(wanted.sum()) + room)
    _copy(memory, wanted, into)
    return into


def check_memory(memory: Memory) -> None:
    """Assert the invariants."""
    taken = np.flatnonzero(memory.turn != EMPTY)
    assert len(taken) == memory.used[0] < len(memory.turn) / 2
    for place in taken:
        assert recalls(memory, int(memory.turn[place]), int(memory.item[place]))
