"""One connection with a peer that has greeted: parcels in and out, until it ends for a reason."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence

from skyband.broker.link.links import LinkCounts
from skyband.broker.link.outgoing import CHUNK, Outgoing
from skyband.broker.link.tls import reason_against
from skyband.broker.wire.envelope import Parcel, ParcelStream
from skyband.broker.wire.header import BadFrame

READ_BYTES = 64 * 2**10
KEEPALIVE_SECONDS = 5

Receive = Callable[[int, Sequence[Parcel]], Awaitable[None]]


class LinkConnection:
    """A connection with the peer of a number."""

    def __init__(
        self,
        peer: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        counts: LinkCounts,
        outgoing: Outgoing,
        most_body: int,
        stall_seconds: float,
    ) -> None:
        self.peer, self._reader, self._writer, self._counts = peer, reader, writer, counts
        self._outgoing = outgoing
        self._stall_seconds = stall_seconds
        self._stream = ParcelStream(most_body)
        self._wake = asyncio.Event()
        self._why: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        writer.transport.set_write_buffer_limits(high=CHUNK)

    def send(self, parcel: Parcel) -> bool:
        """Queue a parcel; false where there is no room."""
        is_queued = self._outgoing.put(parcel)
        self._counts.queued_bytes = self._outgoing.n_bytes
        self._wake.set()
        return is_queued

    def end(self, why: str) -> None:
        """Give it up, for a reason; the first one counts."""
        if not self._why.done():
            self._why.set_result(why)

    async def run(self, receive: Receive) -> str:
        """Carry parcels until one side ends it; answers why."""
        tasks = [asyncio.create_task(self._read(receive)), asyncio.create_task(self._write())]
        try:
            return await self._why
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._writer.transport.abort()

    async def _read(self, receive: Receive) -> None:
        try:
            while more := await self._reader.read(READ_BYTES):
                self._counts.bytes_in += len(more)
                parcels = self._stream.feed(more)
                self._counts.parcels_in += len(parcels)
                if parcels:
                    await receive(self.peer, parcels)
            self.end("The peer has hung up.")
        except BadFrame as error:
            self._counts.n_bad += 1
            self.end(f"The peer sends what no broker sends: {error}")
        except OSError as error:
            self.end(reason_against(error))

    async def _write(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while parcels := self._outgoing.take():
                    await self._write_some(parcels)
        except TimeoutError:
            self.end(f"The peer has taken nothing for {self._stall_seconds:g} s.")
        except OSError as error:
            self.end(reason_against(error))

    async def _write_some(self, parcels: list[Parcel]) -> None:
        packed = b"".join(parcel.packed for parcel in parcels)
        self._writer.write(packed)
        self._counts.queued_bytes = self._outgoing.n_bytes
        self._counts.parcels_out += len(parcels)
        self._counts.bytes_out += len(packed)
        await asyncio.wait_for(self._writer.drain(), self._stall_seconds)


def keep_alive(place: socket.socket, stall_seconds: float) -> None:
    """Let the machine notice a peer that is gone without a word, and send small parcels at once."""
    place.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    place.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Not every system has all of these.
    for name, value in (
        ("TCP_KEEPIDLE", KEEPALIVE_SECONDS),
        ("TCP_KEEPINTVL", KEEPALIVE_SECONDS),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", int(stall_seconds * 1000)),
    ):
        if hasattr(socket, name):
            with contextlib.suppress(OSError):
                place.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
