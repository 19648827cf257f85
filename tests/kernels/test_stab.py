"""Stabbing intervals against three lines of numpy."""

import numpy as np
import pytest

from skyband.kernels.heap import make_heap
from skyband.kernels.slots import BLOCK
from skyband.kernels.stab import Found, Intervals, stab


@pytest.mark.parametrize("n_needed", [1, 2])
def test_finds_the_best_intervals(n_needed: int) -> None:
    random = np.random.default_rng(n_needed)
    lo = random.integers(0, 4, (2, 2, BLOCK)).astype(float)
    hi, weight = lo + random.integers(0, 2, lo.shape).astype(float), random.integers(0, 3, lo.shape).astype(float)
    label = random.permutation(2 * BLOCK)
    points = random.integers(0, 5, (7, 2)).astype(float)
    points[0, 1] = np.nan
    found = Found(np.zeros(7, np.int64), np.zeros((7, 5), np.int64), np.zeros((7, 5)))
    scratch = (make_heap(5), np.zeros(BLOCK), np.zeros(BLOCK, np.int64))
    stab(points, n_needed, Intervals(lo, hi, weight, label), 2, *scratch, found)
    for event, point in enumerate(points):
        inside = (lo <= point[None, :, None]) & (point[None, :, None] <= hi)
        matches = np.flatnonzero(inside.sum(axis=1).reshape(-1) >= n_needed)
        scores = (weight * inside).sum(axis=1).reshape(-1)
        best = sorted(matches, key=lambda slot: (-scores[slot], -label[slot]))[:5]
        n = int(found.length[event])
        assert found.slot[event, :n].tolist() == best
        assert found.score[event, :n].tolist() == [scores[slot] for slot in best]
