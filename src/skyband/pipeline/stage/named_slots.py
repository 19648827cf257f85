"""Ids at slots of their own, so that arrays can hold what is known of each."""

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Int64s
from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import Slots


class NamedSlots:
    """Distinct ids of one type, each at a slot that is given out when it comes and taken back when it goes."""

    def __init__(self) -> None:
        self._map = IdMap()
        self._slots = Slots()

    def __len__(self) -> int:
        return self._map.size

    @property
    def n_slots(self) -> int:
        """How long an array by slot has to be."""
        return self._slots.n_slots

    def find(self, ids: pa.Array) -> Int64s:
        """The slot of each id, -1 for an unknown one."""
        return self._map.find(_alone(ids))

    def add(self, ids: pa.Array) -> Int64s:
        """Slots for new ids, each of which is there once."""
        slots = self._slots.take(np.zeros(len(ids), np.int8))
        self._map.add(_alone(ids), slots)
        return slots

    def remove(self, slots: Int64s) -> None:
        """Forget the ids at these slots, which differ."""
        if len(slots):
            self._map.remove(slots)
            self._slots.give(slots)

    def used(self) -> Int64s:
        """The slots that have an id."""
        return np.flatnonzero(self._slots.used)

    def ids(self, slots: Int64s, kind: pa.DataType) -> pa.Array:
        """The ids at these slots."""
        return self._map.ids(slots) if len(slots) else pa.array([], kind)

    def check(self) -> None:
        """Assert the invariants."""
        self._map.check()
        self._slots.check()
        assert int(self._slots.used.sum()) == len(self)


def _alone(ids: pa.Array) -> pa.Array:
    """Texts in memory of their own: a map copies all that a slice of a longer array is cut from."""
    return ids if pa.types.is_integer(ids.type) else ids.take(pa.array(np.arange(len(ids))))
