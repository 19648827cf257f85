"""Zipfian ranks against the probabilities they are defined by."""

import numpy as np
import pytest

from skyband.workload.seed import Purpose, generator
from skyband.workload.zipf import HEAD, Zipf


@pytest.mark.parametrize("skew", [0.0, 0.75, 1.0, 1.5])
def test_small_ranks_come_as_often_as_they_should(skew: float) -> None:
    zipf = Zipf(20, skew)
    ranks = zipf.draw(generator(1, Purpose.CENTRES), 100_000).astype(np.int64)
    weights = np.arange(1, 21) ** -skew
    shares = np.bincount(ranks, minlength=20) / len(ranks)
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.006)
    np.testing.assert_allclose(zipf.probabilities(np.arange(20.0)), weights / weights.sum())


@pytest.mark.parametrize("skew", [0.0, 0.75, 1.0, 1.5])
def test_the_tail_beyond_the_table_has_its_weight(skew: float) -> None:
    n = 4 * HEAD
    weights = np.arange(1, n + 1) ** -skew
    zipf = Zipf(n, skew)
    assert zipf.total == pytest.approx(weights.sum(), rel=1e-9)
    ranks = zipf.draw(generator(2, Purpose.CENTRES), 200_000)
    assert ranks.min() >= 0
    assert ranks.max() < n
    edges = np.array([0, 10, HEAD // 2, HEAD, 2 * HEAD, n])
    expected = np.add.reduceat(weights, edges[:-1]) / weights.sum()
    np.testing.assert_allclose(np.histogram(ranks, edges)[0] / len(ranks), expected, atol=0.006)


def test_a_space_of_many_dimensions_is_no_trouble() -> None:
    ranks = Zipf(1e180, 1.0).draw(generator(3, Purpose.CENTRES), 1000)
    assert np.isfinite(ranks).all()
    assert np.median(np.log10(ranks + 1)) == pytest.approx(90, abs=15)
