"""Mosaics: boxes of the subscription space that tell somebody something, put together where nobody else is between.

Invariant: no two boxes that tell of the same object hold a subscription in common, and every box holds at least one.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxsearch import count_inside, snap
from skyband.ranges.kernels.boxtree import Trees
from skyband.ranges.kernels.message import Messages

# What is counted: the calls of the paper's tables, and those that it leaves out.
FIRST_K, MIN_X, MIN_Y, SNAP, EMPTY, REACH, EXPOSED, NEAREST, LOWEST = range(9)
COUNTS = ("first_k", "min_x", "min_y", "snap", "empty", "reach", "exposed", "nearest", "lowest")

# A box is tried with so many before it that tell of the same object.
TRIES = 4


class Mosaic(NamedTuple):
    """`length[0]` boxes: the object that each is about, and how many subscriptions it holds, or -1 for not counted."""

    length: Int64s
    low: Floats
    high: Floats
    object: Int64s
    size: Int64s


class Scrap(NamedTuple):
    """Scratch to try whether boxes can be put together."""

    low: Floats
    high: Floats


def make_scrap(dims: int) -> Scrap:
    """Scratch for subscriptions to objects in `dims` dimensions."""
    return Scrap(np.zeros(2 * dims), np.zeros(2 * dims))


def make_mosaic(room: int, dims: int) -> Mosaic:
    """Room for this many boxes for subscriptions to objects in `dims` dimensions."""
    boxes = (np.zeros((room, 2 * dims)), np.zeros((room, 2 * dims)))
    return Mosaic(np.zeros(1, np.int64), *boxes, np.zeros(room, np.int64), np.zeros(room, np.int64))


@inlined
def put_box(mosaic: Mosaic, low: Floats, high: Floats, object: int) -> bool:
    """Add a box as it is; False if there is no room."""
    n = mosaic.length[0]
    if n == len(mosaic.size):
        return False
    for side in range(len(low)):
        mosaic.low[n, side], mosaic.high[n, side] = low[side], high[side]
    mosaic.object[n], mosaic.size[n] = object, -1
    mosaic.length[0] = n + 1
    return True


@kernel
def add_box(
    mosaic: Mosaic, subscriptions: Trees, group: int, low: Floats, high: Floats, object: int, counts: Int64s
) -> bool:
    """Add the part of a box around its subscriptions, if there are any; False if there is no room."""
    n = mosaic.length[0]
    if n == len(mosaic.size):
        return False
    counts[SNAP] += 1
    if snap(subscriptions, group, low, high, mosaic.low[n], mosaic.high[n]):
        mosaic.object[n], mosaic.size[n] = object, -1
        mosaic.length[0] = n + 1
    return True


@kernel
def _join(mosaic: Mosaic, subscriptions: Trees, group: int, i: int, j: int, scrap: Scrap, counts: Int64s) -> bool:
    """Make box i the one around itself and box j, if nobody else lies in it."""
    low, high = scrap.low, scrap.high
    counts[EMPTY] += 1
    for side in range(len(low)):
        low[side] = min(mosaic.low[i, side], mosaic.low[j, side])
        high[side] = max(mosaic.high[i, side], mosaic.high[j, side])
    both = 0
    for box in (i, j):
        if mosaic.size[box] < 0:
            mosaic.size[box] = count_inside(subscriptions, group, mosaic.low[box], mosaic.high[box])
        both += mosaic.size[box]
    if count_inside(subscriptions, group, low, high, both) > both:
        return False
    mosaic.size[i] = both
    for side in range(len(low)):
        mosaic.low[i, side], mosaic.high[i, side] = low[side], high[side]
    return True


@kernel
def join_boxes(mosaic: Mosaic, subscriptions: Trees, group: int, start: int, scrap: Scrap, counts: Int64s) -> None:
    """Put boxes from `start` on together, each with the last few about its object."""
    n = start
    for j in range(start, mosaic.length[0]):
        object, tries, joined, i = mosaic.object[j], 0, False, n - 1
        while i >= start and tries < TRIES and not joined:
            if mosaic.object[i] == object:
                joined = _join(mosaic, subscriptions, group, i, j, scrap, counts)
                tries += 1
            i -= 1
        if not joined:
            mosaic.object[n], mosaic.size[n] = object, mosaic.size[j]
            for side in range(len(scrap.low)):
                mosaic.low[n, side], mosaic.high[n, side] = mosaic.low[j, side], mosaic.high[j, side]
            n += 1
    mosaic.length[0] = n


@kernel
def send_box(
    out: Messages, low: Floats, high: Floats, object: int, x: Floats, y: float, group: int, event: int
) -> None:
    """Send a message, or count it if there is no room."""
    n = out.length[0]
    out.length[0] = n + 1
    if n >= len(out.y):
        return
    for side in range(len(low)):
        out.low[n, side], out.high[n, side] = low[side], high[side]
    for j in range(len(x)):
        out.x[n, j] = x[j]
    out.object[n], out.y[n], out.group[n], out.event[n] = object, y, group, event
