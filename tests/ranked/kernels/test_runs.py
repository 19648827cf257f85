"""The best of runs against sorting all of them."""

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.kernels.compile import kernel
from skyband.kernels.heap import Heap, make_heap
from skyband.ranked.kernels.runs import keep_best, sort_best


@kernel
def keep_all(heap: Heap, spare: Heap, keys: Floats, k: int) -> int:
    """The k best of these keys, as a list; answers how many."""
    n = 0
    for i in range(len(keys)):
        n = keep_best(heap, spare, n, k, keys[i], (i * 37) % 1009, i)
    sort_best(heap, spare, n, k)
    return n


@pytest.mark.parametrize("n_runs", [1, 3, 40])
@pytest.mark.parametrize("k", [1, 2, 19, 120, 121, 500])
def test_the_best_of_runs(n_runs: int, k: int) -> None:
    random = np.random.default_rng([n_runs, k])
    for most in (2, 30, 10**6):
        runs = np.array_split(random.integers(0, most, 120).astype(float), n_runs)
        keys = np.concatenate([np.sort(run) for run in runs])
        heap, spare = make_heap(k), make_heap(k)
        n = keep_all(heap, spare, keys, k)
        wanted = np.lexsort((-(np.arange(120) * 37 % 1009), keys))[:k]
        assert heap.items[:n].tolist() == wanted.tolist()
        assert heap.keys[:n].tolist() == keys[wanted].tolist()


def test_nothing_is_kept_of_nothing() -> None:
    assert keep_all(make_heap(3), make_heap(3), np.zeros(0), 3) == 0
