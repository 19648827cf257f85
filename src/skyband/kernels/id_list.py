"""Ids of one type side by side: from an Arrow array, from Python, or copied out of a map.

Integers are an array of numbers, texts are the bytes of their UTF-8. Making an Arrow array of one id takes as long as
for a hundred, so few of them stay as they are until somebody asks for the array.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.array import Bools, Bytes, Int64s

INTEGERS, TEXTS = pa.int64(), pa.string()
# So many bytes of text an Arrow array of strings can have.
LARGEST_STRINGS = 2**31 - 1
# By the characters of numpy's types.
ARROW_TYPES = {"?": pa.bool_(), "i": pa.int32(), "l": INTEGERS, "q": INTEGERS, "d": pa.float64()}


class IdBytes(NamedTuple):
    """Ids as bytes: id i is `data[ends[i] : ends[i + 1]]`."""

    data: Bytes
    ends: Int64s


class IdList:
    """Ids of one type, none of them null: integers have `numbers` alone, and texts have `bytes` alone."""

    __slots__ = ("bytes", "numbers", "type")

    type: pa.DataType
    numbers: Int64s
    bytes: IdBytes

    @classmethod
    def of_integers(cls, numbers: Sequence[int] | Int64s) -> "IdList":
        """Integers of 64 bits; an array of them is not copied."""
        made = cls()
        made.type, made.numbers = INTEGERS, np.asarray(numbers, np.int64)
        return made

    @classmethod
    def of_bytes(cls, held: IdBytes) -> "IdList":
        """Texts as the bytes of their UTF-8."""
        made = cls()
        made.type, made.bytes = TEXTS, held
        return made

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "IdList":
        """Texts; a UnicodeError if one of them has no UTF-8."""
        joined = "".join(texts)
        # A bytearray, so that the array may be written to as all others may.
        held = bytearray(joined, "utf-8")
        lengths = map(len, texts) if len(held) == len(joined) else (len(text.encode()) for text in texts)
        ends = np.array([0, *accumulate(lengths)], np.int64)
        return cls.of_bytes(IdBytes(np.frombuffer(held, np.uint8) if held else np.zeros(0, np.uint8), ends))

    def __len__(self) -> int:
        return len(self.numbers) if self.type is INTEGERS else len(self.bytes.ends) - 1

    def to_pylist(self) -> list[Any]:
        """The ids as Python has them."""
        if self.type is INTEGERS:
            plain: list[Any] = self.numbers.tolist()
            return plain
        raw = self.bytes.data.tobytes()
        return [raw[start:end].decode() for start, end in pairwise(self.bytes.ends.tolist())]

    def to_arrow(self) -> pa.Array:
        """The ids as an Arrow array."""
        if self.type is INTEGERS:
            return arrow_numbers(self.numbers)
        data, ends = self.bytes
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
            few: list[Any] = self.numbers[chosen].tolist()
            return few
        raw, ends = self.bytes.data.tobytes(), self.bytes.ends.tolist()
        return [raw[ends[i] : ends[i + 1]].decode() for i in chosen.tolist()]


def arrow_numbers(values: npt.NDArray[Any], valid: Bools | None = None) -> pa.Array:
    """Numbers, or yes and no, as an Arrow array, null where they are not `valid`; numbers are not copied.

    Arrow's own way goes through more code, which takes long where it was not run of late.
    """
    kind = ARROW_TYPES[values.dtype.char]
    held = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    mask = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [mask, pa.py_buffer(held)])


AnyIds = IdList | Any
"""Ids as bytes, or an Arrow array of int64 or string without nulls."""


def id_numbers(ids: AnyIds) -> Int64s:
    """The numbers of ids that are integers; those of an Arrow array are copied."""
    if isinstance(ids, IdList):
        return ids.numbers
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
