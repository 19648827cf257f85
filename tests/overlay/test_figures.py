"""Figures 9 to 14 of the top-k/w paper as traces: six brokers, who sends what to whom, message by message."""

from typing import Any

import pytest

from skyband.overlay.broker.event import Unsubscribed
from skyband.overlay.broker.frame import DELIVERING, PUBLISHING, SUBSCRIBING, UPDATING
from skyband.overlay.simulate.world import BrokerWorld
from tests.overlay.worlds import SIX, Doing, at, links, near, play, told, zone_map

# The figures let thresholds change with every publication that enters a top.
AS_DRAWN: dict[str, Any] = {"gates": "kth", "engine": "scan"}
SUBSCRIBES, PUBLISHES = (1.0, "E", near("s", 0.5, 0.5)), (3.0, "A", at("p", 0.5, 0.6))
FLOOD_FROM_E = ["E>D", "D>C", "D>F", "C>A", "C>B"]


def test_figure_9_publication_flooding() -> None:
    """Only publications travel, over every link once; the change of the threshold stays where it is."""
    world = play([SUBSCRIBES, PUBLISHES], strategy="publication-flooding", **AS_DRAWN)
    assert links(world) == ["A>C", "C>B", "C>D", "D>E", "D>F"]
    assert links(world, columns=(PUBLISHING,)) == links(world)
    assert told(world, "E") == [("s", "p", "enter")]


def test_figure_10_subscription_flooding() -> None:
    """The subscription floods, the publication goes straight to E, and the change of its threshold floods again."""
    world = play([SUBSCRIBES, PUBLISHES], strategy="subscription-flooding", **AS_DRAWN)
    assert links(world, until=2) == FLOOD_FROM_E
    assert links(world, since=3, columns=(DELIVERING,)) == ["A>E"]
    assert links(world, since=3, columns=(UPDATING,)) == FLOOD_FROM_E
    assert told(world, "E") == [("s", "p", "enter")]


def test_figure_10_publishers_keep_what_nobody_wants() -> None:
    """What is worse than the threshold by now is not sent at all, and a cancellation floods."""
    requests: list[Doing] = [SUBSCRIBES, PUBLISHES, (5.0, "A", at("q", 0.9, 0.9)), (7.0, "E", Unsubscribed("s"))]
    world = play(requests, strategy="subscription-flooding", **AS_DRAWN)
    assert links(world, 5, 7) == []
    assert links(world, 7, 8) == FLOOD_FROM_E
    assert told(world, "E") == [("s", "p", "enter"), ("s", "p", "leave")]


def wide_and_narrow(more: list[Doing]) -> BrokerWorld:
    """E asks for a wide disk, and then D for a narrow one within it."""
    wide, narrow = near("s1", 0.5, 0.5, threshold=0.4), near("s2", 0.5, 0.6, threshold=0.1)
    return play([(1.0, "E", wide), (2.0, "D", narrow), *more], strategy="covering", **AS_DRAWN)


def test_figure_11_covering() -> None:
    """The first subscription floods; the second is covered by it, but for E, where the first one comes from."""
    world = wide_and_narrow([(3.0, "A", at("p", 0.5, 0.55)), (4.0, "B", at("q", 0.95, 0.95))])
    assert links(world, 1, 2) == FLOOD_FROM_E
    assert links(world, 2, 3) == ["D>E"]
    assert links(world, 3, 4, (DELIVERING,)) == ["A>C", "C>D", "D>E"]
    assert links(world, 4, 5) == []
    assert told(world, "E") == [("s1", "p", "enter")]
    assert told(world, "D") == [("s2", "p", "enter")]


def test_figure_11_what_was_covered_is_promoted() -> None:
    """When the first one is cancelled, the second one floods where the first one is withdrawn."""
    world = wide_and_narrow([(3.0, "E", Unsubscribed("s1")), (5.0, "A", at("p", 0.5, 0.55))])
    sent = links(world, 3, 4, (SUBSCRIBING,))
    assert sorted(sent) == sorted(["E>D", *["D>C", "D>F", "C>A", "C>B"] * 2])
    assert links(world, 5, 6) == ["A>C", "C>D"]


def test_figure_12_rendezvous() -> None:
    """Subscription and publication travel to B, which holds the original, and delivers straight to E."""
    zones = zone_map()
    places = [(x / 40, y / 40) for x in range(41) for y in range(41)]
    (x, y), *_ = [place for place in places if zones.zone_of(place) == 1]
    requests = [(1.0, "E", near("s", x, y)), (3.0, "A", at("p", x, y))]
    world = play(requests, strategy="rendezvous", inform="nobody", zones=zones, **AS_DRAWN)
    assert links(world, 1, 2) == ["E>D", "D>C", "C>B"]
    assert links(world, 3, 9, (PUBLISHING,)) == ["A>C", "C>B"]
    assert links(world, 3, 9, (DELIVERING,)) == ["B>E"]
    assert links(world, columns=(UPDATING,)) == []
    assert world.audiences[4].heard == [("s", "p")]


