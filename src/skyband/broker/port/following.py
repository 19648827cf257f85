"""Following a home: its changes from a cursor on, at the pace at which a client reads them.

Nothing is queued for a client. It has a place in the ring; if that is no longer kept when it gets there, it is told the
tops of now, with the reason, and goes on from these.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from skyband.broker.driver.change_ring import ChangeRow
from skyband.broker.driver.driver import Driver
from skyband.broker.driver.naming import id_in
from skyband.broker.port.cursor import Cursor
from skyband.broker.port.standing import by_id, cursor_at, tops_of
from skyband.contract.tops import Id
from skyband.table.change import TopChange

AT_ONCE = 500
BEGIN = "These are the tops of now: changes follow."
Say = Callable[[dict[str, Any]], Awaitable[None]]


class HomeFollowing:
    """One client that follows the subscriptions it names, or all that are asked for at this broker."""

    def __init__(self, driver: Driver, say: Say, ids: frozenset[Id] | None, cursor: object) -> None:
        self._driver, self._say, self._ids = driver, say, ids
        self._cursor = cursor
        self._next, self._turn = 0, driver.ring.n_happened
        self._mine = f"{driver.place.name}/"

    async def run(self) -> None:
        """Tell what there is and what comes, until the client is gone."""
        try:
            reason = self._reason_to_begin()
            if reason:
                await self._tell_tops(reason)
            while True:
                await self._tell_news()
                await self._driver.ring.wait(self._next, self._turn)
        except OSError:
            return

    def _reason_to_begin(self) -> str:
        """Why a client cannot go on from its cursor; empty if it can."""
        if self._cursor is None:
            return BEGIN
        cursor, ring, home = Cursor.of(self._cursor), self._driver.ring, self._driver.place.name
        if cursor is None:
            return "The cursor is none that a broker has told. " + BEGIN
        if (cursor.home, cursor.journal) != (home, self._driver.journal.name):
            return f"The cursor is of another home than {home} with the journal that it has now. " + BEGIN
        if not ring.first <= cursor.number <= ring.next:
            return f"Changes from {cursor.number} on are not kept any more. " + BEGIN
        self._next = cursor.number
        return ""

    async def _tell_tops(self, reason: str) -> None:
        tops = await tops_of(self._driver)
        self._next = tops.n_changes
        rows = [row for row in tops.rows if self._is_asked(row["subscription"])]
        cursor = cursor_at(self._driver, self._next)
        await self._say({"tops": rows, "why": reason, "cursor": cursor, "applied": tops.applied})

    async def _tell_news(self) -> None:
        ring = self._driver.ring
        for each in ring.happened_since(self._turn):
            self._turn = each.turn
            await self._say(each.what)
        if self._next < ring.first:
            await self._tell_tops(f"Changes from {self._next} on are not kept any more. " + BEGIN)
        while self._next < ring.next and self._next >= ring.first:
            rows = ring.since(self._next, AT_ONCE)
            first, self._next = self._next, self._next + len(rows)
            changes = [self._change(number, row) for number, row in enumerate(rows, first) if self._is_mine(row)]
            if changes:
                await self._say({"changes": changes, "cursor": cursor_at(self._driver, self._next)})

    def _is_mine(self, row: ChangeRow) -> bool:
        return str(row[0]).startswith(self._mine) and self._is_asked(id_in(row[0]))

    def _is_asked(self, id: Id) -> bool:
        return self._ids is None or id in self._ids

    def _change(self, number: int, row: ChangeRow) -> dict[str, Any]:
        return {"number": number} | dict(zip(TopChange._fields, row, strict=True)) | by_id(row[0], row[1])
