"""Counting receivers, against a comparison of every point with every box."""

import numpy as np
import pytest

from skyband.ranges.boxes import Boxes
from skyband.ranges.kernels.message import FARTHEST
from skyband.ranges.kernels.reach_count import count_each


@pytest.mark.parametrize("n", [0, 1, 40, 300])
def test_each_box_is_counted(n: int) -> None:
    random = np.random.default_rng(n)
    points = random.integers(0, 6, (n, 2)).astype(np.float64)
    boxes = Boxes(2, 1, order="curve")
    if n:
        boxes.add(0, np.arange(n), points)
    low, high = random.integers(-1, 7, (2, 30, 2)).astype(np.float64)
    low[0], high[0] = -FARTHEST, FARTHEST
    low[1], high[1] = np.inf, -np.inf
    counted = np.full(30, -1)
    count_each(boxes.trees, 0, low, high, counted)
    inside = (low[:, None] <= points) & (points <= high[:, None])
    assert counted.tolist() == inside.all(axis=2).sum(axis=1).tolist()
    assert counted[:2].tolist() == [n, 0]
    count_each(boxes.trees, 0, low[:0], high[:0], counted[:0])
