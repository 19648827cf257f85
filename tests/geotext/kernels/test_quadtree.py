"""The quadtree against its invariants and a plain search."""

import numpy as np
import pytest

from skyband.geotext.kernels.quadtree import (
    COUNT,
    DEEPEST,
    DEPTH,
    NOWHERE,
    QuadTree,
    TreePlaces,
    check_tree,
    depth_within,
    distance_to,
    find_leaf,
    leaves_of,
    make_tree,
    seat,
    unseat,
)
from skyband.kernels.array import Floats, Int64s

UNIT = (0.0, 0.0, 1.0, 1.0)


def no_seats(n_slots: int) -> TreePlaces:
    empty = np.full((4, n_slots), NOWHERE, np.int32)
    return TreePlaces(np.zeros((n_slots, 2)), *empty)


def put(tree: QuadTree, seats: TreePlaces, slots: Int64s, places: Floats, capacity: int) -> Int64s:
    """Seat slots, and tell which have moved."""
    seats.place[slots] = places
    moved, n_moved = np.zeros(len(seats.leaf), np.int64), np.zeros(1, np.int64)
    assert seat(slots, 0, capacity, tree, seats, n_moved, moved) == len(slots)
    return moved[: n_moved[0]]


def check(tree: QuadTree, seats: TreePlaces, moved: Int64s, capacity: int) -> None:
    check_tree(tree, seats, capacity)
    assert len(set(moved.tolist())) == len(moved)
    stale = np.flatnonzero(seats.leaf != seats.known)
    assert sorted(moved.tolist()) == stale.tolist()
    seats.known[moved] = seats.leaf[moved]


@pytest.mark.parametrize("capacity", [1, 2, 7, 40])
def test_slots_come_and_go(capacity: int) -> None:
    random = np.random.default_rng(capacity)
    tree, seats = make_tree(UNIT, 20_000), no_seats(120)
    for _ in range(25):
        absent = random.permutation(np.flatnonzero(seats.leaf == NOWHERE))[: random.integers(0, 40)]
        places = np.where(random.random((len(absent), 2)) < 0.5, random.random(2), random.random((len(absent), 2)))
        check(tree, seats, put(tree, seats, absent, places, capacity), capacity)
        gone = random.permutation(np.flatnonzero(seats.leaf != NOWHERE))[: random.integers(0, 40)]
        seats.known[gone] = NOWHERE
        moved = np.zeros(120, np.int64)
        n_moved = unseat(gone, capacity, tree, seats, moved)
        check(tree, seats, moved[:n_moved], capacity)
        for slot in np.flatnonzero(seats.leaf != NOWHERE)[:3].tolist():
            assert_within(tree, int(seats.leaf[slot]), seats.place[slot])
    rest = np.flatnonzero(seats.leaf != NOWHERE)
    unseat(rest, capacity, tree, seats, np.zeros(120, np.int64))
    assert leaves_of(tree).tolist() == [0]


def assert_within(tree: QuadTree, leaf: int, place: Floats) -> None:
    x, y = place.tolist()
    assert distance_to(tree, leaf, x, y) == 0.0
    x_low, y_low, x_high, y_high = tree.box[leaf].tolist()
    assert x_low <= x < x_high
    assert y_low <= y < y_high


def test_leaves_are_disjoint_and_cover_the_plane() -> None:
    random = np.random.default_rng(1)
    tree, seats = make_tree((-1.0, 0.0, 3.0, 8.0), 400), no_seats(100)
    put(tree, seats, np.arange(100), np.array([-1.0, 0.0]) + random.random((100, 2)) * [4.0, 8.0], 4)
    leaves, points = leaves_of(tree), random.normal(scale=9.0, size=(200, 2))
    points[:50] = np.round(points[:50])
    for x, y in points.tolist():
        box = tree.box[leaves]
        inside = leaves[(box[:, 0] <= x) & (x < box[:, 2]) & (box[:, 1] <= y) & (y < box[:, 3])]
        assert inside.tolist() == [find_leaf(tree, x, y)]


def test_distances_bound_those_between_places() -> None:
    random = np.random.default_rng(2)
    tree, seats = make_tree(UNIT, 1000), no_seats(200)
    places = random.integers(0, 17, (200, 2)) / 16.0
    put(tree, seats, np.arange(200), places, 10)
    for point in (random.integers(-4, 21, (100, 2)) / 16.0).tolist():
        home = find_leaf(tree, *point)
        for slot in range(200):
            leaf, place = int(seats.leaf[slot]), places[slot].tolist()
            outer, inner = distance_to(tree, leaf, *point), depth_within(tree, leaf, *place)
            assert inner >= 0.0
            if leaf != home:
                assert inner + outer <= np.hypot(point[0] - place[0], point[1] - place[1]) + 1e-12
            else:
                assert outer == 0.0


def test_a_single_leaf_has_no_outside() -> None:
    tree = make_tree(UNIT)
    assert depth_within(tree, 0, 0.3, 0.9) == 0.0
    assert distance_to(tree, 0, 1e150, -1e150) == 0.0


@pytest.mark.parametrize(
    "bounds", [UNIT, (0.5, 0.5, 0.5, 0.5), (-1e150, -1e150, 1e150, 1e150), (0.0, 0.0, 1e-300, 1.0)]
)
def test_everybody_at_one_place(bounds: tuple[float, float, float, float]) -> None:
    tree, seats = make_tree(bounds, 200), no_seats(50)
    for slots in np.array_split(np.arange(50), 5):
        check(tree, seats, put(tree, seats, slots, np.full((10, 2), 0.5), 3), 3)
    leaf = int(seats.leaf[0])
    assert tree.node[leaf, COUNT] == 50
    assert tree.node[leaf, DEPTH] == DEEPEST
    seats.known[:48] = NOWHERE
    moved = np.zeros(50, np.int64)
    check(tree, seats, moved[: unseat(np.arange(48), 3, tree, seats, moved)], 3)
    assert len(leaves_of(tree)) > 1
    seats.known[48] = NOWHERE
    check(tree, seats, moved[: unseat(np.array([48]), 3, tree, seats, moved)], 3)
    assert leaves_of(tree).tolist() == [0]


def test_seating_stops_when_nodes_run_out() -> None:
    random = np.random.default_rng(3)
    tree, seats = make_tree(UNIT, 100), no_seats(100)
    seats.place[:] = random.random((100, 2))
    moved, n_moved = np.zeros(100, np.int64), np.zeros(1, np.int64)
    done = seat(np.arange(100), 0, 2, tree, seats, n_moved, moved)
    assert 0 < done < 100
    assert n_moved[0] == done
    check(tree, seats, moved[:done], 2)
