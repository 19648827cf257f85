"""What strategies share whose subscriptions are known elsewhere by proxies that all have the same gate."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import Proxy, Publication
from skyband.overlay.broker.gatekeeper import Gatekeeper, is_wider

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker


def name_abroad(id: Id, home: int) -> str:
    """The id of a subscription at other brokers, where another home may have one with the same id."""
    return f"{home}/{id}"


class ProxyWatch:
    """Watches the gates of the subscriptions here, and hands out proxies that should be sent anew."""

    def __init__(self, broker: "Broker", put: Callable[[Proxy], None]) -> None:
        self.broker, self._put = broker, put
        self.keeper = Gatekeeper(broker.number, broker.options, broker.home)
        self._gates: dict[Id, float] | None = None
        self._abroad: dict[Id, RoutedSubscription] = {}

    def name(self, id: Id) -> str:
        """The id of a subscription here as others know it."""
        return name_abroad(id, self.broker.number)

    def abroad(self, proxy: Proxy) -> Proxy:
        """A proxy of a subscription here as it goes along the tree, where ids of all homes meet."""
        known = self._abroad.get(proxy.asked.id)
        if known is None:
            row = proxy.asked.row | {"id": self.name(proxy.asked.id)}
            known = self.broker.routing.subscription(row, self.broker.options.settings)
            self._abroad[proxy.asked.id] = known
        return proxy._replace(asked=known)

    def drop(self, id: Id) -> None:
        """A subscription has gone."""
        self.keeper.drop(id)
        self._abroad.pop(id, None)

    def has_heard(self, versions: dict[Id, int]) -> bool:
        """Whether somebody who has these versions of proxies knows of all that the subscriptions here want."""
        widest = self.keeper.widest
        return all(versions.get(self.name(id), -1) >= widest[id] for id in self.broker.home.subscriptions)

    def is_wide(self, proxy: Proxy) -> bool:
        """Whether a proxy, as it is known elsewhere, is not older than the last one that asked for more."""
        ids = [id for id, asked in self._abroad.items() if asked.id == proxy.asked.id]
        return all(proxy.version >= self.keeper.widest.get(id, 0) for id in ids)

    @property
    def by_staircase(self) -> bool:
        """Whether proxies foresee how gates widen."""
        return self.broker.options.gates == "staircase"

    def first(self, asked: RoutedSubscription) -> Proxy:
        """What stands for a subscription in this life."""
        self.keeper.incarnation = self.broker.sessions.incarnation
        return self.keeper.first(asked, self.broker.now)

    def came(self, publication: Publication) -> None:
        """A publication has come for the subscriptions here."""
        gates = self.gates() if self.by_staircase else {}
        if not self.broker.intake.arrive(publication):
            return
        if self.by_staircase:
            for id in self.keeper.came_in_vain(publication, gates, self.broker.now):
                self._renew(id)
        else:
            self.keeper.note(publication)
            self._move()

    def gates(self) -> dict[Id, float]:
        """The gates as of the last step; empty where none can move."""
        if self._gates is None:
            home = self.broker.home
            can_move = any(asked.threshold is None for asked in home.subscriptions.values())
            self._gates = home.gates(home.applied) if can_move and home.begun else {}
        return self._gates

    def changed(self) -> None:
        """A step was taken."""
        self._gates = None

    def settle(self) -> None:
        """Time has passed: staircases that are about to open are sent anew, and thresholds move."""
        if not self.by_staircase:
            self._move()
            return
        soon = self.broker.now + self.broker.options.tick
        for id in self.keeper.opening(soon):
            if self.broker.home.gates(soon).get(id) not in (None, self.keeper.proxies[id].asked.open_gate):
                self._renew(id)

    def loosen(self, publication: Publication) -> None:
        """A publication was taken back: proxies that counted on it ask for more."""
        self._gates = None
        home = self.broker.home
        for id in self.keeper.counting_on(publication):
            if id in home.begun and is_wider(home.staircase(id), self.keeper.proxies[id]):
                self._renew(id, widens=True)

    def _renew(self, id: Id, widens: bool = False) -> None:
        if id in self.broker.home.begun:
            self._put(self.keeper.renewed(id, self.broker.home.staircase(id), widens))

    def _move(self) -> None:
        for proxy in self.keeper.moved(self.broker.now):
            self._put(proxy)
