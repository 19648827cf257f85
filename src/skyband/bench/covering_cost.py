"""What the paper's search costs without running it, and a form of it that gives up."""

import math
from collections.abc import Iterable

import numpy as np

from skyband.covering.kernels.corners import NONE
from skyband.covering.kernels.cubes import n_cubes
from skyband.covering.kernels.greedy import PAUSED, PROBES, search_greedily, start_hunt
from skyband.covering.roots import Roots
from skyband.covering.search import Greedy
from skyband.kernels.array import Floats, Int64s


def lengths_of(points: Floats, roots: Roots) -> Int64s:
    """The side lengths of the regions that points are searched in."""
    return np.asarray((1 << roots.bits) - roots.grid.cells(points, 1).astype(np.int64))


def n_probes(lengths: Iterable[int], coverage: float) -> int:
    """How many cubes, the largest first, make up this share of a region (Lemma 3.4)."""
    sides = [int(length) for length in lengths]
    wanted, searched, n = coverage * math.prod(sides), 0.0, 0
    numbers = n_cubes(np.array(sides))
    for i in range(len(numbers) - 1, -1, -1):
        cube = 1 << (i * len(sides))
        if coverage < 1.0 and searched + numbers[i] * cube >= wanted:
            return n + math.ceil((wanted - searched) / cube)
        searched += numbers[i] * cube
        n += numbers[i]
    return n


class Limited(Greedy):
    """The paper's search, which gives up after so many probes and has found nothing then."""

    name = "limited"

    def __init__(self, roots: Roots, epsilon: float, most: int) -> None:
        super().__init__(roots, epsilon)
        self.most = most
        self.n_searches = 0
        self.n_given_up = 0

    def find(self, points: Floats) -> Int64s:
        found = np.empty(len(points), np.int64)
        for i, lengths in enumerate(lengths_of(points, self.roots)):
            start_hunt(lengths, self._hunt)
            found[i] = search_greedily(self.roots.curve.array, self._hunt, self.epsilon, self.most)
            self._n_probes += int(self._hunt.tally[PROBES])
        self.n_searches += len(points)
        self.n_given_up += int((found == PAUSED).sum())
        found[found == PAUSED] = NONE
        return found
