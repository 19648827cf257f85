"""The chance that a publication will yet enter a top k, and the rank beyond which it is not worth a place.

A candidate has `n_older` better live publications that are older than it and `n_dominators` better ones that are newer.
The older ones expire before it does, the newer ones after it, and further better ones arrive meanwhile. It enters the
top k if at some moment fewer than k better ones are alive. Where scores come in random order and at an even rate, the
chance of that depends on the two counts and on the share of the candidate's life that lies ahead: not on the scoring
function, not on how scores are distributed, and hardly on the size of the window.

With o = n_older, d = n_dominators, x = share, and B a binomial variable of o + k trials that succeed with probability
x / (1 + x), the chance in a large window is, where d < k <= o + d,

    P(B <= k-1-d) + o! (k-1)! / ((k-1-d)! (o+d)!) * x^(k-1-o-d) * P(B > o)

which the page `docs/chance.md` derives. It falls with o, with d and with x. In all cases tried, the chance in a window
of a given size is lower, unless both are above a half. Sums are taken in logarithms and good to eight digits.
"""

import math
from functools import lru_cache

import numpy as np

from skyband.kernels.array import Floats, Int64s

# More publications than any window holds, and still far from where int64 overflows.
CAP = 1 << 40
STRIDES = tuple(1 << exponent for exponent in range(39, -1, -1))

# Rounding moves the logarithm of a chance by less than this; what is so close to sigma counts as above it.
SLACK = 1e-7

# With more dominators than this a table is computed for so many of them and filled in between, see `ranks`.
GRID = 192

_lgamma = np.vectorize(math.lgamma, otypes=[np.float64])


def chance(k: int, n_older: int, n_dominators: int, share: float) -> float:
    """The probability that a candidate with this share of its life ahead, 1 on arrival, is ever in the top k."""
    _check_k(k)
    if n_older < 0 or n_dominators < 0:
        raise ValueError("The numbers of older better publications and of dominators must not be negative.")
    if not 0.0 < share <= 1.0:
        raise ValueError(f"The share of life ahead must lie in (0, 1], not {share}.")
    if n_dominators >= k:
        return 0.0
    if n_older + n_dominators < k:
        return 1.0
    older, dominators = np.array([float(n_older)]), np.array([float(n_dominators)])
    return min(1.0, math.exp(_log_chance(k, older, dominators, np.array([share]))[0]))


@lru_cache(maxsize=4096)
def arrival_rank(k: int, sigma: float) -> int:
    """How many better publications an arrival may find and still have a chance above sigma: beyond it is ignored."""
    _check_k(k)
    _check_sigma(sigma)
    return int(_largest_older(k, sigma, np.zeros(1), np.ones(1))[0])


@lru_cache(maxsize=256)
def ranks(k: int, sigma: float, n_shares: int = 16) -> Int64s:
    """By dominators d < k and share bucket j: the most older better ones with which the chance may still exceed sigma.

    Bucket j is (j / n_shares, (j + 1) / n_shares]. The chance falls with the share, so a bucket is judged by its lower
    end, and no entry is too small anywhere in its bucket. As a life ends the chance of anything with fewer than k
    dominators goes to 1: bucket 0 holds `CAP` throughout, so that only k dominators end a candidate's last moments.

    From k = 193 on only `GRID` rows are computed. One more dominator takes at least one older better one away, which
    bounds the rows between from above. The array is read-only and shared.
    """
    _check_k(k)
    _check_sigma(sigma)
    if n_shares < 1:
        raise ValueError(f"The life of a publication is divided into at least 1 share, not {n_shares}.")
    rows = np.unique(np.linspace(0, k - 1, min(k, GRID)).astype(np.int64))
    shares = np.arange(1, n_shares) / n_shares
    computed = _largest_older(k, sigma, np.repeat(rows, n_shares - 1).astype(np.float64), np.tile(shares, len(rows)))
    table = np.full((k, n_shares), CAP, np.int64)
    every = np.arange(k)
    above = np.searchsorted(rows, every, side="right") - 1
    table[:, 1:] = computed.reshape(len(rows), n_shares - 1)[above] - (every - rows[above])[:, None]
    table.setflags(write=False)
    return table


def _check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"The number k of publications in a top must be at least 1, not {k}.")


def _check_sigma(sigma: float) -> None:
    if not 0.0 < sigma < 1.0:
        raise ValueError(f"The probability sigma must lie between 0 and 1, both excluded, and not be {sigma}.")


def _largest_older(k: int, sigma: float, dominators: Floats, shares: Floats) -> Int64s:
    """For each pair the largest number of older better ones whose chance exceeds sigma, or `CAP`."""
    least = math.log(sigma) - SLACK
    # The chance falls with the number: wherever it exceeds sigma at the end of a step, the step is taken.
    older = k - 1.0 - dominators
    for stride in STRIDES:
        ahead = older + stride
        older = np.where(_log_chance(k, ahead, dominators, shares) > least, ahead, older)
    return np.minimum(older, CAP).astype(np.int64)


def _log_chance(k: int, older: Floats, dominators: Floats, share: Floats) -> Floats:
    """The logarithm of the chance where dominators < k <= older + dominators."""
    n_trials = older + k
    few_arrive = _log_at_most(n_trials, k - 1.0 - dominators, share)
    dips = _log_at_most(n_trials, np.full_like(older, k - 1.0), 1.0 / share)
    orders = _lgamma(older + 1.0) + math.lgamma(k) - _lgamma(k - dominators) - _lgamma(older + dominators + 1.0)
    chance: Floats = np.logaddexp(few_arrive, orders + dips + (k - 1.0 - older - dominators) * np.log(share))
    return chance


def _log_at_most(n_trials: Floats, most: Floats, odds: Floats) -> Floats:
    """The logarithm of P(B <= most) for a binomial B with these odds of success; most < n_trials."""
    # The sum runs away from the mean, where its terms fall at once; beyond the mean the other tail is summed.
    beyond = most * (1.0 + odds) > n_trials * odds
    most = np.where(beyond, n_trials - most - 1.0, most)
    odds = np.where(beyond, 1.0 / odds, odds)
    tail = _log_tail(n_trials, most, odds)
    return np.where(beyond, np.log1p(-np.exp(np.where(beyond, tail, -1.0))), tail)


def _log_tail(n_trials: Floats, most: Floats, odds: Floats) -> Floats:
    """P(B = most) times 1 + the ratio to it of P(B = most - 1), P(B = most - 2) and so on, as a logarithm."""
    term = np.ones_like(most)
    total = np.ones_like(most)
    fewer, more = most.copy(), (n_trials - most + 1.0) * odds
    while (term > 1e-17 * total).any():
        term *= fewer / more
        total += term
        fewer -= 1.0
        more += odds
    ways = _lgamma(n_trials + 1.0) - _lgamma(most + 1.0) - _lgamma(n_trials - most + 1.0)
    tail: Floats = ways + most * np.log(odds) - n_trials * np.log1p(odds) + np.log(total)
    return tail
