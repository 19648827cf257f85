"""A stable sort of whole numbers by digits of 11 bits, the lowest first, in slices that can be far apart in time.

A sort counts the digits of all numbers, then deals the cards of a deck into another one, once for each digit in which
numbers differ. All it has to remember between slices lies in `counts` and `place`. Invariant while cards are dealt:
`place` has for each digit where the next card with it goes, and all those dealt before lie in order before that.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.compile import kernel
from skyband.kernels.simd import image_above, image_below
from skyband.kernels.sort_keys import float_key
from skyband.ranked.kernels.parts import HI, KEY, LO, OWNER, Parts

BITS = 11
DIGITS = 1 << BITS
N_DIGITS = -(-64 // BITS)

# Added to the images of ends it leaves none that is negative, whose upper digits would differ from those of others.
LEAST = 1 << 31


class Deck(NamedTuple):
    """Cards in a row, each with the number to sort it by and the item it stands for."""

    number: Int64s
    item: Int32s


class Facts(NamedTuple):
    """What parts are sorted by, as whole numbers in ascending order: `key` and `label` are upside down.

    Ends are rounded outward to 32 bits, as indexes hold them: an index may hand out a part that the value just misses,
    and that must not come before a better one that the value meets. They also take half the passes to sort.
    """

    low: Int64s
    high: Int64s
    key: Int64s
    label: Int64s
    dim: Int32s


def make_deck(n: int) -> Deck:
    """Room for n cards."""
    return Deck(np.empty(n, np.int64), np.empty(n, np.int32))


def make_facts(n: int) -> Facts:
    """Room for the facts of n parts."""
    low, high, key, label = (np.empty(n, np.int64) for _ in range(4))
    return Facts(low, high, key, label, np.empty(n, np.int32))


@kernel
def copy_facts(parts: Parts, ids: Int32s, facts: Facts, n_in: Int64s) -> None:
    """Copy the facts of these parts, and count them by dimension."""
    fact, dims, labels = parts.fact, parts.dim, parts.label
    low, high, key, label, dim = facts.low, facts.high, facts.key, facts.label, facts.dim
    for i in range(len(ids)):
        part = ids[i]
        low[i] = image_below(fact[part, LO]) + LEAST
        # A part that has died counts as a point.
        high[i] = max(low[i], image_above(fact[part, HI]) + LEAST)
        key[i], label[i] = ~float_key(fact[part, KEY]), ~labels[int(fact[part, OWNER])]
        dim[i] = dims[part]
        n_in[dim[i]] += 1


@kernel
def count_digits(numbers: Int64s, start: int, stop: int, counts: Int64s) -> None:
    """Count the digits of the numbers from `start` to `stop`, a row for each place of a digit."""
    for i in range(start, stop):
        number = numbers[i]
        for row in range(N_DIGITS):
            counts[row, (number >> (row * BITS)) & (DIGITS - 1)] += 1


def places(counts: Int64s, row: int) -> Int64s:
    """Where the first card with each digit goes."""
    # The highest digit has the sign: its upper half is that of the negative numbers.
    turn = DIGITS // 2 if row == N_DIGITS - 1 else 0
    turned = np.roll(counts[row], turn)
    return np.roll(np.cumsum(turned) - turned, -turn)


@kernel
def deal(deck: Deck, row: int, start: int, stop: int, place: Int64s, dealt: Deck) -> None:
    """Deal the cards from `start` to `stop` by a digit of their numbers."""
    numbers, items, to_numbers, to_items = deck.number, deck.item, dealt.number, dealt.item
    shift = row * BITS
    for i in range(start, stop):
        number = numbers[i]
        digit = (number >> shift) & (DIGITS - 1)
        at = place[digit]
        place[digit] = at + 1
        to_numbers[at], to_items[at] = number, items[i]


@kernel
def deal_groups(deck: Deck, group: Int32s, start: int, stop: int, place: Int64s, dealt: Deck) -> None:
    """Deal the cards from `start` to `stop` by the groups of their items."""
    numbers, items, to_numbers, to_items = deck.number, deck.item, dealt.number, dealt.item
    for i in range(start, stop):
        item = items[i]
        at = place[group[item]]
        place[group[item]] = at + 1
        to_numbers[at], to_items[at] = numbers[i], item


def check_dealt(deck: Deck, row: int, stop: int, place: Int64s, dealt: Deck) -> None:
    """Assert the invariant after the cards up to `stop` have been dealt."""
    digits = (deck.number[:stop] >> (row * BITS)) & (DIGITS - 1)
    for digit in np.unique(digits):
        cards = np.flatnonzero(digits == digit)
        to = slice(place[digit] - len(cards), place[digit])
        assert np.array_equal(dealt.number[to], deck.number[cards])
        assert np.array_equal(dealt.item[to], deck.item[cards])
