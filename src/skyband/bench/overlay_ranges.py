"""The traffic of the ranges paper's approaches in a network that runs: bytes that brokers of zones have really sent.

Objects and subscriptions are there at first, and nothing is counted for that. Then objects change at random brokers,
one change after another; with CN-Relax an object always changes at the same one. At the end some lists are held against
the objects themselves.
"""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import skyband
from skyband.bench.experiment import Progress
from skyband.bench.ranges_data import SEED, Approach, World, make_world
from skyband.bench.ranges_traffic import FILE, Journey, is_left_out, left_out, stock_world
from skyband.bench.ranges_trial import MESSAGE_BYTES, UNICAST_BYTES
from skyband.bench.real import why_missing
from skyband.bench.row import Row, average, measured
from skyband.bench.runner import WrongAnswer, no_collection
from skyband.kernels.array import Floats, Int16s, Int64s
from skyband.overlay import Zones, internet, quadrants
from skyband.overlay.broker.event import Offered
from skyband.overlay.network.link_world import COLUMNS, PUBLISHING, REPORTING, Link, LinkTally, LinkWorld
from skyband.overlay.network.paint_rows import PaintRows
from skyband.overlay.network.paint_server import PaintServer, RankedObject, Sighting
from skyband.overlay.network.parcel import Estate, StandingList
from skyband.overlay.network.relax_broker import RelaxBroker, RelaxGateway
from skyband.overlay.network.zone_broker import ZoneBroker
from skyband.overlay.network.zone_tree import relax_brokers, zone_brokers
from skyband.ranges.server import PaintPlan
from skyband.workload.seed import Purpose, generator

N_CHECKED = 200
Tops = dict[int, list[RankedObject]]


class NetworkPlace(NamedTuple):
    """Zones, the IP hops between their brokers, and the brokers where changes happen."""

    zones: Zones
    hops: Int16s
    origins: Int64s


class Asked(NamedTuple):
    """All subscriptions, to the k best, with their tops before the first change."""

    k: int
    rows: list[dict[str, Any]]
    tops: Tops


