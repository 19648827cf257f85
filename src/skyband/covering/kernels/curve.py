"""The Z curve: a cell of a grid in `dims` dimensions is a key, which has the bits of all coordinates interleaved.

The highest level comes first, and within a level dimension 0. A key of `dims * bits` bits lies in `n_words` words, the
most significant first, aligned to the right. Invariants: keys are in the order of the curve when they are compared
word by word; the key grows with every coordinate; the bits above the `dims * bits` lowest are zero.
"""

from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Int64s, UInt16s, UInt64s
from skyband.kernels.compile import inlined, kernel

Words: TypeAlias = UInt64s
Int64s: TypeAlias = Int64s
Cells: TypeAlias = UInt16s | npt.NDArray[np.uint32] | Int64s

MOST_DIMS = 32
MOST_KEY_BITS = 256

# A whole number that is not a uint64 would turn the arithmetic of words into that of floats.
ZERO, ONE = np.uint64(0), np.uint64(1)


def n_words(dims: int, bits: int) -> int:
    """How many words of 64 bits a key has."""
    return -(-dims * bits // 64)


@inlined
def levels_at_once(dims: int) -> int:
    """How many levels of all dimensions are interleaved in one word before they are put into the key."""
    return 8 if dims <= 8 else 4 if dims <= 16 else 2


@cache
def spread_table(dims: int) -> Words:
    """Each number of `levels_at_once` bits with `dims - 1` zeros between its bits."""
    levels = levels_at_once(dims)
    numbers = [sum((number >> i & 1) << (i * dims) for i in range(levels)) for number in range(1 << levels)]
    return np.array(numbers, np.uint64)


@inlined
def key_of(cells: Cells, bits: int, spread: Words, key: Words) -> None:
    """Write the key of a cell; `spread` is the table for as many dimensions."""
    dims, last_word, levels = len(cells), len(key) - 1, levels_at_once(len(cells))
    mask = np.uint64(len(spread) - 1)
    for word in range(last_word + 1):
        key[word] = ZERO
    for level in range(0, bits, levels):
        shift = np.uint64(level)
        interleaved = ZERO
        for j in range(dims):
            interleaved = (interleaved << ONE) | spread[(np.uint64(cells[j]) >> shift) & mask]
        word = last_word - (level * dims >> 6)
        offset = np.uint64(level * dims & 63)
        key[word] |= interleaved << offset
        if word > 0 and offset != ZERO:
            key[word - 1] |= interleaved >> (np.uint64(64) - offset)


@kernel
def _write_keys(cells: Cells, bits: int, spread: Words, keys: Words) -> None:
    for i in range(len(cells)):
        key_of(cells[i], bits, spread, keys[i])


def keys_of(cells: Cells, bits: int) -> Words:
    """The keys of many cells, a row each."""
    n, dims = cells.shape
    keys = np.empty((n, n_words(dims, bits)), np.uint64)
    # The kernel would be compiled anew for arrays that are read-only or have gaps.
    cells = np.require(cells, None, ["C", "W"])
    _write_keys(cells, bits, spread_table(dims), keys)
    return keys


def cells_of(keys: Words, dims: int, bits: int) -> Int64s:
    """The cells with these keys, a row each."""
    flags = np.unpackbits(np.ascontiguousarray(keys, ">u8").view(np.uint8), axis=1)
    levels = flags[:, flags.shape[1] - dims * bits :].reshape(len(keys), bits, dims)
    values = np.left_shift(1, np.arange(bits - 1, -1, -1), dtype=np.int64)
    return np.einsum("ilj,l->ij", levels, values)


@inlined
def write_cells(key: Words, bits: int, cells: Cells) -> None:
    """Write the cell with this key."""
    dims, last_bit = len(cells), 64 * len(key) - 1
    for j in range(dims):
        cell = np.int64(0)
        for level in range(bits - 1, -1, -1):
            place = last_bit - (level * dims + dims - 1 - j)
            bit = (key[place >> 6] >> np.uint64(63 - (place & 63))) & ONE
            cell = (cell << 1) | np.int64(bit)
        cells[j] = cell


@inlined
def less(a: Words, b: Words) -> bool:
    """Whether a key comes before another."""
    for word in range(len(a)):
        if a[word] != b[word]:
            return a[word] < b[word]
    return False


def order_of(keys: Words) -> Int64s:
    """The rows in the order of their keys, equal keys in the order of their rows."""
    if not len(keys):
        return np.zeros(0, np.int64)
    columns = _aligned_left(keys)
    # An unstable sort of one word is several times as fast as a stable one: ties are rare, and mended afterwards.
    order = np.argsort(columns[0])
    ahead = columns[0][order]
    new = ahead[1:] != ahead[:-1]
    tied = np.flatnonzero(~(np.append(True, new) & np.append(new, True)))
    rows = order[tied]
    group = np.cumsum(np.append(False, new))[tied]
    order[tied] = rows[np.lexsort((rows, *(column[rows] for column in columns[:0:-1]), group))]
    return order


def _aligned_left(keys: Words) -> list[Words]:
    """The words of keys, shifted so that the first ones tell as many keys apart as they can."""
    shift = np.uint64(64 - int(keys[:, 0].max()).bit_length())
    columns = [np.ascontiguousarray(column) for column in keys.T]
    if shift in (0, 64):
        return columns
    shifted = [column << shift for column in columns]
    for word in range(1, len(columns)):
        shifted[word - 1] |= columns[word] >> (np.uint64(64) - shift)
    return shifted


def check_keys(keys: Words, cells: Cells, bits: int) -> None:
    """Assert that these are the keys of these cells."""
    dims = cells.shape[1]
    assert keys.shape == (len(cells), n_words(dims, bits))
    assert np.array_equal(cells_of(keys, dims, bits), cells)
    spare = keys.shape[1] * 64 - dims * bits
    assert not (keys[:, 0] >> np.uint64(64 - spare)).any() if spare else True
