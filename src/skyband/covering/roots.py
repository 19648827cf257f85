"""The uncovered members of a cover set: their points on a curve, which the searches go through."""

from collections.abc import Sequence

import numpy as np

from skyband.covering.curve import Curve
from skyband.covering.grid import CoverGrid, Domain
from skyband.covering.kernels.curve import keys_of, order_of
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.simd import Cells

# A fitted grid is fitted anew when there are so many times as many members. A curve is laid anew when it has room for
# so many times as many roots and a few: nodes are only given up when quite empty, and it is usual that half is in use.
GROWTH = 4
SHRINKAGE = 16
FEW = 1000


class Roots:
    """Points by slot for all members, and a curve through those of the roots: the Z curve, or that of Hilbert."""

    def __init__(self, domains: Sequence[Domain], bits: int, hilbert: bool = False) -> None:
        self.domains = tuple(domains)
        self.bits = bits
        self.points = np.zeros((0, 2 * len(self.domains)))
        self.grid = CoverGrid(self.domains, bits, self.points)
        self.curve = Curve(2 * len(self.domains), bits, hilbert)
        self._n_fitted = 0

    @property
    def is_fitted(self) -> bool:
        """Whether the grid depends on the members."""
        return any(not (np.isfinite(domain.low) and np.isfinite(domain.high)) for domain in self.domains)

    def store(self, slots: Int64s, points: Floats) -> None:
        """Keep the points of members; the curve stays as it is."""
        self.points = grown(self.points, int(slots.max()) + 1 if len(slots) else 0)
        self.points[slots] = points

    def cells(self, slots: Int64s) -> Cells:
        """The cells of members."""
        return self.grid.cells(self.points[slots])

    def insert(self, slots: Int64s) -> None:
        """Members are roots from now on."""
        self.curve.insert(self.cells(slots), slots)

    def remove(self, slots: Int64s) -> None:
        """Roots are none any more."""
        self.curve.remove(self.cells(slots), slots)

    def rebuild(self, slots: Int64s) -> None:
        """Have these roots instead, packed."""
        self.curve.rebuild(self.cells(slots), slots)

    def is_outgrown(self, n_members: int) -> bool:
        """Whether the grid should be fitted anew to so many members."""
        return self.is_fitted and n_members > GROWTH * self._n_fitted

    def is_sparse(self, n_roots: int) -> bool:
        """Whether the curve has so many more nodes than these roots need that it should be laid anew."""
        return self.curve.n_places > FEW + SHRINKAGE * n_roots

    def refit(self, members: Int64s, roots: Int64s) -> None:
        """Fit the grid to the members and lay the curve of the roots anew."""
        self._n_fitted = len(members)
        self.grid = CoverGrid(self.domains, self.bits, self.points[members])
        self.rebuild(roots)

    def descending(self, slots: Int64s) -> Int64s:
        """The members, which are in order of arrival, in an order where whatever covers another comes before it.

        The key of a point that covers another is no smaller, for it grows with each coordinate; of points with equal
        keys the one that covers another is the larger one in the first coordinate in which they differ.
        """
        keys = keys_of(self.cells(slots), self.bits)
        order = order_of(keys)[::-1].copy()
        is_new = np.append(True, (keys[order[1:]] != keys[order[:-1]]).any(axis=1))[: len(order)]
        group = np.cumsum(is_new)
        tied = np.flatnonzero(np.bincount(group)[group] > 1)
        rows = order[tied]
        columns = [-self.points[slots[rows], j] for j in range(self.points.shape[1] - 1, -1, -1)]
        order[tied] = rows[np.lexsort((rows, *columns, group[tied]))]
        return slots[order]

    def check(self, roots: Int64s) -> None:
        """Assert the invariants; `roots` are those that must be on the curve."""
        self.curve.check(self.cells(roots), roots)

    @property
    def n_bytes(self) -> int:
        """The size in bytes, without the curve."""
        return self.points.nbytes + self.grid.n_bytes
