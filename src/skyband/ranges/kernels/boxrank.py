"""Questions to a tree of objects, points (x1 .. xd, y), about those in a box that rank before a pair of y and tie.

And one to any tree: the box around everything.

A walk keeps a stack of nodes with the best that anything below them can be, the best on top, and leaves off those that
are no better than what has been found. So it costs about as many nodes as what is asked for lies in.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxtree import FANOUT, HIGHEST, LAST, Trees

# By what objects are best: the distance from the inner box, or the number in dimension 0, 1, ...
DISTANCE = -1


class Field(NamedTuple):
    """The objects in tree 0 of `trees`; by object where it is, (object, dimension), its y and what breaks ties."""

    trees: Trees
    x: Floats
    y: Floats
    tie: Int64s


class BoxQuery(NamedTuple):
    """A box of the event space with x and y, and a box inside, without y, to measure distances from."""

    low: Floats
    high: Floats
    inner_low: Floats
    inner_high: Floats


class BoxWalk(NamedTuple):
    """Scratch of a walk, and what it found, the best first."""

    node: Int64s
    level: Int64s
    bound: Floats
    slot: Int64s
    value: Floats


def make_asked(dims: int) -> BoxQuery:
    """Boxes for objects in this many dimensions."""
    return BoxQuery(np.zeros(dims + 1), np.zeros(dims + 1), np.zeros(dims), np.zeros(dims))


def make_walk(most: int) -> BoxWalk:
    """Room to find this many."""
    room = FANOUT * (HIGHEST + 1)
    return BoxWalk(
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room), np.zeros(most, np.int64), np.zeros(most)
    )


@inlined
def _touches(lows: Floats, highs: Floats, i: int, asked: BoxQuery) -> bool:
    for j in range(len(asked.low)):
        if not (lows[j, i] <= asked.high[j] and highs[j, i] >= asked.low[j]):
            return False
    return True


@inlined
def _share(part: float, since: float, until: float) -> float:
    """How far a number is on the way from one to another; halves, as the way may be longer than any number."""
    return (part * 0.5 - since * 0.5) / (until * 0.5 - since * 0.5)


@inlined
def _distance(lows: Floats, highs: Floats, i: int, asked: BoxQuery) -> float:
    """The largest share of the way from the inner box to a side of the outer one that an entry is off, at least."""
    farthest = 0.0
    for j in range(len(asked.inner_low)):
        if highs[j, i] < asked.inner_low[j]:
            farthest = max(farthest, _share(highs[j, i], asked.inner_low[j], asked.low[j]))
        elif lows[j, i] > asked.inner_high[j]:
            farthest = max(farthest, _share(lows[j, i], asked.inner_high[j], asked.high[j]))
    return farthest


@inlined
def _note(walk: BoxWalk, n: int, most: int, slot: int, value: float, tie: Int64s) -> int:
    """Put an object among the best found, if it is one; returns how many there are."""
    at = n
    while at > 0 and (
        value < walk.value[at - 1] or (value == walk.value[at - 1] and tie[slot] < tie[walk.slot[at - 1]])
    ):
        at -= 1
    if at == most:
        return n
    for i in range(min(n, most - 1), at, -1):
        walk.slot[i], walk.value[i] = walk.slot[i - 1], walk.value[i - 1]
    walk.slot[at], walk.value[at] = slot, value
    return min(n + 1, most)


@inlined
def _begin(trees: Trees, walk: BoxWalk) -> int:
    """Put the root on the stack, if there is one; returns how many nodes are on it."""
    walk.node[0], walk.level[0], walk.bound[0] = trees.root[0], trees.height[0], -np.inf
    return 1 if trees.height[0] >= 0 else 0


@inlined
def _push(walk: BoxWalk, start: int, top: int, node: int, level: int, bound: float) -> None:
    """Put a node among those from `start` to `top` on the stack, of which the best is on top."""
    at = top
    while at > start and walk.bound[at - 1] < bound:
        walk.node[at], walk.level[at], walk.bound[at] = walk.node[at - 1], walk.level[at - 1], walk.bound[at - 1]
        at -= 1
    walk.node[at], walk.level[at], walk.bound[at] = node, level, bound


@kernel
def best(field: Field, asked: BoxQuery, by: int, before: float, before_tie: int, most: int, walk: BoxWalk) -> int:
    """Find the best so many objects in the box that rank before a pair of y and tie; returns how many there are."""
    trees, tie, d = field.trees, field.tie, len(asked.inner_low)
    leaves, inners = trees.leaves, trees.inners
    asked.high[d] = min(asked.high[d], before)
    n, top = 0, _begin(trees, walk)
    while top > 0:
        top -= 1
        node, level = walk.node[top], walk.level[top]
        if n == most and walk.bound[top] > walk.value[n - 1]:
            continue
        if level == 0:
            lows = leaves.low[node]
            for i in range(leaves.length[node]):
                slot = leaves.slot[node, i]
                if _touches(lows, lows, i, asked) and (lows[d, i] < before or tie[slot] < before_tie):
                    value = lows[by, i] if by != DISTANCE else _distance(lows, lows, i, asked)
                    n = _note(walk, n, most, slot, value, tie)
        else:
            lows, highs, start = inners.low[node], inners.high[node], top
            for i in range(inners.length[node]):
                if _touches(lows, highs, i, asked):
                    bound = lows[by, i] if by != DISTANCE else _distance(lows, highs, i, asked)
                    if n < most or bound <= walk.value[n - 1]:
                        _push(walk, start, top, inners.child[node, i], level - 1, bound)
                        top += 1
    return n


@kernel
def first_above(
    field: Field, asked: BoxQuery, by: int, above_tie: int, before: float, before_tie: int, walk: BoxWalk
) -> int:
    """The first object in the box, by one dimension and then tie, that ranks before a pair; or -1.

    Of objects on the low side of the box in that dimension, only those with a larger tie than `above_tie` count.
    """
    trees, tie, d = field.trees, field.tie, len(asked.inner_low)
    leaves, inners = trees.leaves, trees.inners
    asked.high[d] = min(asked.high[d], before)
    found, found_tie, least, top = -1, LAST, np.inf, _begin(trees, walk)
    while top > 0:
        top -= 1
        node, level = walk.node[top], walk.level[top]
        if walk.bound[top] > least:
            continue
        if level == 0:
            lows = leaves.low[node]
            for i in range(leaves.length[node]):
                slot, value = leaves.slot[node, i], lows[by, i]
                if value > least or not _touches(lows, lows, i, asked):
                    continue
                ranks = lows[d, i] < before or tie[slot] < before_tie
                counts = value > asked.low[by] or tie[slot] > above_tie
                if ranks and counts and (value < least or tie[slot] < found_tie):
                    found, found_tie, least = slot, tie[slot], value
        else:
            lows, highs, start = inners.low[node], inners.high[node], top
            for i in range(inners.length[node]):
                if lows[by, i] <= least and _touches(lows, highs, i, asked):
                    _push(walk, start, top, inners.child[node, i], level - 1, lows[by, i])
                    top += 1
    return found


@kernel
def surround(trees: Trees, t: int, low: Floats, high: Floats) -> None:
    """The box around everything in a tree, which is not empty."""
    root, is_leaf = trees.root[t], trees.height[t] == 0
    lows = trees.leaves.low[root] if is_leaf else trees.inners.low[root]
    highs = trees.leaves.high[root] if is_leaf else trees.inners.high[root]
    for j in range(len(low)):
        low[j], high[j] = np.inf, -np.inf
        for i in range(trees.leaves.length[root] if is_leaf else trees.inners.length[root]):
            low[j], high[j] = min(low[j], lows[j, i]), max(high[j], highs[j, i])
