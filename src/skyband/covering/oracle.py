"""The oracle of covering: which rectangles enclose which, by looking at every pair."""

from typing import NamedTuple

import numpy as np

from skyband.contract.tops import Id
from skyband.covering.rows import Subscriptions
from skyband.kernels.array import Bools


class OracleCover(NamedTuple):
    """What an added subscription changes: those it is covered by, and those it newly covers."""

    covered_by: list[Id]
    now_covers: list[Id]


class CoverOracle:
    """Subscriptions and the *uncovered* ones among them: those that a routing table has to hold.

    A subscription is covered if another one encloses it; of several equal ones the earliest stands for all.
    """

    def __init__(self) -> None:
        self._boxes: dict[Id, tuple[list[float], list[float]]] = {}

    def add(self, rows: Subscriptions) -> list[OracleCover]:
        """Register subscriptions, one after the other."""
        return [self._add(id, rows.lo[i].tolist(), rows.hi[i].tolist()) for i, id in enumerate(rows.ids.to_pylist())]

    def _add(self, id: Id, lo: list[float], hi: list[float]) -> OracleCover:
        if id in self._boxes:
            raise ValueError(f"The subscription {id!r} is already registered.")
        before = self.uncovered()
        self._boxes[id] = (lo, hi)
        after = set(self.uncovered())
        return OracleCover(self.covering(id), [other for other in before if other not in after])

    def remove(self, id: Id) -> list[Id]:
        """Withdraw a subscription; answers with those that are uncovered now and were not before."""
        before = set(self.uncovered())
        del self._boxes[id]
        return [other for other in self.uncovered() if other not in before]

    def covering(self, id: Id) -> list[Id]:
        """All others that cover this one."""
        ids = list(self._boxes)
        around = self._covers()[:, ids.index(id)]
        return [other for other, covers in zip(ids, around.tolist(), strict=True) if covers and other != id]

    def uncovered(self) -> list[Id]:
        """Those that no other one covers, in order of arrival."""
        if not self._boxes:
            return []
        covers = self._covers()
        # Of two that cover each other the later one stands behind the earlier.
        behind = covers & (~covers.T | np.triu(np.ones_like(covers), 1))
        is_behind = np.logical_or.reduce(behind, axis=0)
        return [id for i, id in enumerate(self._boxes) if not is_behind[i]]

    def _covers(self) -> Bools:
        """By two subscriptions, in order of arrival, whether everything that matches the second matches the first."""
        lo, hi = (np.array([box[side] for box in self._boxes.values()]) for side in (0, 1))
        covers: Bools = np.logical_and.reduce((lo[:, None] <= lo) & (hi[:, None] >= hi), axis=-1)
        return covers