class RangesNetwork:
    """A network with everything in its place before the first change."""

    def __init__(self, world: World, place: NetworkPlace, asked: Asked, approach: Approach) -> None:
        self.world, self.place, self.asked, self.approach = world, place, asked, approach
        home = place.zones.zone_of(world.points)
        make = self._relaxed if approach.algorithm == "relax" else self._served
        self.network = LinkWorld(make([np.flatnonzero(home == zone) for zone in range(place.zones.n_zones)]), SEED)

    def _served(self, held: list[Int64s]) -> dict[int, ZoneBroker]:
        """Gateways with the lists of their zones, and a server that has let the objects in before anybody asked."""
        world, (k, rows, tops), algorithm = self.world, self.asked, self.approach.algorithm
        assert algorithm != "relax"
        server = PaintServer(PaintPlan(algorithm, self.approach.epsilon))
        for i in np.flatnonzero(world.alive).tolist():
            server.change(Sighting(0, i, tuple(world.x[i].tolist()), float(world.y[i])))
        for key, point in enumerate(world.points):
            server.enter(key, k, point)
        brokers = zone_brokers(self.place.zones, server)
        for zone, broker in brokers.items():
            lists = [StandingList(key, rows[key], 0, tops[key]) for key in held[zone].tolist()]
            broker.gateway.take_over(Estate(broker.region, server.event, lists, [], {}, []))
        return brokers

    def _relaxed(self, held: list[Int64s]) -> dict[int, ZoneBroker]:
        """Gateways with the objects of their zones, and brokers that know where the objects are that change there."""
        world, brokers = self.world, relax_brokers(self.place.zones)
        alive = np.flatnonzero(world.alive)
        x, boxes = world.x[alive], quadrants(world.x[alive])
        rows = PaintRows(boxes.low, boxes.high, x, world.y[alive], np.zeros(len(x), np.int64), pa.array(alive))
        for zone, broker in brokers.items():
            leads_here = broker.region.meets(rows.low, rows.high)
            if leads_here.any():
                broker.gateway.hear(0, rows.chosen(leads_here))
            assert isinstance(broker.gateway, RelaxGateway)
            broker.gateway.take_all({key: self.asked.rows[key] for key in held[zone].tolist()})
        for object in alive.tolist():
            origin = brokers[self._origin(object)]
            assert isinstance(origin, RelaxBroker)
            origin.places[object] = tuple(world.x[object].tolist())
        return brokers

    def _origin(self, number: int) -> int:
        return int(self.place.origins[number % len(self.place.origins)])

    def change(self, number: int) -> LinkTally:
        """Let a change happen, and all that follows from it; what went over links."""
        changes, relaxed = self.world.changes, self.approach.algorithm == "relax"
        object, y = int(changes.object[number]), float(changes.y[number]) if changes.alive[number] else None
        self.network.tally = LinkTally()
        what = Offered({"object": object, "x": float(changes.x[number, 0]), "y": y})
        self.network.ask(self.network.now + 1, self._origin(object if relaxed else number), what)
        return self.network.run().tally

    def require_right_lists(self, n_changes: int) -> None:
        """Raise `WrongAnswer` unless some lists are what the objects say after so many changes."""
        x, y, alive = self.world.x[:, 0].copy(), self.world.y.copy(), self.world.alive.copy()
        object, at, its, lives, _ = self.world.part(0, n_changes)
        for i in range(n_changes):
            x[object[i]], y[object[i]], alive[object[i]] = at[i, 0] if lives[i] else x[object[i]], its[i], lives[i]
        order = np.lexsort((-np.arange(len(y)), y))
        order = order[alive[order]]
        tops = {key: top for broker in self.network.brokers.values() for key, top in broker.gateway.top().items()}
        for key in range(0, len(self.asked.rows), 1 + len(self.asked.rows) // N_CHECKED):
            lo, hi = self.world.points[key]
            best = order[(lo <= x[order]) & (x[order] <= hi)][: self.asked.k]
            if [member.object for member in tops[key]] != best.tolist():
                raise WrongAnswer(f"{self.approach.label}: the list of subscription {key} is wrong.")


class Trip(NamedTuple):
    """What changes took, one number for each: over links of the overlay and over IP."""

    overlay_sent: Floats
    ip_sent: Floats
    overlay_bytes: Floats
    ip_bytes: Floats
    parcels: Floats
    messages: Floats
    way_overlay: Floats
    way_ip: Floats

    def measures(self) -> dict[str, float]:
        """What a change took on average."""
        told: dict[str, float] = {}
        for name, values in self._asdict().items():
            told |= average(name, values)
        return told


def run_network(journey: Journey, progress: Progress) -> Iterator[Row]:
    """A contest for each k on a workload of the paper."""
    yield from _contests(make_world(journey.setting), journey, progress)


def run_stock_network(journey: Journey, progress: Progress) -> Iterator[Row]:
    """A contest for each k on the trace of stocks, or on a made-up one, which is the same everywhere."""
    if is_left_out(journey):
        yield from left_out(journey, why_missing(FILE))
    else:
        world, all_changes = stock_world(journey)
        n_events = min(journey.setting.n_events, all_changes.setting.n_events)
        setting = all_changes.setting._replace(n_events=n_events - n_events % journey.setting.batch)
        yield from _contests(world, journey._replace(setting=setting), progress)


def place_of(world: World, journey: Journey) -> NetworkPlace:
    """Zones of the subscriptions, whose brokers are nodes of a network like the internet."""
    zones, topology = Zones(world.points, journey.n_zones), internet(journey.n_nodes, SEED)
    origins = generator(SEED, Purpose.CENTRES).integers(0, journey.n_zones, len(world.changes.object))
    return NetworkPlace(zones, topology.hops(topology.choose(journey.n_zones, SEED)), origins)


def _contests(world: World, journey: Journey, progress: Progress) -> Iterator[Row]:
    progress(f"{len(world.points):,} subscriptions: building {journey.n_zones:,} zones")
    place = place_of(world, journey)
    for k in journey.ks:
        asked = asked_of(world, k)
        for approach in journey.approaches:
            progress(f"k = {k}, {approach.label}")
            yield _row(RangesNetwork(world, place, asked, approach), journey)


def asked_of(world: World, k: int) -> Asked:
    """All subscriptions, to the k best, and their tops by one engine."""
    points = world.points.tolist()
    rows = [{"id": i, "k": k, "lo": lo, "hi": hi} for i, (lo, hi) in enumerate(points)]
    x, y = world.x[:, 0].tolist(), world.y.tolist()
    engine = skyband.open("ranges", "paint")
    engine.publish(
        [{"id": i, "ts": 0, "object": i, "x": x[i], "y": y[i]} for i in np.flatnonzero(world.alive).tolist()]
    )
    engine.subscribe(rows)
    tops: Tops = {i: [] for i in range(len(rows))}
    for top in engine.top().to_pylist():
        tops[top["subscription"]].append(RankedObject(top["publication"], top["score"]))
    return Asked(k, rows, tops)


def _row(network: RangesNetwork, journey: Journey) -> Row:
    setting, approach, k = journey.setting, network.approach, network.asked.k
    n_events = setting.n_events
    trip, latencies = Trip(*np.zeros((len(Trip._fields), n_events))), []
    with no_collection():
        for start in range(0, n_events, setting.batch):
            since = time.perf_counter_ns()
            tallies = [network.change(number) for number in range(start, start + setting.batch)]
            latencies.append(time.perf_counter_ns() - since)
            for number, tally in enumerate(tallies, start):
                _enter(trip, number, tally, network)
    network.require_right_lists(n_events)
    given = setting._asdict() | {"k": k, "epsilon": approach.epsilon, "seed": SEED}
    given |= {"n_zones": journey.n_zones, "n_nodes": journey.n_nodes}
    measures = trip.measures() | {"events": float(n_events)}
    return measured(f"k = {k}", approach.label, given, latencies, setting.batch, measures)


def _enter(trip: Trip, number: int, tally: LinkTally, network: RangesNetwork) -> None:
    """Note what a change took."""
    unit = UNICAST_BYTES if network.approach.algorithm == "unicast" else MESSAGE_BYTES
    hops = network.place.hops
    for name, counted, times in (
        ("sent", tally.n_bytes[PUBLISHING], 1),
        ("bytes", tally.messages, unit),
    ):
        getattr(trip, f"overlay_{name}")[number] = times * counted.total()
        getattr(trip, f"ip_{name}")[number] = times * _over_ip(counted, hops)
    trip.parcels[number] = sum(tally.parcels[column].total() for column in COLUMNS)
    trip.messages[number] = tally.messages.total()
    trip.way_overlay[number] = tally.n_bytes[REPORTING].total()
    trip.way_ip[number] = _over_ip(tally.n_bytes[REPORTING], hops)


def _over_ip(counted: Counter[Link], hops: Int16s) -> int:
    return sum(n * int(hops[link]) for link, n in counted.items())
