"""The k lowest objects in ranges, for many ranges at once: the first answers of new subscriptions.

The objects are sorted once, by y and by each x. A range that holds many of them is answered by walking up in y until k
are found, one that holds few by looking at each of those. Of n objects, c of them between the ends of a range in the
dimension where it holds the fewest, the first way takes about k * n / c looks, the second c; the better of the two
takes at most the root of k * n.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort
from skyband.topk.kernels.buffer import Buffers


class ObjectsByY(NamedTuple):
    """Objects in ascending order of y: `object`, `x` and `y` by rank. By dimension, all x in order, and their ranks."""

    object: Int64s
    x: Floats
    y: Floats
    place: Floats
    rank: Int64s


def sort_objects(objects: Int64s, x: Floats, y: Floats, tie: Int64s) -> ObjectsByY:
    """Sort these objects, of which x, y and tie are given by slot."""
    objects = objects[np.lexsort((tie[objects], y[objects]))]
    x = np.ascontiguousarray(x[objects])
    rank = np.argsort(x, axis=0, kind="stable").T.astype(np.int64)
    place = np.take_along_axis(x, rank.T, 0).T
    return ObjectsByY(objects, x, y[objects], np.ascontiguousarray(place), np.ascontiguousarray(rank))


@inlined
def _n_before(places: Floats, x: float, or_at: bool) -> int:
    """How many places are before x, or at it."""
    lo, hi = 0, len(places)
    while lo < hi:
        mid = (lo + hi) // 2
        if places[mid] < x or (or_at and places[mid] == x):
            lo = mid + 1
        else:
            hi = mid
    return lo


@inlined
def _holds(lo: Floats, hi: Floats, x: Floats) -> bool:
    inside = True
    for j in range(len(lo)):
        inside &= (lo[j] <= x[j]) & (x[j] <= hi[j])
    return inside


@kernel
def find_lowest(shelves: ObjectsByY, lo: Floats, hi: Floats, k: int, heap: Heap) -> int:
    """Write the ranks of the k lowest objects in a range to the heap's items, in order; returns how many there are."""
    xs, n, at, since, until = shelves.x, len(shelves.x), 0, 0, len(shelves.x)
    for j in range(len(lo)):
        first, end = _n_before(shelves.place[j], lo[j], False), _n_before(shelves.place[j], hi[j], True)
        if end - first < until - since:
            at, since, until = j, first, end
    n_found = 0
    if (until - since) * (until - since) < k * n:
        ranks = shelves.rank[at]
        for i in range(since, until):
            if _holds(lo, hi, xs[ranks[i]]):
                n_found = heap_push(heap, n_found, k, float(ranks[i]), 0, ranks[i])
        heap_sort(heap, n_found)
    else:
        for rank in range(n):
            if _holds(lo, hi, xs[rank]):
                heap.items[n_found] = rank
                n_found += 1
                if n_found == k:
                    break
    return n_found


@kernel
def fill_rows(slots: Int64s, lo: Floats, hi: Floats, shelves: ObjectsByY, heap: Heap, buffers: Buffers) -> None:
    """Add to rows, which hold the lowest already so far as they hold any, what is missing of their k lowest."""
    for i in range(len(slots)):
        row = slots[i]
        n_found = find_lowest(shelves, lo[i], hi[i], buffers.k[row], heap)
        for place in range(buffers.size[row], n_found):
            at, rank = buffers.start[row] + place, heap.items[place]
            buffers.score[at], buffers.item[at], buffers.mark[at] = shelves.y[rank], shelves.object[rank], 0
        buffers.size[row] = max(buffers.size[row], n_found)
