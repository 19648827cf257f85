"""Links over NATS: each broker listens on a subject for each peer, and speaks on the one that the peer has for it.

The subject `PREFIX.berlin.oslo` is for what oslo says to berlin. Who speaks is known because NATS permits publishing
there to oslo's user alone. Messages are sent at most once; what gets lost is sent again by the sessions of the core.
While the core takes no more, nothing more is handed to it, and the peer, which hears of it, keeps what it has.
"""

import asyncio
import contextlib
import logging
import time

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.link.greeting import Greeting
from skyband.broker.link.links import LinkCounts, LinkListener, Links
from skyband.broker.link.nats.meeting import Meeting
from skyband.broker.link.nats.message import (
    BESIDES,
    Parcels,
    Refusal,
    SessionGreeting,
    bundles,
    pack_hello,
    pack_parcels,
    pack_refusal,
    sessions_in,
    unpack_message,
)
from skyband.broker.link.nats.server import NatsRefused, NatsServer
from skyband.broker.link.tcp_links import LONGEST_PAUSE, SLOW_SHARE, pause_after
from skyband.broker.wire.envelope import Parcel
from skyband.broker.wire.header import LAYOUT, PROTOCOL, BadFrame

GREETING_SECONDS = 1.0
CLOSE_SECONDS = 5.0

logger = logging.getLogger("skyband.broker")


