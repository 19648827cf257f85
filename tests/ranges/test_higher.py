"""The painters for more than one dimension, held against brute force: who hears what, and that it is no more."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.boxed import Boxed
from skyband.ranges.half_open import Sloped
from skyband.ranges.kernels.message import make_messages, points_of
from skyband.ranges.kernels.orthant import make_bench
from skyband.ranges.kernels.polygon import make_easel
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.naive import NaivePainter, Unicast
from skyband.ranges.painter import Objects, Painter, SubscriberGroups
from skyband.ranges.server import Algorithm, PaintPlan, lowest_rank
from tests.ranges.painting import Asked, Heard, MakePainter, Top, World, per_object

SEEDS = range(8)


def sloped(algorithm: Algorithm = "sparse", epsilon: float = 0.0) -> MakePainter:
    """What makes a painter for ranges without a lower end in the second dimension."""
    return lambda objects, groups: Sloped(objects, groups, PaintPlan(algorithm, epsilon))


# Painter, dimensions, and whether ranges have no lower end in the second dimension.
EXACT: dict[str, tuple[MakePainter, int, bool]] = {
    "sparse": (sloped(), 2, True),
    "dense": (sloped("dense"), 2, True),
    "boxes 1-d": (Boxed, 1, False),
    "boxes 2-d": (Boxed, 2, False),
    "boxes 1.5-d": (Boxed, 2, True),
    "boxes 3-d": (Boxed, 3, False),
}
exact = pytest.mark.parametrize("painter", EXACT)
seeded = pytest.mark.parametrize("seed", SEEDS)


class Wide(World):
    """A world in more dimensions; everybody's ranges are in `lo` and `hi`."""

    def __init__(self, asked: Asked, n_objects: int, make: MakePainter) -> None:
        self.asked = asked
        self.objects = Objects(asked.points.shape[1] // 2)
        self.groups = SubscriberGroups(self.objects.dims)
        self.painter = make(self.objects, self.groups)
        self.objects.reserve(n_objects, -np.arange(n_objects))
        self.lists = [{} for _ in asked.k]
        self.subscribe(np.arange(len(asked.k)))

    def subscribe(self, rows: Int64s) -> None:
        """Let some be subscribed, with the lists that they should have."""
        for k in np.unique(self.asked.k[rows]).tolist():
            slots, group = rows[self.asked.k[rows] == k], self.groups.of(k)
            self.groups.points.add(group, slots, self.asked.points[slots])
            self.painter.subscribe(slots, group, self.asked.points[slots])

    def unsubscribe(self, row: int) -> None:
        slots, group = np.array([row]), self.groups.of(int(self.asked.k[row]))
        self.groups.points.remove(group, slots, self.asked.points[slots])
        self.painter.unsubscribe(slots, group, self.asked.points[slots])

    def _inside(self, subscription: int) -> list[int]:
        point, objects = self.asked.points[subscription], self.objects
        x = objects.x[: objects.n]
        return np.flatnonzero(objects.alive[: objects.n] & ((point[0::2] <= x) & (x <= point[1::2])).all(1)).tolist()

    def tops(self) -> list[Top]:
        objects, tops = self.objects, []
        for subscription, k in enumerate(self.asked.k):
            inside = sorted(self._inside(subscription), key=lambda i: (objects.y[i], objects.tie[i]))
            tops.append({i: float(objects.y[i]) for i in inside[:k]})
        return tops

    def rank(self, subscription: int, object: int) -> int:
        objects, own = self.objects, (self.objects.y[object], self.objects.tie[object])
        return 1 + sum((objects.y[i], objects.tie[i]) < own for i in self._inside(subscription))


def draw_ranges(random: np.random.Generator, dims: int, n_cells: int, is_sloped: bool, n: int = 40) -> Asked:
    """Ranges on a small grid: many share an end, some are points or have no end."""
    lo = random.integers(-1, n_cells + 1, (n, dims)).astype(float)
    hi = np.maximum(lo, random.integers(-1, n_cells + 1, (n, dims)))
    lo[random.random((n, dims)) < 0.1], hi[random.random((n, dims)) < 0.1] = -np.inf, np.inf
    if is_sloped:
        lo[:, 1] = -np.inf
    return Asked(points_of(lo, hi), random.choice([1, 2, 3, 5], n))


def draw_moves(random: np.random.Generator, places: Floats, n: int, n_heights: int = 8) -> ObjectChanges:
    """Changes of y, many of them equal; some objects go, and some move."""
    object = random.integers(0, len(places), n)
    x = places[object].copy()
    moving = random.random(n) < 0.2
    x[moving] = random.permutation(places)[: int(moving.sum())] if moving.sum() <= len(places) else x[moving]
    y, alive = random.integers(0, n_heights, n).astype(float), random.random(n) < 0.85
    x[~alive] = np.nan
    return ObjectChanges(object, x, y, alive, np.arange(1, n + 1))


def part_of(changes: ObjectChanges, first: int, end: int) -> ObjectChanges:
    """Some of the changes, as one step."""
    rows = slice(first, end)
    return ObjectChanges(
        changes.object[rows], changes.x[rows], changes.y[rows], changes.alive[rows], np.array([end - first])
    )


def one_by_one(changes: ObjectChanges) -> list[ObjectChanges]:
    """Each change as a step of its own."""
    return [part_of(changes, i, i + 1) for i in range(len(changes.object))]


def deliveries(heard: list[Heard]) -> list[tuple[int, int, int, float]]:
    return sorted((each.event, each.subscription, each.object, each.y) for each in heard)


def once(heard: list[Heard]) -> list[tuple[int, int, int, float]]:
    """What somebody hears who hears nothing twice: two subscriptions with one point get the messages to both."""
    return sorted(set(deliveries(heard)))


def follow(world: Wide, twin: Wide, changes: ObjectChanges) -> None:
    """Let changes happen one by one: everybody hears what the twin tells them, and keeps the right list."""
    for change in one_by_one(changes):
        assert deliveries(world.paint(change)) == once(twin.paint(change))
        assert world.lists == world.tops()


@exact
@seeded
def test_everyone_hears_what_unicast_tells_them(seed: int, painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(seed)
    n_cells, n_objects = int(random.integers(1, 9)), int(random.integers(1, 14))
    asked = draw_ranges(random, dims, n_cells, is_sloped)
    places = random.integers(0, n_cells, (n_objects, dims)).astype(float)
    follow(Wide(asked, n_objects, make), Wide(asked, n_objects, Unicast), draw_moves(random, places, 30))


@exact
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_magnitudes_do_not_matter(scale: float, painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(5)
    asked = draw_ranges(random, dims, 6, is_sloped)
    asked.points[np.abs(asked.points) < 100.0] *= scale
    places = random.integers(-6, 6, (12, dims)).astype(float) * scale
    follow(Wide(asked, 12, make), Wide(asked, 12, Unicast), draw_moves(random, places, 25))


@exact
@pytest.mark.parametrize("heights", [1, 3])
def test_all_objects_are_at_one_place(heights: int, painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(heights)
    asked = draw_ranges(random, dims, 2, is_sloped)
    changes = draw_moves(random, np.ones((10, dims)), 30, heights)
    follow(Wide(asked, 10, make), Wide(asked, 10, Unicast), changes)


@exact
def test_ranges_may_be_points(painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(3)
    lo = random.integers(0, 4, (30, dims)).astype(float)
    hi = lo.copy()
    if is_sloped:
        lo[:, 1] = -np.inf
    asked = Asked(points_of(lo, hi), random.choice([1, 2, 50], 30))
    places = random.integers(0, 4, (20, dims)).astype(float)
    follow(Wide(asked, 20, make), Wide(asked, 20, Unicast), draw_moves(random, places, 40))


@exact
def test_a_million_best_of_a_few(painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(4)
    asked = draw_ranges(random, dims, 4, is_sloped)._replace(k=np.full(40, 1_000_000))
    places = random.integers(0, 4, (9, dims)).astype(float)
    world = Wide(asked, 9, make)
    follow(world, Wide(asked, 9, Unicast), draw_moves(random, places, 30))
    assert world.painter.n_bytes < 1_000_000


@exact
def test_all_changes_at_once_are_those_one_by_one(painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(6)
    asked = draw_ranges(random, dims, 6, is_sloped)
    places = random.integers(0, 6, (12, dims)).astype(float)
    world, twin, changes = Wide(asked, 12, make), Wide(asked, 12, make), draw_moves(random, places, 40)
    by_step = [per_object(twin.paint(change)) for change in one_by_one(changes)]
    heard = world.paint(changes)
    assert [per_object([each for each in heard if each.event == i]) for i in range(40)] == by_step
    assert [each.event for each in heard] == sorted(each.event for each in heard)
    assert world.lists == twin.lists == world.tops()


@pytest.mark.parametrize("painter", [name for name in EXACT if name != "dense"])
@seeded
def test_no_message_reaches_nobody(seed: int, painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(seed)
    world = Wide(draw_ranges(random, dims, 20, is_sloped), 30, make)
    changes = draw_moves(random, random.integers(0, 20, (30, dims)).astype(float), 60)
    heard = world.paint(changes)
    assert len({each.message for each in heard}) == world.painter.costs()["messages"]
    assert world.lists == world.tops()


@exact
def test_subscriptions_come_and_go(painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(8)
    asked = draw_ranges(random, dims, 5, is_sloped)
    places = random.integers(0, 5, (10, dims)).astype(float)
    world, twin = Wide(asked, 10, make), Wide(asked, 10, Unicast)
    for change in one_by_one(draw_moves(random, places, 40)):
        row = int(random.integers(40))
        for each in (world, twin):
            each.unsubscribe(row)
            each.paint(change)
            each.subscribe(np.array([row]))
            each.lists[row] = each.tops()[row]
        assert world.lists == twin.lists == world.tops()


@exact
def test_a_painter_may_begin_with_objects(painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    random = np.random.default_rng(9)
    asked = draw_ranges(random, dims, 5, is_sloped)
    places = random.integers(0, 5, (10, dims)).astype(float)
    changes = draw_moves(random, places, 60)
    world, twin = Wide(asked, 10, make), Wide(asked, 10, Unicast)
    first, second = part_of(changes, 0, 30), part_of(changes, 30, 60)
    world.paint(first)
    twin.paint(first)
    world.painter = make(world.objects, world.groups)
    follow(world, twin, second)


def narrow(painter: Painter) -> None:
    """Leave hardly any room to begin with."""
    assert isinstance(painter, Boxed | Sloped)
    painter._outbox.messages = make_messages(1, painter.objects.dims)
    if isinstance(painter, Boxed):
        painter._bench = make_bench(1, 2, painter.objects.dims)
    else:
        painter._easel = make_easel(1, 2)


@pytest.mark.parametrize("painter", ["sparse", "dense", "boxes 1.5-d", "boxes 2-d"])
def test_room_is_made_when_it_is_needed(painter: str) -> None:
    make, _, is_sloped = EXACT[painter]
    n, random = 150, np.random.default_rng(1)
    # Objects that come nearer and nearer as they lie higher: each makes a slab of its own.
    x = np.column_stack([np.where(np.arange(n) % 2 == 0, -1.0, 1.0) * (n - np.arange(n)), np.arange(n, dtype=float)])
    x, y = np.vstack([[0.0, -1.0], x]), np.append(0.0, random.permutation(n) + 1.0)
    lo = np.column_stack([-random.integers(0, n, 300), np.full(300, -np.inf if is_sloped else -1.0)])
    hi = np.column_stack([random.integers(0, n, 300), random.integers(0, n, 300)]).astype(float)
    asked = Asked(points_of(lo, hi), np.full(300, 2))
    world, twin = Wide(asked, n + 1, make), Wide(asked, n + 1, Unicast)
    for each in (world, twin):
        each.objects.x[: n + 1], each.objects.y[: n + 1], each.objects.alive[: n + 1] = x, y, True
        each.lists = each.tops()
    world.painter = make(world.objects, world.groups)
    narrow(world.painter)
    for to in (1e9, 0.0, 75.5):
        change = ObjectChanges(np.array([0]), x[:1], np.array([to]), np.ones(1, bool), np.array([1]))
        assert deliveries(world.paint(change)) == once(twin.paint(change))
        assert world.lists == world.tops()


@pytest.mark.parametrize("algorithm", ["sparse", "dense"])
@pytest.mark.parametrize("epsilon", [0.4, 1.0])
@seeded
def test_with_an_epsilon_nobody_hears_of_lower_ranks(seed: int, epsilon: float, algorithm: Algorithm) -> None:
    random = np.random.default_rng(seed)
    asked = draw_ranges(random, 2, 8, True)._replace(k=np.full(40, 5))
    places = random.integers(0, 8, (25, 2)).astype(float)
    world, twin = Wide(asked, 25, sloped(algorithm, epsilon)), Wide(asked, 25, Unicast)
    for change in one_by_one(draw_moves(random, places, 40)):
        is_move = world.objects.alive[change.object[0]] and (world.objects.x[change.object] != change.x).any()
        heard, needed = per_object(world.paint(change)), per_object(twin.paint(change))
        assert world.lists == world.tops()
        assert set(needed) <= set(heard)
        for subscription, object in set(heard) - set(needed):
            # A move is two changes, of which the second may push down what the first one exposed.
            if object != change.object[0] and not is_move:
                assert world.rank(subscription, object) <= lowest_rank(5, epsilon)


def test_an_epsilon_saves_messages() -> None:
    random = np.random.default_rng(0)
    asked = draw_ranges(random, 2, 30, True, n=60)._replace(k=np.full(60, 5))
    changes = draw_moves(random, random.integers(0, 30, (40, 2)).astype(float), 80, 1000)
    n_messages = []
    for epsilon in (0.0, 0.4, 1.0):
        world = Wide(asked, 40, sloped("dense", epsilon))
        world.paint(changes)
        n_messages.append(world.painter.costs()["messages"])
    assert n_messages[0] > n_messages[1] > n_messages[2]


@seeded
def test_in_one_dimension_everyone_hears_what_paint_dense_tells_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    asked = draw_ranges(random, 1, 8, False)
    places = random.integers(0, 8, (14, 1)).astype(float)
    follow(Wide(asked, 14, Boxed), Wide(asked, 14, NaivePainter), draw_moves(random, places, 40))


def test_sparse_needs_fewer_calls_than_dense() -> None:
    random = np.random.default_rng(2)
    asked = draw_ranges(random, 2, 100, True)._replace(k=np.full(40, 3))
    changes = draw_moves(random, random.integers(0, 100, (60, 2)).astype(float), 150, 1000)
    costs = []
    for algorithm in ("sparse", "dense"):
        world = Wide(asked, 60, sloped(algorithm))
        world.paint(changes)
        costs.append(world.painter.costs())
        assert world.painter.costs() == {}
    sparse, dense = costs
    assert sparse["messages"] < dense["messages"]
    assert sparse["min_x"] + sparse["min_y"] < dense["min_x"] + dense["min_y"]
    assert "snap" not in dense


@exact
def test_what_changes_nothing_is_not_told(painter: str) -> None:
    make, dims, is_sloped = EXACT[painter]
    asked = draw_ranges(np.random.default_rng(0), dims, 3, is_sloped)
    world = Wide(asked, 2, make)
    for alive in (False, True, True, False, False):
        change = ObjectChanges(
            np.zeros(1, np.int64), np.ones((1, dims)), np.ones(1), np.array([alive]), np.ones(1, np.int64)
        )
        before = world.tops()
        heard = world.paint(change)
        assert bool(heard) == (before != world.tops())
        assert world.lists == world.tops()
    assert world.painter.n_bytes > 0
