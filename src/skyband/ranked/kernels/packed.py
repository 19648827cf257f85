"""Packed trees: the R-tree of the paper over any arrangement of parts, b children a node and no pointers.

The parts of a dimension lie in their arrangement; every LANES of them make a leaf, every LANES leaves a node, and so on
up to one root. A block holds the ends of its entries, which for inner blocks are the extents of the blocks below. The
left-first depth-first search of the paper keeps for each level the block it is in and the bits of those entries that
the value meets and that it has not yet gone into; so `getnext` is to take the lowest bit.

With parts in the order of their keys this is the *scored R-tree* (section 2.2.3), with Algorithm 1's arrangement the
*SOPT-R-tree* (section 3.2), of which a search for k parts opens at most 2k leaves. Invariants: the entry for a block
is its extent; blocks are full but for the last of a level, which ends in intervals that nothing meets.
"""

from typing import NamedTuple

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import BLOCK_ENDS, LANES, hits, image_above, image_below, lowest_bit
from skyband.ranked.kernels.parts import END, Parts

# A cursor: the dimension, the value, how many leaves were opened, and a block and its bits for each level.
DIM, LOW, HIGH, LEAVES, LEVELS = range(5)


class Packed(NamedTuple):
    """`ends` by block, `item` the parts in their arrangement; by dimension `start` in `item`, the `top` level (or -1),
    and the `first` block of each level.
    """

    ends: Int32s
    item: Int32s
    start: Int64s
    top: Int64s
    first: Int64s


@kernel
def open_packed(tree: Packed, dim: int, low: float, high: float, cursor: Int64s) -> int:
    """Start a search for what has a point in common with [low, high]."""
    top = tree.top[dim]
    cursor[DIM], cursor[LEAVES] = dim, 0
    if top < 0:
        return 0
    cursor[LOW], cursor[HIGH] = image_below(low), image_above(high)
    for level in range(top):
        cursor[LEVELS + 2 * level + 1] = 0
    _enter(tree, tree.first[dim, top], top, cursor)
    return 0


@inlined
def _enter(tree: Packed, block: int, level: int, cursor: Int64s) -> None:
    cursor[LEVELS + 2 * level] = block
    cursor[LEVELS + 2 * level + 1] = hits(tree.ends, block * BLOCK_ENDS, cursor[LOW], cursor[HIGH])
    if level == 0:
        cursor[LEAVES] += 1


@kernel
def next_packed(tree: Packed, parts: Parts, cursor: Int64s) -> int:
    """The next part of the arrangement that the value meets, to 32 bits, or END."""
    dim = cursor[DIM]
    first, top = tree.first, tree.top[dim]
    level = 0
    while level <= top:
        mask = cursor[LEVELS + 2 * level + 1]
        if mask == 0:
            level += 1
            continue
        cursor[LEVELS + 2 * level + 1] = mask & (mask - 1)
        entry = (cursor[LEVELS + 2 * level] - first[dim, level]) * LANES + lowest_bit(mask)
        if level == 0:
            return int(tree.item[tree.start[dim] + entry])
        level -= 1
        _enter(tree, first[dim, level] + entry, level, cursor)
    return END
