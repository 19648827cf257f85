"""The skeleton of continuous top-k: what every engine over sliding windows does alike, whatever it keeps and prunes.

Arrivals are put into the store, late ones dropped and counted, steps laid out, changes told, snapshots taken. What an
engine adds is how it takes subscriptions through the steps: which of them it looks at, and what it keeps for each.
"""

from abc import abstractmethod
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from skyband.contract import Horizon, pack, take, unpack
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.heap import make_heap
from skyband.kernels.id_list import AnyIds, IdList
from skyband.kernels.idmap import IdMap
from skyband.kernels.order import is_strictly_ascending
from skyband.kernels.ragged import places_of
from skyband.table import change_schema, empty_table, ranking_schema, staircase_schema
from skyband.table.answer_rows import AnswerRows, answer_shape
from skyband.topk.change_log import ChangeLog, Members
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.gate import FOR_EVER, CandidateRows, Stairs, read_gates, read_stairs
from skyband.topk.kernels.scan import COUNT, TIME, Steps
from skyband.topk.questions import NewQuestions, QuestionStore
from skyband.topk.roster import Deliveries, Pool, Roster
from skyband.topk.rows import TimedPublications, TopSubscriptions
from skyband.topk.store import Arrivals, Store, by_recency
from skyband.topk.surveyed import Surveyed

SubscriptionsT = TypeVar("SubscriptionsT", bound=TopSubscriptions)
PublicationsT = TypeVar("PublicationsT", bound=TimedPublications)


class Rows(Members, Protocol):
    """What an engine keeps for each subscription."""

    @property
    def n_bytes(self) -> int: ...

    def ks(self, slots: Int64s) -> Int64s:
        """How many publications each slot asks for."""

    def signs(self, slots: Int64s) -> Floats:
        """1 where smaller scores are better, -1 where larger ones are, 0 for Boolean subscriptions."""

    def remove(self, slots: Int64s) -> None:
        """Give up slots and their rows."""

    def pool(self, slots: Int64s) -> Pool:
        """All entries of these slots, in the order of their tops."""

    def ranking(self, schema: pa.Schema, slots: Int64s, items: IdMap, base: int) -> pa.Table:
        """The tops of these slots."""

    def delivered(self, slots: Int64s) -> Deliveries:
        """What was delivered and may yet be told of, but for the tops, which tell of themselves."""


