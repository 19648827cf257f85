"""What Scan does alike for window and geotext: arrivals, expiries, first answers, snapshots."""

from abc import abstractmethod
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.contract import FARTHEST, Engine, Horizon, pack, take, unpack
from skyband.engines.scan.rows import Rows, Telling
from skyband.engines.scan.store import Arrivals, Int64s, Store, by_recency
from skyband.kernels.buffer import Stamps, check_row
from skyband.kernels.heap import make_heap
from skyband.kernels.scan import (
    LARGEST,
    RUN,
    TILE,
    Rules,
    Scratch,
    Steps,
    fill,
    leave_all,
    refresh_oldest,
    scan,
)
from skyband.kernels.score import Questions
from skyband.kernels.slots import BLOCK, grown
from skyband.model import change_schema, geotext, ranking_schema, window

SubscriptionsT = TypeVar("SubscriptionsT", bound=window.Subscriptions | geotext.Subscriptions)
PublicationsT = TypeVar("PublicationsT", bound=window.Publications | geotext.Publications)

# Wider windows hold everything, since times lie within ±FARTHEST; and this much more than a time fits 64 bits.
_WIDEST = 2 * FARTHEST + 1

# 1 where smaller scores of a kind are better, -1 where larger ones are.
_WAYS = np.array([1.0, 1.0, -1.0, -1.0, -1.0])


class Asked(NamedTuple):
    """Subscriptions as the kernels want them: kinds and vectors by row, terms as lists laid end to end."""

    kinds: npt.NDArray[np.int8]
    points: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    norms: npt.NDArray[np.float64]
    alphas: npt.NDArray[np.float64]
    signatures: Int64s
    offsets: Int64s
    terms: Int64s
    term_weights: npt.NDArray[np.float64]


def _no_questions(dims: int, weighted_dims: int) -> Questions:
    empty, integers = np.zeros(0), np.zeros(0, np.int64)
    return Questions(
        kinds=np.zeros(0, np.int8),
        centre=np.zeros((0, dims, BLOCK)),
        weight=np.zeros((0, weighted_dims, BLOCK)),
        norm=empty,
        alpha=empty,
        signature=integers,
        term_start=integers,
        term_count=integers,
        terms=integers,
        term_weights=empty,
    )


