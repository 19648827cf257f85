"""The matcher: subscriptions by number in a scored interval index, and the best of them for events.

It is the engine without ids and tables. Owners are numbered from 0, and `label` says which of two comes first where
their scores are equal: the one with the larger label. It may be replaced by a longer array, or by one with other
labels in the same order.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.crew import n_shares, rounds, run
from skyband.kernels.growth import blank, grown
from skyband.kernels.heap import make_heap
from skyband.kernels.ragged import offsets_of, owners_of, places_of
from skyband.kernels.room import DOUBLINGS, stops
from skyband.ranked.anchor import Anchors
from skyband.ranked.cells import PageIndex
from skyband.ranked.kernels.cells import N_WORDS, CellScratch, match_in_pages
from skyband.ranked.kernels.fitting import FLAT, SUM, Rule
from skyband.ranked.kernels.getnext import Layers
from skyband.ranked.kernels.interval_scan import BestSlots, Events, make_found, most_asked
from skyband.ranked.kernels.keys import full_scores
from skyband.ranked.kernels.parts import Parts, rounded_down, rounded_up
from skyband.ranked.kernels.ranking import Owners, RankingSearch, SearchScratch, match_events
from skyband.ranked.kernels.streams import Streams, make_streams
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

# Fewer events are not worth a thread: one costs from 1 to 100 µs.
EVENTS_A_THREAD = 64

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


class PreparedSearch(NamedTuple):
    """A search for matches, and what it was made for: it serves for as long as all of that is the same."""

    intervals: bool
    room: int
    n_changes: int
    label: Int64s
    search: RankingSearch

    def serves(self, intervals: bool, room: int, n_changes: int, label: Int64s) -> bool:
        """Whether it may be taken for another search."""
        return self.label is label and (self.intervals, self.room, self.n_changes) == (intervals, room, n_changes)


class MatchHand:
    """What one thread works with: who was seen, the best so far, streams, and how much it has done.

    The last search is kept for the next one, which may be the same.
    """

    def __init__(self, n_dims: int) -> None:
        self._n_dims = n_dims
        self.seen = np.zeros(0, np.int64)
        self.heap = make_heap(1)
        self.work = np.zeros(2, np.int64)
        self.prepared: PreparedSearch | None = None
        self._streams = make_streams(0, 0)

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in (self.seen, *self.heap, *self._streams))

    def fit(self, n_owners: int, most: int) -> None:
        """Have room for so many owners, and for events that ask for so many of them."""
        if n_owners > len(self.seen):
            self.seen, self.prepared = grown(self.seen, n_owners), None
        if most > len(self.heap.keys):
            self.heap, self.prepared = make_heap(most), None

    def opened(self, width: int) -> Streams:
        """Streams whose cursors are so wide."""
        if self._streams.cursor.shape != (self._n_dims, width):
            self._streams = make_streams(self._n_dims, width)
        return self._streams


class Matcher:
    """Subscriptions that come, go and change, and what events make of them."""

    def __init__(self, rule: Rule, dims: int, index: Kind = "sopt", access: Access = "auto", delta: int = 1024) -> None:
        self.pool = OwnerPool()
        # The dimension behind the last one holds what every event meets.
        self.layers = LayeredIndex(index, self.pool, dims + 1, delta)
        self.label = np.zeros(0, np.int64)
        self.n_owners = 0
        self.work = np.zeros(2, np.int64)
        access = self.access = chosen_access(access, rule, dims)
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
        self._stamp = 1
        self._room = 0
        self._made_hands: list[MatchHand] = []

    @property
    def parts(self) -> Parts:
        pool = self.pool
        return Parts(pool.fact, pool.dim, pool.weight, self.label)

    @property
    def n_bytes(self) -> int:
        """The bytes of all but the index and of what threads work with."""
        return self.pool.n_bytes

    @property
    def thread_bytes(self) -> int:
        """The bytes of what threads work with."""
        return sum(hand.n_bytes for hand in self._made_hands)

    @property
    def index_bytes(self) -> int:
        """The bytes of the index."""
        beside = self._tiers or self._pages
        return self.layers.n_bytes + (beside.n_bytes if beside else 0)

    def add(self, owners: Int64s, rows: Subscriptions) -> None:
        """Take in the subscriptions of owners that have none; their ids are not looked at."""
        self._forget_searches()
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
        self._forget_searches()
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

    def match(self, events: Events, sort: bool = True, threads: int = 1) -> BestSlots:
        """The best owners for each event, and their scores; budgets are used up in the order of the events.

        Events are looked at in the order of their first values, which is faster, unless told not to `sort`. They are
        divided among threads; who has a budget is served in one.
        """
        n, are_points, low = len(events.k), events.low is events.high, _with_always(events.low)
        events = Events(low, low if are_points else _with_always(events.high), events.k)
        # An interval event may meet intervals that have nothing in common, which not every index has in order.
        intervals = not (self._rule.inside or are_points) and bool((events.low < events.high).any())
        found = make_found(events.k)
        order = np.argsort(events.low[:, 0]) if sort and n > 1 else np.arange(n)
        n_parts = n_shares(threads, n, EVENTS_A_THREAD)
        parts = [order] if n_parts == 1 else np.array_split(order, n_parts)
        if self._tiers:
            self._match_in_tiers(self._tiers, events, parts, found)
        elif self._pages:
            self._match_in_pages(self._pages, events, parts, found)
        else:
            self._match_in_layers(events, parts, intervals, found)
        return found

    def _match_in_layers(self, events: Events, parts: list[Int64s], intervals: bool, found: BestSlots) -> None:
        stamp, n, most = self._stamp, len(events.k), most_asked(events)
        self._stamp += 2 * n

        def match(part: Int64s, stamp: int, hand: MatchHand, end: int) -> Iterator[int]:
            def match_from(done: int) -> int:
                search = self._search(hand, intervals)
                done = match_events(search, events, part, stamp, done, found)
                hand.work += search.streams.work
                return done

            yield from stops(match_from, end, tries=DOUBLINGS)

        hands = self._hands(len(parts), most)
        if len(hands) > 1:
            # Whoever asks first may have an index made.
            self._layers_of(intervals)
        for _ in rounds([match(part, stamp, hand, len(part)) for part, hand in zip(parts, hands, strict=True)]):
            self._room = 2 * self._room + ROOM
        if self._n_budgets:
            for _ in match(parts[0][:0], stamp + n, hands[0], n):
                self._room = 2 * self._room + ROOM
        self._count(hands)

    def _match_in_tiers(self, index: TierIndex, events: Events, parts: list[Int64s], found: BestSlots) -> None:
        # What holds an event's interval reaches from before its lower end to behind its upper end.
        first, last = (events.high, events.low) if self._rule.inside else (events.low, events.high)
        low, high = rounded_down(first), rounded_up(last)

        def match(part: Int64s, search: RankingSearch) -> None:
            bounds = TierBounds(np.zeros(N_BLOCKS, np.float32), np.zeros(BLOCK, np.float32), low, high)
            match_in_tiers(index.tiers, search, events, part, bounds, found)

        self._share(match, parts, most_asked(events))

    def _match_in_pages(self, index: PageIndex, events: Events, parts: list[Int64s], found: BestSlots) -> None:
        most = int(events.k.max(initial=0))

        def match(part: Int64s, search: RankingSearch) -> None:
            scratch = CellScratch(blank(N_WORDS, dtype=np.uint32), make_heap(most))
            match_in_pages(index.pages, search, events, part, scratch, found)

        self._share(match, parts, most)

    def _share(self, match: Callable[[Int64s, RankingSearch], None], parts: list[Int64s], most: int) -> None:
        """Match the parts at a time; then serve those with budgets, in the order of all events."""
        hands = self._hands(len(parts), most)
        searches = [self._search(hand, False) for hand in hands]
        run([partial(match, part, search) for part, search in zip(parts, searches, strict=True)])
        if self._n_budgets:
            match(parts[0][:0], searches[0])
        for hand, search in zip(hands, searches, strict=True):
            hand.work += search.streams.work
        self._count(hands)

    def _hands(self, n: int, most: int) -> list[MatchHand]:
        """What n threads work with, for events that ask for so many at most."""
        self._made_hands += [MatchHand(self.layers.n_dims) for _ in range(n - len(self._made_hands))]
        hands = self._made_hands[:n]
        # Who was seen before matters where parts of one owner come from several streams.
        n_owners = 0 if self._tiers or self._pages else len(self.label)
        for hand in hands:
            hand.fit(n_owners, most)
        return hands

    def _forget_searches(self) -> None:
        for hand in self._made_hands:
            hand.prepared = None

    def _count(self, hands: list[MatchHand]) -> None:
        for hand in hands:
            self.work += hand.work
            hand.work[:] = 0

    def _layers_of(self, intervals: bool) -> tuple[Layers, int]:
        return self.layers.view(self.parts, intervals, self._room)

    def _search(self, hand: MatchHand, intervals: bool) -> RankingSearch:
        """All that a search needs, with streams that have done nothing yet."""
        made_for = (intervals, self._room, self.layers.n_changes, self.label)
        if hand.prepared is None or not hand.prepared.serves(*made_for):
            hand.prepared = PreparedSearch(*made_for, self._prepare(hand, intervals))
        search = hand.prepared.search
        search.streams.work[:] = 0
        return search

    def _prepare(self, hand: MatchHand, intervals: bool) -> RankingSearch:
        pool, parts, n_dims = self.pool, self.parts, self.layers.n_dims
        layers, width = self._layers_of(intervals)
        counts = (pool.span, pool.needed, pool.budget, self.layers.size)
        all_parts = self._rule.exact and not self._anchored
        verify = self._anchored and self._most > 1
        asked = Owners(
            *counts, self._least, self._most, all_parts, verify, self._by_total, self._n_budgets > 0, self._even
        )
        scratch = SearchScratch(hand.heap, hand.seen, np.zeros(n_dims))
        return RankingSearch(layers, parts, asked, self._rule, hand.opened(width), scratch)

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
