"""Cells of interest: for each cell of a grid, the subscriptions that a publication in it may pass the gate of.

A slot is listed in the cells whose bound is at most its gate. A slot that would be listed in more than a `SHARE` of all
cells, has no gate (+inf), or a kind or dimensions that cells say nothing about, is listed *everywhere* instead: once,
in a list that every publication looks at. It comes back into cells when half as many would do, so that a gate that
swings around the limit does not move a thousand entries each time.

Gates move often and cells of interest rarely. For each slot `inner` is the largest bound within its gate and `outer`
the smallest beyond: while the gate stays in [inner, outer) its cells stay too, and a move costs two comparisons.

A half-plane (SUM) would hold every cell at the borders that it faces, since these reach to infinity: with 8 cells in
each of 4 dimensions that is two cells of five. For SUM, border cells end with the grid instead, and a publication
beyond it looks at a list of all half-planes, `outside`, and not at those of its cell.

Lists lie in a pool: `start`, `length`, `capacity`, entries in no order. There is one for each of the three kinds and
each cell (so that a loop over a list runs one score), one for what is everywhere of each kind, and `outside`. A list
that is full moves to the end of the pool and leaves a hole; when the end is reached the kernels stop, and `repacked`
makes a pool without holes and with room.

Invariants: lists do not overlap and end before `end[0]`. `n_listed` is the number of cells a slot is listed in, no more
than a share of all, or `EVERYWHERE`, or `NOWHERE`: in no list at all, which is so if the gate is -inf, as that of an
absent slot is. `place` is the slot's place in the list everywhere or outside, if it is in one.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.compile import allocating, inlined, kernel
from skyband.kernels.select import nth
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.grid import Grid, line, locate, n_cells, rest_bound
from skyband.topk.kernels.score import EUCLIDEAN, SUM, Contents, has_corner, has_lengths, joined, score_listed, term

# Kinds that cells have lists for, and the lists that are not of cells: everywhere for each of four kinds, and outside.
KINDS = 3
EXTRA = 5
SHARE = 4
EVERYWHERE = -1
NOWHERE = -2
LARGEST = np.finfo(np.float64).max
NO_ROOM = -1
STRETCH = 64


class CellLists(NamedTuple):
    """Lists of slots in one pool; `end` is where its use ends, and how much room behind was wanted."""

    pool: Int32s
    end: Int64s
    start: Int64s
    length: Int64s
    capacity: Int64s


class CellIndex(NamedTuple):
    """What the index keeps of each slot; `centre` and `weight` are (slot, dimension)."""

    kind: Int64s
    gate: Floats
    inner: Floats
    outer: Floats
    n_listed: Int64s
    place: Int64s
    norm: Floats
    centre: Floats
    weight: Floats


class Axis(NamedTuple):
    """One dimension of a grid, and of a subscription."""

    low: float
    side: float
    n: int
    centre: float
    weight: float


class Path(NamedTuple):
    """Scratch of a walk over cells, by dimension: where it is, where it began, which way it goes, the bound of the
    dimensions before, the least term."""

    at: Int64s
    home: Int64s
    step: Int64s
    partial: Floats
    best: Floats


class FoundCells(NamedTuple):
    """The `n[0]` cells that a walk found, their bounds, and the bounds on either side of what it looked for."""

    band: Floats
    n: Int64s
    cell: Int64s
    bound: Floats


class Look(NamedTuple):
    """Scratch of a publication's look at lists; `n_outside` adds up the publications beyond the lines of the grid."""

    point: Floats
    of: Int64s
    n_outside: Int64s


def make_lists(cells: int) -> CellLists:
    """Empty lists for a grid of so many cells."""
    integers = [np.zeros(KINDS * cells + EXTRA, np.int64) for _ in range(3)]
    return CellLists(np.zeros(0, np.int32), np.zeros(2, np.int64), *integers)


def make_cell_index(dims: int) -> CellIndex:
    """Room for no slots yet."""
    numbers, integers, vectors = np.zeros(0), np.zeros(0, np.int64), np.zeros((0, dims))
    return CellIndex(integers, numbers, numbers, numbers, integers, integers, numbers, vectors, vectors)


