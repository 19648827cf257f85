"""The chance against exact fractions, every order of a small window, and simulated windows."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from skyband.topk.chance import CAP, GRID, arrival_rank, chance, ranks

SIGMAS = [0.9, 0.3, 0.1, 1e-2, 1e-3, 1e-6, 1e-12]
BUCKETS = 16


def limit(k: int, o: int, d: int, x: Fraction) -> float:
    """The chance in a large window as the sum over the number b of better arrivals, for o + d >= k > d."""
    total, found, b = 0.0, math.pow(1 / (1 + x), o + d + 1), 0
    while found > 1e-30 or b <= o + d:
        dips = Fraction(1) if b + d < k else Fraction(math.comb(o + b, k - 1 - d), math.comb(o + b, b))
        total += found * float(dips)
        b += 1
        found *= (o + d + b) / b * float(x / (1 + x))
    return total


def finite(k: int, o: int, d: int, n_others: int, left: int) -> Fraction:
    """The chance in a window with `n_others` other publications, `left` of them older than the candidate."""
    if d >= k or o + d < k:
        return Fraction(d < k)
    i, m, total = o + d, k - 1 - d, Fraction(0)
    for b in range(left + 1):
        ways = math.comb(i + b, b) * math.comb(n_others - i + left - b, left - b)
        met = math.comb(left, m) * math.comb(left, o + b - m) if b > m else 1
        of = math.comb(left, o) * math.comb(left, b) if b > m else 1
        total += Fraction(ways * met, math.comb(n_others + left + 1, left) * of)
    return total


class Lives:
    """Candidates each in a window of its own that slides on, one score an arrival, until the candidate expires.

    Row: `left` older ones, the candidate, the newer ones, then `left` arrivals. Small scores are good. `drift` is added
    to the scores in the course of one window.
    """

    def __init__(self, seed: int, n_lives: int, n_others: int, left: int, drift: float = 0.0) -> None:
        scores = np.random.default_rng(seed).random((n_lives, n_others + 1 + left))
        scores += drift * np.arange(scores.shape[1]) / n_others
        self.better = scores < scores[:, left : left + 1]
        self.n_others, self.left = n_others, left

    def counts(self, at: int) -> tuple[np.ndarray, np.ndarray]:
        """Older and newer better ones after `at` arrivals."""
        window = self.better[:, at : at + self.n_others + 1]
        return window[:, : self.left - at].sum(axis=1), window[:, self.left - at :].sum(axis=1)

    def is_top(self, k: int) -> np.ndarray:
        """Whether the candidate is in the top k, after each number of arrivals."""
        return np.stack([np.add(*self.counts(at)) < k for at in range(self.left + 1)], axis=1)


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_chance_is_the_sum_over_arrivals(k: int) -> None:
    for d in range(k):
        for o in (k - d, k - d + 1, k + 5, 4 * k + 20):
            for x in (Fraction(1, 64), Fraction(1, 3), Fraction(7, 8), Fraction(1)):
                assert chance(k, o, d, float(x)) == pytest.approx(limit(k, o, d, x), rel=1e-10)


def test_chance_on_arrival_is_twice_a_binomial_tail() -> None:
    assert [chance(1, o, 0, 1.0) for o in range(8)] == pytest.approx([0.5**o for o in range(8)])
    tail = Fraction(sum(math.comb(2000, j) for j in range(950)), 2**1999)
    assert chance(950, 1050, 0, 1.0) == pytest.approx(float(tail), rel=1e-9)


def test_certain_cases() -> None:
    assert chance(3, 1, 1, 0.5) == 1.0
    assert chance(3, 0, 0, 1e-9) == 1.0
    assert chance(3, 0, 3, 0.5) == 0.0
    assert chance(3, 10**6, 3, 1e-9) == 0.0
    assert chance(3, 1000, 2, 1e-9) == pytest.approx(1.0, abs=1e-5)
    assert chance(9, 10**6, 0, 1.0) == 0.0


def test_chance_falls_with_older_ones_with_dominators_and_with_the_share() -> None:
    shares = np.arange(1, 13) / 12
    for k in (1, 2, 8):
        by = np.array([[[chance(k, o, d, x) for x in shares] for d in range(k + 1)] for o in range(3 * k + 3)])
        for axis in range(3):
            assert (np.diff(by, axis=axis) <= 1e-12).all()
        # One more dominator is worse than one more older one.
        assert (by[1:, :-1] >= by[:-1, 1:] - 1e-12).all()


@pytest.mark.parametrize(("n_others", "left"), [(3, 1), (3, 3), (4, 2), (4, 3)])
def test_finite_chance_is_that_over_all_orders(n_others: int, left: int) -> None:
    seen: Counter[tuple[int, int]] = Counter()
    tops: Counter[tuple[int, int, int]] = Counter()
    for order in permutations(range(n_others + 1 + left)):
        better = [score < order[left] for score in order]
        o, d = sum(better[:left]), sum(better[left : n_others + 1])
        best = min(sum(better[at : at + n_others + 1]) for at in range(left + 1))
        seen[o, d] += 1
        tops.update((k, o, d) for k in (1, 2, 3) if best < k)
    for o, d in seen:
        for k in (1, 2, 3):
            assert Fraction(tops[k, o, d], seen[o, d]) == finite(k, o, d, n_others, left)


@pytest.mark.parametrize("k", [1, 2, 3, 9, 27])
def test_limit_bounds_the_finite_chance_up_to_a_half(k: int) -> None:
    for n_others in (2 * k + 2, 10 * k + 10):
        for left in {n_others // 4, n_others // 2, n_others}:
            for d in range(0, min(k, n_others - left + 1), 1 + k // 6):
                for o in range(max(0, k - d), min(left, 5 * k + 20) + 1, 1 + k // 3):
                    exact, bound = float(finite(k, o, d, n_others, left)), chance(k, o, d, left / n_others)
                    assert exact <= bound * (1 + 1e-9) or (bound > 0.5 and exact < 1.07 * bound)


def test_finite_chance_approaches_the_limit() -> None:
    for k, o, d, quarters in [(1, 3, 0, 4), (3, 6, 1, 2), (9, 15, 0, 4), (9, 20, 4, 1)]:
        bound = chance(k, o, d, quarters / 4)
        short = [1 - float(finite(k, o, d, n, n * quarters // 4)) / bound for n in (100, 200, 400)]
        # Twice the window, half the difference.
        assert abs(short[1]) < 0.6 * abs(short[0])
        assert abs(short[2]) < 0.6 * abs(short[1])


@pytest.mark.parametrize(("k", "left"), [(1, 40), (3, 40), (3, 20), (9, 40), (9, 10)])
def test_chance_is_that_of_simulated_windows(k: int, left: int) -> None:
    lives = Lives(seed=k + left, n_lives=40_000, n_others=40, left=left)
    older, dominators = lives.counts(0)
    entered = np.asarray(lives.is_top(k).any(axis=1))
    n_compared = 0
    for o in range(left + 1):
        for d in range(min(k, 40 - left) + 1):
            at = (older == o) & (dominators == d)
            p, n = float(finite(k, o, d, 40, left)), int(at.sum())
            if n * p * (1 - p) > 9:
                n_compared += 1
                assert abs(entered[at].mean() - p) < 4.5 * math.sqrt(p * (1 - p) / n), (o, d)
            elif p in (0.0, 1.0):
                assert (entered[at] == p).all()
    assert n_compared >= 3


def missed(k: int, sigma: float, lives: Lives) -> tuple[float, float]:
    """Of the lives that PA(sigma) gives up after arrival, and of those ever in the top k, the parts that it misses."""
    table, n = ranks(k, sigma, BUCKETS), lives.n_others
    is_top = lives.is_top(k)
    kept = lives.counts(0)[0] <= arrival_rank(k, sigma)
    n_ignored = (~kept & is_top.any(axis=1)).sum()
    n_given_up = n_lost = 0
    for at in range(1, n):
        older, dominators = lives.counts(at)
        bucket = math.ceil((n - at) / n * BUCKETS) - 1
        given_up = kept & (dominators < k) & (older > table[np.minimum(dominators, k - 1), bucket])
        n_given_up += given_up.sum()
        n_lost += (given_up & is_top[:, at:].any(axis=1)).sum()
        kept &= ~given_up
    return n_lost / max(1, n_given_up), (n_ignored + n_lost) / is_top.any(axis=1).sum()


@pytest.mark.parametrize("k", [1, 3, 9])
@pytest.mark.parametrize("sigma", [0.1, 0.02])
def test_what_is_given_up_seldom_was_wanted(k: int, sigma: float) -> None:
    of_given_up, of_entered = missed(k, sigma, Lives(seed=k, n_lives=20_000, n_others=80, left=80))
    assert of_given_up < sigma
    assert 0.1 * sigma < of_entered < sigma


@pytest.mark.parametrize(("drift", "least", "most"), [(0.05, 0.04, 0.12), (0.2, 0.6, 0.8), (-0.05, 0.0, 0.001)])
def test_scores_that_get_worse_break_the_promise(drift: float, least: float, most: float) -> None:
    _, of_entered = missed(3, 0.02, Lives(seed=1, n_lives=20_000, n_others=80, left=80, drift=drift))
    assert least <= of_entered <= most


@pytest.mark.parametrize("k", [1, 2, 9, 30])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_ranks_are_the_last_above_sigma(k: int, sigma: float) -> None:
    table = ranks(k, sigma, BUCKETS)
    assert table.shape == (k, BUCKETS)
    assert table.dtype == np.int64
    assert (table[:, 0] == CAP).all()
    for d in {0, k // 2, k - 1}:
        for j in (1, 7, 15):
            o = int(table[d, j])
            assert chance(k, o, d, j / BUCKETS) > sigma >= chance(k, o + 1, d, j / BUCKETS)
            # Nothing in the bucket is above sigma beyond this rank.
            assert chance(k, o + 1, d, (j + 0.01) / BUCKETS) < sigma
    assert arrival_rank(k, sigma) <= table[0, -1]
    assert chance(k, arrival_rank(k, sigma), 0, 1.0) > sigma >= chance(k, arrival_rank(k, sigma) + 1, 0, 1.0)


def test_ranks_between_computed_rows_are_never_too_small_and_hardly_too_large() -> None:
    k, sigma = 5 * GRID, 1e-3
    table = ranks(k, sigma)
    for d in range(0, k, 37):
        for j in (1, 4, 15):
            o, slack = int(table[d, j]), k * BUCKETS // (j * 100)
            assert o >= k - 1 - d
            assert chance(k, o + 1, d, j / BUCKETS) <= sigma
            assert o - slack < k - d or chance(k, o - slack, d, j / BUCKETS) > sigma


def test_a_tie_with_sigma_counts_as_above() -> None:
    assert arrival_rank(1, 0.125) == 3
    assert ranks(1, 0.5, 2).tolist() == [[CAP, 1]]


def test_extreme_tables() -> None:
    assert ranks(1, 0.5, 1).tolist() == [[CAP]]
    assert ranks(3, 1e-300)[0, 1] < 20_000
    assert (ranks(5, 1 - 1e-9)[:, 1:] >= 4 - np.arange(5)[:, None]).all()
    large = ranks(10_000, 1e-3)
    assert (np.diff(large[:, 1:], axis=0) <= -1).sum() > 0
    assert (np.diff(large, axis=1) <= 0).all()


def test_tables_are_shared_and_cannot_be_written() -> None:
    table = ranks(4, 0.01)
    assert table is ranks(4, 0.01)
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1


@pytest.mark.parametrize("sigma", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf])
def test_impossible_sigma_is_refused(sigma: float) -> None:
    for function in (ranks, arrival_rank):
        with pytest.raises(ValueError, match=r"The probability sigma must lie between 0 and 1"):
            function(3, sigma)


def test_other_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        chance(0, 1, 1, 0.5)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        ranks(0, 0.5)
    with pytest.raises(ValueError, match="at least 1 share, not 0"):
        ranks(3, 0.5, 0)
    for share in (0.0, -0.5, 1.01, math.nan):
        with pytest.raises(ValueError, match=r"must lie in \(0, 1\]"):
            chance(3, 1, 1, share)
    for older, dominators in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="must not be negative"):
            chance(3, older, dominators, 0.5)
