"""A server, brokers of zones and gateways: every list is that of brute force after every event, whatever the delays."""

from typing import Any

import numpy as np
import pytest

import skyband
from skyband.kernels.array import Int64s
from skyband.overlay import Zones
from skyband.overlay.broker.event import Offered, Subscribed, Unsubscribed
from skyband.overlay.network import paint_rows
from skyband.overlay.network.gateway import Gateway, point_of
from skyband.overlay.network.link_world import LinkWorld
from skyband.overlay.network.paint_rows import PaintRows
from skyband.overlay.network.paint_server import PaintServer, Sighting
from skyband.overlay.network.zone_broker import ZoneBroker
from skyband.overlay.network.zone_event import Divide, Retire
from skyband.overlay.network.zone_tree import zone_brokers
from skyband.ranges.server import PaintPlan
from skyband.table.answer_rows import AnswerRows
from tests.overlay.network.planted import PLANTED, KeepsNothingBack, TakesFromAnyone, WithGateway
from tests.overlay.network.world import (
    PLANS,
    ListWatcher,
    Wrong,
    draw_change,
    draw_row,
    make_network,
    server_of,
    trouble,
)
from tests.overlay.places import ranges


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("plan", PLANS)
def test_lists_are_right_after_every_event(plan: str, seed: int) -> None:
    watcher = ListWatcher()
    watcher.look_at_all(trouble(make_network(PLANS[plan], seed=seed, watch=watcher), seed))
    assert watcher.refused == []
    assert watcher.n_looks > 200


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("plan", ["dense", "sparse"])
def test_lists_are_right_while_zones_split_and_merge(plan: str, seed: int) -> None:
    watcher = ListWatcher()
    world = trouble(make_network(PLANS[plan], seed=seed, watch=watcher), seed, moves=True)
    watcher.look_at_all(world)
    regions = [broker.region for broker in world.brokers.values()]
    points = np.sort(np.random.default_rng(seed).integers(-1, 7, (50, 2)) / 1.0, axis=1)
    assert (np.sum([region.holds(points) for region in regions], axis=0) == 1).all()


@pytest.mark.soak
@pytest.mark.parametrize("plan", PLANS)
def test_lists_are_right_over_many_seeds(plan: str) -> None:
    """As long as it takes, for the soak."""
    for seed in range(1_000):
        watcher = ListWatcher()
        watcher.look_at_all(trouble(make_network(PLANS[plan], seed=seed, watch=watcher), seed, moves=seed % 4 > 0))


@pytest.mark.parametrize(("plan", "seed"), [("unicast", 109), ("dense", 125)])
def test_seeds_that_went_wrong_once(plan: str, seed: int) -> None:
    """The broker that had given another one its seat left, and what took its place was heard sooner than the seat."""
    watcher = ListWatcher()
    world = make_network(PLANS[plan], seed=seed, watch=watcher)
    watcher.look_at_all(trouble(world, seed, n=160, moves=True))


def goes_wrong(make: Any, seed: int, moves: bool, plan: str = "dense") -> bool:
    """Whether brute force finds something wrong with a run, or a broker breaks down."""
    watcher = ListWatcher()
    world = make_network(PLANS[plan], seed=seed, watch=watcher, make=make)
    try:
        watcher.look_at_all(trouble(world, seed, moves=moves))
    except (Wrong, AssertionError, KeyError):
        return True
    return False


@pytest.mark.parametrize("wrong", PLANTED, ids=lambda wrong: wrong.__name__)
def test_a_planted_fault_is_found(wrong: type[ZoneBroker]) -> None:
    assert any(goes_wrong(wrong, seed, moves=False) for seed in range(10))


def test_one_that_keeps_nothing_back_is_found() -> None:
    assert any(goes_wrong(KeepsNothingBack, seed, moves=True) for seed in range(20))


class SlowWay(LinkWorld):
    """One link takes very long."""

    slow_link = (-1, -1)

    def delay(self, link: tuple[int, int]) -> int:
        return 10_000 if link == self.slow_link else 1


def leave_while_much_is_on_the_way(make: type[ZoneBroker]) -> ListWatcher:
    """The broker between the server and another one leaves; the old way is slow and the new one is fast."""
    watcher, random = ListWatcher(), np.random.default_rng(1)
    drawn = make_network(PaintPlan("dense"), make=make, watch=watcher)
    world = SlowWay(drawn.brokers, watch=watcher)
    middle = next(number for number, each in world.brokers.items() if each.links and each.parent is not None)
    world.slow_link = middle, next(iter(world.brokers[middle].links))
    for i in range(40):
        world.ask(0, 0, Subscribed(draw_row(random, i)))
    world.run()
    for i in range(60):
        world.ask(world.now + 10 * i, 0, Offered(draw_change(random)))
    world.ask(world.now + 305, middle, Retire())
    watcher.look_at_all(world.run())
    return watcher


