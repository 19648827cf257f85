"""Routing: a message always arrives, every zone of its box gets it once, and nobody else's subscriptions do."""

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.overlay import Network, Topology, Traffic, Zones, boxes, deliver, internet, quadrants, route
from skyband.ranges.kernels.message import points_of
from tests.overlay.places import KINDS, message_boxes, ranges, zones_meeting


def check_route(zones: Zones, low: Floats, high: Floats, source: int) -> None:
    """The links are a way from the source into the box, and from there a tree over the zones of the box."""
    found = route(zones, low, high, source)
    expected = zones_meeting(zones, low, high).tolist()
    assert sorted(found.zones.tolist()) == expected
    if not expected:
        assert len(found.links) == 0
        return
    at, n_before = {source}, len(found.links) - len(expected) + 1
    for i, (start, end) in enumerate(found.links.tolist()):
        assert start in at
        assert end not in at
        assert end in zones.neighbours(start)
        assert (start in expected) == (i >= n_before)
        at.add(end)
        if i < n_before:
            at = {end}
    assert n_before > 0 or source in expected


def network_of(zones: Zones) -> Network:
    topology = internet(200, seed=1)
    return Network(zones, topology, topology.choose(len(zones.counts), seed=2))


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_zones", [1, 2, 9, 40])
def test_every_zone_of_the_box_gets_the_message_once(kind: str, dims: int, n_zones: int) -> None:
    points = ranges(kind, 150, dims)
    zones = Zones(points, n_zones)
    sources = np.random.default_rng(3).integers(0, n_zones, 60).tolist()
    for low, high, source in zip(*message_boxes(zones, points, 60), sources, strict=True):
        check_route(zones, low, high, source)


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_exactly_the_subscriptions_in_the_box_get_it(kind: str, dims: int) -> None:
    points = ranges(kind, 150, dims)
    for n_zones in (1, 6, 35):
        zones = Zones(points, n_zones)
        low, high = message_boxes(zones, points, 40)
        delivered = deliver(zones, boxes(low, high), points)
        assert len(delivered) == 40
        for i, rows in enumerate(delivered):
            expected = ((low[i] <= points) & (points <= high[i])).all(axis=1)
            assert rows.tolist() == np.flatnonzero(expected).tolist()


def test_a_message_arrives_where_rounding_hides_the_way() -> None:
    # Each step along the small dimension is lost in a distance that the large one dominates.
    random = np.random.default_rng(5)
    small = np.sort(random.random(64)) * 1e-290
    points = np.stack([np.tile(small, 8), np.repeat(np.linspace(1.0, 1e300, 8), 64)], axis=1)
    zones = Zones(points, 100)
    for place in points[::37]:
        for source in range(0, 100, 9):
            check_route(zones, place, place, source)
            check_route(zones, place, np.array([place[0], np.inf]), source)


def test_boxes_that_hold_no_number_reach_nobody() -> None:
    zones = Zones(ranges("uniform", 50, 1), 8)
    infinite, nothing = np.inf, np.nan
    for low, high in [((1, 0), (0, 1)), ((infinite, 0), (infinite, 1)), ((0, -infinite), (1, -infinite))]:
        check_route(zones, np.array(low, np.float64), np.array(high, np.float64), 0)
    assert route(zones, np.array([nothing, 0.0]), np.array([1.0, 1.0])).zones.tolist() == []


def test_traffic_is_that_of_the_routes() -> None:
    points = ranges("uniform", 300, 1)
    zones = Zones(points, 30)
    network = network_of(zones)
    low, high = message_boxes(zones, points, 50)
    messages = boxes(low, high)
    for sources in (None, np.random.default_rng(4).integers(0, 30, 50)):
        traffic = network.broadcast(messages, sources)
        for i in range(50):
            found = route(zones, low[i], high[i], None if sources is None else int(sources[i]))
            assert traffic.overlay_hops[i] == len(found.links)
            assert traffic.ip_hops[i] == network.ip_hops(found.links).sum()
            assert traffic.zones[i] == len(found.zones)
            assert traffic.messages[i] == (len(found.zones) > 0)


def test_only_messages_in_use_are_sent() -> None:
    points = ranges("uniform", 50, 1)
    network = network_of(Zones(points, 5))
    messages = boxes(points, points)
    messages.length[0] = 7
    assert len(network.broadcast(messages).messages) == 7
    assert len(deliver(network.zones, messages, points)) == 7
    messages.length[0] = 0
    assert network.broadcast(messages).per_event(messages.event, 2).zones.tolist() == [0, 0]


