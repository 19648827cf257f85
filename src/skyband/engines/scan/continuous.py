"""What Scan does alike for window and geotext: arrivals, expiries, first answers, snapshots."""

from abc import abstractmethod
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.contract import Engine, Horizon, pack, take, unpack
from skyband.engines.scan.audience import Asked, Audience
from skyband.engines.scan.rows import DEFAULT_RESERVE, Reserve, Telling
from skyband.engines.scan.store import Arrivals, Int64s, Store, by_recency
from skyband.kernels.buffer import Stamps, check_row
from skyband.kernels.heap import make_heap
from skyband.kernels.scan import (
    RUN,
    TILE,
    Scratch,
    Steps,
    fill,
    refresh_oldest,
    scan,
)
from skyband.kernels.slots import BLOCK
from skyband.model import change_schema, geotext, ranking_schema, window

SubscriptionsT = TypeVar("SubscriptionsT", bound=window.Subscriptions | geotext.Subscriptions)
PublicationsT = TypeVar("PublicationsT", bound=window.Publications | geotext.Publications)


class ContinuousScan(Engine[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """Top-k over sliding windows by brute force.

    An arrival costs one score for every subscription; an expiry costs a look at each row, and where a row runs short,
    one score for every live publication. `reserve` says how long rows are: longer ones run short less often.
    """

    subscriptions: type[SubscriptionsT]
    publications: type[PublicationsT]

    def __init__(self, *args: Any, reserve: tuple[int, int] = DEFAULT_RESERVE, **options: Any) -> None:
        super().__init__(*args, **options)
        self.horizon = Horizon().widened(self.settings.window)
        self._audience = Audience(Reserve(*reserve))
        self._telling = Telling(self._audience)
        self._store: Store | None = None
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
        return self._audience.ids.size

    def memory(self) -> dict[str, int]:
        return {
            "rows": self._audience.n_bytes,
            "questions": sum(array.nbytes for array in self._audience.questions),
            "publications": 0 if self._store is None else self._store.n_bytes,
        }

    def _registered(self, ids: pa.Array) -> npt.NDArray[np.bool_]:
        return self._audience.ids.find(ids) >= 0

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
        slots = self._audience.enrol(rows, self._asked(rows))
        self.horizon = self.horizon.widened_by_all(rows.window)
        most = int(self._audience.buffers.capacity.max())
        if most > len(self._scratch.heap.keys):
            self._scratch = self._scratch._replace(heap=make_heap(2 * most))
        return slots

    def _answer(self, slots: Int64s) -> None:
        """Fill the rows of new slots, and tell."""
        store = self._opened()
        done = 0
        while done < len(slots):
            done = fill(
                slots,
                done,
                self._audience.subscribers,
                store.published,
                self._one_step(),
                self._scratch,
                self._telling.told,
            )
            if done < len(slots):
                self._telling.drain()
        self._count_work()

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        slots = self._audience.ids.find(ids)
        self._telling.leave(slots)
        changes = self._table(self._one_step().now)
        self._audience.remove(slots)
        return changes

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
        if self.granularity == "batch":
            return [(0, len(rank))]
        stragglers = np.flatnonzero(~self._opened().follow(rows.ts, rows.ids, rank))
        edges = sorted({0, len(rank), *stragglers.tolist(), *(stragglers + 1).tolist()})
        return list(pairwise(edges))

    def _take_run(self, rows: PublicationsT, now: Int64s, lo: int, hi: int, offset: int) -> Int64s:
        """Publish the rows lo to hi; returns the time of each step."""
        store = self._opened()
        before, n = store.stamps_end, hi - lo
        part = rows if n == len(now) else take(rows, np.arange(lo, hi))
        if store.append(self._arrivals(part)):
            refresh_oldest(self._audience.rules, self._audience.buffers, store.live)
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
        if self._store is None:
            return
        since = np.zeros(2, np.int64)
        while not scan(
            since,
            self._audience.slots.n_blocks,
            self._audience.subscribers,
            self._store.published,
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
        slots = self._audience.in_turn() if ids is None else self._audience.ids.find(ids)
        schema = ranking_schema(self._id_type("subscriptions id"), self._id_type("publications id"))
        if self._store is None or not len(slots):
            return schema.empty_table()
        return self._audience.ranking(schema, slots, self._store.ids, self._store.base)

    def _save(self) -> dict[str, pa.Table]:
        horizon = pa.table({name: [value] for name, value in self.horizon._asdict().items()})
        if self._store is None:
            return {"horizon": horizon}
        slots, indices = self._audience.in_turn(), self._store.indices()
        row_of = np.zeros(self._audience.slots.n_slots, np.int64)
        row_of[slots] = np.arange(len(slots))
        delivered = self._audience.delivered(slots) + self._telling.haunted()
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
            if not self._audience.mark_delivered(slot, item):
                self._telling.remember(slot, item)

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._audience.check()
        if self._store is not None:
            self._store.check()
            for slot in self._audience.in_turn():
                check_row(self._audience.buffers, int(slot), Stamps(self._store.stamp, self._store.base))
