"""A subscription index: a regular grid whose cells list the subscriptions that are interested in them.

A publication is scored for the subscriptions listed in its cell and for those listed everywhere, and for no others. A
subscription's cells are those that its gate reaches into; they are brought up to date when the gate has left the band
in which they stay the same. Distances and weighted sums have cells; cosine relevance is listed everywhere.

Costs: to route, a score for each listed subscription; to adjust, two comparisons, or a walk over the cells on the rim
of the old and the new set. The grid is fitted to a sample. Points beyond it are routed as exactly as others, but are
scored for every weighted sum, so fit again when many are (`n_outside`).

Paper: section 3.3 of the top-k/w model (cells of interest), and 5.1.3 (cell updates).
"""

import numpy as np

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.growth import grown_all
from skyband.kernels.room import DOUBLINGS, stops
from skyband.topk.index import larger
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.cell_index import (
    NOWHERE,
    adjust,
    check_cell_index,
    make_cell_index,
    make_found,
    make_lists,
    make_look,
    make_path,
    match,
    repacked,
)
from skyband.topk.kernels.grid import Grid, check_grid, fit_grid, n_cells
from skyband.topk.kernels.score import Contents


class GridIndex:
    """Which slots a publication may pass the gates of."""

    def __init__(
        self, dims: int, sample_points: Floats | None, target_cells: int = 4096, n_per_dim: int | None = None
    ) -> None:
        """Without a sample everything is listed everywhere until `fit`."""
        self._target_cells = target_cells
        self._n_per_dim = n_per_dim
        self._cell_index = make_cell_index(dims)
        self._look = make_look(dims)
        self._n_updates = np.zeros(1, np.int64)
        self._set_grid(fit_grid(np.zeros(0), np.zeros(0)))
        if sample_points is not None:
            self.fit(sample_points)

    def _set_grid(self, grid: Grid) -> None:
        self.grid = grid
        self._lists = make_lists(int(n_cells(grid)))
        self._path = make_path(len(grid.n))
        self._found = make_found(int(n_cells(grid)))

    def fit(self, points: Floats) -> None:
        """Lay the grid over the extent of these points, rows of (publication, dimension), and list every slot anew."""
        if not len(points):
            return
        self._set_grid(fit_grid(points.min(axis=0), points.max(axis=0), self._n_per_dim, self._target_cells))
        self._look.n_outside[0] = 0
        slots = np.flatnonzero(self._cell_index.gate > -np.inf)
        gates = self._cell_index.gate[slots]
        self._forget(np.arange(len(self._cell_index.gate)))
        self._move(slots, gates, np.zeros(1, np.int64))

    def _forget(self, slots: Int64s) -> None:
        """Have slots in no list, with a band that no gate lies in."""
        self._cell_index.gate[slots] = -np.inf
        self._cell_index.inner[slots] = np.inf
        self._cell_index.outer[slots] = -np.inf
        self._cell_index.n_listed[slots] = NOWHERE

    def add(self, slots: Int64s, kinds: Int8s, centres: Floats, weights: Floats, norms: Floats, gates: Floats) -> None:
        """Take in subscriptions; their slots are new, or were removed before."""
        have, wanted = len(self._cell_index.gate), int(np.max(slots, initial=-1)) + 1
        cell_index = grown_all(self._cell_index, wanted)
        self._cell_index = cell_index
        self._forget(np.arange(have, len(cell_index.gate)))
        if (cell_index.gate[slots] > -np.inf).any():
            raise ValueError("A slot that is added must be new, or have been removed.")
        self._forget(slots)
        cell_index.kind[slots], cell_index.norm[slots] = kinds, norms
        cell_index.centre[slots], cell_index.weight[slots] = centres, weights
        self._move(slots, gates, np.zeros(1, np.int64))

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        self._move(slots, np.full(len(slots), -np.inf), np.zeros(1, np.int64))

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Move the gates of subscriptions."""
        self._move(slots, gates, self._n_updates)

    def _move(self, slots: Int64s, gates: Floats, n_updates: Int64s) -> None:
        slots, gates = np.ascontiguousarray(slots, np.int64), np.ascontiguousarray(gates, np.float64)

        def adjust_from(done: int) -> int:
            scratch = (self._path, self._found)
            return adjust(slots, gates, done, self.grid, self._cell_index, self._lists, *scratch, n_updates)

        for _ in stops(adjust_from, len(slots)):
            self._lists = repacked(self._lists)

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add the pairs of publications lo to hi to `into`, publication by publication; a larger one if need be."""

        def match_from(lo: int) -> int:
            return match(contents, lo, hi, self.grid, self._cell_index, self._lists, self._look, into)

        for _ in stops(match_from, hi, lo, DOUBLINGS):
            into = larger(into)
        return into

    @property
    def cell_updates(self) -> int:
        """How many times `adjust` has changed the cells of a subscription; everywhere counts as one set of cells."""
        return int(self._n_updates[0])

    @property
    def n_outside(self) -> int:
        """How many publications routed since `fit` lay beyond the grid."""
        return int(self._look.n_outside[0])

    @property
    def n_bytes(self) -> int:
        held = (self.grid, self._cell_index, self._lists, self._path, self._found, self._look)
        return sum(array.nbytes for arrays in held for array in arrays)

    def check(self) -> None:
        """Assert the invariants."""
        check_grid(self.grid)
        check_cell_index(self.grid, self._cell_index, self._lists)
