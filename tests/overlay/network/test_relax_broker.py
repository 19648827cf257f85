"""CN-Relax: all who have an object in range hear of it, and lists are right when all is quiet."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import skyband
from skyband.overlay import Zones
from skyband.overlay.broker.event import Offered, Refused, Subscribed, Unsubscribed
from skyband.overlay.network.gateway import point_of
from skyband.overlay.network.link_world import LinkWorld, Watch
from skyband.overlay.network.zone_broker import ZoneBroker
from skyband.overlay.network.zone_event import Divide, Retire, ZoneEffect
from skyband.overlay.network.zone_tree import relax_brokers
from tests.overlay.network.world import draw_change, draw_row
from tests.overlay.places import ranges


def make_world(seed: int, watch: Watch | None = None) -> LinkWorld:
    """Six brokers that hang in a tree."""
    return LinkWorld(relax_brokers(Zones(ranges("ties", 60, 1), 6)), seed, (1, 4_000), 0.2, watch)


def tops_of(world: LinkWorld) -> dict[Any, list[Any]]:
    """The list of each subscription."""
    return {
        broker.gateway.rows[key]["id"]: [tuple(member) for member in top]
        for broker in world.brokers.values()
        for key, top in broker.gateway.top().items()
    }


@pytest.mark.parametrize("seed", range(4))
def test_lists_are_right_when_all_is_quiet(seed: int) -> None:
    random, world = np.random.default_rng(seed), make_world(seed)
    oracle, rows = skyband.open("ranges", "oracle"), [draw_row(random, i) for i in range(40)]
    for i, row in enumerate(rows):
        # Some come before the objects, some in between.
        world.ask(100 * i, i % 6, Subscribed(row))
    oracle.subscribe(rows)
    for i in range(100):
        change = draw_change(random)
        world.ask(2_000 + 50 * i, change["object"] % 6, Offered(change))
        oracle.publish([change | {"id": i, "ts": i}])
    world.run()
    wanted: dict[Any, list[Any]] = {row["id"]: [] for row in rows}
    for top in oracle.top().to_pylist():
        wanted[top["subscription"]].append((top["publication"], top["score"]))
    assert tops_of(world) == wanted
    for broker in world.brokers.values():
        broker.gateway.check()


def test_messages_are_for_all_who_have_the_object_in_range() -> None:
    random, world = np.random.default_rng(3), make_world(3)
    rows = [draw_row(random, i) for i in range(50)]
    for i, row in enumerate(rows):
        world.happen(i % 6, Subscribed(row))
    points, places = np.array([point_of(row) for row in rows]), random.random(20) * 5
    for i, x in enumerate(places.tolist()):
        world.happen(i % 6, Offered({"object": i, "x": x, "y": 1.0}))
    received = sum(broker.gateway.counters["received"] for broker in world.brokers.values())
    assert received == sum(int(((points[:, 0] <= x) & (x <= points[:, 1])).sum()) for x in places)


def test_a_subscription_ends_and_zones_stay() -> None:
    refused: list[str] = []

    def watch(world: LinkWorld, broker: ZoneBroker, effects: Sequence[ZoneEffect]) -> None:
        refused.extend(effect.reason for effect in effects if isinstance(effect, Refused))

    world = make_world(1, watch)
    world.happen(2, Subscribed({"id": 1, "k": 1, "lo": 0.0, "hi": 1.0}))
    assert tops_of(world) == {1: []}
    world.happen(2, Unsubscribed(1))
    assert tops_of(world) == {}
    for event in (Divide(9), Retire()):
        world.happen(2, event)
    assert len(refused) == 2
    assert "neither split nor merge" in refused[0]


def test_what_is_not_known_is_not_said_to_be_gone() -> None:
    world = make_world(1)
    world.happen(0, Offered({"object": "tea", "x": 1.0, "y": None}))
    assert not world.tally.messages
