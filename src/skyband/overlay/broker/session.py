"""Sessions: numbered frames between two brokers, in order and once each, over a network that keeps no promise.

A session lasts as long as both brokers live. It has lanes, each numbered for itself: an envelope acknowledges all
lanes, what is not acknowledged is sent again, what comes early waits, and what comes twice is dropped. Whoever starts
anew has another incarnation; its old frames are dropped wherever they turn up, and the session begins again on both
sides. What is sent before that, or to somebody who has not answered a hello yet, is dropped: `opened` makes up for it.

Publications need credit: at most so many are on the way in a lane, and while what follows from them waits for credit,
publications that others send are not taken out of their lane, so that they stop sending in turn. Nothing is dropped.
"""

from collections import deque
from collections.abc import Callable, Iterable

from skyband.overlay.broker.event import Effect, Refused, Send, Tell, Timer
from skyband.overlay.broker.frame import CONTROL, FLOW, HOMEWARD, Envelope, Frame, Hello, Silence

N_LANES = 3
BEAT = "beat"
# So many frames of a lane are repeated at once.
BURST = 16


class Lane:
    """One direction each of frames of one sort: what was sent and what waits, what has come and what came early."""

    __slots__ = ("early", "n_sent", "n_taken", "unacknowledged", "waiting")

    def __init__(self) -> None:
        self.n_sent = 0
        self.unacknowledged: deque[tuple[int, int, Frame]] = deque()
        self.waiting: deque[Frame] = deque()
        self.n_taken = 0
        self.early: dict[int, Frame] = {}


class Session:
    """What a broker knows of its talk with another one; `incarnation` is 0 as long as the other has not been met."""

    __slots__ = ("acknowledged", "incarnation", "lanes", "n_waiting", "noted", "owes", "peer")

    def __init__(self, peer: int, incarnation: int) -> None:
        self.peer = peer
        self.incarnation = incarnation
        self.lanes = tuple(Lane() for _ in range(N_LANES))
        self.acknowledged = self.noted = (0, 0, 0)
        self.owes = False
        # How many frames wait for credit.
        self.n_waiting = 0


