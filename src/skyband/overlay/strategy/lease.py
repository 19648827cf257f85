"""The leases of the subscriptions at home at a broker: which zones have them, for how long, and when they are renewed.

A lease is a staircase that lets nothing in from the time on when it would have to let everything in. Before a step at t
is taken, every zone that the gate of t reaches has a lease beyond t and has sent what that lets in. Where too few are
left to close the gate, the best that was held back is recalled before leases are opened for everything.
"""

from typing import TYPE_CHECKING

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import (
    CONTROL,
    LIFE,
    SUBSCRIBING,
    UPDATING,
    Proxy,
    Publication,
    Recall,
    Silence,
    Steps,
    Withdraw,
)
from skyband.overlay.broker.gatekeeper import counts_on, is_wider, lets_in_vain
from skyband.overlay.broker.step import NEVER

if TYPE_CHECKING:
    from skyband.overlay.strategy.zone_leases import ZoneLeases


class Leases:
    """The proxies of one subscription, by zone, as they were last sent."""

    __slots__ = ("asked", "by_zone", "first_wide", "n_given", "n_vain", "open_zones", "recalled")

    def __init__(self, asked: RoutedSubscription) -> None:
        self.asked = asked
        self.by_zone: dict[int, Proxy] = {}
        # The zones that let everything in for good.
        self.open_zones: set[int] = set()
        self.n_vain: dict[int, int] = {}
        self.recalled = False
        self.n_given = 0
        # By zone the first version that has foreseen what was taken back.
        self.first_wide: dict[int, int] = {}

    def is_wide(self, zone: int, proxy: Proxy) -> bool:
        """Whether a lease in a zone has foreseen all that was taken back."""
        return proxy.version >= self.first_wide.get(zone, 0)

    def holds(self, zone: int, at: int) -> bool:
        """Whether a zone lets in all that it must at a time."""
        proxy = self.by_zone.get(zone)
        return proxy is not None and self.is_wide(zone, proxy) and (proxy.closes is None or at < proxy.closes)

    def put(self, zone: int, proxy: Proxy) -> None:
        """A zone is sent a lease."""
        self.by_zone[zone] = proxy
        if proxy.closes is None:
            self.open_zones.add(zone)
        else:
            self.open_zones.discard(zone)

    def drop(self, zone: int) -> bool:
        """A zone has no lease any more; tells whether it had one."""
        self.open_zones.discard(zone)
        return self.by_zone.pop(zone, None) is not None

    def outdated(self, reached: list[int]) -> list[int]:
        """The other zones whose leases have not foreseen what was taken back."""
        return [zone for zone, proxy in self.by_zone.items() if zone not in reached and not self.is_wide(zone, proxy)]

    def came_in_vain(self, zone: int) -> int:
        """A zone has let something in that the gate refuses; answers how often it has since its lease was renewed."""
        self.n_vain[zone] = self.n_vain.get(zone, 0) + 1
        return self.n_vain[zone]


