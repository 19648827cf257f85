"""One request to one checked address: what was answered, within a time, whatever the receiver does.

The status alone counts. Redirects are not followed, and the body of the answer is not read.
"""

import asyncio
import functools
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

import httptools

from skyband import __version__
from skyband.server.webhook.target import HookTarget

MOST_HEADER_BYTES = 64 * 1024
SECONDS = 15.0


class PostFailed(Exception):
    """No answer has come, with the reason in one sentence."""


class HookAnswer(NamedTuple):
    """The status of an answer, and how many seconds it asks to wait."""

    status: int
    retry_after: float | None = None


class AnswerHead:
    """The head of an answer as it is read; earlier ones with a status below 200 are passed over."""

    def __init__(self) -> None:
        self.answer: HookAnswer | None = None
        self._parser: Any = httptools.HttpResponseParser(self)
        self._retry_after: float | None = None

    def feed(self, data: bytes) -> None:
        """Take what has come."""
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header."""
        if name.lower() == b"retry-after" and value.isdigit():
            self._retry_after = float(value[:9])

    def on_headers_complete(self) -> None:
        """Note the status."""
        status = self._parser.get_status_code()
        if status >= 200 and self.answer is None:
            self.answer = HookAnswer(status, self._retry_after)


async def post(
    target: HookTarget,
    address: str,
    headers: Mapping[str, str],
    body: bytes,
    seconds: float = SECONDS,
    trust: ssl.SSLContext | None = None,
) -> HookAnswer:
    """Send a body to an address that was checked, under the name of the target."""
    try:
        async with asyncio.timeout(seconds):
            return await _exchange(target, address, _head(target, headers, len(body)) + body, trust)
    except TimeoutError:
        raise PostFailed(f"There was no answer within {seconds:g} seconds.") from None
    except ssl.SSLError as error:
        raise PostFailed(f"TLS has failed: {error.reason or type(error).__name__}.") from None
    except OSError as error:
        raise PostFailed(f"The connection has failed: {error.strerror or type(error).__name__}.") from None
    except httptools.HttpParserError:
        raise PostFailed("The answer is not HTTP.") from None


@functools.cache
def _trust() -> ssl.SSLContext:
    """What the system trusts; reading it takes a while."""
    return ssl.create_default_context()


async def _exchange(target: HookTarget, address: str, request: bytes, trust: ssl.SSLContext | None) -> HookAnswer:
    context = (trust or _trust()) if target.secure else None
    reader, writer = await asyncio.open_connection(
        address, target.port, ssl=context, server_hostname=target.host if target.secure else None
    )
    try:
        writer.write(request)
        # An answer may come before all was taken, and the rest is then of no interest.
        return await _read_head(reader)
    finally:
        writer.transport.abort()


async def _read_head(reader: asyncio.StreamReader) -> HookAnswer:
    head, n_bytes = AnswerHead(), 0
    while head.answer is None:
        data = await reader.read(8192)
        n_bytes += len(data)
        if not data:
            raise PostFailed("The connection has ended without an answer.")
        if n_bytes > MOST_HEADER_BYTES:
            raise PostFailed("The head of the answer is too long.")
        head.feed(data)
    return head.answer


def _head(target: HookTarget, headers: Mapping[str, str], n_bytes: int) -> bytes:
    lines = [f"POST {target.path} HTTP/1.1", f"host: {target.host_header}", "content-type: application/json"]
    lines += [f"content-length: {n_bytes}", f"user-agent: skyband/{__version__}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
