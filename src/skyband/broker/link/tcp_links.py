"""Links over TCP, with TLS unless the chart does without: of two brokers, the one that the chart names later dials.

A peer is the broker that its certificate names. Connections that are lost are made again after a pause that doubles up
to `LONGEST_PAUSE`, and is never the same for all.
"""

import asyncio
import contextlib
import logging
import random
import socket
import ssl
import time
from collections.abc import Callable

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.link.connection import LinkConnection
from skyband.broker.link.greeting import (
    GREETING_SECONDS,
    Greeting,
    LinkRefused,
    await_agreement,
    exchange,
    read_greeting,
    refuse,
)
from skyband.broker.link.links import LinkCounts, LinkListener, Links
from skyband.broker.link.outgoing import Outgoing
from skyband.broker.link.socket_stream import Streams, accepted, bind, dialled
from skyband.broker.link.tls import names_in, peer_context, reason_against
from skyband.broker.wire.envelope import Parcel
from skyband.broker.wire.header import PROTOCOL, BadFrame

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
MOST_STRANGERS = 64
"""So many connections may be greeting at the same time."""
SLOW_SHARE = 0.5

logger = logging.getLogger("skyband.broker")


class TcpLinks(Links):
    """The links of one broker; `life` says which one it lives, and `journal` which journal it lives on."""

    def __init__(self, chart: NetworkChart, name: str, incarnation: int, journal: str) -> None:
        self._chart, self._place = chart, chart.place(name)
        self._life = incarnation, journal
        self._stall = chart.limits.stall / 1e6
        self._peers = chart.peers_of(self._place.number)
        self._counts = {peer: LinkCounts() for peer in self._peers}
        self._connections: dict[int, LinkConnection] = {}
        self._paused: dict[int, float] = {}
        self._known_lives: dict[tuple[int, str], int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._strangers = asyncio.Semaphore(MOST_STRANGERS)
        self.said: dict[str, str] = {}
        tls = chart.files_of(name).tls
        self._as_server = None if tls is None else peer_context(tls, True)
        self._as_client = None if tls is None else peer_context(tls, False)
        self._listening: socket.socket | None = None
        self._listener: LinkListener

    async def start(self, listener: LinkListener) -> None:
        """Listen, and dial those that the chart names earlier."""
        self._listener = listener
        if any(peer > self._place.number for peer in self._peers):
            assert self._place.listen is not None
            self._listening = bind(self._place.listen, f"The address of {self._place.name}")
            self._spawn(self._accept(self._listening))
        for peer in self._peers:
            if peer < self._place.number:
                self._spawn(self._keep_dialling(peer))

    async def stop(self) -> None:
        """Hang up."""
        for connection in self._connections.values():
            connection.end("This broker stops.")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._listening is not None:
            self._listening.close()

    def send(self, peer: int, parcel: Parcel) -> bool:
        """Queue a parcel for a peer that is connected and has room."""
        connection, counts = self._connections.get(peer), self._counts[peer]
        is_queued = connection is not None and connection.send(parcel)
        counts.n_dropped += not is_queued
        return is_queued

    def drop(self, peer: int, why: str, pause: float = 0.0) -> None:
        """Hang up, and let nobody in from there for a while."""
        self._paused[peer] = time.monotonic() + pause
        if peer in self._connections:
            self._connections[peer].end(why)

    def counts(self, peer: int) -> LinkCounts:
        """What has passed between this broker and a peer."""
        return self._counts[peer]

    @property
    def is_slow(self) -> bool:
        """Whether what waits for a peer fills half of its buffer."""
        mark = self._chart.limits.buffer * SLOW_SHARE
        return any(self._counts[peer].queued_bytes > mark for peer in self._connections)

    def _spawn(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            await self._strangers.acquire()
            try:
                place, address = await asyncio.get_running_loop().sock_accept(listening)
            except OSError as error:
                # Too many open files, say: others are let go of meanwhile.
                self._strangers.release()
                self._tell(self._place.name, f"Nobody can connect: {error.strerror or error}.")
                await asyncio.sleep(1.0)
                continue
            self._spawn(self._admit(place, f"{address[0]}"))

    async def _admit(self, place: socket.socket, where: str) -> None:
        """Let somebody in who turns out to be a peer."""
        release = _Once(self._strangers.release)
        try:
            streams = await accepted(place, self._as_server, self._stall, 2**16)
            try:
                async with asyncio.timeout(GREETING_SECONDS):
                    peer = await self._meet(streams, None)
                release()
                await self._talk(peer, streams)
            finally:
                streams[1].transport.abort()
        except (LinkRefused, BadFrame) as error:
            self._tell(where, str(error))
        except (OSError, EOFError) as error:
            self._tell(where, self._why(error))
        finally:
            release()
            # Where the handshake fails, nobody else closes it.
            with contextlib.suppress(OSError):
                place.close()

    async def _keep_dialling(self, peer: int) -> None:
        n_failures = 0
        while True:
            began = time.monotonic()
            if began >= self._paused.get(peer, 0.0):
                await self._dial(peer)
            n_failures = 0 if time.monotonic() - began > LONGEST_PAUSE else n_failures + 1
            await asyncio.sleep(pause_after(n_failures))

    async def _dial(self, peer: int) -> None:
        address = self._chart.places[peer].address
        assert address is not None
        try:
            streams = await dialled(address, self._as_client, self._stall)
            try:
                async with asyncio.timeout(GREETING_SECONDS):
                    await self._meet(streams, peer)
                await self._talk(peer, streams)
            finally:
                streams[1].transport.abort()
        except (LinkRefused, BadFrame) as error:
            self._trouble(peer, str(error))
        except (OSError, EOFError) as error:
            self._trouble(peer, self._why(error))
        except Exception:
            # Whatever it is, it must not be the last time that this peer was dialled.
            logger.exception("%s: no link with %s.", self._place.name, self._chart.places[peer].name)

    async def _meet(self, streams: Streams, expected: int | None) -> int:
        """Greet; answers with the number of the peer, or raises `LinkRefused`."""
        reader, writer = streams
        me, chart = self._place.name, self._chart
        if expected is not None:
            name = chart.places[expected].name
            self._check_name(writer, name)
            theirs = await exchange(reader, writer, self._greeting(name), chart, name)
        else:
            theirs = await self._be_met(reader, writer)
        peer = chart.places[chart.names.index(theirs.name)].number
        reason = self._reason_against(peer, theirs, expected)
        if reason:
            await refuse(writer, reason)
            raise LinkRefused(f"{me} refuses: {reason}")
        await await_agreement(reader, writer)
        self._known_lives[peer, theirs.journal] = theirs.incarnation
        return peer

    async def _be_met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Greeting:
        """Who dials speaks first here, as nobody knows before who that is."""
        from skyband.broker.link.greeting import pack_greeting, read_words

        theirs = read_greeting(await read_words(reader))
        self._check_name(writer, theirs.name)
        writer.write(pack_greeting(self._greeting(theirs.name)._asdict()))
        await writer.drain()
        reason = theirs.judged_by(self._place.name, self._chart, None)
        if reason:
            await refuse(writer, reason)
            raise LinkRefused(reason)
        return theirs

    def _reason_against(self, peer: int, theirs: Greeting, expected: int | None) -> str:
        if peer not in self._counts:
            return f"{theirs.name} is linked with others, and not with {self._place.name}."
        if expected is None and time.monotonic() < self._paused.get(peer, 0.0):
            return f"{theirs.name} has sent what no broker sends, and has to wait."
        if theirs.incarnation < self._known_lives.get((peer, theirs.journal), 0):
            return f"{theirs.name} was further on already: its journal was replaced by an older copy."
        return ""

    def _check_name(self, writer: asyncio.StreamWriter, name: str) -> None:
        """The certificate of the other side has to name the broker that it says to be."""
        if self._as_server is None:
            return
        found: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
        if found is None:
            raise ConnectionResetError
        if name not in names_in(found.getpeercert()):
            raise LinkRefused(f"TLS was refused: the certificate of the other side does not name the broker {name}.")

    def _greeting(self, target: str) -> Greeting:
        incarnation, journal = self._life
        chart = self._chart
        return Greeting(self._place.name, target, PROTOCOL, chart.version, chart.digest, incarnation, journal)

    async def _talk(self, peer: int, streams: Streams) -> None:
        counts, limits = self._counts[peer], self._chart.limits
        connection = LinkConnection(peer, *streams, counts, Outgoing(limits.buffer), limits.frame, self._stall)
        before = self._connections.get(peer)
        if before is not None:
            before.end("The peer has connected anew.")
        self._connections[peer] = connection
        counts.is_connected, counts.since, counts.n_connected = True, time.time(), counts.n_connected + 1
        counts.last_trouble = ""
        self.said.pop(self._chart.places[peer].name, None)
        self._listener.connected(peer)
        why = "This broker stops."
        try:
            why = await connection.run(self._listener.received)
        finally:
            if self._connections.get(peer) is connection:
                del self._connections[peer]
                counts.is_connected, counts.queued_bytes, counts.last_trouble = False, 0, why
                self._listener.disconnected(peer, why)

    def _why(self, error: BaseException) -> str:
        """Why there is no link, with a hint where TLS hides it: only one side sees what is wrong with a certificate."""
        if isinstance(error, ssl.SSLError):
            return reason_against(error)
        if isinstance(error, TimeoutError):
            return "The other side did not answer in time."
        why = "The other side has hung up." if isinstance(error, EOFError) else reason_against(error)
        is_hidden = self._as_server is not None and isinstance(error, EOFError | ConnectionError)
        is_hidden = is_hidden and not isinstance(error, ConnectionRefusedError)
        return f"{why} It may not take the certificate of {self._place.name}: its log says why." if is_hidden else why

    def _trouble(self, peer: int, why: str) -> None:
        self._counts[peer].last_trouble = why
        self._tell(self._chart.places[peer].name, why)

    def _tell(self, who: str, why: str) -> None:
        """Log what is wrong with somebody, once until it changes."""
        if self.said.get(who) != why:
            self.said[who] = why
            logger.warning("%s: no link with %s: %s", self._place.name, who, why)
            if len(self.said) > 2 * len(self._peers) + MOST_STRANGERS:
                self.said.pop(next(iter(self.said)))


class _Once:
    """Calls something the first time that it is called."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()


def pause_after(n_failures: int) -> float:
    """How many seconds to wait before dialling again: twice as many each time, and never the same for all."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(n_failures, 16))
    return longest * random.uniform(0.5, 1.0)
