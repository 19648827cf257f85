"""Zones: they divide the space wherever the subscriptions are, halve crowds, and outlive their brokers."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.overlay import Zones
from skyband.ranges.kernels.message import FARTHEST
from tests.overlay.places import KINDS, message_boxes, ranges


def zone_by_looking(zones: Zones, points: Floats) -> Int64s:
    low, high = zones.borders.low[:, None], zones.borders.high[:, None]
    is_in = ((low <= points) & (points < high)).all(axis=2)
    assert (is_in.sum(axis=0) == 1).all()
    found: Int64s = is_in.argmax(axis=0)
    return found


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_zones", [1, 2, 7, 60])
def test_every_point_lies_in_one_zone(kind: str, dims: int, n_zones: int) -> None:
    points = ranges(kind, 200, dims)
    zones = Zones(points, n_zones)
    zones.check()
    assert zones.n_zones == len(zones.counts) == n_zones
    assert zones.numbers.tolist() == list(range(n_zones))
    assert zones.counts.tolist() == np.bincount(zones.zone_of(points), minlength=n_zones).tolist()
    corners = np.clip(np.concatenate(message_boxes(zones, points, 60)), -FARTHEST, FARTHEST)
    for places in (points, corners, ranges("huge", 50, dims), np.full((1, 2 * dims), FARTHEST)):
        assert zones.zone_of(places).tolist() == zone_by_looking(zones, places).tolist()


def test_crowds_are_halved() -> None:
    zones = Zones(ranges("uniform", 1024, 1), 64)
    assert zones.counts.tolist() == [16] * 64


def test_a_place_that_everybody_asks_for_does_not_use_up_the_brokers() -> None:
    points = ranges("hot spot", 1000, 1)
    counts = np.sort(Zones(points, 32).counts)
    n_there = int((points == 0.5).all(axis=1).sum())
    assert counts[-1] == n_there
    assert counts[-2] <= 3 * (1000 - n_there) / 31


def test_a_split_falls_between_values() -> None:
    zones = Zones(np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [2.0, 1.0]]), 2)
    assert zones.borders.high[0].tolist() == [1.0, np.inf]
    assert zones.counts.tolist() == [3, 1]


def test_the_server_holds_the_centre() -> None:
    points = ranges("uniform", 300, 1)
    zones = Zones(points, 20)
    assert zones.centre == pytest.approx([0.5, 0.5], abs=0.1)
    assert zones.server == zones.zone_of(zones.centre[None])[0]
    assert Zones(points, 20, centre=np.array([0.1, 0.9])).server == zones.zone_of(np.array([[0.1, 0.9]]))[0]
    bounded = ranges("unbounded", 300, 1)
    assert (np.abs(Zones(bounded, 20).centre) <= 1.0).all()
    assert Zones(np.empty((0, 4)), 3).centre.tolist() == [0.0] * 4


@pytest.mark.parametrize("dims", [1, 2])
def test_neighbours_share_a_border(dims: int) -> None:
    zones = Zones(ranges("ties", 300, dims), 30)
    for zone in range(30):
        for other in zones.neighbours(zone).tolist():
            assert zone in zones.neighbours(other)
    assert Zones(ranges("ties", 10, dims), 1).neighbours(0).tolist() == []


def test_zones_that_touch_in_a_corner_are_no_neighbours() -> None:
    zones = Zones(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 4)
    by_place = zones.zone_of(np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert by_place[1] not in zones.neighbours(int(by_place[0]))
    assert [len(zones.neighbours(zone)) for zone in range(4)] == [2, 2, 2, 2]


def test_subscriptions_are_counted_in_and_out() -> None:
    points = ranges("uniform", 100, 1)
    zones = Zones(points[:60], 8)
    assert zones.subscribe(points[60:]).tolist() == zones.zone_of(points[60:]).tolist()
    assert zones.counts.tolist() == np.bincount(zones.zone_of(points), minlength=8).tolist()
    zones.unsubscribe(points)
    assert zones.counts.tolist() == [0] * 8
    with pytest.raises(ValueError, match="does not hold that many"):
        zones.unsubscribe(points[:1])
    assert zones.counts.tolist() == [0] * 8


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("kind", ["uniform", "ties", "one place", "unbounded"])
def test_brokers_come_and_go(kind: str, dims: int) -> None:
    random = np.random.default_rng(7)
    points = ranges(kind, 150, dims)
    n_in = 50
    zones = Zones(points[:n_in], 5)
    for step in range(60):
        if step % 6 == 5:
            n_in = min(n_in + 10, len(points))
            zones.subscribe(points[n_in - 10 : n_in])
        if random.random() < 0.5 and zones.n_zones > 1:
            gone = int(random.choice(zones.numbers))
            before, n_zones = zones.zone_of(points), zones.n_zones
            taker = zones.leave(gone)
            assert taker != gone
            assert zones.n_zones == n_zones - 1
            assert (zones.zone_of(points)[before == gone] == taker).all()
        else:
            crowd = zones.counts.max()
            fresh = zones.join(points[:n_in])
            assert kind != "uniform" or zones.counts[fresh] < crowd
        zones.check()
        assert zones.counts.tolist() == np.bincount(zones.zone_of(points[:n_in]), minlength=len(zones.counts)).tolist()


def test_a_broker_that_joins_gets_the_number_of_one_that_left() -> None:
    points = ranges("uniform", 100, 1)
    zones = Zones(points, 6)
    assert zones.leave(2) != 2
    assert zones.numbers.tolist() == [0, 1, 3, 4, 5]
    assert zones.counts[2] == 0
    assert zones.join(points) == 2
    assert zones.join(points) == 6


def test_only_neighbouring_zones_are_merged() -> None:
    # Zone 0 is the first half, 1 and 2 are the two quarters: nobody can merge with 0, so one of them moves.
    zones = Zones(np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 2.0]]), 3)
    low, high = zones.borders.low[0].tolist(), zones.borders.high[0].tolist()
    assert zones.leave(0) == 1
    assert zones.counts.tolist() == [0, 2, 3]
    assert zones.borders.low[1].tolist() == low
    assert zones.borders.high[1].tolist() == high
    zones.check()


def test_space_runs_out_before_a_zone_has_no_numbers_in_it() -> None:
    # Between 0 and the three least numbers above there is room for so many zones and no more.
    points = np.array([[0.0, 0.0], [5e-324, 0.0], [1e-323, 0.0]] * 2)
    zones = Zones(points, 40)
    zones.check()
    assert sorted(zones.counts.tolist())[-3:] == [2, 2, 2]


def test_what_cannot_be_is_said() -> None:
    points = ranges("uniform", 20, 1)
    for wrong in (points[0], points[:, :1], np.zeros((2, 3))):
        with pytest.raises(ValueError, match="two coordinates"):
            Zones(wrong, 2)
    with pytest.raises(ValueError, match="at least one zone"):
        Zones(points, 0)
    with pytest.raises(ValueError, match="finite"):
        Zones(np.array([[0.0, np.inf]]), 1)
    zones = Zones(points, 2)
    with pytest.raises(ValueError, match="finite"):
        zones.zone_of(np.array([[np.nan, 0.0]]))
    with pytest.raises(ValueError, match="2 coordinates"):
        zones.zone_of(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="not the subscriptions"):
        zones.join(points[:3])
    for zone in (-1, 2):
        with pytest.raises(ValueError, match="no zone"):
            zones.neighbours(zone)
    zones.leave(1)
    with pytest.raises(ValueError, match="no zone 1"):
        zones.leave(1)
    with pytest.raises(ValueError, match="last broker"):
        zones.leave(0)
