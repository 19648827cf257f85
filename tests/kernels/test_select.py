"""The number at a rank against sorting."""

import numpy as np
import pytest

from skyband.kernels.select import nth


@pytest.mark.parametrize("kind", ["float64", "int32"])
def test_the_number_at_a_rank(kind: str) -> None:
    random = np.random.default_rng(1)
    for n in (1, 2, 3, 10, 101):
        for values in (np.arange(n), np.arange(n)[::-1], np.zeros(n), random.integers(0, 5, n), random.permutation(n)):
            for rank in {0, n // 3, n // 2, n - 1}:
                mixed = np.concatenate([values, [-7]]).astype(kind)
                assert nth(mixed, n, rank) == np.sort(values)[rank]
                assert sorted(mixed[:n].tolist()) == sorted(values.tolist())
                assert mixed[n] == -7
