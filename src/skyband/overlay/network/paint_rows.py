"""Messages of one event on their way, and their bytes: sides of boxes in 8-byte numbers, whole columns side by side.

A message in one dimension takes 60 bytes if objects have integer ids: four sides, x and y in 8 bytes each, 4 for k, and
8 for the object. Where all boxes are single points, as with Unicast, each is said once, which takes 44. A text id takes
4 bytes and its UTF-8. The ranges paper counts 24 bytes for a message, and 16 with Unicast: six and four numbers of 4.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.ranges.kernels.message import make_messages
from skyband.ranges.wire import Wired

# Boxes are as tight as the subscriptions in them: in 4-byte numbers a message may reach others, or nobody.
SIDE = "<f8"
NUMBER, SMALL = "<f8", "<u4"
INTEGER_IDS, TEXT_IDS = 0, 1
BOXES, POINTS = 0, 1


class PaintRows(NamedTuple):
    """Messages in the order in which subscribers have to see them: closed boxes, and objects; y is `GONE` without."""

    low: Floats
    high: Floats
    x: Floats
    y: Floats
    k: Int64s
    objects: pa.Array

    def chosen(self, which: Bools) -> "PaintRows":
        """Some of the messages, in their order."""
        if which.all():
            return self
        low, high, x, y, k, objects = self
        return PaintRows(low[which], high[which], x[which], y[which], k[which], objects.filter(pa.array(which)))

    def wired(self) -> Wired:
        """The messages as subscriber tables take them."""
        messages = make_messages(len(self.y), self.x.shape[1])
        messages.length[0] = len(self.y)
        messages.low[:], messages.high[:], messages.x[:], messages.y[:] = self.low, self.high, self.x, self.y
        return Wired(messages, self.k, self.objects)


def _are_points(rows: PaintRows) -> bool:
    return bool((rows.low == rows.high).all())


def pack_rows(rows: PaintRows) -> bytes:
    """The messages as bytes: number, dimensions, whether they are to points, and the columns."""
    n, dims = rows.x.shape
    shape = POINTS if _are_points(rows) else BOXES
    head = np.array([n, dims, shape], SMALL).tobytes()
    sides = [rows.low] if shape == POINTS else [rows.low, rows.high]
    columns = [side.astype(SIDE).tobytes() for side in sides]
    columns += [rows.x.astype(NUMBER).tobytes(), rows.y.astype(NUMBER).tobytes(), rows.k.astype(SMALL).tobytes()]
    return b"".join([head, *columns, pack_ids(rows.objects)])


def unpack_rows(data: bytes) -> PaintRows:
    """Messages from their bytes."""
    reader = BytesReader(data)
    n, dims, shape = reader.numbers(SMALL, 3).tolist()
    low = reader.numbers(SIDE, n * 2 * dims).astype(np.float64).reshape(n, 2 * dims)
    high = low if shape == POINTS else reader.numbers(SIDE, n * 2 * dims).astype(np.float64).reshape(n, 2 * dims)
    x, y = reader.numbers(NUMBER, n * dims).reshape(n, dims), reader.numbers(NUMBER, n)
    k = reader.numbers(SMALL, n).astype(np.int64)
    return PaintRows(low, high, x.copy(), y.copy(), k, reader.ids(n))


def pack_ids(ids: pa.Array) -> bytes:
    """Ids as bytes: integers of 8 bytes, or the lengths of texts and their UTF-8."""
    if pa.types.is_integer(ids.type):
        return bytes([INTEGER_IDS]) + np.asarray(ids, np.int64).astype("<i8").tobytes()
    texts = [text.encode() for text in ids.to_pylist()]
    return bytes([TEXT_IDS]) + np.array([len(text) for text in texts], SMALL).tobytes() + b"".join(texts)


class BytesReader:
    """Reads what was packed, from the beginning to the end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def raw(self, n: int) -> bytes:
        """The next n bytes."""
        self._at += n
        return self._data[self._at - n : self._at]

    def numbers(self, kind: str, n: int) -> npt.NDArray[np.float64]:
        """The next n numbers of a kind."""
        return np.frombuffer(self.raw(n * np.dtype(kind).itemsize), kind)

    def ids(self, n: int) -> pa.Array:
        """The next n ids."""
        if self.raw(1)[0] == INTEGER_IDS:
            return pa.array(self.numbers("<i8", n), pa.int64())
        return pa.array([self.raw(length).decode() for length in self.numbers(SMALL, n).tolist()], pa.string())
