"""Searches among the roots of a cover set: who covers a point, and whom it covers.

All of them go through the same curve. `Corners` and `Jumps` are exact; `Greedy` is the paper's, which searches at least
1 - ε of the region. None ever claims a covering that is not one.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from skyband.covering.kernels.corners import LOOKED, NONE, find_covers, list_covered, make_descent
from skyband.covering.kernels.cover_insert import make_placement, place_all
from skyband.covering.kernels.greedy import (
    PAUSED,
    PROBES,
    list_greedily,
    make_hunt,
    search_greedily,
    searched_share,
    start_hunt,
)
from skyband.covering.kernels.jumping import find_all_by_jumps
from skyband.covering.roots import Roots
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.room import stops

# A search of cubes comes back after so many, so that whoever waits for it can interrupt it.
AT_ONCE = 1_000_000


class Placed(NamedTuple):
    """What became of members: the root above each, or NONE, and the roots that are below another from now on."""

    parents: Int64s
    demoted: Int64s
    above: Int64s


class Search(ABC):
    """One way to search the roots."""

    name: ClassVar[str]
    counter: ClassVar[str]

    def __init__(self, roots: Roots) -> None:
        self.roots = roots

    @abstractmethod
    def find(self, points: Floats) -> Int64s:
        """For each point the slot of a root that covers it, or NONE."""

    @abstractmethod
    def covered(self, slot: int) -> Int64s:
        """The roots that a member covers, which is no root."""

    @property
    @abstractmethod
    def cost(self) -> int:
        """How many steps of its kind all searches have taken so far."""

    def place(self, slots: Int64s, demoting: bool = True) -> Placed:
        """Place members, in an order where whatever covers another comes before it; those not covered become roots.

        Without `demoting` they do so beside roots that they may cover.
        """
        parents, demoted, above = np.full(len(slots), NONE), [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for i in range(len(slots)):
            parents[i] = self.find(self.roots.points[slots[i : i + 1]])[0]
            if parents[i] == NONE:
                covered = self.covered(int(slots[i])) if demoting else demoted[0]
                self.roots.remove(covered)
                self.roots.insert(slots[i : i + 1])
                demoted.append(covered)
                above.append(np.full(len(covered), slots[i]))
        return Placed(parents, np.concatenate(demoted), np.concatenate(above))


class Corners(Search):
    """Exact: down the tree of the curve, past every node whose corner rules it out."""

    name = "corners"
    counter = "nodes"

    def __init__(self, roots: Roots) -> None:
        super().__init__(roots)
        self._descent = make_descent()

    def find(self, points: Floats) -> Int64s:
        roots, found = self.roots, np.empty(len(points), np.int64)
        find_covers(roots.curve.array, roots.grid.axes, roots.points, points, self._descent, found)
        return found

    def covered(self, slot: int) -> Int64s:
        roots, point = self.roots, self.roots.points[slot]
        cells = roots.grid.cells(point[None])[0]
        found = np.empty(64, np.int64)
        n = list_covered(roots.curve.array, roots.points, cells, point, self._descent, found)
        if n > len(found):
            found = np.empty(n, np.int64)
            list_covered(roots.curve.array, roots.points, cells, point, self._descent, found)
        return found[:n]

    def place(self, slots: Int64s, demoting: bool = True) -> Placed:
        roots = self.roots
        cells, placement = roots.cells(slots), make_placement(len(slots), roots.curve.size if demoting else 0)

        def place_from(done: int) -> int:
            array, axes = roots.curve.array, roots.grid.axes
            return place_all(array, axes, roots.points, slots, cells, done, self._descent, placement)

        for done in stops(place_from, len(slots)):
            roots.curve.make_room(min(len(slots) - done, roots.curve.size + 64))
        n = int(placement.n_demoted[0])
        return Placed(placement.parent, placement.demoted[:n], placement.above[:n])

    @property
    def cost(self) -> int:
        return int(self._descent.state[LOOKED])


class Jumps(Corners):
    """Exact: along the curve, from each leaf to the next relevant key."""

    name = "jumps"
    counter = "leaves"

    def __init__(self, roots: Roots) -> None:
        super().__init__(roots)
        self._n_looked = np.zeros(1, np.int64)

    def find(self, points: Floats) -> Int64s:
        roots, found = self.roots, np.empty(len(points), np.int64)
        array, low = roots.curve.array, np.zeros_like(roots.curve.array.cells)
        find_all_by_jumps(array, roots.grid.axes, roots.points, points, low, self._n_looked, found)
        return found

    def place(self, slots: Int64s, demoting: bool = True) -> Placed:
        return Search.place(self, slots, demoting)

    @property
    def cost(self) -> int:
        return int(self._n_looked[0])


class Greedy(Search):
    """The paper's: standard cubes in descending volume, until 1 - ε of the region was searched.

    Coordinates are rounded to the safe side, so what is found needs no second look. `share` is that of the region of
    the last search that was searched when it ended.
    """

    name = "greedy"
    counter = "probes"

    def __init__(self, roots: Roots, epsilon: float) -> None:
        super().__init__(roots)
        self.epsilon = epsilon
        self._n_probes = 0
        self._hunt = make_hunt(roots.points.shape[1], roots.bits)

    @property
    def share(self) -> float:
        return float(searched_share(self._hunt.tally, len(self._hunt.low)))

    def find(self, points: Floats) -> Int64s:
        found = np.empty(len(points), np.int64)
        lengths = (1 << self.roots.bits) - self.roots.grid.cells(points, 1).astype(np.int64)
        for i in range(len(points)):
            start_hunt(lengths[i], self._hunt)
            found[i] = PAUSED
            while found[i] == PAUSED:
                found[i] = search_greedily(self.roots.curve.array, self._hunt, self.epsilon, AT_ONCE)
            self._n_probes += int(self._hunt.tally[PROBES])
        return found

    def covered(self, slot: int) -> Int64s:
        roots = self.roots
        found, n_found = np.empty(roots.curve.size, np.int64), np.zeros(1, np.int64)
        start_hunt(roots.grid.cells(roots.points[slot : slot + 1], -1)[0].astype(np.int64) + 1, self._hunt)
        while list_greedily(roots.curve.array, self._hunt, self.epsilon, AT_ONCE, found, n_found) == PAUSED:
            pass
        self._n_probes += int(self._hunt.tally[PROBES])
        return found[: n_found[0]]

    @property
    def cost(self) -> int:
        return self._n_probes
