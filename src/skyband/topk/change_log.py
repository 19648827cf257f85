"""The change log: the changes that kernels find, collected and made an answer."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Int64s
from skyband.kernels.idmap import IdMap
from skyband.kernels.order import order_by
from skyband.kernels.room import ample, initial
from skyband.table.answer_rows import AnswerRows, AnswerShape, Coded, Numbers, Ranks
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import FoundChanges, make_told
from skyband.topk.kernels.change_log import IN_ORDER, IN_TURN, N_TALLIES, ChangeColumns, lay_out, lay_out_by
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

    def take(self, parts: list[list[npt.NDArray[Any]]]) -> None:
        """Go on with changes that were collected elsewhere."""
        self._keep()
        self._told += parts

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
        found = self._found()
        n, tally = int(found.length[0]), np.zeros(N_TALLIES, np.int64)
        if not n:
            return AnswerRows.none(shape)
        columns = self._laid_out(found, at, n, tally)
        found.length[0] = 0
        slot, item, op, score, rank, when, first, turn = columns
        *by_op, n_first = tally.tolist()
        if self.earlier is not None and n_first:
            n_first = self.earlier.note(turn, item, first, n_first)
        self.tally = {name: count for name, count in zip(OP_NAMES, by_op, strict=True) if count} | {"delivery": n_first}
        answered = (
            self.rows.roster.ids.named(slot),
            items.named(item - base if base else item),
            Coded(op, OP_NAMES),
            Numbers(score),
            Ranks(rank),
            Numbers(when),
            Numbers(first),
        )
        return AnswerRows(shape, answered, n)

    def _found(self) -> FoundChanges:
        """All that was told since the last answer, in the order in which it was."""
        if not self._told:
            return self.told
        if self.told.length[0]:
            self._keep()
        parts, self._told = self._told, []
        columns = parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        return FoundChanges(np.array([len(columns[0])]), *columns)

    def _laid_out(self, found: FoundChanges, at: Int64s, n: int, tally: Int64s) -> ChangeColumns:
        """The n changes that were found, by step and then by turn, counted by kind."""
        turns, columns = self.rows.roster.turn, blank_columns(n)
        sorted_by = lay_out(found, at, turns, columns, tally)
        # Stable: within a step and a subscription the order in which the kernel told it stays.
        if sorted_by != IN_ORDER:
            keys = found.step[:n]
            if sorted_by != IN_TURN:
                keys = keys * (int(columns.turn.max()) + 1) + columns.turn
            lay_out_by(order_by(keys), found, at, turns, columns)
        return columns


def blank_columns(n: int) -> ChangeColumns:
    """Room for n changes."""
    return ChangeColumns(
        slot=np.empty(n, np.int64),
        item=np.empty(n, np.int64),
        op=np.empty(n, np.int8),
        score=np.empty(n),
        rank=np.empty(n, np.int32),
        at=np.empty(n, np.int64),
        first=np.empty(n, np.bool_),
        turn=np.empty(n, np.int64),
    )
