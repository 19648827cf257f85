"""What the messages of the ranges paper's approaches cost in the broker network, counted by overlay and by IP links."""

from collections.abc import Iterator, Sequence

import numpy as np

from skyband.bench.benchmark import Column, Progress
from skyband.bench.figure import Plot
from skyband.bench.painting import DENSE, SEED, Approach, Crowd, Setting, World, plant
from skyband.bench.painting_trial import MESSAGE_BYTES, UNICAST_BYTES, Trial, contest
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, K, Scale, plot, relative, shown
from skyband.bench.paper import average
from skyband.bench.row import Row
from skyband.kernels.array import Floats, Int64s
from skyband.overlay import Network, Zones, internet
from skyband.ranges.kernels.boxsearch import report
from skyband.ranges.kernels.message import Messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.wire import message_bytes
from skyband.workload.seed import Part, generator

# What travels here is of one dimension.
SENT = message_bytes(1)


class Paths:
    """A network over zones of the subscriptions; changes begin at random brokers.

    `home` is the zone of each subscription. A message from the server to one zone alone takes what `direct` says if it
    goes from broker to broker. If the server knows the address of that broker it takes one link of the overlay, which
    passes no other broker, and `straight` IP hops.
    """

    def __init__(self, world: World, n_zones: int, n_nodes: int) -> None:
        zones, topology = Zones(world.points, n_zones), internet(n_nodes, SEED)
        self.network = Network(zones, topology, topology.choose(n_zones, SEED))
        self.home = zones.zone_of(world.points)
        self.direct = self.network.unicast(zones.numbers)
        self.straight = self.network.hops[zones.server].astype(np.int64)
        self.origins = generator(SEED, Part.CENTRES).integers(0, n_zones, len(world.changes.object))

    def to_server(self, at: slice) -> dict[str, float]:
        """What it takes to tell the server of a change; the way there is taken to be as long as that back."""
        links = {"way_overlay": self.direct.overlay_hops, "way_ip": self.direct.ip_hops}
        return {name: float(MESSAGE_BYTES * hops[self.origins[at]].mean()) for name, hops in links.items()}


class Carried(Trial):
    """A trial whose messages are sent through a network; those of Unicast follow from those of Paint-Dense."""

    def __init__(self, paths: Paths, world: World, crowd: Crowd, approach: Approach) -> None:
        super().__init__(world, crowd, approach)
        self.paths = paths
        self.overlay, self.ip = np.zeros((2, len(world.changes.object)))
        self.alone_overlay, self.alone_ip = np.zeros((2, len(world.changes.object)))
        self.straight_overlay, self.straight_ip = np.zeros((2, len(world.changes.object)))
        self._found = np.zeros(len(world.points) if approach == DENSE else 0, np.int64)

    def count(self, messages: Messages, changes: ObjectChanges, at: slice) -> None:
        """Enter messages into the ledger, and their links."""
        super().count(messages, changes, at)
        if self.approach.algorithm == "unicast":
            return
        origins = self.paths.origins[at] if self.approach.algorithm == "relax" else None
        traffic = self.paths.network.broadcast(messages, origins).per_event(messages.event, len(changes.object))
        self.overlay[at] += traffic.overlay_hops
        self.ip[at] += traffic.ip_hops
        if self.approach == DENSE:
            n = int(messages.length[0])
            for i in np.flatnonzero(messages.object[:n] == changes.object[messages.event[:n]]).tolist():
                self._tell_each(messages.low[i], messages.high[i], at.start + int(messages.event[i]))

    def _tell_each(self, low: Floats, high: Floats, change: int) -> None:
        n = report(self.crowd.points.trees, 0, low, high, self._found, 0)
        zones: Int64s = self.paths.home[self._found[:n]]
        self.alone_overlay[change] += self.paths.direct.overlay_hops[zones].sum()
        self.alone_ip[change] += self.paths.direct.ip_hops[zones].sum()
        self.straight_overlay[change] += np.count_nonzero(zones != self.paths.network.zones.server)
        self.straight_ip[change] += self.paths.straight[zones].sum()

    def measures(self, since: int) -> dict[str, float]:
        """What a change took on average; all but CN-Relax have to tell the server first, which is told apart."""
        at, told = slice(since, self.n_done), super().measures(since)
        if self.approach.algorithm != "relax":
            told |= self.paths.to_server(at)
        return told | _traffic(self.overlay[at], self.ip[at], MESSAGE_BYTES)

    def completed(self, dense: Trial, since: int) -> dict[str, float]:
        """The measures of Unicast over all changes that Paint-Dense has seen."""
        told, at = super().completed(dense, since), slice(since, dense.n_done)
        if isinstance(dense, Carried):
            told |= self.paths.to_server(at)
            told |= _traffic(dense.alone_overlay[at], dense.alone_ip[at], UNICAST_BYTES)
            told |= average("straight_overlay_bytes", UNICAST_BYTES * dense.straight_overlay[at])
            told |= average("straight_ip_bytes", UNICAST_BYTES * dense.straight_ip[at])
        return told


def _traffic(overlay: Floats, ip: Floats, unit: int) -> dict[str, float]:
    """Links as bytes, in the paper's unit and of messages as they are sent."""
    told = average("overlay_bytes", unit * overlay) | average("ip_bytes", unit * ip)
    return told | average("overlay_sent", SENT * overlay) | average("ip_sent", SENT * ip)


def carried(
    world: World, setting: Setting, scale: Scale, approaches: Sequence[Approach], progress: Progress
) -> Iterator[Row]:
    """A contest for each k, with all messages sent through one network."""
    progress(f"{len(world.points):,} subscriptions: building {scale.n_zones:,} zones")
    tree, paths = plant(world), Paths(world, scale.n_zones, scale.n_nodes)
    for k in scale.ks:
        about = f"{len(world.points):,} subscriptions, k = {k}"
        progress(about)
        yield from contest(world, Crowd(tree, k), approaches, setting, about, lambda *given: Carried(paths, *given))


TRAFFIC: tuple[Column, ...] = (
    K,
    APPROACH,
    shown("overlay bytes, paper's unit", "overlay_bytes"),
    relative("ratio", "overlay_bytes"),
    shown("IP bytes, paper's unit", "ip_bytes"),
    relative("ratio of IP bytes", "ip_bytes"),
    shown("overlay bytes as sent", "overlay_sent"),
    shown("IP bytes as sent", "ip_sent"),
    shown("overlay bytes if sent straight, paper's unit", "straight_overlay_bytes"),
    shown("IP bytes if sent straight, paper's unit", "straight_ip_bytes"),
    shown("overlay bytes to the server, paper's unit", "way_overlay"),
    shown("IP bytes to the server, paper's unit", "way_ip"),
    shown("messages", "messages"),
    shown("bytes from the server, paper's unit", "bytes"),
    shown("bytes from the server as sent", "sent_bytes"),
    MICROSECONDS,
    EVENTS,
)


def traffic_plots(figure: str, of: Sequence[str]) -> tuple[Plot, ...]:
    """Parts a and b of a figure."""
    return tuple(
        plot(
            letter,
            f"{figure}({letter}): {name} traffic for a change",
            "k",
            measure,
            "bytes a change, paper's unit",
            of=of,
        )
        for letter, name, measure in (("a", "overlay", "overlay_bytes"), ("b", "IP", "ip_bytes"))
    )
