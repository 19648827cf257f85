"""What Scan does alike for window and geotext: every arrival against every row, a short row searched again."""

from typing import Any, Generic

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.heap import make_heap
from skyband.kernels.room import pauses, stops
from skyband.kernels.slots import BLOCK
from skyband.topk.delivery_memory import DeliveryMemory
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import Stamps, check_row
from skyband.topk.kernels.scan import RUN, TILE, Scratch, Steps, SubscriberRows, fill, mend, scan
from skyband.topk.questions import NewQuestions, QuestionStore, signs
from skyband.topk.roster import Deliveries
from skyband.topk.scan_rows import DEFAULT_RESERVE, ScanRows, check_reserve
from skyband.topk.skeleton import Continuous, PublicationsT, SubscriptionsT


class ContinuousScan(Continuous[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """Top-k over sliding windows by brute force.

    An arrival costs one score for every subscription; an expiry costs a look at each row, and where a row runs short,
    one score for every live publication. `reserve` says how long rows are: longer ones run short less often.
    """

    def __init__(self, *args: Any, reserve: tuple[int, int] = DEFAULT_RESERVE, **options: Any) -> None:
        super().__init__(*args, **options)
        self._rows: ScanRows = ScanRows(check_reserve(reserve))
        self._question_store = QuestionStore(self._rows.roster)
        self._change_log: DeliveryMemory = DeliveryMemory(self._rows, earlier=EarlierDeliveries())
        self._scratch = Scratch(
            said=np.zeros(1),
            tile=np.zeros((TILE, BLOCK)),
            run=np.zeros(RUN),
            dirty=np.zeros(BLOCK, np.bool_),
            heap=make_heap(64),
            counts=np.zeros(3, np.int64),
            wanted=np.zeros(2, np.int64),
        )

    @property
    def _subscribers(self) -> SubscriberRows:
        return SubscriberRows(self._question_store.questions, self._question_store.rules, self._rows.buffers)

    def _enrol(self, rows: SubscriptionsT, new: NewQuestions) -> Int64s:
        slots = self._rows.add(rows.ids, new.kinds, rows.k, signs(rows, new.kinds))
        self._question_store.write(rows, new, slots)
        self._widen_heap()
        return slots

    def _widen_heap(self) -> None:
        most = int(self._rows.buffers.capacity.max())
        if most > len(self._scratch.heap.keys):
            self._scratch = self._scratch._replace(heap=make_heap(2 * most))

    def _renew(self, slots: Int64s, k: int) -> None:
        self._rows.resize(slots, k)
        self._change_log.forget(slots)
        self._widen_heap()
        self._answer(slots)

    def _answer(self, slots: Int64s) -> None:
        published, step = self._opened().published, self._one_step()

        def fill_from(done: int) -> int:
            return fill(slots, done, self._subscribers, published, step, self._scratch, self._change_log.told)

        for _ in stops(fill_from, len(slots)):
            self._change_log.reserve(*self._scratch.wanted.tolist())
        self._count_work()

    def _mend(self, indices: Int64s) -> None:
        published, step, slots = self._opened().published, self._one_step(), np.flatnonzero(self._roster.slots.used)

        def mend_from(done: int) -> int:
            return mend(slots, done, self._subscribers, published, step, self._scratch, self._change_log.told)

        for _ in stops(mend_from, len(slots)):
            self._change_log.reserve(*self._scratch.wanted.tolist())
        self._counters["mended"] += int(self._scratch.counts[2])
        self._count_work()

    def _take_steps(self, steps: Steps, in_order: bool) -> None:
        published, n_blocks = self._opened().published, self._roster.slots.n_blocks
        since = np.zeros(2, np.int64)

        def go_on() -> bool:
            scratch, change_log = self._scratch, self._change_log
            return scan(
                since, n_blocks, self._subscribers, published, steps, scratch, change_log.told, change_log.ghosts
            )

        for _ in pauses(go_on, lambda: tuple(since.tolist())):
            self._change_log.reserve(*self._scratch.wanted.tolist())
        self._counters["scored"] += (int(steps.end[-1]) - steps.first) * self.n_subscriptions
        self._count_work()

    def _count_work(self) -> None:
        self._counters["refilled"] += int(self._scratch.counts[0])
        self._counters["scored"] += int(self._scratch.counts[1])
        self._scratch.counts[:] = 0

    def _forget(self) -> None:
        super()._forget()
        if self._store is not None:
            self._change_log.forget_items(self._store.base + self._store.head)

    def _delivered(self, slots: Int64s) -> Deliveries:
        return super()._delivered(slots).joined(self._change_log.lost())

    def _remember(self, delivered: Deliveries) -> None:
        self._change_log.remember(delivered, self._rows.mark_delivered(delivered))

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._rows.check()
        self._earlier.check()
        if self._store is not None:
            self._store.check()
            for slot in self._roster.in_turn():
                check_row(self._rows.buffers, int(slot), Stamps(self._store.stamp, self._store.base))
