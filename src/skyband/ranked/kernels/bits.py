"""A set of small whole numbers as bits, with summaries: the neighbours of a number are found in a few steps.

The lowest level has a bit for each number, each level above a bit for each word of 64 bits below. Invariants: a bit of
a summary is set exactly if its word is not zero; the highest level is one word; bits beyond the size are never set.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int64s, UInt64s
from skyband.kernels.compile import inlined

NONE = -1

# A whole number that is not a uint64 would turn the arithmetic of words into that of floats.
ZERO, ONE = np.uint64(0), np.uint64(1)


class Bits(NamedTuple):
    """`word` level after level, the lowest first; `level` says where each begins, and where the last one ends."""

    word: UInt64s
    level: Int64s


def make_bits(size: int) -> Bits:
    """The empty set, with room for the numbers below `size`."""
    lengths = [-(-max(size, 1) // 64)]
    while lengths[-1] > 1:
        lengths.append(-(-lengths[-1] // 64))
    return Bits(np.zeros(sum(lengths), np.uint64), np.cumsum([0, *lengths], dtype=np.int64))


@inlined
def _lowest(word: np.uint64) -> int:
    """The place of the lowest bit, read from the exponent of that power of two; there is one."""
    return int(np.float64(word & (~word + ONE)).view(np.int64) >> 52) - 1023


@inlined
def _highest(word: np.uint64) -> int:
    """The place of the highest bit; there is one."""
    # Without neighbours below it, it cannot be rounded up to the next power of two.
    return int(np.float64(word & ~(word >> ONE)).view(np.int64) >> 52) - 1023


@inlined
def set_bit(bits: Bits, i: int) -> None:
    """Add a number."""
    words, levels = bits.word, bits.level
    for level in range(len(levels) - 1):
        at = levels[level] + (i >> 6)
        before = words[at]
        words[at] = before | (ONE << np.uint64(i & 63))
        if before != ZERO:
            return
        i >>= 6


@inlined
def clear_bit(bits: Bits, i: int) -> None:
    """Take a number out."""
    words, levels = bits.word, bits.level
    for level in range(len(levels) - 1):
        at = levels[level] + (i >> 6)
        after = words[at] & ~(ONE << np.uint64(i & 63))
        words[at] = after
        if after != ZERO:
            return
        i >>= 6


@inlined
def next_bit(bits: Bits, i: int) -> int:
    """The least number in the set that is not less than i, or NONE; i may be as large as the size."""
    words, levels = bits.word, bits.level
    for level in range(len(levels) - 1):
        at = levels[level] + (i >> 6)
        if at >= levels[level + 1]:
            return NONE
        rest = words[at] >> np.uint64(i & 63)
        if rest != ZERO:
            i += _lowest(rest)
            for below in range(level - 1, -1, -1):
                i = (i << 6) + _lowest(words[levels[below] + i])
            return i
        i = (i >> 6) + 1
    return NONE


@inlined
def previous_bit(bits: Bits, i: int) -> int:
    """The greatest number in the set that is not greater than i, or NONE; i may be -1."""
    words, levels = bits.word, bits.level
    for level in range(len(levels) - 1):
        if i < 0:
            return NONE
        rest = words[levels[level] + (i >> 6)] << np.uint64(63 - (i & 63))
        if rest != ZERO:
            i += _highest(rest) - 63
            for below in range(level - 1, -1, -1):
                i = (i << 6) + _highest(words[levels[below] + i])
            return i
        i = (i >> 6) - 1
    return NONE


def members(bits: Bits) -> Int64s:
    """All numbers in the set, in order."""
    flags = np.unpackbits(bits.word[: bits.level[1]].astype("<u8").view(np.uint8), bitorder="little")
    return np.flatnonzero(flags).astype(np.int64)


def check_bits(bits: Bits, size: int) -> None:
    """Assert the invariants."""
    levels = [bits.word[start:end] for start, end in pairwise(bits.level)]
    assert len(levels[-1]) == 1
    assert bits.level[-1] == len(bits.word)
    for below, above in pairwise(levels):
        flags = np.unpackbits(above.astype("<u8").view(np.uint8), bitorder="little").astype(np.bool_)
        assert np.array_equal(flags[: len(below)], below != ZERO)
        assert not flags[len(below) :].any()
    assert (members(bits) < size).all()