def make_path(dims: int) -> Path:
    """Scratch for a grid with so many gridded dimensions."""
    integers = np.zeros((3, dims), np.int64)
    return Path(integers[0], integers[1], integers[2], np.zeros(dims), np.zeros(dims))


def make_found(cells: int) -> FoundCells:
    """Room for so many cells."""
    return FoundCells(np.zeros(2), np.zeros(1, np.int64), np.zeros(cells, np.int64), np.zeros(cells))


def make_look(dims: int) -> Look:
    """Scratch for points of so many dimensions."""
    return Look(np.zeros(dims), np.zeros(2 * KINDS + 1, np.int64), np.zeros(1, np.int64))


@inlined
def _axis(grid: Grid, centre: Floats, weight: Floats, j: int) -> Axis:
    return Axis(grid.low[j], grid.side[j], grid.n[j], centre[j], weight[j])


@inlined
def _bound_at(kind: int, partial: float, axis: Axis, c: int) -> float:
    """The bound of some dimensions joined with the term of coordinate c in one more."""
    # A half-plane has border cells that end with the grid.
    start = line(axis.low, axis.side, c) if c > 0 or has_corner(kind) else -np.inf
    end = line(axis.low, axis.side, c + 1) if c < axis.n - 1 or has_corner(kind) else np.inf
    return joined(kind, partial, term(kind, axis.centre, axis.weight, start, end))


@inlined
def _home(kind: int, axis: Axis) -> int:
    """The coordinate with the least term."""
    if has_corner(kind):
        return axis.n - 1 if axis.centre > 0.0 else 0
    return locate(axis.centre, axis.low, axis.side, axis.n)


@inlined
def _n_within(kind: int, partial: float, axis: Axis, c: int, step: int, lo: float) -> int:
    """How many coordinates from c on have a bound of at most `lo`."""
    few, many = 0, axis.n - c if step > 0 else c + 1
    while few < many:
        middle = (few + many) // 2
        if _bound_at(kind, partial, axis, c + step * middle) <= lo:
            few = middle + 1
        else:
            many = middle
    return few


@inlined
def _walk_row(
    kind: int, partial: float, axis: Axis, home: int, lo: float, hi: float, cell: int, found: FoundCells
) -> None:
    """Find cells that differ in the last dimension only; `cell` is the one with coordinate 0."""
    cells, bounds, band, n_found = found.cell, found.bound, found.band, found.n[0]
    for step in (1, -1):
        c = home if step > 0 else home - 1
        n_within = _n_within(kind, partial, axis, c, step, lo)
        if n_within > 0:
            c += step * n_within
            band[0] = max(band[0], _bound_at(kind, partial, axis, c - step))
        while 0 <= c < axis.n:
            bound = _bound_at(kind, partial, axis, c)
            if bound > hi:
                band[1] = min(band[1], bound)
                break
            cells[n_found], bounds[n_found] = cell + c, bound
            n_found += 1
            c += step
    found.n[0] = n_found


@kernel
def _walk(
    grid: Grid, kind: int, centre: Floats, weight: Floats, lo: float, hi: float, path: Path, found: FoundCells
) -> int:
    """Find the cells with lo < bound <= hi; returns how many. `band` is set to the bounds on either side of them.

    In each dimension coordinates are tried outwards from the best one, up and then down, the best assumed of the
    dimensions to come. Terms do not decrease on the way, so the first coordinate beyond `hi` ends it, and what was
    assumed is the bound of a cell.
    """
    n, stride, band, last = grid.n, grid.stride, found.band, len(grid.n) - 1
    at, home, step, partial, best = path
    for j in range(len(n)):
        axis = _axis(grid, centre, weight, j)
        home[j] = _home(kind, axis)
        best[j] = _bound_at(kind, 0.0, axis, home[j])
    band[0], band[1], found.n[0] = -np.inf, np.inf, 0
    last_axis, j, cell = _axis(grid, centre, weight, last), 0, 0
    at[0], step[0], partial[0] = home[0], 1, 0.0
    while j >= 0:
        if j == last:
            _walk_row(kind, partial[j], last_axis, home[j], lo, hi, cell, found)
        elif 0 <= at[j] < n[j]:
            so_far = _bound_at(kind, partial[j], _axis(grid, centre, weight, j), at[j])
            bound = so_far
            if has_corner(kind):
                for i in range(j + 1, len(n)):
                    bound += best[i]
            if bound <= hi:
                cell += at[j] * stride[j]
                j += 1
                at[j], step[j], partial[j] = home[j], 1, so_far
                continue
            band[1] = min(band[1], bound)
        if j < last and step[j] > 0:
            at[j], step[j] = home[j] - 1, -1
            continue
        j -= 1
        if j >= 0:
            cell -= at[j] * stride[j]
            at[j] += step[j]
    return found.n[0]


