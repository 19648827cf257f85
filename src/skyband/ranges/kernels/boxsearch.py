"""Questions to trees of points or boxes: what lies in a closed box, how far it reaches, and who comes first in it.

A walk goes down from the root and keeps, for each level, the node and the set of its entries that are still to be
looked at, one bit each: 32 comparisons make one number, and what need not be looked at is left off by clearing bits.
An item that is a box is inside as far as it has a part inside. A box with a low side above its high side holds nothing.
"""

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxtree import FANOUT, LAST, NODE, REST, Trees

# Rows of `flag`.
TOUCHED = 0
WITHIN = 1


@inlined
def _lowest(bits: int) -> int:
    """The place of the lowest bit, read from the exponent of that power of two; there is one."""
    return int(np.float64(bits & -bits).view(np.int64) >> 52) - 1023


@inlined
def _highest(bits: int) -> int:
    """The place of the highest bit; there is one."""
    return int(np.float64(bits).view(np.int64) >> 52) - 1023


@inlined
def _enter(trees: Trees, t: int, low: Floats, high: Floats) -> int:
    """The root, where a walk through a box begins; or -1 if there is nothing to walk through."""
    for j in range(len(low)):
        if low[j] > high[j]:
            return -1
    return trees.root[t] if trees.height[t] >= 0 else -1


@inlined
def _leave(trees: Trees, level: int, node: int, entries: int) -> None:
    """Leave an inner node, and note the entries of it that are to be looked at."""
    trees.path[NODE, level], trees.path[REST, level] = node, entries


@inlined
def _climb(trees: Trees, level: int, height: int) -> int:
    """The first level with entries to look at, from that of the node just left upwards; above the height if none."""
    level = max(level, 1)
    while level <= height and trees.path[REST, level] == 0:
        level += 1
    return level


@inlined
def _descend(trees: Trees, level: int, height: int, i: int) -> int:
    """The node below an entry of a level, which is looked at no more; -1 above the height, where the walk is over."""
    if level > height:
        return -1
    trees.path[REST, level] &= ~(1 << i)
    return trees.inners.child[trees.path[NODE, level], i]


@inlined
def _next(trees: Trees, level: int, height: int, west: bool = False) -> tuple[int, int]:
    """The node that comes after the one just left, and its level: below the first entry left over, or the last one."""
    level = _climb(trees, level, height)
    rest = trees.path[REST, level]
    node = _descend(trees, level, height, 0 if level > height else _highest(rest) if west else _lowest(rest))
    return node, level - 1


@inlined
def _union(flag: Int64s) -> int:
    bits = 0
    for i in range(FANOUT):
        bits |= flag[i]
    return bits


@inlined
def _touched(trees: Trees, lows: Floats, highs: Floats, low: Floats, high: Floats) -> int:
    """The entries of a node that have a part in a box."""
    flag = trees.flag[TOUCHED]
    for j in range(len(low)):
        first, last, since, until = lows[j], highs[j], low[j], high[j]
        # Numbers in memory first: a set that is added up in one loop with the comparisons takes twice the time.
        if j == 0:
            for i in range(FANOUT):
                flag[i] = 1 << i if (first[i] <= until) & (last[i] >= since) else 0
        else:
            for i in range(FANOUT):
                flag[i] = flag[i] if (first[i] <= until) & (last[i] >= since) else 0
    return _union(flag)


@inlined
def _within(trees: Trees, lows: Floats, highs: Floats, low: Floats, high: Floats) -> int:
    """The entries of a node that lie in a box altogether."""
    flag = trees.flag[WITHIN]
    for j in range(len(low)):
        first, last, since, until = lows[j], highs[j], low[j], high[j]
        if j == 0:
            for i in range(FANOUT):
                flag[i] = 1 << i if (first[i] >= since) & (last[i] <= until) else 0
        else:
            for i in range(FANOUT):
                flag[i] = flag[i] if (first[i] >= since) & (last[i] <= until) else 0
    return _union(flag)


@inlined
def _between(trees: Trees, firsts: Floats, lasts: Floats, since: float, until: float) -> int:
    """Of the entries touched, those that have a part between two numbers in one dimension."""
    flag = trees.flag[TOUCHED]
    for i in range(FANOUT):
        flag[i] = flag[i] if (firsts[i] <= until) & (lasts[i] >= since) else 0
    return _union(flag)