def test_what_comes_over_a_new_way_waits_for_the_old_one() -> None:
    assert leave_while_much_is_on_the_way(ZoneBroker).n_looks > 1_000
    with pytest.raises(Wrong):
        leave_while_much_is_on_the_way(TakesFromAnyone)


def test_sides_of_4_bytes_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paint_rows, "SIDE", "<f4")
    with np.errstate(over="ignore"):
        assert any(goes_wrong(ZoneBroker, seed, moves=False, plan="sparse") for seed in range(10))


class Listener(Gateway):
    """Notes what it hears."""

    def __init__(self, dims: int) -> None:
        super().__init__(dims)
        self.heard: list[tuple[int, PaintRows]] = []

    def hear(self, event: int, rows: PaintRows) -> AnswerRows:
        self.heard.append((event, rows))
        return super().hear(event, rows)


class Listening(WithGateway):
    """Has a gateway that notes what it hears."""

    kind = Listener


class Noting(PaintServer):
    """Notes what it paints."""

    def __init__(self, plan: PaintPlan) -> None:
        super().__init__(plan)
        self.painted: list[tuple[int, PaintRows]] = []

    def change(self, sighting: Sighting) -> PaintRows | None:
        rows = super().change(sighting)
        if rows is not None and len(rows.y):
            self.painted.append((self.event, rows))
        return rows


def same_rows(one: PaintRows, other: PaintRows) -> bool:
    """Whether messages are the same to the last bit."""
    columns = zip(one[:-1], other[:-1], strict=True)
    return one.objects.equals(other.objects) and all(np.array_equal(*pair) for pair in columns)


@pytest.mark.parametrize("plan", PLANS)
def test_messages_reach_exactly_their_boxes_in_order(plan: str) -> None:
    random, server = np.random.default_rng(8), Noting(PLANS[plan])
    world = make_network(seed=3, make=Listening, server=server)
    rows = [draw_row(random, i) for i in range(60)]
    for i, row in enumerate(rows):
        world.ask(i, i % 5, Subscribed(row))
    world.run()
    for i in range(80):
        world.ask(world.now + 10 * i, i % 7, Offered(draw_change(random)))
    world.run()
    n_received = 0
    for broker in world.brokers.values():
        gateway = broker.gateway
        assert isinstance(gateway, Listener)
        wanted = []
        for event, painted in server.painted:
            leads_here = broker.region.meets(painted.low, painted.high)
            if leads_here.any():
                wanted.append((event, painted.chosen(leads_here)))
        assert [event for event, _ in gateway.heard] == [event for event, _ in wanted]
        assert all(same_rows(one[1], other[1]) for one, other in zip(gateway.heard, wanted, strict=True))
        n_received += gateway.counters["received"]
    points, ks = np.array([point_of(row) for row in rows]), np.array([row["k"] for row in rows])
    assert n_received == sum(int(reached(painted, points, ks).sum()) for _, painted in server.painted)


def reached(rows: PaintRows, points: Any, ks: Int64s) -> Any:
    """Who lies in the box of each message and asks for its k."""
    inside = (rows.low[:, None] <= points) & (points <= rows.high[:, None])
    return inside.all(axis=2) & (rows.k[:, None] == ks)


@pytest.mark.parametrize("plan", ["dense", "sparse"])
def test_lists_are_those_of_one_engine(plan: str) -> None:
    """The oracle takes the same changes in the order that the server gave them."""
    random, world = np.random.default_rng(4), make_network(PLANS[plan], seed=4)
    oracle = skyband.open("ranges", "oracle")
    rows = [draw_row(random, i) for i in range(30)]
    for i, row in enumerate(rows):
        world.happen(i % 7, Subscribed(row))
    oracle.subscribe(rows)
    for i in range(60):
        change = draw_change(random)
        world.happen(i % 7, Offered(change))
        oracle.publish([change | {"id": i, "ts": i}])
        tops: dict[Any, list[Any]] = {row["id"]: [] for row in rows}
        for top in oracle.top().to_pylist():
            tops[top["subscription"]].append((top["publication"], top["score"]))
        for broker in world.brokers.values():
            for key, list_here in broker.gateway.top().items():
                assert list_here == tops[broker.gateway.rows[key]["id"]]


