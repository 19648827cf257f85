"""A small HTTP port: `/health` for whoever restarts brokers, `/metrics` for Prometheus, `/status` for people."""

import asyncio
import contextlib
import json
import socket

from skyband.broker.chart.field import Address
from skyband.broker.driver.driver import Driver
from skyband.broker.link.socket_stream import accepted, bind
from skyband.broker.operations.figures import exposition, figures_of
from skyband.broker.port.standing import status_of

MOST_LINE = 8 * 2**10
ANSWER_SECONDS = 10.0
MOST_AT_ONCE = 32
TEXT, JSON = "text/plain; version=0.0.4; charset=utf-8", "application/json"
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class OperationsPort:
    """The port of one broker; it answers one request for each connection."""

    def __init__(self, address: Address, name: str) -> None:
        self._listening = bind(address, f"The port for operations of {name}")
        self.port = self._listening.getsockname()[1]
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(MOST_AT_ONCE)

    def start(self, driver: Driver) -> None:
        """Answer."""
        self._spawn(self._accept(driver))

    async def stop(self) -> None:
        """Answer no more."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listening.close()

    def _spawn(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, driver: Driver) -> None:
        while True:
            await self._room.acquire()
            try:
                place, _ = await asyncio.get_running_loop().sock_accept(self._listening)
            except OSError:
                self._room.release()
                await asyncio.sleep(1.0)
                continue
            self._spawn(self._answer(driver, place))

    async def _answer(self, driver: Driver, place: socket.socket) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                reader, writer = await accepted(place, None, ANSWER_SECONDS, MOST_LINE)
                try:
                    words = (await reader.readline()).split()
                    while (await reader.readline()).strip():
                        pass
                    writer.write(await _reply(driver, words))
                    await writer.drain()
                    writer.write_eof()
                    await reader.read(1)
                finally:
                    writer.transport.abort()
        except (OSError, ValueError):
            return
        finally:
            self._room.release()
            with contextlib.suppress(OSError):
                place.close()


async def _reply(driver: Driver, words: list[bytes]) -> bytes:
    if len(words) != 3:
        return _packed(400, TEXT, "This is HTTP.\n")
    if words[0] not in (b"GET", b"HEAD"):
        return _packed(405, TEXT, "Ask with GET.\n")
    path = words[1].partition(b"?")[0]
    if path == b"/metrics":
        return _packed(200, TEXT, exposition(figures_of(await status_of(driver))))
    if path == b"/status":
        return _packed(200, JSON, json.dumps(await status_of(driver)))
    if path == b"/health":
        return health_of(await status_of(driver))
    return _packed(404, TEXT, "There are /health, /metrics and /status.\n")


def health_of(status: dict[str, object]) -> bytes:
    """200 for a broker that takes what clients want, 503 with the reasons for another one."""
    reasons = reasons_in(status)
    return _packed(503 if reasons else 200, JSON, json.dumps({"healthy": not reasons, "reasons": reasons}))


def reasons_in(status: dict[str, object]) -> list[str]:
    """Why a broker is not well."""
    reasons = []
    if not status["is_live"]:
        reasons.append("The broker has only just started.")
    journal = status["journal"]
    assert isinstance(journal, dict)
    if journal["trouble"]:
        reasons.append(f"The journal cannot be written: {journal['trouble']}.")
    return reasons


def _packed(code: int, kind: str, body: str) -> bytes:
    content = body.encode()
    head = f"HTTP/1.1 {code} {REASONS[code]}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + content