@inlined
def _merge(
    entries: int, lows: Floats, highs: Floats, low: Floats, high: Floats, out_low: Floats, out_high: Floats
) -> None:
    """Widen a box so that it holds the parts of these entries that are in another."""
    for j in range(len(low)):
        firsts, lasts, least, most, rest = lows[j], highs[j], out_low[j], out_high[j], entries
        while rest:
            i = _lowest(rest)
            rest &= rest - 1
            least, most = min(least, firsts[i]), max(most, lasts[i])
        if entries:
            out_low[j], out_high[j] = max(least, low[j]), min(most, high[j])


@inlined
def _is_known(trees: Trees, level: int, i: int, low: Floats, high: Floats, out_low: Floats, out_high: Floats) -> bool:
    """Whether the part of an entry of a level that is in one box lies in the other."""
    above = trees.path[NODE, level]
    lows, highs = trees.inners.low[above], trees.inners.high[above]
    for j in range(len(low)):
        if max(lows[j, i], low[j]) < out_low[j] or min(highs[j, i], high[j]) > out_high[j]:
            return False
    return True


@kernel
def snap(trees: Trees, t: int, low: Floats, high: Floats, out_low: Floats, out_high: Floats) -> bool:
    """The smallest box around everything inside a box; False if there is nothing."""
    for j in range(len(low)):
        out_low[j], out_high[j] = np.inf, -np.inf
    node, level = _enter(trees, t, low, high), trees.height[t]
    leaves, inners, height = trees.leaves, trees.inners, level
    while node >= 0:
        if level == 0:
            lows, highs = leaves.low[node], leaves.high[node]
            _merge(_touched(trees, lows, highs, low, high), lows, highs, low, high, out_low, out_high)
        else:
            lows, highs = inners.low[node], inners.high[node]
            touched = _touched(trees, lows, highs, low, high)
            within = _within(trees, lows, highs, low, high) if touched else 0
            _merge(within, lows, highs, low, high, out_low, out_high)
            _leave(trees, level, node, touched & ~within)
        level, i = _climb(trees, level, height), 0
        while level <= height:
            i = _lowest(trees.path[REST, level])
            if not _is_known(trees, level, i, low, high, out_low, out_high):
                break
            trees.path[REST, level] &= ~(1 << i)
            level = _climb(trees, level, height)
        node = _descend(trees, level, height, i)
        level -= 1
    return out_low[0] <= out_high[0]


@inlined
def _holds(i: int, lows: Floats, highs: Floats, low: Floats, high: Floats) -> bool:
    """Whether something below an entry that a box touches is sure to lie in it.

    Something lies on each side of the entry's box: one side in the box is enough.
    """
    n_outside, has_side = 0, True
    for j in range(len(low)):
        since, until = lows[j, i] >= low[j], highs[j, i] <= high[j]
        if not (since and until):
            n_outside += 1
            has_side = since or until
    return n_outside == 0 or (n_outside == 1 and has_side)


@kernel
def any_inside(trees: Trees, t: int, low: Floats, high: Floats) -> bool:
    """Whether there is anything in a box."""
    node, level = _enter(trees, t, low, high), trees.height[t]
    leaves, inners, height = trees.leaves, trees.inners, level
    while node >= 0:
        if level == 0:
            if _touched(trees, leaves.low[node], leaves.high[node], low, high):
                return True
        else:
            touched = _touched(trees, inners.low[node], inners.high[node], low, high)
            _leave(trees, level, node, touched)
            while touched:
                if _holds(_lowest(touched), inners.low[node], inners.high[node], low, high):
                    return True
                touched &= touched - 1
        node, level = _next(trees, level, height)
    return False


@kernel
def count_inside(trees: Trees, t: int, low: Floats, high: Floats, most: int = LAST) -> int:
    """How many items are in a box; once they are more than `most`, no further ones need be counted."""
    node, level = _enter(trees, t, low, high), trees.height[t]
    leaves, inners, height, n = trees.leaves, trees.inners, level, 0
    while node >= 0 and n <= most:
        if level == 0:
            items = _touched(trees, leaves.low[node], leaves.high[node], low, high)
            while items:
                items &= items - 1
                n += 1
        else:
            touched = _touched(trees, inners.low[node], inners.high[node], low, high)
            within = _within(trees, inners.low[node], inners.high[node], low, high) if touched else 0
            _leave(trees, level, node, touched & ~within)
            while within:
                n += inners.below[node, _lowest(within)]
                within &= within - 1
        node, level = _next(trees, level, height)
    return n


