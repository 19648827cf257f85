"""The stored publications by cell of a regular grid, for searches that begin where the best ones lie.

Each cell has a stretch of a pool: the places `START` to `LIMIT`, a power of two of them, of which `FIRST` to `END` are
taken. A publication is appended to the stretch of its cell when it arrives. When a stretch is full, what the store has
forgotten is dropped from its beginning; the rest moves down, or to another stretch where it fills most of this one or
little of it. Stretches that are given up are used again, by size. A full pool is laid out anew by its owner. Searches
write nothing here, so that several threads may search at a time.

Invariants: stretches, in use or given up, fill the pool up to `used[0]` and do not overlap; the numbers of a cell
ascend; an entry lies in the cell of its point; `points` repeats the store's points bit for bit; they lie within `low`
and `high` in every dimension.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels import ragged
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.grid import Grid, line, locate

START = 0
FIRST = 1
END = 2
LIMIT = 3

ARRIVED = 0
OUTSIDE = 1

# The shortest stretch has 2 ** SHORTEST places.
SHORTEST = 2


class CellPool(NamedTuple):
    """`cells` has a row of four places for each cell; `numbers` and `points` are the pool, a row for each place.

    `free[e]` is the first stretch of 2 ** e places that was given up, or -1; the number at its start is the next one.
    `tally` counts the arrivals since the owner last looked, and those of them outside of the box that the grid was
    fitted to. Where at most `plain` publications are stored, looking at all of them is no slower than a search.
    `on_sphere` says that cells are of the unit sphere that places on Earth lie on.
    """

    grid: Grid
    cells: Int64s
    numbers: Int64s
    points: Floats
    low: Floats
    high: Floats
    free: Int64s
    used: Int64s
    tally: Int64s
    plain: int
    on_sphere: bool


def make_cell_pool(grid: Grid, dims: int, n_held: Int64s, plain: int, on_sphere: bool = False) -> CellPool:
    """An empty pool for so many publications in each cell: a quarter of each cell is left free, and of the pool."""
    # The exponent of x - 1/2 is that of the least power of two that is no less than the whole number x.
    exponents = np.maximum(np.frexp(n_held + n_held // 3 + 0.5)[1], SHORTEST).astype(np.int64)
    room = np.left_shift(np.int64(1), exponents)
    ends = np.cumsum(room)
    cells = np.stack([ends - room, ends - room, ends - room, ends], axis=1)
    size = int(ends[-1]) + int(ends[-1]) // 3
    return CellPool(
        grid=grid,
        cells=cells,
        numbers=np.zeros(size, np.int64),
        points=np.zeros((size, dims)),
        low=np.full(dims, np.inf),
        high=np.full(dims, -np.inf),
        free=np.full(64, -1),
        used=ends[-1:].copy(),
        tally=np.zeros(2, np.int64),
        plain=plain,
        on_sphere=on_sphere,
    )


@kernel
def cells_of(grid: Grid, point: Floats, lo: int, hi: int, cells: Int64s) -> None:
    """The cells of the publications lo to hi, written from index 0; `point` is (dimension, publication)."""
    for i in range(hi - lo):
        cells[i] = 0
    for j in range(len(grid.n)):
        low, side, n, stride = grid.low[j], grid.side[j], grid.n[j], grid.stride[j]
        for i in range(hi - lo):
            cells[i] += stride * locate(point[j, lo + i], low, side, n)


@inlined
def _exponent(room: int) -> int:
    """The shortest stretch with this much room has 2 to this power places."""
    exponent = SHORTEST
    while 1 << exponent < room:
        exponent += 1
    return exponent


@inlined
def _take_stretch(numbers: Int64s, free: Int64s, used: Int64s, exponent: int) -> int:
    """The start of a stretch of 2 ** exponent places, or -1 if the pool has none."""
    start = free[exponent]
    if start >= 0:
        free[exponent] = numbers[start]
    elif used[0] + (1 << exponent) <= len(numbers):
        start = used[0]
        used[0] += 1 << exponent
    return start


@inlined
def _move(numbers: Int64s, points: Floats, first: int, n: int, to: int) -> None:
    for i in range(n):
        numbers[to + i] = numbers[first + i]
        for j in range(points.shape[1]):
            points[to + i, j] = points[first + i, j]


@kernel
def _make_room(
    cells: Int64s, numbers: Int64s, points: Floats, free: Int64s, used: Int64s, cell: int, oldest: int
) -> bool:
    """Drop the numbers below `oldest` from a full stretch and move the others; False if the pool has no room.

    At least a quarter of the stretch is free then, so that an arrival causes at most three moves in the long run.
    """
    start, first, end, limit = cells[cell, START], cells[cell, FIRST], cells[cell, END], cells[cell, LIMIT]
    while first < end and numbers[first] < oldest:
        first += 1
    n, room, to = end - first, limit - start, start
    is_tight, is_wide = 4 * n > 3 * room, 4 * n <= room and room > 1 << SHORTEST
    if is_tight or is_wide:
        to = _take_stretch(numbers, free, used, _exponent(2 * n))
        if to < 0 and is_tight:
            return False
        if to < 0:
            to = start
    _move(numbers, points, first, n, to)
    if to != start:
        exponent = _exponent(room)
        numbers[start], free[exponent] = free[exponent], start
        cells[cell, START], cells[cell, LIMIT] = to, to + (1 << _exponent(2 * n))
    cells[cell, FIRST], cells[cell, END] = to, to + n
    return True


@inlined
def _lies_outside(low: float, side: float, n: int, x: float) -> bool:
    return x < low or x > line(low, side, n)


@kernel
def put_in_cells(cell_pool: CellPool, point: Floats, base: int, lo: int, hi: int, oldest: int) -> int:
    """Append the publications lo to hi to their cells; returns the first that there was no room for.

    `point` is (dimension, publication). Their numbers begin at `base` + lo; those below `oldest` are forgotten.
    """
    cells, numbers, points, tally = cell_pool.cells, cell_pool.numbers, cell_pool.points, cell_pool.tally
    least, most, free, used = cell_pool.low, cell_pool.high, cell_pool.free, cell_pool.used
    low, side, n, stride = cell_pool.grid
    for p in range(lo, hi):
        cell, outside = 0, False
        for j in range(len(n)):
            cell += stride[j] * locate(point[j, p], low[j], side[j], n[j])
            outside |= _lies_outside(low[j], side[j], n[j], point[j, p])
        if cells[cell, END] == cells[cell, LIMIT] and not _make_room(cells, numbers, points, free, used, cell, oldest):
            return p
        at = cells[cell, END]
        numbers[at] = base + p
        for j in range(len(least)):
            x = point[j, p]
            points[at, j] = x
            least[j], most[j] = min(least[j], x), max(most[j], x)
        cells[cell, END] = at + 1
        tally[ARRIVED] += 1
        tally[OUTSIDE] += outside
    return hi


def places_of(cell_pool: CellPool) -> Int64s:
    """The places of the pool that are taken, cell by cell."""
    first, end = cell_pool.cells[:, FIRST], cell_pool.cells[:, END]
    lengths = end - first
    return ragged.places_of(first, lengths)


def stretches_of(cell_pool: CellPool) -> Int64s:
    """The start and the end of every stretch, in use or given up, in the order of the pool."""
    stretches = cell_pool.cells[:, [START, LIMIT]].tolist()
    for exponent, start in enumerate(cell_pool.free.tolist()):
        while start >= 0:
            stretches.append([start, start + (1 << exponent)])
            start = int(cell_pool.numbers[start])
            assert len(stretches) <= len(cell_pool.numbers), "a list of free stretches runs in a circle"
    return np.array(sorted(stretches), np.int64)


def check_cell_pool(cell_pool: CellPool) -> None:
    """Assert the invariants that can be seen without the store."""
    start, first, end, limit = cell_pool.cells.T
    assert ((start <= first) & (first <= end) & (end <= limit)).all()
    assert np.array_equal(np.frexp(limit - start)[0], np.full(len(start), 0.5))
    starts, ends = stretches_of(cell_pool).T
    assert np.array_equal(starts[1:], ends[:-1])
    assert (starts[0], ends[-1]) == (0, cell_pool.used[0])
    assert cell_pool.used[0] <= len(cell_pool.numbers)
    places = places_of(cell_pool)
    cells, found = ragged.owners_of(end - first), np.zeros(len(places), np.int64)
    points = cell_pool.points[places]
    cells_of(cell_pool.grid, np.ascontiguousarray(points.T), 0, len(places), found)
    assert np.array_equal(found, cells)
    assert (np.diff(cell_pool.numbers[places])[np.diff(cells) == 0] > 0).all()
    assert ((cell_pool.low <= points) & (points <= cell_pool.high)).all()
