"""Sockets as streams: listening, accepting one by one so that each failure has its reason, and dialling."""

import asyncio
import socket
import ssl

from skyband.broker.chart.field import Address, BadChart
from skyband.broker.link.connection import keep_alive

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HANDSHAKE_SECONDS = 10.0
BACKLOG = 128


def bind(address: Address, what: str) -> socket.socket:
    """A socket that listens at an address, or `BadChart` where there can be none."""
    try:
        family, kind, _, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
    except OSError as error:
        raise BadChart(f"{what} {address} cannot be listened at: {error.strerror or error}.") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise BadChart(f"{what} {address} cannot be listened at: {error.strerror or error}.") from None
    return listening


async def accepted(place: socket.socket, context: ssl.SSLContext | None, stall: float, most_line: int) -> Streams:
    """The streams of a socket that was accepted, after the TLS handshake if there is one."""
    keep_alive(place, stall)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=most_line, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    seconds = HANDSHAKE_SECONDS if context is not None else None
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol, place, ssl=context, ssl_handshake_timeout=seconds
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def dialled(address: Address, context: ssl.SSLContext | None, stall: float) -> Streams:
    """The streams of a connection to an address."""
    seconds = HANDSHAKE_SECONDS if context is not None else None
    reader, writer = await asyncio.wait_for(
        asyncio.open_connection(address.host, address.port, ssl=context, ssl_handshake_timeout=seconds),
        2 * HANDSHAKE_SECONDS,
    )
    place = writer.get_extra_info("socket")
    if place is None:
        # The other side has hung up at the end of the handshake.
        writer.transport.abort()
        raise ConnectionResetError
    keep_alive(place, stall)
    return reader, writer
