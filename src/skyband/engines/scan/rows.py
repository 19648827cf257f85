"""The rows of a Scan: one buffer a subscription in a shared pool, and what is told from them."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.buffer import DELIVERED, ENTER, Buffers, find_item, leave_all, make_ghosts, make_told
from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import Slots, grown

Int64s = npt.NDArray[np.int64]
OPS = pa.array(["enter", "leave", "move"])


class Reserve(NamedTuple):
    """How many candidates a row holds: `times` as many as its k, and `more`."""

    times: int = 2
    more: int = 8


DEFAULT_RESERVE = Reserve()


class Rows:
    """Subscriptions' slots, ids and buffers."""

    def __init__(self, reserve: Reserve = DEFAULT_RESERVE) -> None:
        if reserve.times < 1 or reserve.more < 0:
            raise ValueError(f"A row holds at least its k candidates, which {tuple(reserve)} does not allow for.")
        self.reserve = reserve
        self.slots = Slots()
        self.ids = IdMap()
        self.turn = np.zeros(0, np.int64)
        by_slot: list[npt.NDArray[Any]] = [np.zeros(0, np.int64) for _ in range(5)]
        by_slot += [np.zeros(0, np.bool_), np.zeros(0)]
        pool: list[npt.NDArray[Any]] = [np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.uint8)]
        self.buffers = Buffers._make([*by_slot, *pool])
        self._n_pool = 0
        self._n_turns = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)

    @property
    def n_bytes(self) -> int:
        return self.ids.n_bytes + self.turn.nbytes + sum(array.nbytes for array in self.buffers)

    def in_turn(self) -> Int64s:
        """The slots in use, in the order they subscribed."""
        slots = np.flatnonzero(self.slots.used)
        return slots[np.argsort(self.turn[slots], kind="stable")]

    def add(self, ids: pa.Array, kinds: npt.NDArray[np.int8], ks: Int64s, signs: npt.NDArray[np.float64]) -> Int64s:
        """Slots with empty rows for new subscriptions."""
        slots = self.slots.take(kinds)
        self.turn = grown(self.turn, self.slots.n_slots)
        by_slot = {name: grown(getattr(self.buffers, name), self.slots.n_slots) for name in Buffers._fields[:7]}
        self.buffers = self.buffers._replace(**by_slot)
        self.ids.add(ids, slots)
        self.turn[slots] = self._n_turns + np.arange(len(slots))
        self._n_turns += len(slots)
        self.buffers.k[slots], self.buffers.sign[slots] = ks, signs
        self.buffers.capacity[slots] = self.reserve.times * ks + self.reserve.more
        self.buffers.size[slots] = self.buffers.departed[slots] = 0
        self.buffers.whole[slots] = False
        self.buffers.start[slots] = self._allocate(self.buffers.capacity[slots] + ks)
        return slots

    def _allocate(self, lengths: Int64s) -> Int64s:
        starts = np.empty(len(lengths), np.int64)
        fresh = np.ones(len(lengths), np.bool_)
        for length in np.unique(lengths):
            free = self._free[int(length)]
            reused = np.flatnonzero(lengths == length)[: len(free)]
            for i in reused:
                starts[i] = free.pop()
            fresh[reused] = False
        ends = self._n_pool + np.cumsum(lengths[fresh])
        starts[fresh] = ends - lengths[fresh]
        self._n_pool = int(ends[-1]) if len(ends) else self._n_pool
        pool: dict[str, Any] = {name: grown(getattr(self.buffers, name), self._n_pool) for name in Buffers._fields[7:]}
        self.buffers = self.buffers._replace(**pool)
        return starts

    def remove(self, slots: Int64s) -> None:
        """Give up slots and their rows."""
        for slot in slots:
            length = int(self.buffers.capacity[slot] + self.buffers.k[slot])
            self._free[length].append(int(self.buffers.start[slot]))
        self.buffers.k[slots] = self.buffers.capacity[slots] = self.buffers.size[slots] = 0
        self.ids.remove(slots)
        self.slots.give(slots)

    def ranking(self, schema: pa.Schema, slots: Int64s, items: IdMap, base: int) -> pa.Table:
        """The first k entries of these rows."""
        n_top = np.minimum(self.buffers.k[slots], self.buffers.size[slots])
        ends = np.cumsum(n_top)
        rank = np.arange(int(n_top.sum())) - np.repeat(ends - n_top, n_top)
        at = np.repeat(self.buffers.start[slots], n_top) + rank
        if not len(at):
            return schema.empty_table()
        columns = [
            self.ids.ids(np.repeat(slots, n_top)),
            pa.array(rank + 1, pa.int32()),
            items.ids(self.buffers.item[at] - base),
            pa.array(self.buffers.score[at]),
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def delivered(self, slots: Int64s) -> list[tuple[int, int]]:
        """What rows hold that was delivered, as pairs of slot and item."""
        pairs = []
        for slot in slots.tolist():
            start = int(self.buffers.start[slot])
            row = slice(start, start + int(self.buffers.size[slot]))
            told = self.buffers.mark[row] & DELIVERED != 0
            pairs += [(slot, item) for item in self.buffers.item[row][told].tolist()]
        return pairs

    def mark_delivered(self, slot: int, item: int) -> bool:
        """Note that an item was delivered; says whether the row holds it."""
        position = find_item(self.buffers, slot, item)
        if position >= 0:
            self.buffers.mark[self.buffers.start[slot] + position] |= np.uint8(DELIVERED)
        return bool(position >= 0)

    def check(self) -> None:
        """Assert the invariants that rows have among themselves."""
        self.slots.check()
        self.ids.check()
        slots = self.in_turn()
        taken = np.zeros(self._n_pool, np.int64)
        for slot in slots:
            start = int(self.buffers.start[slot])
            taken[start : start + int(self.buffers.capacity[slot] + self.buffers.k[slot])] += 1
        assert (taken <= 1).all()


class Telling:
    """Collects the changes that kernels tell, and makes the table of them.

    It also remembers what was delivered to whom and is in no row any more, so that nothing is delivered twice.
    Subscriptions are remembered by their turn, which is never given again, unlike their slot.
    """

    def __init__(self, rows: Rows, room: int = 4096) -> None:
        self.rows = rows
        self.told = make_told(room)
        self.ghosts = make_ghosts(room)
        self._told: list[list[npt.NDArray[Any]]] = []
        # Item -> the turns of those it was delivered to; and those of this verb -> the step in which the row lost it.
        self._haunted: defaultdict[int, set[int]] = defaultdict(set)
        self._fresh: dict[tuple[int, int], int] = {}
        self._reborn: dict[int, list[int]] = {}

    def reserve(self, n_changes: int, n_ghosts: int) -> None:
        """Make sure that there is room for this many more."""
        if int(self.told.length[0]) + n_changes > len(self.told.step):
            self._keep()
            if n_changes > len(self.told.step):
                self.told = make_told(2 * n_changes)
        if int(self.ghosts.length[0]) + n_ghosts > len(self.ghosts.step):
            self._keep()
            if n_ghosts > len(self.ghosts.step):
                self.ghosts = make_ghosts(2 * n_ghosts)

    def drain(self) -> None:
        """Take what was told and make room; more room if there was not enough for anything."""
        if int(self.told.length[0]) == 0 and int(self.ghosts.length[0]) == 0:
            self.reserve(2 * len(self.told.step), 2 * len(self.ghosts.step))
        else:
            self._keep()

    def _keep(self) -> None:
        n, n_ghosts = int(self.told.length[0]), int(self.ghosts.length[0])
        columns: list[npt.NDArray[Any]] = [array[:n].copy() for array in self.told[1:]]
        turns = self.rows.turn[self.ghosts.slot[:n_ghosts]].tolist()
        pairs = zip(self.ghosts.item[:n_ghosts].tolist(), turns, strict=True)
        for pair, step in zip(pairs, self.ghosts.step[:n_ghosts].tolist(), strict=True):
            self._fresh.setdefault(pair, step)
        if self._haunted or self._fresh:
            self._correct(columns)
        self._told.append(columns)
        self.told.length[0] = self.ghosts.length[0] = 0

    def _correct(self, columns: list[npt.NDArray[Any]]) -> None:
        """What was delivered, left its row and came back is not delivered again, unless it was born again."""
        step, slot, item, op, _, _, first = columns
        for i in np.flatnonzero((op == ENTER) & first).tolist():
            lost = self._lost(int(item[i]), int(self.rows.turn[slot[i]]))
            births = self._reborn.get(int(item[i]), ())
            if lost is not None and lost <= step[i] and not any(lost <= birth <= step[i] for birth in births):
                first[i] = False

    def _lost(self, item: int, turn: int) -> int | None:
        """The step in which a row lost a delivered item, -1 if that was before this verb."""
        return -1 if turn in self._haunted.get(item, ()) else self._fresh.get((item, turn))

    def remember(self, slot: int, item: int) -> None:
        """Note a delivery that no row holds."""
        self._haunted[item].add(int(self.rows.turn[slot]))

    def bear_again(self, item: int, step: int) -> None:
        """Note that an item ended in this step: what comes under its name later is new to everyone."""
        self._reborn.setdefault(item, []).append(step)

    def haunted(self) -> list[tuple[int, int]]:
        """Deliveries that no row holds, as pairs of slot and item."""
        slots = self.rows.in_turn()
        slot_of = dict(zip(self.rows.turn[slots].tolist(), slots.tolist(), strict=True))
        pairs = ((slot_of.get(turn), item) for item, turns in self._haunted.items() for turn in turns)
        return sorted((slot, item) for slot, item in pairs if slot is not None)

    def forget_items(self, below: int) -> None:
        """Forget deliveries of items that are gone."""
        for item in [item for item in self._haunted if item < below]:
            del self._haunted[item]

    def leave(self, slots: Int64s) -> None:
        """Tell that the members of these slots leave, slot by slot as given; the slots are about to be removed."""
        self.reserve(int(self.rows.buffers.k[slots].sum()), 0)
        leave_all(slots, self.rows.buffers, self.told)
        self._forget_turns(self.rows.turn[slots])
        # Changes are told by turn, and these in the order of the request.
        self.rows.turn[slots] = np.arange(len(slots))

    def _forget_turns(self, turns: Int64s) -> None:
        """Forget deliveries to subscriptions that are gone."""
        gone = set(turns.tolist())
        for haunted in self._haunted.values() if gone else ():
            haunted -= gone

    def _end_verb(self) -> None:
        for item in self._reborn:
            self._haunted.pop(item, None)
        for (item, turn), step in self._fresh.items():
            if step > max(self._reborn.get(item, (-1,))):
                self._haunted[item].add(turn)
        self._fresh.clear()
        self._reborn.clear()

    def discard(self) -> None:
        """Throw away what was told."""
        self.told.length[0] = self.ghosts.length[0] = 0
        self._told.clear()

    def table(self, schema: pa.Schema, items: IdMap, base: int, at: Int64s) -> pa.Table:
        """Everything told since the last table, by step and then by subscription; `at` is the time of each step."""
        self._keep()
        columns = [np.concatenate(parts) for parts in zip(*self._told, strict=True)]
        self._told.clear()
        self._end_verb()
        if not len(columns[0]):
            return schema.empty_table()
        # Stable: within a step and a subscription the order in which the kernel told it stays.
        order = np.lexsort((self.rows.turn[columns[1]], columns[0]))
        step, slot, item, op, score, rank, first = (column[order] for column in columns)
        return pa.Table.from_arrays(
            [
                self.rows.ids.ids(slot),
                items.ids(item - base),
                OPS.take(pa.array(op)),
                pa.array(score),
                pa.array(rank, pa.int32(), mask=rank == 0),
                pa.array(at[step], pa.int64()),
                pa.array(first),
            ],
            schema=schema,
        )
