"""CPM, the conceptual partitioning method: the best stored publications for a query, cell by cell, best bound first.

A queue holds cells by the least directed score that a point in them can have. For a distance the search begins with
the query's own cell. The cells around it are not listed one by one; *rectangles* stand in the queue for them. Rectangle
(i, side, level) has the cells that lie `level` steps from home towards that side in dimension i, fewer than `level`
steps in the dimensions before i, and at most `level` steps in those after it: the rectangles of a level have each cell
of its shell once. When a rectangle comes up, its cells are pushed, and the rectangle of the next level behind it. For a
sum the search begins in the corner that the weights favour. When a cell comes up, those one step worse are pushed, each
by the one cell that it differs from in the last of the dimensions in which it has left the corner. The search ends when
the least bound is beyond the gate, which the worst of the kept publications sets.

Mouratidis, Hadjieleftheriou, Papadias: Conceptual partitioning, SIGMOD 2005; for sums: Mouratidis, Bakiras, Papadias:
Continuous monitoring of top-k queries over sliding windows, SIGMOD 2006.

No bound exceeds a score in its cell by as much as a bit (see `grid`), so nothing is missed. A bound that equals the
gate is not beyond it: of equal scores the more recent publication is better.

Invariants of the queue: no bound is less than that of its parent, at `(i - 1) // 2`; a cell or rectangle is pushed once
in a search; whatever has not been pushed has a bound no less than something in the queue, or beyond the gate.

Arrays are given to functions one by one, and one loop to a function, wherever that is inside a loop: a NamedTuple that
is handed on has all of its arrays counted, and so has each array of an inlined function with several loops.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.kernels.queue import BOUND, ENTRY, drop_first, push
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.cell_store import END, FIRST, CellPool
from skyband.topk.kernels.grid import line, locate
from skyband.topk.kernels.scan import RUN, TIME, Live, Published
from skyband.topk.kernels.score import (
    Questions,
    direction,
    gate_of,
    has_cells,
    has_corner,
    has_weights,
    joined,
    measured,
    on_sphere,
    raw_score,
    reach_of,
    score_row,
    score_run,
    term,
)

SCORED = 0
VISITED = 1
PUSHED = 2
CALLS = 3

# Columns of `Frontier.ruler`; the cost of coordinate c is at COST + c.
CENTRE = 0
WEIGHT = 1
LINE = 2
SIDE = 3
LOW = 4
HIGH = 5
SO_FAR = 6
COST = 7

# Columns of `Frontier.shape`.
N = 0
STRIDE = 1
HOME = 2
LEAST = 3
MOST = 4
AT = 5
CELL = 6


class StoreQuery(NamedTuple):
    """What a search is for: the best `want` publications with index below `hi` and an age above `cut` that come after
    (`last_key`, `last_stamp`) in the order of a subscription's row; -inf and the largest integer for all of them.

    `window_kind`, `sign` and `limit` are the subscription's, as in `Rules` and `Buffers`.
    """

    slot: int
    hi: int
    cut: int
    want: int
    window_kind: int
    sign: float
    limit: float
    last_key: float
    last_stamp: int


class Frontier(NamedTuple):
    """Working space of one thread's searches in cells of one shape.

    `queue` is a binary heap of bounds and entries: cells, and rectangles as numbers below 0. For each gridded dimension
    `ruler` has what terms depend on, the bound of the dimensions before it, and the terms of the coordinates priced so
    far; `shape` has the number of cells along it, their stride, the coordinate that the search began at, and of the
    cells that are being listed the range, the coordinate, and the part of the cell that the dimensions before it make.
    `rest` has the terms of the other dimensions. `said` is as long as the vocabulary, for places and words. `counts`
    adds up publications scored, cells visited, pushes and searches.
    """

    queue: Floats
    ruler: Floats
    shape: Int64s
    rest: Floats
    centre: Floats
    weight: Floats
    said: Floats
    run: Floats
    counts: Int64s


def make_frontier(cell_pool: CellPool) -> Frontier:
    """Room for every cell, and for the one rectangle of each dimension and side that can be in the queue at a time."""
    n_cells, n_gridded, dims = len(cell_pool.cells), len(cell_pool.grid.n), len(cell_pool.low)
    return Frontier(
        queue=np.zeros((n_cells + 2 * n_gridded, 2)),
        ruler=np.zeros((n_gridded, COST + int(cell_pool.grid.n.max(initial=1)))),
        shape=np.zeros((n_gridded, 7), np.int64),
        rest=np.zeros(dims - n_gridded),
        centre=np.zeros(dims),
        weight=np.zeros(dims),
        said=np.zeros(1),
        run=np.zeros(RUN),
        counts=np.zeros(4, np.int64),
    )


@inlined
def _price(kind: int, ruler: Floats, n: int, j: int, c: int) -> float:
    """The least that dimension j contributes to a score in coordinate c, which reaches no farther than points do."""
    start, end = ruler[j, LOW], ruler[j, HIGH]
    if c > 0:
        start = max(start, line(ruler[j, LINE], ruler[j, SIDE], c))
    if c < n - 1:
        end = min(end, line(ruler[j, LINE], ruler[j, SIDE], c + 1))
    return term(kind, ruler[j, CENTRE], ruler[j, WEIGHT], start, end)


@inlined
def _push_rectangle(kind: int, gate: float, queue: Floats, n: int, ruler: Floats, shape: Int64s, code: int) -> int:
    """Push a rectangle, unless it lies outside of the grid or beyond the gate; returns how many the queue has."""
    i, level = code // 2 % len(shape), code // 2 // len(shape)
    c = shape[i, HOME] + (level if code % 2 == 1 else -level)
    if 0 <= c < shape[i, N]:
        ruler[i, COST + c] = _price(kind, ruler, shape[i, N], i, c)
        bound = 0.0
        for j in range(len(shape)):
            bound = joined(kind, bound, ruler[j, COST + (c if j == i else shape[j, HOME])])
        if bound <= gate:
            n = push(queue, n, bound, -1 - code)
    return n


@inlined
def _lay_out(kind: int, ruler: Floats, shape: Int64s, code: int) -> None:
    """Write down the range of a rectangle in each dimension, and price the coordinates that its level is the first for.

    The levels before were priced when the rectangles in front of this one came up.
    """
    i, level = code // 2 % len(shape), code // 2 // len(shape)
    for j in range(len(shape)):
        home, n, reach = shape[j, HOME], shape[j, N], level if j > i else level - 1
        shape[j, LEAST], shape[j, MOST] = max(home - reach, 0), min(home + reach, n - 1)
        if home >= level:
            ruler[j, COST + home - level] = _price(kind, ruler, n, j, home - level)
        if home + level < n:
            ruler[j, COST + home + level] = _price(kind, ruler, n, j, home + level)
    shape[i, LEAST] = shape[i, MOST] = shape[i, HOME] + (level if code % 2 == 1 else -level)


@inlined
def _push_cells(kind: int, gate: float, queue: Floats, n: int, ruler: Floats, shape: Int64s) -> int:
    """Push the cells of the range that are not beyond the gate, and look no further where a part of a bound is."""
    j = 0
    shape[0, AT], shape[0, CELL], ruler[0, SO_FAR] = shape[0, LEAST], 0, 0.0
    while j >= 0:
        c = shape[j, AT]
        shape[j, AT] = c + 1
        if c > shape[j, MOST]:
            j -= 1
            continue
        bound = joined(kind, ruler[j, SO_FAR], ruler[j, COST + c])
        cell = shape[j, CELL] + c * shape[j, STRIDE]
        if bound > gate:
            continue
        if j == len(shape) - 1:
            n = push(queue, n, bound, cell)
        else:
            j += 1
            shape[j, AT], shape[j, CELL], ruler[j, SO_FAR] = shape[j, LEAST], cell, bound
    return n


@kernel
def _open(kind: int, gate: float, queue: Floats, n: int, ruler: Floats, shape: Int64s, code: int) -> int:
    """Push the cells of a rectangle and the rectangle behind it; returns how many the queue has."""
    _lay_out(kind, ruler, shape, code)
    n = _push_cells(kind, gate, queue, n, ruler, shape)
    return _push_rectangle(kind, gate, queue, n, ruler, shape, code + 2 * len(shape))


@kernel
def _step_on(
    kind: int, gate: float, queue: Floats, n: int, ruler: Floats, shape: Int64s, rest: Floats, cell: int
) -> int:
    """Push the cells that follow one on the way from the corner; returns how many the queue has."""
    last = 0
    for j in range(len(shape)):
        shape[j, AT] = cell // shape[j, STRIDE] % shape[j, N]
        if shape[j, AT] != shape[j, HOME]:
            last = j
    for i in range(last, len(shape)):
        step = 1 if shape[i, HOME] == 0 else -1
        c = shape[i, AT] + step
        if 0 <= c < shape[i, N]:
            ruler[i, COST + c] = _price(kind, ruler, shape[i, N], i, c)
            bound = 0.0
            for j in range(len(shape)):
                bound += ruler[j, COST + (c if j == i else shape[j, AT])]
            for j in range(len(rest)):
                bound += rest[j]
            if bound <= gate:
                n = push(queue, n, bound, cell + step * shape[i, STRIDE])
    return n


@inlined
def _measure(kind: int, cell_pool: CellPool, frontier: Frontier) -> None:
    """Write down what the bounds of a query depend on: its numbers, the lines of the grid, and how far points reach."""
    ruler, shape, rest, centre, weight = frontier.ruler, frontier.shape, frontier.rest, frontier.centre, frontier.weight
    lines, sides, counts, strides = cell_pool.grid
    low, high = cell_pool.low, cell_pool.high
    for j in range(len(shape)):
        ruler[j, CENTRE], ruler[j, WEIGHT], ruler[j, LINE], ruler[j, SIDE] = centre[j], weight[j], lines[j], sides[j]
        ruler[j, LOW], ruler[j, HIGH] = low[j], high[j]
        shape[j, N], shape[j, STRIDE] = counts[j], strides[j]
        shape[j, HOME] = locate(centre[j], lines[j], sides[j], counts[j])
        if has_corner(kind):
            shape[j, HOME] = counts[j] - 1 if centre[j] > 0.0 else 0
    for i in range(len(rest)):
        j = len(shape) + i
        rest[i] = term(kind, centre[j], weight[j], low[j], high[j])


@kernel
def _begin(kind: int, gate: float, cell_pool: CellPool, frontier: Frontier) -> int:
    """Push the cell that a search begins in and the rectangles around it; returns how many the queue has."""
    _measure(kind, cell_pool, frontier)
    queue, ruler, shape = frontier.queue, frontier.ruler, frontier.shape
    bound, cell = 0.0, 0
    for j in range(len(shape)):
        home = shape[j, HOME]
        price = _price(kind, ruler, shape[j, N], j, home)
        ruler[j, COST + home] = price
        bound = joined(kind, bound, price)
        cell += home * shape[j, STRIDE]
    for part in frontier.rest:
        bound = joined(kind, bound, part)
    n = push(queue, 0, bound, cell)
    if not has_corner(kind):
        for code in range(2 * len(shape), 4 * len(shape)):
            n = _push_rectangle(kind, gate, queue, n, ruler, shape, code)
    return n


@inlined
def _is_asked_for(ask: StoreQuery, kind: int, score: float, stamp: int) -> bool:
    """Whether a score is within the limit and comes after the last that the subscription has."""
    return direction(kind) * score <= ask.limit and worse(ask.sign * score, stamp, ask.last_key, ask.last_stamp)


@inlined
def _tightened(ask: StoreQuery, kind: int, gate: float, n_kept: int, worst: float) -> float:
    """The gate once the worst that is kept has this key: the recency of a Boolean match says nothing of its score."""
    if n_kept == ask.want and ask.sign != 0.0:
        return min(gate, gate_of(kind, worst))
    return gate


@kernel
def _walk(kind: int, cell_pool: CellPool, live: Live, ask: StoreQuery, frontier: Frontier, heap: Heap) -> int:
    """Put the best publications into the heap, cell by cell; returns how many."""
    cells, numbers, points, keys = cell_pool.cells, cell_pool.numbers, cell_pool.points, heap.keys
    queue, ruler, shape, rest = frontier.queue, frontier.ruler, frontier.shape, frontier.rest
    centre, weight, counts = frontier.centre, frontier.weight, frontier.counts
    stamps, ages = live.stamp, live.ts if ask.window_kind == TIME else live.stamp
    floor, base, oldest, end = live.floor, live.base, live.base + live.head, live.base + ask.hi
    gate = gate_of(kind, ask.limit)
    reach = reach_of(kind, gate)
    n = _begin(kind, reach, cell_pool, frontier)
    n_kept = n_scored = n_visited = 0
    while n > 0 and queue[0, BOUND] <= reach:
        entry = int(queue[0, ENTRY])
        n = drop_first(queue, n)
        counts[PUSHED] += 1
        if entry < 0:
            n = _open(kind, reach, queue, n, ruler, shape, -1 - entry)
            continue
        n_visited += 1
        # Backwards, so that what the store has forgotten costs nothing.
        for at in range(cells[entry, END] - 1, cells[entry, FIRST] - 1, -1):
            if numbers[at] < oldest:
                break
            if numbers[at] >= end:
                continue
            directed = score_row(kind, centre, weight, points, at)
            n_scored += 1
            if directed > reach or directed == np.inf:
                continue
            p = numbers[at] - base
            if stamps[p] < floor or ages[p] <= ask.cut:
                continue
            score = raw_score(kind, measured(kind, directed, centre, points, at))
            if _is_asked_for(ask, kind, score, stamps[p]):
                n_kept = heap_push(heap, n_kept, ask.want, ask.sign * score, stamps[p], p)
                gate = _tightened(ask, kind, gate, n_kept, keys[0])
                reach = reach_of(kind, gate)
        if has_corner(kind):
            n = _step_on(kind, reach, queue, n, ruler, shape, rest, entry)
    counts[PUSHED] += n
    counts[SCORED] += n_scored
    counts[VISITED] += n_visited
    return n_kept


@kernel
def _look_at_all(
    kind: int, questions: Questions, published: Published, ask: StoreQuery, frontier: Frontier, heap: Heap
) -> int:
    """Put the best publications into the heap, scoring all that are stored; returns how many."""
    contents, live = published
    directed, said, keys = frontier.run, frontier.said, heap.keys
    stamps, ages = live.stamp, live.ts if ask.window_kind == TIME else live.stamp
    gate, n_kept = gate_of(kind, ask.limit), 0
    for lo in range(live.head, ask.hi, RUN):
        end = min(lo + RUN, ask.hi)
        score_run(questions, ask.slot, contents, lo, end, said, directed)
        for i in range(end - lo):
            if directed[i] > gate or directed[i] == np.inf:
                continue
            p = lo + i
            if stamps[p] < live.floor or ages[p] <= ask.cut:
                continue
            score = raw_score(kind, directed[i])
            if _is_asked_for(ask, kind, score, stamps[p]):
                n_kept = heap_push(heap, n_kept, ask.want, ask.sign * score, stamps[p], p)
                gate = _tightened(ask, kind, gate, n_kept, keys[0])
    frontier.counts[SCORED] += max(ask.hi - live.head, 0)
    return n_kept


@kernel
def search(
    cell_pool: CellPool, questions: Questions, published: Published, ask: StoreQuery, frontier: Frontier, heap: Heap
) -> int:
    """Put what is asked for into the heap, by index into the store and best first; returns how many there are.

    The cells have everything that is stored, in the space of some scores or on the sphere of others; for the rest all
    of it is looked at. `heap` has room for `ask.want`.
    """
    frontier.counts[CALLS] += 1
    if ask.want <= 0:
        return 0
    block, i = ask.slot // BLOCK, ask.slot % BLOCK
    kind, live = questions.kinds[block], published.live
    has_its_cells = has_cells(kind) and on_sphere(kind) == cell_pool.on_sphere
    if not has_its_cells or len(cell_pool.cells) == 1 or ask.hi - live.head <= cell_pool.plain:
        n_kept = _look_at_all(kind, questions, published, ask, frontier, heap)
    else:
        centre, weight, weights = frontier.centre, frontier.weight, questions.weight
        centres = questions.sphere if on_sphere(kind) else questions.centre
        for j in range(len(centre)):
            centre[j] = centres[block, j, i]
            weight[j] = weights[block, j, i] if has_weights(kind) else 0.0
        n_kept = _walk(kind, cell_pool, live, ask, frontier, heap)
    heap_sort(heap, n_kept)
    return n_kept
