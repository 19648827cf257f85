"""The oracle of covering: which rectangles enclose which, by looking at every pair."""

from typing import NamedTuple

from skyband.contract.tops import Id
from skyband.model.covering import Subscriptions


class Box(NamedTuple):
    """A conjunction of ranges; `turn` is the place in the order of arrival."""

    turn: int
    lo: list[float]
    hi: list[float]

    def covers(self, other: "Box") -> bool:
        """Whether everything that matches the other box matches this one."""
        return all(mine <= theirs for mine, theirs in zip(self.lo, other.lo, strict=True)) and all(
            mine >= theirs for mine, theirs in zip(self.hi, other.hi, strict=True)
        )


class Cover(NamedTuple):
    """What an added subscription changes: those it is covered by, and those it newly covers."""

    covered_by: list[Id]
    now_covers: list[Id]


class CoverOracle:
    """Subscriptions and the *uncovered* ones among them: those that a routing table has to hold.

    A subscription is covered if another one encloses it; of several equal ones the earliest stands for all.
    """

    def __init__(self) -> None:
        self._boxes: dict[Id, Box] = {}
        self._turn = 0

    def add(self, rows: Subscriptions) -> list[Cover]:
        """Register subscriptions, one after the other."""
        return [self._add(id, rows.lo[i].tolist(), rows.hi[i].tolist()) for i, id in enumerate(rows.ids.to_pylist())]

    def _add(self, id: Id, lo: list[float], hi: list[float]) -> Cover:
        if id in self._boxes:
            raise ValueError(f"The subscription {id!r} is already registered.")
        before = self.uncovered()
        self._boxes[id] = Box(self._turn, lo, hi)
        self._turn += 1
        after = set(self.uncovered())
        return Cover(self.covering(id), [other for other in before if other not in after])

    def remove(self, id: Id) -> list[Id]:
        """Withdraw a subscription; answers with those that are uncovered now and were not before."""
        before = set(self.uncovered())
        del self._boxes[id]
        return [other for other in self.uncovered() if other not in before]

    def covering(self, id: Id) -> list[Id]:
        """All others that cover this one."""
        box = self._boxes[id]
        return [other for other, theirs in self._boxes.items() if other != id and theirs.covers(box)]

    def uncovered(self) -> list[Id]:
        """Those that no other one covers, in order of arrival."""
        return [id for id, box in self._boxes.items() if not self._stands_behind(id, box)]

    def _stands_behind(self, id: Id, box: Box) -> bool:
        return any(
            theirs.covers(box) and (not box.covers(theirs) or theirs.turn < box.turn)
            for other, theirs in self._boxes.items()
            if other != id
        )
