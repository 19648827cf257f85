"""A change log for rows that lose what they delivered: it remembers that, so that nothing is delivered twice."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Bools, Int64s
from skyband.kernels.idmap import IdMap
from skyband.kernels.room import ample, initial
from skyband.table.answer_rows import AnswerRows, AnswerShape
from skyband.topk.change_log import ChangeLog, Members
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import ENTER, FoundChanges, make_ghosts
from skyband.topk.roster import Deliveries


class DeliveryMemory(ChangeLog):
    """Remembers what was delivered to whom and is in no row any more.

    Subscriptions are remembered by their turn, which is never given again, unlike their slot. An item that ends and is
    born again within a verb has several lives there, numbered from 0, and what is lost in one is no loss in the next.
    """

    def __init__(self, rows: Members, room: int = 4096, earlier: EarlierDeliveries | None = None) -> None:
        super().__init__(rows, room, earlier)
        self.ghosts = make_ghosts(initial(room))
        # Item -> the turns of those it was delivered to before this verb, in the life that it had then.
        self._lost: defaultdict[int, set[int]] = defaultdict(set)
        # Item, turn and life -> the first step of this verb in which the row lost it; item -> the steps that ended it.
        self._fresh: dict[tuple[int, int, int], int] = {}
        self._ends: dict[int, list[int]] = {}

    def reserve(self, n_changes: int, n_ghosts: int = 0) -> None:
        """Make sure that there is room for this many more."""
        super().reserve(n_changes)
        if int(self.ghosts.length[0]) + n_ghosts > len(self.ghosts.step):
            self._keep()
            if n_ghosts > len(self.ghosts.step):
                self.ghosts = make_ghosts(ample(n_ghosts, 2 * n_ghosts))

    def take_all(self, parts: list[list[npt.NDArray[Any]]], lost: list[list[npt.NDArray[Any]]]) -> None:
        """Go on with changes that were collected elsewhere, and with what was lost there."""
        for step, slot, item in lost:
            self._note_lost(step, slot, item)
        self.take(parts)
        for columns in parts if self._lost or self._fresh else ():
            self._correct(columns)

    def _note_lost(self, steps: Int64s, slots: Int64s, items: Int64s) -> None:
        turns = self.rows.roster.turn[slots].tolist()
        for item, turn, step in zip(items.tolist(), turns, steps.tolist(), strict=True):
            # Rows are told only at the end of a step: what is lost in a step was delivered before anything ended in it.
            life = bisect_left(self._ends.get(item, ()), step)
            self._fresh.setdefault((item, turn, life), step)

    def _keep(self) -> None:
        n_ghosts = int(self.ghosts.length[0])
        self._note_lost(*(array[:n_ghosts] for array in self.ghosts[1:]))
        self.ghosts.length[0] = 0
        super()._keep()
        if self._lost or self._fresh:
            self._correct(self._told[-1])

    def _correct(self, columns: list[npt.NDArray[Any]]) -> None:
        """What was delivered, left its row and came back is not delivered again, unless it was born again."""
        step, slot, item, op, _, _, first = columns
        for i in np.flatnonzero((op == ENTER) & first).tolist():
            if self._is_known(int(item[i]), int(self.rows.roster.turn[slot[i]]), int(step[i])):
                first[i] = False

    def _is_known(self, item: int, turn: int, step: int) -> bool:
        """Whether an item that enters in this step was delivered and lost before, in the life that it has then."""
        life = bisect_right(self._ends.get(item, ()), step)
        if life == 0 and turn in self._lost.get(item, ()):
            return True
        return self._fresh.get((item, turn, life), step + 1) <= step

    def _found(self) -> FoundChanges:
        self._keep()
        return super()._found()

    def remember(self, delivered: Deliveries, held: Bools) -> None:
        """Note the deliveries that no row holds."""
        turns = self.rows.roster.turn[delivered.slot[~held]]
        for turn, item in zip(turns.tolist(), delivered.item[~held].tolist(), strict=True):
            self._lost[item].add(turn)

    def end_life(self, item: int, step: int) -> None:
        """Note, in the order of the steps, that an item ends in this one: under its name comes what is new to all."""
        self._ends.setdefault(item, []).append(step)

    def lost(self) -> Deliveries:
        """Deliveries that no row holds."""
        roster = self.rows.roster
        slots = roster.in_turn()
        slot_of = dict(zip(roster.turn[slots].tolist(), slots.tolist(), strict=True))
        pairs = ((slot_of.get(turn), item) for item, turns in self._lost.items() for turn in turns)
        known = np.array(sorted((slot, item) for slot, item in pairs if slot is not None), np.int64).reshape(-1, 2)
        return Deliveries(known[:, 0], known[:, 1])

    def forget_items(self, below: int) -> None:
        """Forget deliveries of items that are gone."""
        for item in [item for item in self._lost if item < below]:
            del self._lost[item]

    def leave(self, slots: Int64s) -> None:
        """Tell that the members of these slots leave, and forget what was delivered to them."""
        self.forget(slots)
        super().leave(slots)

    def forget(self, slots: Int64s) -> None:
        """Forget what was delivered to these slots."""
        gone = set(self.rows.roster.turn[slots].tolist())
        for lost in self._lost.values() if gone else ():
            lost -= gone

    def _end_verb(self) -> None:
        for item in self._ends:
            self._lost.pop(item, None)
        for item, turn, life in self._fresh:
            if life == len(self._ends.get(item, ())):
                self._lost[item].add(turn)
        self._fresh.clear()
        self._ends.clear()

    def discard(self) -> None:
        """Throw away what was told."""
        self.ghosts.length[0] = 0
        super().discard()

    def answer(self, shape: AnswerShape, items: IdMap, base: int, at: Int64s) -> AnswerRows:
        """Everything told since the last answer; what was lost in this verb is remembered from now on."""
        told = super().answer(shape, items, base, at)
        self._end_verb()
        return told
