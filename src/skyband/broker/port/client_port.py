"""Where clients connect: a socket, with TLS if the chart has any and other machines can reach it."""

import asyncio
import contextlib
import logging
import socket
import ssl

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.driver.driver import Driver
from skyband.broker.link.socket_stream import accepted, bind
from skyband.broker.link.tls import client_port_context
from skyband.broker.port.conversation import Conversation
from skyband.broker.port.line import pack_line

ROOM_FOR_ROWS = 4
"""A line may be so many times as long as a frame."""

logger = logging.getLogger("skyband.broker")


class ClientPort:
    """The port for clients of one broker."""

    def __init__(self, chart: NetworkChart, name: str) -> None:
        self._chart, self._place = chart, chart.place(name)
        self._context = port_context(chart, name)
        self._conversations: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None
        assert self._place.clients is not None
        self._listening = bind(self._place.clients, f"The port for clients of {name}")
        self.port = self._listening.getsockname()[1]

    @property
    def n_clients(self) -> int:
        """How many clients are connected."""
        return len(self._conversations)

    def start(self, driver: Driver) -> None:
        """Let clients in."""
        self._accepting = asyncio.create_task(self._accept(driver))

    async def stop(self) -> None:
        """Hang up on everybody."""
        tasks = [*self._conversations, *([self._accepting] if self._accepting else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listening.close()

    async def _accept(self, driver: Driver) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                place, _ = await loop.sock_accept(self._listening)
            except OSError as error:
                logger.warning("%s: no client can connect: %s.", self._place.name, error.strerror or error)
                await asyncio.sleep(1.0)
                continue
            task = asyncio.create_task(self._talk(driver, place))
            self._conversations.add(task)
            task.add_done_callback(self._conversations.discard)

    async def _talk(self, driver: Driver, place: socket.socket) -> None:
        limits = self._chart.limits
        try:
            streams = await accepted(place, self._context, limits.stall / 1e6, ROOM_FOR_ROWS * limits.frame)
            try:
                if self.n_clients > limits.connections:
                    streams[1].write(pack_line({"refused": "There are too many clients: try again.", "again": True}))
                    await streams[1].drain()
                else:
                    await Conversation(driver, *streams).run()
            finally:
                streams[1].transport.abort()
        except (OSError, EOFError) as error:
            logger.debug("%s: a client is gone: %s.", self._place.name, error)
        finally:
            with contextlib.suppress(OSError):
                place.close()


def port_context(chart: NetworkChart, name: str) -> ssl.SSLContext | None:
    """TLS for clients, if the chart has TLS and other machines can reach the port, or it names whom to trust."""
    files, place = chart.files_of(name).tls, chart.place(name)
    assert place.clients is not None
    if files is None or (place.clients.is_loopback and chart.access.authority is None):
        return None
    return client_port_context(files, chart.access.authority)
