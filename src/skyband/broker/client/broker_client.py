"""The client of programs without a loop: that of programs with one, on a loop in a thread of its own."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Coroutine, Generator, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Self, TypeVar

from skyband.broker.client.answer import BrokerPublications, BrokerTops, DrainState, HomeEvent, PublishedRow
from skyband.broker.client.async_broker_client import AsyncBrokerClient
from skyband.contract.tops import Id

Got = TypeVar("Got")


class BrokerClient:
    """A broker at an address such as "127.0.0.1:7500"; it may be shared by threads.

    `seconds` is how long something is tried, over however many connections.
    """

    def __init__(
        self, address: str, token: str | None = None, tls: ssl.SSLContext | None = None, seconds: float = 30.0
    ) -> None:
        self._is_closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="skyband-broker-client", daemon=True)
        self._thread.start()
        try:
            self._client: AsyncBrokerClient = self._do(_made(address, token, tls, seconds))
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; nothing can be asked any more, and whoever follows comes to an end."""
        if not self._is_closed:
            self._is_closed = True
            self._do(_ended(self._client))
            self._end()

    def publish(self, rows: Iterable[Mapping[str, Any]], key: str | None = None) -> list[PublishedRow]:
        """Publish rows in their order; answers when they are durable. `BrokerRefused` has those that were not taken.

        With a key of one's own the same rows can be published again, also by another process, and are there once.
        """
        return self._do(self._client.publish(rows, key))

    def publications(self, cursor: str | None = None, most: int = 1000) -> BrokerPublications:
        """What was published at this broker and is durable and kept: from a cursor on, or from the first."""
        return self._do(self._client.publications(cursor, most))

    def subscribe(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Register subscriptions; when this returns they are durable."""
        self._do(self._client.subscribe(rows))

    def retract(self, ids: Iterable[Id]) -> None:
        """Take publications back that were published at this broker."""
        self._do(self._client.retract(ids))

    def unsubscribe(self, ids: Iterable[Id]) -> None:
        """Withdraw subscriptions."""
        self._do(self._client.unsubscribe(ids))

    def subscriptions(self) -> list[Id]:
        """The ids of the subscriptions at this broker."""
        return self._do(self._client.subscriptions())

    def top(self, ids: Sequence[Id] | None = None) -> BrokerTops:
        """The tops of some subscriptions, or of all at this broker."""
        return self._do(self._client.top(ids))

    def status(self) -> dict[str, Any]:
        """How things stand at the broker and its links."""
        return self._do(self._client.status())

    def drain(self) -> DrainState:
        """Tell the broker that it shall leave; answers with what it still has."""
        return self._do(self._client.drain())

    def follow(self, ids: Sequence[Id] | None = None, cursor: str | None = None) -> Generator[HomeEvent, None, None]:
        """What is told of some subscriptions, or of all at this broker, across lost connections, without end."""
        events = self._client.follow(ids, cursor)
        try:
            while True:
                yield self._do(_next(events))
        except CancelledError:
            return
        finally:
            if not self._is_closed:
                self._do(_closed(events))

    def _do(self, work: Coroutine[Any, Any, Got]) -> Got:
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result()
        except BaseException:
            done.cancel()
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _made(address: str, token: str | None, tls: ssl.SSLContext | None, seconds: float) -> AsyncBrokerClient:
    return AsyncBrokerClient(address, token, tls, seconds)


async def _ended(client: AsyncBrokerClient) -> None:
    """End all that is asked and followed."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await client.close()


async def _next(events: AsyncIterator[HomeEvent]) -> HomeEvent:
    return await anext(events)


async def _closed(events: AsyncIterator[HomeEvent]) -> None:
    await events.aclose()  # type: ignore[attr-defined]  # it is a generator
