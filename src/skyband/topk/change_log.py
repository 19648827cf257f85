"""The change log: the changes that kernels find, collected and made a table."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.array import Int64s
from skyband.kernels.idmap import IdMap
from skyband.kernels.order import order_by
from skyband.kernels.room import ample, initial
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import FoundChanges, make_told
from skyband.topk.roster import Roster

OPS = pa.array(["enter", "leave", "move"])


class Members(Protocol):
    """Rows that can say who leaves when a subscription is withdrawn."""

    @property
    def roster(self) -> Roster: ...

    def n_members(self, slots: Int64s) -> int:
        """How many entries these slots hold that were told as members, at most."""

    def leave(self, slots: Int64s, told: FoundChanges) -> None:
        """Tell that all of them leave, slot by slot as given and best first."""


class ChangeLog:
    """Collects the changes that kernels find, and makes a table of them.

    With `earlier`, every delivery is noted there, and one that was noted before is no delivery.
    """

    def __init__(self, rows: Members, room: int = 4096, earlier: EarlierDeliveries | None = None) -> None:
        self.rows = rows
        self.earlier = earlier
        self.told = make_told(initial(room))
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

    def table(self, schema: pa.Schema, items: IdMap, base: int, at: Int64s) -> pa.Table:
        """Everything told since the last table, by step and then by subscription; `at` is the time of each step."""
        self._keep()
        columns = [np.concatenate(parts) for parts in zip(*self._told, strict=True)]
        self._told.clear()
        if not len(columns[0]):
            return schema.empty_table()
        # Stable: within a step and a subscription the order in which the kernel told it stays.
        turn = self.rows.roster.turn[columns[1]]
        order = order_by(columns[0] * (int(turn.max()) + 1) + turn)
        step, slot, item, op, score, rank, first = (column[order] for column in columns)
        if self.earlier is not None and first.any():
            first[first] = self.earlier.take(turn[order][first], item[first])
        return pa.Table.from_arrays(
            [
                self.rows.roster.ids.ids(slot),
                items.ids(item - base),
                OPS.take(pa.array(op)),
                pa.array(score),
                pa.array(rank, pa.int32(), mask=rank == 0),
                pa.array(at[step], pa.int64()),
                pa.array(first),
            ],
            schema=schema,
        )
