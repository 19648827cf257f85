"""Great-circle distances for an index of Euclidean distances: places on Earth are points of the unit sphere to it.

The index knows the squares of chords, and finds whoever is within a gate by them. What it finds is measured along the
surface then; the two differ beyond a quarter of the circumference, see `skyband.kernels.sphere`.
"""

import numpy as np

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.sphere import squares_within, unit_vectors
from skyband.topk.index import PointIndex
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import EUCLIDEAN, Contents
from skyband.window.kernels.sphere import measure


def on_sphere(contents: Contents) -> Contents:
    """The same publications, with their places on the sphere for points."""
    return contents._replace(point=contents.sphere)


def _squares(gates: Floats) -> Floats:
    squares = np.empty(len(gates))
    squares_within(np.ascontiguousarray(gates), squares)
    return squares


class OnSphere:
    """Subscriptions to places, in an index of points in three dimensions."""

    def __init__(self, index: PointIndex) -> None:
        self.index = index
        self._centre = np.zeros((0, 3))

    @property
    def n_bytes(self) -> int:
        return self._centre.nbytes + self.index.n_bytes

    def add(self, slots: Int64s, kinds: Int8s, centres: Floats, weights: Floats, norms: Floats, gates: Floats) -> None:
        """Take in new subscriptions; centres are longitudes and latitudes."""
        points = np.ascontiguousarray(unit_vectors(centres).T)
        self._centre = grown(self._centre, int(slots.max()) + 1)
        self._centre[slots] = points
        as_distances = np.full(len(slots), EUCLIDEAN, np.int8)
        self.index.add(slots, as_distances, points, np.ones_like(points), norms, _squares(gates))

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        self.index.remove(slots)

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        self.index.adjust(slots, _squares(gates))

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add every pair of a subscription and a publication from lo to hi that is within the gate."""
        since = int(into.length[0])
        into = self.index.route(on_sphere(contents), lo, hi, into, threads)
        measure(into, since, contents.sphere, self._centre)
        return into

    def check(self) -> None:
        """Assert the invariants."""
        self.index.check()
