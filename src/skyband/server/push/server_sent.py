"""Server-sent events: a listener as one long response, written to the connection without a framework in between."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any

from skyband.server.push.listener import Listener

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

RETRY = b"retry: 1000\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # Proxies that keep parts back until they have more would keep back what happens now.
    (b"x-accel-buffering", b"no"),
]


class Stalled(Exception):
    """A reader has taken nothing for too long."""


async def send_events(listener: Listener, receive: Receive, send: Send, stall: float) -> None:
    """Write events until there are no more, the reader has gone, or it takes nothing for so many seconds."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": RETRY, "more_body": True})
    await write_until_gone(_write(listener, send, stall), _until_gone(receive))


async def write_until_gone(write: Coroutine[Any, Any, None], until_gone: Coroutine[Any, Any, None]) -> None:
    """Write to the end, or until the reader has gone; a `Stalled` reader is for the caller to break off."""
    gone, writing = asyncio.create_task(until_gone), asyncio.create_task(write)
    try:
        await asyncio.wait({gone, writing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        writing.cancel()
    try:
        await writing
    except TimeoutError:
        raise Stalled from None
    except (asyncio.CancelledError, OSError):
        return


async def _write(listener: Listener, send: Send, stall: float) -> None:
    while events := await listener.next():
        data = b"".join(event.server_sent() for event in events)
        async with asyncio.timeout(stall):
            await send({"type": "http.response.body", "body": data, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