class ContinuousScan(Engine[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """Top-k over sliding windows by brute force.

    An arrival costs one score for every subscription; an expiry costs a look at each row, and where a row runs short,
    one score for every live publication.
    """

    subscriptions: type[SubscriptionsT]
    publications: type[PublicationsT]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.horizon = Horizon().widened(self.settings.window)
        self._rows = Rows()
        self._telling = Telling(self._rows)
        self._store: Store | None = None
        self._questions: Questions | None = None
        self._n_terms = 0
        no_numbers, no_integers = np.zeros(0), np.zeros(0, np.int64)
        no_blocks = np.zeros((0, 2), np.int64)
        self._rules = Rules(no_numbers, no_numbers, np.zeros(0, np.int8), no_integers, no_integers, no_blocks)
        self._scratch = Scratch(
            said=np.zeros(1),
            tile=np.zeros((TILE, BLOCK)),
            run=np.zeros(RUN),
            dirty=np.zeros(BLOCK, np.bool_),
            heap=make_heap(64),
            counts=np.zeros(2, np.int64),
        )

    @abstractmethod
    def _asked(self, rows: SubscriptionsT) -> Asked: ...

    @abstractmethod
    def _arrivals(self, rows: PublicationsT) -> Arrivals: ...

    @abstractmethod
    def _subscriptions_of(self, slots: Int64s) -> SubscriptionsT: ...

    @abstractmethod
    def _publications_of(self, indices: Int64s) -> PublicationsT: ...

    @property
    def n_subscriptions(self) -> int:
        return self._rows.ids.size

    def memory(self) -> dict[str, int]:
        questions = () if self._questions is None else self._questions
        return {
            "rows": self._rows.n_bytes + sum(array.nbytes for array in self._rules),
            "questions": sum(array.nbytes for array in questions),
            "publications": 0 if self._store is None else self._store.n_bytes,
        }

    def _registered(self, ids: pa.Array) -> npt.NDArray[np.bool_]:
        return self._rows.ids.find(ids) >= 0

    def _stored(self, ids: pa.Array) -> npt.NDArray[np.bool_]:
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

    def _subscribe(self, rows: SubscriptionsT) -> pa.Table:
        if len(rows.ids):
            self._answer(self._add(rows))
        return self._table(self._one_step().now)

    def _add(self, rows: SubscriptionsT) -> Int64s:
        asked = self._asked(rows)
        ways = _WAYS[asked.kinds]
        boolean = ~np.isnan(rows.threshold)
        slots = self._rows.add(rows.ids, asked.kinds, rows.k, np.where(boolean, 0.0, ways))
        self._widen_scratch()
        self._write_rules(rows, slots, np.where(boolean, ways * rows.threshold, np.inf))
        self._write_questions(asked, slots)
        self.horizon = self.horizon.widened_by_all(rows.window)
        return slots

    def _widen_scratch(self) -> None:
        most = int(self._rows.buffers.capacity.max(initial=0))
        if most > len(self._scratch.heap.keys):
            self._scratch = self._scratch._replace(heap=make_heap(2 * most))

    def _write_rules(self, rows: SubscriptionsT, slots: Int64s, limits: npt.NDArray[np.float64]) -> None:
        have, n_slots = len(self._rules.gate), self._rows.slots.n_slots
        due = grown(self._rules.due, self._rows.slots.n_blocks)
        self._rules = Rules._make([*(grown(array, n_slots) for array in self._rules[:-1]), due])
        self._rules.gate[have:] = -np.inf
        self._rules.oldest[have:] = LARGEST
        self._rules.due[have // BLOCK :] = LARGEST
        self._rules.limit[slots] = limits
        self._rules.window_kind[slots] = rows.window.kind
        self._rules.window_size[slots] = np.minimum(rows.window.size, _WIDEST)

    def _write_questions(self, asked: Asked, slots: Int64s) -> None:
        into = self._reserve_questions(asked)
        block, i = slots // BLOCK, slots % BLOCK
        into.centre[block, :, i] = asked.points
        into.weight[block, :, i] = asked.weights
        into.norm[slots], into.alpha[slots], into.signature[slots] = (
            asked.norms,
            asked.alphas,
            asked.signatures,
        )
        into.term_start[slots] = self._n_terms + asked.offsets[:-1]
        into.term_count[slots] = np.diff(asked.offsets)
        end = self._n_terms + len(asked.terms)
        into.terms[self._n_terms : end] = asked.terms
        into.term_weights[self._n_terms : end] = asked.term_weights
        self._n_terms = end

    def _reserve_questions(self, asked: Asked) -> Questions:
        slots = self._rows.slots
        before = self._questions or _no_questions(asked.points.shape[1], asked.weights.shape[1])
        n_terms = self._n_terms + len(asked.terms)
        by_slot: dict[str, Any] = {
            name: grown(getattr(before, name), slots.n_slots)
            for name in ("norm", "alpha", "signature", "term_start", "term_count")
        }
        self._questions = before._replace(
            kinds=slots.kinds,
            centre=grown(before.centre, slots.n_blocks),
            weight=grown(before.weight, slots.n_blocks),
            terms=grown(before.terms, n_terms),
            term_weights=grown(before.term_weights, n_terms),
            **by_slot,
        )
        return self._questions

    def _answer(self, slots: Int64s) -> None:
        """Fill the rows of new slots, and tell."""
        assert self._questions is not None
        store = self._opened()
        done = 0
        while done < len(slots):
            done = fill(
                slots,
                done,
                self._questions,
                self._rules,
                self._rows.buffers,
                store.contents,
                store.live,
                self._one_step(),
                self._scratch,
                self._telling.told,
            )
            if done < len(slots):
                self._telling.drain()
        self._count_work()

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        slots = self._rows.ids.find(ids)
        self._telling.reserve(int(self._rows.buffers.k[slots].sum()), 0)
        leave_all(slots, self._rows.buffers, self._telling.told)
        self._telling.forget_turns(self._rows.turn[slots])
        # Told in the order of the request, which is why the turns are set anew before the rows go.
        self._rows.turn[slots] = np.arange(len(slots))
        changes = self._table(self._one_step().now)
        self._rules.gate[slots] = -np.inf
        self._rules.oldest[slots] = LARGEST
        self._rules.window_kind[slots] = 0
        self._rows.remove(slots)
        self._drop_terms()
        return changes

    def _drop_terms(self) -> None:
        """Lay the terms end to end again once most of them belong to nobody."""
        if self._questions is None or self._n_terms < 4096:
            return
        slots = np.flatnonzero(self._rows.slots.used)
        lengths = self._questions.term_count[slots]
        if 2 * int(lengths.sum()) > self._n_terms:
            return
        ends = np.cumsum(lengths)
        places = np.repeat(self._questions.term_start[slots] - (ends - lengths), lengths) + np.arange(lengths.sum())
        self._n_terms = len(places)
        self._questions.terms[: self._n_terms] = self._questions.terms[places]
        self._questions.term_weights[: self._n_terms] = self._questions.term_weights[places]
        self._questions.term_start[slots] = ends - lengths

    def _publish(self, rows: PublicationsT) -> pa.Table:
        if not len(rows.ids):
            return self._table(self._one_step().now)
        self._opened()
        rows, now, rank = self._drop_late(rows)
        times = [np.zeros(0, np.int64)]
        n_steps = 0
        for lo, hi in self._runs(rows, rank):
            times.append(self._take_run(rows, now, lo, hi, n_steps))
            n_steps += len(times[-1])
        changes = self._table(np.concatenate(times))
        self._forget()
        return changes

    def _drop_late(self, rows: PublicationsT) -> tuple[PublicationsT, Int64s, Int64s]:
        """The rows that are not late, the time at each, and their rank by recency.

        A row is late if it lies outside of the horizon by the time it arrives.
        """
        start = int(rows.ts[0]) if self.now is None else self.now
        now = np.maximum.accumulate(np.maximum(rows.ts, start))
        rank = np.empty(len(now), np.int64)
        rank[by_recency(rows.ts, rows.ids)] = np.arange(len(now))
        self.now = int(now[-1])
        late = self._late(rows, now, rank)
        if not late.any():
            return rows, now, rank
        self._counters["late"] += int(late.sum())
        kept = np.flatnonzero(~late)
        return take(rows, kept), now[kept], rank[kept]

    def _late(self, rows: PublicationsT, now: Int64s, rank: Int64s) -> npt.NDArray[np.bool_]:
        if self.horizon.unbounded:
            return np.zeros(len(now), np.bool_)
        us = min(self.horizon.us, _WIDEST)
        late = rows.ts <= now - us if us else np.ones(len(now), np.bool_)
        if self.horizon.n:
            late &= ~self._in_order(rows, rank)
            for i in np.flatnonzero(late):
                n_newer = int((rank[:i] > rank[i]).sum())
                n_newer += self._opened().n_newer(int(rows.ts[i]), rows.ids[int(i)].as_py())
                late[i] = n_newer >= self.horizon.n
        return late

    def _in_order(self, rows: PublicationsT, rank: Int64s) -> npt.NDArray[np.bool_]:
        """Which rows are more recent than everything before them."""
        newest: npt.NDArray[np.bool_] = rank == np.maximum.accumulate(rank)
        latest = self._opened().latest
        if latest is None:
            return newest
        follows: npt.NDArray[np.bool_] = rows.ts > latest[0]
        for i in np.flatnonzero(newest & (rows.ts == latest[0])):
            follows[i] = rows.ids[int(i)].as_py() > latest[1]
        return newest & follows

    def _runs(self, rows: PublicationsT, rank: Int64s) -> list[tuple[int, int]]:
        """Pieces for one call of the kernel: the batch, or, by publication, stretches in order and each straggler."""
        if not len(rank):
            return []
        if self.granularity == "batch":
            return [(0, len(rank))]
        stragglers = np.flatnonzero(~self._in_order(rows, rank))
        edges = sorted({0, len(rank), *stragglers.tolist(), *(stragglers + 1).tolist()})
        return list(pairwise(edges))

    def _take_run(self, rows: PublicationsT, now: Int64s, lo: int, hi: int, offset: int) -> Int64s:
        """Publish the rows lo to hi; returns the time of each step."""
        store = self._opened()
        before, n = store.stamps_end, hi - lo
        part = rows if n == len(now) else take(rows, np.arange(lo, hi))
        if store.append(self._arrivals(part)):
            refresh_oldest(self._rules, self._rows.buffers, store.live)
        first = store.tail - n
        if self.granularity == "batch":
            steps = self._one_step()._replace(first=first)
        else:
            ends = np.arange(1, n + 1, dtype=np.int64)
            steps = Steps(first, offset, first + ends, now[lo:hi].copy(), before + ends)
        self._counters["scored"] += n * self.n_subscriptions
        self._scan(steps)
        return steps.now

    def _one_step(self) -> Steps:
        """A step that ends now, with everything that has arrived."""
        tail, stamps_end = (0, 0) if self._store is None else (self._store.tail, self._store.stamps_end)
        return Steps(tail, 0, *(np.array([value], np.int64) for value in (tail, self.now or 0, stamps_end)))

    def _scan(self, steps: Steps) -> None:
        if self._questions is None or self._store is None:
            return
        since = np.zeros(2, np.int64)
        while not scan(
            since,
            self._rows.slots.n_blocks,
            self._questions,
            self._rules,
            self._rows.buffers,
            self._store.contents,
            self._store.live,
            steps,
            self._scratch,
            self._telling.told,
            self._telling.ghosts,
        ):
            self._telling.drain()
        self._count_work()

    def _count_work(self) -> None:
        self._counters["refilled"] += int(self._scratch.counts[0])
        self._counters["scored"] += int(self._scratch.counts[1])
        self._scratch.counts[:] = 0

    def _advance(self, now: int) -> pa.Table:
        self._scan(self._one_step())
        changes = self._table(self._one_step().now)
        self._forget()
        return changes

    def _forget(self) -> None:
        if self._store is None or self.now is None:
            return
        self._store.forget(self.now, self.horizon)
        self._telling.forget_items(self._store.base + self._store.head)

    def _table(self, at: Int64s) -> pa.Table:
        schema = change_schema(self._id_type("subscriptions id"), self._id_type("publications id"))
        if self._store is None:
            return schema.empty_table()
        return self._telling.table(schema, self._store.ids, self._store.base, at)

    def _top(self, ids: pa.Array | None) -> pa.Table:
        slots = self._rows.in_turn() if ids is None else self._rows.ids.find(ids)
        schema = ranking_schema(self._id_type("subscriptions id"), self._id_type("publications id"))
        if self._store is None or not len(slots):
            return schema.empty_table()
        return self._rows.ranking(schema, slots, self._store.ids, self._store.base)

    def _save(self) -> dict[str, pa.Table]:
        horizon = pa.table({name: [value] for name, value in self.horizon._asdict().items()})
        if self._store is None:
            return {"horizon": horizon}
        slots, indices = self._rows.in_turn(), self._store.indices()
        row_of = np.zeros(self._rows.slots.n_slots, np.int64)
        row_of[slots] = np.arange(len(slots))
        delivered = self._rows.delivered(slots) + self._telling.haunted()
        pairs = np.array(delivered, np.int64).reshape(-1, 2)
        return {
            "horizon": horizon,
            "subscriptions": pack(self._subscriptions_of(slots)) if len(slots) else pa.table({}),
            "publications": pack(self._publications_of(indices)) if len(indices) else pa.table({}),
            "delivered": pa.table(
                {
                    "subscription": row_of[pairs[:, 0]],
                    "publication": np.searchsorted(indices, pairs[:, 1] - self._store.base),
                }
            ),
        }

    def _load(self, tables: dict[str, pa.Table]) -> None:
        slots = np.zeros(0, np.int64)
        if len(tables.get("publications", ())):
            self._opened().append(self._arrivals(unpack(self.publications, tables["publications"])))
        if len(tables.get("subscriptions", ())):
            slots = self._add(unpack(self.subscriptions, tables["subscriptions"]))
            self._answer(slots)
            self._telling.discard()
        self.horizon = Horizon(**tables["horizon"].to_pylist()[0])
        for row in tables["delivered"].to_pylist() if "delivered" in tables else ():
            slot, item = int(slots[row["subscription"]]), row["publication"]
            if not self._rows.mark_delivered(slot, item):
                self._telling.remember(slot, item)

    def _thresholds(self, slots: Int64s) -> npt.NDArray[np.float64]:
        """The thresholds as they were given; NaN for a subscription that is not Boolean."""
        assert self._questions is not None
        ways = _WAYS[self._questions.kinds[slots // BLOCK]]
        limits = self._rules.limit[slots]
        return np.where(self._rows.buffers.sign[slots] == 0.0, ways * limits, np.nan)

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._rows.check()
        if self._store is not None:
            self._store.check()
            for slot in self._rows.in_turn():
                check_row(self._rows.buffers, int(slot), Stamps(self._store.stamp, self._store.base))
