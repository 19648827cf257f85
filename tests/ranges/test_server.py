"""The painters of the ranges paper in one dimension: what they send, to whom, and how little of it."""

from collections import Counter

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.ranges.batch import BatchServer
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.naive import NaivePainter
from skyband.ranges.painter import Objects, Painter, SubscriberGroups
from skyband.ranges.server import Algorithm, PaintPlan, Server, lowest_rank
from tests.ranges.painting import (
    Asked,
    Heard,
    MakePainter,
    World,
    draw_asked,
    draw_changes,
    fewest_boxes,
    per_object,
    some_of,
)

EXACT = [
    PaintPlan("dense"),
    PaintPlan("sparse"),
    PaintPlan("dense", servers=3),
    PaintPlan("sparse", servers=2),
    PaintPlan("sparse", sketch=1),
    PaintPlan("sparse", sketch=6),
]
SEEDS = range(12)


def by(plan: PaintPlan, batch: bool = False) -> MakePainter:
    """What makes a painter of this plan."""

    def make(objects: Objects, groups: SubscriberGroups) -> Painter:
        return BatchServer(objects, groups, plan) if batch else Server(objects, groups, plan)

    return make


def name_of(plan: PaintPlan) -> str:
    return "-".join(str(part) for part in plan)


def deliveries(heard: list[Heard]) -> Counter[tuple[int, int, int, float]]:
    return Counter((each.event, each.subscription, each.object, each.y) for each in heard)


@pytest.mark.parametrize("plan", EXACT, ids=name_of)
@pytest.mark.parametrize("seed", SEEDS)
def test_everyone_hears_what_the_naive_painter_tells_them(seed: int, plan: PaintPlan) -> None:
    random = np.random.default_rng(seed)
    n_cells, n_objects = int(random.integers(2, 12)), int(random.integers(1, 14))
    asked, places = draw_asked(random, n_cells), random.integers(0, n_cells, n_objects).astype(float)
    world, twin = World(asked, n_objects, by(plan)), World(asked, n_objects, NaivePainter)
    for _ in range(5):
        changes = draw_changes(random, places, int(random.integers(1, 5)))
        assert deliveries(world.paint(changes)) == deliveries(twin.paint(changes))
        assert world.lists == world.tops()


@pytest.mark.parametrize("algorithm", ["dense", "sparse", "unicast"])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_message_to_everyone_concerned_and_none_to_others(seed: int, algorithm: Algorithm) -> None:
    random = np.random.default_rng(seed)
    asked, places = draw_asked(random, 9), random.integers(0, 9, 8).astype(float)
    # Two with the same range would each see the messages that Unicast sends to the other.
    asked = some_of(asked, np.unique(asked.points, axis=0, return_index=True)[1])
    world = World(asked, 8, by(PaintPlan(algorithm)))
    before = world.tops()
    for _ in range(12):
        changes = draw_changes(random, places, 1, moves=0.0)
        heard, after = per_object(world.paint(changes)), world.tops()
        object = int(changes.object[0])
        expected = Counter[tuple[int, int]]()
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            changed = {each for each in new if old.get(each) != new[each]} | ({object} & (old.keys() - new.keys()))
            expected.update((i, each) for each in changed)
        assert heard == expected
        before = after


def dense_world(n_objects: int, ks: list[int]) -> tuple[Asked, Floats]:
    """A subscription for every set of neighbouring objects, and the empty ones."""
    ends = np.arange(n_objects + 1) + 0.5
    points = np.array([(left, right) for left in ends for right in ends if left <= right])
    return Asked(np.repeat(points, len(ks), axis=0), np.tile(ks, len(points))), np.arange(1.0, n_objects + 1)


def boxes_needed(world: World, heard: list[Heard]) -> dict[tuple[int, int], tuple[int, int]]:
    """For each k and object, the messages sent and the least number that would do."""
    counts = {}
    for k, object in {(int(world.asked.k[each.subscription]), each.object) for each in heard}:
        own = [each for each in heard if each.object == object and world.asked.k[each.subscription] == k]
        told = np.zeros(len(world.asked.k), np.bool_)
        told[[each.subscription for each in own]] = True
        others = (world.asked.k == k) & ~told
        least = fewest_boxes(world.asked.points[told], world.asked.points[others])
        counts[k, object] = (len({each.message for each in own}), least)
    return counts


@pytest.mark.parametrize("seed", range(6))
def test_dense_sends_the_fewest_messages_where_every_range_is_asked_for(seed: int) -> None:
    random = np.random.default_rng(seed)
    asked, places = dense_world(5, [1, 2, 3])
    world = World(asked, 5, by(PaintPlan("dense")))
    world.paint(
        ObjectChanges(
            np.arange(5), places[:, np.newaxis], random.permutation(5).astype(np.float64), places > 0, np.array([5])
        )
    )
    for _ in range(6):
        heard = world.paint(draw_changes(random, places, 1, moves=0.0))
        for sent, least in boxes_needed(world, heard).values():
            assert sent == least


