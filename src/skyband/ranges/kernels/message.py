"""Messages of the content-driven network: a box of the subscription space, and an object for everyone in it.

A subscription with the range [l, r] in each dimension is the point (l1, r1, l2, r2, ...). A message reaches the
subscriptions of its group, those with the same k, whose point lies in its closed box. The half-open conditions of the
paper, l_out < l <= l_in and r_in <= r < r_out, become closed ones by a step to the next number, which loses nothing.
An infinite side of a range is held as the largest finite number,
which is the same question, since objects lie at finite places, and so what lies beyond -inf is a number too.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined

FARTHEST = float(np.finfo(np.float64).max)
# The y of an object that is gone: higher than that of any object that is there.
GONE = np.inf


class Messages(NamedTuple):
    """`length[0]` are in use: the box, the slot of the object, where that is, its y, the group and the event."""

    length: Int64s
    low: Floats
    high: Floats
    object: Int64s
    x: Floats
    y: Floats
    group: Int64s
    event: Int64s


def make_messages(room: int, dims: int) -> Messages:
    """Room for this many messages about objects in `dims` dimensions."""
    boxes = (np.zeros((room, 2 * dims)), np.zeros((room, 2 * dims)))
    whole = [np.zeros(room, np.int64) for _ in range(3)]
    return Messages(np.zeros(1, np.int64), *boxes, whole[0], np.zeros((room, dims)), np.zeros(room), *whole[1:])


def points_of(lo: Floats, hi: Floats) -> Floats:
    """The points of the subscription space for ranges, one row each."""
    n, dims = lo.shape
    points = np.empty((n, 2 * dims))
    points[:, 0::2], points[:, 1::2] = np.clip(lo, -FARTHEST, FARTHEST), np.clip(hi, -FARTHEST, FARTHEST)
    return points


@inlined
def above(bound: float) -> float:
    """The least number that is more than this one; infinite beyond the largest finite one."""
    return float(np.nextafter(bound, np.inf)) if bound < FARTHEST else np.inf


@inlined
def below(bound: float) -> float:
    """The largest number that is less than this one; infinite beyond the least finite one."""
    return float(np.nextafter(bound, -np.inf)) if bound > -FARTHEST else -np.inf
