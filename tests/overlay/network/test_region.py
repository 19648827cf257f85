"""Regions: which boxes lead there, and how they are shared."""

import numpy as np
import pytest

from skyband.overlay.network.region import Region, no_region, one_box, united_regions

INFINITY = np.array([np.inf, np.inf])


def test_a_region_is_half_open_and_boxes_are_closed() -> None:
    region = one_box(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    low = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 3.0], [1.5, 2.5], [0.0, 0.0]])
    high = np.array([[1.0, 2.0], [3.0, 3.0], [9.0, 9.0], [1.5, 2.5], [0.9, 9.0]])
    assert region.meets(low, high).tolist() == [True, False, False, True, False]
    assert region.holds(np.array([[1.0, 2.0], [2.0, 2.0], [1.0, 3.0]])).tolist() == [True, False, False]
    assert no_region(2).meets(low, high).tolist() == [False] * 5


@pytest.mark.parametrize("seed", range(5))
def test_halves_hold_what_the_whole_held(seed: int) -> None:
    random = np.random.default_rng(seed)
    regions, points = [one_box(-INFINITY, INFINITY)], random.integers(0, 8, (64, 2)).astype(float)
    for turn in range(6):
        crowded = regions.pop(int(np.argmax([region.holds(points).sum() for region in regions])))
        divided = crowded.divided(points[crowded.holds(points)], turn)
        assert divided is not None
        regions += divided
        assert (np.sum([region.holds(points) for region in regions], axis=0) == 1).all()
        assert crowded.holds(points).sum() == sum(part.holds(points).sum() for part in divided)
    assert max(region.holds(points).sum() for region in regions) <= 24


def test_several_boxes_are_shared() -> None:
    boxes = [one_box(np.array([low, 0.0]), np.array([low + 1.0, 9.0])) for low in (0.0, 1.0, 2.0)]
    points = np.array([[0.5, 1.0], [1.5, 1.0], [1.5, 1.0], [2.5, 1.0]])
    kept, given = united_regions(boxes).divided(points, 0) or (boxes[0], boxes[0])
    assert (kept.n_boxes, given.n_boxes) == (2, 1)
    assert given.holds(points).sum() == kept.holds(points).sum() == 2


def test_where_no_number_lies_between_nothing_is_divided() -> None:
    low = np.array([0.0, 0.0])
    assert Region(low[None], np.array([[5e-324, 5e-324]])).divided(np.zeros((2, 2)), 0) is None
