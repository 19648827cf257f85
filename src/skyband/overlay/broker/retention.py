"""How long publications are kept, from what homes acknowledge; and what a home has lost that was away for too long.

Brokers tell their neighbours in the tree up to when all homes behind them have taken their steps: the least over the
subtree. So each knows the least of all homes, and keeps what may be live then or later. It waits for a home that is
behind no longer than `grace`. A home that is further behind has *lapsed*: it goes on with what there still is, asks
all brokers how many of their publications were given up before all homes had acknowledged them, and tells its clients.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from skyband.overlay.broker.event import Lapsed
from skyband.overlay.broker.frame import CONTROL, Acknowledge, Frame, GivenUp, Publication, Want
from skyband.overlay.broker.step import FOR_EVER, NEVER

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker

# A message is worth an eighth of what it lets others forget.
STRIDES = 8
# Asked of every frame that comes.
SPOKEN = frozenset((Acknowledge, Want, GivenUp))


class Lapse:
    """The steps for which a home may have missed something, and who has not said yet what was given up."""

    def __init__(self, since: int, until: int, peers: Iterable[int]) -> None:
        self.since, self.until, self.n_lost = since, until, 0
        self.unheard = set(peers)


class Retention:
    """What one broker knows of how far homes are, and what it does for its own home when that is late."""

    def __init__(self, broker: "Broker") -> None:
        self._broker, self._options = broker, broker.options
        self._neighbours = self._options.chart.tree[broker.number]
        self._sides = dict.fromkeys(self._neighbours, NEVER)
        self._said = dict.fromkeys(self._neighbours, NEVER)
        self._own = NEVER
        self._given_up: Counter[int] = Counter()
        self._lapse: Lapse | None = None

    @property
    def least(self) -> int:
        """Up to when all homes have taken their steps, as far as is known here."""
        return min([self._own, *self._sides.values()])

    def kept_since(self) -> int:
        """What was published up to then matters no more, or is given up."""
        now = self._broker.now
        if not self._broker.by_watermark:
            return now - self._options.horizon
        return min(now, max(self.least, now - self._options.grace)) - self._options.horizon

    def tick(self) -> None:
        """A tick has begun: neighbours are told what is new, and the home here may be late."""
        if not self._broker.by_watermark:
            return
        home = self._broker.home
        if self._broker.is_synced:
            # A step that is not durable yet may have to be taken again.
            self._own = home.applied if home.subscriptions else self._broker.origin.until
        for peer in self._neighbours:
            self._say(peer)
        self._given_up = Counter({ts: n for ts, n in self._given_up.items() if ts > self.least - self._options.horizon})
        if not self.note_late() and self._lapse is not None and self._lapse.until == FOR_EVER:
            self._ask(self._lapse)

    def note_late(self) -> bool:
        """Whether the home here is so late that it may miss something; how much is known when it has caught up."""
        home = self._broker.home
        is_late = bool(home.subscriptions) and home.applied < self._broker.now - self._options.grace
        if is_late and (self._lapse is None or self._lapse.until < FOR_EVER):
            self._lapse = Lapse(home.applied, FOR_EVER, ())
        return is_late

    def give_up(self, publications: Iterable[Publication]) -> None:
        """Publications of clients here go; those that some home has not acknowledged are counted."""
        unacknowledged = self.least - self._options.horizon
        if self._broker.by_watermark:
            self._given_up.update(each.ts for each in publications if each.ts > unacknowledged)

    def renew(self, peer: int) -> None:
        """Another broker has started anew."""
        if peer in self._sides:
            self._sides[peer] = self._said[peer] = NEVER
        if self._lapse is not None and peer in self._lapse.unheard and self._lapse.until < FOR_EVER:
            self._send_want(self._lapse, peer)

    def take(self, source: int, frame: Frame) -> bool:
        """Take a frame if it is about this; tells whether it is."""
        if type(frame) not in SPOKEN:
            return False
        if isinstance(frame, Acknowledge):
            self._sides[source] = frame.until
        elif isinstance(frame, Want):
            first = frame.since - self._options.horizon
            n_lost = sum(n for ts, n in self._given_up.items() if first < ts <= frame.until)
            self._broker.sessions.send(source, CONTROL, GivenUp(frame.since, n_lost))
        elif isinstance(frame, GivenUp):
            self._hear(source, frame)
        return True

    def _say(self, peer: int) -> None:
        until = min([self._own, *(side for other, side in self._sides.items() if other != peer)])
        stride = max(self._options.tick, self._options.horizon // STRIDES)
        if until >= self._said[peer] + stride:
            self._said[peer] = until
            self._broker.sessions.send(peer, CONTROL, Acknowledge(until))

    def _ask(self, lapse: Lapse) -> None:
        lapse.until = self._broker.home.applied
        peers = (peer for peer in range(self._options.chart.n_brokers) if peer != self._broker.number)
        lapse.unheard = set(peers)
        for peer in sorted(lapse.unheard):
            self._send_want(lapse, peer)

    def _send_want(self, lapse: Lapse, peer: int) -> None:
        self._broker.sessions.send(peer, CONTROL, Want(lapse.since, lapse.until))

    def _hear(self, source: int, frame: GivenUp) -> None:
        lapse = self._lapse
        if lapse is None or frame.since != lapse.since or source not in lapse.unheard:
            return
        lapse.unheard.discard(source)
        lapse.n_lost += frame.n_lost
        if not lapse.unheard:
            self._lapse = None
            self._broker.tell(Lapsed(lapse.since, lapse.until, lapse.n_lost))
