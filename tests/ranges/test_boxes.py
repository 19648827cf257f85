"""Boxes: what was added, removed and moved is what the trees hold, however they were built."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.boxes import BEYOND, GROWTH, SHRINKAGE, Boxes, Order, extent_of
from skyband.ranges.kernels.boxsearch import count_inside, report, snap

FARTHEST = float(np.finfo(np.float64).max)
ORDERS = ["first", "curve"]


class Known:
    """Trees beside dictionaries of what they hold."""

    def __init__(self, boxes: Boxes, n_trees: int) -> None:
        self.boxes = boxes
        self.places: list[dict[int, Floats]] = [{} for _ in range(n_trees)]

    def add(self, tree: int, slots: Int64s, low: Floats) -> None:
        self.boxes.add(tree, slots, low)
        self.places[tree].update(zip(slots.tolist(), low, strict=True))

    def remove(self, tree: int, slots: list[int]) -> None:
        low = np.array([self.places[tree].pop(slot) for slot in slots]).reshape(-1, self.boxes.dims)
        self.boxes.remove(tree, np.array(slots, np.int64), low)

    def set(self, tree: int, slot: int, dim: int, value: float) -> None:
        place = self.places[tree][slot]
        self.boxes.set(tree, slot, place, dim, value)
        self.places[tree][slot] = place.copy()
        self.places[tree][slot][dim] = value

    def check(self) -> None:
        self.boxes.check()
        for tree, places in enumerate(self.places):
            assert self.boxes.size(tree) == len(places)
            everywhere = np.full(self.boxes.dims, np.inf)
            assert reported(self.boxes, tree, -everywhere, everywhere) == sorted(places)
            for slot in list(places)[:20]:
                place = places[slot]
                inside = [other for other, there in places.items() if (there == place).all()]
                assert reported(self.boxes, tree, place, place) == sorted(inside)


def reported(boxes: Boxes, tree: int, low: Floats, high: Floats) -> list[int]:
    out = np.zeros(boxes.size(tree), np.int64)
    n = report(boxes.trees, tree, low, high, out, 0)
    return sorted(out[:n].tolist())


def draw(kind: str, random: np.random.Generator, n: int, dims: int) -> Floats:
    if kind == "same":
        return np.full((n, dims), -3.0)
    if kind == "few":
        return random.integers(0, 4, (n, dims)).astype(np.float64)
    if kind == "huge":
        return random.choice([-FARTHEST, -1e150, 0.0, 1.0, 1e150, FARTHEST], (n, dims))
    return random.normal(0.0, random.choice([1.0, 100.0]), (n, dims))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["normal", "same", "few", "huge"])
def test_random_batches(kind: str, order: Order) -> None:
    random = np.random.default_rng([len(kind), len(order)])
    for dims in (1, 2, 4):
        known, next_slot = Known(Boxes(dims, 2, order), 2), 0
        for size in (1, 3, 40, 2, 300, 20, 0, 1):
            tree = int(random.integers(2))
            known.add(tree, np.arange(next_slot, next_slot + size), draw(kind, random, size, dims))
            next_slot += size
            for tree in range(2):
                slots = list(known.places[tree])
                for slot in slots[:5]:
                    known.set(tree, slot, int(random.integers(dims)), float(draw(kind, random, 1, 1)[0, 0]))
                known.remove(tree, [slot for slot in slots if random.random() < 0.2])
            known.check()
        for tree in range(2):
            known.remove(tree, list(known.places[tree]))
        known.check()


@pytest.mark.parametrize("order", ORDERS)
def test_many_single_additions(order: Order) -> None:
    """Nodes are added as they are needed, and the curve is laid anew as the points spread."""
    random = np.random.default_rng(2)
    known = Known(Boxes(2, 1, order), 1)
    for slot in range(300):
        known.add(0, np.array([slot]), random.normal(size=(1, 2)) * slot)
    known.check()
    for slot in random.permutation(300).tolist():
        known.remove(0, [slot])
    known.check()


def test_a_tree_that_has_shrunk_is_built_anew() -> None:
    random = np.random.default_rng(4)
    boxes, points = Boxes(2), random.random((1000, 2))
    boxes.add(0, np.arange(1000), points)
    gone = random.permutation(1000)[: 1000 - 1000 // SHRINKAGE + 1]
    n_leaves = len(boxes.trees.leaves.length)
    boxes.remove(0, gone, points[gone])
    left = boxes.size(0)
    assert left == 1000 - len(gone)
    assert n_leaves - boxes.trees.n_free[0] == -(-left // 28)
    boxes.check()


def test_the_curve_is_laid_anew_when_a_tree_has_grown() -> None:
    random = np.random.default_rng(5)
    boxes = Boxes(2, order="curve")
    boxes.add(0, np.arange(100), random.random((100, 2)))
    far = 1000.0 + random.random((100 * GROWTH, 2))
    for i in range(len(far)):
        boxes.add(0, np.array([100 + i]), far[i : i + 1])
    assert len(np.unique(boxes.keys(0, far))) > 300
    boxes.check()


def test_trees_are_added_and_know_nothing_of_each_other() -> None:
    boxes = Boxes(2, 0, order="curve")
    assert [boxes.new_tree(), boxes.new_tree()] == [0, 1]
    points = np.random.default_rng(0).random((100, 2))
    boxes.add(1, np.arange(100), points)
    assert boxes.new_tree() == 2
    boxes.add(2, np.arange(50), points[:50])
    assert [boxes.size(tree) for tree in range(3)] == [0, 100, 50]
    assert reported(boxes, 2, np.zeros(2), np.ones(2)) == list(range(50))
    boxes.check()


def test_boxes_are_found_where_they_reach() -> None:
    random = np.random.default_rng(6)
    low = random.random((200, 2))
    high = low + random.random((200, 2))
    boxes = Boxes(2, order="curve", boxes=True)
    boxes.add(0, np.arange(150), low[:150], high[:150])
    boxes.add(0, np.arange(150, 200), low[150:], high[150:])
    boxes.add(0, np.array([200]), np.array([[5.0, 5.0]]), np.array([[6.0, 9.0]]))
    out_low, out_high = np.zeros(2), np.zeros(2)
    assert snap(boxes.trees, 0, np.array([5.5, 0.0]), np.array([7.0, 8.0]), out_low, out_high)
    assert (out_low.tolist(), out_high.tolist()) == ([5.5, 5.0], [6.0, 8.0])
    since, until = np.array([0.9, 0.2]), np.array([1.0, 0.4])
    touched = np.asarray(((low <= until) & (high >= since)).all(axis=1))
    assert reported(boxes, 0, since, until) == np.flatnonzero(touched).tolist()
    boxes.remove(0, np.arange(100), low[:100])
    touched[:100] = False
    assert count_inside(boxes.trees, 0, since, until) == touched.sum()
    boxes.check()


def test_whoever_is_not_there_is_named() -> None:
    boxes = Boxes(1)
    boxes.add(0, np.array([3]), np.array([[1.0]]))
    with pytest.raises(KeyError, match="Slot 4 is not in tree 0"):
        boxes.remove(0, np.array([4]), np.array([[1.0]]))
    with pytest.raises(KeyError, match="Slot 3 is not in tree 0"):
        boxes.set(0, 3, np.array([2.0]), 0, 2.0)
    boxes.set(0, 3, np.array([1.0]), 0, 2.0)
    boxes.remove(0, np.array([3]), np.array([[2.0]]))
    assert boxes.size(0) == 0


def test_memory_is_counted_once() -> None:
    points = np.random.default_rng(1).random((2800, 2))
    one, two = Boxes(2), Boxes(2, boxes=True)
    one.add(0, np.arange(2800), points)
    two.add(0, np.arange(2800), points, points)
    n_leaves = len(one.trees.leaves.length)
    assert two.n_bytes - one.n_bytes == n_leaves * 2 * 32 * 8
    assert 32 * 2800 < one.n_bytes < 48 * 2800


def test_the_sides_of_an_extent_are_not_stretched() -> None:
    """Numbers that stand for infinity, and a few that lie far away, are left out."""
    random = np.random.default_rng(8)
    points = random.random((1000, 3))
    points[::3, 0], points[1::3, 1], points[:3, 2] = FARTHEST, -FARTHEST, 1e9
    low, high = extent_of(points)
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    assert (high - low > 0.9).all()
    low, high = extent_of(np.array([[-FARTHEST], [BEYOND]]))
    assert (low[0], high[0]) == (-FARTHEST, BEYOND)
    assert extent_of(np.zeros((0, 2)))[0].tolist() == [0.0, 0.0]


def test_arrays_of_any_layout_are_taken() -> None:
    points = np.random.default_rng(9).random((2, 100)).T
    points.flags.writeable = False
    boxes = Boxes(2, order="curve")
    boxes.add(0, np.arange(100)[::-1], points[::-1])
    boxes.add(0, np.arange(100, 110), points[:10])
    boxes.remove(0, np.arange(50), points[:50])
    assert boxes.size(0) == 60
    boxes.check()
