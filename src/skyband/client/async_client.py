"""The client of programs with a loop: the calls of `Client`, to be awaited."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from skyband.client import asking
from skyband.client.api_call import HttpReply
from skyband.client.asking import Asking, Pause, address_of, names_of
from skyband.client.async_stream_follower import AsyncStreamFollower
from skyband.client.client import ADDRESS
from skyband.client.problem import Unreachable
from skyband.client.resuming import Followed, Resuming
from skyband.client.row_body import ManyRows
from skyband.client.stream_event import StreamEvent, TopRow
from skyband.client.transport import AsyncTransport
from skyband.client.verb_done import VerbDone
from skyband.contract.explanation import Explanation
from skyband.contract.tops import Id

Got = TypeVar("Got")


class AsyncClient:
    """A server, as one tenant of it sees it, for one loop.

    `seconds` is how long an answer is waited for, and `verify` a context of `ssl` for servers whose certificate is not
    one that the system trusts.
    """

    def __init__(
        self, address: str = ADDRESS, token: str | None = None, seconds: float = 30.0, verify: Any = True
    ) -> None:
        self._transport = AsyncTransport(address, token, seconds, verify)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._transport.close()

    async def streams(self) -> list[dict[str, Any]]:
        """The streams by name."""
        return await self._do(asking.pages("/v1/streams", "streams"))

    async def stream(self, name: str) -> dict[str, Any]:
        """A stream: how it was opened, where it is, and what its engine has counted."""
        return await self._do(asking.plain("GET", address_of(name)))

    async def open_stream(self, name: str, family: str, **given: Any) -> dict[str, Any]:
        """Open a stream; `engine`, `window`, `bounds`, `granularity`, `options` and `clock` may be given."""
        return await self._do(asking.plain("POST", "/v1/streams", {"name": name, "family": family} | given))

    async def drop_stream(self, name: str) -> None:
        """Drop a stream, with all that is in it."""
        await self._do(asking.plain("DELETE", address_of(name)))

    async def publish(self, stream: str, rows: ManyRows, batch_rows: int = 1000) -> VerbDone:
        """Publish rows in batches, each of which is taken whole or not at all, and once."""
        return await self._do(asking.in_batches(address_of(stream, "publications"), rows, batch_rows))

    async def retract(self, stream: str, ids: Iterable[Id]) -> VerbDone:
        """Withdraw publications; those that are no longer there are passed over."""
        return await self._do(asking.withdrawn(address_of(stream, "publications"), ids))

    async def advance(self, stream: str, now: int | str) -> VerbDone:
        """Let time pass without a publication, to a time in microseconds or as ISO 8601 text."""
        return await self._do(asking.done("POST", address_of(stream, "time"), {"now": now}))

    async def subscribe(self, stream: str, rows: ManyRows, ttl: str | None = None, batch_rows: int = 1000) -> VerbDone:
        """Register subscriptions, for a time such as "10m" or for ever."""
        path = address_of(stream, "subscriptions")
        return await self._do(asking.in_batches(path, rows, batch_rows, {"ttl": ttl}))

    async def put(self, stream: str, row: Mapping[str, Any], ttl: str | None = None) -> VerbDone:
        """Register one subscription, in place of the one with its id if there is one."""
        return await self._do(asking.put_one(address_of(stream, "subscriptions"), row, ttl))

    async def resize(self, stream: str, id: Id, k: int) -> VerbDone:
        """Let a subscription ask for another k."""
        return await self._do(asking.done("PATCH", address_of(stream, "subscriptions", id), {"k": k}))

    async def unsubscribe(self, stream: str, id: Id) -> VerbDone:
        """Withdraw a subscription."""
        return await self._do(asking.done("DELETE", address_of(stream, "subscriptions", id)))

    async def subscriptions(self, stream: str) -> list[dict[str, Any]]:
        """The subscriptions as they were sent, by id."""
        return await self._do(asking.pages(address_of(stream, "subscriptions"), "subscriptions"))

    async def top(self, stream: str, id: Id) -> list[TopRow]:
        """The top of a subscription now, best first."""
        return await self._do(asking.top_now(address_of(stream, "subscriptions", id, "top")))

    async def preview(self, stream: str, rows: ManyRows) -> dict[Id, list[TopRow]]:
        """The tops that subscriptions would have now; nothing is registered."""
        return await self._do(asking.previewed(address_of(stream, "subscriptions", "preview"), rows))

    async def explain(self, stream: str, subscription: Id, publication: Id) -> Explanation:
        """Why a publication is in the top of a subscription, or why not and by how much; changes nothing."""
        return await self._do(asking.explained(address_of(stream, "explain"), subscription, publication))

    async def send(self, method: str, path: str, value: Any = None, **query: object) -> Any:
        """Any other call, such as `send("GET", "/v1/webhooks")`, with a value of JSON or none."""
        return await self._do(asking.plain(method, path, value, query))

    def follow(
        self,
        stream: str,
        ids: Id | Sequence[Id] | None = None,
        mode: str = "every",
        rate: float | None = None,
        last: str | None = None,
    ) -> AsyncStreamFollower:
        """The events of some subscriptions, or of all, across lost connections; `last` is an id to go on from."""
        return AsyncStreamFollower(self._transport, Resuming(Followed(stream, names_of(ids), mode, rate), last))

    async def call_back(
        self,
        heard: Callable[[StreamEvent], Awaitable[None] | None],
        stream: str,
        ids: Id | Sequence[Id] | None = None,
        **given: Any,
    ) -> None:
        """Call a function, or a coroutine function, with each event; make a task of it, and cancel that to end it."""
        async with self.follow(stream, ids, **given) as events:
            async for event in events:
                told = heard(event)
                if told is not None:
                    await told

    async def _do(self, what: Asking[Got]) -> Got:
        return await carry_out_async(self._transport, what)


async def carry_out_async(transport: AsyncTransport, what: Asking[Got]) -> Got:
    """Do what is asked for, step by step."""
    got: HttpReply | Unreachable | None = None
    while True:
        try:
            step = what.send(got)
        except StopIteration as end:
            found: Got = end.value
            return found
        got = None
        try:
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                got = await transport.send(step)
        except Unreachable as error:
            got = error
