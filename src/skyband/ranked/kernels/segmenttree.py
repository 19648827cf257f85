"""Scored segment trees, one for each dimension: every part is cut into pieces that nodes cover whole.

The atoms of a dimension are its distinct ends and the gaps between them: end i is atom 2i, the open gap after it atom
2i + 1. With m ends the tree is an array of 4m nodes: atom a is node 2m + a, the parent of a node is at half its index,
and node 0 is none. A node lists the ranks of the parts that cover all of its atoms and are not listed further up, best
first. All that is on the path of an atom's node to the top is met by every value in the atom, each part once: a heap
merges the lists, and nothing has to be looked at twice.

A cursor is the number of lanes left in its heap, then three numbers for each: an entry of the heap (a rank and the lane
it comes from), and for lane i the place of its next rank and the end of its list. Invariants: the ends of a dimension
ascend, and so do the ranks in a node's list; no entry of the heap is less than its parent.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranked.kernels.parts import CRAMPED, END, HI, KEY, LO, OWNER, Parts

# An entry of a heap is a rank and, in its last bits, a lane: paths are shorter than 64 nodes.
LANE_BITS = 6
LANE = 63


class SegmentTree(NamedTuple):
    """`first` by dimension, of its `end`s; `start` by node, of its `rank`s, one more at the end; `part` by rank."""

    first: Int64s
    end: Floats
    start: npt.NDArray[np.uint32]
    rank: Int32s
    part: Int32s


class EndSpans(NamedTuple):
    """For each rank the dimension of its part, and which of the dimension's ends are its own."""

    dim: Int32s
    lo: Int64s
    hi: Int64s


@kernel
def n_pieces(first: Int64s, spans: EndSpans) -> int:
    """How many pieces all parts are cut into."""
    dims, lo, hi, total = spans.dim, spans.lo, spans.hi, 0
    for rank in range(len(dims)):
        n_atoms = 2 * (first[dims[rank] + 1] - first[dims[rank]])
        left, right = n_atoms + 2 * lo[rank], n_atoms + 2 * hi[rank] + 1
        while left < right:
            total += (left & 1) + (right & 1)
            left, right = (left + 1) >> 1, right >> 1
    return total


@kernel
def count_pieces(first: Int64s, spans: EndSpans, start: npt.NDArray[np.uint32]) -> None:
    """Turn `start`, all zero, into where the list of each node ends."""
    dims, lo, hi = spans.dim, spans.lo, spans.hi
    for rank in range(len(dims)):
        dim = dims[rank]
        root, n_atoms = 4 * first[dim], 2 * (first[dim + 1] - first[dim])
        left, right = n_atoms + 2 * lo[rank], n_atoms + 2 * hi[rank] + 1
        while left < right:
            if left & 1:
                start[root + left] += np.uint32(1)
            if right & 1:
                start[root + right - 1] += np.uint32(1)
            left, right = (left + 1) >> 1, right >> 1
    for node in range(1, len(start)):
        start[node] += start[node - 1]


@kernel
def fill_pieces(spans: EndSpans, tree: SegmentTree) -> None:
    """List the ranks, the last one first: each list grows down from its end, and `start` with it."""
    dims, lo, hi, first, start, ranks = spans.dim, spans.lo, spans.hi, tree.first, tree.start, tree.rank
    for rank in range(len(dims) - 1, -1, -1):
        dim = dims[rank]
        root, n_atoms = 4 * first[dim], 2 * (first[dim + 1] - first[dim])
        left, right = n_atoms + 2 * lo[rank], n_atoms + 2 * hi[rank] + 1
        while left < right:
            if left & 1:
                start[root + left] -= np.uint32(1)
                ranks[start[root + left]] = rank
            if right & 1:
                start[root + right - 1] -= np.uint32(1)
                ranks[start[root + right - 1]] = rank
            left, right = (left + 1) >> 1, right >> 1


