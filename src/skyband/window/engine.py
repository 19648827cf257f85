"""Engines of the window family: bands behind an index of points, searched in cells."""

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.slots import BLOCK
from skyband.table.argument import check_choice, check_integer
from skyband.topk.banded import Banded
from skyband.topk.cell_store import CellStore
from skyband.topk.index import ByKind, PointIndex
from skyband.topk.kernels.score import COSINE
from skyband.topk.kernels.workspace import Cells
from skyband.window.blocks import BlockIndex
from skyband.window.grid import GridIndex
from skyband.window.points import Points
from skyband.window.rows import Publications, Subscriptions
from skyband.window.sparse import SparseIndex

# A grid is fitted when so many publications are there, and again when a quarter of as many lie beyond it.
FIT_FROM = 256
# Cosines over more dimensions are indexed by the dimensions that vectors share.
MOST_DENSE = 16
MOST_CELLS = 1_000_000

IndexName = Literal["blocks", "grid"]


class Window(Points, Banded[Subscriptions, Publications]):
    """Top-k over points in sliding windows."""

    def __init__(self, *args: Any, index: IndexName = "blocks", cells: int | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        check_choice("index", index, IndexName)
        self._index: PointIndex | None = None
        self._index_name: IndexName = index
        self._cells = None if cells is None else check_integer("cells", cells, 1, MOST_CELLS)
        self._grid: GridIndex | None = None
        self._has_cell_store = False

    def _options(self) -> dict[str, Any]:
        return asdict(self.policy) | {"index": self._index_name, "cells": self._cells}

    def _make_index(self) -> PointIndex:
        """The index that was asked for; cosines of long vectors, mostly sparse, have one of their own."""
        sparse = self._dims > MOST_DENSE
        if self._index_name == "grid":
            self._grid = GridIndex(self._dims, None, n_per_dim=self._cells)
            return ByKind(self._grid, SparseIndex(self._dims) if sparse else BlockIndex(self._dims), (COSINE,))
        blocks = BlockIndex(self._dims)
        return ByKind(blocks, SparseIndex(self._dims), (COSINE,)) if sparse else blocks

    def _enter(self, slots: Int64s) -> None:
        if self._index is None:
            self._index = self._make_index()
        questions, block, i = self._question_store.questions, slots // BLOCK, slots % BLOCK
        self._index.add(
            slots,
            questions.kinds[block],
            np.ascontiguousarray(questions.centre[block, :, i]),
            np.ascontiguousarray(questions.weight[block, :, i]),
            questions.norm[slots],
            self._question_store.rules.gate[slots],
        )

    def _make_searchable(self, lo: int, hi: int) -> None:
        store = self._opened()
        if not self._has_cell_store:
            self._cell_store, self._has_cell_store = CellStore(self._dims), True
        self._cell_store.forget(self._first_number)
        self._cell_store.insert(store.contents, store.base, lo, hi)

    def _fit(self) -> None:
        """Fit the grid to what is stored, if there is one and it does not suit."""
        store = self._opened()
        n = store.tail - store.head
        if self._grid is None or n < FIT_FROM:
            return
        if len(self._grid.grid.n) == 0 or 4 * self._grid.n_outside > n:
            self._grid.fit(np.ascontiguousarray(store.contents.point[:, store.head : store.tail].T))
            n_slots = self._roster.slots.n_slots
            unknown = Cells(True, self._grid.grid, np.full(n_slots, np.inf), np.full(n_slots, -np.inf))
            self._workspace = self._workspace._replace(cells=unknown)
