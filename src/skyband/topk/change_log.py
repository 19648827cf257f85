"""The change log: the changes that kernels find, collected and made a table."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.array import Bools, Int8s, Int32s, Int64s
from skyband.kernels.idmap import IdMap
from skyband.kernels.order import is_ascending, order_by
from skyband.kernels.room import ample, initial
from skyband.table import empty_table
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import FoundChanges, make_told
from skyband.topk.roster import Roster

OP_NAMES = ("enter", "leave", "move")
OPS = pa.array(OP_NAMES)


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
        # How many changes of each kind the last table with any of them has, and how many deliveries.
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

    def table(self, schema: pa.Schema, items: IdMap, base: int, at: Int64s) -> pa.Table:
        """Everything told since the last table, by step and then by subscription; `at` is the time of each step."""
        self._keep()
        parts, self._told = self._told, []
        columns = parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        if not len(columns[0]):
            return empty_table(schema)
        turn = self.rows.roster.turn[columns[1]]
        # Stable: within a step and a subscription the order in which the kernel told it stays.
        keys = turn if len(at) == 1 else columns[0] * (int(turn.max()) + 1) + turn
        if not is_ascending(keys):
            order = order_by(keys)
            columns, turn = [column[order] for column in columns], turn[order]
        step, slot, item, op, score, rank, first = columns
        if self.earlier is not None and first.any():
            first[first] = self.earlier.take(turn[first], item[first])
        self.tally = _counted(op, first)
        return pa.Table.from_arrays(
            [
                self.rows.roster.ids.ids(slot),
                items.ids(item - base),
                OPS.take(pa.array(op)),
                pa.array(score),
                _ranks(rank),
                pa.array(at[step]),
                pa.array(first),
            ],
            schema=schema,
        )


def _counted(op: Int8s, first: Bools) -> dict[str, int]:
    n_by_op = zip(OP_NAMES, np.bincount(op, minlength=len(OP_NAMES)).tolist(), strict=True)
    return {name: n for name, n in n_by_op if n} | {"delivery": int(np.count_nonzero(first))}


def _ranks(ranks: Int32s) -> pa.Array:
    """Ranks as Arrow has them, null in place of 0."""
    valid = np.packbits(ranks != 0, bitorder="little")
    return pa.Array.from_buffers(pa.int32(), len(ranks), [pa.py_buffer(valid), pa.py_buffer(ranks)])
