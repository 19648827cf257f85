"""How messages travel between zones: to all of a box at once, or to one broker at a time; and what that costs.

A message goes from border to border to the first zone of its box, each time to the neighbour nearest to the box, and
spreads from there along the zones of the box, each of which gets it once. `skyband.overlay.kernels.zone` says why that
works. The last hop, from a gateway to its subscriptions, is not counted.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.overlay.kernels.zone import IP, OVERLAY, REACHED, Borders, count_hops, flood, is_empty, travel
from skyband.overlay.topology import Topology
from skyband.overlay.zones import Zones
from skyband.ranges.kernels.message import Messages, make_messages


class Route(NamedTuple):
    """The links that a message takes, a row each with the zones it goes from and to, and the zones of its box."""

    links: Int64s
    zones: Int64s


class Traffic(NamedTuple):
    """What messages cost, one number for each: how many were sent, links of the overlay, IP hops, and zones reached.

    A message to an empty box is not sent. Bytes are hops times the size of a message.
    """

    messages: Int64s
    overlay_hops: Int64s
    ip_hops: Int64s
    zones: Int64s

    def per_event(self, event: Int64s, n_events: int = 0) -> "Traffic":
        """The sums over the messages of each event, which have the same number in `event`, for at least `n_events`."""
        event = event[: len(self.messages)]
        sums = [np.bincount(event, numbers, n_events).astype(np.int64) for numbers in self]
        return Traffic(*sums)


class Network:
    """Zones whose brokers are nodes of a topology: the broker with number z runs on node `brokers[z]`."""

    def __init__(self, zones: Zones, topology: Topology, brokers: Int64s) -> None:
        self.zones = zones
        self.brokers = np.asarray(brokers, np.int64)
        self.hops = topology.hops(self.brokers)
        if (self.hops < 0).any():
            raise ValueError("Some brokers cannot reach each other.")
        self._unicasts: dict[int, Int64s] = {}
        self._known = self._borders()

    def broadcast(self, messages: Messages, sources: Int64s | None = None) -> Traffic:
        """Send each message to all zones of its box, from the server or from a zone of its own."""
        n = int(messages.length[0])
        if messages.low.shape[1] != self.zones.dims:
            raise ValueError(f"Messages need boxes of {self.zones.dims} sides.")
        sources = np.full(n, self.zones.server) if sources is None else np.asarray(sources, np.int64)
        if len(sources) != n or not np.isin(sources, self.zones.numbers).all():
            raise ValueError("Every message needs a zone as its source.")
        return _traffic(self._count(messages.low[:n], messages.high[:n], sources))

    def unicast(self, zones: Int64s, source: int | None = None) -> Traffic:
        """Send one message to each of these zones, from the server or from another zone, through the overlay."""
        if not np.isin(zones, self.zones.numbers).all():
            raise ValueError("Every message needs a zone to go to.")
        source, borders = _source(self.zones, source), self._borders()
        if borders is not self._known:
            self._unicasts, self._known = {}, borders
        if source not in self._unicasts:
            last = np.nextafter(borders.high, -np.inf)
            self._unicasts[source] = self._count(borders.low, last, np.full(len(last), source))
        return _traffic(self._unicasts[source][zones])

    def ip_hops(self, links: Int64s) -> Int64s:
        """How many IP hops each link between two zones takes."""
        return self.hops[links[:, 0], links[:, 1]].astype(np.int64)

    def _borders(self) -> Borders:
        borders = self.zones.borders
        if len(borders.low) > len(self.brokers):
            raise ValueError(f"{len(borders.low)} zones need as many brokers, not {len(self.brokers)}.")
        return borders

    def _count(self, low: Floats, high: Floats, sources: Int64s) -> Int64s:
        borders, counted = self._borders(), np.empty((len(low), 3), np.int64)
        count_hops(low, high, sources, borders, self.hops, *_space(borders), counted)
        return counted


def route(zones: Zones, low: Floats, high: Floats, source: int | None = None) -> Route:
    """The way of a message to the closed box from `low` to `high`, from the server or from another zone."""
    low, high = np.ascontiguousarray(low, np.float64), np.ascontiguousarray(high, np.float64)
    if low.shape != (zones.dims,) or high.shape != (zones.dims,):
        raise ValueError(f"A box needs {zones.dims} sides below and above.")
    source, borders = _source(zones, source), zones.borders
    if is_empty(low, high):
        return Route(np.empty((0, 2), np.int64), np.empty(0, np.int64))
    point, links = _space(borders)
    n_travelled = travel(source, low, high, borders, point, links)
    entry = links[n_travelled - 1, 1] if n_travelled else source
    n_links = flood(entry, low, high, borders, point, n_travelled, links)
    return Route(links[:n_links].copy(), np.append(entry, links[n_travelled:n_links, 1]))


def deliver(zones: Zones, messages: Messages, points: Floats) -> list[Int64s]:
    """For each message which of the points get it, ascending; gateways look only at those of their zone."""
    gateways = zones.zone_of(points)
    order, starts = np.argsort(gateways, kind="stable"), np.arange(len(zones.counts) + 1)
    starts = np.searchsorted(gateways[order], starts)
    delivered = []
    for low, high in zip(*(side[: messages.length[0]] for side in (messages.low, messages.high)), strict=True):
        reached = [order[starts[zone] : starts[zone + 1]] for zone in route(zones, low, high).zones]
        rows = np.sort(np.concatenate([*reached, order[:0]]))
        delivered.append(rows[((low <= points[rows]) & (points[rows] <= high)).all(axis=1)])
    return delivered


def boxes(low: Floats, high: Floats) -> Messages:
    """Messages to these closed boxes of the subscription space, a row each, about nothing in particular."""
    n, sides = low.shape
    messages = make_messages(n, sides // 2)
    messages.length[0], messages.low[:], messages.high[:] = n, low, high
    messages.event[:] = np.arange(n)
    return messages


def quadrants(x: Floats) -> Messages:
    """Messages to all subscriptions whose range has the place of an object in it, a row of `x` each."""
    n, dims = x.shape
    low, high = np.full((n, 2 * dims), -np.inf), np.full((n, 2 * dims), np.inf)
    low[:, 1::2], high[:, 0::2] = x, x
    messages = boxes(low, high)
    messages.x[:] = x
    return messages


def _source(zones: Zones, source: int | None) -> int:
    if source is None:
        return zones.server
    if source not in zones.numbers:
        raise ValueError(f"There is no zone {source}.")
    return source


def _space(borders: Borders) -> tuple[Floats, Int64s]:
    # No zone is passed twice on the way to a box, and none of its zones is passed before.
    n_zones, dims = borders.low.shape
    return np.empty(dims), np.empty((2 * n_zones, 2), np.int64)


def _traffic(counted: Int64s) -> Traffic:
    is_sent = (counted[:, REACHED] > 0).astype(np.int64)
    return Traffic(is_sent, counted[:, OVERLAY].copy(), counted[:, IP].copy(), counted[:, REACHED].copy())
