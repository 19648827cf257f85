"""What a broker does for its zone: it keeps what is published there, and sends it to the homes that may need it.

It says to each home up to when it has sent all that this home's leases let in, once every broker has said up to when
it has sent all that was published in the zone.
"""

from typing import TYPE_CHECKING

from skyband.contract.tops import Id
from skyband.overlay.broker.frame import DELIVERING, HOMEWARD, Proxy, Publication, Recall, Silence
from skyband.overlay.broker.retainer import Retainer, admits_now, admits_since
from skyband.overlay.broker.step import NEVER

if TYPE_CHECKING:
    from skyband.overlay.strategy.zone_leases import ZoneLeases


class ZoneSide:
    """One zone, with the leases that homes have in it."""

    def __init__(self, strategy: "ZoneLeases") -> None:
        self._strategy, self._broker = strategy, strategy.broker
        admits = admits_since if strategy.options.mode == "watermark" else admits_now
        self.retainer = Retainer(strategy.emit, strategy.broker.retention.kept_since, True, admits, self._doubt)
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

    def _doubt(self, home: int, proxy: Proxy, best: Publication) -> bool:
        """Ask a home for the lease as it should be, with the best that the old one lets in.

        Until it answers nothing is said of what has been sent.
        """
        if home == self._broker.number or proxy.closes is None:
            return False
        self._doubted.setdefault(home, set()).add(proxy.asked.id)
        self._strategy.carry(home, best, DELIVERING, HOMEWARD, doubts=proxy.asked.id)
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
