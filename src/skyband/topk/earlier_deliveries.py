"""What was delivered to whom, for as long as it is stored: so that nothing that comes back is delivered twice.

A publication that k better and newer ones have pushed out of a row does not come back by expiries, and rows forget it.
It does come back if one of those is retracted. So every delivery is written down: as a list, which takes 16 bytes for
each, until something is retracted for the first time; and from then on as a set that can be asked.
"""

import numpy as np

from skyband.kernels.array import Bools, Int64s
from skyband.kernels.growth import BY_A_QUARTER, grown
from skyband.kernels.room import initial
from skyband.topk.kernels.change_log import list_first
from skyband.topk.kernels.deliveries import (
    DeliverySet,
    check_delivery_set,
    enlarged,
    has_room,
    held_pairs,
    make_delivery_set,
    take_pairs,
)


class EarlierDeliveries:
    """Pairs of a turn and an item; turns are those of subscriptions, and neither is ever given again."""

    def __init__(self) -> None:
        self._turn = np.zeros(0, np.int64)
        self._item = np.zeros(0, np.int64)
        self._n = 0
        self._set: DeliverySet | None = None
        self._sift_at = initial(1024)

    @property
    def size(self) -> int:
        return self._n if self._set is None else int(self._set.used[0])

    @property
    def n_bytes(self) -> int:
        held = (self._turn, self._item, *(self._set or ()))
        return sum(array.nbytes for array in held)

    def take(self, turns: Int64s, items: Int64s) -> Bools:
        """Note pairs; says which of them are new, and that all of them are before anything was retracted."""
        fresh = np.ones(len(turns), np.bool_)
        if self._set is None:
            self._list(turns, items)
        else:
            if not has_room(self._set, len(turns)):
                self._set = enlarged(self._set, len(turns))
            take_pairs(self._set, turns, items, fresh)
        return fresh

    def note(self, turns: Int64s, items: Int64s, first: Bools, n_first: int) -> int:
        """Note the pairs that are marked as `first`, of which there are so many; those that were noted before are not
        marked any more. Returns how many still are.
        """
        if self._set is None:
            self._reserve(self._n + n_first)
            self._n = list_first(turns, items, first, self._turn, self._item, self._n)
            return n_first
        first[first] = self.take(turns[first], items[first])
        return int(np.count_nonzero(first))

    def _list(self, turns: Int64s, items: Int64s) -> None:
        end = self._n + len(turns)
        self._reserve(end)
        self._turn[self._n : end], self._item[self._n : end] = turns, items
        self._n = end

    def _reserve(self, n: int) -> None:
        if n > len(self._turn):
            self._turn = grown(self._turn, n, share=BY_A_QUARTER)
            self._item = grown(self._item, n, share=BY_A_QUARTER)

    def recall(self) -> None:
        """From now on, tell pairs that were noted before from others."""
        if self._set is None:
            turns, items = self.pairs()
            self._set = make_delivery_set(initial(64))
            self._turn = self._item = np.zeros(0, np.int64)
            self.take(turns, items)

    def pairs(self) -> tuple[Int64s, Int64s]:
        """All that is noted."""
        if self._set is not None:
            return held_pairs(self._set)
        return self._turn[: self._n], self._item[: self._n]

    def forget(self, turns: Int64s) -> None:
        """Forget all pairs of these turns."""
        turn, item = self.pairs()
        kept = ~np.isin(turn, turns)
        if not kept.all():
            self._keep(turn[kept], item[kept])

    @property
    def is_due(self) -> bool:
        """Whether half as much again is noted as after the last sifting."""
        return self.size > self._sift_at

    def sift(self, first_item: int, turns: Int64s) -> None:
        """Keep only the pairs of items from this one on, and of these turns."""
        turn, item = self.pairs()
        kept = (item >= first_item) & np.isin(turn, turns)
        self._keep(turn[kept], item[kept])
        self._sift_at = max(initial(1024), self.size + self.size // 2)

    def _keep(self, turns: Int64s, items: Int64s) -> None:
        self._n = 0
        if self._set is None:
            self._turn, self._item = np.zeros(0, np.int64), np.zeros(0, np.int64)
        else:
            self._set = make_delivery_set(initial(64))
        self.take(turns, items)

    def check(self) -> None:
        """Assert the invariants: nothing is noted twice."""
        turns, items = self.pairs()
        assert len(set(zip(turns.tolist(), items.tolist(), strict=True))) == self.size
        if self._set is not None:
            check_delivery_set(self._set)
