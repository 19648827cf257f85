"""The heap against sorting."""

from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.heap import check_heap, heap_push, heap_sort, make_heap, worse


@given(st.integers(0, 6), st.lists(st.integers(0, 4)))
def test_keeps_the_best(capacity: int, keys: list[int]) -> None:
    heap, n = make_heap(6), 0
    for stamp, key in enumerate(keys):
        n = heap_push(heap, n, capacity, float(key), stamp, 100 + stamp)
        check_heap(heap, n)
    heap_sort(heap, n)
    best = sorted(enumerate(keys), key=lambda pair: (pair[1], -pair[0]))[:capacity]
    assert heap.items[:n].tolist() == [100 + stamp for stamp, _ in best]
    assert heap.stamps[:n].tolist() == [stamp for stamp, _ in best]
    assert heap.keys[:n].tolist() == [key for _, key in best]


def test_the_more_recent_of_equals_is_better() -> None:
    assert worse(1.0, 5, 1.0, 6)
    assert not worse(1.0, 6, 1.0, 5)
    assert worse(2.0, 9, 1.0, 0)
