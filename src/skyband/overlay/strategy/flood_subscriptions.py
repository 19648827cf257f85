"""Subscription flooding (section 4.2.2 and figure 10 of the top-k/w paper).

Subscriptions flood the tree, and so do their cancellations and the changes of their gates. Every broker has a proxy of
every subscription, and sends what is published there directly to the brokers at which it matters.
"""

from typing import Any

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import (
    CONTROL,
    DELIVERING,
    HOMEWARD,
    SUBSCRIBING,
    UPDATING,
    Frame,
    Proxy,
    Publication,
    PublicationFrame,
    Silence,
    Withdraw,
)
from skyband.overlay.broker.retainer import Retainer, admits_now, admits_since
from skyband.overlay.broker.step import NEVER
from skyband.overlay.strategy.proxy_tree import LinkNews, ProxyTree
from skyband.overlay.strategy.strategy import Strategy
from skyband.overlay.strategy.with_proxies import ProxyWatch


class SubscriptionFlooding(Strategy):
    """Publishers match, and send directly to the homes of subscriptions."""

    name = "subscription-flooding"
    filters = True
    exact = True
    waits = True
    recovers = True
    sends_once = True

    def check(self) -> None:
        """Set up proxies by link and by home."""
        super().check()
        admits = admits_since if self.options.mode == "watermark" else admits_now
        self.retainer = Retainer(self._emit, self.broker.retention.kept_since, self.options.holds, admits)
        self.watch = ProxyWatch(self.broker, self._put_own)
        self.proxies = ProxyTree(self.number, self.chart.tree[self.number], False, self._tell)
        self._until: dict[int, tuple[int, Any]] = {}
        # The versions by which proxies were last known to ask for more.
        self._widest: dict[Id, int] = {}
        self._said: dict[int, Silence] = {}

    def started(self) -> None:
        """What was published here before a restart is held again."""
        for publication in self.broker.origin.own.values():
            self.published(publication)

    def subscribed(self, asked: RoutedSubscription) -> None:
        """Its proxy goes everywhere; what was published here is tried at once."""
        self.broker.intake.begin(asked)
        self._put_own(self.watch.first(asked))
        for publication in list(self.retainer.publications()):
            self.watch.came(publication)

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """Its proxies are withdrawn everywhere."""
        self.broker.intake.end(asked.id)
        self.watch.drop(asked.id)
        self.proxies.drop(self.watch.name(asked.id), self.number)

    def published(self, publication: Publication) -> None:
        """Matched here with all subscriptions there are."""
        self.retainer.offer(publication, self.broker.now, self.number)
        if self.broker.home.subscriptions:
            self.watch.came(publication)

    def take(self, source: int, frame: Frame) -> None:
        """Proxies are kept by home, and passed on."""
        if isinstance(frame, PublicationFrame):
            self.watch.came(frame.publication)
        elif isinstance(frame, Proxy):
            if frame.widens:
                self._widest[frame.asked.id] = max(frame.version, self._widest.get(frame.asked.id, 0))
            self.proxies.put(frame, source, self.broker.now)
            self.retainer.put(frame.home, frame, self.broker.now)
            self._say(frame.home)
        elif isinstance(frame, Withdraw):
            self._give_up(frame.id, source)
        elif isinstance(frame, Silence):
            self._until[source] = frame.until, frame.asked

    def opened(self, peer: int) -> None:
        """A broker starts anew: a neighbour will tell its proxies again, a home needs again what it was sent."""
        self._until.pop(peer, None)
        self._said.pop(peer, None)
        if peer in self.proxies.links:
            homes = {id: proxy.home for id, proxy in self.proxies.got[peer].items()}
            for id in self.proxies.renew(peer):
                self.retainer.withdraw(homes[id], id)
                self._widest.pop(id, None)
        self.retainer.resend(peer, self.broker.now)
        self._say(peer)

    def pass_time(self) -> None:
        """Gates widen."""
        self.retainer.pass_time(self.broker.now)

    def told_until(self) -> None:
        """Every home is told that nothing is missing from here."""
        for home in self.retainer.destinations:
            self._say(home)

    def is_complete(self, at: int) -> bool:
        """All other brokers have said so, and know of all subscriptions here."""
        return all(self._has_sent(peer, at) for peer in range(self.chart.n_brokers) if peer != self.number)

    def _has_sent(self, peer: int, at: int) -> bool:
        until, asked = self._until.get(peer, (NEVER, ()))
        return until >= at and self.watch.has_heard(dict(asked))

    def changed(self, rows: list[tuple[Any, ...]]) -> None:
        """Gates may have moved."""
        self.watch.changed()

    def settle(self) -> None:
        """Gates may have widened."""
        self.watch.settle()

    def loosen(self, publication: Publication) -> None:
        """Proxies that foresaw too little are sent anew."""
        self.watch.loosen(publication)

    def relies_on(self, holder: int, proxy: Proxy) -> bool:
        """Without watermarks nobody waits for those that were sent anew."""
        return self.broker.by_watermark or self.watch.is_wide(proxy)

    def _give_up(self, id: Any, source: int) -> None:
        proxy = self.proxies.got[source].get(id)
        if proxy is not None:
            self.proxies.drop(id, source)
            self.retainer.withdraw(proxy.home, id)
            self._widest.pop(id, None)

    def _say(self, home: int) -> None:
        proxies = self.retainer.destination(home).proxies
        known = tuple((id, self._widest[id]) for id in sorted(proxies, key=str))
        said = Silence(self.broker.origin.until, known)
        if self.options.mode == "watermark" and proxies and said != self._said.get(home):
            self._said[home] = said
            self.send(home, HOMEWARD, said)

    def _emit(self, target: int, publication: Publication, column: str) -> None:
        self.carry(target, publication, column or DELIVERING, HOMEWARD)

    def _put_own(self, proxy: Proxy) -> None:
        self.proxies.put(self.watch.abroad(proxy), self.number, self.broker.now)

    def _tell(self, peer: int, news: LinkNews) -> None:
        for proxy in news.new:
            self.send(peer, CONTROL, proxy._replace(column=SUBSCRIBING, widens=True))
        for proxy in news.moved:
            self.send(peer, CONTROL, proxy._replace(column=UPDATING))
        for id in news.gone:
            self.send(peer, CONTROL, Withdraw(id))