class HomeSide:
    """What a broker does for its own subscriptions: it asks zones for leases, and knows what they have sent."""

    def __init__(self, strategy: "ZoneLeases") -> None:
        self._strategy, self._broker, self._zones = strategy, strategy.broker, strategy.zones
        self._number, self._options = strategy.number, strategy.options
        self._leases: dict[Id, Leases] = {}
        self._asked = dict.fromkeys(range(strategy.chart.n_brokers), 0)
        self._until = dict.fromkeys(range(strategy.chart.n_brokers), (NEVER, 0))
        self._gates: dict[int, dict[Id, float]] = {}
        self._staircases: dict[Id, Steps] = {}
        self._patience = 1 if self._options.patience is None else self._options.patience

    def begin(self, asked: RoutedSubscription) -> None:
        """A lease in every zone that the gate of a new subscription reaches, which is open at first."""
        leases = self._leases[asked.id] = Leases(asked)
        gate = asked.open_gate if asked.threshold is None else asked.threshold
        for zone in self._zones.reached(asked, gate):
            self._lease(leases, zone, SUBSCRIBING)

    def end(self, id: Id) -> None:
        """All leases of a subscription end."""
        leases = self._leases.pop(id, None)
        for zone in leases.by_zone if leases is not None else ():
            self._withdraw(id, zone)

    def renew(self, peer: int) -> None:
        """A broker starts anew: its zone gets again the leases of the subscriptions here."""
        self._asked[peer], self._until[peer] = 0, (NEVER, 0)
        for leases in self._leases.values():
            if leases.drop(peer):
                self._lease(leases, peer, SUBSCRIBING)

    def hear(self, zone: int, said: Silence) -> None:
        """A zone has sent all that was let in up to a time, by so many of the requests from here."""
        self._until[zone] = (said.until, said.asked)

    def are_served(self, at: int) -> bool:
        """Whether nothing is missing as of a time; all are asked for what they lack before anything is waited for."""
        while True:
            found = [self._is_served(leases, at) for leases in list(self._leases.values())]
            if not self._strategy.has_mail:
                return all(found)
            self._strategy.finish()

    def forget_gates(self) -> None:
        """Gates may have moved."""
        self._gates, self._staircases = {}, {}

    def tighten(self) -> None:
        """Open leases are given up where the gate does not reach any more; elsewhere what comes in vain is awaited."""
        for leases in list(self._leases.values()):
            self._tighten(leases)

    def came(self, publication: Publication, zone: int, doubted: Id | None = None) -> None:
        """A publication has come from a zone; one that is let in in vain is worth a word, and so is a doubt."""
        self._take_in(publication, zone, doubted)
        if doubted is not None:
            self._reassure(doubted, zone)

    def _take_in(self, publication: Publication, zone: int, doubted: Id | None) -> None:
        home = self._broker.home
        gates = [(leases, self._gate(leases, home.applied)) for leases in self._leases.values()]
        if not self._broker.intake.arrive(publication):
            return
        self.forget_gates()
        for leases, gate in gates:
            is_vain = leases.asked.id != doubted and self._is_vain(leases, zone, publication, gate)
            if is_vain and leases.came_in_vain(zone) >= self._patience:
                self._renew(leases, zone, widens=False)
            if self._options.mode == "eager":
                self._tighten(leases)

    def loosen(self, publication: Publication) -> None:
        """A publication was taken back: leases that counted on it and foresaw too little have ended."""
        self.forget_gates()
        for leases in self._leases.values():
            held = [zone for zone, proxy in leases.by_zone.items() if counts_on(proxy, publication)]
            steps = self._stairs(leases.asked, NEVER)[0] if held else ()
            for zone in held:
                if is_wider(steps, leases.by_zone[zone]):
                    leases.first_wide[zone] = self._version(leases)

    def relies_on(self, zone: int, proxy: Proxy) -> bool:
        """Whether a lease, as a zone has it, has not ended."""
        leases = self._leases.get(proxy.asked.id)
        return leases is None or leases.is_wide(zone, proxy)

    def _reassure(self, id: Id, zone: int) -> None:
        """A zone doubts a lease: it gets the one of now, and if that is open already, one that has ended."""
        leases = self._leases.get(id)
        if leases is None:
            self._withdraw(id, zone)
        else:
            self._renew(leases, zone, at=NEVER)

    def _is_vain(self, leases: Leases, zone: int, publication: Publication, gate: float) -> bool:
        """Whether a zone has let in by its lease what the gate refuses."""
        now = self._broker.now
        return leases.holds(zone, now) and lets_in_vain(leases.by_zone[zone], publication, gate, now)

    def _renew(self, leases: Leases, zone: int, at: int | None = None, widens: bool = True) -> None:
        """An old lease is replaced; one of a zone that the gate does not reach by the next tick has ended."""
        now, ends = self._broker.now, None
        soon = self._gate(leases, max(now, self._broker.home.applied) + self._options.tick)
        if zone not in self._zones.reached(leases.asked, soon):
            ends = self._broker.home.applied + 1
        self._lease(leases, zone, UPDATING, at, widens, ends)

    def _is_served(self, leases: Leases, at: int) -> bool:
        asked, gate = leases.asked, self._gate(leases, at)
        if gate != asked.open_gate:
            leases.recalled = False
        elif self._awaits_recall(leases, at):
            return False
        reached = self._zones.reached(asked, gate)
        missing = [zone for zone in reached if not leases.holds(zone, at)]
        for zone in leases.outdated(reached):
            self._withdraw(asked.id, zone)
            leases.drop(zone)
        for zone in missing:
            self._lease(leases, zone, UPDATING if zone in leases.by_zone else SUBSCRIBING, at)
        return not missing and all(self._has_sent(zone, at) for zone in reached)

    def _has_sent(self, zone: int, at: int) -> bool:
        if zone == self._number:
            return self._strategy.zone.until >= at
        until, met = self._until[zone]
        return until >= at and met >= self._asked[zone]

    def _awaits_recall(self, leases: Leases, at: int) -> bool:
        """Ask the zones that have leases for what they held back, before leases are opened for everything."""
        now = self._broker.home.applied
        zones = [zone for zone, proxy in leases.by_zone.items() if proxy.closes is not None and now < proxy.closes]
        if leases.recalled:
            return self._options.mode == "watermark" and not all(self._has_sent(zone, at) for zone in zones)
        leases.recalled = True
        for zone in zones:
            # Together they have enough, and what the gate then lets in besides comes by their leases.
            self._ask(zone, Recall(leases.asked.id, 1 + leases.asked.k // len(zones)))
        return bool(zones)

    def _gate(self, leases: Leases, at: int) -> float:
        asked = leases.asked
        if asked.threshold is not None:
            return asked.threshold
        if asked.id not in self._broker.home.begun:
            return asked.open_gate
        if at not in self._gates:
            self._gates[at] = self._broker.home.gates(at)
        return self._gates[at].get(asked.id, asked.open_gate)

    def _tighten(self, leases: Leases) -> None:
        asked = leases.asked
        gate = self._gate(leases, self._broker.home.applied) if leases.open_zones else asked.open_gate
        if gate == asked.open_gate or asked.threshold is not None:
            return
        reached = set(self._zones.reached(asked, gate))
        for zone in [zone for zone in leases.by_zone if zone in leases.open_zones and zone not in reached]:
            self._withdraw(asked.id, zone)
            leases.drop(zone)

    def _lease(
        self,
        leases: Leases,
        zone: int,
        column: str,
        at: int | None = None,
        widens: bool = True,
        ends: int | None = None,
    ) -> None:
        """Give a zone the staircase of a subscription as of now; one that is open by `at` lets everything in.

        One that `ends` has no steps beyond.
        """
        leases.n_vain.pop(zone, None)
        steps, closes = self._stairs(leases.asked, self._broker.now if at is None else at)
        if ends is not None:
            steps, closes = tuple(step for step in steps if step[0] < ends), ends
        before = leases.by_zone.get(zone)
        widens = widens or before is None or not leases.is_wide(zone, before)
        if not widens and before is not None and before.closes is not None and self._options.mode == "watermark":
            # To ask for a longer lease is to ask for more, and to wait for it.
            closes = min(closes or before.closes, before.closes)
        version = self._version(leases)
        leases.n_given += 1
        proxy = Proxy(leases.asked, self._number, version, steps, closes, column, widens)
        leases.put(zone, proxy)
        self._ask(zone, proxy)

    def _version(self, leases: Leases) -> int:
        """The version of the lease that is given next."""
        return self._broker.sessions.incarnation * LIFE + leases.n_given

    def _stairs(self, asked: RoutedSubscription, at: int) -> tuple[Steps, int | None]:
        """The steps of a lease, and when it ends; one that is open by `at` never does."""
        home = self._broker.home
        if asked.threshold is None and asked.id in home.begun:
            stairs = self._staircases.get(asked.id) or home.staircase(asked.id)
            self._staircases[asked.id] = stairs
            ends = [time for time, gate in stairs if gate == asked.open_gate]
            if not ends or ends[0] > at:
                return stairs, ends[0] if ends else None
        return ((max(home.applied, 0), asked.open_gate if asked.threshold is None else asked.threshold),), None

    def _ask(self, zone: int, frame: Proxy | Recall) -> None:
        if zone == self._number:
            self._strategy.zone.ask(self._number, frame)
        else:
            self._asked[zone] += frame.widens if isinstance(frame, Proxy) else 1
            self._strategy.send(zone, CONTROL, frame)

    def _withdraw(self, id: Id, zone: int) -> None:
        if zone == self._number:
            self._strategy.zone.withdraw(self._number, id)
        else:
            self._strategy.send(zone, CONTROL, Withdraw(id))
