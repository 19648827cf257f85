"""Digests of ids and words: 64 bits, the same in every process and on every machine.

A string is a polynomial over its UTF-8 bytes, an integer is itself; both are then stirred, so that any bits of a digest
are as good as others.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from skyband.kernels.array import UInt64s
from skyband.kernels.ragged import ranks_of

_BASE = np.uint64(0x9E3779B97F4A7C15)
# Lengths count too, since a byte of 0 adds nothing.
_LENGTH = np.uint64(0xD6E8FEB86659FD93)
_STIRRING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def digests(values: Any) -> UInt64s:
    """The digest of each integer or string of an Arrow array."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if len(values) == 0:
        return np.zeros(0, np.uint64)
    if pa.types.is_integer(values.type):
        return _stirred(values.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64) + _BASE)
    return _stirred(_polynomials(values.cast(pa.large_binary())))


def digests_of_words(words: Any) -> UInt64s:
    """The digest of each string of an Arrow array in which many recur."""
    distinct = words.dictionary_encode()
    found: UInt64s = digests(distinct.dictionary)[distinct.indices.to_numpy(zero_copy_only=False)]
    return found


def _stirred(numbers: UInt64s) -> UInt64s:
    """A bijection in which each bit depends on all others, the last steps of splitmix64."""
    for shift, factor in _STIRRING:
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers


def _polynomials(values: Any) -> UInt64s:
    buffers = values.buffers()
    ends = np.frombuffer(buffers[1], np.int64)[values.offset : values.offset + len(values) + 1]
    lengths, n_bytes = np.diff(ends), int(ends[-1] - ends[0])
    numbers = lengths.astype(np.uint64) * _LENGTH
    if n_bytes == 0:
        return numbers
    text = np.frombuffer(buffers[2], np.uint8)[ends[0] : ends[-1]]
    powers = np.cumprod(np.full(int(lengths.max()), _BASE))
    starts = ends[:-1] - ends[0]
    places = ranks_of(lengths)
    filled = lengths > 0
    numbers[filled] += np.add.reduceat(text * powers[places], starts[filled])
    return numbers
