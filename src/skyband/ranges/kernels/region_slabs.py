"""Slabs: the influence region of an object for ranges [l1, r1] x (-inf, r2] (ranges paper, appendix D).

Upwards in r2 a range holds more and more objects, so the region is a pile of slabs, each with a staircase in (l1, r1)
that lies within the one below. Slab z begins at `bottom[z]`, the x2 of an object that ranks before the one at hand, or
for the first slab the x2 of that one itself, and ends where the next begins, the last one at `top`. Objects lie in the
slab that has their x2 in it, those further down in the first.

Invariants: slabs are a list, by `next`, with ascending bottoms; the places west and east of a slab are those of the
objects that rank before the one at hand and have an x2 of at most its bottom, the nearest k to each side. Where nobody
could tell the difference some may be missing. `found` is the object of least y within a slab and its influence interval
that was not exposed yet: NOTHING if there is none, UNKNOWN before that is asked.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.message import FARTHEST, above, below
from skyband.ranges.kernels.staircase import Around

NOTHING = -1
UNKNOWN = -2

# Places of `at`: the first slab, and how many were taken or are free.
FIRST, USED, FREE = range(3)


class Slabs(NamedTuple):
    """By slab; `at` and `free` say which are in use, `top` is the largest r2 of the last."""

    at: Int64s
    top: Floats
    free: Int64s
    next: Int64s
    bottom: Floats
    n: Int64s
    west: Floats
    east: Floats
    found: Int64s


def make_slabs(room: int, k: int) -> Slabs:
    """Room for this many slabs and a k of up to this."""
    free, next, found = (np.zeros(room, np.int64) for _ in range(3))
    sides = (np.zeros((room, 2), np.int64), np.zeros((room, k + 1)), np.zeros((room, k + 1)))
    return Slabs(np.zeros(3, np.int64), np.zeros(1), free, next, np.zeros(room), *sides, found)


@inlined
def around_of(slabs: Slabs, z: int) -> Around:
    """What lies around the object in a slab."""
    return Around(slabs.n[z], slabs.west[z], slabs.east[z])


@inlined
def clear_slabs(slabs: Slabs) -> None:
    slabs.at[FIRST], slabs.at[USED], slabs.at[FREE], slabs.top[0] = -1, 0, 0, FARTHEST


@inlined
def is_full(slabs: Slabs) -> bool:
    """Whether there is no room for another slab."""
    return slabs.at[FREE] == 0 and slabs.at[USED] == len(slabs.next)


@inlined
def take_slab(slabs: Slabs, bottom: float) -> int:
    """A slab outside of the list; there is room."""
    at = slabs.at
    if at[FREE] > 0:
        at[FREE] -= 1
        z = slabs.free[at[FREE]]
    else:
        z = at[USED]
        at[USED] += 1
    slabs.bottom[z], slabs.next[z], slabs.found[z] = bottom, -1, UNKNOWN
    return z


@kernel
def split_slab(slabs: Slabs, z: int, bottom: float) -> int:
    """Let a new slab, with the same places, have the upper part of one; what was found is in neither."""
    upper = take_slab(slabs, bottom)
    slabs.next[upper], slabs.next[z], slabs.found[z] = slabs.next[z], upper, UNKNOWN
    for side in range(2):
        slabs.n[upper, side] = slabs.n[z, side]
    for i in range(slabs.n[z, 0]):
        slabs.west[upper, i] = slabs.west[z, i]
    for i in range(slabs.n[z, 1]):
        slabs.east[upper, i] = slabs.east[z, i]
    return upper


@inlined
def drop_next(slabs: Slabs, z: int) -> None:
    """Take the slab above one out of the list."""
    upper = slabs.next[z]
    slabs.next[z] = slabs.next[upper]
    slabs.free[slabs.at[FREE]] = upper
    slabs.at[FREE] += 1


@inlined
def cut_off(slabs: Slabs, under: int, z: int) -> None:
    """Forget a slab and all above it; `under` is the one below, or -1."""
    if under < 0:
        clear_slabs(slabs)
        return
    slabs.top[0] = below(slabs.bottom[z])
    while slabs.next[under] >= 0:
        drop_next(slabs, under)


@inlined
def left_of(slabs: Slabs, z: int, k: int) -> float:
    """The west end of the influence interval of a slab."""
    return above(slabs.west[z, k - 1]) if slabs.n[z, 0] >= k else -FARTHEST


@inlined
def right_of(slabs: Slabs, z: int, k: int) -> float:
    """The east end of the influence interval of a slab."""
    return below(slabs.east[z, k - 1]) if slabs.n[z, 1] >= k else FARTHEST


@inlined
def top_of(slabs: Slabs, z: int) -> float:
    """The largest r2 of a slab."""
    return below(slabs.bottom[slabs.next[z]]) if slabs.next[z] >= 0 else slabs.top[0]


@kernel
def are_alike(slabs: Slabs, a: int, b: int) -> bool:
    """Whether two slabs have the same staircase, place by place."""
    for side in range(2):
        if slabs.n[a, side] != slabs.n[b, side]:
            return False
    for i in range(slabs.n[a, 0]):
        if slabs.west[a, i] != slabs.west[b, i]:
            return False
    for i in range(slabs.n[a, 1]):
        if slabs.east[a, i] != slabs.east[b, i]:
            return False
    return True


def check_slabs(slabs: Slabs, k: int) -> None:
    """Assert the invariants."""
    z, n = int(slabs.at[FIRST]), 0
    while z >= 0:
        west, east = slabs.west[z, : slabs.n[z, 0]], slabs.east[z, : slabs.n[z, 1]]
        assert len(west) <= k
        assert len(east) <= k
        assert (np.diff(west) <= 0).all()
        assert (np.diff(east) >= 0).all()
        upper = int(slabs.next[z])
        if upper >= 0:
            assert slabs.bottom[z] < slabs.bottom[upper]
            assert left_of(slabs, z, k) <= left_of(slabs, upper, k)
            assert right_of(slabs, z, k) >= right_of(slabs, upper, k)
        z, n = upper, n + 1
    assert n + slabs.at[FREE] == slabs.at[USED]
