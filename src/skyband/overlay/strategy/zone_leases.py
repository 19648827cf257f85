"""Ours: rendezvous over a full zone map, with staircases as leases.

Every broker knows all zones, so that a publication goes to the broker of its zone in one hop. That broker keeps what
is live in its zone, and has proxies of the subscriptions that may reach into it. A proxy is a *lease*: it foresees how
the gate widens, lets nothing in from the time on when it would have to let everything in, and its home knows that
time. The home keeps watch over its own gate: before it takes a step at t, every zone that the gate of t reaches has a
lease beyond t and has sent what that lets in. Where too few are left to close the gate, it recalls the best that was
held back before it opens leases for everything. So what is late costs traffic and time, and never an answer.
"""

from collections import deque
from typing import Any

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import (
    CONTROL,
    DELIVERING,
    FLOW,
    HOMEWARD,
    LIFE,
    PUBLISHING,
    SUBSCRIBING,
    UPDATING,
    Doubt,
    Frame,
    Proxy,
    Publication,
    PublicationFrame,
    Recall,
    Silence,
    Steps,
    Withdraw,
)
from skyband.overlay.broker.gatekeeper import lets_in_vain
from skyband.overlay.broker.retainer import NEVER, Retainer, admits_now, admits_since
from skyband.overlay.strategy.rendezvous import needed_zones
from skyband.overlay.strategy.strategy import Strategy


class Leases:
    """The proxies of one subscription, by zone, as they were last sent."""

    __slots__ = ("asked", "by_zone", "n_vain", "recalled")

    def __init__(self, asked: RoutedSubscription) -> None:
        self.asked = asked
        self.by_zone: dict[int, Proxy] = {}
        self.n_vain: dict[int, int] = {}
        self.recalled = False

    def holds(self, zone: int, at: int) -> bool:
        """Whether a zone lets in all that it must at a time."""
        proxy = self.by_zone.get(zone)
        return proxy is not None and (proxy.closes is None or at < proxy.closes)


class ZoneSide:
    """What a broker does for its zone: it keeps what is published there, and sends it to who may need it."""

    def __init__(self, strategy: "ZoneLeases") -> None:
        self._strategy, self._broker = strategy, strategy.broker
        admits = admits_since if strategy.options.mode == "watermark" else admits_now
        self.retainer = Retainer(strategy.emit, strategy.options.retention, True, admits, self._doubt)
        self._doubted: dict[int, set[Id]] = {}
        self._until = dict.fromkeys(range(strategy.chart.n_brokers), NEVER)
        self._said: dict[int, Silence] = {}

    @property
    def until(self) -> int:
        """Up to when all that was published in this zone has come."""
        return min(self._until.values())

    def hear(self, origin: int, until: int) -> None:
        """A broker has sent all that was published there up to a time."""
        before, self._until[origin] = self.until, until
        if self.until != before:
            self.say_all()

    def ask(self, home: int, frame: Proxy | Recall) -> None:
        """A home asks for more, or for less."""
        self.retainer.destination(home).asked += frame.widens if isinstance(frame, Proxy) else 1
        if isinstance(frame, Proxy):
            self._doubted.get(home, set()).discard(frame.asked.id)
            self.retainer.put(home, frame, self._broker.now)
        else:
            self.retainer.recall(home, frame.id, frame.n, self._broker.now)
        self._say(home)

    def renew(self, peer: int) -> None:
        """Another broker has started anew."""
        self._until[peer] = NEVER
        self._said.pop(peer, None)
        self._doubted.pop(peer, None)
        self.retainer.forget(peer)

    def withdraw(self, home: int, id: Id) -> None:
        """A home has no use for a lease any more."""
        self._doubted.get(home, set()).discard(id)
        self.retainer.withdraw(home, id)
        self._say(home)

    def _doubt(self, home: int, proxy: Proxy) -> bool:
        """Ask a home for the lease as it should be, and say nothing of what has been sent until it answers."""
        if home == self._broker.number or proxy.closes is None:
            return False
        self._doubted.setdefault(home, set()).add(proxy.asked.id)
        self._strategy.send(home, CONTROL, Doubt(proxy.asked.id))
        return True

    def say_all(self) -> None:
        """Tell every home that nothing is missing from here."""
        for home in self.retainer.destinations:
            self._say(home)

    def _say(self, home: int) -> None:
        is_owed = home != self._broker.number and not self._doubted.get(home)
        if self._strategy.options.mode == "watermark" and is_owed:
            said = Silence(self.until, self.retainer.destination(home).asked)
            if said.until > NEVER and said != self._said.get(home):
                self._said[home] = said
                self._strategy.send(home, HOMEWARD, said)


