"""What threads work with when rows are divided among them: each has scratch, changes and deliveries of its own.

Rooms for rows are made in an arena of the pool for each thread; when one has no room left in it, the others are waited
for, since the pool may move. Everything else a thread makes room for itself. The engine's deliveries are only looked at
meanwhile: what threads remember is put among them when all are through, and their changes one part after the other, as
one thread would have told them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from skyband.kernels.array import Int64s
from skyband.kernels.crew import rounds
from skyband.kernels.room import ample, initial, pauses
from skyband.topk.bands import BandRows
from skyband.topk.hand import Hand, all_like, like
from skyband.topk.kernels.deliveries import DeliverySet, enlarged, has_room, make_delivery_set
from skyband.topk.kernels.workspace import BandSubscribers, Workspace
from skyband.topk.row_task import RowTask

# The scratch of a working space that is no group of arrays.
PLAIN = ("said", "run", "publication", "directed", "moved", "n_moved", "counts", "wanted")


class RowHand(Hand):
    """What one thread works with."""

    def __init__(self, model: Workspace) -> None:
        super().__init__()
        self.workspace = _alike(None, model)

    @property
    def n_bytes(self) -> int:
        workspace = self.workspace
        plain = [getattr(workspace, name) for name in PLAIN]
        groups = (plain, workspace.heap, workspace.departed, workspace.deliveries, workspace.space[1], self._told)
        return sum(array.nbytes for group in groups for array in group)

    def fit(self, model: Workspace) -> None:
        """Have scratch like the engine's, and know its deliveries."""
        self.workspace = _alike(self.workspace, model)

    def go_on(self, task: RowTask, subscribers: BandSubscribers, rows: BandRows, arena: int) -> bool:
        """Do a task; stops and says no where the arena has no room."""
        for _ in pauses(lambda: task.go_on(subscribers, self.workspace, self._told), task.place):
            n_places, n_pairs, n_changes = self.workspace.wanted.tolist()
            self._make_room(n_pairs, n_changes)
            if not rows.has_room(n_places, arena):
                return False
        return True

    def _make_room(self, n_pairs: int, n_changes: int) -> None:
        """Room for so many more deliveries to remember, and so many more changes."""
        self._reserve(n_changes)
        deliveries = self.workspace.deliveries
        if not has_room(deliveries, n_pairs):
            self.workspace = self.workspace._replace(deliveries=enlarged(deliveries, ample(n_pairs, 2 * n_pairs)))

    def take_deliveries(self) -> DeliverySet:
        """What was remembered, which is no longer kept here."""
        deliveries = self.workspace.deliveries
        if deliveries.used[0]:
            self.workspace = self.workspace._replace(deliveries=make_delivery_set(initial(64)))
        return deliveries

    def take_moved(self) -> Int64s:
        """The slots whose gates have moved."""
        moved = self.workspace.moved[: int(self.workspace.n_moved[0])].copy()
        self.workspace.n_moved[0] = 0
        return moved


class RowHands:
    """As many as were ever needed at a time."""

    def __init__(self) -> None:
        self._all: list[RowHand] = []

    @property
    def n_bytes(self) -> int:
        return sum(hand.n_bytes for hand in self._all)

    def run(
        self, tasks: Sequence[RowTask], subscribers: BandSubscribers, rows: BandRows, model: Workspace
    ) -> list[RowHand]:
        """Do tasks at a time, with scratch like this; returns who has done them, in their order."""
        rows.share(len(tasks))
        self._all += [RowHand(model) for _ in tasks[len(self._all) :]]
        hands = self._all[: len(tasks)]

        def part(arena: int, task: RowTask) -> Iterator[Any]:
            hand = hands[arena]

            def go_on() -> bool:
                return hand.go_on(task, subscribers._replace(bands=rows.bands_in(arena)), rows, arena)

            yield from pauses(go_on, task.place)

        for hand in hands:
            hand.fit(model)
        for arena in rounds([part(arena, task) for arena, task in enumerate(tasks)]):
            n_places = int(hands[arena].workspace.wanted[0])
            rows.make_room(n_places, arena)
        return hands


def _alike(own: Workspace | None, model: Workspace) -> Workspace:
    """A working space with scratch of the same shapes as the engine's, of which none is the engine's; grids are shared.

    What of the own one has the right shape stays.
    """
    space: Any = model.space
    scratch: dict[str, Any] = {name: like(own and getattr(own, name), getattr(model, name)) for name in PLAIN}
    searching = all_like(own and own.space[1], space[1])
    return model._replace(
        **scratch,
        heap=all_like(own and own.heap, model.heap),
        departed=all_like(own and own.departed, model.departed),
        space=type(space)(space[0], searching),
        deliveries=own.deliveries if own else make_delivery_set(initial(64)),
        known=model.deliveries,
    )
