"""Stabbing intervals against a few lines of Python."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from skyband.kernels.heap import make_heap
from skyband.kernels.slots import BLOCK
from skyband.ranked.kernels.fitting import FLAT, SUM, Rule
from skyband.ranked.kernels.interval_scan import (
    NEVER,
    BestSlots,
    Events,
    Intervals,
    PartSpans,
    ScoreTally,
    Standing,
    check_standing,
    make_found,
    sift,
    stab,
)
from skyband.ranked.kernels.parts import HI, KEY, LO, Parts

N, DIMS, N_EVENTS = 2 * BLOCK, 2, 9


class Case:
    """Subscriptions and events that collide, for both kernels."""

    def __init__(self, seed: int, exact: bool, inside: bool) -> None:
        random = np.random.default_rng(seed)
        self.rule = Rule(FLAT, inside, SUM, exact)
        self.lo = random.choice([-np.inf, 0.0, 1.0, 2.0, 3.0], (N, DIMS))
        self.hi = np.where(random.random((N, DIMS)) < 0.3, np.inf, np.maximum(self.lo, 0.0) + 1.0)
        self.asked = random.random((N, DIMS)) < 0.8
        self.weight = random.integers(0, 3, (N, DIMS)).astype(float)
        self.used = random.random(N) < 0.9
        budget = random.choice([-1, -1, -1, 0, 1, 2], N)
        needed = self.asked.sum(axis=1) if exact else np.ones(N, np.int64)
        self.standing = Standing(
            random.permutation(N), np.where(self.used & (budget != 0), needed, NEVER), np.where(self.used, budget, 0)
        )
        low = random.integers(0, 5, (N_EVENTS, DIMS)).astype(float)
        high = low + random.integers(0, 2, low.shape).astype(float)
        low[0, 1] = high[0, 1] = low[1, :] = high[1, :] = np.nan
        self.events = Events(low, high, random.choice([1, 5, 40], N_EVENTS))

    def naive(self) -> list[list[tuple[int, float]]]:
        """For each event its slots and scores; budgets are used up on the way."""
        budget, found = self.standing.budget.copy(), []
        for low, high, k in zip(*self.events, strict=True):
            begin, last = (low, high) if self.rule.inside else (high, low)
            met = (self.lo <= begin) & (last <= self.hi) | (self.lo == -np.inf) & (self.hi == np.inf)
            met &= self.asked
            matches = (met | ~self.asked).all(axis=1) if self.rule.exact else met.any(axis=1)
            scores = (self.weight * met).sum(axis=1)
            among = np.flatnonzero(matches & self.used & (budget != 0))
            best = sorted(among, key=lambda slot: (-scores[slot], -self.standing.label[slot]))[:k]
            found.append([(int(slot), float(scores[slot])) for slot in best])
            budget[best] -= budget[best] > 0
        return found

    def blocks(self) -> Intervals:
        def laid(numbers: npt.NDArray[Any], nothing: float) -> npt.NDArray[Any]:
            there = np.where(self.asked, numbers, nothing)
            return np.ascontiguousarray(there.reshape(-1, BLOCK, DIMS).transpose(0, 2, 1))

        return Intervals(laid(self.lo, np.inf), laid(self.hi, -np.inf), laid(self.weight, 0.0))

    def pool(self) -> tuple[Parts, PartSpans]:
        owner, dim = np.nonzero(self.asked)
        fact = np.zeros((len(owner), 4))
        fact[:, LO], fact[:, HI] = self.lo[self.asked], self.hi[self.asked]
        fact[:, KEY] = self.weight[self.asked]
        n_parts = self.asked.sum(axis=1)
        parts = Parts(fact, dim.astype(np.int32), self.weight[self.asked], np.zeros(0, np.int64))
        return parts, PartSpans(np.cumsum(n_parts) - n_parts, n_parts)


def _listed(found: BestSlots) -> list[list[tuple[int, float]]]:
    pairs = list(zip(found.slot.tolist(), found.score.tolist(), strict=True))
    return [pairs[start : start + n] for start, n in zip(found.start, found.length, strict=True)]


@pytest.mark.parametrize("kernel", ["stab", "sift"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_finds_the_best_intervals(exact: bool, inside: bool, kernel: str) -> None:
    case = Case(7, exact, inside)
    check_standing(case.standing, case.used)
    wanted, found, heap = case.naive(), make_found(case.events.k), make_heap(40)
    if kernel == "stab":
        tally = ScoreTally(np.zeros(BLOCK), np.zeros(BLOCK, np.int64))
        stab(case.events, inside, case.blocks(), N // BLOCK, case.standing, heap, tally, found)
    else:
        sift(case.events, case.rule, *case.pool(), case.standing, heap, found)
    assert _listed(found) == wanted
    assert sum(map(len, wanted)) > 50
    check_standing(case.standing, case.used)
    with pytest.raises(AssertionError):
        check_standing(case.standing, ~case.used)
