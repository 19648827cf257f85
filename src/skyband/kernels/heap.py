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


@kernel
def _swap(heap: Heap, i: int, j: int) -> None:
    heap.keys[i], heap.keys[j] = heap.keys[j], heap.keys[i]
    heap.stamps[i], heap.stamps[j] = heap.stamps[j], heap.stamps[i]
    heap.items[i], heap.items[j] = heap.items[j], heap.items[i]


@kernel
def _sift_down(heap: Heap, n: int, i: int) -> None:
    while True:
        child = 2 * i + 1
        if child >= n:
            return
        right = child + 1
        if right < n and worse(heap.keys[right], heap.stamps[right], heap.keys[child], heap.stamps[child]):
            child = right
        if not worse(heap.keys[child], heap.stamps[child], heap.keys[i], heap.stamps[i]):
            return
        _swap(heap, i, child)
        i = child


@kernel
def _replace_worst(heap: Heap, n: int, key: float, stamp: int, item: int) -> None:
    heap.keys[0], heap.stamps[0], heap.items[0] = key, stamp, item
    _sift_down(heap, n, 0)


@kernel
def _add(heap: Heap, n: int, key: float, stamp: int, item: int) -> None:
    heap.keys[n], heap.stamps[n], heap.items[n] = key, stamp, item
    i = n
    while i > 0:
        parent = (i - 1) // 2
        if not worse(heap.keys[i], heap.stamps[i], heap.keys[parent], heap.stamps[parent]):
            break
        _swap(heap, i, parent)
        i = parent


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
    end = n
    while end > 1:
        end -= 1
        _swap(heap, 0, end)
        _sift_down(heap, end, 0)


def check_heap(heap: Heap, n: int) -> None:
    """Assert the invariants."""
    assert 0 <= n <= len(heap.keys)
    for i in range(1, n):
        parent = (i - 1) // 2
        assert not worse(heap.keys[i], heap.stamps[i], heap.keys[parent], heap.stamps[parent]), (i, parent)