@pytest.mark.parametrize("algorithm", ["sparse", "unicast"])
def test_boxes_of_two_dimensions_travel(algorithm: str) -> None:
    random, watcher = np.random.default_rng(6), ListWatcher()
    plan = PaintPlan("unicast") if algorithm == "unicast" else PaintPlan()
    zones = Zones(ranges("ties", 80, 2), 6)
    world = LinkWorld(zone_brokers(zones, PaintServer(plan, dims=2)), 2, (1, 4_000), 0.2, watcher)
    for i in range(40):
        lo, hi = np.sort(random.integers(0, 4, (2, 2)), axis=0).astype(float).tolist()
        world.ask(100 * i, i % 6, Subscribed({"id": i, "k": 2, "lo": lo, "hi": hi}))
    for i in range(60):
        change = draw_change(random) | {"x": random.integers(0, 4, 2).astype(float).tolist()}
        world.ask(150 * i, i % 6, Offered(change))
    world.ask(3_000, 1, Divide(6))
    watcher.look_at_all(world.run())
    assert watcher.refused == []
    assert watcher.n_looks > 300


def test_a_server_keeps_no_lists_and_dense_not_even_points() -> None:
    world = {plan: make_network(PLANS[plan]) for plan in ("dense", "sparse")}
    sizes: dict[str, list[int]] = {plan: [] for plan in world}
    for i in range(200):
        for plan, network in world.items():
            network.happen(0, Subscribed({"id": i, "k": 3, "lo": 0.01 * i, "hi": 5.0}))
            sizes[plan].append(server_of(network).n_bytes_of_subscriptions)
    assert len(set(sizes["dense"])) == 1
    assert sizes["sparse"][-1] > sizes["sparse"][0]


def test_a_subscription_ends_everywhere() -> None:
    world = make_network(seed=2)
    world.happen(3, Subscribed({"id": "ann", "k": 1, "lo": 0.0, "hi": 4.0}))
    assert server_of(world).n_subscriptions == 1
    world.ask(world.now, 3, Subscribed({"id": "bob", "k": 1, "lo": 0.0, "hi": 4.0}))
    world.ask(world.now, 3, Unsubscribed("bob"))
    world.ask(world.now, 3, Unsubscribed("ann"))
    world.run()
    assert server_of(world).n_subscriptions == 0
    assert not any(broker.gateway.rows for broker in world.brokers.values())


def test_load_moves_to_a_new_gateway() -> None:
    world = make_network(n_zones=1)
    for i in range(40):
        world.happen(0, Subscribed({"id": i, "k": 1, "lo": float(i % 8), "hi": float(i % 8 + i // 8)}))
    for newcomer in (1, 2, 3):
        crowded = max(world.brokers, key=lambda number: len(world.brokers[number].gateway.rows))
        world.happen(crowded, Divide(newcomer))
    assert sorted(len(broker.gateway.rows) for broker in world.brokers.values()) == [10, 10, 10, 10]
    for number in (1, 2, 3):
        world.happen(number, Retire())
    assert [len(world.brokers[number].gateway.rows) for number in range(4)] == [40, 0, 0, 0]
    assert world.brokers[0].region.n_boxes == 4


def test_the_same_seed_sends_the_same_bytes() -> None:
    digests = [trouble(make_network(seed=seed), 1, moves=True).digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Offered({"object": 1, "x": 1.0, "y": float("nan")}), "y must be a finite number"),
        (Subscribed({"id": 1, "k": 0, "lo": 0.0, "hi": 1.0}), "column k"),
        (Unsubscribed("nobody"), "was not made here"),
        (Retire(), "cannot leave"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_a_sentence(event: Any, reason: str) -> None:
    watcher = ListWatcher()
    make_network(n_zones=1, watch=watcher).happen(0, event)
    assert len(watcher.refused) == 1
    assert reason in watcher.refused[0]


def test_a_subscription_is_made_once() -> None:
    watcher = ListWatcher()
    world = make_network(watch=watcher)
    for _ in range(2):
        world.happen(0, Subscribed({"id": 1, "k": 1, "lo": 0.0, "hi": 1.0}))
    assert watcher.refused == ["The subscription 1 is there already."]


def test_a_broker_that_has_left_passes_on_what_still_comes() -> None:
    watcher = ListWatcher()
    world = make_network(watch=watcher)
    number = next(number for number, broker in world.brokers.items() if broker.parent is not None)
    world.happen(number, Retire())
    world.happen(number, Subscribed({"id": 1, "k": 1, "lo": 0.0, "hi": 9.0}))
    world.happen(number, Offered({"object": "tea", "x": 1.0, "y": 1.0}))
    world.happen(number, Divide(77))
    assert "no region that could be divided" in watcher.refused[0]
    world.happen(number, Retire())
    assert "has left, or is about to" in watcher.refused[1]
    watcher.look_at_all(world)
