"""Covering-based routing (section 4.2.3 and figure 11 of the top-k/w paper).

A proxy goes along the tree as far as no other one stands for it, by what each link has been told. A publication goes
back the same way, hop by hop, to the neighbours that have sent a proxy that lets it in.
"""

from typing import Any

from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import (
    CONTROL,
    DELIVERING,
    SUBSCRIBING,
    UPDATING,
    Frame,
    Proxy,
    Publication,
    Withdraw,
)
from skyband.overlay.strategy.along_tree import TreeStrategy
from skyband.overlay.strategy.proxy_tree import LinkNews, ProxyTree
from skyband.overlay.strategy.with_proxies import ProxyWatch


class CoveringRouting(TreeStrategy):
    """Proxies that nothing covers go everywhere; publications go to where they came from."""

    name = "covering"
    filters = True
    exact = True
    column = DELIVERING

    def check(self) -> None:
        """Set up the proxies of each link."""
        super().check()
        self.watch = ProxyWatch(self.broker, self._put_own)
        self.proxies = ProxyTree(self.number, self.neighbours, self.options.covering, self._tell)

    def subscribed(self, asked: RoutedSubscription) -> None:
        """Its proxy is spread; everything that passes by here may be tried on it."""
        everything = Proxy(asked, self.number, 0, ((self.broker.now, asked.open_gate),), None, SUBSCRIBING)
        self.broker.intake.begin(asked)
        self._put_own(self.watch.first(asked))
        self.retainer.put(self.number, everything, self.broker.now)

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """Its proxies are withdrawn."""
        self.broker.intake.end(asked.id)
        self.watch.drop(asked.id)
        self.retainer.withdraw(self.number, asked.id)
        self.proxies.drop(self.watch.name(asked.id), self.number)

    def came(self, publication: Publication) -> None:
        """For the subscriptions here."""
        self.watch.came(publication)

    def take(self, source: int, frame: Frame) -> None:
        """Proxies are kept and passed on; the rest is as along any tree."""
        if isinstance(frame, Proxy):
            if frame.widens:
                self.retainer.destination(source).asked += 1
            self.proxies.put(frame, source, self.broker.now)
            self.retainer.put(source, frame, self.broker.now)
            self.say()
        elif isinstance(frame, Withdraw):
            self.proxies.drop(frame.id, source)
            self.retainer.withdraw(source, frame.id)
        else:
            super().take(source, frame)

    def opened(self, peer: int) -> None:
        """A neighbour starts anew, and will ask again."""
        if peer in self.neighbours:
            super().opened(peer)
            self.retainer.forget(peer)
            self.proxies.renew(peer)
            self.say()

    def pass_time(self) -> None:
        """What is covered by now is looked at before anything is said of now."""
        self.proxies.pass_time(self.broker.now)
        super().pass_time()

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

    def _put_own(self, proxy: Proxy) -> None:
        self.proxies.put(self.watch.abroad(proxy), self.number, self.broker.now)

    def _tell(self, peer: int, news: LinkNews) -> None:
        for proxy in news.new:
            self.request(peer, proxy._replace(column=SUBSCRIBING, widens=True))
        for proxy in news.moved:
            told = proxy._replace(column=UPDATING)
            self.request(peer, told) if proxy.widens else self.send(peer, CONTROL, told)
        for id in news.gone:
            self.send(peer, CONTROL, Withdraw(id))
