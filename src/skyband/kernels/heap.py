"""A bounded heap of the best candidates: the worst kept one is at the root, ready to be replaced.

Candidates are ordered by key (smaller is better), then by stamp (larger is better). Stamps are distinct, so the order
is total. Invariants: `n <= len(keys)`; no entry is worse than its parent at `(i - 1) // 2`.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel


class Heap(NamedTuple):
    """Three parallel arrays; the number of entries in use is the caller's."""

    keys: Floats
    stamps: Int64s
    items: Int64s


def make_heap(capacity: int) -> Heap:
    """A heap with room for `capacity` entries."""
    return Heap(np.zeros(capacity), np.zeros(capacity, np.int64), np.zeros(capacity, np.int64))


@inlined
def worse(key_a: float, stamp_a: int, key_b: float, stamp_b: int) -> bool:
    """Whether a comes after b in the total order."""
    return key_a > key_b or (key_a == key_b and stamp_a < stamp_b)


@inlined
def _sift_down(heap: Heap, n: int, hole: int, key: float, stamp: int, item: int) -> None:
    """Put an entry into a hole, or below it once better ones have moved up."""
    keys, stamps, items = heap.keys, heap.stamps, heap.items
    child = 2 * hole + 1
    while child < n:
        if child + 1 < n and worse(keys[child + 1], stamps[child + 1], keys[child], stamps[child]):
            child += 1
        if not worse(keys[child], stamps[child], key, stamp):
            break
        keys[hole], stamps[hole], items[hole] = keys[child], stamps[child], items[child]
        hole, child = child, 2 * child + 1
    keys[hole], stamps[hole], items[hole] = key, stamp, item


@kernel
def _replace_worst(heap: Heap, n: int, key: float, stamp: int, item: int) -> None:
    _sift_down(heap, n, 0, key, stamp, item)


@kernel
def _add(heap: Heap, n: int, key: float, stamp: int, item: int) -> None:
    keys, stamps, items = heap.keys, heap.stamps, heap.items
    hole = n
    while hole > 0:
        parent = (hole - 1) // 2
        if not worse(key, stamp, keys[parent], stamps[parent]):
            break
        keys[hole], stamps[hole], items[hole] = keys[parent], stamps[parent], items[parent]
        hole = parent
    keys[hole], stamps[hole], items[hole] = key, stamp, item


@inlined
def heap_push(heap: Heap, n: int, capacity: int, key: float, stamp: int, item: int) -> int:
    """Offer a candidate; returns how many entries are in use. A full heap gives up its worst.

    Most candidates are worse than all that a full heap keeps; they are turned away without a call.
    """
    if n < capacity:
        _add(heap, n, key, stamp, item)
        return n + 1
    if capacity > 0 and worse(heap.keys[0], heap.stamps[0], key, stamp):
        _replace_worst(heap, n, key, stamp, item)
    return n


@kernel
def heap_sort(heap: Heap, n: int) -> None:
    """Turn the heap into a list, best first."""
    keys, stamps, items = heap.keys, heap.stamps, heap.items
    for end in range(n - 1, 0, -1):
        key, stamp, item = keys[end], stamps[end], items[end]
        keys[end], stamps[end], items[end] = keys[0], stamps[0], items[0]
        _sift_down(heap, end, 0, key, stamp, item)


def check_heap(heap: Heap, n: int) -> None:
    """Assert the invariants."""
    assert 0 <= n <= len(heap.keys)
    for i in range(1, n):
        parent = (i - 1) // 2
        assert not worse(heap.keys[i], heap.stamps[i], heap.keys[parent], heap.stamps[parent]), (i, parent)