class NatsLinks(Links):
    """The links of one broker; `incarnation` says which life it lives, and `journal` which journal it lives on."""

    def __init__(self, chart: NetworkChart, name: str, incarnation: int, journal: str) -> None:
        assert chart.nats is not None
        self._chart, self._name, self._system = chart, name, chart.nats.of(name)
        self._life = incarnation, journal
        self._stall = chart.limits.stall / 1e6
        self._meetings = {peer: self._meeting(peer) for peer in chart.peers_of(chart.place(name).number)}
        self._by_subject = {self._subject(name, each.name): each for each in self._meetings.values()}
        self._known_lives: dict[tuple[int, str], int] = {}
        self._said: dict[str, str] = {}
        self._server: NatsServer | None = None
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._connecting: asyncio.Task[None] | None = None
        self._listener: LinkListener

    async def start(self, listener: LinkListener) -> None:
        """Connect with NATS, or go on trying; `NatsRefused` where NATS is not set up for this broker."""
        self._listener = listener
        try:
            self._server = await self._connect()
        except OSError as error:
            self._trouble_of_all(str(error))
        self._connecting = asyncio.create_task(self._keep_connecting())

    async def stop(self) -> None:
        """Tell peers that this broker stops, and hang up."""
        self._stopping.set()
        if self._server is not None and self._server.is_open:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1.0):
                    for meeting in self._meetings.values():
                        await self._refuse(meeting, meeting.theirs, f"{self._name} stops.")
        self._end_all("This broker stops.")
        self._ended.set()
        if self._connecting is not None:
            # A handshake with TLS that is cancelled leaves its transport open, so that it is waited for.
            _, late = await asyncio.wait([self._connecting], timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()

    def send(self, peer: int, parcel: Parcel) -> bool:
        """Queue a parcel for a peer that is connected and has room."""
        meeting = self._meetings[peer]
        is_short = len(parcel.packed) <= LAYOUT.size + self._chart.limits.frame
        is_queued = meeting.is_agreed and is_short and meeting.outgoing.put(parcel)
        meeting.counts.n_dropped += not is_queued
        meeting.counts.queued_bytes = meeting.outgoing.n_bytes
        meeting.wake.set()
        return is_queued

    def drop(self, peer: int, why: str, pause: float = 0.0) -> None:
        """Agree to no session with a peer for a while."""
        meeting = self._meetings[peer]
        meeting.paused_until = time.monotonic() + pause
        self._end(meeting, why)

    def counts(self, peer: int) -> LinkCounts:
        """What has passed between this broker and a peer."""
        return self._meetings[peer].counts

    @property
    def is_slow(self) -> bool:
        """Whether what waits for a peer fills half of its buffer."""
        mark = self._chart.limits.buffer * SLOW_SHARE
        return any(each.is_agreed and each.outgoing.n_bytes > mark for each in self._meetings.values())

    def _meeting(self, peer: int) -> Meeting:
        name = self._chart.places[peer].name
        return Meeting(peer, name, self._subject(name, self._name), self._chart.limits.buffer)

    def _subject(self, target: str, source: str) -> str:
        return f"{self._system.prefix}.{target}.{source}"

    async def _keep_connecting(self) -> None:
        n_failures = 0
        while not self._is_over():
            began = time.monotonic()
            try:
                self._server = self._server or await self._connect()
                if self._is_over():
                    self._ended.set()
                await self._serve(self._server)
            except (OSError, ValueError) as error:
                if not self._is_over():
                    self._trouble_of_all(str(error))
            finally:
                self._server = None
            n_failures = 0 if time.monotonic() - began > LONGEST_PAUSE else n_failures + 1
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_after(n_failures))

    async def _connect(self) -> NatsServer:
        self._ended.clear()
        server = NatsServer(self._system, self._name, self._chart.limits.buffer, self._stall)
        server.ended, server.lost, server.denied = self._ended.set, self._lost_message, self._denied
        await server.open()
        try:
            self._check_size(server.max_payload)
            first = next(iter(self._meetings.values()), None)
            if self._system.is_checked and first is not None:
                await server.check_identity(self._subject(first.name, first.name))
            for meeting in self._meetings.values():
                meeting.renew()
            await server.listen(list(self._by_subject), self._heard)
        except BaseException:
            await server.close()
            raise
        self._said.pop("NATS", None)
        logger.info("%s: connected with NATS.", self._name)
        return server

    def _check_size(self, max_payload: int) -> None:
        frame = self._chart.limits.frame
        if frame + BESIDES > max_payload:
            raise NatsRefused(
                f"NATS takes messages of {max_payload} bytes, and limits.frame of the chart is {frame}: make it "
                f"{max_payload - BESIDES} or less, or max_payload of the servers at least {frame + BESIDES}."
            )

    async def _serve(self, server: NatsServer) -> None:
        """Greet and write until the server is lost."""
        work = [self._keep_greeting(server), *(self._keep_writing(server, each) for each in self._meetings.values())]
        tasks = [asyncio.create_task(each) for each in work]
        try:
            await self._ended.wait()
        finally:
            why = "" if self._is_over() else f"The connection with NATS was lost: {server.last_trouble}."
            self._end_all(why or "This broker stops.")
            self._ended.set()
            for task in tasks:
                task.cancel()
            await server.close()
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        raise ConnectionError(why)

    async def _keep_greeting(self, server: NatsServer) -> None:
        while not self._ended.is_set():
            if not server.is_open:
                # With TLS the client may never say so.
                self._ended.set()
            for meeting in self._meetings.values():
                why = meeting.reason_to_end(self._stall)
                if why:
                    self._end(meeting, why)
                if time.monotonic() >= meeting.paused_until:
                    with contextlib.suppress(OSError):
                        await self._greet(meeting)
            await asyncio.sleep(min(GREETING_SECONDS, self._stall / 4))

    async def _keep_writing(self, server: NatsServer, meeting: Meeting) -> None:
        # The client may keep a cancellation to itself, so that this looks for the end by itself.
        while not self._ended.is_set():
            await meeting.wake.wait()
            meeting.wake.clear()
            with contextlib.suppress(OSError):
                while parcels := meeting.take_out():
                    sessions = meeting.sessions
                    for bundle in bundles(parcels, server.max_payload):
                        if meeting.sessions == sessions:
                            await self._write(server, meeting, bundle)

    async def _write(self, server: NatsServer, meeting: Meeting, parcels: list[Parcel]) -> None:
        meeting.sent += sum(len(parcel.packed) for parcel in parcels)
        message = pack_parcels(meeting.session, meeting.theirs, meeting.sent, parcels)
        meeting.counts.parcels_out += len(parcels)
        meeting.counts.bytes_out += len(message)
        await server.publish(meeting.subject, message)

    async def _greet(self, meeting: Meeting) -> None:
        await self._publish(meeting, pack_hello(meeting.hello(self._greeting(meeting.name))))

    async def _refuse(self, meeting: Meeting, session: int, reason: str) -> None:
        if session:
            await self._publish(meeting, pack_refusal(Refusal(session, reason)))

    async def _publish(self, meeting: Meeting, message: bytes) -> None:
        if self._server is not None:
            await self._server.publish(meeting.subject, message)

    def _greeting(self, target: str) -> Greeting:
        incarnation, journal = self._life
        chart = self._chart
        return Greeting(self._name, target, PROTOCOL, chart.version, chart.digest, incarnation, journal)

    async def _heard(self, subject: str, packed: bytes) -> None:
        """Take one message; the next one of the peer waits until this returns."""
        meeting = self._by_subject[subject]
        meeting.is_taking, began = True, time.monotonic()
        try:
            await self._take(meeting, packed)
        except BadFrame as error:
            meeting.counts.n_bad += 1
            logger.debug("%s: on the subject of %s comes something else: %s", self._name, meeting.name, error)
            self._tell(f"{meeting.name} (or somebody in its name)", "There comes what no broker sends.")
        except OSError as error:
            logger.debug("%s: no answer for %s: %s", self._name, meeting.name, error)
        except Exception:
            # The client would keep it to itself.
            logger.exception("%s: a message of %s could not be taken.", self._name, meeting.name)
        finally:
            meeting.is_taking = False
            # While nothing was heard, nobody could tell that more was taken.
            meeting.moved_at += time.monotonic() - began

    async def _take(self, meeting: Meeting, packed: bytes) -> None:
        meeting.counts.bytes_in += len(packed)
        sessions = sessions_in(packed)
        if sessions is not None and sessions != meeting.sessions:
            await self._answer_late(meeting, sessions[0])
            return
        try:
            message = unpack_message(packed, self._chart.limits.frame)
        except BadFrame as error:
            if sessions is not None:
                why = f"The peer sends what no broker sends: {error}"
                self._end(meeting, why)
                await self._refuse(meeting, sessions[0], why)
            raise
        if isinstance(message, Parcels):
            await self._take_parcels(meeting, message)
        elif isinstance(message, Refusal):
            self._be_refused(meeting, message)
        else:
            await self._be_greeted(meeting, message)

    async def _answer_late(self, meeting: Meeting, session: int) -> None:
        """Tell the sender of parcels in sessions that are no more that all has begun anew."""
        if not meeting.may_answer():
            return
        if time.monotonic() < meeting.paused_until:
            await self._refuse(meeting, session, f"{meeting.name} has sent what no broker sends, and has to wait.")
        else:
            await self._greet(meeting)

    async def _take_parcels(self, meeting: Meeting, message: Parcels) -> None:
        sessions = meeting.sessions
        self._agree(meeting)
        meeting.counts.parcels_in += len(message.parcels)
        await self._listener.received(meeting.peer, message.parcels)
        if meeting.sessions == sessions:
            meeting.heard_at = time.monotonic()
            meeting.taken = max(meeting.taken, message.sent)
            if meeting.owes_word:
                await self._greet(meeting)

    def _be_refused(self, meeting: Meeting, refusal: Refusal) -> None:
        if refusal.session == meeting.session:
            why = f"The other side has ended it: {refusal.reason}"
            self._end(meeting, why)
            self._trouble(meeting, why)

    async def _be_greeted(self, meeting: Meeting, hello: SessionGreeting) -> None:
        theirs = hello.greeting
        if theirs.name != meeting.name:
            raise BadFrame(f"Somebody says to be {theirs.name} where only {meeting.name} may speak.")
        is_older = theirs.incarnation < self._known_lives.get((meeting.peer, theirs.journal), 0)
        reason = theirs.judged_by(self._name, self._chart, meeting.name) or self._reason_against(meeting, is_older)
        if reason:
            if not is_older:
                self._end(meeting, reason)
            self._trouble(meeting, reason)
            if meeting.may_answer():
                await self._refuse(meeting, hello.session, reason)
            return
        self._known_lives[meeting.peer, theirs.journal] = theirs.incarnation
        is_news = hello.session != meeting.theirs
        if is_news:
            # Where nothing was agreed the own session stays: two that begin anew on each other's word never agree.
            if meeting.is_agreed:
                self._end(meeting, "The peer has connected anew.")
            meeting.meet(hello.session)
        if meeting.hear(hello):
            is_news |= self._agree(meeting)
        else:
            is_news = True
        if is_news and meeting.may_answer():
            await self._greet(meeting)

    def _reason_against(self, meeting: Meeting, is_older: bool) -> str:
        if time.monotonic() < meeting.paused_until:
            return f"{meeting.name} has sent what no broker sends, and has to wait."
        if is_older:
            return f"{meeting.name} was further on already: its journal was replaced by an older copy."
        return ""

    def _agree(self, meeting: Meeting) -> bool:
        """Both agree, from now on if they did not before."""
        if meeting.is_agreed or self._is_over():
            return False
        meeting.is_agreed = True
        counts = meeting.counts
        counts.is_connected, counts.since, counts.n_connected = True, time.time(), counts.n_connected + 1
        counts.last_trouble = ""
        self._said.pop(meeting.name, None)
        self._listener.connected(meeting.peer)
        return True

    def _end(self, meeting: Meeting, why: str) -> None:
        """Nothing is agreed any more."""
        was_agreed = meeting.is_agreed
        meeting.renew()
        if was_agreed:
            counts = meeting.counts
            counts.is_connected, counts.queued_bytes, counts.last_trouble = False, 0, why
            self._listener.disconnected(meeting.peer, why)

    def _end_all(self, why: str) -> None:
        for meeting in self._meetings.values():
            self._end(meeting, why)

    def _lost_message(self, subject: str) -> None:
        self._by_subject[subject].counts.n_dropped += 1

    def _denied(self, subject: str) -> None:
        for meeting in self._meetings.values():
            if meeting.subject.lower() == subject:
                self._trouble(meeting, f"NATS does not let {self._name} publish to {meeting.subject}: permit its user.")

    def _is_over(self) -> bool:
        return self._stopping.is_set()

    def _trouble_of_all(self, why: str) -> None:
        for meeting in self._meetings.values():
            meeting.counts.last_trouble = why
        self._tell("NATS", why)

    def _trouble(self, meeting: Meeting, why: str) -> None:
        meeting.counts.last_trouble = why
        self._tell(meeting.name, why)

    def _tell(self, who: str, why: str) -> None:
        """Log what is wrong with somebody, once until it changes."""
        if self._said.get(who) != why:
            self._said[who] = why
            logger.warning("%s: no link with %s: %s", self._name, who, why)
