"""Publications along the tree: each broker passes on what comes, away from where it came from, and says when all has.

A broker tells a neighbour "all up to t that you want from my side has been sent" once its own publications up to t have
gone, and all its other neighbours have said the same, after they had heard of all that the neighbour wants.
"""

from skyband.overlay.broker.frame import CONTROL, FLOW, Frame, Publication, PublicationFrame, Silence
from skyband.overlay.broker.retainer import Retainer, admits_widely
from skyband.overlay.broker.step import NEVER
from skyband.overlay.strategy.strategy import Strategy


class TreeStrategy(Strategy):
    """What strategies along the tree share: watermarks, and what is held back for neighbours."""

    waits = True
    recovers = True
    relays = True
    column: str

    def check(self) -> None:
        """Set up what is kept for each neighbour."""
        super().check()
        self.neighbours = self.chart.tree[self.number]
        holds = self.options.holds or not self.filters
        self.retainer = Retainer(self.emit, self.broker.retention.kept_since, holds, admits_widely)
        self._until = dict.fromkeys(self.neighbours, NEVER)
        self._met = dict.fromkeys(self.neighbours, 0)
        self.asked = dict.fromkeys(self.neighbours, 0)
        self._said: dict[int, Silence] = {}

    def emit(self, target: int, publication: Publication, column: str) -> None:
        """Send a publication one link further, or to the subscriptions here."""
        if target == self.number:
            self.came(publication)
        else:
            self.carry(target, publication, column or self.column)

    def came(self, publication: Publication) -> None:
        """A publication is for the subscriptions here."""
        self.broker.intake.arrive(publication)

    def started(self) -> None:
        """What was published here before a restart is offered again."""
        for publication in self.broker.origin.own.values():
            self.published(publication)

    def published(self, publication: Publication) -> None:
        """To the neighbours first, then to the subscriptions here."""
        self.spread(publication, -1)

    def spread(self, publication: Publication, source: int) -> None:
        """Pass a publication on."""
        self.retainer.offer(publication, self.broker.now, source)

    def take(self, source: int, frame: Frame) -> None:
        """Publications go on, and watermarks may let others go on."""
        if isinstance(frame, PublicationFrame):
            self.spread(frame.publication, source)
        elif isinstance(frame, Silence):
            self._until[source], self._met[source] = frame.until, frame.asked
            self.say()

    def opened(self, peer: int) -> None:
        """A neighbour starts anew: what it said and what it was told is void."""
        if peer in self._until:
            self._until[peer], self._met[peer], self.asked[peer] = NEVER, 0, 0
            self._said.pop(peer, None)
            self.retainer.destination(peer).asked = 0

    def pass_time(self) -> None:
        """Gates widen."""
        self.retainer.pass_time(self.broker.now)

    def told_until(self) -> None:
        """Watermarks follow."""
        self.say()

    def say(self) -> None:
        """Tell each neighbour up to when it has got all, if that is news."""
        if self.options.mode != "watermark":
            return
        for peer in self.neighbours:
            others = [other for other in self.neighbours if other != peer]
            if all(map(self._is_met, others)):
                until = min([self.broker.origin.until, *(self._until[other] for other in others)])
                said = Silence(until, self.retainer.destination(peer).asked)
                if until > NEVER and said != self._said.get(peer):
                    self._said[peer] = said
                    self.send(peer, FLOW, said)

    def is_complete(self, at: int) -> bool:
        """All neighbours have said so, and know of all that is wanted."""
        return all(self._until[peer] >= at and self._is_met(peer) for peer in self.neighbours)

    def request(self, peer: int, frame: Frame) -> None:
        """Ask a neighbour for more than before: what it said until now does not count."""
        self.asked[peer] += 1
        self.send(peer, CONTROL, frame)

    def _is_met(self, peer: int) -> bool:
        return self._met[peer] >= self.asked[peer]
