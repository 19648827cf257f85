"""The cost model against the equations worked by hand, brute force, and simulated walks."""

import math

import numpy as np
import pytest

from skyband.topk.cost import best_n, best_ns, cost, maintenance, updates_until_search

PRICES = [0.0, 1.0, 10.0, 100.0, 1000.0, 1e4, 1e5, 1e6]


def costs_by_n(k: int, price: float, until: int) -> list[float]:
    """The costs of n = k, k + 1, … in a window that they all fit in."""
    return [cost(k, n, until, price) for n in range(k, until)]


def walk(rng: np.random.Generator, k: int, n: int, size: int, n_walks: int) -> np.ndarray:
    """The steps that walks from n take to fall below k, staying at 2n when they would rise above it."""
    place, steps = np.full(n_walks, n), np.zeros(n_walks)
    while (place >= k).any():
        moves = (rng.random(n_walks) < n / size) * rng.choice([-1, 1], n_walks)
        steps += place >= k
        place = np.where(place >= k, np.minimum(place + moves, 2 * n), place)
    return steps


def slide(rng: np.random.Generator, k: int, n: int, size: int, n_windows: int) -> np.ndarray:
    """The updates until windows that start with n good ones, and get as many on average, hold fewer than k."""
    good = rng.random((n_windows, size)).argsort(axis=1) < n
    count, updates, oldest = np.full(n_windows, n), np.zeros(n_windows), 0
    live = np.arange(n_windows)
    while len(live):
        count[live] -= good[live, oldest]
        updates[live] += 1
        live = live[count[live] >= k]
        good[live, oldest] = rng.random(len(live)) < n / size
        count[live] += good[live, oldest]
        updates[live] += 1
        oldest = (oldest + 1) % size
    return updates


def test_equations_by_hand() -> None:
    assert maintenance(2, 8, 100) == pytest.approx(0.08 * 2 * math.log(4))
    assert updates_until_search(2, 8, 100) == pytest.approx((2 * 7 * 8 + 7 * 8) / 0.08)
    assert cost(2, 8, 100, 50.0) == pytest.approx(0.08 * 2 * math.log(4) + 50.0 * 0.08 / 168)


@pytest.mark.parametrize("k", [1, 2, 9, 81])
def test_keeping_k_alone_costs_searches_only(k: int) -> None:
    assert maintenance(k, k, 1000) == 0.0
    assert updates_until_search(k, k, 1000) == pytest.approx((2 * k + 2) / (k / 1000))
    assert best_n(k, 0.0) == k


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 4), (3, 5), (9, 9), (9, 12)])
def test_updates_until_search_are_those_of_a_walk(k: int, n: int) -> None:
    size = 2 * n
    steps = walk(np.random.default_rng(100 * k + n), k, n, size, n_walks=4000)
    error = steps.std() / math.sqrt(len(steps))
    assert abs(steps.mean() - updates_until_search(k, n, size)) < 4.5 * error


def test_windows_are_searched_earlier_than_walks_near_k_and_later_far_above() -> None:
    rng = np.random.default_rng(3)
    near, far = slide(rng, 9, 9, 100, n_windows=500), slide(rng, 9, 20, 100, n_windows=100)
    assert 0.2 < near.mean() / updates_until_search(9, 9, 100) < 0.5
    assert far.mean() / updates_until_search(9, 20, 100) > 2.0


@pytest.mark.parametrize("k", [1, 2, 3, 9, 20, 81])
def test_cost_is_convex_in_n_and_its_shape_is_the_same_in_every_window(k: int) -> None:
    for price in PRICES:
        small, large = np.array(costs_by_n(k, price, k + 300)), costs_by_n(k, price, 7 * (k + 300))[:300]
        assert (np.diff(small, 2) >= -1e-12 * small[1:-1]).all()
        np.testing.assert_allclose(small * (k + 300), np.array(large) * 7 * (k + 300), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 9, 20, 81])
def test_best_n_is_the_argmin(k: int) -> None:
    for price in PRICES:
        assert best_n(k, price) == k + int(np.argmin(costs_by_n(k, price, k + 500)))


def test_best_ns_are_those_of_each_k_and_rise_with_the_price() -> None:
    ks = np.arange(1, 200)
    by_price = np.array([best_ns(ks, price) for price in [*PRICES, 1e12, 1e24]])
    assert by_price.dtype == np.int64
    assert by_price[4].tolist() == [best_n(int(k), 1000.0) for k in ks]
    assert (np.diff(by_price, axis=0) >= 0).all()
    assert (np.diff(by_price[:6], axis=0).sum(axis=0) > 0).all()


def test_each_k_may_have_its_own_price() -> None:
    assert best_ns([9, 9, 1], [10.0, 1e4, 100.0]).tolist() == [best_n(9, 10.0), best_n(9, 1e4), best_n(1, 100.0)]
    assert best_ns([], 10.0).tolist() == []


@pytest.mark.parametrize(("k", "n", "size"), [(0, 5, 9), (5, 4, 9), (1, 10, 9), (1, math.nan, 9)])
def test_impossible_numbers_are_refused(k: int, n: float, size: float) -> None:
    for function in (maintenance, updates_until_search):
        with pytest.raises(ValueError, match="There must be 1 <= k <= n <= size"):
            function(k, n, size)


@pytest.mark.parametrize("price", [-1.0, math.inf, math.nan])
def test_impossible_prices_are_refused(price: float) -> None:
    with pytest.raises(ValueError, match="must be finite and not negative"):
        best_n(3, price)


def test_impossible_k_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        best_ns([3, 0], 10.0)
