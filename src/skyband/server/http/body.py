"""Bodies: read up to a limit, in one of the formats in which rows may come."""

import asyncio
from collections.abc import Mapping, MutableMapping
from typing import Any

from starlette.requests import Request

from skyband.server.http.problem import NotTaken
from skyband.server.push.server_sent import Receive
from skyband.server.store.record import Body, RowFormat
from skyband.server.store.rows import check_text

FORMATS: dict[str, RowFormat] = {
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/vnd.apache.arrow.stream": "arrow",
}
LONGEST_KEY = 200
# Somebody who begins to send and does not go on would be waited for without end.
BODY_SECONDS = 60.0


class BoundedBody:
    """What a request brings, up to a length, and as long as it goes on coming; whatever reads it is told otherwise."""

    def __init__(self, receive: Receive, headers: Mapping[str, str], most: int) -> None:
        told = headers.get("content-length")
        if told is not None and told.isdecimal() and int(told) > most:
            raise _too_long(most)
        self._receive = receive
        self._most = most
        self._n_bytes = 0
        self._goes_on = True

    async def __call__(self) -> MutableMapping[str, Any]:
        """The next part."""
        try:
            async with asyncio.timeout(BODY_SECONDS if self._goes_on else None):
                message = await self._receive()
        except TimeoutError:
            raise NotTaken(408, "too-slow", f"Nothing of the body has come for {BODY_SECONDS:g} seconds.") from None
        self._n_bytes += len(message.get("body", b""))
        self._goes_on = message.get("more_body", False)
        if self._n_bytes > self._most:
            raise _too_long(self._most)
        return message


async def read_body(request: Request) -> Body:
    """The rows of a request as they were sent."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in FORMATS:
        raise NotTaken(415, "media-type", f"Rows come as one of {', '.join(FORMATS)}, not as {kind[:80]}.")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise NotTaken(415, "media-type", "Bodies are taken without a content encoding.")
    body = Body(FORMATS[kind], await request.body())
    if body.format != "arrow":
        check_text(body.data)
    return body


def idempotency_key(request: Request) -> str | None:
    """The key under which a verb is done once, however often it is asked for."""
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise NotTaken(400, "key", f"An Idempotency-Key has 1 to {LONGEST_KEY} characters.")
    return key


def _too_long(most: int) -> NotTaken:
    return NotTaken(413, "too-long", f"A body may have {most} bytes at most.")
