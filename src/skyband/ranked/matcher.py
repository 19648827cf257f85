"""The matcher: subscriptions by number in a scored interval index, and the best of them for events.

It is the engine without ids and tables. Owners are numbered from 0, and `label` says which of two comes first where
their scores are equal: the one with the larger label. It may be replaced by a longer array, or by one with other
labels in the same order.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.growth import blank, grown
from skyband.kernels.heap import Heap, make_heap
from skyband.kernels.ragged import offsets_of, owners_of, places_of
from skyband.kernels.room import DOUBLINGS, stops
from skyband.ranked.anchor import Anchors
from skyband.ranked.cells import PageIndex
from skyband.ranked.kernels.cells import N_WORDS, CellScratch, match_in_pages
from skyband.ranked.kernels.fitting import FLAT, SUM, Rule
from skyband.ranked.kernels.interval_scan import BestSlots, Events, make_found, most_asked
from skyband.ranked.kernels.keys import full_scores
from skyband.ranked.kernels.parts import Parts, rounded_down, rounded_up
from skyband.ranked.kernels.ranking import Owners, RankingSearch, SearchScratch, match_events
from skyband.ranked.kernels.streams import make_streams
from skyband.ranked.kernels.tiers import BLOCK, N_BLOCKS, TierBounds, match_in_tiers
from skyband.ranked.layers import Kind, LayeredIndex
from skyband.ranked.pool import OwnerPool, PoolRows
from skyband.ranked.rows import UNLIMITED, Subscriptions
from skyband.ranked.tiers import TierIndex, planes_of
from skyband.table.argument import check_choice

Access = Literal["auto", "anchor", "cells", "descent", "intersect", "threshold", "tiers", "total"]
# Tiers and cells have room for every dimension of every subscription; with more, most are not asked about.
MOST_DIMS = 16

# So many of its parts are at hand where subscriptions come in the order of what they can score.
N_HELD = 4

# Cursors of interval events get this much more room, then twice as much, until they have enough.
ROOM = 64
# Weights that are multiples of 2**-GRAIN and at most 2**GRAIN add up without rounding.
GRAIN = 16


class Made(NamedTuple):
    """Rows for the pool, which of them are indexed; by owner how many have to turn up, in how many streams, and what
    every event gets (or, in exact matching, the whole score).
    """

    rows: PoolRows
    indexed: Bools
    needed: Int64s
    n_streams: Int64s
    base: Floats


class Matcher:
    """Subscriptions that come, go and change, and what events make of them."""

    def __init__(self, rule: Rule, dims: int, index: Kind = "sopt", access: Access = "auto", delta: int = 1024) -> None:
        self.pool = OwnerPool()
        # The dimension behind the last one holds what every event meets.
        self.layers = LayeredIndex(index, self.pool, dims + 1, delta)
        self.label = np.zeros(0, np.int64)
        self.n_owners = 0
        self.work = np.zeros(2, np.int64)
        access = chosen_access(access, rule, dims)
        self._by_total = access in ("descent", "total")
        self._rule = rule._replace(keyed=not rule.exact and not self._by_total)
        self._anchored = access == "anchor"
        self._anchors = Anchors(dims)
        self._tiers = TierIndex(dims) if access == "tiers" else None
        self._pages = None
        if access == "cells":
            self._pages = PageIndex(dims, self.pool)
        elif access == "descent":
            self._pages = PageIndex(0, self.pool, N_HELD)
        self._least, self._most = 0, 0
        self._even = rule.fit == FLAT and rule.combination == SUM and dims < 2**GRAIN
        self._n_budgets = 0
        self._seen = np.zeros(0, np.int64)
        self._stamp = 1
        self._room = 0
        self._streams = make_streams(0, 0)

    @property
    def parts(self) -> Parts:
        pool = self.pool
        return Parts(pool.fact, pool.dim, pool.weight, self.label)

    @property
    def n_bytes(self) -> int:
        """The bytes of all but the index."""
        return self.pool.n_bytes + self._seen.nbytes

    @property
    def index_bytes(self) -> int:
        """The bytes of the index."""
        beside = self._tiers or self._pages
        return self.layers.n_bytes + (beside.n_bytes if beside else 0)

    def add(self, owners: Int64s, rows: Subscriptions) -> None:
        """Take in the subscriptions of owners that have none; their ids are not looked at."""
        opened = (rows.lo == -np.inf) & (rows.hi == np.inf)
        if self._anchored:
            self._anchors.learn(rows.dim[~opened], rows.lo[~opened], rows.hi[~opened])
        made = self._made(rows, opened)
        places = self.pool.put(owners, made.rows)
        self.pool.needed[owners], self.pool.budget[owners] = made.needed, rows.budget
        least, most = int(made.n_streams.min()), int(made.n_streams.max())
        if self.n_owners:
            least, most = min(least, self._least), max(most, self._most)
        self._least, self._most = least, most
        self._even = self._even and _is_even(rows.weight)
        self.n_owners += len(owners)
        self._n_budgets += int((rows.budget != UNLIMITED).sum())
        if self._tiers:
            self._tiers.add(owners, planes_of(rows, made.base, self.layers.n_dims - 1))
        elif self._pages:
            self._pages.add(self.parts, owners)
        else:
            self.layers.add(self.parts, places[made.indexed])

    def remove(self, owners: Int64s) -> None:
        """Forget the subscriptions of these owners."""
        self.n_owners -= len(owners)
        self._n_budgets -= int((self.pool.budget[owners] != UNLIMITED).sum())
        if self._tiers:
            self._tiers.remove(owners)
        if self._pages:
            self._pages.remove(self.parts, owners)
        self.layers.remove(self.parts, owners)

    def _made(self, rows: Subscriptions, opened: Bools) -> Made:
        """The rows of the pool for these subscriptions: their parts, and a base where one is needed."""
        exact, combination = self._rule.exact, self._rule.combination
        n_parts = np.diff(rows.offsets)
        owner = owners_of(n_parts)
        n_open = np.bincount(owner[opened], minlength=len(n_parts))
        based = n_parts == n_open if exact else n_open > 0
        key, base_key, chosen = rows.weight, np.zeros(len(n_parts)), ~opened
        by_full = exact or self._by_total
        full_scores(rows.offsets, rows.weight, opened | by_full, combination, base_key)
        if by_full:
            key = base_key[owner]
        if self._anchored:
            chosen = self._anchors.choose(rows.offsets, rows.dim, rows.lo, rows.hi, ~opened)
        n_streams = n_parts - n_open + based
        needed = n_streams if exact and not self._anchored else np.ones(len(n_parts), np.int64)
        offsets = offsets_of(n_parts + based)
        at, at_base = places_of(offsets[:-1], n_parts), offsets[1:][based] - 1

        def laid(parts: Any, bases: Any, kind: Any = np.float64) -> Any:
            column = np.empty(len(at) + len(at_base), kind)
            column[at], column[at_base] = parts, bases
            return column

        made = PoolRows(
            n_parts + based,
            n_parts,
            laid(rows.dim, self.layers.n_dims - 1, np.int32),
            laid(rows.lo, -np.inf),
            laid(rows.hi, np.inf),
            laid(key, base_key[based]),
            laid(rows.weight, 0.0),
        )
        return Made(made, laid(chosen, True, np.bool_), needed, n_streams, base_key)

    def match(self, events: Events, sort: bool = True) -> BestSlots:
        """The best owners for each event, and their scores; budgets are used up in the order of the events.

        Events are looked at in the order of their first values, which is faster, unless told not to `sort`.
        """
        n, are_points, low = len(events.k), events.low is events.high, _with_always(events.low)
        events = Events(low, low if are_points else _with_always(events.high), events.k)
        # An interval event may meet intervals that have nothing in common, which not every index has in order.
        intervals = not (self._rule.inside or are_points) and bool((events.low < events.high).any())
        found = make_found(events.k)
        order = np.argsort(events.low[:, 0]) if sort and n > 1 else np.arange(n)
        self._seen = grown(self._seen, len(self.label))
        if self._tiers:
            self._match_in_tiers(self._tiers, events, order, found)
            return found
        if self._pages:
            self._match_in_pages(self._pages, events, order, found)
            return found
        heap, stamp = make_heap(most_asked(events)), self._stamp
        self._stamp += 2 * n
        self._match(events, order, stamp, intervals, heap, found)
        if self._n_budgets:
            self._match(events, order[:0], stamp + n, intervals, heap, found)
        return found

    def _match(self, events: Events, order: Int64s, stamp: int, intervals: bool, heap: Heap, found: BestSlots) -> None:
        """Match the events in this order; or, with none, serve those with budgets, in theirs."""

        def match_from(done: int) -> int:
            search = self._search(intervals, heap)
            done = match_events(search, events, order, stamp, done, found)
            self.work += search.streams.work
            return done

        for _ in stops(match_from, len(events.k), tries=DOUBLINGS):
            self._room = 2 * self._room + ROOM

    def _match_in_tiers(self, index: TierIndex, events: Events, order: Int64s, found: BestSlots) -> None:
        # What holds an event's interval reaches from before its lower end to behind its upper end.
        first, last = (events.high, events.low) if self._rule.inside else (events.low, events.high)
        scratch = np.zeros(N_BLOCKS, np.float32), np.zeros(BLOCK, np.float32)
        bounds = TierBounds(*scratch, rounded_down(first), rounded_up(last))
        search = self._search(False, make_heap(most_asked(events)))
        match_in_tiers(index.tiers, search, events, order, bounds, found)
        if self._n_budgets:
            match_in_tiers(index.tiers, search, events, order[:0], bounds, found)
        self.work += search.streams.work

    def _match_in_pages(self, index: PageIndex, events: Events, order: Int64s, found: BestSlots) -> None:
        most = int(events.k.max(initial=0))
        scratch = CellScratch(blank(N_WORDS, dtype=np.uint32), make_heap(most))
        search = self._search(False, make_heap(most))
        match_in_pages(index.pages, search, events, order, scratch, found)
        if self._n_budgets:
            match_in_pages(index.pages, search, events, order[:0], scratch, found)
        self.work += search.streams.work

    def _search(self, intervals: bool, heap: Heap) -> RankingSearch:
        pool, parts, n_dims = self.pool, self.parts, self.layers.n_dims
        layers, width = self.layers.view(parts, intervals, self._room)
        counts = (pool.span, pool.needed, pool.budget, self.layers.size)
        streams = self._streams
        if streams.cursor.shape != (n_dims, width):
            streams = self._streams = make_streams(n_dims, width)
        streams.work[:] = 0
        all_parts = self._rule.exact and not self._anchored
        verify = self._anchored and self._most > 1
        asked = Owners(
            *counts, self._least, self._most, all_parts, verify, self._by_total, self._n_budgets > 0, self._even
        )
        return RankingSearch(
            layers, parts, asked, self._rule, streams, SearchScratch(heap, self._seen, np.zeros(n_dims))
        )

    def merge(self) -> None:
        """Take all changes into the static index at once."""
        self.layers.settle(self.parts)

    def asked(self, owners: Int64s, ids: Any, dims: int) -> Subscriptions:
        """What these owners ask for."""
        pool = self.pool
        n_parts = pool.n_parts[owners].astype(np.int64)
        offsets, places = offsets_of(n_parts), places_of(pool.first[owners], n_parts)
        lo, hi = pool.fact[places, 0], pool.fact[places, 1]
        return Subscriptions(ids, offsets, pool.dim[places], lo, hi, pool.weight[places], pool.budget[owners], dims)

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self.pool.check()
        self.layers.check(self.parts)
        if self._tiers:
            self._tiers.check()
        if self._pages:
            self._pages.check(self.parts)
        assert self.n_owners == int(self.pool.alive.sum())


def chosen_access(access: Access, rule: Rule, dims: int) -> Access:
    """The way to subscriptions that was asked for, if it can be had, or the one that suits the rule."""
    check_choice("access", access, Access)
    if rule.exact:
        if access in ("descent", "threshold", "tiers", "total"):
            raise ValueError(
                f"The access {access} is for relaxed matching; exact matching has anchor, cells and intersect."
            )
        if access != "auto":
            return access
        return "cells" if 1 < dims <= MOST_DIMS else "anchor"
    if access in ("anchor", "cells", "intersect"):
        raise ValueError(
            f"The access {access} is for exact matching; relaxed matching has descent, threshold, tiers and total."
        )
    if access in ("descent", "tiers") and rule.combination != SUM:
        raise ValueError("Descent and tiers are for sums; other combinations have the access total.")
    if access != "auto":
        return access
    if dims == 1:
        return "threshold"
    if rule.combination != SUM:
        return "total"
    return "tiers" if dims <= MOST_DIMS else "descent"


def _with_always(values: Floats) -> Floats:
    """Values of events, with one more dimension, that every event has."""
    n, dims = values.shape
    widened = np.zeros((n, dims + 1))
    widened[:, :dims] = values
    return widened


def _is_even(weight: Floats) -> bool:
    """Whether sums of these weights are exact."""
    return bool((weight <= 2.0**GRAIN).all() and (weight * 2.0**GRAIN % 1.0 == 0.0).all())
