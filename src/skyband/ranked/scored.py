"""The engine `scored`: subscriptions in scored interval indexes, the best of them for each event found by getnext."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.contract import pack, register, unpack
from skyband.contract.engine import Answer
from skyband.kernels.array import Bools, Int64s
from skyband.kernels.id_list import AnyIds, arrow_ids
from skyband.kernels.object_ids import Lexicon
from skyband.ranked.engine import RankedEngine
from skyband.ranked.kernels.fitting import make_rule
from skyband.ranked.kernels.interval_scan import Events
from skyband.ranked.kernels.streams import RANDOM, SORTED
from skyband.ranked.layers import KINDS, Kind
from skyband.ranked.matcher import Access, Matcher
from skyband.ranked.rows import Publications, Subscriptions
from skyband.table.answer_rows import AnswerRows
from skyband.table.argument import check_integer

# The answer to a batch of events is found in pieces of at most so many rows, unless one event has more.
ROWS_AT_ONCE = 4_000_000
# A publication drives a merge by one slice, and one more for so many events.
EVENTS_A_SLICE = 1024


@register
class ScoredEngine(RankedEngine):
    """The k best-scoring subscriptions for each event, found in order and no further than they are needed.

    `index` is the scored interval index: "sopt" (the SOPT-R-tree, the fastest), "ir" (the IR-tree), "r", "segment" or
    "interval". All but the IR-tree are built as a whole, and take what changes into an IR-tree beside them until it is
    merged in, slice by slice; `delta` changes, and a 128th of the index, begin a merge. `access` is how subscriptions
    are found: exact matching has "cells", "anchor" and, as in the paper, "intersect"; relaxed matching has "tiers",
    "descent", "total" and, as in the paper, "threshold".
    """

    name = "scored"
    takes_id_lists = True
    good_for = "any number of subscriptions that come, go and change: an event costs about k steps in each dimension"
    modes = (
        {"k": 3, "delta": 4},
        {"k": 3, "matching": "exact", "delta": 4},
    )
    rare_modes = (
        *({"k": 3, "index": kind, "access": "threshold", "delta": 4} for kind in KINDS),
        *({"k": 3, "access": way, "delta": 4} for way in ("descent", "total")),
        *({"k": 3, "matching": "exact", "access": way, "delta": 4} for way in ("anchor", "intersect")),
        *(mode | {"delta": 4} for mode in RankedEngine.rare_modes),
    )

    def __init__(
        self, *args: Any, index: Kind = "sopt", access: Access = "auto", delta: int = 1024, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.index: Kind = index
        self.access: Access = access
        self.delta = check_integer("delta", delta, 1, 2**62)
        self._lexicon = Lexicon(ties=False)
        self._matcher = self._make_matcher()

    def _make_matcher(self) -> Matcher:
        rule = make_rule(self.fit, self.interval, self.combination, self.matching)
        return Matcher(rule, self.settings.dims or 0, self.index, self.access, self.delta)

    @property
    def n_subscriptions(self) -> int:
        return self._matcher.n_owners

    @property
    def counters(self) -> dict[str, int]:
        return dict(sorted((Counter(super().counters) + self._done()).items()))

    def _done(self) -> Counter[str]:
        """What the matcher has counted since it was made."""
        work = self._matcher.work
        return Counter(
            {
                "merges": self._matcher.layers.n_merges,
                "sorted accesses": int(work[SORTED]),
                "random accesses": int(work[RANDOM]),
            }
        )

    def _work(self) -> dict[str, int]:
        return dict(self._done())

    def _count_on(self, counters: dict[str, int], work: dict[str, int]) -> None:
        super()._count_on(counters, work)
        if work:
            # The counters have it; what it took to fill the matcher again is not counted twice.
            self._counters.subtract(self._done())

    def memory(self) -> dict[str, int]:
        matcher = self._matcher
        return {
            "index": matcher.index_bytes,
            "subscriptions": matcher.n_bytes,
            "ids": self._lexicon.n_bytes,
            "threads": matcher.thread_bytes,
        }

    def merge(self) -> None:
        """Take all changes into the index at once, as one would before a rush of events."""
        self._matcher.merge()

    def _registered(self, ids: AnyIds) -> Bools:
        owners = self._lexicon.ids.find(ids)
        known = owners >= 0
        known[known] = self._matcher.pool.alive[owners[known]]
        return known

    def _subscribe(self, rows: Subscriptions) -> Answer:
        if len(rows.ids):
            self._add(rows)
        return self._no_matches()

    def _add(self, rows: Subscriptions) -> None:
        if not self._lexicon.n:
            self._matcher = self._make_matcher()
        owners = self._lexicon.slots(rows.ids)
        self._matcher.label = self._lexicon.label
        self._matcher.add(owners, rows)

    def _unsubscribe(self, ids: AnyIds) -> Answer:
        if len(ids):
            self._matcher.remove(self._lexicon.ids.find(ids))
        return self._no_matches()

    def _publish(self, rows: Publications) -> Answer:
        self._pass_time(rows)
        if not len(rows.ids) or not self.n_subscriptions:
            return self._no_matches()
        self._matcher.layers.step(1 + len(rows.ids) // EVENTS_A_SLICE)
        ks = np.minimum(self._ks(rows), self.n_subscriptions)
        pieces = _pieces(ks) if len(ks) > 1 else []
        if len(pieces) <= 1:
            return self._match(Events(rows.points, rows.upper, ks), rows.ids)
        events = [Events(rows.points[piece], rows.upper[piece], ks[piece]) for piece in pieces]
        ids = arrow_ids(rows.ids)
        parts = [self._match(some, ids[piece]).table() for some, piece in zip(events, pieces, strict=True)]
        return pa.concat_tables(parts)

    def _match(self, events: Events, ids: AnyIds) -> AnswerRows:
        return self._answered(ids, self._matcher.match(events, threads=self.threads), self._lexicon.ids)

    @property
    def _search_name(self) -> str:
        return self._matcher.access

    def _asked(self, ids: pa.Array | None) -> Subscriptions:
        owners = np.flatnonzero(self._matcher.pool.alive) if ids is None else self._lexicon.ids.find(ids)
        names = self._lexicon.ids.ids(owners) if len(owners) else pa.array([], self._id_type("subscriptions id"))
        return self._matcher.asked(owners, names, self.settings.dims or 0)

    def _save(self) -> dict[str, pa.Table]:
        return {"subscriptions": pack(self._asked(None))}

    def _load(self, tables: dict[str, pa.Table]) -> None:
        if len(tables["subscriptions"]):
            self._add(unpack(Subscriptions, tables["subscriptions"]))

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"index": self.index, "access": self.access, "delta": self.delta}

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._lexicon.check()
        self._matcher.check()


def _pieces(ks: Int64s) -> list[slice]:
    """Stretches of events whose answers have room together."""
    if ks.sum() <= ROWS_AT_ONCE:
        return [slice(0, len(ks))]
    pieces, start, total = [], 0, 0
    for i, k in enumerate(ks.tolist()):
        if total and total + k > ROWS_AT_ONCE:
            pieces.append(slice(start, i))
            start, total = i, 0
        total += k
    return [*pieces, slice(start, len(ks))]
