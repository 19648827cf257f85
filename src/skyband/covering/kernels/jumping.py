"""Exact search of an SFC array by jumps: from each leaf to the next key within the region, over all that is not.

A leaf is looked at as a whole. The keys after it are skipped as far as the curve is outside of the region: the next
*relevant* key after the separator of the following leaf says which leaf is the next to look at.
"""

from skyband.covering.kernels.cells import Axes, write_point
from skyband.covering.kernels.corners import allowed, dominates
from skyband.covering.kernels.curve import key_of, write_cells
from skyband.covering.kernels.jump import next_relevant
from skyband.covering.kernels.sfc import BITS, HEIGHT, SFCArray
from skyband.covering.kernels.sfcwalk import NONE, descend, next_leaf
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import Cells, lowest_bit


@inlined
def _lies_within(cells: Cells, low: Cells) -> bool:
    for j in range(len(low)):
        if cells[j] < low[j]:
            return False
    return True


@inlined
def _jump(array: SFCArray, low: Cells) -> int:
    """The leaf that may hold the next relevant key after the leaf of the path, or NONE."""
    leaf, cells, bits = next_leaf(array), array.cells, array.shape[BITS]
    if leaf == NONE:
        return NONE
    write_cells(array.pair, bits, cells)
    if _lies_within(cells, low):
        return leaf
    next_relevant(cells, low, bits, cells)
    key_of(cells, bits, array.spread, array.pair)
    return descend(array, array.pair)


@inlined
def find_by_jumps(array: SFCArray, points: Floats, low: Cells, point: Floats, n_looked: Int64s) -> int:
    """A slot whose point dominates this one, or NONE; `points` has the exact points by slot."""
    if array.shape[HEIGHT] < 0:
        return NONE
    key_of(low, array.shape[BITS], array.spread, array.pair)
    leaf = descend(array, array.pair)
    while leaf != NONE:
        n_looked[0] += 1
        mask = allowed(array.leaves, leaf, low, True)
        while mask:
            slot = array.leaves.child[leaf, lowest_bit(mask)]
            mask &= mask - 1
            if dominates(points, slot, point):
                return slot
        leaf = _jump(array, low)
    return NONE


@kernel
def find_all_by_jumps(
    array: SFCArray, axes: Axes, points: Floats, asked: Floats, low: Cells, n_looked: Int64s, found: Int64s
) -> None:
    """For each asked point a slot whose point dominates it, or NONE; `low` is room for the cells of one."""
    for i in range(len(asked)):
        write_point(axes, asked[i], 0, low)
        found[i] = find_by_jumps(array, points, low, asked[i], n_looked)
