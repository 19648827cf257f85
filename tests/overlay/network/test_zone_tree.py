"""The tree: every zone hangs behind a neighbour, and links lead to all that hangs behind them."""

import numpy as np
import pytest

from skyband.overlay import Zones
from skyband.overlay.network.zone_tree import depth_of, zone_seats
from tests.overlay.places import ranges


@pytest.mark.parametrize("n_zones", [1, 2, 30])
@pytest.mark.parametrize("dims", [1, 2])
def test_every_zone_has_a_seat(n_zones: int, dims: int) -> None:
    zones = Zones(ranges("uniform", 300, dims), n_zones)
    seats, points = zone_seats(zones, both_ways=True), ranges("ties", 100, dims)
    assert sorted(seats) == list(range(n_zones))
    assert [zone for zone, seat in seats.items() if seat.parent is None] == [zones.server]
    assert depth_of(seats) < n_zones
    home = zones.zone_of(points)
    for zone, seat in seats.items():
        assert seat.parent is None or seat.parent in zones.neighbours(zone)
        assert (seat.region.holds(points) == (home == zone)).all()
        leads = np.array([region.holds(points) for region in seat.links.values()]).reshape(-1, len(points))
        assert (leads.sum(axis=0) == (home != zone)).all()
    below = zone_seats(zones)
    for zone, seat in below.items():
        for link, region in seat.links.items():
            assert below[link].parent == zone
            assert (region.holds(points) == seats[zone].links[link].holds(points)).all()
