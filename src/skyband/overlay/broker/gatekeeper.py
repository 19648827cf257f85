"""When other brokers hear of the gates of the subscriptions at home here, and what they hear.

A *staircase* says how a gate widens as the members of the top expire. An old one lets in too much and never too little,
so that it is sent anew only when what came in vain has cost as much as sending it, or before it opens for everything.
The paper's proxies have a threshold that moves on every change: what has a *chance* to enter the top, as PA has it.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from itertools import product

import numpy as np

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import LIFE, SUBSCRIBING, UPDATING, Proxy, Publication, Steps
from skyband.overlay.broker.home import Home
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.step import gate_at
from skyband.topk.chance import arrival_rank


class RankGate:
    """The n-th best score of what has come within a span of time, as a gate; while fewer have come it is open."""

    def __init__(self, asked: RoutedSubscription, n: int, bests: list[float] | None, span: int | None) -> None:
        self._asked, self._n, self._span = asked, n, span
        self._scores: list[float] = []
        self._ages: deque[tuple[int, float]] = deque()
        # Signed so that less is better, as the scores are.
        self._bests = None if bests is None else sorted(self._signed(best) for best in bests)

    def add(self, publication: Publication) -> None:
        """A publication has come."""
        score = self._asked.score(publication.spoken.content)
        if score is not None:
            insort(self._scores, self._signed(score))
            self._ages.append((publication.ts, self._signed(score)))

    def at(self, now: int) -> float:
        """The gate as of now, which must not go back."""
        span = self._span
        while span is not None and self._ages and self._ages[0][0] + span <= now:
            self._scores.pop(bisect_left(self._scores, self._ages.popleft()[1]))
        if len(self._scores) < self._n:
            return self._asked.open_gate
        return self._signed(self._widened(self._scores[self._n - 1]))

    def _widened(self, gate: float) -> float:
        """The widest gate that reaches no other cells than this one."""
        if self._bests is None:
            return gate
        n_reached = bisect_right(self._bests, gate)
        return (
            gate if n_reached == len(self._bests) else max(gate, float(np.nextafter(self._bests[n_reached], -np.inf)))
        )

    def _signed(self, score: float) -> float:
        return score if self._asked.ascending else -score


def lets_in_vain(proxy: Proxy, publication: Publication, gate: float, now: int) -> bool:
    """Whether a proxy lets in what the true gate refuses."""
    asked = proxy.asked
    if asked.threshold is not None:
        return False
    score = asked.score(publication.spoken.content)
    return asked.passes(score, gate_at(proxy.steps, now)) and not asked.passes(score, gate)


def counts_on(proxy: Proxy, publication: Publication) -> bool:
    """Whether gates of a proxy may be as narrow as they are because of a publication, as long as that is live."""
    asked = proxy.asked
    if asked.threshold is not None or asked.window is None:
        return False
    gate = gate_at(proxy.steps, publication.ts + asked.window - 1)
    return asked.passes(asked.score(publication.spoken.content), gate)


def is_wider(steps: Steps, proxy: Proxy) -> bool:
    """Whether steps let in at some time, from their first one on, what those of a proxy do not."""
    times = {at for at, _ in (*steps, *proxy.steps) if at >= steps[0][0]}
    return any(proxy.asked.narrower(gate_at(proxy.steps, at), gate_at(steps, at)) for at in times)


class Gatekeeper:
    """The proxies of the subscriptions at home, as they were last sent."""

    def __init__(self, number: int, options: BrokerOptions, home: Home) -> None:
        self._number, self._options, self._home = number, options, home
        self.incarnation = 1
        self.proxies: dict[Id, Proxy] = {}
        # The versions that last asked for more.
        self.widest: dict[Id, int] = {}
        self._ranks: dict[Id, RankGate] = {}
        self._vain: dict[Id, int] = {}
        # No proxy that has gone had this version: an id may be subscribed again, and then for something else.
        self._unused = 0
        self.n_first = self.n_renewed = 0
        self._patience = options.chart.n_brokers - 1 if options.patience is None else options.patience

    def first(self, asked: RoutedSubscription, now: int) -> Proxy:
        """What stands for a new subscription, or for one that is known again after a restart."""
        gate = asked.open_gate if asked.threshold is None else asked.threshold
        since = max(min(now, self._home.applied), 0)
        version = max(self.incarnation * LIFE, self._unused)
        proxy = Proxy(asked, self._number, version, ((since, gate),), None, SUBSCRIBING)
        self.proxies[asked.id] = proxy
        self.n_first += 1
        self.widest[asked.id] = version
        if asked.threshold is None and self._options.gates != "staircase":
            self._ranks[asked.id] = RankGate(asked, self._rank(asked), self._cells(asked), self._span(asked))
        return proxy

    def drop(self, id: Id) -> None:
        """A subscription has gone."""
        if id in self.proxies:
            self._unused = max(self._unused, self.proxies[id].version + 1)
        for known in (self.proxies, self.widest, self._ranks, self._vain):
            known.pop(id, None)

    def note(self, publication: Publication) -> None:
        """A publication has come: it counts for ranks, or it may have come in vain."""
        for rank in self._ranks.values():
            rank.add(publication)

    def came_in_vain(self, publication: Publication, gates: dict[Id, float], now: int) -> list[Id]:
        """The subscriptions whose proxies let a publication in that their gates refuse, often enough to be told."""
        tired = []
        for id, gate in gates.items():
            proxy = self.proxies.get(id)
            if proxy is not None and lets_in_vain(proxy, publication, gate, now):
                self._vain[id] = self._vain.get(id, 0) + 1
                if self._vain[id] >= self._patience:
                    tired.append(id)
        return tired

    def renewed(self, id: Id, steps: Steps, widens: bool = False) -> Proxy:
        """The proxy with other steps, which is how it is sent from now on."""
        self._vain.pop(id, None)
        self.n_renewed += 1
        before = self.proxies[id]
        version = before.version + 1
        self.proxies[id] = before._replace(version=version, steps=steps, column=UPDATING, widens=widens)
        if widens:
            self.widest[id] = version
        return self.proxies[id]

    def counting_on(self, publication: Publication) -> list[Id]:
        """The subscriptions whose proxies, as they were sent, may let less in because of a publication."""
        return [id for id, proxy in self.proxies.items() if counts_on(proxy, publication)]

    def opening(self, by: int) -> list[Id]:
        """The subscriptions whose staircases, as they were sent, let everything in by a time."""
        return [
            id
            for id, proxy in self.proxies.items()
            if len(proxy.steps) > 1 and gate_at(proxy.steps, by) == proxy.asked.open_gate
        ]

    def moved(self, now: int) -> list[Proxy]:
        """The proxies whose thresholds have moved."""
        gates = {id: rank.at(now) for id, rank in self._ranks.items()}
        moved = [id for id, gate in gates.items() if self.proxies[id].steps[-1][1] != gate]
        return [self.renewed(id, ((now, gates[id]),)) for id in moved]

    def _rank(self, asked: RoutedSubscription) -> int:
        by_chance = self._options.gates == "chance"
        return arrival_rank(asked.k, self._options.sigma) + 1 if by_chance else asked.k

    def _span(self, asked: RoutedSubscription) -> int | None:
        """How old a publication may be that counts: none does beyond the window."""
        if self._options.gates != "recent" or asked.window is None:
            return asked.window
        return min(asked.window, self._options.recent)

    def _cells(self, asked: RoutedSubscription) -> list[float] | None:
        """How good publications can be in each cell of a grid over the unit cube, where only that counts."""
        if self._options.updates == "every":
            return None
        n = self._options.cells
        corners = np.array(list(product(range(n), repeat=asked.n_dims)), np.float64)
        bests: list[float] = asked.bests(corners / n, corners / n + 1.0 / n).tolist()
        return bests
