"""A regular grid over attribute space, and the best score that a point in a cell can have.

Lines stand at `low + c * side` in each gridded dimension; coordinate c lies from line c up to, not including, line
c + 1. Border cells reach to infinity, so every point has a cell. Only the first dimensions are gridded, at most
`WIDEST`, since cells multiply with each: the others are ignored, which keeps lower bounds what they are. A grid without
dimensions is one cell.

A bound is the *directed* score that no point of a cell or box of cells can fall below, to the last bit; see `score`,
which has the terms. The place of a point is decided by comparing it with the lines themselves.

Invariants: sides are positive and finite; lines do not decrease; `stride` is row-major, so neighbours in the last
gridded dimension are neighbours in memory.
"""

import math
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.score import has_cells, has_corner, has_weights, joined, term

WIDEST = 12
MOST_CELLS = 1 << 20


class Grid(NamedTuple):
    """For each gridded dimension the first line, the distance between lines, the number of cells, their stride."""

    low: Floats
    side: Floats
    n: Int64s
    stride: Int64s


def make_grid(low: Floats, side: Floats, n: Int64s) -> Grid:
    """A grid of cells with these sides."""
    n = np.asarray(n, np.int64)
    stride = np.append(np.cumprod(n[:0:-1])[::-1], 1)[: len(n)].astype(np.int64)
    return Grid(np.asarray(low, np.float64), np.asarray(side, np.float64), n, stride)


def fit_grid(low: Floats, high: Floats, n_per_dim: int | None = None, target_cells: int = 4096) -> Grid:
    """A grid over a box: `n_per_dim` cells along each dimension, or about equally many and `target_cells` at most.

    A dimension without extent is left whole unless `n_per_dim` is given, and has sides of 1.
    """
    low, high = np.asarray(low, np.float64)[:WIDEST], np.asarray(high, np.float64)[:WIDEST]
    n = _share(high > low, target_cells) if n_per_dim is None else _repeat(len(low), n_per_dim)
    low, high = low[: len(n)], high[: len(n)]
    extent = high - low
    side = extent / n
    # Where rounding leaves the last line short of `high`, the box is made a few units in the last place wider.
    wider = (extent * (1.0 + 1e-15) + 2.0 * np.spacing(np.maximum(abs(low), abs(high)))) / n
    side = np.where(low + n * side < high, wider, side)
    return make_grid(low, np.where((extent > 0.0) & (side > 0.0), side, 1.0), n)


def _repeat(dims: int, n_per_dim: int) -> Int64s:
    while dims > 0 and n_per_dim**dims > MOST_CELLS:
        dims -= 1
    return np.full(dims, n_per_dim, np.int64)


def _share(wide: Bools, target_cells: int) -> Int64s:
    """Cells for each dimension that has an extent: all the same, and one more in the first ones that allow it."""
    dims = np.flatnonzero(wide)[: max(target_cells, 1).bit_length() - 1]
    n = np.ones(int(dims[-1]) + 1 if len(dims) else 0, np.int64)
    if len(dims):
        each = int(target_cells ** (1.0 / len(dims)))
        n[dims] = each + 1 if (each + 1) ** len(dims) <= target_cells else each
    for j in dims:
        if math.prod(n.tolist()) // int(n[j]) * int(n[j] + 1) <= target_cells:
            n[j] += 1
    return n


@inlined
def n_cells(grid: Grid) -> int:
    """How many cells there are."""
    return grid.n[0] * grid.stride[0] if len(grid.n) > 0 else 1


@inlined
def line(low: float, side: float, c: int) -> float:
    """Where coordinate c begins, borders not minded."""
    return low + c * side


@inlined
def locate(x: float, low: float, side: float, n: int) -> int:
    """The coordinate of x: the last line that x does not lie below, of those that cells begin at."""
    if not x >= low + side:
        return 0
    if x >= line(low, side, n - 1):
        return n - 1
    # The quotient may be off by one, and by more where sides are lost in the magnitude of `low`.
    c = min(int((x - low) / side), n - 1)
    while x < line(low, side, c):
        c -= 1
    while x >= line(low, side, c + 1):
        c += 1
    return c


@inlined
def coordinate(grid: Grid, j: int, x: float) -> int:
    """The coordinate of x in dimension j."""
    return locate(x, grid.low[j], grid.side[j], grid.n[j])


@inlined
def edge_low(grid: Grid, j: int, c: int) -> float:
    """The lower edge of coordinate c in dimension j, -inf at the border."""
    return line(grid.low[j], grid.side[j], c) if c > 0 else -np.inf


@inlined
def edge_high(grid: Grid, j: int, c: int) -> float:
    """The upper edge of coordinate c in dimension j, +inf at the border."""
    return line(grid.low[j], grid.side[j], c + 1) if c < grid.n[j] - 1 else np.inf


@kernel
def cell_of(grid: Grid, point: Floats) -> int:
    """The cell that a point lies in."""
    low, side, n, stride = grid
    cell = 0
    for j in range(len(n)):
        cell += locate(point[j], low[j], side[j], n[j]) * stride[j]
    return cell


@inlined
def rest_bound(grid: Grid, kind: int, centre: Floats) -> float:
    """What dimensions that are not gridded allow: 0, or -inf where a sum can grow without limit."""
    if not has_cells(kind):
        return -np.inf
    if has_corner(kind):
        for j in range(len(grid.n), len(centre)):
            if centre[j] != 0.0:
                return -np.inf
    return 0.0


@kernel
def box_bound(grid: Grid, kind: int, centre: Floats, weight: Floats, first: Int64s, last: Int64s) -> float:
    """No point in the cells with coordinates `first` to `last` has a lower directed score."""
    bound = 0.0
    if rest_bound(grid, kind, centre) < 0.0:
        return -np.inf
    for j in range(len(grid.n)):
        w = weight[j] if has_weights(kind) else 0.0
        part = term(kind, centre[j], w, edge_low(grid, j, first[j]), edge_high(grid, j, last[j]))
        bound = joined(kind, bound, part)
    return bound


@kernel
def cell_bound(grid: Grid, kind: int, centre: Floats, weight: Floats, cell: int) -> float:
    """No point in the cell has a lower directed score."""
    bound, n, stride = 0.0, grid.n, grid.stride
    if rest_bound(grid, kind, centre) < 0.0:
        return -np.inf
    for j in range(len(n)):
        w, c = weight[j] if has_weights(kind) else 0.0, cell // stride[j] % n[j]
        bound = joined(kind, bound, term(kind, centre[j], w, edge_low(grid, j, c), edge_high(grid, j, c)))
    return bound


def check_grid(grid: Grid) -> None:
    """Assert the invariants."""
    assert len(grid.low) == len(grid.side) == len(grid.n) == len(grid.stride) <= WIDEST
    assert (grid.side > 0.0).all()
    assert np.isfinite(grid.low).all()
    assert np.isfinite(grid.side).all()
    assert (grid.n >= 1).all()
    for j in range(len(grid.n)):
        assert grid.stride[j] == math.prod(grid.n[j + 1 :].tolist())
