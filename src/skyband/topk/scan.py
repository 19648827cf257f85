"""What Scan does alike for window and geotext: every arrival against every row, a short row searched again."""

from itertools import pairwise
from typing import Any, Generic

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.crew import n_shares
from skyband.kernels.heap import make_heap
from skyband.kernels.order import is_ascending
from skyband.kernels.room import pauses, stops
from skyband.kernels.slots import BLOCK
from skyband.topk.delivery_memory import DeliveryMemory
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import FoundChanges, Ghosts, Stamps, check_row
from skyband.topk.kernels.scan import RUN, TILE, Scratch, Steps, SubscriberRows, fill, mend, scan
from skyband.topk.questions import NewQuestions, QuestionStore, signs
from skyband.topk.roster import Deliveries
from skyband.topk.scan_hand import ScanHands, ScanTask
from skyband.topk.scan_rows import DEFAULT_RESERVE, ScanRows, check_reserve
from skyband.topk.skeleton import Continuous, PublicationsT, SubscriptionsT

# So few scores are not worth a thread: one takes about a nanosecond, and a look at a row as long as a few.
SCORES_A_THREAD = 200_000


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
        self._hands = ScanHands()
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

    def memory(self) -> dict[str, int]:
        """Bytes in use, by part."""
        return super().memory() | {"threads": self._hands.n_bytes}

    def _answer(self, slots: Int64s) -> None:
        # The changes of a verb are put in order, so that rows may be filled in any; blocks are not to be divided.
        slots = slots if is_ascending(slots) else np.sort(slots)
        blocks, n_stored = slots // BLOCK, self._opened().size
        cuts = self._cuts(int(blocks[-1]) + 1, len(slots) * n_stored)
        edges = np.unique(np.searchsorted(blocks, cuts)).tolist()
        self._do([self._filling(slots[lo:hi]) for lo, hi in pairwise(edges)])

    def _filling(self, slots: Int64s) -> ScanTask:
        """The task of filling the rows of these slots."""
        done, subscribers, published, step = 0, self._subscribers, self._opened().published, self._one_step()

        def go_on(scratch: Scratch, told: FoundChanges, _: Ghosts) -> bool:
            nonlocal done
            done = fill(slots, done, subscribers, published, step, scratch, told)
            return done == len(slots)

        return ScanTask(go_on, lambda: (done,))

    def _cuts(self, n_blocks: int, n_scores: int) -> list[int]:
        """The first block of each thread, and the end of the last one's, where so many scores are to be found."""
        n = min(n_shares(self.threads, n_scores, SCORES_A_THREAD), n_blocks)
        return [n_blocks * i // n for i in range(n + 1)]

    def _do(self, tasks: list[ScanTask]) -> None:
        """Do what is to be done to rows, in as many threads as there are tasks."""
        scratch, change_log = self._scratch, self._change_log
        if len(tasks) > 1:
            for hand in self._hands.run(tasks, scratch):
                change_log.take_all(hand.take_changes(), hand.take_lost())
                scratch.counts[:] += hand.scratch.counts
                hand.scratch.counts[:] = 0
        else:
            go_on, place = tasks[0]
            for _ in pauses(lambda: go_on(scratch, change_log.told, change_log.ghosts), place):
                change_log.reserve(*scratch.wanted.tolist())
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
        n_blocks, n_arrivals = self._roster.slots.n_blocks, int(steps.end[-1]) - steps.first
        if not n_blocks:
            return
        cuts = self._cuts(n_blocks, (n_arrivals + len(steps.end)) * self.n_subscriptions)
        self._do([self._scanning(lo, hi, steps) for lo, hi in pairwise(cuts)])
        self._counters["scored"] += n_arrivals * self.n_subscriptions

    def _scanning(self, first: int, end: int, steps: Steps) -> ScanTask:
        """The task of taking these blocks through the steps."""
        subscribers, published, since = self._subscribers, self._opened().published, np.array([first, 0])

        def go_on(scratch: Scratch, told: FoundChanges, ghosts: Ghosts) -> bool:
            return scan(since, end, subscribers, published, steps, scratch, told, ghosts)

        return ScanTask(go_on, lambda: tuple(since.tolist()))

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
