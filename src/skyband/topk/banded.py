"""Engines that keep bands: an index finds whom a publication may reach, a policy says what each keeps."""

from abc import abstractmethod
from typing import Any, ClassVar, Generic

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Int64s
from skyband.kernels.heap import make_heap
from skyband.kernels.order import order_by
from skyband.kernels.room import ample, initial, pauses, stops
from skyband.kernels.slots import grown
from skyband.topk.bands import BandRows, Entries, RowEnds
from skyband.topk.cell_store import Shelf
from skyband.topk.change_log import Telling
from skyband.topk.index import Index
from skyband.topk.kernels.band import K, Recency, make_departed
from skyband.topk.kernels.candidate import Grouped, group, make_candidates
from skyband.topk.kernels.cpm import CALLS
from skyband.topk.kernels.cpm import SCORED as SEARCH_SCORED
from skyband.topk.kernels.deliveries import check_memory, has_room, make_memory, remember_all, renewed
from skyband.topk.kernels.scan import LARGEST, Steps
from skyband.topk.kernels.step import answer, find_due, refresh_ages, resume, work
from skyband.topk.kernels.workspace import (
    DOMINANCE,
    N_COUNTS,
    N_WANTED,
    NO_BOUND,
    RECENT,
    SEARCH,
    Cells,
    Desk,
    Habit,
    Leaving,
    Odds,
    Party,
)
from skyband.topk.policy import N_SHARES, Pa, Policy
from skyband.topk.questions import Asked, Inquiry, signs
from skyband.topk.roster import Deliveries
from skyband.topk.skeleton import Continuous, PublicationsT, SubscriptionsT
from skyband.topk.store import Arrivals
from skyband.topk.term_store import Catalogue

NOTHING = np.zeros(0, np.int64)
# What a search costs is followed when it has changed by this factor.
DRIFT = 1.25
# Measured: a search takes about a microsecond for each message that it scores, a row about 10 ns for each entry.
ENTRIES_A_MESSAGE = 100
# In the order in which the kernels count them.
COUNTS = ("reevaluated", "scored", "threshold_updates", "candidates", "rescanned", "cell_updates")