class Sessions:
    """All sessions of a broker; `take` is given what comes, `opened` is told of whom to tell everything."""

    def __init__(
        self,
        number: int,
        chart: int,
        take: Callable[[int, int, Frame], None],
        opened: Callable[[int], None],
        credit: int,
        beat: int,
    ) -> None:
        self.number, self.chart, self.credit, self.beat = number, chart, credit, beat
        self.incarnation = 1
        self.effects: list[Effect] = []
        self.now = 0
        self._take, self._opened = take, opened
        self._sessions: dict[int, Session] = {}
        self._busy: dict[int, Session] = {}
        self._blocked: dict[int, Session] = {}
        self._greeted: set[int] = set()
        self._refused: set[tuple[int, int]] = set()
        self._has_beat = False
        self.n_waiting = 0
        self._n_homeward = 0
        # How often a frame was taken, or a session began anew.
        self.n_news = 0
        self.relays = False

    def start(self, incarnation: int, peers: range) -> None:
        """Begin a life. The first needs no greeting: all brokers take each other's first incarnation as known."""
        self.incarnation = incarnation
        if incarnation > 1:
            self._sessions = {peer: Session(peer, 0) for peer in peers if peer != self.number}
            self._greeted = set(self._sessions)
            self._greet()

    def session(self, peer: int) -> Session:
        """The session with another broker."""
        found = self._sessions.get(peer)
        if found is None:
            found = self._sessions[peer] = Session(peer, 1)
        return found

    def all(self) -> Iterable[Session]:
        """All sessions there are."""
        return self._sessions.values()

    @property
    def is_idle(self) -> bool:
        """Whether all that was sent is acknowledged, and everybody who was greeted has answered."""
        lanes = (lane for session in self._sessions.values() for lane in session.lanes)
        return not self._greeted and not any(lane.unacknowledged or lane.waiting for lane in lanes)

    def send(self, peer: int, lane: int, frame: Frame) -> None:
        """Send a frame, at once or when there is credit."""
        session = self._sessions.get(peer) or self.session(peer)
        if session.incarnation == 0:
            return
        its = session.lanes[lane]
        if its.waiting and isinstance(frame, Silence) and isinstance(its.waiting[-1], Silence):
            # The later one says all that the earlier one does.
            its.waiting[-1] = frame
        elif lane != CONTROL and (len(its.unacknowledged) >= self.credit or its.waiting):
            its.waiting.append(frame)
            session.n_waiting += 1
            self.n_waiting += 1
            self._n_homeward += lane == HOMEWARD
        else:
            self._transmit(session, lane, its, frame)

    def receive(self, envelope: Envelope) -> None:
        """Take an envelope, and all frames that were only waiting for it."""
        if envelope.chart != self.chart:
            self._refuse(envelope)
            return
        session = self._sessions.get(envelope.source) or self.session(envelope.source)
        frame = envelope.frame
        if self.is_stale(session, envelope):
            return
        if envelope.incarnation > session.incarnation:
            self._renew(session, envelope.incarnation)
        if isinstance(frame, Hello):
            self._greeted.discard(session.peer)
            if frame.knows != self.incarnation:
                self._say_hello(session)
            return
        if envelope.target_incarnation != self.incarnation:
            self._say_hello(session)
            return
        if envelope.acknowledged != session.noted:
            self._note(session, envelope.acknowledged)
        if frame is not None:
            self._keep(session, envelope, frame)
        if self._blocked:
            self._unblock()

    def _refuse(self, envelope: Envelope) -> None:
        """Brokers with different charts do not talk; it is said once for each of them."""
        if (envelope.source, envelope.chart) not in self._refused:
            self._refused.add((envelope.source, envelope.chart))
            reason = f"Broker {envelope.source} has another chart: give all brokers the same."
            self.effects.append(Tell(Refused(reason)))

    def is_stale(self, session: Session, envelope: Envelope) -> bool:
        """Whether an envelope is from an earlier life of its sender."""
        return envelope.incarnation < session.incarnation

    def ring(self) -> None:
        """Acknowledge what is owed, repeat what was not acknowledged, and greet again who has not answered."""
        self._has_beat = False
        self._greet()
        busy, self._busy = self._busy, {}
        for session in busy.values():
            self._repeat(session)
            if session.owes:
                self._send_now(session, 0, 0, None)
        if busy:
            self._arm()

    def _repeat(self, session: Session) -> None:
        since = self.now - 2 * self.beat
        for lane, its in enumerate(session.lanes):
            if its.unacknowledged:
                self._busy[session.peer] = session
            if its.unacknowledged and its.unacknowledged[0][1] <= since:
                again = list(its.unacknowledged)[:BURST]
                for i, (number, _, frame) in enumerate(again):
                    its.unacknowledged[i] = (number, self.now, frame)
                    self._send_now(session, lane, number, frame)

    def _greet(self) -> None:
        for peer in sorted(self._greeted):
            self._say_hello(self._sessions[peer])
        if self._greeted:
            self._arm()

    def _say_hello(self, session: Session) -> None:
        self._send_now(session, 0, 0, Hello(session.incarnation))

    def _renew(self, session: Session, incarnation: int) -> None:
        self.n_waiting -= session.n_waiting
        self._n_homeward -= len(session.lanes[HOMEWARD].waiting)
        self.n_news += 1
        session.n_waiting = 0
        fresh = Session(session.peer, incarnation)
        session.incarnation, session.lanes = incarnation, fresh.lanes
        session.acknowledged = session.noted = (0, 0, 0)
        self._blocked.pop(session.peer, None)
        self._greeted.discard(session.peer)
        self._opened(session.peer)

    def _transmit(self, session: Session, lane: int, its: Lane, frame: Frame) -> None:
        its.n_sent += 1
        its.unacknowledged.append((its.n_sent, self.now, frame))
        self._send_now(session, lane, its.n_sent, frame)
        self._busy[session.peer] = session
        self._arm()

    def _send_now(self, session: Session, lane: int, number: int, frame: Frame | None) -> None:
        session.owes = False
        its = self.incarnation, session.incarnation
        envelope = Envelope(self.number, *its, lane, number, frame, session.acknowledged, self.chart)
        self.effects.append(Send(session.peer, envelope))

    def _note(self, session: Session, acknowledged: tuple[int, int, int]) -> None:
        session.noted = acknowledged
        for lane, up_to in enumerate(acknowledged):
            its = session.lanes[lane]
            while its.unacknowledged and its.unacknowledged[0][0] <= up_to:
                its.unacknowledged.popleft()
            while its.waiting and len(its.unacknowledged) < self.credit:
                session.n_waiting -= 1
                self.n_waiting -= 1
                self._n_homeward -= lane == HOMEWARD
                self._transmit(session, lane, its, its.waiting.popleft())

    def _keep(self, session: Session, envelope: Envelope, frame: Frame) -> None:
        session.owes = True
        self._busy[session.peer] = session
        self._arm()
        its = session.lanes[envelope.lane]
        if envelope.number == its.n_taken + 1 and not its.early and not (self.n_waiting and self._is_full(session)):
            self._take_next(session, envelope.lane, its, frame)
        elif envelope.number > its.n_taken:
            its.early[envelope.number] = frame
            self._drain(session, envelope.lane)

    def _drain(self, session: Session, lane: int) -> None:
        """Take the frames of a lane in their order, as long as there is room for what follows from them."""
        its, incarnation = session.lanes[lane], session.incarnation
        while its.n_taken + 1 in its.early:
            if lane == FLOW and self.n_waiting and self._is_full(session):
                self._blocked[session.peer] = session
                break
            self._take_next(session, lane, its, its.early.pop(its.n_taken + 1))
            if session.incarnation != incarnation:
                break

    def _is_full(self, session: Session) -> bool:
        """Whether what another broker sends for others has to wait.

        Where brokers relay along a tree, what waits for others keeps it back: a leaf takes all, and so do, one after
        another, all before it. Elsewhere there may be circles, and only what waits to go home counts, which is taken
        always.
        """
        if self.relays:
            return self.n_waiting > session.n_waiting
        return self._n_homeward > 0

    def _take_next(self, session: Session, lane: int, its: Lane, frame: Frame) -> None:
        its.n_taken += 1
        self.n_news += 1
        control, flow, homeward = session.acknowledged
        if lane == CONTROL:
            control = its.n_taken
        elif lane == FLOW:
            flow = its.n_taken
        else:
            homeward = its.n_taken
        session.acknowledged = control, flow, homeward
        self._take(session.peer, lane, frame)

    def _unblock(self) -> None:
        blocked, self._blocked = self._blocked, {}
        for session in blocked.values():
            session.owes = True
            self._busy[session.peer] = session
            self._drain(session, FLOW)
        if blocked:
            self._arm()

    def _arm(self) -> None:
        if not self._has_beat:
            self._has_beat = True
            self.effects.append(Timer(self.now + self.beat, BEAT))
