"""Groups of subscriptions, such as tiers and pages: with so many places each, one of them open for what comes next.

A group is filled at once, or takes a few more while it is open; the places of those who leave stay empty. A group that
is half empty is given up, and the others of it move.
"""

from abc import ABC, abstractmethod

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.growth import grown, resized


class PlaceGroups(ABC):
    """Which groups are in use, and who is where; what is said of members is up to subclasses."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._place = np.zeros(0, np.int64)
        self._n_live = np.zeros(0, np.int64)
        # How many places of the open group are used, by members or by those who were.
        self._open, self._n_open = -1, 0
        self._free: list[int] = []

    @property
    def n_bytes(self) -> int:
        return self._place.nbytes + self._n_live.nbytes

    @abstractmethod
    def _lengthen(self, n: int) -> None:
        """Have arrays for so many groups."""

    @abstractmethod
    def _empty(self, group: int) -> None:
        """Let a group say that nobody is in it."""

    @property
    def _used(self) -> Int64s:
        return np.setdiff1d(np.arange(len(self._n_live)), self._free)

    @property
    def _room(self) -> int:
        """How many places the open group has left."""
        return self._size - self._n_open if self._open >= 0 else 0

    def _know(self, owners: Int64s) -> None:
        """Have room for the places of these owners."""
        self._place = grown(self._place, int(owners.max(initial=-1)) + 1)

    def _reserve(self, wanted: int) -> None:
        """Have so many free groups; more than that, an eighth of all, where they are added one after the other."""
        n = len(self._n_live)
        if wanted > len(self._free):
            more = max(wanted - len(self._free), n // 8)
            self._lengthen(n + more)
            self._n_live = resized(self._n_live, n + more)
            for group in range(n, n + more):
                self._clear(group)

    def _clear(self, group: int) -> None:
        self._empty(group)
        self._n_live[group] = 0
        self._free.append(group)

    def _settle(self, group: int, owners: Int64s) -> None:
        """Note who is in a group that was filled at once; one that is not full is the open one."""
        n = len(owners)
        self._n_live[group] = n
        self._place[owners] = group * self._size + np.arange(n)
        if n < self._size:
            self._open, self._n_open = group, n

    def _join(self, owners: Int64s) -> Int64s:
        """The next places of the open group, now these owners'."""
        at = self._n_open + np.arange(len(owners))
        self._n_open += len(owners)
        self._n_live[self._open] += len(owners)
        self._place[owners] = self._open * self._size + at
        return at

    def _leave(self, owners: Int64s) -> list[int]:
        """Forget these owners; answers with the groups that are to be given up."""
        groups = self._place[owners] // self._size
        np.subtract.at(self._n_live, groups, 1)
        return [
            each for each in np.unique(groups).tolist() if each != self._open and 2 * self._n_live[each] < self._size
        ]