@allocating
def cell_band(grid: Grid, kind: int, centre: Floats, weight: Floats, gate: float) -> tuple[float, float]:
    """The largest bound of a cell that is at most the gate, or -inf, and the smallest that is larger, or +inf.

    Bounds are those that slots are listed by. The scratch is made anew, for 0.3 µs a call.
    """
    dims = len(grid.n)
    if rest_bound(grid, kind, centre) < 0.0:
        return -np.inf, np.inf
    if dims == 0:
        return (0.0, np.inf) if gate >= 0.0 else (-np.inf, 0.0)
    integers, floats = np.empty((3, dims), np.int64), np.empty((2, dims))
    path = Path(integers[0], integers[1], integers[2], floats[0], floats[1])
    found = FoundCells(np.empty(2), np.empty(1, np.int64), integers[0], floats[0])
    _walk(grid, kind, centre, weight, gate, gate, path, found)
    return found.band[0], found.band[1]


@inlined
def _first_list(kind: int, lists: CellLists) -> int:
    """The list of a kind's first cell."""
    return kind * ((len(lists.start) - EXTRA) // KINDS)


@inlined
def _extra_list(kind: int, n_listed: int, n_lists: int) -> int:
    """The list that is not of a cell and holds a slot, or -1."""
    if n_listed == EVERYWHERE:
        return n_lists - EXTRA + kind
    return n_lists - 1 if has_corner(kind) and n_listed >= 0 else -1


@inlined
def _room_to_append(lists: CellLists, of: int) -> int:
    """How much of the pool an append will take."""
    return max(4, 2 * lists.capacity[of]) if lists.length[of] == lists.capacity[of] else 0


@kernel
def _append(lists: CellLists, of: int, slot: int) -> None:
    pool, length = lists.pool, lists.length[of]
    if length == lists.capacity[of]:
        start, end, room = lists.start[of], lists.end[0], _room_to_append(lists, of)
        for i in range(length):
            pool[end + i] = pool[start + i]
        lists.start[of], lists.capacity[of] = end, room
        lists.end[0] += room
    pool[lists.start[of] + length] = slot
    lists.length[of] += 1


@kernel
def _position(lists: CellLists, of: int, slot: int) -> int:
    """Where a slot stands in a list that holds it; a stretch at a time, which takes few instructions."""
    start, n, wanted = lists.start[of], lists.length[of], np.int32(slot)
    listed = lists.pool[start : start + n]
    for first in range(0, n - STRETCH + 1, STRETCH):
        part = listed[first : first + STRETCH]
        n_hits = 0
        for i in range(STRETCH):
            n_hits += part[i] == wanted
        if n_hits > 0:
            break
    else:
        first = n - n % STRETCH
    while listed[first] != wanted:
        first += 1
    return first


@inlined
def _drop(lists: CellLists, of: int, position: int) -> int:
    """Take an entry out of a list; returns the slot that takes its place."""
    pool, start, last = lists.pool, lists.start[of], lists.length[of] - 1
    moved = pool[start + last]
    pool[start + position] = moved
    lists.length[of] = last
    return moved


@kernel
def _set_listed(cell_index: CellIndex, slot: int, n_listed: int, lists: CellLists) -> None:
    """Note how many cells a slot is listed in, and move it between the lists that depend on it."""
    kind, n_lists, place = cell_index.kind[slot], len(lists.start), cell_index.place
    before = _extra_list(kind, cell_index.n_listed[slot], n_lists)
    after = _extra_list(kind, n_listed, n_lists)
    cell_index.n_listed[slot] = n_listed
    if before == after:
        return
    if before >= 0:
        place[_drop(lists, before, place[slot])] = place[slot]
    if after >= 0:
        place[slot] = lists.length[after]
        _append(lists, after, slot)


@kernel
def is_boundless(grid: Grid, kind: int, centre: Floats) -> bool:
    """Whether a subscription is of interest everywhere, whatever its gate."""
    return n_cells(grid) < SHARE or rest_bound(grid, kind, centre) < 0.0


@kernel
def _plan(grid: Grid, cell_index: CellIndex, slot: int, gate: float, path: Path, found: FoundCells) -> int:
    """Find the cells that come or go when the gate moves; returns how many the slot is then listed in."""
    kind, centre, weight = cell_index.kind[slot], cell_index.centre[slot], cell_index.weight[slot]
    band, n_before = found.band, max(0, cell_index.n_listed[slot])
    until = cell_index.gate[slot] if n_before > 0 else -np.inf
    boundless = is_boundless(grid, kind, centre)
    if boundless or gate == np.inf or gate == -np.inf:
        found.n[0] = 0
        if n_before > 0:
            _walk(grid, kind, centre, weight, -np.inf, until, path, found)
        if gate == -np.inf:
            band[0], band[1] = -np.inf, -LARGEST
            return NOWHERE
        # How far a gate of +inf has to come back is found out when it does.
        band[0], band[1] = -LARGEST if boundless else np.inf, np.inf
        return EVERYWHERE
    n_found = _walk(grid, kind, centre, weight, min(until, gate), max(until, gate), path, found)
    band[0] = max(band[0], -LARGEST)
    for i in range(n_found):
        if until < gate:
            band[0] = max(band[0], found.bound[i])
        else:
            band[1] = min(band[1], found.bound[i])
    n_after = n_before + n_found if until < gate else n_before - n_found
    if n_after > n_cells(grid) // SHARE:
        _walk(grid, kind, centre, weight, -np.inf, gate, path, found)
        return EVERYWHERE
    return n_after


@kernel
def _room_wanted(kind: int, n_before: int, n_after: int, found: FoundCells, lists: CellLists) -> int:
    """How much of the pool it takes to list a slot as it shall be listed."""
    room, first, extra = 0, _first_list(kind, lists), _extra_list(kind, n_after, len(lists.start))
    if extra >= 0 and extra != _extra_list(kind, n_before, len(lists.start)):
        room = _room_to_append(lists, extra)
    if n_after > max(0, n_before):
        for i in range(found.n[0]):
            room += _room_to_append(lists, first + found.cell[i])
    return room


@kernel
def _move(
    grid: Grid, cell_index: CellIndex, slot: int, gate: float, lists: CellLists, path: Path, found: FoundCells
) -> int:
    """Set the gate and the cells of a slot; returns whether the cells changed, or NO_ROOM when nothing was done."""
    kind, n_before, until = cell_index.kind[slot], cell_index.n_listed[slot], cell_index.gate[slot]
    n_after = _plan(grid, cell_index, slot, gate, path, found)
    n_found, bounds, band, first = found.n[0], found.bound, found.band, _first_list(kind, lists)
    lists.end[1] = _room_wanted(kind, n_before, n_after, found, lists)
    if lists.end[0] + lists.end[1] > len(lists.pool):
        return NO_ROOM
    for i in range(n_found):
        if n_after > max(0, n_before):
            _append(lists, first + found.cell[i], slot)
        elif n_before > 0 and bounds[i] <= until:
            _drop(lists, first + found.cell[i], _position(lists, first + found.cell[i], slot))
    limit = n_cells(grid) // SHARE
    if n_after == EVERYWHERE and n_found > limit:
        band[0], band[1] = nth(bounds, n_found, limit // 2), np.inf
    cell_index.gate[slot], cell_index.inner[slot], cell_index.outer[slot] = gate, band[0], band[1]
    _set_listed(cell_index, slot, n_after, lists)
    # Nowhere and in no cell of the grid are the same set of cells.
    return int((0 if n_before == NOWHERE else n_before) != (0 if n_after == NOWHERE else n_after))


@kernel
def adjust(
    slots: Int64s,
    gates: Floats,
    done: int,
    grid: Grid,
    cell_index: CellIndex,
    lists: CellLists,
    path: Path,
    found: FoundCells,
    n_updates: Int64s,
) -> int:
    """Move the gates of slots from `slots[done]` on; returns how many are done, which is not all if the pool is full.

    The slots whose cells changed are added to `n_updates`.
    """
    gate_of, inner, outer = cell_index.gate, cell_index.inner, cell_index.outer
    for i in range(done, len(slots)):
        slot, gate = slots[i], gates[i]
        if inner[slot] <= gate and (gate < outer[slot] or outer[slot] == np.inf):
            gate_of[slot] = gate
            continue
        changed = _move(grid, cell_index, slot, gate, lists, path, found)
        if changed == NO_ROOM:
            return i
        n_updates[0] += changed
    return len(slots)


@kernel
def _look_up(grid: Grid, point: Floats, lists: CellLists, of: Int64s) -> bool:
    """Write down the lists that concern a point, a cell's by kind and then those of everywhere; returns whether the
    point lies within the lines of the grid."""
    low, side, n, stride = grid
    cell, inside = 0, True
    for j in range(len(n)):
        x = point[j]
        cell += locate(x, low[j], side[j], n[j]) * stride[j]
        inside &= (line(low[j], side[j], 0) <= x) & (x <= line(low[j], side[j], n[j]))
    for kind in range(KINDS):
        of[kind] = _first_list(kind, lists) + cell
    for kind in range(KINDS + 1):
        of[KINDS + kind] = len(lists.start) - EXTRA + kind
    if not inside:
        of[SUM] = len(lists.start) - 1
    return inside


@kernel
def _pass_gates(
    contents: Contents,
    publication: int,
    kind: int,
    slots: Int32s,
    cell_index: CellIndex,
    point: Floats,
    n: int,
    into: Candidates,
) -> int:
    """Add the slots of a list that the publication passes the gates of from place n on; returns the place after, which
    is past the end when there was no room.
    """
    gate, centre, weight, norm = cell_index.gate, cell_index.centre, cell_index.weight, cell_index.norm
    length = contents.norm[publication] if has_lengths(kind) else 0.0
    into_slot, into_publication, into_directed = into.slot, into.publication, into.directed
    for i in range(len(slots)):
        slot = slots[i]
        directed = score_listed(kind, centre, weight, norm, slot, point, length)
        if directed <= gate[slot] and directed != np.inf:
            if n < len(into_slot):
                into_slot[n], into_publication[n], into_directed[n] = slot, publication, directed
            n += 1
    return n


@kernel
def match(
    contents: Contents,
    lo: int,
    hi: int,
    grid: Grid,
    cell_index: CellIndex,
    lists: CellLists,
    look: Look,
    into: Candidates,
) -> int:
    """Find the slots that publications lo to hi pass the gates of; returns the first one that there was no room for."""
    start, length, point, of = lists.start, lists.length, look.point, look.of
    for p in range(lo, hi):
        for j in range(len(point)):
            point[j] = contents.point[j, p]
        inside = _look_up(grid, point, lists, of)
        n, n_scored = into.length[0], 0
        for i in range(len(of)):
            if length[of[i]] > 0:
                slots = lists.pool[start[of[i]] : start[of[i]] + length[of[i]]]
                n = _pass_gates(contents, p, i if i < KINDS else i - KINDS, slots, cell_index, point, n, into)
                n_scored += len(slots)
        if n > len(into.slot):
            return p
        into.length[0] = n
        into.counts[0] += n_scored
        look.n_outside[0] += not inside
    return hi


def repacked(lists: CellLists) -> CellLists:
    """The same lists in a pool without holes, with the room that was wanted and as much again as they take."""
    # A list that has become empty keeps some room too: without, more would be wanted than was before.
    capacity = np.where(lists.capacity > 0, lists.length + lists.length // 2 + 4, 0)
    ends = np.cumsum(capacity)
    total = int(ends[-1])
    pool = np.zeros(2 * total + int(lists.end[1]) + 64, np.int32)
    longer = CellLists(pool, np.array([total, 0]), ends - capacity, lists.length, capacity)
    _copy(lists, longer)
    return longer


@kernel
def _copy(lists: CellLists, longer: CellLists) -> None:
    before, after = lists.pool, longer.pool
    for of in range(len(lists.start)):
        start, to = lists.start[of], longer.start[of]
        for i in range(lists.length[of]):
            after[to + i] = before[start + i]


def cell_bounds(grid: Grid, kind: int, centre: Floats, weight: Floats) -> Floats:
    """The bounds of all cells as subscriptions are listed by, in plain numpy: what the walks are checked against."""
    if rest_bound(grid, kind, centre) < 0.0:
        return np.full(int(n_cells(grid)), -np.inf)
    bounds = np.zeros(1)
    for j in range(len(grid.n)):
        lines = grid.low[j] + np.arange(grid.n[j] + 1) * grid.side[j]
        if kind == SUM:
            edge = lines[1:] if centre[j] > 0.0 else lines[:-1]
            bounds = bounds[:, None] - centre[j] * edge
        else:
            lines[0], lines[-1] = -np.inf, np.inf
            gap = np.maximum(0.0, np.maximum(lines[:-1] - centre[j], centre[j] - lines[1:]))
            bounds = bounds[:, None] + gap * gap if kind == EUCLIDEAN else np.maximum(bounds[:, None], weight[j] * gap)
        bounds = bounds.reshape(-1)
    return bounds


def entries(lists: CellLists, of: int) -> Int64s:
    """The slots in a list."""
    return lists.pool[lists.start[of] : lists.start[of] + lists.length[of]].astype(np.int64)


def check_lists(lists: CellLists) -> None:
    """Assert that lists keep to places of their own."""
    taken = np.flatnonzero(lists.capacity)
    taken = taken[np.argsort(lists.start[taken])]
    ends = lists.start[taken] + lists.capacity[taken]
    assert (ends[:-1] <= lists.start[taken][1:]).all()
    assert ends.max(initial=0) <= lists.end[0] <= len(lists.pool)
    assert (lists.length <= lists.capacity).all()


def check_slot(grid: Grid, cell_index: CellIndex, lists: CellLists, slot: int, listed: Int64s) -> None:
    """Assert the invariants of a slot that is listed in these lists, in ascending order."""
    kind, gate, n_listed = int(cell_index.kind[slot]), cell_index.gate[slot], int(cell_index.n_listed[slot])
    limit, n_lists = int(n_cells(grid)) // SHARE, len(lists.start)
    bounds = cell_bounds(grid, kind, cell_index.centre[slot], cell_index.weight[slot])
    inside = np.flatnonzero(bounds <= gate)
    extra = _extra_list(kind, n_listed, n_lists)
    if extra >= 0:
        assert lists.pool[lists.start[extra] + cell_index.place[slot]] == slot
        assert listed[-1] == extra
        listed = listed[:-1]
    assert (n_listed == NOWHERE) == (gate == -np.inf)
    if n_listed == NOWHERE:
        assert len(listed) == 0
    elif n_listed == EVERYWHERE:
        assert len(listed) == 0
        assert gate == np.inf or len(inside) > limit // 2 or is_boundless(grid, kind, cell_index.centre[slot])
        assert cell_index.inner[slot] <= gate
        assert cell_index.outer[slot] == np.inf
    else:
        assert n_listed == len(inside) <= limit
        assert (listed == _first_list(kind, lists) + inside).all()
        assert cell_index.inner[slot] == bounds[inside].max(initial=-LARGEST)
        assert cell_index.outer[slot] == bounds[bounds > gate].min(initial=np.inf)


def check_cell_index(grid: Grid, cell_index: CellIndex, lists: CellLists) -> None:
    """Assert the invariants of all slots."""
    check_lists(lists)
    slot = np.concatenate([entries(lists, of) for of in range(len(lists.start))])
    order = np.argsort(slot, kind="stable")
    of, starts = np.repeat(np.arange(len(lists.start)), lists.length)[order], np.arange(len(cell_index.gate) + 1)
    places = np.searchsorted(slot[order], starts)
    for i in range(len(cell_index.gate)):
        check_slot(grid, cell_index, lists, i, of[places[i] : places[i + 1]])
    assert places[-1] == len(of)