@pytest.mark.parametrize("seed", range(12))
def test_sparse_sends_at_most_twice_the_fewest_messages(seed: int) -> None:
    random = np.random.default_rng(seed)
    asked, places = draw_asked(random, 12), random.permutation(12)[:9].astype(float)
    asked = some_of(asked, np.arange(min(14, len(asked.k))))
    world = World(asked, 9, by(PaintPlan("sparse")))
    for _ in range(8):
        heard = world.paint(draw_changes(random, places, 1, moves=0.0))
        for sent, least in boxes_needed(world, heard).values():
            assert sent <= 2 * least


@pytest.mark.parametrize("seed", range(6))
def test_sparse_sends_nothing_that_reaches_nobody(seed: int) -> None:
    random = np.random.default_rng(seed)
    asked, places = draw_asked(random, 9), random.integers(0, 9, 8).astype(float)
    for batch in (False, True):
        world = World(asked, 8, by(PaintPlan("sparse"), batch))
        for _ in range(4):
            heard = world.paint(draw_changes(random, places, 6))
            assert len({each.message for each in heard}) == world.painter.costs().get("messages", 0)


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("algorithm", ["dense", "sparse"])
@pytest.mark.parametrize("seed", SEEDS)
def test_epsilon_tells_nobody_of_what_ranks_too_low(seed: int, algorithm: Algorithm, epsilon: float) -> None:
    random = np.random.default_rng(seed)
    asked, places = draw_asked(random, 10), random.integers(0, 10, 12).astype(float)
    world = World(asked, 12, by(PaintPlan(algorithm, epsilon)))
    for _ in range(10):
        old = {i: (world.objects.y[i], world.objects.alive[i]) for i in range(12)}
        changes = draw_changes(random, places, 1, moves=0.0)
        heard, object = world.paint(changes), int(changes.object[0])
        assert world.lists == world.tops()
        assert max(per_object(heard).values(), default=1) == 1
        for each in heard:
            k = int(asked.k[each.subscription])
            assert lowest_rank(k, epsilon) <= (1 + epsilon) * k
            # The updated object is told by the better of its two ranks: who had it has to know that it fell.
            if each.object != object or (changes.alive[0] and changes.y[0] < old[object][0]):
                assert world.rank(each.subscription, each.object) <= lowest_rank(k, epsilon)


@pytest.mark.parametrize("seed", range(2))
def test_epsilon_sends_fewer_messages(seed: int) -> None:
    random = np.random.default_rng(seed)
    places = random.random(60)
    points = np.sort(random.random((300, 2)), axis=1)
    sent = []
    for epsilon in (0.0, 0.5, 1.0):
        world = World(Asked(points, np.full(300, 8)), 60, by(PaintPlan("dense", epsilon)))
        draws = np.random.default_rng(seed)
        for _ in range(30):
            world.paint(draw_changes(draws, places, 3, moves=0.0))
        sent.append(world.painter.costs()["messages"])
    assert sent[0] > sent[1] > sent[2]


def needed_in_batch(world: World, before: list[dict[int, float]], old: Objects) -> Counter[tuple[int, int]]:
    """The least that everybody has to hear of a batch without moves.

    What is new or changed in their top; and what has left it with a higher y, or is gone, unless k others rank before
    its old y in the end.
    """
    needed = Counter[tuple[int, int]]()
    objects, tie = world.objects, world.objects.tie
    for i, (top, k) in enumerate(zip(world.tops(), world.asked.k, strict=True)):
        left, right = world.asked.points[i]
        needed.update((i, object) for object in top if before[i].get(object) != top[object])
        for object in before[i].keys() - top.keys():
            if objects.alive[object] and objects.y[object] <= old.y[object]:
                continue
            own = (old.y[object], tie[object])
            others = [
                j for j in range(objects.n) if objects.alive[j] and left <= objects.x[j, 0] <= right and j != object
            ]
            if sum((objects.y[j], tie[j]) < own for j in others) < k:
                needed[i, object] += 1
    return needed


def copy_of(objects: Objects) -> Objects:
    copy = Objects(1)
    copy.reserve(objects.n, objects.tie)
    copy.x[:], copy.y[:], copy.alive[:] = objects.x[: objects.n], objects.y[: objects.n], objects.alive[: objects.n]
    return copy


@pytest.mark.parametrize("plan", [PaintPlan("dense"), PaintPlan("sparse"), PaintPlan("sparse", servers=3)], ids=name_of)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_tells_everybody_the_least_they_have_to_hear(seed: int, plan: PaintPlan) -> None:
    random = np.random.default_rng(seed)
    asked, places = draw_asked(random, 9), random.integers(0, 9, 10).astype(float)
    world = World(asked, 10, by(plan, batch=True))
    for _ in range(6):
        before, old = world.tops(), copy_of(world.objects)
        heard = world.paint(draw_changes(random, places, int(random.integers(1, 14)), moves=0.0))
        assert world.lists == world.tops()
        assert per_object(heard) == needed_in_batch(world, before, old)


