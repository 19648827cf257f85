"""The change log: the changes that kernels find, collected and made an answer."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Int64s
from skyband.kernels.idmap import IdMap
from skyband.kernels.order import is_ascending, order_by
from skyband.kernels.room import ample, initial
from skyband.table.answer_rows import AnswerRows, AnswerShape, Coded, Numbers, Ranks
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import FoundChanges, make_told
from skyband.topk.kernels.change_log import N_TALLIES, sum_up
from skyband.topk.roster import Roster

OP_NAMES = ("enter", "leave", "move")


class Members(Protocol):
    """Rows that can say who leaves when a subscription is withdrawn."""

    @property
    def roster(self) -> Roster: ...

    def n_members(self, slots: Int64s) -> int:
        """How many entries these slots hold that were told as members, at most."""

    def leave(self, slots: Int64s, told: FoundChanges) -> None:
        """Tell that all of them leave, slot by slot as given and best first."""


class ChangeLog:
    """Collects the changes that kernels find, and makes an answer of them.

    With `earlier`, every delivery is noted there, and one that was noted before is no delivery.
    """

    def __init__(self, rows: Members, room: int = 4096, earlier: EarlierDeliveries | None = None) -> None:
        self.rows = rows
        self.earlier = earlier
        self.told = make_told(initial(room))
        # How many changes of each kind the last answer with any of them has, and how many deliveries.
        self.tally: dict[str, int] = {}
        self._told: list[list[npt.NDArray[Any]]] = []

    def reserve(self, n_changes: int) -> None:
        """Make sure that there is room for this many more."""
        if int(self.told.length[0]) + n_changes > len(self.told.step):
            self._keep()
            if n_changes > len(self.told.step):
                self.told = make_told(ample(n_changes, 2 * n_changes))

    def _keep(self) -> None:
        n = int(self.told.length[0])
        self._told.append([array[:n].copy() for array in self.told[1:]])
        self.told.length[0] = 0

    def leave(self, slots: Int64s) -> None:
        """Tell that the members of these slots leave, slot by slot as given; the slots are about to be removed."""
        self.reserve(self.rows.n_members(slots))
        self.rows.leave(slots, self.told)
        # Changes are told by turn, and these in the order of the request.
        self.rows.roster.turn[slots] = np.arange(len(slots))

    def discard(self) -> None:
        """Throw away what was told."""
        self.told.length[0] = 0
        self._told.clear()

    def answer(self, shape: AnswerShape, items: IdMap, base: int, at: Int64s) -> AnswerRows:
        """Everything told since the last answer, by step and then by subscription; `at` is the time of each step."""
        self._keep()
        parts, self._told = self._told, []
        columns = parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        n, roster = len(columns[0]), self.rows.roster
        if not n:
            return AnswerRows.none(shape)
        turn, tally = np.empty(n, np.int64), np.zeros(N_TALLIES, np.int64)
        in_turn, keys = sum_up(columns[1], columns[3], columns[6], roster.turn, turn, tally), turn
        if len(at) > 1:
            keys = columns[0] * (int(turn.max()) + 1) + turn
            in_turn = is_ascending(keys)
        # Stable: within a step and a subscription the order in which the kernel told it stays.
        if not in_turn:
            order = order_by(keys)
            columns, turn = [column[order] for column in columns], turn[order]
        step, slot, item, op, score, rank, first = columns
        *by_op, n_first = tally.tolist()
        if self.earlier is not None and n_first:
            n_first = self.earlier.note(turn, item, first, n_first)
        self.tally = {name: count for name, count in zip(OP_NAMES, by_op, strict=True) if count} | {"delivery": n_first}
        answered = (
            roster.ids.named(slot),
            items.named(item - base),
            Coded(op, OP_NAMES),
            Numbers(score),
            Ranks(rank),
            Numbers(at[step]),
            Numbers(first),
        )
        return AnswerRows(shape, answered, n)