class ZoneLeases(Strategy):
    """One hop to the zone, one hop to the home, and as few words as possible about gates."""

    name = "zone-leases"
    filters = True
    exact = True
    waits = True
    recovers = True

    def check(self) -> None:
        """Set up the zone of this broker, and the leases of its subscriptions."""
        super().check()
        if self.options.gates != "staircase":
            raise ValueError("Leases are staircases: take these gates.")
        self.zones = needed_zones(self.options.zones, self.chart.n_brokers)
        self.zone = ZoneSide(self)
        self._leases: dict[Id, Leases] = {}
        self._mail: deque[Publication] = deque()
        self._asked = dict.fromkeys(range(self.chart.n_brokers), 0)
        self._until = dict.fromkeys(range(self.chart.n_brokers), (NEVER, 0))
        self._gates: dict[int, dict[Id, float]] = {}
        self._patience = 1 if self.options.patience is None else self.options.patience

    # Publications.

    def started(self) -> None:
        """What was published here before a restart goes its way again."""
        for publication in self.broker.own.values():
            self.published(publication)

    def published(self, publication: Publication) -> None:
        """One hop to its zone."""
        zone = self.zones.zone_of(publication.spoken.place)
        if zone == self.number:
            self.zone.retainer.offer(publication, self.broker.now, -1)
        else:
            self.carry(zone, publication, PUBLISHING)

    def emit(self, target: int, publication: Publication, column: str) -> None:
        """One hop to the home."""
        if target == self.number:
            self._mail.append(publication)
        else:
            self.carry(target, publication, column or DELIVERING, HOMEWARD)

    def finish(self) -> None:
        """What the zone of this broker has for its own subscriptions comes after all that is being done."""
        while self._mail:
            self._came(self._mail.popleft(), self.number)

    def take(self, source: int, frame: Frame) -> None:
        """For the zone of this broker, or for its subscriptions."""
        if isinstance(frame, PublicationFrame):
            if frame.column == PUBLISHING:
                self.zone.retainer.offer(frame.publication, self.broker.now, -1)
            else:
                self._came(frame.publication, source)
        elif isinstance(frame, Silence):
            if frame.asked is None:
                self.zone.hear(source, frame.until)
            else:
                self._until[source] = (frame.until, frame.asked)
        elif isinstance(frame, Proxy | Recall):
            self.zone.ask(source, frame)
        elif isinstance(frame, Withdraw):
            self.zone.withdraw(source, frame.id)
        elif isinstance(frame, Doubt):
            self._reassure(frame.id, source)

    def opened(self, peer: int) -> None:
        """A broker starts anew: its zone gets again what was published here, and the leases of those here."""
        self.zone.renew(peer)
        for publication in self.broker.own.values():
            if self.zones.zone_of(publication.spoken.place) == peer:
                self.carry(peer, publication, PUBLISHING)
        self._say_origin(peer)
        self._asked[peer], self._until[peer] = 0, (NEVER, 0)
        for leases in self._leases.values():
            if leases.by_zone.pop(peer, None) is not None:
                self._lease(leases, peer, SUBSCRIBING)

    def pass_time(self) -> None:
        """Gates widen."""
        self.zone.retainer.pass_time(self.broker.now)

    def told_until(self) -> None:
        """Every zone hears up to when it has all from here."""
        self.zone.hear(self.number, self.broker.own_until)
        for peer in range(self.chart.n_brokers):
            self._say_origin(peer)

    def _say_origin(self, peer: int) -> None:
        if peer != self.number and self.options.mode == "watermark":
            self.send(peer, FLOW, Silence(self.broker.own_until, None))

    # Subscriptions.

    def subscribed(self, asked: RoutedSubscription) -> None:
        """A lease in every zone that its gate reaches, which is open at first."""
        self.broker.begin(asked)
        leases = self._leases[asked.id] = Leases(asked)
        gate = asked.open_gate if asked.threshold is None else asked.threshold
        for zone in self.zones.reached(asked, gate):
            self._lease(leases, zone, SUBSCRIBING)

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """All leases end."""
        self.broker.end(asked.id)
        leases = self._leases.pop(asked.id, None)
        for zone in leases.by_zone if leases is not None else ():
            self._withdraw(asked.id, zone)

    def is_complete(self, at: int) -> bool:
        """Every zone that a gate of that time reaches has a lease, and has sent what it lets in."""
        if not self._are_served(at):
            return False
        # What the next step will need is asked for now.
        self._are_served(at + self.options.tick)
        return True

    def _are_served(self, at: int) -> bool:
        """All subscriptions are asked for what they lack before anything is waited for."""
        while True:
            found = [self._is_served(leases, at) for leases in list(self._leases.values())]
            if not self._mail:
                return all(found)
            self.finish()

    def changed(self, rows: list[tuple[Any, ...]]) -> None:
        """Gates may have moved."""
        self._gates = {}

    def settle(self) -> None:
        """Once a gate has closed, leases that were open are tightened or given up; without watermarks, more is due."""
        for leases in list(self._leases.values()):
            self._tighten(leases)
        if self.options.mode == "eager":
            self._are_served(self.broker.now + self.options.tick)

    def _is_served(self, leases: Leases, at: int) -> bool:
        asked, gate = leases.asked, self._gate(leases, at)
        if gate != asked.open_gate:
            leases.recalled = False
        elif self._awaits_recall(leases, at):
            return False
        missing = [zone for zone in self.zones.reached(asked, gate) if not leases.holds(zone, at)]
        for zone in missing:
            self._lease(leases, zone, UPDATING if zone in leases.by_zone else SUBSCRIBING, at)
        return not missing and all(self._has_sent(zone, at) for zone in self.zones.reached(asked, gate))

    def _has_sent(self, zone: int, at: int) -> bool:
        if zone == self.number:
            return self.zone.until >= at
        until, met = self._until[zone]
        return until >= at and met >= self._asked[zone]

    def _awaits_recall(self, leases: Leases, at: int) -> bool:
        """Ask the zones that have leases for what they held back, before leases are opened for everything."""
        zones = [zone for zone, proxy in leases.by_zone.items() if proxy.closes is not None]
        if leases.recalled:
            return self.options.mode == "watermark" and not all(self._has_sent(zone, at) for zone in zones)
        leases.recalled = True
        for zone in zones:
            self._ask(zone, Recall(leases.asked.id, leases.asked.k))
        return bool(zones)

    def _gate(self, leases: Leases, at: int) -> float:
        asked = leases.asked
        if asked.threshold is not None:
            return asked.threshold
        if asked.id not in self.broker.home.begun:
            return asked.open_gate
        if at not in self._gates:
            self._gates[at] = self.broker.home.gates(at)
        return self._gates[at].get(asked.id, asked.open_gate)

    def _tighten(self, leases: Leases) -> None:
        is_open = [zone for zone, proxy in leases.by_zone.items() if proxy.closes is None]
        gate = self._gate(leases, self.broker.home.applied) if is_open else leases.asked.open_gate
        if gate == leases.asked.open_gate or leases.asked.threshold is not None:
            return
        reached = set(self.zones.reached(leases.asked, gate))
        for zone in is_open:
            if zone in reached:
                self._lease(leases, zone, UPDATING, widens=False)
            else:
                self._withdraw(leases.asked.id, zone)
                del leases.by_zone[zone]

    def _came(self, publication: Publication, zone: int) -> None:
        """A publication has come from a zone; one that is let in in vain is worth a word."""
        home = self.broker.home
        gates = [(leases, self._gate(leases, home.applied)) for leases in self._leases.values()]
        if not self.broker.arrive(publication):
            return
        self._gates = {}
        for leases, gate in gates:
            proxy = leases.by_zone.get(zone)
            if proxy is not None and proxy.closes and lets_in_vain(proxy, publication, gate, self.broker.now):
                leases.n_vain[zone] = leases.n_vain.get(zone, 0) + 1
                if leases.n_vain[zone] >= self._patience:
                    self._lease(leases, zone, UPDATING, widens=False)
            if self.options.mode == "eager":
                self._tighten(leases)

    def _reassure(self, id: Id, zone: int) -> None:
        """A zone doubts a lease: it gets the staircase of now, and if that is open already, a lease that has ended."""
        leases = self._leases.get(id)
        if leases is None:
            self._withdraw(id, zone)
        else:
            self._lease(leases, zone, UPDATING, at=NEVER)

    def _lease(self, leases: Leases, zone: int, column: str, at: int | None = None, widens: bool = True) -> None:
        """Give a zone the staircase of a subscription as of now; one that is open by `at` lets everything in."""
        asked, home = leases.asked, self.broker.home
        leases.n_vain.pop(zone, None)
        since = max(home.applied, 0)
        steps: Steps = ((since, asked.open_gate if asked.threshold is None else asked.threshold),)
        closes: int | None = None
        if asked.threshold is None and asked.id in home.begun:
            stairs = home.staircase(asked.id)
            ends = [time for time, gate in stairs if gate == asked.open_gate]
            if not ends or ends[0] > (self.broker.now if at is None else at):
                steps, closes = stairs, ends[0] if ends else None
        before = leases.by_zone.get(zone)
        if not widens and before is not None and before.closes is not None and self.options.mode == "watermark":
            # To ask for a longer lease is to ask for more, and to wait for it.
            closes = min(closes or before.closes, before.closes)
        proxy = Proxy(asked, self.number, self.broker.sessions.incarnation * LIFE, steps, closes, column, widens)
        leases.by_zone[zone] = proxy
        self._ask(zone, proxy)

    def _ask(self, zone: int, frame: Proxy | Recall) -> None:
        if zone == self.number:
            self.zone.ask(self.number, frame)
        else:
            self._asked[zone] += frame.widens if isinstance(frame, Proxy) else 1
            self.send(zone, CONTROL, frame)

    def _withdraw(self, id: Id, zone: int) -> None:
        if zone == self.number:
            self.zone.withdraw(self.number, id)
        else:
            self.send(zone, CONTROL, Withdraw(id))
