"""The talk with one client: requests in any number at a time, answers as they come, and changes that are followed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from skyband.broker.driver.driver import Driver
from skyband.broker.driver.naming import id_in, name_of
from skyband.broker.driver.outstanding import RequestRefused
from skyband.broker.driver.task import ClientRequest
from skyband.broker.port.access import is_known
from skyband.broker.port.following import HomeFollowing
from skyband.broker.port.line import BadRequest, pack_line, read_ids, read_rows, unpack_line
from skyband.broker.port.own_publications import publications_of
from skyband.broker.port.standing import cursor_at, status_of, tops_of
from skyband.contract import FAMILIES
from skyband.contract.tops import Id
from skyband.overlay.broker.event import Draining, Happening, Offered, Retracted, Subscribed, Unsubscribed

AT_ONCE = 64
"""So many requests of one client are worked on at the same time."""
ROWS_AT_ONCE = 256
MOST_KEY = 200
ROOM_FOR_HEADER = 1024

Answer = dict[str, Any]


class Conversation:
    """One client that has connected; it is let in at once, or when it has shown a token."""

    def __init__(self, driver: Driver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._driver, self._reader, self._writer = driver, reader, writer
        self._stall = driver.chart.limits.stall / 1e6
        self._most_row = driver.chart.limits.frame - ROOM_FOR_HEADER
        schema = FAMILIES[driver.chart.options.family].publications
        self._columns = frozenset(schema.names if schema is not None else ())
        self._is_let_in = not driver.chart.access.tokens
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._following: asyncio.Task[None] | None = None
        self._doing: dict[str, Callable[[dict[str, Any]], Awaitable[Answer]]] = {
            "publish": self._publish,
            "retract": self._retract,
            "publications": self._publications,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
            "subscriptions": self._subscriptions,
            "top": self._top,
            "status": self._status,
            "drain": self._drain,
            "follow": self._follow,
        }

    async def run(self) -> None:
        """Talk until the client hangs up, reads nothing, or sends what is no request."""
        try:
            while line := await self._reader.readline():
                await self._room.acquire()
                await self._take(line)
        except ValueError:
            # The reader says so of a line that is longer than its limit.
            await self._say({"refused": "The line is too long: send fewer rows at once."})
        finally:
            self._writer.transport.abort()
            for task in [*self._tasks, *([self._following] if self._following else [])]:
                task.cancel()

    async def _take(self, line: bytes) -> None:
        try:
            request = unpack_line(line)
            if not self._is_let_in:
                await self._let_in(request)
                self._room.release()
                return
        except BadRequest as error:
            self._room.release()
            await self._say({"refused": str(error)})
            return
        task = asyncio.create_task(self._answer(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _let_in(self, request: dict[str, Any]) -> None:
        if not is_known(self._driver.chart.access, request.get("token")):
            raise BadRequest('Nobody is let in without a token: say {"do": "hello", "token": "..."} first.')
        self._is_let_in = True
        await self._say({"n": request.get("n"), "done": {"broker": self._driver.place.name}})

    async def _answer(self, request: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"n": request.get("n")}
        try:
            doing = self._doing.get(str(request.get("do")))
            if request.get("do") == "hello":
                answer["done"] = {"broker": self._driver.place.name}
            elif doing is None:
                answer["refused"] = f'"do" is one of hello, {", ".join(self._doing)}.'
            else:
                answer["done"] = await doing(request)
        except BadRequest as error:
            answer["refused"] = str(error)
        except RequestRefused as error:
            answer |= {"refused": str(error), "again": error.again}
        finally:
            self._room.release()
        await self._say(answer)

    async def _say(self, value: Any) -> None:
        """Send a line; a client that reads nothing is hung up on."""
        try:
            self._writer.write(pack_line(value))
            await asyncio.wait_for(self._writer.drain(), self._stall)
        except (OSError, TimeoutError):
            self._writer.transport.abort()

    async def _publish(self, request: dict[str, Any]) -> Answer:
        # What no score looks at need not travel, and costs most of all to read.
        rows = [
            {name: row[name] for name in row if name in self._columns} for row in read_rows(request, self._most_row)
        ]
        return {"rows": await self._each(request, [(row["id"], Offered(self._named(row))) for row in rows])}

    async def _publications(self, request: dict[str, Any]) -> Answer:
        return await publications_of(self._driver, request)

    async def _retract(self, request: dict[str, Any]) -> Answer:
        return {"rows": await self._each(request, [(id, Retracted(self._name(id))) for id in read_ids(request)])}

    async def _subscribe(self, request: dict[str, Any]) -> Answer:
        rows = read_rows(request, self._most_row)
        return {"rows": await self._each(request, [(row["id"], Subscribed(self._named(row))) for row in rows])}

    async def _unsubscribe(self, request: dict[str, Any]) -> Answer:
        return {"rows": await self._each(request, [(id, Unsubscribed(self._name(id))) for id in read_ids(request)])}

    def _name(self, id: Id) -> str:
        return name_of(self._driver.place.name, id)

    def _named(self, row: dict[str, Any]) -> dict[str, Any]:
        return row | {"id": self._name(row["id"])}

    async def _each(self, request: dict[str, Any], events: list[tuple[Id, Happening]]) -> list[Answer]:
        """Do something for each row, and say of each what became of it."""
        key = request.get("key")
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= MOST_KEY):
            raise BadRequest(f'"key" is a text of up to {MOST_KEY} characters.')
        answers: list[Answer] = []
        for start in range(0, len(events), ROWS_AT_ONCE):
            part = events[start : start + ROWS_AT_ONCE]
            keys = [None if key is None else f"{key}:{start + i}" for i in range(len(part))]
            requests = [ClientRequest(event, each) for each, (_, event) in zip(keys, part, strict=True)]
            done = await self._driver.ask(requests)
            answers += [self._one(id, each) for (id, _), each in zip(part, done, strict=True)]
        return answers

    def _one(self, id: Id, done: Answer | BaseException) -> Answer:
        if isinstance(done, RequestRefused):
            reason = str(done).replace(repr(self._name(id)), repr(id))
            return {"id": id, "refused": reason, "again": done.again}
        if isinstance(done, BaseException):
            raise done
        return {"id": id} | done

    async def _subscriptions(self, request: dict[str, Any]) -> Answer:
        names = await self._driver.look(lambda broker: list(broker.registrations.known))
        return {"ids": [id_in(name) for name in names]}

    async def _top(self, request: dict[str, Any]) -> Answer:
        ids = None if request.get("ids") is None else set(read_ids(request))
        tops = await tops_of(self._driver)
        rows = [row for row in tops.rows if ids is None or row["subscription"] in ids]
        return {"tops": rows, "cursor": cursor_at(self._driver, tops.n_changes), "applied": tops.applied}

    async def _status(self, request: dict[str, Any]) -> Answer:
        return await status_of(self._driver)

    async def _drain(self, request: dict[str, Any]) -> Answer:
        (done,) = await self._driver.ask([ClientRequest(Draining())])
        if isinstance(done, BaseException):
            raise done
        return done

    async def _follow(self, request: dict[str, Any]) -> Answer:
        if self._following is not None:
            raise BadRequest("This connection follows already: open another one.")
        ids = None if request.get("ids") is None else frozenset(read_ids(request))
        following = HomeFollowing(self._driver, self._say_changes, ids, request.get("cursor"))
        self._following = asyncio.create_task(following.run())
        return {"home": self._driver.place.name}

    async def _say_changes(self, value: dict[str, Any]) -> None:
        await self._say(value)
        if self._writer.transport.is_closing():
            raise ConnectionResetError
