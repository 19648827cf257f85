"""One connection to a broker: requests go out with numbers, and each answer finds the one that waits for it."""

import asyncio
import json
import ssl
from typing import Any, Self

from skyband.broker.chart.field import Address

MOST_LINE = 256 * 2**20


class Exchange:
    """A connection, and who waits on it for what."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._n_asked = 0
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def opened(cls, address: Address, context: ssl.SSLContext | None, token: str | None) -> Self:
        """Connect, and show a token if there is one."""
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=context, limit=MOST_LINE)
        exchange = cls(reader, writer)
        if token is not None:
            writer.write(_line({"do": "hello", "token": token}))
        return exchange

    @property
    def is_open(self) -> bool:
        """Whether it can still be asked on."""
        return not self._writer.transport.is_closing() and (self._reading is None or not self._reading.done())

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and wait for its answer."""
        self._n_asked += 1
        number = self._n_asked
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        try:
            self._writer.write(_line(request | {"n": number}))
            await self._writer.drain()
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def begin(self, request: dict[str, Any]) -> None:
        """Send a request whose answers are read with `told`."""
        self._writer.write(_line(request))
        await self._writer.drain()

    async def told(self) -> dict[str, Any]:
        """The next line; `ConnectionError` if there is none."""
        line = await self._reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("The broker has hung up.")
        found: dict[str, Any] = json.loads(line)
        return found

    async def close(self) -> None:
        """Hang up."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self._writer.transport.abort()

    async def _read(self) -> None:
        try:
            while True:
                told = await self.told()
                waiting = self._waiting.get(told.get("n") or 0)
                if waiting is not None and not waiting.done():
                    waiting.set_result(told)
                elif told.get("n") is None and "refused" in told:
                    self._refuse_all(told)
        except (OSError, ValueError) as error:
            lost = error if isinstance(error, OSError) else ConnectionResetError(str(error))
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(lost)
            self._writer.transport.abort()

    def _refuse_all(self, told: dict[str, Any]) -> None:
        """What is refused without a number is about the connection."""
        for each in self._waiting.values():
            if not each.done():
                each.set_result(told)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