def test_unicasts_go_to_one_zone() -> None:
    zones = Zones(ranges("ties", 300, 2), 25)
    network = network_of(zones)
    targets = np.random.default_rng(6).integers(0, 25, 100)
    for source in (None, 3):
        traffic = network.unicast(targets, source)
        assert traffic.messages.tolist() == traffic.zones.tolist() == [1] * 100
        for target, n_links, n_hops in zip(targets, traffic.overlay_hops, traffic.ip_hops, strict=True):
            last = np.nextafter(zones.borders.high[target], -np.inf)
            found = route(zones, zones.borders.low[target], last, source)
            assert found.zones.tolist() == [target]
            assert (n_links, n_hops) == (len(found.links), network.ip_hops(found.links).sum())
    assert network.unicast(np.array([zones.server])).overlay_hops.tolist() == [0]


def test_traffic_adds_up_by_event() -> None:
    numbers = np.arange(1, 5)
    traffic = Traffic(np.ones(4, np.int64), numbers, 10 * numbers, 100 * numbers)
    by_event = traffic.per_event(np.array([0, 2, 2, 0, 9, 9]), n_events=4)
    assert by_event.messages.tolist() == [2, 0, 2, 0]
    assert by_event.overlay_hops.tolist() == [5, 0, 5, 0]
    assert by_event.ip_hops.tolist() == [50, 0, 50, 0]
    assert by_event.zones.tolist() == [500, 0, 500, 0]


@pytest.mark.parametrize("dims", [1, 2])
def test_quadrants_reach_the_ranges_around_an_object(dims: int) -> None:
    points = ranges("ties", 200, dims)
    low, high = points[:, 0::2].copy(), points[:, 1::2].copy()
    low[::9], high[::7] = -np.inf, np.inf
    x = np.floor(np.random.default_rng(8).random((20, dims)) * 5)
    messages = quadrants(x)
    delivered = deliver(Zones(points_of(low, high), 12), messages, points_of(low, high))
    for i, rows in enumerate(delivered):
        assert rows.tolist() == np.flatnonzero(((low <= x[i]) & (x[i] <= high)).all(axis=1)).tolist()
    assert messages.x.tolist() == x.tolist()


def test_routes_follow_brokers_that_come_and_go() -> None:
    points = ranges("uniform", 100, 1)
    zones, topology = Zones(points, 10), internet(100)
    network = Network(zones, topology, topology.choose(11))
    before = network.unicast(np.arange(10), source=9)
    zones.leave(4)
    for low, high in zip(*message_boxes(zones, points, 30), strict=True):
        check_route(zones, low, high, 9)
    assert network.broadcast(boxes(points, points)).messages.tolist() == [1] * 100
    with pytest.raises(ValueError, match="zone to go to"):
        network.unicast(np.array([4]))
    zones.join(points)
    zones.join(points)
    after = network.unicast(np.arange(10), source=9)
    fresh = Network(zones, topology, network.brokers).unicast(np.arange(10), source=9)
    assert after.overlay_hops.tolist() == fresh.overlay_hops.tolist() != before.overlay_hops.tolist()
    assert after.ip_hops.tolist() == fresh.ip_hops.tolist()
    zones.join(points)
    with pytest.raises(ValueError, match="12 zones need as many brokers"):
        network.unicast(np.arange(10))


def test_what_cannot_be_is_said() -> None:
    points = ranges("uniform", 20, 1)
    zones = Zones(points, 3)
    network = network_of(zones)
    with pytest.raises(ValueError, match="zone as its source"):
        network.broadcast(boxes(points, points), np.array([0]))
    with pytest.raises(ValueError, match="zone as its source"):
        network.broadcast(boxes(points[:1], points[:1]), np.array([3]))
    with pytest.raises(ValueError, match="boxes of 2 sides"):
        network.broadcast(quadrants(np.zeros((1, 2))))
    with pytest.raises(ValueError, match="no zone 7"):
        network.unicast(np.array([0]), source=7)
    with pytest.raises(ValueError, match="2 sides"):
        route(zones, np.zeros(4), np.ones(4))
    apart = Topology(4, np.array([[0, 1], [2, 3]]))
    with pytest.raises(ValueError, match="cannot reach each other"):
        Network(Zones(points, 2), apart, np.array([0, 3]))
