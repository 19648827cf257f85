"""Following a stream on a loop: events one after the other."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Self

from skyband.client.problem import Unreachable
from skyband.client.resuming import Resuming
from skyband.client.stream_event import StreamEvent
from skyband.client.transport import AsyncTransport


class AsyncStreamFollower:
    """The events of a stream, one after the other, until the stream is over or the task is cancelled.

    It waits for the server where it cannot be reached, however long that is. `last` is the id to go on from.
    """

    def __init__(self, transport: AsyncTransport, state: Resuming) -> None:
        self._transport = transport
        self._state = state
        self._events = self._follow()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._events.aclose()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        return await anext(self._events)

    @property
    def last(self) -> str | None:
        """The id that everything is known up to."""
        return self._state.last

    async def _follow(self) -> AsyncGenerator[StreamEvent, None]:
        while True:
            connected = self._connected()
            # A generator that is left to the garbage collector would keep its connection until then.
            async with contextlib.aclosing(connected):
                try:
                    async for event in connected:
                        yield event
                except Unreachable:
                    pass
            await asyncio.sleep(self._state.pause())

    async def _connected(self) -> AsyncGenerator[StreamEvent, None]:
        state = self._state
        async with self._transport.stream(state.call()) as place:
            if place.status != 200:
                state.refused(await place.whole())
                return
            for event in state.opened():
                yield event
            async for chunk in place.chunks():
                for event in state.take(chunk):
                    yield event