class Continuous(Surveyed[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """Top-k over sliding windows: time goes on, publications come and go, rows are worked through."""

    takes_id_lists = True
    subscriptions: type[SubscriptionsT]
    publications: type[PublicationsT]
    _rows: Rows
    _question_store: QuestionStore
    _change_log: ChangeLog

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.horizon = Horizon().widened(self.settings.window)
        self._store: Store | None = None

    @abstractmethod
    def _questions_of(self, rows: SubscriptionsT) -> NewQuestions: ...

    @abstractmethod
    def _arrivals(self, rows: PublicationsT) -> Arrivals: ...

    @abstractmethod
    def _enrol(self, rows: SubscriptionsT, new: NewQuestions) -> Int64s:
        """Slots with empty rows for new subscriptions."""

    @abstractmethod
    def _answer(self, slots: Int64s) -> None:
        """Fill the rows of new slots, and tell."""

    @abstractmethod
    def _renew(self, slots: Int64s, k: int) -> None:
        """Let slots ask for k, and tell what that changes."""

    @abstractmethod
    def _mend(self, indices: Int64s) -> None:
        """Take these publications, which were retracted just now, out of the rows that hold them, and tell."""

    @abstractmethod
    def _take_steps(self, steps: Steps, in_order: bool) -> None:
        """Take the subscriptions through the steps: arrivals, expiries, and the changes that follow from them.

        `in_order` says that every arrival of them is more recent than all before it.
        """

    @abstractmethod
    def _remember(self, delivered: Deliveries) -> None:
        """Take on from a snapshot what was delivered."""

    @property
    def _candidates(self) -> Rows:
        return self._rows

    @property
    def _roster(self) -> Roster:
        return self._rows.roster

    @property
    def _earlier(self) -> EarlierDeliveries:
        assert self._change_log.earlier is not None
        return self._change_log.earlier

    @property
    def n_subscriptions(self) -> int:
        return self._roster.ids.size

    def memory(self) -> dict[str, int]:
        return {
            "rows": self._rows.n_bytes + self._question_store.n_bytes,
            "questions": sum(array.nbytes for array in self._question_store.questions),
            "publications": 0 if self._store is None else self._store.n_bytes,
            "deliveries": self._earlier.n_bytes,
        }

    def _registered(self, ids: AnyIds) -> Bools:
        return self._roster.ids.find(ids) >= 0

    def _stored(self, ids: AnyIds) -> Bools:
        return np.zeros(len(ids), np.bool_) if self._store is None else self._store.ids.find(ids) >= 0

    @property
    def _dims(self) -> int:
        """How many numbers a point has."""
        assert self.settings.dims is not None
        return self.settings.dims

    def _opened(self) -> Store:
        if self._store is None:
            self._store = Store(self._dims, self.settings.bounds.diagonal)
        return self._store

    def _subscribe(self, rows: SubscriptionsT) -> AnswerRows:
        if len(rows.ids):
            self._answer(self._add(rows))
        return self._told(self._at())

    def _add(self, rows: SubscriptionsT) -> Int64s:
        slots = self._enrol(rows, self._questions_of(rows))
        self.horizon = self.horizon.widened_by_all(rows.window)
        return slots

    def _unsubscribe(self, ids: AnyIds) -> AnswerRows:
        slots = self._roster.ids.find(ids)
        self._change_log.leave(slots)
        changes = self._told(self._at())
        self._give_up(slots)
        self._sift()
        return changes

    def _give_up(self, slots: Int64s) -> None:
        self._rows.remove(slots)
        self._question_store.remove(slots)

    def _resize(self, ids: AnyIds, k: int) -> AnswerRows:
        slots = self._roster.ids.find(ids)
        if len(slots):
            self._earlier.forget(self._roster.turn[slots])
            self._note_members(slots)
            self._renew(slots, k)
        return self._told(self._at())

    def _retract(self, ids: AnyIds) -> AnswerRows:
        if not len(ids):
            return self._told(self._at())
        store = self._opened()
        indices = store.ids.find(ids)
        self._earlier.recall()
        store.retract(indices)
        if self.n_subscriptions:
            self._mend(indices)
        changes = self._told(self._at())
        store.release(indices)
        return changes

    def _publish(self, rows: PublicationsT) -> AnswerRows:
        if not len(rows.ids):
            return self._told(self._at())
        self._opened()
        if self._in_order(rows) and (self.now is None or int(rows.ts[0]) >= self.now):
            self.now = int(rows.ts[-1])
            at = self._take_run(rows, rows.ts, True, 0)
        else:
            at = self._take_mixed(rows)
        changes = self._told(at)
        self._forget()
        return changes

    def _take_mixed(self, rows: PublicationsT) -> Int64s:
        """Publish rows of which some are late or come out of order; returns the time of each step."""
        rows, now, rank = self._drop_late(rows)
        times = [np.zeros(0, np.int64)]
        for lo, hi in self._runs(rows, rank):
            part = rows if hi - lo == len(now) else take(rows, np.arange(lo, hi))
            times.append(self._take_run(part, now[lo:hi], self._in_order(part), sum(map(len, times))))
        return np.concatenate(times)

    def _drop_late(self, rows: PublicationsT) -> tuple[PublicationsT, Int64s, Int64s]:
        """The rows that are not late, the time at each, and their rank by recency.

        A row is late if it lies outside of the horizon by the time it arrives.
        """
        rows = _with_arrow_ids(rows)
        start = int(rows.ts[0]) if self.now is None else self.now
        now = np.maximum.accumulate(np.maximum(rows.ts, start))
        rank = np.empty(len(now), np.int64)
        rank[by_recency(rows.ts, rows.ids)] = np.arange(len(now))
        self.now = int(now[-1])
        late = self._opened().late(rows.ts, rows.ids, rank, now, self.horizon)
        if not late.any():
            return rows, now, rank
        self._counters["late"] += int(late.sum())
        kept = np.flatnonzero(~late)
        return take(rows, kept), now[kept], rank[kept]

    def _runs(self, rows: PublicationsT, rank: Int64s) -> list[tuple[int, int]]:
        """Pieces for one call of the kernel: the batch, or, by publication, stretches in order and each straggler."""
        if not len(rank):
            return []
        if self.granularity == "batch" or len(rank) == 1:
            return [(0, len(rank))]
        rows = _with_arrow_ids(rows)
        stragglers = np.flatnonzero(~self._opened().follow(rows.ts, rows.ids, rank))
        edges = sorted({0, len(rank), *stragglers.tolist(), *(stragglers + 1).tolist()})
        return list(pairwise(edges))

    def _take_run(self, rows: PublicationsT, now: Int64s, in_order: bool, offset: int) -> Int64s:
        """Publish rows that are not late; returns the time of each step, of which there were `offset` before."""
        store = self._opened()
        before, n = store.stamps_end, len(now)
        self._append(self._arrivals(rows))
        first = store.tail - n
        if self.granularity == "batch":
            steps = self._one_step(first)
        else:
            ends = np.arange(1, n + 1, dtype=np.int64)
            steps = Steps(first, offset, first + ends, now.copy(), before + ends)
        self._take_steps(steps, in_order)
        return steps.now

    def _append(self, arrivals: Arrivals, retracted: Bools | None = None) -> None:
        """Put arrivals into the store."""
        self._opened().append(arrivals, retracted)

    def _in_order(self, rows: PublicationsT) -> bool:
        """Whether each row is more recent than all before it; ties in time count as out of order, to be cheap."""
        latest = self._opened().latest_ts
        return is_strictly_ascending(rows.ts) and (latest is None or int(rows.ts[0]) > latest)

    def _one_step(self, first: int | None = None) -> Steps:
        """A step that ends now, with everything that has arrived, from index `first` on if something arrives in it."""
        tail, stamps_end = (0, 0) if self._store is None else (self._store.tail, self._store.stamps_end)
        end, now, stamps = np.array([[tail], [self.now or 0], [stamps_end]], np.int64)
        return Steps(tail if first is None else first, 0, end, now, stamps)

    def _at(self) -> Int64s:
        """The time now, as that of the only step."""
        return np.array([self.now or 0])

    def _advance(self, now: int) -> AnswerRows:
        if self._store is not None:
            self._take_steps(self._one_step(), True)
        changes = self._told(self._at())
        self._forget()
        return changes

    def _forget(self) -> None:
        if self._store is None or self.now is None:
            return
        before = self._store.head
        self._store.forget(self.now, self.horizon)
        if self._store.head > before:
            self._forgotten(before, self._store.head)
        self._sift()

    def _sift(self) -> None:
        """Now and then, let go of the deliveries of what is forgotten and to who is gone."""
        if self._store is not None and self._earlier.is_due:
            turns = self._roster.turn[np.flatnonzero(self._roster.slots.used)]
            self._earlier.sift(self._store.base + self._store.head, turns)

    def _forgotten(self, lo: int, hi: int) -> None:  # an engine that keeps nothing of its own has nothing to do
        """The store forgets the publications lo to hi, its first; their contents can still be read."""

    def _told(self, at: Int64s) -> AnswerRows:
        """All that was told in this verb; `at` is the time of each step."""
        kinds = self._id_type("subscriptions id"), self._id_type("publications id")
        shape = answer_shape(change_schema, *kinds)
        if self._store is None:
            return AnswerRows.none(shape)
        return self._change_log.answer(shape, self._store.ids, self._store.base, at)

    def _tally(self, changes: pa.Table) -> dict[str, int]:
        return self._change_log.tally

    def _top(self, ids: pa.Array | None) -> pa.Table:
        slots = self._roster.in_turn() if ids is None else self._roster.ids.find(ids)
        schema = ranking_schema(self._id_type("subscriptions id"), self._id_type("publications id"))
        if self._store is None or not len(slots):
            return empty_table(schema)
        return self._rows.ranking(schema, slots, self._store.ids, self._store.base)

    def _gates(self, ids: pa.Array | None, at: int | None) -> pa.Table:
        slots = self._with_gates(ids)
        if not len(slots):
            return empty_table(self._gate_schema())
        gates = np.empty(len(slots))
        read_gates(self._kept(slots), at or 0, gates)
        return pa.table([self._roster.ids.ids(slots), gates], schema=self._gate_schema())

    def _staircase(self, ids: pa.Array | None) -> pa.Table:
        slots, schema = self._with_gates(ids), staircase_schema(self._id_type("subscriptions id"))
        if not len(slots):
            return empty_table(schema)
        kept = self._kept(slots)
        room = int(kept.n.sum()) + len(slots)
        stairs = Stairs(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room))
        # A row that is shorter than its k never fills the heap.
        n = read_stairs(kept, self.now or 0, make_heap(int(np.minimum(kept.k, kept.n).max())), stairs)
        row, at, gate = (array[:n] for array in stairs)
        times = pa.array(at, pa.int64()) if self.now is not None else pa.nulls(n, pa.int64())
        return pa.table([self._roster.ids.ids(slots[row]), times, gate], schema=schema)

    def _with_gates(self, ids: pa.Array | None) -> Int64s:
        """The slots of these subscriptions, or of all; it is an error if one of them has no gate."""
        slots = self._roster.in_turn() if ids is None else self._roster.ids.find(ids)
        counting = slots[self._question_store.rules.window_kind[slots] == COUNT] if len(slots) else slots
        if len(counting):
            raise self._needs_all(self._roster.ids.ids(counting[:1])[0].as_py())
        return slots

    def _kept(self, slots: Int64s) -> CandidateRows:
        """What these slots have of candidates; a Boolean subscription, whose gate never moves, has none to look at."""
        pool, rules, live = self._rows.pool(slots), self._question_store.rules, self._opened().live
        n = np.where(self._rows.signs(slots) == 0.0, 0, pool.n)
        span = np.where(rules.window_kind[slots] == TIME, rules.window_size[slots], FOR_EVER)
        widest = self._question_store.widest(slots)
        return CandidateRows(
            pool.start, n, self._rows.ks(slots), span, widest, pool.item, pool.score, live.ts, live.base
        )

    def _save(self) -> dict[str, pa.Table]:
        horizon = pa.table({name: [value] for name, value in self.horizon._asdict().items()})
        if self._store is None:
            return {"horizon": horizon}
        slots, indices = self._roster.in_turn(), self._store.indices()
        row_of = np.zeros(self._roster.slots.n_slots, np.int64)
        row_of[slots] = np.arange(len(slots))

        def placed(deliveries: Deliveries) -> pa.Table:
            places = np.searchsorted(indices, deliveries.item - base)
            return pa.table({"subscription": row_of[deliveries.slot], "publication": places})

        base = self._store.base
        return {
            "horizon": horizon,
            "subscriptions": pack(self._subscriptions_of(slots)) if len(slots) else pa.table({}),
            "publications": pack(self._publications_of(indices)) if len(indices) else pa.table({}),
            "delivered": placed(self._delivered(slots)),
            "earlier": placed(self._delivered_earlier(slots, indices)),
            "retracted": pa.table({"publication": np.flatnonzero(self._store.is_retracted(indices))}),
        }

    def _delivered_earlier(self, slots: Int64s, indices: Int64s) -> Deliveries:
        """All that was delivered to these slots, who are in turn, and has a place among these publications."""
        turns, (turn, item) = self._roster.turn[slots], self._earlier.pairs()
        known = np.isin(turn, turns) & np.isin(item, indices + self._opened().base)
        return Deliveries(slots[np.searchsorted(turns, turn[known])], item[known])

    def _load(self, tables: dict[str, pa.Table]) -> None:
        slots = np.zeros(0, np.int64)
        if len(tables.get("publications", ())):
            self._load_publications(unpack(self.publications, tables["publications"]), tables.get("retracted"))
        if len(tables.get("subscriptions", ())):
            slots = self._add(unpack(self.subscriptions, tables["subscriptions"]))
            self._refill(slots, tables)
        self.horizon = Horizon(**tables["horizon"].to_pylist()[0])
        if len(tables.get("delivered", ())):
            row, item = (tables["delivered"][name].to_numpy() for name in ("subscription", "publication"))
            self._remember(Deliveries(slots[row], item))
        if len(slots):
            self._load_earlier(slots, tables.get("earlier"))

    def _load_publications(self, rows: PublicationsT, retracted: pa.Table | None) -> None:
        """Store the publications of a snapshot; those of earlier versions do not tell of any that were retracted."""
        gone = np.zeros(len(rows.ts), np.bool_)
        if retracted is not None:
            gone[retracted["publication"].to_numpy()] = True
        self._append(self._arrivals(rows), gone if gone.any() else None)
        if gone.any():
            self._earlier.recall()

    def _load_earlier(self, slots: Int64s, earlier: pa.Table | None) -> None:
        """Note what was delivered before a snapshot; those of earlier versions tell of tops alone."""
        if earlier is None:
            self._note_members(slots)
        else:
            row, item = (earlier[name].to_numpy() for name in ("subscription", "publication"))
            self._earlier.take(self._roster.turn[slots[row]], item)

    def _note_members(self, slots: Int64s) -> None:
        """Note the tops of these slots as delivered."""
        pool = self._rows.pool(slots)
        n = np.minimum(pool.n, self._rows.ks(slots))
        self._earlier.take(np.repeat(self._roster.turn[slots], n), pool.item[places_of(pool.start, n)])

    def _refill(self, slots: Int64s, tables: dict[str, pa.Table]) -> None:
        """Fill the rows of restored slots, and tell nobody."""
        self._answer(slots)
        self._change_log.discard()

    def _delivered(self, slots: Int64s) -> Deliveries:
        """What was delivered to these slots, who are in turn, and is live, but for their tops."""
        return self._rows.delivered(slots)


def _with_arrow_ids(rows: PublicationsT) -> PublicationsT:
    """Rows whose ids can be compared with others."""
    ids: Any = rows.ids
    if not isinstance(ids, IdList):
        return rows
    changed: Any = rows
    with_ids: PublicationsT = changed._replace(ids=ids.to_arrow())
    return with_ids