@inlined
def _atom_of(ends: Floats, value: float) -> int:
    """The atom that a value lies in, or -1 before the first end."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] <= value:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return -1
    return 2 * low - 2 if ends[low - 1] == value else 2 * low - 1


@inlined
def _sift(cursor: Int64s, n: int, i: int, entry: int) -> None:
    """Put an entry where i is, or further down among the first n."""
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and cursor[3 * child + 4] < cursor[3 * child + 1]:
            child += 1
        if entry <= cursor[3 * child + 1]:
            break
        cursor[3 * i + 1] = cursor[3 * child + 1]
        i = child
    cursor[3 * i + 1] = entry


@kernel
def open_segment(tree: SegmentTree, dim: int, low: float, high: float, cursor: Int64s) -> int:
    """Start a cursor for a point, where `low` equals `high`; 0, or CRAMPED."""
    cursor[0] = 0
    if dim + 1 >= len(tree.first):
        return 0
    first, end = tree.first[dim], tree.first[dim + 1]
    atom = _atom_of(tree.end[first:end], low)
    if atom < 0:
        return 0
    start, ranks = tree.start[4 * first :], tree.rank
    n, room, node = 0, (len(cursor) - 1) // 3, 2 * (end - first) + atom
    while node > 0:
        at, stop = np.int64(start[node]), np.int64(start[node + 1])
        if at < stop:
            if n == room:
                return CRAMPED
            cursor[3 * n + 1] = np.int64(ranks[at]) << LANE_BITS | n
            cursor[3 * n + 2], cursor[3 * n + 3] = at + 1, stop
            n += 1
        node >>= 1
    cursor[0] = n
    for i in range(n // 2 - 1, -1, -1):
        _sift(cursor, n, i, cursor[3 * i + 1])
    return 0


@kernel
def next_segment(tree: SegmentTree, parts: Parts, cursor: Int64s) -> int:
    """The next part in order, or END; ranks say all, so `parts` is only there because other indexes need it."""
    n = cursor[0]
    if n == 0:
        return END
    entry = cursor[1]
    lane = entry & LANE
    at = cursor[3 * lane + 2]
    if at < cursor[3 * lane + 3]:
        cursor[3 * lane + 2] = at + 1
        _sift(cursor, n, 0, np.int64(tree.rank[at]) << LANE_BITS | lane)
    else:
        cursor[0] = n - 1
        _sift(cursor, n - 1, 0, cursor[3 * n - 2])
    return tree.part[entry >> LANE_BITS]


def check_segments(tree: SegmentTree, parts: Parts) -> None:
    """Assert the invariants."""
    assert tree.start[0] == 0
    assert tree.start[-1] == len(tree.rank)
    assert len(tree.start) == 4 * len(tree.end) + 1
    assert (np.diff(tree.start.astype(np.int64)) >= 0).all()
    covered: list[list[int]] = [[] for _ in tree.part]
    for dim in range(len(tree.first) - 1):
        first, m = int(tree.first[dim]), int(tree.first[dim + 1] - tree.first[dim])
        assert (np.diff(tree.end[first : first + m]) > 0).all()
        for node in range(4 * m):
            ranks = tree.rank[tree.start[4 * first + node] : tree.start[4 * first + node + 1]].tolist()
            assert all(before < after for before, after in pairwise(ranks))
            left, right = node, node + 1
            while left < 2 * m and ranks:
                left, right = 2 * left, 2 * right
            for rank in ranks:
                assert parts.dim[tree.part[rank]] == dim
                covered[rank] += range(left - 2 * m, right - 2 * m)
    for part, atoms in zip(tree.part, covered, strict=True):
        first, end = tree.first[parts.dim[part]], tree.first[parts.dim[part] + 1]
        if parts.fact[part, LO] > parts.fact[part, HI]:
            continue
        lo, hi = np.searchsorted(tree.end[first:end], parts.fact[part, [LO, HI]])
        assert sorted(atoms) == list(range(2 * lo, 2 * hi + 1))
        assert tree.end[first + lo] == parts.fact[part, LO]
        assert tree.end[first + hi] == parts.fact[part, HI]
    check_order(tree.part, parts)


def check_order(ids: Int32s, parts: Parts) -> None:
    """Assert that parts follow each other by dimension and in order."""
    labels = parts.label[parts.fact[ids, OWNER].astype(np.int64)]
    places = list(zip(parts.dim[ids], -parts.fact[ids, KEY], -labels, strict=True))
    assert places == sorted(places)
