"""What threads work with when Scan divides its blocks among them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from skyband.kernels.crew import run
from skyband.kernels.room import ample, initial, pauses
from skyband.topk.hand import Columns, Hand, all_like, like
from skyband.topk.kernels.buffer import FoundChanges, Ghosts, make_ghosts
from skyband.topk.kernels.scan import Scratch


class ScanTask(NamedTuple):
    """A part of a call: whether all of it is done after going on with this, and how far it has come."""

    go_on: Callable[[Scratch, FoundChanges, Ghosts], bool]
    place: Callable[[], tuple[int, ...]]


class ScanHand(Hand):
    """What one thread works with: scratch, changes, and what rows have lost."""

    def __init__(self, model: Scratch) -> None:
        super().__init__()
        self._ghosts = make_ghosts(initial(1 << 12))
        self._lost: list[Columns] = []
        self.scratch = _alike(None, model)

    @property
    def n_bytes(self) -> int:
        plain = [array for name, array in self.scratch._asdict().items() if name != "heap"]
        return sum(array.nbytes for group in (plain, self.scratch.heap, self._told, self._ghosts) for array in group)

    def do(self, task: ScanTask) -> None:
        """Do a task."""
        for _ in pauses(lambda: task.go_on(self.scratch, self._told, self._ghosts), task.place):
            n_changes, n_ghosts = self.scratch.wanted.tolist()
            self._reserve(n_changes)
            if int(self._ghosts.length[0]) + n_ghosts > len(self._ghosts.step):
                self._keep_lost()
                if n_ghosts > len(self._ghosts.step):
                    self._ghosts = make_ghosts(ample(n_ghosts, 2 * n_ghosts))

    def _keep_lost(self) -> None:
        n = int(self._ghosts.length[0])
        self._lost.append([array[:n].copy() for array in self._ghosts[1:]])
        self._ghosts.length[0] = 0

    def take_lost(self) -> list[Columns]:
        """What rows have lost, which is no longer kept here."""
        self._keep_lost()
        lost, self._lost = self._lost, []
        return lost


class ScanHands:
    """As many as were ever needed at a time."""

    def __init__(self) -> None:
        self._all: list[ScanHand] = []

    @property
    def n_bytes(self) -> int:
        return sum(hand.n_bytes for hand in self._all)

    def run(self, tasks: Sequence[ScanTask], model: Scratch) -> list[ScanHand]:
        """Do tasks at a time, with scratch like this; returns who has done them, in their order."""
        self._all += [ScanHand(model) for _ in tasks[len(self._all) :]]
        hands = self._all[: len(tasks)]
        for hand in hands:
            hand.scratch = _alike(hand.scratch, model)
        run([partial(hand.do, task) for hand, task in zip(hands, tasks, strict=True)])
        return hands


def _alike(own: Scratch | None, model: Scratch) -> Scratch:
    made = {name: like(own and getattr(own, name), its) for name, its in model._asdict().items() if name != "heap"}
    return Scratch(**made, heap=all_like(own and own.heap, model.heap))
