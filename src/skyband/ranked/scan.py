"""Scan for the ranked family: every event held against every subscription's intervals."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.contract import pack, register, unpack
from skyband.contract.engine import Answer
from skyband.kernels.array import Bools, Int64s
from skyband.kernels.crew import n_shares, run
from skyband.kernels.growth import grown_all
from skyband.kernels.id_list import AnyIds
from skyband.kernels.id_order import labels
from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import Slots
from skyband.ranked.engine import RankedEngine
from skyband.ranked.interval_store import IntervalStore, asking
from skyband.ranked.kernels.fitting import make_rule
from skyband.ranked.kernels.interval_scan import NEVER, BestSlots, Events, Standing, check_standing, make_found
from skyband.ranked.rows import Publications, Subscriptions

# Fewer comparisons of an event with a subscription are not worth a thread; one takes 5 to 10 ns.
SCORES_A_THREAD = 100_000


@register
class RankedScan(RankedEngine):
    """The k best-scoring interval subscriptions for each event, by brute force.

    An event costs two comparisons for each part of every subscription.
    """

    name = "scan"
    takes_id_lists = True
    good_for = "up to about a hundred thousand subscriptions, and as the baseline"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rule = make_rule(self.fit, self.interval, self.combination, self.matching)
        self._slots = Slots()
        self._ids = IdMap()
        self._labelled = True
        self._asking: IntervalStore | None = None
        self._standing = Standing(*(np.zeros(0, np.int64) for _ in range(3)))

    @property
    def n_subscriptions(self) -> int:
        return self._ids.size

    def memory(self) -> dict[str, int]:
        asking = 0 if self._asking is None else self._asking.n_bytes
        return {"intervals": asking + sum(array.nbytes for array in self._standing), "ids": self._ids.n_bytes}

    def _registered(self, ids: AnyIds) -> Bools:
        return self._ids.find(ids) >= 0

    def _subscribe(self, rows: Subscriptions) -> Answer:
        if len(rows.ids):
            self._add(rows)
        return self._no_matches()

    def _add(self, rows: Subscriptions) -> None:
        slots = self._slots.take(np.zeros(len(rows.ids), np.int8))
        self._ids.add(rows.ids, slots)
        self._write(slots, rows)
        self._labelled = False

    def _write(self, slots: Int64s, rows: Subscriptions) -> None:
        before = len(self._standing.needed)
        self._standing = grown_all(self._standing, self._slots.n_slots)
        self._standing.needed[before:] = NEVER
        if self._asking is None:
            assert self.settings.dims is not None
            self._asking = asking(self._rule, self.settings.dims)
        self._asking.put(slots, self._slots.n_slots, rows)
        needed = np.diff(rows.offsets) if self._rule.exact else 1
        self._standing.needed[slots] = np.where(rows.budget == 0, NEVER, needed)
        self._standing.budget[slots] = rows.budget

    def _replace(self, rows: Subscriptions) -> None:
        self._write(self._ids.find(rows.ids), rows)

    def _unsubscribe(self, ids: AnyIds) -> Answer:
        if self._asking is not None:
            slots = self._ids.find(ids)
            self._asking.drop(slots)
            self._standing.needed[slots] = NEVER
            self._ids.remove(slots)
            self._slots.give(slots)
        return self._no_matches()

    def _publish(self, rows: Publications) -> Answer:
        n = len(rows.ids)
        self._pass_time(rows)
        if not n or self._asking is None or not self.n_subscriptions:
            return self._no_matches()
        self._label()
        ks = np.minimum(self._ks(rows), self.n_subscriptions)
        found = make_found(ks)
        self._search(self._asking, Events(rows.points, rows.upper, ks), found)
        self._counters["compared"] += n * self.n_subscriptions
        return self._answered(rows.ids, found, self._ids)

    def _search(self, asking: IntervalStore, events: Events, found: BestSlots) -> None:
        """Find the best slots, in several threads; budgets are used up in the order of the events, in one."""
        n, n_slots = len(events.k), self._slots.n_slots
        threads = n_shares(self.threads, n * n_slots, SCORES_A_THREAD)
        if threads > 1 and (self._standing.budget >= 0).any():
            threads = 1
        edges = [n * i // min(threads, n) for i in range(min(threads, n) + 1)]
        parts = [_taken(slice(lo, hi), events, found) for lo, hi in pairwise(edges)]
        run([partial(asking.search, some, n_slots, self._standing, into) for some, into in parts])

    def _label(self) -> None:
        if not self._labelled:
            slots = np.flatnonzero(self._slots.used)
            self._standing.label[slots] = labels(self._ids.ids(slots))
            self._labelled = True

    def _asked(self, ids: pa.Array | None) -> Subscriptions:
        slots = np.flatnonzero(self._slots.used) if ids is None else self._ids.find(ids)
        parts = asking(self._rule, 0).parts_of(slots) if self._asking is None else self._asking.parts_of(slots)
        names = self._ids.ids(slots) if len(slots) else pa.array([], self._id_type("subscriptions id"))
        return Subscriptions(names, *parts, self._standing.budget[slots])

    def _save(self) -> dict[str, pa.Table]:
        return {"subscriptions": pack(self._asked(None))}

    def _load(self, tables: dict[str, pa.Table]) -> None:
        if len(tables["subscriptions"]):
            self._add(unpack(Subscriptions, tables["subscriptions"]))

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._slots.check()
        self._ids.check()
        check_standing(self._standing, self._slots.used)


def _taken(part: slice, events: Events, found: BestSlots) -> tuple[Events, BestSlots]:
    """Some of the events, and where to write what they find."""
    its_events = Events(events.low[part], events.high[part], events.k[part])
    return its_events, found._replace(start=found.start[part], length=found.length[part])
