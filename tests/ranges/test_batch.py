"""Paint-Batch: what a batch takes follows the batch, and work that runs out of room goes on where it stopped."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine
from skyband.kernels.room import NoProgress
from skyband.ranges import batch, outbox
from skyband.ranges.batch import BatchServer, roomier
from skyband.ranges.boxes import Boxes
from skyband.ranges.engine import RangesPaint
from skyband.ranges.kernels.paint import Exposed
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.server import PaintPlan
from tests.ranges.painting import World, draw_asked, draw_changes

N_SUBSCRIPTIONS = 400
# The first object that is there from the start.
KNOWN = 1_000_000


def filled(n_objects: int, ks: range, options: dict[str, Any], text: bool) -> AnyEngine:
    """An engine with this many objects, and as many subscriptions whatever the number of ks."""
    random = np.random.default_rng(1)
    engine: AnyEngine = skyband.open("ranges", "paint", **options)
    engine.publish(changes(random, KNOWN + np.arange(n_objects), text))
    ranges = np.sort(random.random((N_SUBSCRIPTIONS, 2)), axis=1)
    asked = {"id": np.arange(N_SUBSCRIPTIONS), "k": np.resize(ks, N_SUBSCRIPTIONS)}
    engine.subscribe(pa.table(asked | {"lo": ranges[:, 0], "hi": ranges[:, 1]}))
    return engine


def changes(random: np.random.Generator, objects: np.ndarray[Any, Any], text: bool) -> pa.Table:
    """A change of each of these objects, which moves it; it ranks so low that hardly anybody hears of it."""
    n = len(objects)
    names = pa.array([f"{object:09}" for object in objects.tolist()] if text else objects)
    columns = {"id": np.arange(n), "ts": np.zeros(n, np.int64), "object": names}
    return pa.table(columns | {"x": random.random(n), "y": 1.0 + random.random(n)})


def most_bytes(engine: AnyEngine, objects: range, text: bool) -> int:
    """The most bytes that one change takes for the time of it, and keeps, once arrays have the room they need."""
    random, most = np.random.default_rng(2), []
    for object in objects:
        table = changes(random, np.array([object]), text)
        tracemalloc.start()
        engine.publish(table)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return sorted(most)[len(most) // 2]


@pytest.mark.jit_only
@pytest.mark.few(4)
@pytest.mark.parametrize("what", ["known", "new"])
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("options", [{}, {"algorithm": "dense"}, {"servers": 3}], ids=str)
def test_one_change_takes_as_much_among_many_objects_and_for_many_ks(
    options: dict[str, Any], text: bool, what: str
) -> None:
    taken = {}
    for n_objects in (1_000, 100_000):
        for n_ks in (1, 10):
            engine = filled(n_objects, range(1, n_ks + 1), options, text)
            # What is new comes before all others by name.
            first = KNOWN if what == "known" else 0
            most_bytes(engine, range(first, first + 20), text)
            taken[n_objects, n_ks] = most_bytes(engine, range(first + 20, first + 51), text)
    assert max(taken.values()) - min(taken.values()) < 20_000, taken


def test_ties_are_not_copied_for_what_moves() -> None:
    engine = filled(300, range(1, 4), {}, True)
    assert isinstance(engine, RangesPaint)
    random = np.random.default_rng(3)
    for n in (1, 2, 40, 300):
        engine.publish(changes(random, KNOWN + np.arange(n), True))
        engine.check()
        assert engine._objects.tie is engine._lexicon.tie


def test_a_batch_in_which_everything_moves() -> None:
    random = np.random.default_rng(4)
    asked, places = draw_asked(random, 9), random.integers(0, 9, 8).astype(float)
    world = World(asked, 8, lambda objects, groups: BatchServer(objects, groups, PaintPlan()))
    for turn in range(6):
        x = np.roll(places, turn)[:, np.newaxis]
        world.paint(ObjectChanges(np.arange(8), x, random.random(8), np.ones(8, np.bool_), np.array([8])))
        assert world.lists == world.tops()


def told(seed: int, plan: PaintPlan) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """Everything that a server tells in a seeded run of batches, and what it counted."""
    random = np.random.default_rng(seed)
    asked, places = draw_asked(random, 12), random.integers(0, 12, 30).astype(float)
    world, rows = World(asked, 30, lambda objects, groups: BatchServer(objects, groups, plan)), list[tuple[Any, ...]]()
    for _ in range(6):
        for messages in world.painter.paint(draw_changes(random, places, 20)):
            n = int(messages.length[0])
            rows += zip(*(part[:n].tolist() for part in messages[1:]), strict=True)
        world.painter.check()
    return rows, world.painter.costs()


@pytest.mark.parametrize(
    "plan", [PaintPlan("dense"), PaintPlan("sparse"), PaintPlan("sparse", 0.5, servers=2)], ids=str
)
@pytest.mark.parametrize("seed", range(4))
def test_without_room_the_same_is_told_and_counted(seed: int, plan: PaintPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    roomy, made = told(seed, plan), list[int]()

    def note(exposed: Exposed, n_more: int) -> Exposed:
        made.append(n_more)
        return roomier(exposed, n_more)

    monkeypatch.setattr(batch, "roomier", note)
    monkeypatch.setattr(batch, "ROOM", 1)
    monkeypatch.setattr(outbox, "ROOM", 1)
    assert told(seed, plan) == roomy
    assert made
    assert len(roomy[0]) > 1


def test_room_for_pairs_is_made_by_keeping_each_once() -> None:
    exposed = roomier(Exposed(np.array([4]), np.array([7, 3, 7, 3, 0, 0, 0, 0])), 2)
    assert (exposed.length[0], exposed.pair[:2].tolist(), len(exposed.pair)) == (2, [3, 7], 8)
    exposed = roomier(exposed, 3)
    assert (exposed.length[0], exposed.pair[:2].tolist(), len(exposed.pair)) == (2, [3, 7], 16)


def _give_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Boxes, "grow", lambda *_: None)


def _keep_no_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "ROOM", 1)
    monkeypatch.setattr(batch, "roomier", lambda exposed, n_more: exposed)


def _hand_nothing_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "ROOM", 1)
    monkeypatch.setattr(outbox.Outbox, "hand_over", lambda *_: iter(()))


@pytest.mark.parametrize("spoil", [_give_nothing, _keep_no_pairs, _hand_nothing_over])
def test_work_that_is_given_no_room_raises(
    spoil: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects, groups, n = Objects(1), SubscriberGroups(1), 300
    places = np.linspace(-1.0, 2.0, 40)
    points = np.array([(low, high) for low in places for high in places if low <= high])
    groups.points.add(groups.of(3), np.arange(len(points)), points)
    objects.reserve(n, -np.arange(n))
    spoil(monkeypatch)
    server = BatchServer(objects, groups, PaintPlan("dense"))
    x, y = np.random.default_rng(5).random((2, 3 * n))
    steps = np.array([n, 2 * n, 3 * n])
    given = ObjectChanges(np.tile(np.arange(n), 3), x[:, np.newaxis], y, np.ones(3 * n, np.bool_), steps)
    with pytest.raises(NoProgress):
        list(server.paint(given))


@pytest.mark.parametrize("plan", [PaintPlan("dense"), PaintPlan("sparse"), PaintPlan("sparse", servers=3)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_what_moves_without_another_y_is_seen_where_it_comes_and_where_it_goes(seed: int, plan: PaintPlan) -> None:
    """For a while it is there twice, with one rank; others go, or rank lower, meanwhile."""
    random, n = np.random.default_rng(seed), 16
    ranges = draw_asked(random, 10)
    asked = ranges._replace(k=random.integers(8, n, len(ranges.k)))
    world = World(asked, n, lambda objects, groups: BatchServer(objects, groups, plan))
    y = random.integers(0, 3, n).astype(float)
    for _ in range(40):
        changed, x = random.random(n) < 0.2, random.integers(0, 10, (n, 1)).astype(float)
        y[changed], alive = random.integers(0, 3, int(changed.sum())), random.random(n) < 0.9
        some = np.flatnonzero(random.random(n) < 0.5)
        world.paint(ObjectChanges(some, x[some], y[some], alive[some], np.array([len(some)])))
        assert world.lists == world.tops()
