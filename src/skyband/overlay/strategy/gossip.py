"""Gossiping (sections 4.2.5 and 4.2.6, figures 13 and 14 of the top-k/w paper): no promise that anything arrives.

Basic gossiping passes a publication to some random neighbours, for so many rounds. Informed gossiping first passes it
to the direct neighbours that it matters to, whose proxies it knows. A broker that gets it again does nothing.
"""

import random
from typing import Any

from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import (
    CONTROL,
    DELIVERING,
    PUBLISHING,
    Frame,
    Proxy,
    Publication,
    PublicationFrame,
    Withdraw,
)
from skyband.overlay.broker.retainer import Retainer, admits_now
from skyband.overlay.strategy.strategy import Strategy
from skyband.overlay.strategy.with_proxies import ProxyWatch


class BasicGossiping(Strategy):
    """`fan_out` random neighbours, for `rounds` rounds."""

    name = "basic-gossiping"
    filters = False
    exact = False
    waits = False
    recovers = False

    def check(self) -> None:
        """Set up what has been seen; chance comes from the seed alone."""
        super().check()
        if self.options.fan_out < 1 or self.options.rounds < 1:
            raise ValueError("Gossip needs a fan-out and rounds of at least 1.")
        self.neighbours = self.chart.neighbours[self.number]
        self._chance = random.Random(self.options.seed * 1_000_003 + self.number)
        self.seen: dict[tuple[int, int], int] = {}

    def subscribed(self, asked: RoutedSubscription) -> None:
        """Local."""
        self.broker.intake.begin(asked)

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """Local."""
        self.broker.intake.end(asked.id)

    def published(self, publication: Publication) -> None:
        """For the subscriptions here, and for others."""
        self._hear(publication, self.number, self.options.rounds)

    def take(self, source: int, frame: Frame) -> None:
        """A publication is passed on when it comes for the first time."""
        if isinstance(frame, PublicationFrame):
            self._hear(frame.publication, source, frame.rounds)

    def pass_time(self) -> None:
        """Forget what nobody speaks of any more."""
        limit = self.broker.now - self.options.horizon
        self.seen = {key: ts for key, ts in self.seen.items() if ts > limit}

    def came(self, publication: Publication) -> None:
        """For the subscriptions here."""
        self.broker.intake.arrive(publication)

    def surely(self, publication: Publication, source: int, rounds: int) -> set[int]:
        """Send to those who are known to need it; answers with them."""
        return set()

    def _hear(self, publication: Publication, source: int, rounds: int) -> None:
        if publication.key in self.seen:
            return
        self.seen[publication.key] = publication.ts
        self.came(publication)
        told = self.surely(publication, source, rounds)
        others = [peer for peer in self.neighbours if peer != source and peer not in told]
        if rounds > 0:
            for peer in self._chance.sample(others, min(self.options.fan_out, len(others))):
                self.carry(peer, publication, PUBLISHING, rounds=rounds - 1)


class InformedGossiping(BasicGossiping):
    """The same after those neighbours that a publication matters to, by their proxies."""

    name = "informed-gossiping"

    def check(self) -> None:
        """Set up the proxies of neighbours."""
        super().check()
        self.retainer = Retainer(self._emit, self.broker.retention.kept_since, False, admits_now)
        self.watch = ProxyWatch(self.broker, self._put_own)
        self._sent: list[int] = []

    def subscribed(self, asked: RoutedSubscription) -> None:
        """Its proxy goes to the direct neighbours."""
        super().subscribed(asked)
        self._put_own(self.watch.first(asked))

    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """Withdrawn from them."""
        super().unsubscribed(asked)
        self.watch.keeper.drop(asked.id)
        for peer in self.neighbours:
            self.send(peer, CONTROL, Withdraw(asked.id))

    def take(self, source: int, frame: Frame) -> None:
        """Proxies of neighbours are kept."""
        if isinstance(frame, Proxy):
            self.retainer.put(source, frame, self.broker.now)
        elif isinstance(frame, Withdraw):
            self.retainer.withdraw(source, frame.id)
        else:
            super().take(source, frame)

    def came(self, publication: Publication) -> None:
        """For the subscriptions here, whose gates may move."""
        if self.broker.home.subscriptions:
            self.watch.came(publication)

    def surely(self, publication: Publication, source: int, rounds: int) -> set[int]:
        """The neighbours whose proxies let it in."""
        self._sent = []
        self.retainer.offer(publication, self.broker.now, source)
        for peer in self._sent:
            self.carry(peer, publication, DELIVERING, rounds=max(rounds - 1, 0))
        return set(self._sent)

    def changed(self, rows: list[tuple[Any, ...]]) -> None:
        """Gates may have moved."""
        self.watch.changed()

    def settle(self) -> None:
        """Gates may have widened."""
        self.watch.settle()

    def _emit(self, target: int, publication: Publication, column: str) -> None:
        self._sent.append(target)

    def _put_own(self, proxy: Proxy) -> None:
        for peer in self.neighbours:
            self.send(peer, CONTROL, proxy)
