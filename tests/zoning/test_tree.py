"""Trees of cuts: every point has a leaf, and the load is spread as evenly as the points allow."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.array import Floats
from skyband.zoning.digest import digests
from skyband.zoning.tree import LEAF, CutTree, divide, divide_apart, one_leaf


def crowd(tree: CutTree, points: Floats, loads: Floats, n_zones: int) -> float:
    """The load of the most crowded zone, in means."""
    zones = tree.zone_of(points, digests(pa.array(range(len(points)))))
    return float(np.bincount(zones, loads, n_zones).max() * n_zones / loads.sum())


@pytest.mark.parametrize("n_zones", [1, 2, 3, 4, 7, 32])
@pytest.mark.parametrize("dims", [1, 2, 5])
def test_random_points_are_spread_evenly(n_zones: int, dims: int) -> None:
    random = np.random.default_rng(dims)
    points, loads = random.standard_normal((4_000, dims)), random.exponential(1.0, 4_000)
    tree = divide(points, loads, n_zones)
    assert crowd(tree, points, loads, n_zones) < 1.1
    assert np.count_nonzero(tree.dim == LEAF) == n_zones


def test_dimensions_take_turns() -> None:
    points = np.random.default_rng(3).random((1_000, 2))
    tree = divide(points, np.ones(1_000), 4)
    assert tree.dim.tolist().count(0) == 1
    assert tree.dim.tolist().count(1) == 2


def test_a_heavy_place_is_dealt_out_by_id() -> None:
    points = np.concatenate([np.zeros((3_000, 2)), np.random.default_rng(4).random((1_000, 2)) + 1.0])
    tree = divide(points, np.ones(4_000), 8)
    leaf = tree.leaf_of(np.zeros((1, 2)))[0]
    assert tree.dealt[leaf] == 6
    assert crowd(tree, points, np.ones(4_000), 8) < 1.2
    # Two zones that part 6 from 1 would not be even.
    assert divide(points, np.where(points[:, 0] == 0.0, 2.0, 1.0), 2).dim.tolist() == [LEAF]


def test_one_place_is_dealt_out_by_id() -> None:
    points = np.ones((2_000, 3))
    tree = divide(points, np.ones(2_000), 4)
    assert tree.dim.tolist() == [LEAF]
    assert crowd(tree, points, np.ones(2_000), 4) < 1.15


def test_some_can_be_set_apart() -> None:
    random = np.random.default_rng(5)
    points = np.column_stack([random.random(4_000) < 0.5, random.random((4_000, 2))])
    is_apart = points[:, 0] == 1.0
    zones = divide_apart(points, np.ones(4_000), is_apart, 4).zone_of(points, digests(pa.array(range(4_000))))
    assert set(zones[is_apart].tolist()) == {2, 3}
    assert set(zones[~is_apart].tolist()) == {0, 1}
    assert np.bincount(zones).max() < 1_100
    # So few that a zone of their own would be idle share the last one.
    few = np.arange(4_000) < 40
    points[:, 0] = few
    zones = divide_apart(points, np.ones(4_000), few, 4).zone_of(points, digests(pa.array(range(4_000))))
    assert set(zones[few].tolist()) == {3}
    assert np.bincount(zones).max() < 1_200


@given(data=st.data())
def test_every_point_has_a_zone_and_leaves_divide_the_space(data: st.DataObject) -> None:
    numbers = st.one_of(st.integers(-2, 2).map(float), st.floats(allow_nan=False, allow_infinity=False))
    dims, n_zones = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 9))
    rows = data.draw(st.lists(st.tuples(*[numbers] * dims), max_size=12))
    points = np.array(rows, np.float64).reshape(-1, dims)
    loads = np.array([data.draw(st.sampled_from([1.0, 2.0, 50.0])) for _ in rows])
    tree = divide(points, loads, n_zones)
    boxes = tree.boxes(dims)
    zones = [zone for _, _, first, dealt in boxes for zone in range(first, first + dealt)]
    assert sorted(zones) == list(range(n_zones))
    others = np.array(data.draw(st.lists(st.tuples(*[numbers] * dims), max_size=12)), np.float64).reshape(-1, dims)
    for places in (points, others):
        found = tree.zone_of(places, digests(pa.array(range(len(places)), pa.int64())))
        for place, zone in zip(places, found.tolist(), strict=True):
            inside = [box for box in boxes if (box[0] <= place).all() and (place < box[1]).all()]
            assert len(inside) == 1
            assert inside[0][2] <= zone < inside[0][2] + inside[0][3]


def test_a_tree_without_cuts_needs_no_coordinates() -> None:
    zones = one_leaf(3).zone_of(np.zeros((300, 0)), digests(pa.array(range(300))))
    assert set(zones.tolist()) == {0, 1, 2}
