"""Engines that keep bands: an index finds whom a publication may reach, a policy says what each keeps."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Int64s
from skyband.kernels.extreme import largest
from skyband.kernels.growth import grown
from skyband.kernels.heap import make_heap
from skyband.kernels.order import order_by
from skyband.kernels.room import ample, initial, pauses
from skyband.topk.bands import BandRows, Entries, RowEnds
from skyband.topk.cell_store import CellStore
from skyband.topk.change_log import ChangeLog
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.index import Index
from skyband.topk.kernels.band import DELIVERED, MEMBER, K, Recency, make_departed
from skyband.topk.kernels.candidate import Grouped, group, make_candidates
from skyband.topk.kernels.cpm import CALLS
from skyband.topk.kernels.cpm import SCORED as SEARCH_SCORED
from skyband.topk.kernels.deliveries import (
    check_delivery_set,
    has_room,
    held_pairs,
    make_delivery_set,
    remember_all,
    renewed,
)
from skyband.topk.kernels.due import check_due, find_due, note_all_due
from skyband.topk.kernels.scan import LARGEST, UNBOUNDED, Steps
from skyband.topk.kernels.step import resume
from skyband.topk.kernels.workspace import (
    DOMINANCE,
    MENDED,
    N_COUNTS,
    N_WANTED,
    NO_BOUND,
    RECENT,
    SEARCH,
    BandSubscribers,
    Cells,
    Leaving,
    Odds,
    RowSettings,
    Workspace,
)
from skyband.topk.policy import N_SHARES, Pa, Policy
from skyband.topk.questions import NewQuestions, QuestionStore, signs
from skyband.topk.roster import Deliveries
from skyband.topk.row_hand import RowHand, RowHands
from skyband.topk.row_task import CallSetting, RowTask, answer_tasks, mend_tasks, step_tasks
from skyband.topk.skeleton import Continuous, PublicationsT, SubscriptionsT
from skyband.topk.store import Arrivals
from skyband.topk.term_store import TermStore

NOTHING = np.zeros(0, np.int64)
NO_LEAVERS = Leaving(NOTHING, 0)
# What a search costs is followed when it has changed by this factor.
DRIFT = 1.25
# In the order in which the kernels count them.
COUNTS = ("reevaluated", "scored", "threshold_updates", "candidates", "rescanned", "cell_updates")


class Banded(Continuous[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """Top-k over sliding windows by an index of subscriptions and a band of candidates for each.

    An arrival costs a look at those it may matter to; an expiry a look at the rows that hold it. Until searches have
    been counted, `first_search_cost` stands for what one costs, in entries of a row touched.
    """

    first_search_cost: ClassVar[int] = 500
    # So many publications at once are a flood, if they are so many times as many as what was live before.
    flood: ClassVar[int] = 32
    flood_share: ClassVar[float] = 2.0

    def __init__(self, *args: Any, policy: Policy, **options: Any) -> None:
        super().__init__(*args, **options)
        self.policy = policy
        self._rows: BandRows = BandRows()
        self._question_store = QuestionStore(self._rows.roster)
        self._change_log = ChangeLog(self._rows, room=1 << 14, earlier=EarlierDeliveries())
        self._index: Index | None = None
        self._found = make_candidates(initial(1 << 12))
        self._due_slots = NOTHING
        self._hands = RowHands()
        self._most_kept = 1
        self._ranks: dict[int, int] = {}
        none = Odds(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, N_SHARES)
        self._row_settings = RowSettings(
            policy.keeps, policy.bounded_by, NOTHING, policy.n_recent, NOTHING, none, policy.slack
        )
        self._n_searches, self._n_searched = 1, self.first_search_cost
        self._priced_at = float(self.first_search_cost)
        self._known_depths: dict[int, Int64s] = {}
        self._depths_at = self._priced_at
        self._searched: CellStore | TermStore = self._make_searched()
        self._workspace = Workspace(
            said=np.zeros(1),
            run=np.zeros(1),
            publication=NOTHING,
            directed=np.zeros(0),
            heap=make_heap(64),
            departed=make_departed(64),
            deliveries=make_delivery_set(initial(64)),
            known=make_delivery_set(0),
            space=self._searched.space,
            cells=Cells(False, CellStore(0).cell_pool.grid, np.zeros(0), np.zeros(0)),
            moved=NOTHING,
            n_moved=np.zeros(1, np.int64),
            counts=np.zeros(N_COUNTS, np.int64),
            wanted=np.zeros(N_WANTED, np.int64),
        )

    def memory(self) -> dict[str, int]:
        """Bytes in use, by part."""
        index = 0 if self._index is None else self._index.n_bytes
        return super().memory() | {"index": index, "threads": self._hands.n_bytes}

    @property
    def row_length(self) -> float:
        """How many publications a subscription keeps, on average."""
        return self._rows.n_entries / max(self.n_subscriptions, 1)

    @property
    def _subscribers(self) -> BandSubscribers:
        question_store = self._question_store
        return BandSubscribers(
            question_store.questions, question_store.rules, self._rows.bands, self._row_settings, self._roster.turn
        )

    def _opened_index(self) -> Index:
        if self._index is None:
            self._index = self._make_index()
        return self._index

    @abstractmethod
    def _make_index(self) -> Index: ...

    @abstractmethod
    def _make_searched(self) -> CellStore | TermStore:
        """A store of what is published, to be searched; it is empty."""

    @abstractmethod
    def _enter(self, slots: Int64s) -> None:
        """Put new slots into the index."""

    @abstractmethod
    def _make_searchable(self, lo: int, hi: int) -> None:
        """Put the publications lo to hi, just stored, where searches find them."""

    def _fit(self) -> None:  # an index that fits whatever comes has nothing to do
        """Fit the index to what is stored, before it is asked."""

    def _enrol(self, rows: SubscriptionsT, new: NewQuestions) -> Int64s:
        slots = self._rows.add(rows.ids, new.kinds, rows.k, signs(rows, new.kinds))
        self._question_store.write(rows, new, slots)
        n_slots = self._roster.slots.n_slots
        if n_slots > min(len(self._row_settings.watch), len(self._workspace.cells.inner)):
            self._grow(n_slots)
        self._set_row_settings(rows.k, slots)
        cells = self._workspace.cells
        cells.inner[slots], cells.outer[slots] = np.inf, -np.inf
        return slots

    def _grow(self, n_slots: int) -> None:
        """Settings and cells for so many slots."""
        depth, watch = grown(self._row_settings.depth, n_slots), grown(self._row_settings.watch, n_slots)
        watch[len(self._row_settings.watch) :] = LARGEST
        self._row_settings = self._row_settings._replace(depth=depth, watch=watch)
        cells = self._workspace.cells
        inner, outer = grown(cells.inner, n_slots), grown(cells.outer, n_slots)
        self._workspace = self._workspace._replace(cells=cells._replace(inner=inner, outer=outer))

    def _set_row_settings(self, ks: Int64s, slots: Int64s) -> None:
        """What the policy has for each k."""
        self._set_depths(ks, slots)
        self._row_settings.watch[slots] = LARGEST
        if isinstance(self.policy, Pa):
            self._write_odds(self.policy, ks, slots)
        self._workspace = self._workspace._replace(departed=_wide_enough(self._workspace.departed, largest(ks)))

    def _depths(self, ks: Int64s, slots: Int64s) -> Int64s:
        """How many publications a search looks for: what would take the place of another that ends, where one may."""
        depths = self._depth_of(int(ks[0])) if len(ks) == 1 else self.policy.depths(ks, self._priced_at)
        if self.policy.bounded_by != SEARCH or self.policy.slack:
            return depths
        return np.where(self._question_store.rules.window_kind[slots] == UNBOUNDED, ks, depths)

    def _depth_of(self, k: int) -> Int64s:
        """How many publications a search for one k looks for, found out once for as long as searches cost as much."""
        if self._depths_at != self._priced_at:
            self._depths_at = self._priced_at
            self._known_depths.clear()
        if k not in self._known_depths:
            self._known_depths[k] = self.policy.depths(np.array([k]), self._priced_at)
        return self._known_depths[k]

    def _set_depths(self, ks: Int64s, slots: Int64s) -> None:
        """For how many publications rows are searched for."""
        depths = self._depths(ks, slots)
        self._row_settings.depth[slots] = depths
        for most in (depths, ks) if len(ks) else ():
            self._most_kept = max(self._most_kept, largest(most))

    def _write_odds(self, policy: Pa, ks: Int64s, slots: Int64s) -> None:
        odds, n_slots = self._row_settings.odds, self._roster.slots.n_slots
        low, target, high, first_rank = (grown(array, n_slots) for array in odds[:4])
        ranks = odds.ranks
        for k in np.unique(ks).tolist():
            if k not in self._ranks:
                self._ranks[k] = len(ranks)
                ranks = np.concatenate([ranks, policy.ranks(k).ravel()])
            some = slots[ks == k]
            low[some], target[some], high[some] = policy.sizes(k)
            first_rank[some] = self._ranks[k]
        self._row_settings = self._row_settings._replace(odds=Odds(low, target, high, first_rank, ranks, N_SHARES))

    def _fit_workspace(self, n_touched: int, n_candidates: int) -> None:
        """Working space for a call."""
        workspace, store = self._workspace, self._opened()
        n_live = store.tail - store.head
        most = min(self._most_kept, n_live) + 1
        n = max(n_live, n_candidates) + 1
        space, before = self._searched.space, workspace.space
        is_same_space = space[0] is before[0] and space[1] is before[1]
        is_long = n <= min(len(workspace.run), len(workspace.publication)) and n_touched <= len(workspace.moved)
        if is_same_space and is_long and most <= len(workspace.heap.keys):
            return
        self._workspace = workspace._replace(
            run=grown(workspace.run, n),
            publication=grown(workspace.publication, n),
            directed=grown(workspace.directed, n),
            heap=workspace.heap if most <= len(workspace.heap.keys) else make_heap(2 * most),
            space=space,
            moved=grown(workspace.moved, n_touched),
        )

    def _do(self, tasks: Sequence[RowTask]) -> None:
        """Do what is to be done to rows, in as many threads as there are tasks."""
        if len(tasks) > 1:
            self._gather(self._hands.run(tasks, self._subscribers, self._rows, self._workspace))
            return
        (task,) = tasks
        self._rows.share(1)

        def go_on() -> bool:
            return task.go_on(self._subscribers, self._workspace, self._change_log.told)

        for _ in pauses(go_on, task.place):
            self._make_room()

    def _gather(self, hands: Sequence[RowHand]) -> None:
        """Take on what threads have found out, in the order in which one thread would have."""
        workspace, n_moved = self._workspace, 0
        for hand in hands:
            self._change_log.take(hand.take_changes())
            moved = hand.take_moved()
            workspace.moved[n_moved : n_moved + len(moved)] = moved
            n_moved += len(moved)
            for own, its in ((workspace, hand.workspace), (self._searched, hand.workspace.space[1])):
                own.counts[:] += its.counts
                its.counts[:] = 0
            remembered = hand.take_deliveries()
            if remembered.used[0]:
                self._make_delivery_room(int(remembered.used[0]))
                remember_all(self._workspace.deliveries, *held_pairs(remembered))
        workspace.n_moved[0] = n_moved

    def _make_room(self) -> None:
        """Give the kernel that stopped what it asked for."""
        n_places, n_pairs, n_changes = self._workspace.wanted.tolist()
        self._rows.make_room(n_places)
        self._make_delivery_room(n_pairs)
        self._change_log.reserve(n_changes)

    def _make_delivery_room(self, n: int) -> None:
        """Room to remember n more deliveries."""
        if not has_room(self._workspace.deliveries, n):
            turns = self._roster.turn[np.flatnonzero(self._roster.slots.used)]
            deliveries = renewed(self._workspace.deliveries, ample(n, 2 * n), self._first_number, turns)
            self._workspace = self._workspace._replace(deliveries=deliveries)

    @property
    def _first_number(self) -> int:
        """The number of the first publication that the store still holds."""
        store = self._opened()
        return store.base + store.head

    def _answer(self, slots: Int64s) -> None:
        self._fill(slots, self._one_step(), MEMBER)
        self._enter(slots)

    def _fill(self, slots: Int64s, steps: Steps, marks: int) -> None:
        """Fill rows from everything live in a step, and tell; what has these marks was delivered before."""
        published, slots = self._opened().published, self._together(slots)
        self._fit_workspace(0, 0)
        self._do(answer_tasks(slots, published, steps, marks, self.threads))
        note_all_due(slots, self._question_store.rules)
        self._count_work()

    def _renew(self, slots: Int64s, k: int) -> None:
        self._rows.bands.head[slots, K] = k
        turns = self._roster.turn[np.setdiff1d(np.flatnonzero(self._roster.slots.used), slots)]
        deliveries = renewed(self._workspace.deliveries, initial(64), self._first_number, turns)
        self._workspace = self._workspace._replace(deliveries=deliveries)
        self._set_row_settings(np.full(len(slots), k, np.int64), slots)
        self._fill_again(slots, self._one_step(), MEMBER)

    def _together(self, slots: Int64s) -> Int64s:
        """The same slots, those together that are searched for in the same places."""
        return slots

    def _fill_again(self, slots: Int64s, steps: Steps, marks: int) -> None:
        """Fill the rows of slots that the index has."""
        self._fill(slots, steps, marks)
        self._opened_index().adjust(slots, self._question_store.rules.gate[slots])

    def _mend(self, indices: Int64s) -> None:
        published, steps, slots = self._opened().published, self._one_step(), self._holders(indices)
        self._fit_workspace(len(slots), 0)
        self._do(mend_tasks(slots, published, steps, self.threads))
        self._adjust()
        self._counters["mended"] += int(self._workspace.counts[MENDED])
        self._count_work()

    def _holders(self, indices: Int64s) -> Int64s:
        """The slots whose rows may hold one of these publications.

        Where the bound is that of a search, a row holds only what passes its gate, so the index finds them.
        """
        if self.policy.bounded_by != SEARCH:
            return np.flatnonzero(self._roster.slots.used)
        contents, index = self._opened().contents, self._opened_index()
        self._fit()
        self._found.length[0] = 0
        for lo, hi in _runs(np.sort(indices)):
            self._found = index.route(contents, lo, hi, self._found, self.threads)
        self._counters["scored"] += int(self._found.counts[0])
        self._found.counts[0] = 0
        return np.unique(self._found.slot[: int(self._found.length[0])])

    def _give_up(self, slots: Int64s) -> None:
        if len(slots):
            self._opened_index().remove(slots)
            self._row_settings.watch[slots] = LARGEST
        super()._give_up(slots)

    def _append(self, arrivals: Arrivals, retracted: Bools | None = None) -> None:
        store = self._opened()
        super()._append(arrivals, retracted)
        self._make_searchable(store.tail - len(arrivals.ts), store.tail)

    def _take_steps(self, steps: Steps, in_order: bool) -> None:
        if not self.n_subscriptions:
            return
        if self._is_flood(steps):
            self._fill_again(np.flatnonzero(self._roster.slots.used), steps, DELIVERED)
            return
        published, leaving = self._opened().published, self._leaving(steps)
        touched = self._touched(steps, leaving)
        if not len(touched.slots):
            self._count_work()
            return
        n_candidates = len(leaving.indices) + int(steps.end[-1]) - steps.first
        self._fit_workspace(len(touched.slots), n_candidates)
        self._do(step_tasks(touched, CallSetting(published, steps, in_order, leaving), self.threads))
        self._adjust()
        self._count_work()

    def _is_flood(self, steps: Steps) -> bool:
        """Whether so much has arrived beside what gates were made for that it takes less to search for every row."""
        n_new = int(steps.end[-1]) - steps.first
        if len(steps.end) > 1 or n_new < self.flood or not self.policy.meets_floods:
            return False
        if n_new < self.flood_share * (self._opened().size - n_new):
            return False
        # The gates of Boolean subscriptions never move, and what passes them has to be offered in any case.
        n_ranked = np.count_nonzero(self._rows.signs(np.flatnonzero(self._roster.slots.used)))
        return 2 * int(n_ranked) >= self.n_subscriptions

    def _touched(self, steps: Steps, leaving: Leaving) -> Grouped:
        """The slots to look at, with their candidates."""
        contents, index = self._opened().contents, self._opened_index()
        self._fit()
        self._found.length[0] = 0
        found = index.route(contents, steps.first, int(steps.end[-1]), self._found, self.threads)
        n_arrivals = int(found.length[0])
        for lo, hi in _runs(leaving.indices):
            found = index.route(contents, lo, hi, found)
        self._found = found
        n = int(found.length[0])
        if n > n_arrivals:
            found.publication[n_arrivals:n] = -1 - found.publication[n_arrivals:n]
        due = self._due(steps)
        order = order_by(found.slot[:n])
        room = n + len(due)
        into = Grouped(np.empty(room, np.int64), np.empty(room + 1, np.int64), np.empty(n, np.int64), np.empty(n))
        n_touched = group(found, order, due, into)
        self._counters["scored"] += int(found.counts[0])
        found.counts[0] = 0
        return Grouped(into.slots[:n_touched], into.start[: n_touched + 1], into.publication, into.directed)

    def _due(self, steps: Steps) -> Int64s:
        """The slots that have an entry which is over by the last step, in ascending order."""
        settings = self._row_settings
        slots = self._roster.slots
        self._due_slots = grown(self._due_slots, slots.n_slots)
        n_recent = settings.n_recent if settings.bounded_by == RECENT else -1
        n = find_due(self._question_store.rules, settings.watch, slots.n_blocks, n_recent, steps, self._due_slots)
        return self._due_slots[:n]

    def _leaving(self, steps: Steps) -> Leaving:
        """What leaves the shared buffer of the most recent publications in these steps."""
        store, b = self._opened(), self._row_settings.n_recent
        if self.policy.bounded_by != RECENT:
            return NO_LEAVERS
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
        n = int(self._workspace.n_moved[0])
        if not n:
            return
        slots = self._workspace.moved[:n]
        self._opened_index().adjust(slots, self._question_store.rules.gate[slots])
        self._workspace.n_moved[0] = 0

    def _count_work(self) -> None:
        counts, counters = self._workspace.counts, self._counters
        for name, n in zip(COUNTS, counts.tolist(), strict=False):
            counters[name] += n
        counts[:] = 0
        searches = self._searched.counts
        n_searches = int(searches[CALLS])
        if n_searches:
            self._n_searched += self._searched.n_searched
            counters["scored"] += int(searches[SEARCH_SCORED])
            self._n_searches += n_searches
            searches[:] = 0
            self._follow_price()

    def _follow_price(self) -> None:
        """Search for another number from now on, if what a search costs has changed."""
        price = self._n_searched / self._n_searches
        if self.policy.priced and not self._priced_at / DRIFT < price < self._priced_at * DRIFT:
            slots = np.flatnonzero(self._roster.slots.used)
            self._priced_at = price
            self._set_depths(self._rows.ks(slots), slots)

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
        self._set_depths(self._rows.ks(slots), slots)
        resume(slots, self._subscribers, self._opened().live)
        self._enter(slots)

    def _delivered(self, slots: Int64s) -> Deliveries:
        deliveries, turns = self._workspace.deliveries, self._roster.turn[slots]
        wanted = (deliveries.turn >= 0) & (deliveries.item >= self._first_number) & np.isin(deliveries.turn, turns)
        forgotten = Deliveries(slots[np.searchsorted(turns, deliveries.turn[wanted])], deliveries.item[wanted])
        return super()._delivered(slots).joined(forgotten)

    def _remember(self, delivered: Deliveries) -> None:
        lost = ~self._rows.mark_delivered(delivered)
        self._make_delivery_room(int(lost.sum()))
        remember_all(self._workspace.deliveries, self._roster.turn[delivered.slot[lost]], delivered.item[lost])

    def check(self) -> None:
        """Assert the invariants of every structure."""
        if self._store is not None:
            self._store.check()
            recency = Recency(self._store.stamp, self._store.base, False)
            self._rows.check(recency, self.policy.keeps == DOMINANCE and not isinstance(self.policy, Pa))
            check_due(self._subscribers, self._store.live, self._roster.in_turn())
        if self._index is not None:
            self._index.check()
        check_delivery_set(self._workspace.deliveries)
        self._earlier.check()


def _wide_enough(departed: Any, most: int) -> Any:
    return departed if most <= len(departed.item) else make_departed(2 * most)


def _runs(indices: Int64s) -> list[tuple[int, int]]:
    """Ascending stretches of indices without a gap."""
    if not len(indices):
        return []
    cuts = np.flatnonzero(np.diff(indices) != 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(indices, cuts)]
