"""The paper's search of an SFC array: standard cubes of the region, the largest first, until enough of it was searched.

Each cube is one run of the curve, and one *probe*: the array is searched for the first key of the run, and the run is
empty if what lies there comes after its last key. The search ends with a point of the region, or once the share of the
region's volume that was searched reaches 1 - ε; with ε = 0 it is exhaustive.

The region of the points that a given one dominates is the mirror image of such a region: the opposite of a cell has all
bits of its key inverted, so a cube with the keys [first, last] becomes [not last, not first].
"""

from typing import NamedTuple

import numpy as np

from skyband.covering.kernels.cubes import END, CubeWalk, make_walk, next_cube, start_walk, volume
from skyband.covering.kernels.curve import Words, less
from skyband.covering.kernels.sfc import HEIGHT, SFCArray
from skyband.covering.kernels.sfcwalk import NONE, descend, next_leaf
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import LANES, at_least, at_most, lowest_bit

PAUSED = -2
# Rounding must not end a search too early: it goes on until it is clear of all the rounding errors of the sums.
MARGIN = 1e-12


# Places of `tally`: probes so far, the volume that was searched in levels that are done, that of the whole region, the
# level of the cubes, and how many of that level were searched.
PROBES, SEARCHED, WHOLE, LEVEL, AT_LEVEL = 0, 1, 2, 3, 4


class Hunt(NamedTuple):
    """A search under way: the walk over the cubes, the bounds of the last one, its keys, and what was done so far."""

    walk: CubeWalk
    low: Int64s
    high: Int64s
    first: Words
    last: Words
    tally: Floats


def make_hunt(dims: int, bits: int) -> Hunt:
    """A search at its end."""
    walk = make_walk(dims, bits)
    low, high = np.zeros(dims, np.int64), np.zeros(dims, np.int64)
    return Hunt(walk, low, high, np.zeros_like(walk.first), np.zeros_like(walk.last), np.zeros(5))


@kernel
def start_hunt(lengths: Int64s, hunt: Hunt) -> None:
    """Begin with the region that has these side lengths."""
    start_walk(lengths, hunt.walk)
    for place in range(len(hunt.tally)):
        hunt.tally[place] = 0.0
    hunt.tally[WHOLE] = volume(lengths)


@inlined
def searched_share(tally: Floats, dims: int) -> float:
    """The share of the region that was searched."""
    return (tally[SEARCHED] + tally[AT_LEVEL] * 2.0 ** (tally[LEVEL] * dims)) / tally[WHOLE]


@inlined
def _step(hunt: Hunt, mirrored: bool) -> bool:
    """Go to the next cube, or its mirror image; False after the last one."""
    walk, tally, low, high = hunt.walk, hunt.tally, hunt.low, hunt.high
    level = next_cube(walk)
    if level == END:
        return False
    dims = len(low)
    if level != tally[LEVEL]:
        tally[SEARCHED] += tally[AT_LEVEL] * 2.0 ** (tally[LEVEL] * dims)
        tally[AT_LEVEL], tally[LEVEL] = 0.0, level
    tally[AT_LEVEL] += 1.0
    tally[PROBES] += 1.0
    side, top = 1 << level, (1 << (walk.below.shape[1] - 1)) - 1
    for j in range(dims):
        low[j] = top - walk.low[j] - side + 1 if mirrored else walk.low[j]
        high[j] = low[j] + side - 1
    for word in range(len(hunt.first)):
        hunt.first[word], hunt.last[word] = walk.first[word], walk.last[word]
    if mirrored:
        _mirror(hunt, dims * (walk.below.shape[1] - 1))
    return True


@inlined
def _mirror(hunt: Hunt, n_bits: int) -> None:
    n_words = len(hunt.first)
    for word in range(n_words):
        spare = max(64 * (n_words - word) - n_bits, 0)
        inside = ~np.uint64(0) >> np.uint64(spare)
        hunt.first[word], hunt.last[word] = hunt.walk.last[word] ^ inside, hunt.walk.first[word] ^ inside


@inlined
def _inside(array: SFCArray, leaf: int, hunt: Hunt) -> int:
    """The entries of a leaf that are in the cube, as bits."""
    leaves, low, high = array.leaves, hunt.low, hunt.high
    mask = (1 << int(leaves.length[leaf])) - 1
    start = leaf * len(low) * LANES
    for j in range(len(low)):
        if mask == 0:
            return mask
        mask &= at_least(leaves.upper, start + j * LANES, int(low[j])) & at_most(
            leaves.upper, start + j * LANES, int(high[j])
        )
    return mask


@kernel
def probe(array: SFCArray, hunt: Hunt) -> int:
    """The slot of a point in the cube, or NONE.

    Behind the leaf of the first key only the next one can matter: all its pairs come after that key.
    """
    if array.shape[HEIGHT] < 0:
        return NONE
    leaf = descend(array, hunt.first)
    mask = _inside(array, leaf, hunt)
    if mask == 0:
        leaf = next_leaf(array)
        if leaf == NONE or less(hunt.last, array.pair):
            return NONE
        mask = _inside(array, leaf, hunt)
    return int(array.leaves.child[leaf, lowest_bit(mask)]) if mask else NONE


@kernel
def search_greedily(array: SFCArray, hunt: Hunt, epsilon: float, most: int) -> int:
    """Go on with a search; the slot of a point, NONE at its end, or PAUSED after so many more probes."""
    tally, dims = hunt.tally, len(hunt.low)
    wanted = (1.0 - epsilon) * (1.0 + MARGIN) if epsilon > 0.0 else np.inf
    for _ in range(most):
        if searched_share(tally, dims) >= wanted or not _step(hunt, False):
            return NONE
        slot = probe(array, hunt)
        if slot != NONE:
            return slot
    return PAUSED


@kernel
def list_greedily(array: SFCArray, hunt: Hunt, epsilon: float, most: int, found: Int64s, n_found: Int64s) -> int:
    """Go on with the mirrored search: write all points of the cubes; NONE at its end, or PAUSED after so many probes.

    `found` has room for all points there are; `n_found` is how many were written.
    """
    tally, dims = hunt.tally, len(hunt.low)
    wanted = (1.0 - epsilon) * (1.0 + MARGIN) if epsilon > 0.0 else np.inf
    for _ in range(most):
        if searched_share(tally, dims) >= wanted or not _step(hunt, True):
            return NONE
        _list_cube(array, hunt, found, n_found)
    return PAUSED


@kernel
def _list_cube(array: SFCArray, hunt: Hunt, found: Int64s, n_found: Int64s) -> None:
    leaf = descend(array, hunt.first) if array.shape[HEIGHT] >= 0 else NONE
    while leaf != NONE:
        mask = _inside(array, leaf, hunt)
        while mask:
            at = lowest_bit(mask)
            mask ^= 1 << at
            found[n_found[0]] = array.leaves.child[leaf, at]
            n_found[0] += 1
        leaf = next_leaf(array)
        if leaf != NONE and less(hunt.last, array.pair):
            leaf = NONE
