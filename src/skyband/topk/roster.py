"""The roster: who subscribes, in which slot, and in whose turn changes are told."""

from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.growth import BY_A_QUARTER, grown
from skyband.kernels.idmap import IdMap
from skyband.kernels.ragged import places_of, ranks_of
from skyband.kernels.slots import Slots
from skyband.table import empty_table


class Pool(NamedTuple):
    """Rows of entries in a pool: row i has `n[i]` entries from `start[i]` on."""

    start: Int64s
    n: Int64s
    item: Int64s
    score: Floats


class Deliveries(NamedTuple):
    """What was delivered to whom: pairs of slot and item."""

    slot: Int64s
    item: Int64s

    def joined(self, other: Self) -> Self:
        """Those of both."""
        return type(self)(np.concatenate([self.slot, other.slot]), np.concatenate([self.item, other.item]))


class Roster:
    """Subscriptions' slots and ids. A turn counts subscriptions and is never given again, unlike a slot."""

    def __init__(self) -> None:
        self.slots = Slots()
        self.ids = IdMap()
        self.turn = np.zeros(0, np.int64)
        self._n_turns = 0

    @property
    def n_bytes(self) -> int:
        return self.ids.n_bytes + self.turn.nbytes

    def in_turn(self) -> Int64s:
        """The slots in use, in the order they subscribed."""
        slots = np.flatnonzero(self.slots.used)
        return slots[np.argsort(self.turn[slots], kind="stable")]

    def enlist(self, ids: pa.Array, kinds: Int8s) -> Int64s:
        """Slots for new subscriptions."""
        slots = self.slots.take(kinds)
        self.turn = grown(self.turn, self.slots.n_slots, share=BY_A_QUARTER)
        self.ids.add(ids, slots)
        self.turn[slots] = self._n_turns + np.arange(len(slots))
        self._n_turns += len(slots)
        return slots

    def dismiss(self, slots: Int64s) -> None:
        """Give up slots."""
        self.ids.remove(slots)
        self.slots.give(slots)

    def ranking(self, schema: pa.Schema, slots: Int64s, tops: Pool, items: IdMap, base: int) -> pa.Table:
        """The tops of these slots, each `n` entries of the pool from `start` on."""
        at = places_of(tops.start, tops.n)
        if not len(at):
            return empty_table(schema)
        columns = [
            self.ids.ids(np.repeat(slots, tops.n)),
            pa.array(ranks_of(tops.n) + 1, pa.int32()),
            items.ids(tops.item[at] - base),
            pa.array(tops.score[at]),
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def check(self) -> None:
        """Assert the invariants."""
        self.slots.check()
        self.ids.check()
