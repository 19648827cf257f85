"""Placing members among the roots of a cover set: below a root that covers them, or as a root that may cover others.

Members come in an order in which whatever covers another comes before it, so that nothing planted here is covered by
what comes later. Roots that were there before may be.
"""

from typing import NamedTuple

import numpy as np

from skyband.covering.kernels.cells import Axes, write_point
from skyband.covering.kernels.corners import NONE, Descent, find_cover, list_covered
from skyband.covering.kernels.sfc import SFCArray, has_room, insert, remove
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import Cells


class Placement(NamedTuple):
    """What became of members: by place in their order the root above, or NONE, and the roots that are none any more.

    Root `demoted[i]` is covered by `above[i]`; `n_demoted[0]` of them are in use.
    """

    parent: Int64s
    demoted: Int64s
    above: Int64s
    n_demoted: Int64s


def make_placement(n: int, n_roots: int) -> Placement:
    """Room for `n` members among so many roots."""
    return Placement(*(np.zeros(size, np.int64) for size in (n, n_roots, n_roots, 1)))


@inlined
def _demote(array: SFCArray, axes: Axes, points: Floats, slot: int, placement: Placement, n: int) -> None:
    """Take the last `n` demoted roots off the curve: a member covers them."""
    start = placement.n_demoted[0]
    for i in range(start, start + n):
        root = placement.demoted[i]
        write_point(axes, points[root], 0, array.cells)
        remove(array, array.cells, root)
        placement.above[i] = slot
    placement.n_demoted[0] += n


@kernel
def place_all(
    array: SFCArray,
    axes: Axes,
    points: Floats,
    slots: Int64s,
    cells: Cells,
    start: int,
    descent: Descent,
    placement: Placement,
) -> int:
    """Place members from one on; returns how far it came, which is not the end where free nodes may run out.

    `placement` has room for every root that was there before the first one was placed, or for none: then all stay.
    """
    for i in range(start, len(slots)):
        if not has_room(array):
            return i
        slot = slots[i]
        parent = find_cover(array, points, cells[i], points[slot], descent)
        placement.parent[i] = parent
        if parent == NONE:
            if len(placement.demoted):
                demoted = placement.demoted[placement.n_demoted[0] :]
                n = list_covered(array, points, cells[i], points[slot], descent, demoted)
                _demote(array, axes, points, slot, placement, n)
            insert(array, cells[i], slot)
    return len(slots)
