"""The IR-tree: an interval tree whose nodes hold their intervals as scored R-trees, one tree for each dimension.

A node has a median and holds the intervals that are stabbed by it, each interval at the highest node that can hold it;
those wholly below the median are left of it, those above are right. A node's intervals lie in blocks of up to 32 in the
order of `ahead`; inner blocks have for each block below them its extent. All intervals of a node share the median, so
left of it only low ends matter and right of it only high ends, and a block whose extent meets a value holds an interval
that does. A subtree of few intervals is a *bucket*: one block without a median. Without buckets a million intervals
that do not overlap would take a million nodes. `irblock` changes blocks, `irbuild` makes trees, `irupdate` keeps them,
`ircheck` has the check.

Child references: NONE, a node (>= 0), or a bucket, BUCKET minus the number of its block. A block is up to ROOMIEST
units of UNIT places, and its number that of its first unit. Ends are images of numbers of 32 bits, rounded outward.

Invariants: entries of a block are in order, as are blocks; an inner entry has exactly the extent of what is below it,
a node that of all its intervals and the first of them; `below` counts the intervals of a subtree, which are more than
FEWEST, and a child of a node with n below has at most 3/4 n + 4 of them; no block is empty; blocks, in use or given up,
fill the pool up to `used[FRESH]` and do not overlap.

The cursor of a search has a *strand* for each node and bucket that may hold a match: where it stands in each level of
the R-tree. A heap of strands lies at the end of the cursor, the one with the best head first. The head of a FRESH
strand is the node's first part, met or not: its blocks are looked at when no other strand has a better head.
"""

from typing import Any, NamedTuple

import numpy as np

from skyband.kernels.array import Bytes, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import LANES, NEVER_HI, NEVER_LO, hits, image_above, image_below, lowest_bit
from skyband.ranked.kernels.parts import CRAMPED, END, Parts, ahead

UNIT = 4
ROOMIEST = LANES // UNIT
# The first places of the pool are not used: comparisons of high ends read LANES places from LANES before a block.
FIRST_UNIT = ROOMIEST
# Subtrees of up to so many are made one bucket when something is removed from them.
FEWEST = 14

NONE = -1
BUCKET = -2

# Columns of `node`, half a cache line; LEAST and MOST are the extent.
MEDIAN, LEAST, MOST, LEFT, RIGHT, BLOCK, HEIGHT, FIRST = range(8)
N_COLUMNS = 8

# Places of `used`, of `spare`, and of `peak`.
FRESH, GIVEN_UP = range(2)
FREE_NODE, N_NODES, N_PARTS, WANTED = range(4)
DEPTH, TALLEST = range(2)

# The beginning of a cursor; room for the references that are still to be followed comes next.
N_STRANDS, IS_HEAP, LOW, HIGH, PENDING = range(5)
# The beginning of a strand; block and rest by level come next.
HEAD, STATE, MODE, LEVEL, TOP, LEVELS = range(6)
READY, GONE, ASLEEP = range(3)
# What decides whether an interval is met: its low end, its high end, both, or nothing.
UNTIL, SINCE, BOTH, ALL = range(4)


class IrBlocks(NamedTuple):
    """By place the part, or the block below, and its ends; by block how many `units` it has, and entries (`size`).

    `free[u]` is the first block of u units that was given up, or NONE; `part` at its first place is the next one.
    """

    part: Int32s
    low: Int32s
    high: Int32s
    size: Bytes
    units: Bytes
    free: Int64s
    used: Int64s


class IrTree(NamedTuple):
    """`node` and `below` by node, `root` by dimension; LEFT of a node that was given up is the next free one."""

    blocks: IrBlocks
    node: Int32s
    below: Int32s
    root: Int32s
    spare: Int64s
    peak: Int64s


@inlined
def whole(number: np.integer[Any]) -> int:
    """An integer of 64 bits: those of fewer bits stay what they are when they are added up or put into tuples."""
    return int(np.int64(number))


@inlined
def n_below(tree: IrTree, child: int) -> int:
    """The number of intervals of a child."""
    if child >= 0:
        return whole(tree.below[child])
    return 0 if child == NONE else whole(tree.blocks.size[BUCKET - child])


@inlined
def _met(blocks: IrBlocks, block: int, mode: int, low: int, high: int) -> int:
    """The entries of a block that are met, a bit each."""
    bits = (1 << whole(blocks.size[block])) - 1
    if mode in (UNTIL, BOTH):
        bits &= hits(blocks.low, block * UNIT, NEVER_HI, high)
    if mode in (SINCE, BOTH):
        bits &= hits(blocks.high, block * UNIT - LANES, low, NEVER_LO)
    return bits