@pytest.mark.parametrize(
    "plan",
    [
        PaintPlan("dense"),
        PaintPlan("sparse"),
        PaintPlan("sparse", 0.5),
        PaintPlan("dense", 1.0),
        PaintPlan("sparse", sketch=3),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_with_moves_ends_in_the_right_tops(seed: int, plan: PaintPlan) -> None:
    random = np.random.default_rng(seed)
    asked, places = draw_asked(random, 9), random.integers(0, 9, 10).astype(float)
    world = World(asked, 10, by(plan, batch=True))
    for _ in range(6):
        world.paint(draw_changes(random, places, int(random.integers(1, 14)), moves=0.4))
        assert world.lists == world.tops()


def changes_of(rows: list[tuple[int, float, float]]) -> ObjectChanges:
    """Objects at x with y."""
    object, x, y = zip(*rows, strict=True)
    alive = np.ones(len(rows), np.bool_)
    return ObjectChanges(np.array(object), np.array(x)[:, np.newaxis], np.array(y), alive, np.array([len(rows)]))


def test_a_batch_does_not_leave_an_old_value_behind() -> None:
    # As printed, Paint-Batch would not tell this subscriber that 1 went from 5 to 8: right before the increases, 0 and
    # 2 ranked before it, and at its new value 2 and 3 do. It would keep 1 with its old y of 5, and lose 3 for it.
    asked = Asked(np.array([[0.0, 9.0]]), np.array([2]))
    world = World(asked, 4, by(PaintPlan("dense"), batch=True))
    world.paint(changes_of([(0, 1.0, 1.0), (1, 2.0, 5.0), (2, 3.0, 10.0), (3, 4.0, 6.0)]))
    world.paint(changes_of([(0, 1.0, 9.0), (1, 2.0, 8.0), (2, 3.0, 3.0)]))
    assert world.lists == [{2: 3.0, 3: 6.0}]


def test_a_batch_does_not_repeat_what_stays() -> None:
    # As printed, Paint-Batch would tell of 1 again, which is pushed out by 2 and comes back with the rise of 0.
    asked = Asked(np.array([[0.0, 9.0]]), np.array([2]))
    world = World(asked, 3, by(PaintPlan("dense"), batch=True))
    world.paint(changes_of([(0, 1.0, 1.0), (1, 2.0, 5.0), (2, 3.0, 10.0)]))
    heard = world.paint(changes_of([(0, 1.0, 9.0), (2, 3.0, 3.0)]))
    assert per_object(heard) == {(0, 0): 1, (0, 2): 1}


def test_a_batch_counts_what_has_moved_without_another_y() -> None:
    # 1 goes and 2 moves within the range: of four with the same y, 0 is the third that is left.
    asked = Asked(np.array([[-9.0, 2.0]]), np.array([3]))
    world = World(asked, 4, by(PaintPlan("dense"), batch=True))
    world.paint(changes_of([(i, 0.0, 0.0) for i in range(4)]))
    gone = np.array([False, True])
    world.paint(ObjectChanges(np.array([1, 2]), np.array([[0.0], [1.0]]), np.zeros(2), gone, np.array([2])))
    assert world.lists == [{0: 0.0, 2: 0.0, 3: 0.0}]


def test_unicast_has_no_form_for_batches() -> None:
    with pytest.raises(ValueError, match="no form for batches"):
        World(Asked(np.zeros((0, 2)), np.zeros(0, np.int64)), 1, by(PaintPlan("unicast"), batch=True))


def test_servers_divide_the_objects_and_ask_their_neighbours() -> None:
    random = np.random.default_rng(1)
    places = random.random(400)
    asked = Asked(np.sort(random.random((100, 2)), axis=1), np.full(100, 5))
    visited = []
    for servers in (1, 8):
        world = World(asked, 400, by(PaintPlan("dense", servers=servers)))
        draws = np.random.default_rng(2)
        world.paint(
            changes_of(
                [(i, float(x), float(y)) for i, (x, y) in enumerate(zip(places, draws.random(400), strict=True))]
            )
        )
        world.painter.costs()
        for _ in range(100):
            world.paint(draw_changes(draws, places, 1, moves=0.0))
        costs = world.painter.costs()
        visited.append(costs["visited"] / (costs["first_k"] + costs["min_y"]))
    assert visited[0] == 1.0
    assert 1.0 < visited[1] < 8.0


def test_dense_does_not_depend_on_the_subscriptions() -> None:
    random = np.random.default_rng(3)
    places, costs = random.random(50), []
    for n in (1, 200):
        asked = Asked(np.sort(random.random((n, 2)), axis=1), np.full(n, 4))
        world = World(asked, 50, by(PaintPlan("dense")))
        draws = np.random.default_rng(4)
        for _ in range(50):
            world.paint(draw_changes(draws, places, 1))
        costs.append(world.painter.costs())
    assert costs[0] == costs[1]
