"""Small networks for tests: who asks for what when, and the lists that brute force gives after each event."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from skyband.contract.tops import Id
from skyband.overlay import Zones
from skyband.overlay.broker.event import Offered, Refused, Subscribed, Unsubscribed
from skyband.overlay.network.link_world import LinkWorld
from skyband.overlay.network.paint_server import PaintServer, RankedObject, Sighting
from skyband.overlay.network.zone_broker import ZoneBroker
from skyband.overlay.network.zone_event import Divide, Ordered, Retire, Stands, TopsMoved, ZoneEffect
from skyband.overlay.network.zone_tree import zone_seats
from skyband.ranges.server import PaintPlan

Row = dict[str, Any]
PLANS = {
    "dense": PaintPlan("dense"),
    "sparse": PaintPlan(),
    "sketch": PaintPlan(sketch=2),
    "loose": PaintPlan(epsilon=1.0),
    "unicast": PaintPlan("unicast"),
}
N_ZONES = 7


class Wrong(AssertionError):
    """A list is not what it has to be."""


Tops = dict[int, list[RankedObject]]


class ListWatcher:
    """Knows the objects after each event, and looks at the lists of a gateway after each step of its broker.

    A list is right from the event that the gateway has heard last up to the one before the next that changes lists.
    """

    def __init__(self) -> None:
        self.objects: list[dict[Id, Sighting]] = [{}]
        self.began: dict[int, int] = {}
        self.refused: list[str] = []
        self.n_looks = 0
        self._last: dict[int, tuple[int, Tops]] = {}

    def __call__(self, world: LinkWorld, broker: ZoneBroker, effects: Sequence[ZoneEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Ordered):
                self.objects.append(self.objects[-1] | {effect.sighting.object: effect.sighting})
            elif isinstance(effect, Stands):
                self.began[effect.key] = effect.event
            elif isinstance(effect, Refused):
                self.refused.append(effect.reason)
        broker.gateway.check()
        event, tops = broker.gateway.event, broker.gateway.top()
        heard, before = self._last.get(broker.number, (event, {}))
        moved = [effect.event for effect in effects if isinstance(effect, TopsMoved)]
        if event > heard:
            self.look(broker.number, broker.gateway.rows, before, min([event, *moved]) - 1)
        self.look(broker.number, broker.gateway.rows, tops, event)
        self._last[broker.number] = event, tops

    def look(self, number: int, rows: dict[int, Row], tops: Tops, event: int) -> None:
        """Hold lists against brute force, as of an event, or of the one that they began with."""
        for key, top in tops.items():
            if key in rows:
                self.n_looks += 1
                asof = max(event, self.began.get(key, 0))
                wanted = self.best(rows[key], asof)
                if top != wanted:
                    raise Wrong(f"At {number} after event {asof} subscription {key} has {top}, not {wanted}.")

    def look_at_all(self, world: LinkWorld) -> None:
        """When all is quiet, every list is that of the last event, and everybody has one."""
        last = len(self.objects) - 1
        for number, broker in world.brokers.items():
            if not broker.is_idle:
                raise Wrong(f"Broker {number} still waits for something.")
            tops = broker.gateway.top()
            if set(tops) != set(broker.gateway.rows):
                raise Wrong(f"At {number} not everybody was answered.")
            self.look(number, broker.gateway.rows, tops, last)
        server = server_of(world)
        server.check()
        asked = sum(broker.n_asked for broker in world.brokers.values())
        if not asked == server.n_subscriptions == sum(len(each.gateway.rows) for each in world.brokers.values()):
            raise Wrong("Subscriptions are missing or doubled.")

    def best(self, row: Row, event: int) -> list[RankedObject]:
        """The answer after an event."""
        lo, hi = np.atleast_1d(row["lo"]), np.atleast_1d(row["hi"])
        inside = [
            RankedObject(object, each.y)
            for object, each in self.objects[event].items()
            if each.y is not None and (lo <= each.x).all() and (each.x <= hi).all()
        ]
        # Of equal y the larger id comes first.
        return sorted(sorted(inside, reverse=True), key=lambda member: member.y)[: row["k"]]


def server_of(world: LinkWorld) -> PaintServer:
    """The server, wherever it is."""
    return next(broker.server for broker in world.brokers.values() if broker.server is not None)


def draw_row(random: np.random.Generator, id: Id, ks: Sequence[int] = (1, 2, 3)) -> Row:
    """A range on a small grid, or an open one."""
    lo, hi = np.sort(random.choice([-np.inf, 0.0, 1.0, 2.0, 2.5, 4.0, 5.0, np.inf], 2, p=[0.1, *[0.8 / 6] * 6, 0.1]))
    return {"id": id, "k": int(random.choice(ks)), "lo": float(lo), "hi": float(hi)}


def draw_change(random: np.random.Generator) -> Row:
    """A change of one of a few objects in a few places: ties, moves, deletions and births."""
    y = None if random.random() < 0.15 else float(random.integers(0, 5))
    return {"object": int(random.integers(0, 9)), "x": float(random.integers(0, 6)), "y": y}


def make_network(
    plan: PaintPlan | None = None,
    n_zones: int = N_ZONES,
    seed: int = 0,
    make: Callable[..., ZoneBroker] = ZoneBroker,
    watch: Any = None,
    server: PaintServer | None = None,
    delays: tuple[int, int] = (1, 4_000),
    slow: float = 0.2,
) -> LinkWorld:
    """Brokers of zones of the small grid, with a server in the middle."""
    points = np.sort(np.random.default_rng(5).integers(0, 6, (60, 2)), axis=1).astype(float)
    zones = Zones(points, n_zones)
    seats = zone_seats(zones)
    root = zones.server
    server = server or PaintServer(plan)
    brokers = {zone: make(zone, seat=seat, server=server if zone == root else None) for zone, seat in seats.items()}
    return LinkWorld(brokers, seed, delays, slow, watch, make)


def trouble(world: LinkWorld, seed: int, n: int = 100, moves: bool = False) -> LinkWorld:
    """Let clients come and go and objects change while parcels are on their way; with `moves` brokers come and go."""
    random = np.random.default_rng(seed)
    asked: list[tuple[int, Id]] = []
    fresh, root = 1000, next(number for number, broker in world.brokers.items() if broker.server)
    active = list(world.brokers)
    for turn in range(n):
        at, kind, broker = 250 * turn, random.random(), int(random.choice(active))
        if kind < 0.3:
            asked.append((broker, turn))
            world.ask(at, broker, Subscribed(draw_row(random, turn)))
        elif kind < 0.38 and asked:
            where, id = asked.pop(int(random.integers(len(asked))))
            world.ask(at, where, Unsubscribed(id))
        elif kind < 0.46 and moves:
            if random.random() < 0.5 or broker == root:
                fresh += 1
                world.ask(at, broker, Divide(fresh))
                active.append(fresh)
            else:
                world.ask(at, broker, Retire())
                active.remove(broker)
        else:
            world.ask(at, broker, Offered(draw_change(random)))
    return world.run()
