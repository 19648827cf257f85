"""Ids as bytes: those of one type side by side, from an Arrow array, from Python, or copied out of a map.

An integer id is its eight bytes, a string its UTF-8. Making an Arrow array of one id takes as long as for a hundred, so
few of them stay bytes until somebody asks for the array.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bytes, Int64s

INTEGERS, TEXTS = pa.int64(), pa.string()
# So many bytes of text an Arrow array of strings can have.
LARGEST_STRINGS = 2**31 - 1
# Where the first integers of a list begin; few have no more.
_EIGHTS = np.arange(65, dtype=np.int64) * 8


class IdBytes(NamedTuple):
    """Ids as bytes: id i is `data[ends[i] : ends[i + 1]]`."""

    data: Bytes
    ends: Int64s


class IdList:
    """Ids of one type, none of them null."""

    __slots__ = ("bytes", "type")

    def __init__(self, kind: pa.DataType, given: IdBytes) -> None:
        self.type = kind
        self.bytes = given

    @classmethod
    def of_integers(cls, numbers: Sequence[int] | Int64s) -> "IdList":
        """Integers of 64 bits; an array of them is not copied."""
        held = np.asarray(numbers, np.int64)
        return cls(INTEGERS, IdBytes(held.view(np.uint8), _ends_of_integers(len(held))))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "IdList":
        """Texts; a UnicodeError if one of them has no UTF-8."""
        joined = "".join(texts)
        # A bytearray, so that the array may be written to as all others may.
        held = bytearray(joined, "utf-8")
        lengths = map(len, texts) if len(held) == len(joined) else (len(text.encode()) for text in texts)
        ends = np.array([0, *accumulate(lengths)], np.int64)
        return cls(TEXTS, IdBytes(np.frombuffer(held, np.uint8) if held else np.zeros(0, np.uint8), ends))

    def __len__(self) -> int:
        return len(self.bytes.ends) - 1

    def to_pylist(self) -> list[Any]:
        """The ids as Python has them."""
        if self.type is INTEGERS:
            plain: list[Any] = self.bytes.data.view(np.int64).tolist()
            return plain
        raw = self.bytes.data.tobytes()
        return [raw[start:end].decode() for start, end in pairwise(self.bytes.ends.tolist())]

    def to_arrow(self) -> pa.Array:
        """The ids as an Arrow array."""
        data, ends = self.bytes
        if self.type is INTEGERS:
            return pa.array(data.view(np.int64))
        if len(data) > LARGEST_STRINGS:
            buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
            return pa.Array.from_buffers(pa.large_string(), len(self), buffers).cast(TEXTS)
        return pa.Array.from_buffers(TEXTS, len(self), [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)])

    def take(self, chosen: Int64s) -> "IdList":
        """The chosen ids, in the given order."""
        some = self.some(chosen)
        return IdList.of_integers(some) if self.type is INTEGERS else IdList.of_texts(some)

    def some(self, chosen: Int64s) -> list[Any]:
        """The chosen ids as Python has them."""
        if self.type is INTEGERS:
            few: list[Any] = self.bytes.data.view(np.int64)[chosen].tolist()
            return few
        raw, ends = self.bytes.data.tobytes(), self.bytes.ends.tolist()
        return [raw[ends[i] : ends[i + 1]].decode() for i in chosen.tolist()]


AnyIds = IdList | Any
"""Ids as bytes, or an Arrow array of int64 or string without nulls."""


def id_numbers(ids: AnyIds) -> Int64s:
    """The numbers of ids that are integers; those of an Arrow array are copied."""
    if isinstance(ids, IdList):
        return ids.bytes.data.view(np.int64)
    return np.array(ids.to_numpy(zero_copy_only=False), np.int64)


def id_bytes(ids: AnyIds) -> IdBytes:
    """The bytes of ids that are texts; those of an Arrow array are copied."""
    if isinstance(ids, IdList):
        return ids.bytes
    wide = ids.cast(pa.large_string())
    _, offsets, data = wide.buffers()
    ends = np.frombuffer(offsets, np.int64)[wide.offset : wide.offset + len(wide) + 1].copy()
    # An Arrow array without a single byte may have no data buffer at all.
    held = np.frombuffer(data, np.uint8).copy() if data is not None and data.size else np.zeros(0, np.uint8)
    return IdBytes(held, ends)


def arrow_ids(ids: AnyIds) -> pa.Array:
    """Ids as an Arrow array, whatever they are."""
    return ids.to_arrow() if isinstance(ids, IdList) else ids


def _ends_of_integers(n: int) -> Int64s:
    return _EIGHTS[: n + 1] if n < len(_EIGHTS) else np.arange(n + 1, dtype=np.int64) * 8
