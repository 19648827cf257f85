"""Arrays that grow: longer copies that keep what there is, with some places to spare.

What grows step by step must not be copied at every step, so a copy has more places than are needed: as many again as
there were, or, where an array is most of the memory of an engine, only a share of them.

All of them begin where a cache line does. Numpy's own begin anywhere in one, and a loop over 64 numbers then reads and
writes across two lines at every turn.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

ArrayT = TypeVar("ArrayT", bound=npt.NDArray[Any])
# A NamedTuple, which is no type that a variable can be bound by.
RecordT = TypeVar("RecordT")

# One over the share by which a copy is longer at least.
DOUBLE, BY_A_QUARTER, BY_AN_EIGHTH = 1, 4, 8


def length_for(needed: int, have: int, share: int = DOUBLE) -> int:
    """How long a copy is to be: as long as is needed, and longer by a share of what there is."""
    return max(needed, have + have // share)


LINE = 64
"""The bytes of a cache line."""


def blank(shape: int | Sequence[int], fill: float = 0, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """A new array that begins with a cache line, everywhere at `fill`."""
    sides, kind = (shape,) if isinstance(shape, int) else tuple(shape), np.dtype(dtype)
    n_bytes = math.prod(sides) * kind.itemsize
    # Memory that is asked for as zeros is not touched before it is used.
    room = np.zeros(n_bytes + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    array = room[first : first + n_bytes].view(kind).reshape(sides)
    if fill:
        array.fill(fill)
    return array


def resized(array: ArrayT, length: int, fill: float = 0, axis: int = 0) -> ArrayT:
    """A copy of this very length along an axis, new places at `fill`; what lies beyond the length is left out."""
    shape = list(array.shape)
    shape[axis] = length
    copy = blank(shape, fill, array.dtype)
    kept = tuple(slice(0, min(old, new)) for old, new in zip(array.shape, shape, strict=True))
    copy[kept] = array[kept]
    return cast("ArrayT", copy)


def grown(array: ArrayT, length: int, fill: float = 0, share: int = DOUBLE, axis: int = 0) -> ArrayT:
    """The array itself if it is long enough, or a copy that is, at least longer by a share, new places at `fill`."""
    have = array.shape[axis]
    return array if length <= have else resized(array, length_for(length, have, share), fill, axis)


def grown_all(record: RecordT, length: int, names: Iterable[str] = (), share: int = DOUBLE) -> RecordT:
    """A NamedTuple whose arrays, or those of these names, have all grown, new places zero."""
    fields: Any = record
    longer = {name: grown(getattr(fields, name), length, share=share) for name in names or fields._fields}
    return cast("RecordT", fields._replace(**longer))


def resized_all(record: RecordT, length: int, names: Iterable[str] = ()) -> RecordT:
    """A NamedTuple whose arrays, or those of these names, all have this very length, new places zero."""
    fields: Any = record
    return cast("RecordT", fields._replace(**{n: resized(getattr(fields, n), length) for n in names or fields._fields}))
