"""The best of candidates that come in runs, best first within each, as the members of pages do.

As long as there are no more than are wanted they are only put down, and sorted by merging, which takes a look at each
pair of neighbours in a run and no more. When one is wanted no more they become a bounded heap, which is what a list
with the worst first is. The order is that of `skyband.kernels.heap`.
"""

from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse


@inlined
def keep_best(heap: Heap, spare: Heap, n: int, k: int, key: float, stamp: int, item: int) -> int:
    """Offer one more candidate to the n that are kept, k at most; answers how many there are."""
    if n == k:
        return heap_push(heap, n, k, key, stamp, item)
    heap.keys[n], heap.stamps[n], heap.items[n] = key, stamp, item
    if n + 1 == k:
        _make_heap(heap, spare, k)
    return n + 1


@kernel
def sort_best(heap: Heap, spare: Heap, n: int, k: int) -> None:
    """Turn what was kept of at most k into a list, best first."""
    if n == k:
        heap_sort(heap, n)
    else:
        _sort_runs(heap, spare, n)


@kernel
def _make_heap(heap: Heap, spare: Heap, n: int) -> None:
    _sort_runs(heap, spare, n)
    for i in range(n // 2):
        j = n - 1 - i
        heap.keys[i], heap.keys[j] = heap.keys[j], heap.keys[i]
        heap.stamps[i], heap.stamps[j] = heap.stamps[j], heap.stamps[i]
        heap.items[i], heap.items[j] = heap.items[j], heap.items[i]


@kernel
def _sort_runs(heap: Heap, spare: Heap, n: int) -> None:
    """Merge neighbours of ever greater widths, but for those in order already."""
    width = 1
    while width < n:
        for start in range(0, n - width, 2 * width):
            middle = start + width
            if _is_worse(heap, middle - 1, heap, middle):
                _merge(heap, spare, start, middle, min(middle + width, n))
        width *= 2


@inlined
def _is_worse(one: Heap, i: int, other: Heap, j: int) -> bool:
    return worse(one.keys[i], one.stamps[i], other.keys[j], other.stamps[j])


@inlined
def _copy(source: Heap, i: int, target: Heap, j: int) -> None:
    target.keys[j], target.stamps[j], target.items[j] = source.keys[i], source.stamps[i], source.items[i]


@kernel
def _merge(heap: Heap, spare: Heap, start: int, middle: int, stop: int) -> None:
    """Make one run of those from `start` and from `middle` on; the first of them goes to the spare arrays."""
    n = middle - start
    for i in range(n):
        _copy(heap, start + i, spare, i)
    i, j, at = 0, middle, start
    while i < n:
        if j < stop and _is_worse(spare, i, heap, j):
            _copy(heap, j, heap, at)
            j += 1
        else:
            _copy(spare, i, heap, at)
            i += 1
        at += 1
