"""Engines of the window family: bands behind an index of points, searched in cells."""

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.order import order_by
from skyband.kernels.slots import BLOCK
from skyband.table.argument import check_choice, check_integer
from skyband.topk.banded import Banded
from skyband.topk.cell_store import CellStore
from skyband.topk.index import ByKind, PointIndex
from skyband.topk.kernels.score import Contents
from skyband.topk.kernels.workspace import Cells
from skyband.topk.questions import NewQuestions
from skyband.topk.score import by_kind, scores
from skyband.window.blocks import BlockIndex
from skyband.window.grid import GridIndex
from skyband.window.points import ON_SPHERE, Points
from skyband.window.rows import Publications, Subscriptions
from skyband.window.sparse import SparseIndex
from skyband.window.sphere import OnSphere, on_sphere

# A grid is fitted when so many publications are there, and again when a quarter of as many lie beyond it.
FIT_FROM = 256
# Cosines over more dimensions are indexed by the dimensions that vectors share.
MOST_DENSE = 16
MOST_CELLS = 1_000_000
SPHERE_DIMS = 3

BY_CELLS = by_kind(lambda form: form.by_cells)

IndexName = Literal["blocks", "grid"]


class WindowEngine(Points, Banded[Subscriptions, Publications]):
    """Top-k over points in sliding windows."""

    _searched: CellStore

    def __init__(self, *args: Any, index: IndexName = "blocks", cells: int | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        check_choice("index", index, IndexName)
        self._index: PointIndex | None = None
        self._index_name: IndexName = index
        self._cells = None if cells is None else check_integer("cells", cells, 1, MOST_CELLS)
        self._grid: GridIndex | None = None
        self._sphere_grid: GridIndex | None = None
        self._has_cell_store = self._is_store_on_sphere = self._is_sphere_indexed = False
        self._n_in_cells = self._n_on_sphere = 0

    def _options(self) -> dict[str, Any]:
        return asdict(self.policy) | {"index": self._index_name, "cells": self._cells}

    def _make_index(self) -> PointIndex:
        """The index that was asked for; what cells cannot serve and long vectors, mostly sparse, have their own."""
        blocks, sparse = BlockIndex(self._dims), SparseIndex(self._dims)
        by_shared = scores(lambda form: form.by_shared_dimensions) if self._dims > MOST_DENSE else []
        rest = ByKind(blocks, sparse, by_shared) if by_shared else blocks
        if self._index_name == "blocks":
            return rest
        self._grid = GridIndex(self._dims, None, n_per_dim=self._cells)
        return ByKind(self._grid, rest, scores(lambda form: not form.by_cells))

    def _sphere_index(self) -> OnSphere:
        """An index of the same kind for places on Earth."""
        self._is_sphere_indexed = True
        if self._index_name == "blocks":
            return OnSphere(BlockIndex(SPHERE_DIMS))
        self._sphere_grid = GridIndex(SPHERE_DIMS, None, n_per_dim=self._cells)
        return OnSphere(self._sphere_grid)

    def _opened_index(self) -> PointIndex:
        """The index, with one for places on Earth beside it since somebody has asked for them."""
        if self._index is None:
            self._index = self._make_index()
        if self._n_on_sphere and not self._is_sphere_indexed:
            self._index = ByKind(self._index, self._sphere_index(), scores(lambda form: form.on_sphere))
        return self._index

    def _enter(self, slots: Int64s) -> None:
        questions, block, i = self._question_store.questions, slots // BLOCK, slots % BLOCK
        self._opened_index().add(
            slots,
            questions.kinds[block],
            np.ascontiguousarray(questions.centre[block, :, i]),
            np.ascontiguousarray(questions.weight[block, :, i]),
            questions.norm[slots],
            self._question_store.rules.gate[slots],
        )

    def _enrol(self, rows: Subscriptions, new: NewQuestions) -> Int64s:
        slots = super()._enrol(rows, new)
        self._count_searches(slots, 1)
        self._choose_cells()
        return slots

    def _give_up(self, slots: Int64s) -> None:
        self._count_searches(slots, -1)
        super()._give_up(slots)

    def _count_searches(self, slots: Int64s, each: int) -> None:
        kinds = self._question_store.questions.kinds[slots // BLOCK]
        self._n_on_sphere += each * int(np.count_nonzero(ON_SPHERE[kinds]))
        self._n_in_cells += each * int(np.count_nonzero(BY_CELLS[kinds]))

    def _choose_cells(self) -> None:
        """Have cells in the space of most subscriptions; what changes it are twice as many of the other sort.

        With cells of both sorts at hand, each search takes half a microsecond longer.
        """
        n_on_sphere, n_flat = self._n_on_sphere, self._n_in_cells - self._n_on_sphere
        changes = n_flat > 2 * n_on_sphere if self._is_store_on_sphere else n_on_sphere > 2 * n_flat
        if changes:
            store, counts = self._opened(), self._searched.counts
            self._is_store_on_sphere, self._has_cell_store = not self._is_store_on_sphere, False
            self._make_searchable(store.head, store.tail)
            self._searched.counts[:] = counts

    def _make_searched(self) -> CellStore:
        return CellStore(0)

    def _make_searchable(self, lo: int, hi: int) -> None:
        store = self._opened()
        if not self._has_cell_store:
            dims = SPHERE_DIMS if self._is_store_on_sphere else self._dims
            self._searched, self._has_cell_store = CellStore(dims, on_sphere=self._is_store_on_sphere), True
        self._searched.forget(self._first_number)
        contents = on_sphere(store.contents) if self._is_store_on_sphere else store.contents
        self._searched.insert(contents, store.base, lo, hi)

    def _together(self, slots: Int64s) -> Int64s:
        if len(slots) == 1:
            return slots
        questions, block, i = self._question_store.questions, slots // BLOCK, slots % BLOCK
        centres = questions.sphere if self._is_store_on_sphere else questions.centre
        return slots[order_by(self._searched.cells_of(np.ascontiguousarray(centres[block, :, i].T)))]

    def _fit(self) -> None:
        """Fit the grids to what is stored, if there are any and they do not suit."""
        contents = self._opened().contents
        if self._grid is not None and self._fit_grid(self._grid, contents):
            n_slots = self._roster.slots.n_slots
            unknown = Cells(True, self._grid.grid, np.full(n_slots, np.inf), np.full(n_slots, -np.inf))
            self._workspace = self._workspace._replace(cells=unknown)
        if self._sphere_grid is not None:
            self._fit_grid(self._sphere_grid, on_sphere(contents))

    def _fit_grid(self, grid: GridIndex, contents: Contents) -> bool:
        """Fit a grid if it does not suit; says whether it was."""
        store = self._opened()
        n = store.tail - store.head
        if n < FIT_FROM or (len(grid.grid.n) and 4 * grid.n_outside <= n):
            return False
        grid.fit(np.ascontiguousarray(contents.point[:, store.head : store.tail].T))
        return True
