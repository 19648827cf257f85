"""The tree that bundles go along: from the server's zone over borders, as a message to everybody would spread."""

import numpy as np

from skyband.kernels.array import Int64s
from skyband.overlay.network.paint_server import PaintServer
from skyband.overlay.network.region import one_box, united_regions
from skyband.overlay.network.relax_broker import RelaxBroker
from skyband.overlay.network.zone_broker import Seat, ZoneBroker
from skyband.overlay.routing import route
from skyband.overlay.zones import Zones


def zone_seats(zones: Zones, both_ways: bool = False) -> dict[int, Seat]:
    """The seat of each broker, by the number of its zone; with `both_ways` each knows where the way back leads, too."""
    everywhere = np.full(zones.dims, np.inf)
    links = route(zones, -everywhere, everywhere).links
    parent = {int(after): int(before) for before, after in links.tolist()}
    own = {zone: one_box(zones.borders.low[zone], zones.borders.high[zone]) for zone in zones.numbers.tolist()}
    behind = _behind(links, zones.numbers)
    seats = {zone: Seat(parent.get(zone), own[zone], {}) for zone in own}
    for after, before in parent.items():
        seats[before].links[after] = united_regions([own[each] for each in behind[after]])
        if both_ways:
            seats[after].links[before] = united_regions([own[each] for each in own if each not in behind[after]])
    return seats


def zone_brokers(zones: Zones, server: PaintServer) -> dict[int, ZoneBroker]:
    """A broker for each zone, by its number; the server is with the one that holds the centre."""
    seats, root = zone_seats(zones), zones.server
    dims = zones.dims // 2
    return {zone: ZoneBroker(zone, dims, seat, server if zone == root else None) for zone, seat in seats.items()}


def relax_brokers(zones: Zones) -> dict[int, ZoneBroker]:
    """A broker for each zone, by its number, for CN-Relax."""
    seats, dims = zone_seats(zones, both_ways=True), zones.dims // 2
    return {zone: RelaxBroker(zone, dims, seat) for zone, seat in seats.items()}


def _behind(links: Int64s, zones: Int64s) -> dict[int, set[int]]:
    """Each zone with all that hang behind it. Links come in the order in which they spread."""
    behind = {int(zone): {int(zone)} for zone in zones}
    for before, after in links[::-1].tolist():
        behind[before] |= behind[after]
    return behind


def depth_of(seats: dict[int, Seat]) -> int:
    """How many links the longest way from the server has."""

    def depth(zone: int) -> int:
        parent = seats[zone].parent
        return 0 if parent is None else 1 + depth(parent)

    return max(depth(zone) for zone in seats)