def test_table_3_informs_the_neighbours_of_a_rendezvous() -> None:
    """The text keeps thresholds where they are, Table 3 counts what tells neighbours: both can be had."""
    world = play([SUBSCRIBES, PUBLISHES], strategy="rendezvous", inform="neighbours", **AS_DRAWN)
    home = next(broker for broker in world.brokers if broker is not None and broker.home.begun)
    neighbours = world.scenario.options.zones.neighbours(home.number)  # type: ignore[union-attr]
    assert len(links(world, 3, 9, (UPDATING,))) == len(neighbours)


def gossip(strategy: str, seed: int) -> BrokerWorld:
    """A publication at A, passed to one neighbour in each of two rounds."""
    return play([SUBSCRIBES, PUBLISHES], strategy=strategy, fan_out=1, rounds=2, seed=seed, **AS_DRAWN)


def test_figure_13_basic_gossiping() -> None:
    """The publication comes to C and then to B, and not to E; nothing else is sent."""
    worlds = [gossip("basic-gossiping", seed) for seed in range(6)]
    assert {tuple(links(world)) for world in worlds} == {("A>C", "C>B"), ("A>C", "C>D")}
    assert all(told(world, "E") == [] for world in worlds)


def test_figure_14_informed_gossiping() -> None:
    """D, a neighbour of E, has its proxy: whenever the publication comes to D it comes to E, beyond the last round."""
    worlds = [gossip("informed-gossiping", seed) for seed in range(6)]
    assert all(links(world, 1, 2) == ["E>D"] for world in worlds)
    by_way = {tuple(links(world, 3, 9)): world for world in worlds}
    assert set(by_way) == {("A>C", "C>B"), ("A>C", "C>D", "D>E", "E>D")}
    world = by_way["A>C", "C>D", "D>E", "E>D"]
    assert links(world, 3, 9, (DELIVERING,)) == ["D>E"]
    assert links(world, 3, 9, (UPDATING,)) == ["E>D"]
    assert told(world, "E") == [("s", "p", "enter")]


def test_ours_takes_one_hop_to_the_zone_and_one_to_the_home() -> None:
    """A lease in every zone while nothing is known; then a word where the gate reaches, and farewell elsewhere."""
    world = play([SUBSCRIBES, PUBLISHES, (5.0, "B", at("q", 0.5, 0.55))], strategy="zone-leases")
    zones = world.scenario.options.zones
    assert zones is not None
    zone = "ABCDEF"[zones.zone_of((0.5, 0.6))]
    assert sorted(links(world, 1, 2)) == ["E>A", "E>B", "E>C", "E>D", "E>F"]
    assert links(world, 3, 5, (PUBLISHING,)) == ([f"A>{zone}"] if zone != "A" else [])
    assert links(world, 3, 5, (DELIVERING,)) == ([f"{zone}>E"] if zone != "E" else [])
    assert told(world, "E") == [("s", "p", "enter"), ("s", "p", "leave"), ("s", "q", "enter")]


@pytest.mark.parametrize("strategy", ["publication-flooding", "subscription-flooding", "covering", "zone-leases"])
def test_the_example_of_the_gate_that_is_not_the_kth_score(strategy: str) -> None:
    """One engine delivers p1, and p2 when p1 has expired, although p2 is worse than the best when it comes."""
    week = {"window_us": 10_000_000}
    requests = [
        (1.0, "E", near("s", 0.0, 0.0, **week)),
        (2.0, "A", at("p1", 0.1, 0.0)),
        (3.0, "B", at("p2", 0.5, 0.0)),
        (12.5, "A", at("p3", 0.9, 0.0)),
    ]
    world = play(requests, seconds=16, strategy=strategy, mode="watermark", chart=SIX)
    assert [row[:2] for row in told(world, "E") if row[2] == "enter"][:2] == [("s", "p1"), ("s", "p2")]


def test_covering_tells_holders_of_proxies_when_a_gate_moves() -> None:
    """As the page about the overlay has it: everybody holds the proxy of the only subscription."""
    world = play([SUBSCRIBES, PUBLISHES], strategy="covering", **AS_DRAWN)
    assert links(world, 1, 2) == FLOOD_FROM_E
    assert links(world, 3, 9, (DELIVERING,)) == ["A>C", "C>D", "D>E"]
    assert links(world, 3, 9, (UPDATING,)) == FLOOD_FROM_E
