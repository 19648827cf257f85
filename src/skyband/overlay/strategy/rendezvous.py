"""Rendezvous routing (section 4.2.4 and figure 12 of the top-k/w paper).

A subscription travels to its rendezvous broker, which holds the original; a publication travels to its own, is matched
there, and is delivered directly to the broker of the subscriber. Each is mapped to one broker by the zone it lies in.
A subscription that reaches beyond its zone misses what is published there, unless others know of it: the text of the
paper says that gates stay local ("nobody"), its Table 3 counts that direct neighbours are informed ("neighbours").
"""

from typing import Any

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.event import Heard
from skyband.overlay.broker.frame import (
    CONTROL,
    HOMEWARD,
    PUBLISHING,
    UPDATING,
    Delivered,
    Deregister,
    Forwarded,
    Frame,
    Proxy,
    Publication,
    PublicationFrame,
    Register,
    Withdraw,
)
from skyband.overlay.broker.retainer import Retainer, admits_now
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.strategy.strategy import Strategy
from skyband.overlay.strategy.with_proxies import ProxyWatch
from skyband.table import Op


def needed_zones(zones: ZoneMap | None, n_brokers: int) -> ZoneMap:
    """The zone map, which has to have a zone for each broker."""
    if zones is None or zones.zones.n_zones != n_brokers:
        raise ValueError("Rendezvous needs a zone map with a zone for each broker.")
    return zones


class RendezvousRouting(Strategy):
    """Subscriptions and publications meet at the broker of a zone."""

    name = "rendezvous"
    filters = True
    exact = False
    waits = False
    recovers = False

    def check(self) -> None:
        """Set up the subscriptions that are answered here, for whom."""
        super().check()
        self.zones = needed_zones(self.options.zones, self.chart.n_brokers)
        self.watch = ProxyWatch(self.broker, self._inform)
        self.retainer = Retainer(self._emit, self.broker.retention.kept_since, self.options.holds, admits_now)
        self._subscribers: dict[Id, int] = {}
        self._recent: dict[Id, Publication] = {}

    def check_dims(self, what: str, n_dims: int) -> None:
        """Places have a zone only if the map has as many dimensions."""
        self.zones.check_dims(what, n_dims)

    def subscribed(self, asked: RoutedSubscription) -> None:
        """It travels to the zone where publications are best for it."""
        self._route(Register(asked.row, self.number, self.zones.zone_for(asked)))

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """So does its cancellation."""
        self._route(Deregister(asked.id, self.zones.zone_for(asked)))

    def published(self, publication: Publication) -> None:
        """It travels to the zone that it lies in."""
        self._route(Forwarded(publication, self.zones.zone_of(publication.spoken.place)))

    def take(self, source: int, frame: Frame) -> None:
        """What travels goes on, or has arrived."""
        if isinstance(frame, Register | Deregister | Forwarded):
            self._route(frame)
        elif isinstance(frame, PublicationFrame):
            self._came(frame.publication)
        elif isinstance(frame, Delivered):
            self.broker.tell(Heard(frame.subscription, frame.publication.spoken.id))
        elif isinstance(frame, Proxy):
            self.retainer.put(source, frame, self.broker.now)
        elif isinstance(frame, Withdraw):
            self.retainer.withdraw(source, frame.id)

    def pass_time(self) -> None:
        """Gates widen."""
        self.retainer.pass_time(self.broker.now)
        limit = self.broker.now - self.options.horizon
        self._recent = {id: each for id, each in self._recent.items() if each.ts > limit}

    def changed(self, rows: list[tuple[Any, ...]]) -> None:
        """What has entered a top for the first time is delivered."""
        self.watch.changed()
        for subscription, id, op, *_, first in rows:
            if op == Op.ENTER and first and subscription in self._subscribers:
                self._deliver(subscription, id)

    def settle(self) -> None:
        """Gates may have widened."""
        self.watch.settle()

    def _route(self, frame: Register | Deregister | Forwarded) -> None:
        if frame.target != self.number:
            self.send(self.chart.next_hop(self.number, frame.target), CONTROL, frame)
        elif isinstance(frame, Register):
            self._host(frame)
        elif isinstance(frame, Deregister):
            self._drop(frame.id)
        else:
            self._came(frame.publication)
            self.retainer.offer(frame.publication, self.broker.now, self.number)

    def _host(self, frame: Register) -> None:
        asked = self.broker.routing.subscription(frame.row, self.options.settings)
        self._subscribers[asked.id] = frame.subscriber
        self.broker.intake.begin(asked)
        self._inform(self.watch.first(asked))
        for publication in list(self.retainer.publications()):
            self._came(publication)

    def _drop(self, id: Id) -> None:
        self._subscribers.pop(id, None)
        self.watch.keeper.drop(id)
        self.broker.intake.end(id)
        for peer in self._informed():
            self.send(peer, CONTROL, Withdraw(id))

    def _came(self, publication: Publication) -> None:
        if self.broker.home.subscriptions:
            self._recent[publication.spoken.id] = publication
            self.watch.came(publication)

    def _deliver(self, subscription: Id, id: Id) -> None:
        subscriber, publication = self._subscribers[subscription], self._recent[id]
        if subscriber == self.number:
            self.broker.tell(Heard(subscription, id))
        else:
            self.send(subscriber, HOMEWARD, Delivered(subscription, publication))

    def _informed(self) -> list[int]:
        return [] if self.options.inform == "nobody" else self.zones.neighbours(self.number)

    def _inform(self, proxy: Proxy) -> None:
        # A new subscription informs by Table 3's column of updates too: there is no other message for it.
        for peer in self._informed():
            self.send(peer, CONTROL, proxy._replace(column=UPDATING))

    def _emit(self, target: int, publication: Publication, column: str) -> None:
        self.carry(target, publication, column or PUBLISHING, HOMEWARD)
