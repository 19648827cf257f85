"""Carrying calls over HTTP: the only place that knows the package which does it."""

import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from skyband.client.api_call import ApiCall, HttpReply
from skyband.client.problem import Unreachable

CONNECT_SECONDS = 10.0
# A server sends a sign of life every 15 seconds unless it was configured otherwise.
SILENT_SECONDS = 60.0


class OpenStream:
    """A reply that goes on: its status, and its body as it comes."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code

    def chunks(self) -> Iterator[bytes]:
        """What comes, until the connection ends."""
        return self.response.iter_raw()

    def whole(self) -> HttpReply:
        """All of it, where it is short."""
        self.response.read()
        return _reply(self.response)

    def abort(self) -> None:
        """Break the connection off, from any thread; whoever reads from it sees its end."""
        stream = self.response.extensions.get("network_stream")
        place = stream.get_extra_info("socket") if stream is not None else None
        if place is not None:
            with contextlib.suppress(OSError):
                place.shutdown(socket.SHUT_RDWR)


class AsyncOpenStream:
    """The same, read on a loop."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code

    def chunks(self) -> AsyncIterator[bytes]:
        """What comes, until the connection ends."""
        return self.response.aiter_raw()

    async def whole(self) -> HttpReply:
        """All of it, where it is short."""
        await self.response.aread()
        return _reply(self.response)


class Transport:
    """Connections to one server."""

    def __init__(self, address: str, token: str | None, seconds: float, verify: Any) -> None:
        self._http = httpx.Client(**_options(address, token, seconds, verify))

    def send(self, call: ApiCall) -> HttpReply:
        """Make a call."""
        with _told():
            return _reply(self._http.request(**_arguments(call)))

    @contextlib.contextmanager
    def stream(self, call: ApiCall) -> Iterator[OpenStream]:
        """Make a call whose reply goes on."""
        with _told(), self._http.stream(**_arguments(call), timeout=_patient()) as response:
            yield OpenStream(response)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()


class AsyncTransport:
    """Connections to one server, on a loop."""

    def __init__(self, address: str, token: str | None, seconds: float, verify: Any) -> None:
        self._http = httpx.AsyncClient(**_options(address, token, seconds, verify))

    async def send(self, call: ApiCall) -> HttpReply:
        """Make a call."""
        with _told():
            return _reply(await self._http.request(**_arguments(call)))

    @contextlib.asynccontextmanager
    async def stream(self, call: ApiCall) -> AsyncIterator[AsyncOpenStream]:
        """Make a call whose reply goes on."""
        with _told():
            async with self._http.stream(**_arguments(call), timeout=_patient()) as response:
                yield AsyncOpenStream(response)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()


def _options(address: str, token: str | None, seconds: float, verify: Any) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return {
        "base_url": address,
        "headers": headers | {"accept-encoding": "identity"},
        "timeout": httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        "verify": verify,
        # Streams take a connection each for as long as they last.
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=20),
    }


def _patient() -> httpx.Timeout:
    return httpx.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS)


def _arguments(call: ApiCall) -> dict[str, Any]:
    given = {"method": call.method, "url": call.path, "content": call.content, "headers": dict(call.headers)}
    return given | ({"params": list(call.query)} if call.query else {})


def _reply(response: httpx.Response) -> HttpReply:
    return HttpReply(response.status_code, response.content, {k.lower(): v for k, v in response.headers.items()})


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Tell what went wrong in the client's own words."""
    try:
        yield
    except httpx.TransportError as error:
        raise Unreachable(f"The server cannot be reached: {str(error) or type(error).__name__}.") from error
