"""The rows of the skeleton's engines: one band of candidates a subscription, in a shared pool."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Floats, Int8s, Int32s, Int64s
from skyband.kernels.growth import BY_A_QUARTER, blank, grown, resized
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
    deal,
    free_rows,
    lay_out_rows,
    leave_rows,
    mark_rows,
)
from skyband.topk.kernels.buffer import FoundChanges
from skyband.topk.roster import Deliveries, Pool, Roster

# One over the share by which the pool is longer than what it holds when it is made.
SPARE = 16


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
        # An arena for each thread that has ever had rows, the first one for whatever is done in one thread alone.
        self._frees = np.full((1, N_CLASSES), -1, np.int64)
        self._ends = np.array([[0, initial(1024)]], np.int64)
        self._n_at_work = 1
        self.bands = Bands(
            np.zeros((0, N_HEAD), np.int64),
            np.zeros((0, N_GAUGE)),
            np.zeros(initial(1024)),
            np.zeros(initial(1024), np.int64),
            np.zeros(initial(1024), np.int32),
            self._frees[0],
            self._ends[0],
        )

    @property
    def n_bytes(self) -> int:
        return self.roster.n_bytes + sum(array.nbytes for array in self.bands)

    def share(self, n: int) -> None:
        """Have arenas for so many threads, which are those at work from now on."""
        self._n_at_work, n_more = n, n - len(self._ends)
        if n_more > 0:
            self._frees = np.pad(self._frees, ((0, n_more), (0, 0)), constant_values=-1)
            self._ends = np.pad(self._ends, ((0, n_more), (0, 0)))
            self.bands = self.bands._replace(free=self._frees[0], end=self._ends[0])

    def bands_in(self, arena: int) -> Bands:
        """The rows for a thread that makes its rooms in this arena."""
        return self.bands._replace(free=self._frees[arena], end=self._ends[arena])

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
            head, gauge = grown(head, n_slots, share=BY_A_QUARTER), grown(gauge, n_slots, share=BY_A_QUARTER)
            self.bands = self.bands._replace(head=head, gauge=gauge)
        head[slots, K], head[slots, BOUND_ITEM] = ks, -1
        gauge[slots, SIGN], gauge[slots, BOUND] = signs, np.inf
        return slots

    def has_room(self, n: int, arena: int) -> bool:
        """Whether an arena has room for so many more entries."""
        end, limit = self._ends[arena].tolist()
        return bool(end + n <= limit)

    def make_room(self, n: int, arena: int = 0) -> None:
        """Room in an arena for so many more entries, and its share of the rooms that were given up in all of them."""
        if self.has_room(n, arena):
            return
        rooms = _rooms_for(self.bands.head[:, SIZE])
        if 5 * int(rooms.sum()) <= 4 * self._n_used():
            self._lay_out(rooms, n)
            return
        n_got = deal(self._frees, self.bands.item, self._n_at_work, arena) if len(self._ends) > 1 else 0
        for idle in range(self._n_at_work, len(self._ends)):
            if self.has_room(n, idle):
                self._ends[[arena, idle]] = self._ends[[idle, arena]]
                return
        end, limit = self._ends[arena].tolist()
        # An arena that does not end where the pool does goes on there.
        used = end if limit == len(self.bands.score) else len(self.bands.score)
        # The pool is most of the memory, and half of a doubled one would lie idle.
        more = used // (SPARE * self._n_at_work)
        length = used + ample(n, n if n_got >= 4 * n else more)
        self._ends[arena] = used, length
        self.bands = self.bands._replace(
            score=resized(self.bands.score[:used], length),
            item=resized(self.bands.item[:used], length),
            state=resized(self.bands.state[:used], length),
        )

    def _n_used(self) -> int:
        """How much of the pool is not at the end of an arena, where it is free."""
        return len(self.bands.score) - int((self._ends[:, 1] - self._ends[:, 0]).sum())

    def _lay_out(self, rooms: Int64s, n: int) -> None:
        """Lay all rows end to end in a new pool, in these rooms: what was given up, or is too wide, is free again.

        Behind them each arena at work has room for n more entries at least, and for no fewer than one of them had.
        """
        n_kept, at_work = int(rooms.sum()), np.arange(self._n_at_work)
        had = int((self._ends[at_work, 1] - self._ends[at_work, 0]).max())
        spare = max(had, ample(n, n_kept // (SPARE * self._n_at_work)))
        length = n_kept + spare * self._n_at_work
        into = self.bands._replace(
            score=blank(length),
            item=blank(length, dtype=np.int64),
            state=blank(length, dtype=np.int32),
        )
        self._frees[:], self._ends[:] = -1, 0
        lay_out_rows(self.bands, rooms, into)
        self._ends[at_work] = n_kept + spare * np.column_stack([at_work, at_work + 1])
        self.bands = into

    def remove(self, slots: Int64s) -> None:
        """Give up slots and their rows."""
        for arena, some in enumerate(np.array_split(slots, self._n_at_work)):
            free_rows(some, self.bands_in(arena))
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
        room = _rooms_for(ends.size)
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
        for end, limit in self._ends.tolist():
            assert end <= limit <= len(taken)
            assert not taken[end:limit].any()


def _rooms_for(sizes: Int64s) -> Int64s:
    """The rooms that rows of these sizes fit into, none for an empty one."""
    rooms: Int64s = np.where(sizes > 0, ROOMS[np.searchsorted(ROOMS, sizes)], 0)
    return rooms
