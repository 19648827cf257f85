"""A gateway: the lists of the subscriptions of a zone, kept from messages alone while subscriptions come and go.

A subscription waits until the server has answered: that it is painted for after event t, with its top as of t. What
came for it meanwhile is kept, and of that only what is later than t is for it. The answer may as well come before
messages of t and earlier, which are not for it either; so it is kept apart from the others until something later than
t has come. After that it is one of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats
from skyband.overlay.network.paint_rows import PaintRows
from skyband.overlay.network.paint_server import RankedObject
from skyband.overlay.network.parcel import Bundle, Estate, Row, StandingList, WaitingList
from skyband.overlay.network.region import Region
from skyband.ranges.kernels.message import points_of
from skyband.ranges.rows import SUBSCRIPTIONS
from skyband.ranges.subscribers import SubscriberTable
from skyband.table.answer_rows import AnswerRows


def point_of(row: Row) -> Floats:
    """The point of the subscription space where a subscription lies."""
    lo, hi = (np.atleast_2d(np.asarray(row[side], np.float64)) for side in ("lo", "hi"))
    point: Floats = points_of(lo, hi)[0]
    return point


class Begun(NamedTuple):
    """A subscription that the server has answered as of an event, and of which that event has not passed here yet."""

    row: Row
    event: int
    table: SubscriberTable


class Gateway:
    """Subscriptions by key: they wait, have begun, or stand; `event` is that of the last bundle that has come."""

    def __init__(self, dims: int) -> None:
        self.dims, self.event = dims, 0
        self.rows: dict[int, Row] = {}
        self._waiting: dict[int, WaitingList] = {}
        self._begun: dict[int, Begun] = {}
        self._given_up_early: set[int] = set()
        self._table = SubscriberTable(SUBSCRIPTIONS.empty_table(), dims=dims)

    @property
    def counters(self) -> dict[str, int]:
        """How many messages the standing subscriptions have received, and how many of these changed nothing."""
        return self._table.counters

    def wait(self, key: int, row: Row) -> bool:
        """Take a subscription that the server is about to be asked for; False if it was given up before it came."""
        if key in self._given_up_early:
            self._given_up_early.discard(key)
            return False
        self.rows[key] = row
        self._waiting[key] = WaitingList(key, row, [])
        return True

    def begin(self, key: int, event: int, top: Sequence[RankedObject]) -> bool:
        """The server has answered as of an event; False if that is for nobody here."""
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return False
        table = _table_of([StandingList(key, waiting.row, event, list(top))])
        for bundle in waiting.bundles:
            if self._is_for(bundle.event, event):
                table.hear(bundle.rows.wired())
        self._begun[key] = Begun(waiting.row, event, table)
        self._settle(self.event)
        return True

    def _is_for(self, event: int, since: int) -> bool:
        """Whether messages of an event are for a subscription that began with another one."""
        return event > since

    def hear(self, event: int, rows: PaintRows) -> AnswerRows:
        """Take the messages of an event."""
        self.event = event
        for key, waiting in self._waiting.items():
            self._waiting[key] = waiting._replace(bundles=[*waiting.bundles, Bundle(event, rows)])
        self._settle(event - 1)
        changes = self._table.hear(rows.wired())
        self._settle(event)
        return changes

    def _settle(self, event: int) -> None:
        """All messages up to an event have come: what began with it or before stands."""
        for key, begun in list(self._begun.items()):
            if begun.event <= event:
                self._table.subscribe([_keyed(key, begun.row)], begun.table.top())
                del self._begun[key]

    def give_up(self, key: int) -> bool:
        """Let a subscription go; False if it is not here, in which case it will not be taken if it comes."""
        if self.rows.pop(key, None) is None:
            self._given_up_early.add(key)
            return False
        if self._waiting.pop(key, None) is None and self._begun.pop(key, None) is None:
            self._table.unsubscribe([key])
        return True

    def points(self) -> Floats:
        """Where its subscriptions lie."""
        points = [point_of(row) for row in self.rows.values()]
        return np.array(points).reshape(len(points), 2 * self.dims)

    def top(self) -> dict[int, list[RankedObject]]:
        """The list of each subscription that the server has answered."""
        tops: dict[int, list[RankedObject]] = {key: [] for key in self.rows if key not in self._waiting}
        for table in (self._table, *(begun.table for begun in self._begun.values())):
            for row in table.top().to_pylist():
                tops[row["subscription"]].append(RankedObject(row["publication"], row["score"]))
        return tops

    def begun_with(self) -> dict[int, int]:
        """The event with which each subscription began that does not stand yet."""
        return {key: begun.event for key, begun in self._begun.items()}

    def hand_over(self, region: Region, links: dict[int, Region]) -> Estate:
        """Give away the subscriptions of a region."""
        keys = [key for key, row in self.rows.items() if region.holds(point_of(row)[np.newaxis])[0]]
        tops, begun = self.top(), self.begun_with()
        standing = [
            StandingList(key, self.rows[key], begun.get(key, 0), tops[key]) for key in keys if key not in self._waiting
        ]
        waiting = [self._waiting[key] for key in keys if key in self._waiting]
        for key in keys:
            self.give_up(key)
        return Estate(region, self.event, standing, waiting, links, sorted(self._given_up_early))

    def take_over(self, estate: Estate) -> None:
        """Take the subscriptions of a region from the gateway that has given them away."""
        self.event = max(self.event, estate.event)
        self._given_up_early |= set(estate.given_up)
        for waiting in estate.waiting:
            self.rows[waiting.key] = waiting.row
            self._waiting[waiting.key] = waiting
        passed = [each for each in estate.standing if each.event <= self.event]
        for each in estate.standing:
            self.rows[each.key] = each.row
            if each.event > self.event:
                self._begun[each.key] = Begun(each.row, each.event, _table_of([each]))
        if passed:
            self._table.subscribe([_keyed(each.key, each.row) for each in passed], _top_table(passed))
        self._settle(self.event)

    def check(self) -> None:
        """Assert the invariants."""
        self._table.check()
        standing = set(self.rows) - set(self._waiting) - set(self._begun)
        assert len(self.rows) == len(self._waiting) + len(self._begun) + len(standing)
        assert set(self._waiting) <= set(self.rows)
        assert all(begun.event > self.event for begun in self._begun.values())


def _keyed(key: int, row: Row) -> Row:
    return row | {"id": key}


def _table_of(standing: Sequence[StandingList]) -> SubscriberTable:
    return SubscriberTable([_keyed(each.key, each.row) for each in standing], _top_table(standing))


def _top_table(standing: Sequence[StandingList]) -> pa.Table:
    members = [(each.key, *member) for each in standing for member in each.top]
    keys, objects, scores = zip(*members, strict=True) if members else ((), (), ())
    columns = [pa.array(keys, pa.int64()), pa.array(objects), pa.array(scores, pa.float64())]
    return pa.table(columns, names=["subscription", "publication", "score"])