class Banded(Continuous[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """Top-k over sliding windows by an index of subscriptions and a band of candidates for each.

    An arrival costs a look at those it may matter to; an expiry a look at the rows that hold it. Until searches have
    been counted, `first_search_cost` stands for what one costs, in entries of a row touched.
    """

    first_search_cost: ClassVar[int] = 500

    def __init__(self, *args: Any, policy: Policy, **options: Any) -> None:
        super().__init__(*args, **options)
        self.policy = policy
        self._rows: BandRows = BandRows()
        self._inquiry = Inquiry(self._rows.roster)
        self._telling = Telling(self._rows, room=1 << 14)
        self._index: Index | None = None
        self._found = make_candidates(initial(1 << 12))
        self._ranks: dict[int, int] = {}
        none = Odds(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, N_SHARES)
        self._habit = Habit(policy.keeps, policy.bounded_by, NOTHING, policy.n_recent, NOTHING, none, policy.slack)
        self._n_searches, self._n_searched = 1, self.first_search_cost
        self._priced_at = float(self.first_search_cost)
        self._shelf = Shelf(0)
        self._sphere_shelf = Shelf(0)
        self._catalogue = Catalogue(self.settings.bounds.flat)
        self._desk = Desk(
            said=np.zeros(1),
            run=np.zeros(1),
            publication=NOTHING,
            directed=np.zeros(0),
            heap=make_heap(64),
            departed=make_departed(64),
            memory=make_memory(initial(64)),
            shelves=self._shelf.shelves,
            frontier=self._shelf.frontier,
            sphere_shelves=self._sphere_shelf.shelves,
            sphere_frontier=self._sphere_shelf.frontier,
            pages=self._catalogue.pages,
            lookup=self._catalogue.lookup,
            cells=Cells(False, self._shelf.shelves.grid, np.zeros(0), np.zeros(0)),
            moved=NOTHING,
            n_moved=np.zeros(1, np.int64),
            counts=np.zeros(N_COUNTS, np.int64),
            wanted=np.zeros(N_WANTED, np.int64),
        )

    def memory(self) -> dict[str, int]:
        """Bytes in use, by part."""
        return super().memory() | {"index": 0 if self._index is None else self._index.n_bytes}

    @property
    def row_length(self) -> float:
        """How many publications a subscription keeps, on average."""
        return self._rows.n_entries / max(self.n_subscriptions, 1)

    @property
    def _party(self) -> Party:
        inquiry = self._inquiry
        return Party(inquiry.questions, inquiry.rules, self._rows.bands, self._habit, self._roster.turn)

    def _opened_index(self) -> Index:
        if self._index is None:
            self._index = self._make_index()
        return self._index

    @abstractmethod
    def _make_index(self) -> Index: ...

    @abstractmethod
    def _enter(self, slots: Int64s) -> None:
        """Put new slots into the index."""

    @abstractmethod
    def _shelve(self, lo: int, hi: int) -> None:
        """Put the publications lo to hi, just stored, where searches find them."""

    def _fit(self) -> None:  # an index that fits whatever comes has nothing to do
        """Fit the index to what is stored, before it is asked."""

    def _enrol(self, rows: SubscriptionsT, asked: Asked) -> Int64s:
        slots = self._rows.add(rows.ids, asked.kinds, rows.k, signs(rows, asked.kinds))
        self._inquiry.write(rows, asked, slots)
        n_slots = self._roster.slots.n_slots
        depth, watch = grown(self._habit.depth, n_slots), grown(self._habit.watch, n_slots)
        watch[len(self._habit.watch) :] = LARGEST
        self._habit = self._habit._replace(depth=depth, watch=watch)
        self._set_habit(rows.k, slots)
        cells = self._desk.cells
        inner, outer = grown(cells.inner, n_slots), grown(cells.outer, n_slots)
        inner[slots], outer[slots] = np.inf, -np.inf
        self._desk = self._desk._replace(cells=cells._replace(inner=inner, outer=outer))
        return slots

    def _set_habit(self, ks: Int64s, slots: Int64s) -> None:
        """What the policy has for each k."""
        self._habit.depth[slots] = self.policy.depths(ks, self._priced_at)
        self._habit.watch[slots] = LARGEST
        if isinstance(self.policy, Pa):
            self._write_odds(self.policy, ks, slots)
        self._desk = self._desk._replace(departed=_wide_enough(self._desk.departed, int(ks.max())))

    def _write_odds(self, policy: Pa, ks: Int64s, slots: Int64s) -> None:
        odds, n_slots = self._habit.odds, self._roster.slots.n_slots
        low, target, high, first_rank = (grown(array, n_slots) for array in odds[:4])
        ranks = odds.ranks
        for k in np.unique(ks).tolist():
            if k not in self._ranks:
                self._ranks[k] = len(ranks)
                ranks = np.concatenate([ranks, policy.ranks(k).ravel()])
            some = slots[ks == k]
            low[some], target[some], high[some] = policy.sizes(k)
            first_rank[some] = self._ranks[k]
        self._habit = self._habit._replace(odds=Odds(low, target, high, first_rank, ranks, N_SHARES))

    def _set_desk(self, n_touched: int, n_candidates: int) -> None:
        """Working space for a call."""
        desk, store = self._desk, self._opened()
        n_live = store.tail - store.head
        depth = min(int(self._habit.depth.max(initial=1)), n_live)
        most = max(depth, min(int(self._rows.bands.head[:, K].max(initial=1)), n_live)) + 1
        n = max(n_live, n_candidates) + 1
        self._desk = desk._replace(
            run=grown(desk.run, n),
            publication=grown(desk.publication, n),
            directed=grown(desk.directed, n),
            heap=desk.heap if most <= len(desk.heap.keys) else make_heap(2 * most),
            shelves=self._shelf.shelves,
            frontier=self._shelf.frontier,
            sphere_shelves=self._sphere_shelf.shelves,
            sphere_frontier=self._sphere_shelf.frontier,
            pages=self._catalogue.pages,
            lookup=self._catalogue.lookup,
            moved=grown(desk.moved, n_touched),
        )

    def _make_room(self) -> None:
        """Give the kernel that stopped what it asked for."""
        n_places, n_pairs, n_changes = self._desk.wanted.tolist()
        self._rows.make_room(n_places)
        self._make_memory(n_pairs)
        self._telling.reserve(n_changes)

    def _make_memory(self, n: int) -> None:
        """Room to remember n more deliveries."""
        if not has_room(self._desk.memory, n):
            turns = self._roster.turn[np.flatnonzero(self._roster.slots.used)]
            memory = renewed(self._desk.memory, ample(n, 2 * n), self._first_number, turns)
            self._desk = self._desk._replace(memory=memory)

    @property
    def _first_number(self) -> int:
        """The number of the first publication that the store still holds."""
        return self._opened().base + self._opened().head

    def _answer(self, slots: Int64s) -> None:
        self._fill(slots)
        self._enter(slots)

    def _fill(self, slots: Int64s) -> None:
        """Fill rows from everything live, and tell."""
        published, step = self._opened().published, self._one_step()
        self._set_desk(0, 0)

        def answer_from(done: int) -> int:
            return answer(slots, done, self._party, published, step, self._desk, self._telling.told)

        for _ in stops(answer_from, len(slots)):
            self._make_room()
        self._count_work()

    def _renew(self, slots: Int64s, k: int) -> None:
        self._rows.bands.head[slots, K] = k
        turns = self._roster.turn[np.setdiff1d(np.flatnonzero(self._roster.slots.used), slots)]
        memory = renewed(self._desk.memory, initial(64), self._first_number, turns)
        self._desk = self._desk._replace(memory=memory)
        self._set_habit(np.full(len(slots), k, np.int64), slots)
        self._fill(slots)
        self._opened_index().adjust(slots, self._inquiry.rules.gate[slots])

    def _give_up(self, slots: Int64s) -> None:
        if len(slots):
            self._opened_index().remove(slots)
            self._habit.watch[slots] = LARGEST
        super()._give_up(slots)

    def _append(self, arrivals: Arrivals) -> bool:
        store = self._opened()
        moved = super()._append(arrivals)
        self._shelve(store.tail - len(arrivals.ts), store.tail)
        return moved

    def _work(self, steps: Steps, in_order: bool) -> None:
        if not self.n_subscriptions:
            return
        published, leaving = self._opened().published, self._leaving(steps)
        touched = self._touched(steps, leaving)
        n_candidates = len(leaving.indices) + int(steps.end[-1]) - steps.first
        self._set_desk(len(touched.slots), n_candidates)
        since = np.zeros(2, np.int64)

        def go_on() -> bool:
            desk, told = self._desk, self._telling.told
            return work(since, touched, self._party, published, steps, in_order, leaving, desk, told)

        for _ in pauses(go_on, lambda: tuple(since.tolist())):
            self._adjust()
            self._make_room()
        self._adjust()
        self._count_work()

    def _touched(self, steps: Steps, leaving: Leaving) -> Grouped:
        """The slots to look at, with their candidates."""
        contents, index = self._opened().contents, self._opened_index()
        self._fit()
        self._found.length[0] = 0
        found = index.route(contents, steps.first, int(steps.end[-1]), self._found)
        n_arrivals = int(found.length[0])
        for lo, hi in _runs(leaving.indices):
            found = index.route(contents, lo, hi, found)
        self._found = found
        n = int(found.length[0])
        found.publication[n_arrivals:n] = -1 - found.publication[n_arrivals:n]
        due = np.empty(self._roster.slots.n_slots, np.int64)
        due = due[: find_due(self._party, steps, due)]
        order = order_by(found.slot[:n])
        room = n + len(due)
        into = Grouped(np.empty(room, np.int64), np.empty(room + 1, np.int64), np.empty(n, np.int64), np.empty(n))
        n_touched = group(found, order, due, into)
        self._counters["scored"] += int(found.counts[0])
        found.counts[0] = 0
        return into._replace(slots=into.slots[:n_touched], start=into.start[: n_touched + 1])

    def _leaving(self, steps: Steps) -> Leaving:
        """What leaves the shared buffer of the most recent publications in these steps."""
        store, b = self._opened(), self._habit.n_recent
        if self.policy.bounded_by != RECENT:
            return Leaving(NOTHING, 0)
        n_new = int(steps.end[-1]) - steps.first
        left_before = store.stamps_end - n_new - b
        first = max(store.floor, left_before)
        indices = store.between(first, max(first, store.stamps_end - b))
        new = store.stamp[steps.first : int(steps.end[-1])]
        # Where arrivals took their place among what had left before, that moved up by as many stamps.
        n_below = np.searchsorted(np.sort(new), store.stamp[indices])
        stays = (indices >= steps.first) | (store.stamp[indices] - n_below >= left_before)
        late = steps.first + np.flatnonzero(new < first)
        return Leaving(np.concatenate([late, indices[stays]]), left_before)

    def _adjust(self) -> None:
        """Let the index know whose gates have moved."""
        n = int(self._desk.n_moved[0])
        slots = self._desk.moved[:n]
        self._opened_index().adjust(slots, self._inquiry.rules.gate[slots])
        self._desk.n_moved[0] = 0

    def _count_work(self) -> None:
        counts = self._desk.counts
        for name, n in zip(COUNTS, counts[: len(COUNTS)], strict=True):
            self._counters[name] += int(n)
        counts[:] = 0
        shelved, on_sphere, listed = self._shelf.counts, self._sphere_shelf.counts, self._catalogue.counts
        self._n_searched += int(shelved[:CALLS].sum() + on_sphere[:CALLS].sum())
        self._n_searched += ENTRIES_A_MESSAGE * int(listed[SEARCH_SCORED])
        for searched in (shelved, on_sphere, listed):
            self._counters["scored"] += int(searched[SEARCH_SCORED])
            self._n_searches += int(searched[CALLS])
            searched[:] = 0
        self._follow_price()

    def _follow_price(self) -> None:
        """Search for another number from now on, if what a search costs has changed."""
        price = self._n_searched / self._n_searches
        if self.policy.priced and not self._priced_at / DRIFT < price < self._priced_at * DRIFT:
            slots = np.flatnonzero(self._roster.slots.used)
            self._habit.depth[slots] = self.policy.depths(self._rows.ks(slots), price)
            self._priced_at = price

    def _restamped(self) -> None:
        if self.n_subscriptions:
            refresh_ages(self._party, self._opened().live)

    @property
    def _keeps_rows(self) -> bool:
        """Whether a snapshot holds rows as they are; other bounds depend on more than the row."""
        return self.policy.bounded_by in (NO_BOUND, SEARCH)

    def _save(self) -> dict[str, pa.Table]:
        saved = super()._save()
        if self._store is None or not self._keeps_rows:
            return saved
        ends, entries = self._rows.save(self._roster.in_turn())
        indices, base = self._store.indices(), self._store.base
        place_of = np.full(self._store.tail + 1, -1, np.int32)
        place_of[indices] = np.arange(len(indices))
        # Anything live is more recent than what is gone.
        bound = place_of[np.where(ends.bound_item >= base, ends.bound_item - base, -1)].astype(np.int64)
        places = place_of[entries.item - base]
        return saved | {
            "rows": pa.table(ends._replace(bound_item=bound)._asdict()),
            "entries": pa.table(entries._asdict() | {"item": places}),
            "searches": pa.table({"n": [self._n_searches], "cost": [self._n_searched], "priced_at": [self._priced_at]}),
        }

    def _refill(self, slots: Int64s, tables: dict[str, pa.Table]) -> None:
        if not len(tables.get("rows", ())) or not self._keeps_rows:
            super()._refill(slots, tables)
            return
        # Publications are numbered anew, by their place in the snapshot.
        ends = RowEnds(*(tables["rows"][name].to_numpy() for name in RowEnds._fields))
        entries = Entries(*(tables["entries"][name].to_numpy() for name in Entries._fields))
        self._rows.load(slots, ends, entries)
        (searches,) = tables["searches"].to_pylist()
        self._n_searches, self._n_searched, self._priced_at = (searches[name] for name in ("n", "cost", "priced_at"))
        self._habit.depth[slots] = self.policy.depths(self._rows.ks(slots), self._priced_at)
        resume(slots, self._party, self._opened().live)
        self._enter(slots)

    def _delivered(self, slots: Int64s) -> Deliveries:
        memory, turns = self._desk.memory, self._roster.turn[slots]
        wanted = (memory.turn >= 0) & (memory.item >= self._first_number) & np.isin(memory.turn, turns)
        forgotten = Deliveries(slots[np.searchsorted(turns, memory.turn[wanted])], memory.item[wanted])
        return super()._delivered(slots).joined(forgotten)

    def _remember(self, delivered: Deliveries) -> None:
        lost = ~self._rows.mark_delivered(delivered)
        self._make_memory(int(lost.sum()))
        remember_all(self._desk.memory, self._roster.turn[delivered.slot[lost]], delivered.item[lost])

    def check(self) -> None:
        """Assert the invariants of every structure."""
        if self._store is not None:
            self._store.check()
            recency = Recency(self._store.stamp, self._store.base, False)
            self._rows.check(recency, self.policy.keeps == DOMINANCE and not isinstance(self.policy, Pa))
        if self._index is not None:
            self._index.check()
        check_memory(self._desk.memory)


def _wide_enough(departed: Any, most: int) -> Any:
    return departed if most <= len(departed.item) else make_departed(2 * most)


def _runs(indices: Int64s) -> list[tuple[int, int]]:
    """Ascending stretches of indices without a gap."""
    if not len(indices):
        return []
    cuts = np.flatnonzero(np.diff(indices) != 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(indices, cuts)]
