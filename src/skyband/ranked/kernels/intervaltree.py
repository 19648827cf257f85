"""Scored interval trees, one for each dimension: every part is listed at the highest node whose centre it contains.

A node's centre is the median of the ends of all parts at it and below it, so at most half of them are left of it, and
at most half right. At the node are those that contain the centre, best first, with the least and the largest of their
ends; a value left of the centre meets those of them that begin early enough, one right of it those that end late
enough. BUCKET parts or fewer are not divided any further: their node has no centre (it is NaN), and both ends are held
against a value. Without that a node for each of n disjoint parts would take more memory than the parts.

Nodes lie in preorder, and so do their lists: a node's own list, all that is left of its centre, all that is right.
The left child is the node that follows, if the right side begins later than there; a list ends where the next node's
begins. Ends are rounded outward to 32 bits, and what is said here holds for them as they are rounded.

A cursor is the number of lanes in its heap (negative: that many lanes, and no heap yet), the value's bits, then three
numbers for each lane: an entry of the heap, and for lane i the place of its head, and its list's end with the side of
the value. An entry is a part, the lane it heads, and whether it is FOUND to be met; one that is not says only that the
lane has nothing better. So a lane is read no further than CHUNK places beyond what is asked for, where the paper looks
for the head of each. Invariant, beyond these: no entry of a heap is ahead of its parent.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Float32s, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.select import nth
from skyband.ranked.kernels.parts import CRAMPED, END, HI, LO, Parts, ahead, rounded_down, rounded_up
from skyband.ranked.kernels.segmenttree import check_order

# With 16 a list of disjoint parts takes 15 bytes for each; the ends of a bucket fill a cache line.
BUCKET = 16
# How many parts of a list are looked at for the next head: a cache line or two of their ends.
CHUNK = 32

CENTRE, LEAST, LARGEST = range(3)
START, RIGHT = range(2)

# Where a value is, seen from the centre of a node.
LEFT_SIDE, RIGHT_SIDE, BOTH_SIDES = range(3)
SIDE_BITS, SIDE = 2, 3

# The last bits of an entry: a lane, and whether the part is met. Paths are shorter than 64 nodes.
FOUND = 1
ENTRY_BITS, LANE = 7, 63


class IntervalTree(NamedTuple):
    """`root` by dimension, its first node; `extent` (CENTRE, LEAST, LARGEST) and `link` (START, RIGHT) by node; the
    parts as they are listed. `root` and `link` have one row more, for the end.
    """

    root: Int64s
    extent: Float32s
    link: Int32s
    lo: Float32s
    hi: Float32s
    part: Int32s


class Workshop(NamedTuple):
    """Room for as many parts as a dimension has, for their ends, and for a row each of the ranges still to build."""

    lo: Float32s
    hi: Float32s
    part: Int32s
    ends: Float32s
    ranges: Int64s


def n_levels(n: int) -> int:
    """How many nodes a path can have in a tree of n parts."""
    levels = min(n, 1)
    while n > BUCKET:
        n, levels = n // 2, levels + 1
    return levels


@inlined
def _centre_of(tree: IntervalTree, begin: int, end: int, ends: Float32s) -> float:
    n, lo, hi = end - begin, tree.lo[begin:end], tree.hi[begin:end]
    for i in range(n):
        ends[i] = lo[i]
    later = ends[n : 2 * n]
    for i in range(n):
        later[i] = hi[i]
    return float(nth(ends, 2 * n, n))


@inlined
def _divide(tree: IntervalTree, begin: int, end: int, centre: float, room: Workshop) -> tuple[int, int]:
    """Bring parts that contain the centre to the front, then those left of it; returns where these begin and end."""
    lo, hi, part, last = tree.lo, tree.hi, tree.part, len(room.part) - 1
    other_lo, other_hi, other_part = room.lo, room.hi, room.part
    here, n_left, n_right = begin, 0, 0
    for i in range(begin, end):
        if hi[i] < centre:
            other_lo[n_left], other_hi[n_left], other_part[n_left] = lo[i], hi[i], part[i]
            n_left += 1
        elif lo[i] > centre:
            at = last - n_right
            other_lo[at], other_hi[at], other_part[at] = lo[i], hi[i], part[i]
            n_right += 1
        else:
            lo[here], hi[here], part[here] = lo[i], hi[i], part[i]
            here += 1
    for i in range(n_left):
        lo[here + i], hi[here + i], part[here + i] = other_lo[i], other_hi[i], other_part[i]
    right = here + n_left
    for i in range(n_right):
        lo[right + i], hi[right + i], part[right + i] = other_lo[last - i], other_hi[last - i], other_part[last - i]
    return here, right


@inlined
def _measure(lo: Float32s, hi: Float32s, extent: Float32s) -> None:
    least, largest = lo[0], hi[0]
    for i in range(len(lo)):
        least, largest = min(least, lo[i]), max(largest, hi[i])
    extent[LEAST], extent[LARGEST] = least, largest


@kernel
def _build_dimension(begin: int, end: int, n_nodes: int, tree: IntervalTree, room: Workshop) -> int:
    extent, link, ranges = tree.extent, tree.link, room.ranges
    ranges[0, 0], ranges[0, 1], ranges[0, 2] = begin, end, -1
    n_ranges = 1
    while n_ranges > 0:
        n_ranges -= 1
        begin, end, parent = ranges[n_ranges, 0], ranges[n_ranges, 1], ranges[n_ranges, 2]
        if parent >= 0:
            link[parent, RIGHT] = n_nodes
        if begin == end:
            continue
        node, n_nodes = n_nodes, n_nodes + 1
        link[node, START], link[node, RIGHT] = begin, n_nodes
        extent[node, CENTRE], here = np.nan, end
        if end - begin > BUCKET:
            centre = _centre_of(tree, begin, end, room.ends)
            here, right = _divide(tree, begin, end, centre, room)
            extent[node, CENTRE] = centre
            ranges[n_ranges, 0], ranges[n_ranges, 1], ranges[n_ranges, 2] = right, end, node
            n_ranges += 1
            ranges[n_ranges, 0], ranges[n_ranges, 1], ranges[n_ranges, 2] = here, right, -1
            n_ranges += 1
        _measure(tree.lo[begin:here], tree.hi[begin:here], extent[node])
    return n_nodes


@kernel
def build_intervals(first: Int64s, room: Workshop, tree: IntervalTree) -> int:
    """Build the trees where they lie, from parts by dimension and in order; returns how many nodes there are."""
    n_nodes, n_dims = 0, len(first) - 1
    for dim in range(n_dims):
        tree.root[dim] = n_nodes
        n_nodes = _build_dimension(first[dim], first[dim + 1], n_nodes, tree, room)
    tree.root[n_dims] = n_nodes
    tree.link[n_nodes, START] = tree.link[n_nodes, RIGHT] = len(tree.part)
    return n_nodes


@kernel
def open_interval(tree: IntervalTree, dim: int, low: float, high: float, cursor: Int64s) -> int:
    """Start a cursor for a point, where `low` equals `high`; 0, or CRAMPED."""
    cursor[0] = 0
    if dim + 1 >= len(tree.root):
        return 0
    # Without the JIT a number of Python's would be rounded to 32 bits to be compared with one of them.
    value, n, room = np.float64(low), 0, (len(cursor) - 2) // 3
    extent, link, node, end = tree.extent, tree.link, tree.root[dim], tree.root[dim + 1]
    while node < end:
        centre, right = extent[node, CENTRE], link[node, RIGHT]
        side = LEFT_SIDE if value < centre else RIGHT_SIDE if value > centre else BOTH_SIDES
        if extent[node, LEAST] <= value <= extent[node, LARGEST]:
            if n >= room:
                return CRAMPED
            cursor[3 * n + 3] = link[node, START]
            cursor[3 * n + 4] = np.int64(link[node + 1, START]) << SIDE_BITS | side
            n += 1
        if side == LEFT_SIDE:
            node, end = node + 1, right
        else:
            node = right if side == RIGHT_SIDE else end
    cursor[0], cursor[1] = -n, value.view(np.int64)
    return 0


@inlined
def _scan(tree: IntervalTree, at: int, end: int, side: int, value: float) -> int:
    """The first place from `at` on where the part may be met, or `end`."""
    lo, hi = tree.lo, tree.hi
    if side == LEFT_SIDE:
        while at < end and lo[at] > value:
            at += 1
    elif side == RIGHT_SIDE:
        while at < end and hi[at] < value:
            at += 1
    else:
        while at < end and (lo[at] > value or hi[at] < value):
            at += 1
    return at


@inlined
def _advance(tree: IntervalTree, lane: int, cursor: Int64s) -> int:
    """The next entry of a lane, or -1 at its end."""
    value = np.int64(cursor[1]).view(np.float64)
    begin, end, side = cursor[3 * lane + 3], cursor[3 * lane + 4] >> SIDE_BITS, cursor[3 * lane + 4] & SIDE
    stop = min(begin + CHUNK, end)
    at = _scan(tree, begin, stop, side, value)
    if at == end:
        return -1
    found = FOUND if at < stop else 0
    cursor[3 * lane + 3] = at + found
    return int(np.int64(tree.part[at]) << ENTRY_BITS | lane << 1 | found)


@inlined
def _sift(parts: Parts, cursor: Int64s, n: int, i: int, entry: int) -> None:
    """Put an entry where i is, or further down among the first n."""
    part = entry >> ENTRY_BITS
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        other = cursor[3 * child + 2] >> ENTRY_BITS
        if child + 1 < n:
            third = cursor[3 * child + 5] >> ENTRY_BITS
            if ahead(parts, third, other):
                child, other = child + 1, third
        if not ahead(parts, other, part):
            break
        cursor[3 * i + 2] = cursor[3 * child + 2]
        i = child
    cursor[3 * i + 2] = entry


@inlined
def _make_heap(tree: IntervalTree, parts: Parts, n_lanes: int, cursor: Int64s) -> int:
    n = 0
    for lane in range(n_lanes):
        entry = _advance(tree, lane, cursor)
        if entry >= 0:
            cursor[3 * n + 2] = entry
            n += 1
    for i in range(n // 2 - 1, -1, -1):
        _sift(parts, cursor, n, i, cursor[3 * i + 2])
    return n


@kernel
def next_interval(tree: IntervalTree, parts: Parts, cursor: Int64s) -> int:
    """The next part in order, or END."""
    n = cursor[0]
    if n < 0:
        n = _make_heap(tree, parts, -n, cursor)
    part = END
    while n > 0 and part == END:
        top = cursor[2]
        if top & FOUND:
            part = top >> ENTRY_BITS
        entry = _advance(tree, top >> 1 & LANE, cursor)
        if entry < 0:
            n, entry = n - 1, cursor[3 * n - 1]
        _sift(parts, cursor, n, 0, entry)
    cursor[0] = n
    return part


def check_intervals(tree: IntervalTree, parts: Parts) -> None:
    """Assert the invariants."""
    assert tree.link[-1].tolist() == [len(tree.part)] * 2
    lo, hi = parts.fact[tree.part, LO], parts.fact[tree.part, HI]
    assert np.array_equal(tree.lo[lo <= hi], rounded_down(lo[lo <= hi]))
    assert np.array_equal(tree.hi[lo <= hi], rounded_up(hi[lo <= hi]))
    for dim in range(len(tree.root) - 1):
        root, end = int(tree.root[dim]), int(tree.root[dim + 1])
        n = int(tree.link[end, START] - tree.link[root, START])
        assert (parts.dim[tree.part[tree.link[root, START] : tree.link[end, START]]] == dim).all()
        todo = [(root, end, n_levels(n))]
        while todo:
            node, end, levels = todo.pop()
            if node < end:
                _check_node(tree, parts, node, end, levels)
                right = int(tree.link[node, RIGHT])
                todo += [(node + 1, right, levels - 1), (right, end, levels - 1)]


def _check_node(tree: IntervalTree, parts: Parts, node: int, end: int, levels: int) -> None:
    begin, here, right, stop = tree.link[[node, node + 1, tree.link[node, RIGHT], end], START]
    lo, hi, (centre, least, largest) = tree.lo, tree.hi, tree.extent[node]
    assert levels > 0
    assert begin < here <= right <= stop
    assert (lo[begin:here].min(), hi[begin:here].max()) == (least, largest)
    check_order(tree.part[begin:here], parts)
    if np.isnan(centre):
        assert here == stop <= begin + BUCKET
        return
    assert stop - begin > BUCKET
    assert ((lo[begin:here] <= centre) & (centre <= hi[begin:here])).all()
    assert (hi[here:right] < centre).all()
    assert (lo[right:stop] > centre).all()
    assert max(right - here, stop - right) <= (stop - begin) // 2
