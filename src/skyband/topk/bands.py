"""The rows of the skeleton's engines: one band of candidates a subscription, in a shared pool."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Floats, Int8s, Int32s, Int64s
from skyband.kernels.growth import grown, resized
from skyband.kernels.idmap import IdMap
from skyband.kernels.ragged import places_of, starts_of
from skyband.kernels.room import ample, initial
from skyband.topk.kernels.band import (
    BOUND,
    BOUND_ITEM,
    DELIVERED,
    MEMBER,
    N_CLASSES,
    N_GAUGE,
    N_HEAD,
    ROOM,
    ROOMS,
    SIGN,
    SIZE,
    START,
    Bands,
    K,
    Recency,
    check_band,
    free_rows,
    leave_rows,
    mark_rows,
)
from skyband.topk.kernels.buffer import FoundChanges
from skyband.topk.roster import Deliveries, Pool, Roster


class RowEnds(NamedTuple):
    """How many entries rows have, and where they are bound."""

    size: Int64s
    bound: Floats
    bound_item: Int64s


class Entries(NamedTuple):
    """The entries of rows, laid end to end."""

    item: Int64s
    score: Floats
    state: Int32s


class BandRows:
    """Subscriptions and their bands."""

    def __init__(self) -> None:
        self.roster = Roster()
        self.bands = Bands(
            np.zeros((0, N_HEAD), np.int64),
            np.zeros((0, N_GAUGE)),
            np.zeros(initial(1024)),
            np.zeros(initial(1024), np.int64),
            np.zeros(initial(1024), np.int32),
            np.full(N_CLASSES, -1, np.int64),
            np.zeros(1, np.int64),
        )

    @property
    def n_bytes(self) -> int:
        return self.roster.n_bytes + sum(array.nbytes for array in self.bands)

    @property
    def n_entries(self) -> int:
        """How many candidates all rows hold together."""
        return int(self.bands.head[:, SIZE].sum())

    def add(self, ids: pa.Array, kinds: Int8s, ks: Int64s, signs: Floats) -> Int64s:
        """Slots with empty rows for new subscriptions."""
        slots = self.roster.enlist(ids, kinds)
        n_slots = self.roster.slots.n_slots
        head, gauge = self.bands.head, self.bands.gauge
        if n_slots > len(head):
            head, gauge = grown(head, n_slots), grown(gauge, n_slots)
            self.bands = self.bands._replace(head=head, gauge=gauge)
        head[slots, K], head[slots, BOUND_ITEM] = ks, -1
        gauge[slots, SIGN], gauge[slots, BOUND] = signs, np.inf
        return slots

    def make_room(self, n: int) -> None:
        """Room in the pool for so many more entries."""
        used = int(self.bands.end[0])
        if used + n <= len(self.bands.score):
            return
        # By a quarter: the pool is most of the memory, and half of a doubled one would lie idle.
        length = used + ample(n, used // 4)
        self.bands = self.bands._replace(
            score=resized(self.bands.score[:used], length),
            item=resized(self.bands.item[:used], length),
            state=resized(self.bands.state[:used], length),
        )

    def remove(self, slots: Int64s) -> None:
        """Give up slots and their rows."""
        free_rows(slots, self.bands)
        self.bands.head[slots, K] = 0
        self.roster.dismiss(slots)

    def ks(self, slots: Int64s) -> Int64s:
        ks: Int64s = self.bands.head[slots, K]
        return ks

    def signs(self, slots: Int64s) -> Floats:
        signs: Floats = self.bands.gauge[slots, SIGN]
        return signs

    def n_members(self, slots: Int64s) -> int:
        return int(np.minimum(self.bands.head[slots, K], self.bands.head[slots, SIZE]).sum())

    def leave(self, slots: Int64s, told: FoundChanges) -> None:
        leave_rows(slots, self.bands, told)

    def pool(self, slots: Int64s) -> Pool:
        """All entries of these rows."""
        bands = self.bands
        return Pool(bands.head[slots, START], bands.head[slots, SIZE], bands.item, bands.score)

    def ranking(self, schema: pa.Schema, slots: Int64s, items: IdMap, base: int) -> pa.Table:
        """The first k entries of these rows."""
        rows = self.pool(slots)
        tops = rows._replace(n=np.minimum(self.bands.head[slots, K], rows.n))
        return self.roster.ranking(schema, slots, tops, items, base)

    def _entries(self, slots: Int64s) -> tuple[Int64s, Int64s]:
        """Where the entries of these rows lie in the pool, and whose they are."""
        n = self.bands.head[slots, SIZE]
        return places_of(self.bands.head[slots, START], n), np.repeat(slots, n)

    def delivered(self, slots: Int64s) -> Deliveries:
        """What rows hold below their tops that was delivered."""
        at, slot = self._entries(slots)
        told = self.bands.state[at] & (DELIVERED | MEMBER) == DELIVERED
        return Deliveries(slot[told], self.bands.item[at[told]])

    def mark_delivered(self, delivered: Deliveries) -> Bools:
        """Note what was delivered; says which of it rows hold."""
        held = np.zeros(len(delivered.slot), np.bool_)
        mark_rows(self.bands, *delivered, held)
        return held

    def save(self, slots: Int64s) -> tuple[RowEnds, Entries]:
        """The rows of these slots, one after the other."""
        bands, (at, _) = self.bands, self._entries(slots)
        ends = RowEnds(bands.head[slots, SIZE], bands.gauge[slots, BOUND], bands.head[slots, BOUND_ITEM])
        return ends, Entries(bands.item[at], bands.score[at], bands.state[at])

    def load(self, slots: Int64s, ends: RowEnds, entries: Entries) -> None:
        """Give new slots the rows that were saved."""
        room = np.where(ends.size > 0, ROOMS[np.searchsorted(ROOMS, ends.size)], 0)
        self.make_room(int(room.sum()))
        bands = self.bands
        start = bands.end[0] + starts_of(room)
        bands.end[0] += room.sum()
        for column, values in ((START, start), (ROOM, room), (SIZE, ends.size), (BOUND_ITEM, ends.bound_item)):
            bands.head[slots, column] = values
        bands.gauge[slots, BOUND] = ends.bound
        at, _ = self._entries(slots)
        bands.item[at], bands.score[at], bands.state[at] = entries

    def check(self, recency: Recency, dominance: bool) -> None:
        """Assert the invariants of each row, and that no two overlap."""
        self.roster.check()
        taken = np.zeros(len(self.bands.score), np.int64)
        for slot in self.roster.in_turn().tolist():
            start = int(self.bands.head[slot, START])
            taken[start : start + int(self.bands.head[slot, ROOM])] += 1
            check_band(self.bands, slot, recency, dominance or self.bands.gauge[slot, SIGN] == 0.0)
        assert (taken <= 1).all()
        assert not taken[int(self.bands.end[0]) :].any()
