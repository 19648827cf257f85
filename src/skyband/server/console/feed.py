"""The feed of the console: everything that a screen shows, over one connection.

It carries the events of a listener (`snapshot`, `ready`, `changes`, `reset`, `closing`, with their ids to resume
from), and between them `vitals`, how the server is, each second, `published`, what has arrived, and `beside`, how
pipelines and brokers are.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from skyband.contract.family import FAMILIES
from skyband.server.access.doorway import QuotaReached, require, require_id
from skyband.server.access.token import Caller
from skyband.server.console.beside import LOOK_SECONDS
from skyband.server.console.vitals import vitals
from skyband.server.push.listener import Listener
from skyband.server.push.push_event import dumps
from skyband.server.push.push_request import PushRequest
from skyband.server.push.server_sent import HEADERS, RETRY, Receive, Send, write_until_gone
from skyband.server.service import Service

FEED = "/v1/console/feed"
RATE = 10.0
"""How many events with changes come per second at most: more cannot be followed with the eye."""
VITALS_SECONDS = 1.0
PUBLISHED_SECONDS = 0.2
BACKLOG_ROWS, MOST_ROWS = 10_000, 500
MOST_NAMES = 200
NEVER = 1e9


class FeedRequest(NamedTuple):
    """What a screen asks for: the stream that is looked at, and those of its subscriptions whose tops are shown."""

    stream: str | None
    names: tuple[str, ...]
    last: str | None


def feed_request(caller: Caller, query: bytes, headers: Mapping[str, str]) -> FeedRequest:
    """What the address of a feed asks for, of what the caller may see."""
    require(caller, "read")
    found = parse_qs(query.decode("latin-1"), max_num_fields=MOST_NAMES)
    names = tuple(dict.fromkeys(found.get("subscription", [])))
    for name in names:
        require_id(caller, name)
    last = headers.get("last-event-id") or found.get("last_event_id", [""])[-1]
    return FeedRequest(found.get("stream", [None])[-1], names, last or None)


async def send_feed(service: Service, caller: Caller, asked: FeedRequest, receive: Receive, send: Send) -> None:
    """Send a feed until the reader has gone or the server stops."""
    if service.hub.count(caller.tenant) >= service.doorway.limits_of(caller.tenant).connections:
        raise QuotaReached("The tenant has as many open connections as it may have.")
    listener = await _listen(service, caller, asked)
    feed = ScreenFeed(service, caller, asked.stream, listener, send)
    try:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await feed.write(RETRY)
        await write_until_gone(feed.run(), _until_gone(receive))
    finally:
        if listener is not None:
            service.hub.leave(listener)


class ScreenFeed:
    """What is written to one screen."""

    def __init__(
        self, service: Service, caller: Caller, stream: str | None, listener: Listener | None, send: Send
    ) -> None:
        self.service = service
        self.caller = caller
        self.stream = stream
        self.listener = listener
        self._send = send

    async def write(self, data: bytes) -> None:
        """Write some of it; a reader that takes nothing for too long ends it."""
        async with asyncio.timeout(self.service.config.stall):
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def tell(self, kind: str, value: Any) -> None:
        """Write an event that cannot be resumed from."""
        await self.write(f"event: {kind}\ndata: {dumps(value)}\n\n".encode())

    async def run(self) -> None:
        """Write until a part of it ends."""
        parts: list[Coroutine[Any, Any, None]] = [self._vitals(), self._beside()]
        if self.listener is not None:
            parts.append(self._changes(self.listener))
            if not self.caller.prefix:
                # One who may see some subscriptions alone is not shown everything that is published.
                parts.append(self._published(self.listener.request.key))
        tasks = [asyncio.create_task(part) for part in parts]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _changes(self, listener: Listener) -> None:
        while events := await listener.next():
            await self.write(b"".join(event.server_sent() for event in events))

    async def _vitals(self) -> None:
        while not self.service.stopping:
            await self.tell("vitals", await vitals(self.service, self.caller, self.stream))
            await asyncio.sleep(VITALS_SECONDS)

    async def _beside(self) -> None:
        """Tell what runs beside the server; once, where there is nothing that could change."""
        beside, before = self.service.beside, None
        while True:
            told = await beside.told(self.caller)
            if told is not before:
                await self.tell("beside", told)
            before = told
            await asyncio.sleep(LOOK_SECONDS if told["allowed"] and beside.is_anything else NEVER)

    async def _published(self, key: tuple[str, str]) -> None:
        recent = self.service.recent
        # On a thread: all that is held may have to be read first.
        if self.service.streams.get(*key).family.has_objects:
            last, rows = await asyncio.to_thread(recent.latest_of_objects, key, BACKLOG_ROWS)
        else:
            last, rows = await asyncio.to_thread(recent.since, key, 0, BACKLOG_ROWS)
        await self.tell("published", {"backlog": True, "rows": rows})
        while True:
            await asyncio.sleep(PUBLISHED_SECONDS)
            last, rows = recent.since(key, last, MOST_ROWS)
            if rows:
                await self.tell("published", {"rows": rows})


async def _listen(service: Service, caller: Caller, asked: FeedRequest) -> Listener | None:
    if asked.stream is None:
        return None
    stream = service.streams.get(caller.tenant, asked.stream)
    stands = FAMILIES[stream.spec.family].answers_stand
    request = PushRequest(
        (caller.tenant, asked.stream),
        # Where answers do not stand, what a publication is answered with is shown as a whole.
        asked.names if stands else None,
        "latest" if stands else "every",
        RATE if stands else None,
        asked.last,
        caller.prefix,
        caller.token,
    )
    return await service.hub.listen(request)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
