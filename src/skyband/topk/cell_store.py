"""Stored publications by cell of a grid, for searches to run over; the grid is fitted again as the publications change.

Kernels append to it (`skyband.topk.kernels.cell_store`) and search it (`skyband.topk.kernels.cpm`). Here is decided
when it changes its shape: a grid suits about as many publications as it was fitted to, in about the same places.
Fitting takes time in proportion to what is stored, and is due after arrivals in the same proportion, so each pays a
constant share of it.
"""

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.topk.kernels.cell_store import (
    ARRIVED,
    OUTSIDE,
    CellPool,
    cells_of,
    check_cell_pool,
    make_cell_pool,
    places_of,
    put_in_cells,
)
from skyband.topk.kernels.cpm import CALLS, Frontier, make_frontier
from skyband.topk.kernels.grid import Grid, fit_grid
from skyband.topk.kernels.score import Contents
from skyband.topk.kernels.seek import CellSpace

# A grid is kept while there are at most this many times more or fewer publications than it was fitted to.
SLACK = 4
# A box is fitted to a sample without its outermost points: they would leave too few cells to the others.
SAMPLE = 8192
TRIMMED = 0.005
MOST_CELLS = 1 << 20


def few(dims: int) -> int:
    """The number of points up to which it is no slower to look at all of them.

    Cells help less in more dimensions. Measured with uniform points, where 9 are wanted: about 500 in 4 dimensions,
    7,000 in 8, 30,000 in 10, more than 40,000 in 12.
    """
    return int(32 << min(dims, 30))


class CellStore:
    """Stored publications by cell, about `per_cell` in each; up to `plain` of them are left to the store.

    `n_fits` counts how often a grid was fitted, `counts` what searches did (see `Frontier`).
    """

    def __init__(self, dims: int, per_cell: int = 8, plain: int | None = None, on_sphere: bool = False) -> None:
        self.n_fits = 0
        self.counts = np.zeros(4, np.int64)
        self._dims = dims
        self._on_sphere = on_sphere
        self._per_cell = per_cell
        self._plain = few(dims) if plain is None else plain
        self._oldest = 0
        self._n_fitted = 0
        self._put_away()

    @property
    def space(self) -> CellSpace:
        """For kernels and one thread, until the next insertion."""
        return CellSpace(self._cell_pool, self._frontier)

    @property
    def n_searched(self) -> int:
        """What searches have cost since the counts were last set to zero, in entries of a row touched."""
        return int(self.counts[:CALLS].sum())

    @property
    def cell_pool(self) -> CellPool:
        """For kernels, until the next insertion."""
        return self._cell_pool

    @property
    def frontier(self) -> Frontier:
        """Working space for one thread, until the next insertion; `make_frontier` makes it for others."""
        return self._frontier

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in (*self._cell_pool.grid, *self._cell_pool[1:-2], *self._frontier))

    def cells_of(self, points: Floats) -> Int64s:
        """The cells that points lie in, which are given by coordinate; all in one while nothing is in cells."""
        cells = np.empty(points.shape[1], np.int64)
        cells_of(self._cell_pool.grid, points, 0, len(cells), cells)
        return cells

    def insert(self, contents: Contents, base: int, lo: int, hi: int) -> None:
        """Take in the publications lo to hi that the store has appended; `base` is the number of its first."""
        n = base + hi - max(self._oldest, base)
        if self._is_outgrown(n):
            if n > self._plain:
                self._fit(contents, base, hi)
            else:
                self._put_away()
        elif self._n_fitted:
            self._append(contents, base, lo, hi)

    def forget(self, oldest: int) -> None:
        """The store holds no number below this one any more."""
        self._oldest = max(self._oldest, oldest)

    def _is_outgrown(self, n: int) -> bool:
        if not self._n_fitted:
            return n > self._plain
        return not self._n_fitted <= SLACK * n <= SLACK * SLACK * self._n_fitted

    def _append(self, contents: Contents, base: int, lo: int, hi: int) -> None:
        if put_in_cells(self._cell_pool, contents.point, base, lo, hi, self._oldest) < hi:
            self._lay_out(self._cell_pool.grid, contents, base, hi)
        if self._is_left():
            self._fit(contents, base, hi)

    def _is_left(self) -> bool:
        """Whether more than a quarter of a fair number of arrivals, or of all that was laid out, are out of the box."""
        tally = self._cell_pool.tally
        if tally[ARRIVED] < max(64, self._n_fitted // SLACK):
            return False
        left = bool(4 * tally[OUTSIDE] > tally[ARRIVED])
        tally[:] = 0
        return left

    def _fit(self, contents: Contents, base: int, hi: int) -> None:
        """Fit a grid to what is stored."""
        lo = max(self._oldest - base, 0)
        sample = contents.point[:, lo : hi : max(1, (hi - lo) // SAMPLE)]
        low, high = np.quantile(sample, [TRIMMED, 1.0 - TRIMMED], axis=1)
        n_cells = min(max(1, (hi - lo) // self._per_cell), MOST_CELLS)
        self._n_fitted = hi - lo
        self.n_fits += 1
        self._lay_out(fit_grid(low, high, target_cells=n_cells), contents, base, hi)
        self._cell_pool.tally[:] = 0

    def _lay_out(self, grid: Grid, contents: Contents, base: int, hi: int) -> None:
        """Put all that is stored into the cells of this grid."""
        lo = max(self._oldest - base, 0)
        cells = np.zeros(hi - lo, np.int64)
        cells_of(grid, contents.point, lo, hi, cells)
        self._put_up(grid, np.bincount(cells, minlength=int(np.prod(grid.n))))
        reached = put_in_cells(self._cell_pool, contents.point, base, lo, hi, self._oldest)
        assert reached == hi

    def _put_up(self, grid: Grid, n_held: Int64s) -> None:
        self._cell_pool = make_cell_pool(grid, self._dims, n_held, self._plain, self._on_sphere)
        self._frontier = make_frontier(self._cell_pool)._replace(counts=self.counts)

    def _put_away(self) -> None:
        self._n_fitted = 0
        self._put_up(fit_grid(np.zeros(0), np.zeros(0)), np.zeros(1, np.int64))

    def check(self, numbers: Int64s, contents: Contents, base: int) -> None:
        """Assert the invariants; `numbers` are those of the live publications, in order."""
        check_cell_pool(self._cell_pool)
        if self._n_fitted:
            places = places_of(self._cell_pool)
            held, points = self._cell_pool.numbers[places], self._cell_pool.points[places]
            order = np.argsort(held)
            live = order[np.isin(held[order], numbers)]
            assert np.array_equal(held[live], numbers)
            assert np.array_equal(points[live], contents.point[:, numbers - base].T)
