"""Proxies along the tree: each broker passes the subscriptions of one side on to the other, as far as they are needed.

For each link a broker keeps all proxies that are not from there, and passes on those that no other of these covers. A
proxy whose gate moves is compared anew; one that is not covered any more is passed on before anything may depend on it.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from skyband.contract.tops import Id
from skyband.covering import ProxySet
from skyband.covering.region import Regions
from skyband.overlay.broker.frame import Proxy
from skyband.overlay.broker.step import gate_at


class LinkNews(NamedTuple):
    """What a link has to be told: proxies it does not have, those whose gates have moved, and those to give up."""

    new: list[Proxy]
    moved: list[Proxy]
    gone: list[Id]


class PlainLink:
    """What one link is told of, where nothing stands for anything else."""

    def __init__(self) -> None:
        self.members: dict[Id, Proxy] = {}
        self.told: dict[Id, int] = {}

    def put(self, proxy: Proxy, now: int) -> None:
        """A new proxy, or a new version of one."""
        self.members[proxy.asked.id] = proxy

    def drop(self, id: Id) -> None:
        """A proxy has gone."""
        self.members.pop(id, None)

    def pass_time(self, now: int) -> None:
        """Gates may have widened."""

    def wanted(self) -> Iterable[Id]:
        """Those to pass on."""
        return self.members

    def news(self) -> LinkNews:
        """What to pass on now; it counts as told."""
        wanted = dict.fromkeys(self.wanted())
        new = [self.members[id] for id in wanted if id not in self.told]
        moved = [
            self.members[id] for id in wanted if self.told.get(id, self.members[id].version) != self.members[id].version
        ]
        gone = [id for id in self.told if id not in wanted]
        self.told = {id: self.members[id].version for id in wanted}
        return LinkNews(new, moved, gone)


class CoveredLink(PlainLink):
    """What one link is told of: proxies that no other one covers as of now."""

    def __init__(self) -> None:
        super().__init__()
        self._cover: ProxySet | None = None
        self._alone: dict[Id, None] = {}
        self._placed: dict[Id, float] = {}
        self._n_dims = 0

    def put(self, proxy: Proxy, now: int) -> None:
        """Place the region of a proxy, or move it."""
        id, gate = proxy.asked.id, gate_at(proxy.steps, now)
        is_known = id in self.members
        super().put(proxy, now)
        if is_known:
            self._move([id], now)
            return
        region = proxy.asked.region(gate)
        if region is None or not self._compares(region):
            self._alone[id] = None
        else:
            self._opened_cover(region).add([id], region)
            self._placed[id] = gate

    def drop(self, id: Id) -> None:
        """Take a region away."""
        if id in self.members and id not in self._alone and self._cover is not None:
            self._cover.remove([id])
        self._alone.pop(id, None)
        self._placed.pop(id, None)
        super().drop(id)

    def pass_time(self, now: int) -> None:
        """Move the regions whose gates have widened."""
        self._move(list(self._placed), now)

    def wanted(self) -> Iterable[Id]:
        """The uncovered ones."""
        return [*self._alone, *(self._cover.uncovered() if self._cover is not None else ())]

    def _compares(self, region: Regions) -> bool:
        """Whether a region has as many dimensions as those before it: other homes may ask for something else."""
        n_dims = int(region.points.shape[1])
        self._n_dims = self._n_dims or n_dims
        return n_dims == self._n_dims

    def _opened_cover(self, region: Regions) -> ProxySet:
        if self._cover is None:
            self._cover = ProxySet(region.points.shape[1])
        return self._cover

    def _move(self, ids: list[Id], now: int) -> None:
        """Move those whose gates are not what they were when they were placed."""
        gates = {id: gate_at(self.members[id].steps, now) for id in ids if id in self._placed}
        moved = {id: gate for id, gate in gates.items() if gate != self._placed[id]}
        if moved and self._cover is not None:
            self._cover.move(list(moved), np.array(list(moved.values())))
            self._placed |= moved


class ProxyTree:
    """The proxies that one broker has from each neighbour and from its own subscriptions, and what it passes on.

    `tell` sends news to a neighbour; `number` is the broker's own, which stands for the subscriptions here.
    """

    def __init__(self, number: int, neighbours: tuple[int, ...], covers: bool, tell: Callable[[int, LinkNews], None]):
        self.links = {peer: CoveredLink() if covers else PlainLink() for peer in neighbours}
        self.got: dict[int, dict[Id, Proxy]] = {source: {} for source in (*neighbours, number)}
        self._tell = tell

    @property
    def n_covered(self) -> int:
        """How many proxies are not passed on over a link because others stand for them, over all links."""
        return sum(len(link.members) - len(link.told) for link in self.links.values())

    def put(self, proxy: Proxy, source: int, now: int) -> None:
        """A proxy has come, or a new version of it; an older one than is known says nothing new."""
        known = self.got[source].get(proxy.asked.id)
        if known is not None and known.version > proxy.version:
            return
        self.got[source][proxy.asked.id] = proxy
        for peer, link in self.links.items():
            if peer != source:
                link.put(proxy, now)
                self.pass_on(peer)

    def drop(self, id: Id, source: int) -> bool:
        """A subscription is withdrawn; tells whether it was known from there."""
        if self.got[source].pop(id, None) is None:
            return False
        for peer, link in self.links.items():
            if peer != source:
                link.drop(id)
                self.pass_on(peer)
        return True

    def renew(self, peer: int) -> list[Id]:
        """A neighbour starts anew: it is told everything; answers with what it had told, which is void."""
        lost = list(self.got[peer])
        for id in lost:
            self.drop(id, peer)
        self.links[peer].told.clear()
        self.pass_on(peer)
        return lost

    def pass_time(self, now: int) -> None:
        """Compare anew what has moved by itself."""
        for peer, link in self.links.items():
            link.pass_time(now)
            self.pass_on(peer)

    def pass_on(self, peer: int) -> None:
        """Tell a neighbour what is new for it."""
        news = self.links[peer].news()
        if any(news):
            self._tell(peer, news)