@kernel
def report(trees: Trees, t: int, low: Floats, high: Floats, out: Int64s, at: int) -> int:
    """Append the slots of what is in a box to `out`; returns where they end, or -1 if there is too little room."""
    node, level = _enter(trees, t, low, high), trees.height[t]
    leaves, inners, height = trees.leaves, trees.inners, level
    while node >= 0:
        if level == 0:
            items = _touched(trees, leaves.low[node], leaves.high[node], low, high)
            while items:
                if at == len(out):
                    return -1
                out[at] = leaves.slot[node, _lowest(items)]
                items &= items - 1
                at += 1
        else:
            touched = _touched(trees, inners.low[node], inners.high[node], low, high)
            within = _within(trees, inners.low[node], inners.high[node], low, high) if touched and level == 1 else 0
            _leave(trees, level, node, touched & ~within)
            while within:
                leaf = inners.child[node, _lowest(within)]
                within &= within - 1
                length, slots = leaves.length[leaf], leaves.slot[leaf]
                if at + length > len(out):
                    return -1
                for i in range(length):
                    out[at + i] = slots[i]
                at += length
        node, level = _next(trees, level, height)
    return at


@inlined
def _least_of(entries: int, values: Floats, enough: float) -> int:
    """The place of the least number among these entries of a node, or of one that is small enough; there is one."""
    best = _lowest(entries)
    entries &= entries - 1
    while entries and values[best] > enough:
        i = _lowest(entries)
        entries &= entries - 1
        if values[i] < values[best]:
            best = i
    return best


@kernel
def least(
    trees: Trees,
    t: int,
    low: Floats,
    high: Floats,
    dim: int,
    after: float,
    after_tie: int,
    after_slot: int,
    tie: Int64s,
) -> int:
    """The first point in a box by one of its numbers, then `tie` and slot, of those after such a three; or -1."""
    node, level = _enter(trees, t, low, high), trees.height[t]
    leaves, inners, height = trees.leaves, trees.inners, level
    nodes, rests = trees.path[NODE], trees.path[REST]
    found, best, best_tie = -1, np.inf, LAST
    while node >= 0:
        if level == 0:
            values = leaves.low[node, dim]
            _touched(trees, leaves.low[node], leaves.high[node], low, high)
            items = _between(trees, values, values, after, best)
            while items:
                i = _lowest(items)
                items &= items - 1
                value, slot = values[i], leaves.slot[node, i]
                is_after = value > after or tie[slot] > after_tie or (tie[slot] == after_tie and slot > after_slot)
                is_before = tie[slot] < best_tie or (tie[slot] == best_tie and slot < found)
                if is_after and (value < best or (value == best and is_before)):
                    found, best, best_tie = slot, value, tie[slot]
        else:
            _touched(trees, inners.low[node], inners.high[node], low, high)
            _leave(trees, level, node, _between(trees, inners.low[node, dim], inners.high[node, dim], after, best))
        level, i = _climb(trees, level, height), 0
        while level <= height:
            i = _least_of(rests[level], inners.low[nodes[level], dim], after)
            if inners.low[nodes[level], dim, i] <= best:
                break
            level = _climb(trees, level + 1, height)
        node = _descend(trees, level, height, i)
        level -= 1
    return found


@kernel
def first_k(
    trees: Trees,
    t: int,
    low: Floats,
    high: Floats,
    west: bool,
    k: int,
    dim: int,
    before: float,
    before_tie: int,
    tie: Int64s,
    out: Int64s,
    at: int,
) -> int:
    """The first k points in a box, walking west from its east side or east from its west side; returns how many.

    Only those count whose number in one dimension, then `tie`, come before a pair of these. The key of the tree is the
    first dimension.
    """
    node, level = _enter(trees, t, low, high) if k > 0 else -1, trees.height[t]
    leaves, inners, height, n = trees.leaves, trees.inners, level, 0
    while node >= 0:
        if level == 0:
            values = leaves.low[node, dim]
            _touched(trees, leaves.low[node], leaves.high[node], low, high)
            items = _between(trees, values, values, -np.inf, before)
            while items:
                i = _highest(items) if west else _lowest(items)
                items &= ~(1 << i)
                slot = leaves.slot[node, i]
                if values[i] < before or tie[slot] < before_tie:
                    out[at + n] = slot
                    n += 1
                    if n == k:
                        return n
        else:
            _touched(trees, inners.low[node], inners.high[node], low, high)
            _leave(trees, level, node, _between(trees, inners.low[node, dim], inners.high[node, dim], -np.inf, before))
        node, level = _next(trees, level, height, west)
    return n
