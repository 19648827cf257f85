"""The client of programs with a loop. What is asked is asked again over lost connections, and is done once.

Each request that changes something has a key, under which the broker remembers what it has answered, also over its own
restarts. So a client that does not know whether it was heard just says it again.
"""

import asyncio
import json
import random
import secrets
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from skyband.broker.chart.field import Address, read_address
from skyband.broker.client.answer import (
    BrokerPublications,
    BrokerTops,
    DrainState,
    HomeEvent,
    PublicationRow,
    PublishedRow,
    RowRefused,
    event_in,
    top_entries,
)
from skyband.broker.client.exchange import Exchange
from skyband.broker.client.problem import BrokerRefused, BrokerUnreachable
from skyband.contract.tops import Id

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
BATCH_ROWS = 500
BATCH_BYTES = 512 * 2**10


class AsyncBrokerClient:
    """A broker at an address such as "127.0.0.1:7500", for one loop.

    `seconds` is how long something is tried, over however many connections. With `tls` the connection is made with it.
    """

    def __init__(
        self, address: str, token: str | None = None, tls: ssl.SSLContext | None = None, seconds: float = 30.0
    ) -> None:
        self._address: Address = read_address("address", address)
        self._token, self._tls, self._seconds = token, tls, seconds
        self._exchange: Exchange | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up."""
        if self._exchange is not None:
            await self._exchange.close()
            self._exchange = None

    async def publish(self, rows: Iterable[Mapping[str, Any]], key: str | None = None) -> list[PublishedRow]:
        """Publish rows in their order; answers when they are durable. `BrokerRefused` has those that were not taken.

        With a key of one's own the same rows can be published again, also by another process, and are there once: the
        broker remembers what it has answered to its last 100,000 rows.
        """
        done = await self._in_batches("publish", [dict(row) for row in rows], key)
        return [PublishedRow(each["id"], each["number"], each["ts"]) for each in done]

    async def publications(self, cursor: str | None = None, most: int = 1000) -> BrokerPublications:
        """What was published at this broker and is durable and kept: from a cursor on, or from the first."""
        told = await self._ask({"do": "publications", "cursor": cursor, "most": most})
        rows = [PublicationRow(**row) for row in told["rows"]]
        return BrokerPublications(rows, told["cursor"], told["end"])

    async def subscribe(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Register subscriptions; when this returns they are durable."""
        await self._in_batches("subscribe", [dict(row) for row in rows])

    async def retract(self, ids: Iterable[Id]) -> None:
        """Take publications back that were published at this broker."""
        await self._in_batches("retract", list(ids))

    async def unsubscribe(self, ids: Iterable[Id]) -> None:
        """Withdraw subscriptions."""
        await self._in_batches("unsubscribe", list(ids))

    async def subscriptions(self) -> list[Id]:
        """The ids of the subscriptions at this broker."""
        ids: list[Id] = (await self._ask({"do": "subscriptions"}))["ids"]
        return ids

    async def top(self, ids: Sequence[Id] | None = None) -> BrokerTops:
        """The tops of some subscriptions, or of all at this broker."""
        told = await self._ask({"do": "top", "ids": None if ids is None else list(ids)})
        return BrokerTops(top_entries(told["tops"]), told["cursor"], told["applied"])

    async def status(self) -> dict[str, Any]:
        """How things stand at the broker and its links."""
        return await self._ask({"do": "status"})

    async def drain(self) -> DrainState:
        """Tell the broker that it shall leave; answers with what it still has."""
        return DrainState(**(await self._ask({"do": "drain"})))

    async def follow(self, ids: Sequence[Id] | None = None, cursor: str | None = None) -> AsyncIterator[HomeEvent]:
        """What is told of some subscriptions, or of all at this broker, across lost connections, without end.

        Without a cursor it begins with the tops of now. With the last cursor that was told it goes on from there.
        `BrokerUnreachable` is raised when nobody has answered for as long as this client waits.
        """
        n_failures, deadline = 0, self._deadline()
        while True:
            exchange = None
            try:
                exchange = await self._opened(deadline)
                await exchange.begin({"do": "follow", "ids": None if ids is None else list(ids), "cursor": cursor})
                while True:
                    told = await exchange.told()
                    _raise_refusal(told)
                    n_failures, deadline = 0, self._deadline()
                    event = event_in(told)
                    if event is not None:
                        cursor = getattr(event, "cursor", cursor)
                        yield event
            except _Again:
                pass
            except (OSError, ValueError) as error:
                self._give_up_after(deadline, error)
            finally:
                if exchange is not None:
                    await exchange.close()
            n_failures += 1
            await asyncio.sleep(_pause(n_failures))

    async def _in_batches(self, do: str, what: list[Any], key: str | None = None) -> list[dict[str, Any]]:
        done: list[dict[str, Any]] = []
        for number, batch in enumerate(_batches(what)):
            done += await self._do_rows(do, batch, secrets.token_hex(12) if key is None else f"{key}.{number}")
        refused = [RowRefused(each["id"], each["refused"]) for each in done if "refused" in each]
        if refused:
            more = f" So are {len(refused) - 1} more of {len(done)} rows." if len(refused) > 1 else ""
            raise BrokerRefused(f"Row {refused[0].id!r} is refused: {refused[0].reason}{more}", refused)
        return done

    async def _do_rows(self, do: str, batch: list[Any], key: str) -> list[dict[str, Any]]:
        """Do something with all rows, those again that the broker could only not take right now."""
        request = {"do": do, ("rows" if do in ("publish", "subscribe") else "ids"): batch, "key": key}
        deadline, n_failures = self._deadline(), 0
        while True:
            done: list[dict[str, Any]] = (await self._ask(request, deadline))["rows"]
            waiting = [each for each in done if each.get("again")]
            if not waiting:
                return done
            self._give_up_after(deadline, BrokerRefused(waiting[0]["refused"]))
            n_failures += 1
            await asyncio.sleep(_pause(n_failures))

    async def _ask(self, request: dict[str, Any], deadline: float | None = None) -> dict[str, Any]:
        deadline, n_failures = deadline or self._deadline(), 0
        while True:
            try:
                exchange = await self._connected(deadline)
                async with asyncio.timeout_at(deadline):
                    told = await exchange.ask(request)
                _raise_refusal(told)
                done: dict[str, Any] = told["done"]
                return done
            except _Again as again:
                self._give_up_after(deadline, again)
            except OSError as error:
                self._give_up_after(deadline, error)
            n_failures += 1
            await asyncio.sleep(_pause(n_failures))

    async def _connected(self, deadline: float) -> Exchange:
        async with self._opening:
            if self._exchange is not None and not self._exchange.is_open:
                await self.close()
            if self._exchange is None:
                self._exchange = await self._opened(deadline)
            return self._exchange

    async def _opened(self, deadline: float) -> Exchange:
        async with asyncio.timeout_at(deadline):
            return await Exchange.opened(self._address, self._tls, self._token)

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._seconds

    def _give_up_after(self, deadline: float, error: BaseException) -> None:
        if asyncio.get_running_loop().time() >= deadline:
            reason = str(error) or type(error).__name__
            message = f"The broker at {self._address} was tried for {self._seconds:g} s: {reason.rstrip('.')}."
            raise BrokerUnreachable(message) from error


class _Again(Exception):
    """It may be tried later."""


def _raise_refusal(told: dict[str, Any]) -> None:
    if "refused" in told:
        if told.get("again"):
            raise _Again(told["refused"])
        raise BrokerRefused(told["refused"])


def _pause(n_failures: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(n_failures, 10)) * random.uniform(0.5, 1.0)


def _batches(what: list[Any]) -> Iterable[list[Any]]:
    """Rows in batches of not too many and not too long ones."""
    batch: list[Any] = []
    n_bytes = 0
    for each in what:
        length = len(json.dumps(each))
        if batch and (len(batch) == BATCH_ROWS or n_bytes + length > BATCH_BYTES):
            yield batch
            batch, n_bytes = [], 0
        batch.append(each)
        n_bytes += length
    if batch:
        yield batch