@inlined
def _add_strand(blocks: IrBlocks, block: int, height: int, first: int, mode: int, at: int, cursor: Int64s) -> int:
    """Begin a strand at a place of the cursor; returns where the next one begins, CRAMPED if there is no room."""
    n, end = cursor[N_STRANDS], at + LEVELS + 2 * (height + 1)
    if end > len(cursor) - n - 1:
        return CRAMPED
    cursor[at + HEAD], cursor[at + STATE], cursor[at + MODE], cursor[at + TOP] = first, ASLEEP, mode, height
    cursor[at + LEVEL], cursor[at + LEVELS + 2 * height] = height, block
    if height == 0:
        # One block tells all there is to know, and a strand that meets nothing need not be kept.
        met = _met(blocks, block, mode, cursor[LOW], cursor[HIGH])
        if met == 0:
            return at
        cursor[at + HEAD], cursor[at + STATE] = blocks.part[block * UNIT + lowest_bit(met)], READY
        cursor[at + LEVELS + 1] = met & (met - 1)
    cursor[len(cursor) - 1 - n] = at
    cursor[N_STRANDS] = n + 1
    return end


@kernel
def open_ir(tree: IrTree, dim: int, low: float, high: float, cursor: Int64s) -> int:
    """Start a cursor for the intervals that meet [low, high]; 0, or CRAMPED if it is too short."""
    blocks, node = tree.blocks, tree.node
    at = PENDING + tree.peak[DEPTH] + 2
    if at > len(cursor):
        return CRAMPED
    since, until = image_above(low), image_below(high)
    cursor[N_STRANDS], cursor[IS_HEAP], cursor[LOW], cursor[HIGH] = 0, 0, since, until
    n_pending, child = 0, whole(tree.root[dim]) if dim < len(tree.root) else NONE
    while True:
        if child >= 0:
            row = node[child]
            median = row[MEDIAN]
            mode = UNTIL if until < median else SINCE if since > median else ALL
            if row[BLOCK] >= 0 and row[LEAST] <= until and row[MOST] >= since:
                at = _add_strand(blocks, row[BLOCK], row[HEIGHT], row[FIRST], mode, at, cursor)
            if until > median:
                cursor[PENDING + n_pending] = row[RIGHT]
                n_pending += 1
            child = whole(row[LEFT]) if since < median else NONE
        elif child <= BUCKET:
            at = _add_strand(blocks, BUCKET - child, 0, END, BOTH, at, cursor)
            child = NONE
        elif n_pending > 0:
            n_pending -= 1
            child = cursor[PENDING + n_pending]
        else:
            return 0
        if at == CRAMPED:
            return CRAMPED


@inlined
def _advance(blocks: IrBlocks, at: int, cursor: Int64s) -> bool:
    """Bring a strand to its next head, left first and down first; False if there is none."""
    level, top, mode = cursor[at + LEVEL], cursor[at + TOP], cursor[at + MODE]
    low, high = cursor[LOW], cursor[HIGH]
    levels = cursor[at + LEVELS : at + LEVELS + 2 * (top + 1)]
    if cursor[at + STATE] == ASLEEP:
        levels[2 * top + 1] = _met(blocks, levels[2 * top], mode, low, high)
    while level <= top:
        rest = int(levels[2 * level + 1])
        if rest == 0:
            level += 1
            continue
        levels[2 * level + 1] = rest & (rest - 1)
        found = whole(blocks.part[levels[2 * level] * UNIT + lowest_bit(rest)])
        if level == 0:
            cursor[at + HEAD], cursor[at + STATE], cursor[at + LEVEL] = found, READY, 0
            return True
        level -= 1
        levels[2 * level], levels[2 * level + 1] = found, _met(blocks, found, mode, low, high)
    return False


@inlined
def _sift_down(parts: Parts, n: int, i: int, cursor: Int64s) -> None:
    last = len(cursor) - 1
    moved = cursor[last - i]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        first = cursor[last - child]
        if child + 1 < n and ahead(parts, cursor[cursor[last - child - 1] + HEAD], cursor[first + HEAD]):
            child += 1
            first = cursor[last - child]
        if not ahead(parts, cursor[first + HEAD], cursor[moved + HEAD]):
            break
        cursor[last - i] = first
        i = child
    cursor[last - i] = moved


@kernel
def next_ir(tree: IrTree, parts: Parts, cursor: Int64s) -> int:
    """The next part in order, or END."""
    n, last = cursor[N_STRANDS], len(cursor) - 1
    if cursor[IS_HEAP] == 0:
        for i in range(n // 2 - 1, -1, -1):
            _sift_down(parts, n, i, cursor)
        cursor[IS_HEAP] = 1
    while n > 0:
        at = cursor[last]
        if cursor[at + STATE] == READY:
            cursor[at + STATE] = GONE
            return cursor[at + HEAD]
        if not _advance(tree.blocks, at, cursor):
            n -= 1
            cursor[N_STRANDS] = n
            cursor[last] = cursor[last - n]
        if n > 1:
            _sift_down(parts, n, 0, cursor)
    return END
