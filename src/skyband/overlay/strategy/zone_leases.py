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

from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import (
    DELIVERING,
    FLOW,
    HOMEWARD,
    PUBLISHING,
    Frame,
    Proxy,
    Publication,
    PublicationFrame,
    Recall,
    Silence,
    Withdraw,
)
from skyband.overlay.strategy.lease import HomeSide
from skyband.overlay.strategy.rendezvous import needed_zones
from skyband.overlay.strategy.strategy import Strategy
from skyband.overlay.strategy.zone_side import ZoneSide


class ZoneLeases(Strategy):
    """One hop to the zone, one hop to the home, and as few words as possible about gates."""

    name = "zone-leases"
    filters = True
    exact = True
    waits = True
    recovers = True
    sends_once = True

    def check(self) -> None:
        """Set up the zone of this broker, and the leases of its subscriptions."""
        super().check()
        if self.options.gates != "staircase":
            raise ValueError("Leases are staircases: take these gates.")
        self.zones = needed_zones(self.options.zones, self.chart.n_brokers)
        self.zone = ZoneSide(self)
        self.homes = HomeSide(self)
        self._mail: deque[Publication] = deque()

    @property
    def has_mail(self) -> bool:
        """Whether the zone of this broker has something for its own subscriptions."""
        return bool(self._mail)

    def started(self) -> None:
        """What was published here before a restart goes its way again."""
        for publication in self.broker.origin.own.values():
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
            self.homes.came(self._mail.popleft(), self.number)

    def take(self, source: int, frame: Frame) -> None:
        """For the zone of this broker, or for its subscriptions."""
        if isinstance(frame, PublicationFrame):
            if frame.column == PUBLISHING:
                self.zone.retainer.offer(frame.publication, self.broker.now, -1)
            else:
                self.homes.came(frame.publication, source, frame.doubts)
        elif isinstance(frame, Silence):
            if frame.asked is None:
                self.zone.hear(source, frame.until)
            else:
                self.homes.hear(source, frame)
        elif isinstance(frame, Proxy | Recall):
            self.zone.ask(source, frame)
        elif isinstance(frame, Withdraw):
            self.zone.withdraw(source, frame.id)

    def opened(self, peer: int) -> None:
        """A broker starts anew: its zone gets again what was published here, and the leases of those here."""
        self.zone.renew(peer)
        for publication in self.broker.origin.own.values():
            if self.zones.zone_of(publication.spoken.place) == peer:
                self.carry(peer, publication, PUBLISHING)
        self._say_origin(peer)
        self.homes.renew(peer)

    def pass_time(self) -> None:
        """Gates widen."""
        self.zone.retainer.pass_time(self.broker.now)

    def told_until(self) -> None:
        """Every zone hears up to when it has all from here."""
        self.zone.hear(self.number, self.broker.origin.until)
        if self.options.mode == "watermark":
            for peer in range(self.chart.n_brokers):
                self._say_origin(peer)

    def check_dims(self, what: str, n_dims: int) -> None:
        """Places have a zone only if the map has as many dimensions."""
        self.zones.check_dims(what, n_dims)

    def subscribed(self, asked: RoutedSubscription) -> None:
        """A lease in every zone that its gate reaches."""
        self.broker.intake.begin(asked)
        self.homes.begin(asked)

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """All leases end."""
        self.broker.intake.end(asked.id)
        self.homes.end(asked.id)

    def loosen(self, publication: Publication) -> None:
        """Leases that foresaw too little end."""
        self.homes.loosen(publication)

    def relies_on(self, holder: int, proxy: Proxy) -> bool:
        """Leases that have ended count for nothing."""
        return self.homes.relies_on(holder, proxy)

    def is_complete(self, at: int) -> bool:
        """Every zone that a gate of that time reaches has a lease, and has sent what it lets in."""
        if not self.homes.are_served(at):
            return False
        # What the next step will need is asked for now.
        self.homes.are_served(at + self.options.tick)
        return True

    def changed(self, rows: list[tuple[Any, ...]]) -> None:
        """Gates may have moved."""
        self.homes.forget_gates()

    def settle(self) -> None:
        """Open leases are tightened or given up; without watermarks, what the next tick needs is asked for now."""
        self.homes.tighten()
        if self.options.mode == "eager":
            self.homes.are_served(self.broker.now + self.options.tick)

    def _say_origin(self, peer: int) -> None:
        if peer != self.number and self.options.mode == "watermark":
            self.send(peer, FLOW, Silence(self.broker.origin.until, None))
