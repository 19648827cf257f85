"""What is done to rows in one call, in parts that several threads may do at a time.

A task takes its slots from where it has come so far; it stops where there is no room, and says how much is wanted in
its working space. Tasks of one call touch different slots, and those of them that write down when a block of slots is
due have no block in common.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.crew import even_cuts, n_shares
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.buffer import FoundChanges
from skyband.topk.kernels.candidate import Grouped
from skyband.topk.kernels.scan import Published, Steps
from skyband.topk.kernels.step import answer, mend, step
from skyband.topk.kernels.waiting import Call, make_progress
from skyband.topk.kernels.workspace import BandSubscribers, Leaving, Workspace

# What is not worth a thread: so few candidates, of which a slot counts for four, searches, or rows to mend.
CANDIDATES_A_THREAD = 4000
SEARCHES_A_THREAD = 16
ROWS_A_THREAD = 1000
# What a slot takes beside its candidates, as so many of them.
SLOT = 4


class RowTask(Protocol):
    """A part of what is done to rows."""

    def go_on(self, subscribers: BandSubscribers, workspace: Workspace, told: FoundChanges) -> bool:
        """Take slots through; says whether all are done."""

    def place(self) -> tuple[int, ...]:
        """How far it has come."""


class CallSetting(NamedTuple):
    """What all steps of a call have in common."""

    published: Published
    steps: Steps
    in_order: bool
    leaving: Leaving


class StepTask:
    """Touched slots and their candidates, to be taken through steps."""

    def __init__(self, touched: Grouped, setting: CallSetting) -> None:
        self._touched = touched
        self._setting = setting
        self._progress = make_progress()

    def go_on(self, subscribers: BandSubscribers, workspace: Workspace, told: FoundChanges) -> bool:
        """Take slots through the steps; says whether all are done."""
        return step(self._progress, self._touched, Call(subscribers, *self._setting, workspace, told))

    def place(self) -> tuple[int, ...]:
        """How many slots are done, and of the next one how many steps."""
        slot, at = self._progress.at[:2].tolist()
        return slot, at


class _SlotsTask:
    """Slots to be taken one after the other."""

    def __init__(self, slots: Int64s, published: Published, steps: Steps) -> None:
        self._slots = slots
        self._published = published
        self._steps = steps
        self._done = 0

    def place(self) -> tuple[int, ...]:
        """How many slots are done."""
        return (self._done,)


class AnswerTask(_SlotsTask):
    """Slots whose rows are filled from everything live; what has these marks was delivered before."""

    def __init__(self, slots: Int64s, published: Published, steps: Steps, marks: int) -> None:
        super().__init__(slots, published, steps)
        self._marks = marks

    def go_on(self, subscribers: BandSubscribers, workspace: Workspace, told: FoundChanges) -> bool:
        """Fill rows; says whether all are done."""
        given = (self._slots, self._done, subscribers, self._published, self._steps)
        self._done = answer(*given, self._marks, workspace, told)
        return self._done == len(self._slots)


class MendTask(_SlotsTask):
    """Slots whose rows what was retracted is taken out of."""

    def go_on(self, subscribers: BandSubscribers, workspace: Workspace, told: FoundChanges) -> bool:
        """Mend rows; says whether all are done."""
        given = (self._slots, self._done, subscribers, self._published, self._steps)
        self._done = mend(*given, workspace, told)
        return self._done == len(self._slots)


def step_tasks(touched: Grouped, setting: CallSetting, threads: int) -> Sequence[RowTask]:
    """Parts of about the same work, each of whole blocks of slots."""
    ends = touched.start[1:] + SLOT * np.arange(1, len(touched.slots) + 1)
    n = n_shares(threads, int(ends[-1]), CANDIDATES_A_THREAD) if threads > 1 else 1
    if n == 1:
        return [StepTask(touched, setting)]
    return [
        StepTask(touched._replace(slots=touched.slots[lo:hi], start=touched.start[lo : hi + 1]), setting)
        for lo, hi in _parts(_between_blocks(touched.slots, even_cuts(ends, n)))
    ]


def answer_tasks(slots: Int64s, published: Published, steps: Steps, marks: int, threads: int) -> Sequence[RowTask]:
    """Parts of about as many slots, in any order."""
    parts = np.array_split(slots, n_shares(threads, len(slots), SEARCHES_A_THREAD))
    return [AnswerTask(part, published, steps, marks) for part in parts]


def mend_tasks(slots: Int64s, published: Published, steps: Steps, threads: int) -> Sequence[RowTask]:
    """Parts of about as many slots, which ascend, each of whole blocks."""
    n = n_shares(threads, len(slots), ROWS_A_THREAD)
    if n == 1:
        return [MendTask(slots, published, steps)]
    cuts = _between_blocks(slots, even_cuts(np.arange(1, len(slots) + 1), n))
    return [MendTask(slots[lo:hi], published, steps) for lo, hi in _parts(cuts)]


def _between_blocks(slots: Int64s, cuts: Int64s) -> Int64s:
    """The nearest cuts behind these that no block of slots lies on both sides of."""
    last = slots[cuts[1:-1] - 1] // BLOCK
    moved = np.searchsorted(slots, (last + 1) * BLOCK)
    return np.unique(np.concatenate([[0], moved, [len(slots)]]))


def _parts(cuts: Int64s) -> list[tuple[int, int]]:
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
