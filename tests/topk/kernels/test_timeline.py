"""The kernels of the timeline beside numpy."""

import numpy as np

from skyband.topk.kernels.timeline import count_newer_before, find_times, put_in_place

BASE = 100


def test_places_of_times() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        n = int(random.integers(0, 30))
        ts = random.integers(-4, 5, n)
        timeline = BASE + np.argsort(ts, kind="stable")
        lo, times = int(random.integers(0, n + 1)), random.integers(-6, 7, 10)
        first, after = np.empty(10, np.int64), np.empty(10, np.int64)
        find_times(times, timeline, ts, BASE, lo, first, after)
        live = np.sort(ts)[lo:]
        assert (first == lo + np.searchsorted(live, times)).all()
        assert (after == lo + np.searchsorted(live, times, "right")).all()


def test_what_is_put_in_place_moves_what_is_behind_it_and_nothing_else() -> None:
    random = np.random.default_rng(2)
    for _ in range(50):
        n, n_new = int(random.integers(0, 20)), int(random.integers(1, 8))
        timeline, stamps = BASE + random.permutation(n + n_new), np.full(n + n_new, 1000)
        numbers, end = timeline[n:].copy(), n
        stamps[timeline[:n] - BASE] += np.arange(n)
        before, old = stamps.copy(), timeline[:n].copy()
        places = np.sort(random.integers(0, n + 1, n_new))
        n_moved = put_in_place(numbers, places, timeline, end, stamps, BASE)
        assert n_moved == n - places[0]
        assert timeline.tolist() == np.insert(old, places, numbers).tolist()
        rises = np.searchsorted(places, np.arange(n), "right")
        assert (stamps[old - BASE] == before[old - BASE] + rises).all()
        assert (stamps[numbers - BASE] == before[numbers - BASE]).all()


def test_counts_of_the_newer_ones_before() -> None:
    random = np.random.default_rng(3)
    for n in (0, 1, 2, 7, 64, 100):
        ranks, counts = random.permutation(n), np.empty(n, np.int64)
        count_newer_before(ranks, np.zeros(n + 1, np.int64), counts)
        assert counts.tolist() == [int((ranks[:i] > ranks[i]).sum()) for i in range(n)]
