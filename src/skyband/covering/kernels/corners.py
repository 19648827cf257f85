"""Exact search of an SFC array by corners: runs of the curve without a wanted point are skipped a node at a time.

A point dominates another one if it is no less in every dimension. Below an entry whose upper corner does not dominate
the asked point nothing does, and below an entry whose lower corner is not dominated by it nothing is. A search goes
down where the corners allow it, the later entries first, since on the Z curve the key grows with every coordinate, and
can be resumed after every point it finds. Corners do not depend on the curve that the points lie along.
"""

from typing import NamedTuple

import numpy as np

from skyband.covering.kernels.cells import Axes, write_point
from skyband.covering.kernels.sfc import HEIGHT, HIGHEST, ROOT, SFCArray, SfcNodes
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import LANES, Cells, at_least, at_most, highest_bit

NONE = -1
# Places of `state`: the level the search is at, and how many nodes it has looked at.
LEVEL, LOOKED = 0, 1


class Descent(NamedTuple):
    """Where a search is: by level its node and the entries that are still to be looked at, as bits."""

    node: Int64s
    rest: Int64s
    state: Int64s


def make_descent() -> Descent:
    """A search at its end."""
    return Descent(np.zeros(HIGHEST + 2, np.int64), np.zeros(HIGHEST + 2, np.int64), np.zeros(2, np.int64))


@inlined
def allowed(nodes: SfcNodes, node: int, cells: Cells, above: bool) -> int:
    """The entries below which a point may dominate the cells, or with `above` false be dominated by them."""
    mask = (1 << int(nodes.length[node])) - 1
    dims = len(cells)
    start = node * dims * LANES
    for j in range(dims):
        if above:
            mask &= at_least(nodes.upper, start + j * LANES, int(cells[j]))
        else:
            mask &= at_most(nodes.lower, start + j * LANES, int(cells[j]))
        if mask == 0:
            return mask
    return mask


@inlined
def start_descent(array: SFCArray, cells: Cells, above: bool, descent: Descent) -> None:
    """Begin to look for points that dominate the cells, or with `above` false are dominated by them."""
    height = array.shape[HEIGHT]
    descent.state[LEVEL] = height
    if height >= 0:
        _enter(array, height, array.shape[ROOT], cells, above, descent)


@inlined
def _enter(array: SFCArray, level: int, node: int, cells: Cells, above: bool, descent: Descent) -> None:
    descent.node[level] = node
    descent.state[LOOKED] += 1
    if level == 0:
        descent.rest[level] = allowed(array.leaves, node, cells, above)
    else:
        descent.rest[level] = allowed(array.inners, node, cells, above)


@inlined
def next_found(array: SFCArray, cells: Cells, above: bool, descent: Descent) -> int:
    """The slot of the next point, or NONE."""
    height, level = array.shape[HEIGHT], descent.state[LEVEL]
    while 0 <= level <= height:
        rest = descent.rest[level]
        if rest == 0:
            level += 1
            continue
        at = highest_bit(rest)
        descent.rest[level] = rest ^ (1 << at)
        if level == 0:
            descent.state[LEVEL] = 0
            return array.leaves.child[descent.node[0], at]
        child = array.inners.child[descent.node[level], at]
        level -= 1
        _enter(array, level, child, cells, above, descent)
    descent.state[LEVEL] = NONE
    return NONE


@inlined
def dominates(points: Floats, slot: int, point: Floats) -> bool:
    """Whether the point of a slot is no less than another in every dimension."""
    for j in range(len(point)):
        if points[slot, j] < point[j]:
            return False
    return True


@inlined
def find_cover(array: SFCArray, points: Floats, cells: Cells, point: Floats, descent: Descent) -> int:
    """A slot whose point dominates this one, or NONE; `points` has the exact points by slot."""
    start_descent(array, cells, True, descent)
    while True:
        # One call in the source, since it is copied in wherever it stands.
        slot = next_found(array, cells, True, descent)
        if slot == NONE or dominates(points, slot, point):
            return slot


@kernel
def find_covers(array: SFCArray, axes: Axes, points: Floats, asked: Floats, descent: Descent, found: Int64s) -> None:
    """For each asked point a slot whose point dominates it, or NONE."""
    for i in range(len(asked)):
        write_point(axes, asked[i], 0, array.cells)
        found[i] = find_cover(array, points, array.cells, asked[i], descent)


@kernel
def list_covered(array: SFCArray, points: Floats, cells: Cells, point: Floats, descent: Descent, found: Int64s) -> int:
    """Write the slots whose points this one dominates; returns how many there are, which may be more than fit."""
    n = 0
    start_descent(array, cells, False, descent)
    while True:
        slot = next_found(array, cells, False, descent)
        if slot == NONE:
            return n
        is_covered = True
        for j in range(len(point)):
            is_covered = is_covered and points[slot, j] <= point[j]
        if is_covered:
            if n < len(found):
                found[n] = slot
            n += 1
