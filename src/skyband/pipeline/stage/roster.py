"""The roster: which subscriptions there are, with their zones and turns, in arrays."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Int8s, Int64s
from skyband.kernels.growth import grown
from skyband.pipeline.kernels.roster import (
    NOBODY,
    SUBSCRIBE,
    CommandRows,
    Ruling,
    ZoneMembers,
    judge_commands,
    repeat_commands,
)
from skyband.pipeline.stage.named_slots import NamedSlots


class RosterRows(NamedTuple):
    """All that is registered, in the order of turns."""

    ids: pa.Array
    zones: Int64s
    turns: Int64s


class ZoneRoster:
    """The subscriptions that are registered; a turn is a number that grows from one to the next."""

    def __init__(self, kind: pa.DataType) -> None:
        self.next_turn = 0
        self._kind = kind
        self._names = NamedSlots()
        self._members = ZoneMembers(np.zeros(0, np.int32), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self._names)

    def judge(self, op: Int8s, ids: pa.Array, zones: Int64s, is_barred: Bools) -> Ruling:
        """Do what commands ask for, in their order, where it can be done; `zones` are for those that subscribe."""
        slots = self._slots_of(op, ids)
        n = len(op)
        ruling = Ruling(np.zeros(n, np.int8), np.zeros(n, np.int64), np.zeros(n, np.int64))
        self.next_turn = judge_commands(CommandRows(op, slots, zones, is_barred), self._members, self.next_turn, ruling)
        self._give_up(slots)
        return ruling

    def repeat(self, op: Int8s, ids: pa.Array, zones: Int64s, turns: Int64s) -> None:
        """Do what commands that were fine asked for, with the zones and turns that they had."""
        if len(op):
            slots = self._slots_of(op, ids)
            repeat_commands(op, slots, zones, turns, self._members)
            self.next_turn = max(self.next_turn, int(turns.max()) + 1)
            self._give_up(slots)

    def _slots_of(self, op: Int8s, ids: pa.Array) -> Int64s:
        """The slots of ids; those of new ones are still nobody's."""
        slots = self._names.find(ids)
        coming = np.flatnonzero((slots < 0) & (op == SUBSCRIBE))
        if not len(coming):
            return slots
        fresh = self._names.add(pc.unique(ids.take(pa.array(coming))))
        n_slots = self._names.n_slots
        self._members = ZoneMembers(grown(self._members.zone, n_slots), grown(self._members.turn, n_slots))
        self._members.zone[fresh] = NOBODY
        return self._names.find(ids)

    def _give_up(self, slots: Int64s) -> None:
        """Take the slots back that are nobody's."""
        known = np.unique(slots[slots >= 0])
        self._names.remove(known[self._members.zone[known] == NOBODY])

    def kept(self) -> RosterRows:
        """All that is registered."""
        slots = self._names.used()
        slots = slots[np.argsort(self._members.turn[slots], kind="stable")]
        zones = self._members.zone[slots].astype(np.int64)
        return RosterRows(self._names.ids(slots, self._kind), zones, self._members.turn[slots])

    def find(self, ids: pa.Array) -> Int64s:
        """The turn of each id, -1 for one that is not registered."""
        slots = self._names.find(ids)
        return np.where(slots < 0, -1, self._members.turn[slots]) if len(self) else np.full(len(ids), -1, np.int64)

    def check(self) -> None:
        """Assert the invariants."""
        self._names.check()
        slots = self._names.used()
        assert (self._members.zone[slots] != NOBODY).all()
        assert len(np.unique(self._members.turn[slots])) == len(slots)
        assert (self._members.turn[slots] < self.next_turn).all()
