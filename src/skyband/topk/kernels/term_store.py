"""Stored messages by word and place, for searches that begin with the best ones.

A spatial inverted index (S2I) for a moving window: each word has a tree of its own. A word with few messages is one
*leaf*: a ring of entries in order of arrival, in a stretch of the pool with 2 ** e places. A leaf that is full with
`most` entries becomes four, one for each quarter of its cell, unless the cell is too small to be quartered; four leaves
with fewer than a quarter of `most` entries become one. What arrives is written behind the end of a ring, and what is
forgotten was at its beginning, so nothing moves while a word is said about as often as before.

A place is a pair of whole numbers, its column and row among 65536 by 65536 cells of the bounds: their bits are the way
down a tree. An entry has 16 bytes: the number of the message modulo 2 ** 31, its place, the weight of the word rounded
up, and a *sketch* of the message: two bits for each of 26 buckets that words fall into, which say whether the largest
weight in it is low, middle or high, or that there is none. Searches need no more to rule out most messages.

Measured with 200,000 messages of 9 words: 0.7 µs to take in a message, and as much to forget it; 250 bytes for each.

Rocha-Junior, Gkorgkas, Jonassen, Nørvåg: Efficient processing of top-k spatial keyword queries, SSTD 2011.

Invariants: stretches, in use or given up, fill the pool up to `state[USED]` and do not overlap; the numbers of a leaf
ascend, and an entry lies in the leaf of its place; a row has the number of the entries below it and the largest of
their weights; a row without entries has no stretch and no quarters. A call that finds no room leaves all this true.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.score import Contents

# Columns of words and nodes. START is where the stretch begins, or minus the number of the four rows of the quarters.
# LARGEST is the largest weight, and in its lowest bits the size of the stretch: 0 for none, e + 1 for 2 ** e places.
START = 0
FIRST = 1
COUNT = 2
LARGEST = 3
SIZE_BITS = 6
SIZE = (1 << SIZE_BITS) - 1

# Columns of entries, and how they are packed. No word of them is negative.
MESSAGE = 0
SAID = 1
PLACE_BITS = 32
AXIS_BITS = 16
CELLS = 1 << AXIS_BITS
LAST_CELL = CELLS - 1
NUMBERS = (1 << 31) - 1
WEIGHT_BITS = 11
WEIGHT = (1 << WEIGHT_BITS) - 1
STEPS = 2000.0
# Buckets of a sketch, and the largest weights that are low and middle.
N_BUCKETS = 26
LOW = 0.25
MIDDLE = 0.5

# Columns of `cells`: where the four quarters begin, and how long their sides are.
LEFT = 0
BOTTOM = 1
SIDE = 2

# Places of `state`: the used part of the pool and of the nodes, the first quarters that were given up or 0, the terms
# of a message that are in when there was no room for the next one, and the number of codes that it asked for.
USED = 0
USED_NODES = 1
FREE_NODES = 2
TERMS_DONE = 3
CODES_WANTED = 4


class TermTrees(NamedTuple):
    """`words` has a row for each code and `nodes` one for each quarter of a cell; `entries` is the pool.

    `free[e]` is the first stretch of 2 ** e places that was given up, or -1; its first place names the next one.
    `path` has the rows between a word and the leaf that is being changed. `x_min` to `y_side` are the bounds.
    """

    words: Int32s
    nodes: Int32s
    cells: Int64s
    entries: Int64s
    free: Int64s
    state: Int64s
    path: Int64s
    most: int
    x_min: float
    y_min: float
    x_side: float
    y_side: float


def make_trees(bounds: tuple[float, float, float, float], most: int) -> TermTrees:
    """Trees without entries, with leaves of at most so many entries, a power of two.

    The first four rows of nodes stay unused: 0 quarters stand for none.
    """
    assert most >= 2
    assert most & (most - 1) == 0
    x_min, y_min, x_max, y_max = bounds
    state = np.zeros(5, np.int64)
    state[USED_NODES] = 4
    return TermTrees(
        words=np.zeros((0, 4), np.int32),
        nodes=np.zeros((8, 4), np.int32),
        cells=np.zeros((2, 3), np.int64),
        entries=np.zeros((64, 2), np.int64),
        free=np.full(SIZE, -1),
        state=state,
        path=np.zeros(AXIS_BITS, np.int64),
        most=most,
        x_min=x_min,
        y_min=y_min,
        x_side=x_max - x_min,
        y_side=y_max - y_min,
    )


@inlined
def cell_of(x: float, low: float, side: float) -> float:
    """Where a coordinate lies in units of cells, as a fraction; what is out of bounds is moved to their edge."""
    at = (x - low) / side * CELLS if side > 0.0 else 0.0
    return min(max(at, 0.0), float(CELLS))


@inlined
def room_of(largest: int) -> int:
    """How many places the stretch of a row has."""
    return (1 << (largest & SIZE)) >> 1


@inlined
def _size_for(n: int) -> int:
    """The size of the shortest stretch with this much room."""
    size = 0
    while (1 << size) >> 1 < n:
        size += 1
    return size


@inlined
def _take(entries: Int64s, free: Int64s, state: Int64s, size: int) -> int:
    """The start of a stretch of this size, or -1 if the pool has none."""
    start = free[size - 1]
    if start >= 0:
        free[size - 1] = entries[start, MESSAGE]
    elif state[USED] + (1 << (size - 1)) <= len(entries):
        start = state[USED]
        state[USED] += 1 << (size - 1)
    return start


@inlined
def _give(entries: Int64s, free: Int64s, start: int, size: int) -> None:
    entries[start, MESSAGE] = free[size - 1]
    free[size - 1] = start


@inlined
def _quarter(x: int, y: int, depth: int) -> int:
    shift = AXIS_BITS - 1 - depth
    return (x >> shift & 1) | (y >> shift & 1) << 1


@inlined
def _unroll(entries: Int64s, start: int, first: int, n: int, room: int, to: int) -> None:
    """Copy the entries of a ring to another place, the oldest first."""
    for i in range(n):
        at = start + ((first + i) & (room - 1))
        entries[to + i, MESSAGE], entries[to + i, SAID] = entries[at, MESSAGE], entries[at, SAID]


@kernel
def _resize(heads: Int32s, row: int, entries: Int64s, free: Int64s, state: Int64s, size: int) -> bool:
    """Move a leaf to a stretch of another size; False if the pool has none."""
    to = 0
    if size > 0:
        to = _take(entries, free, state, size)
        if to < 0:
            return False
    start, largest = heads[row, START], heads[row, LARGEST]
    if largest & SIZE:
        _unroll(entries, start, heads[row, FIRST], heads[row, COUNT], room_of(largest), to)
        _give(entries, free, start, largest & SIZE)
    heads[row, START], heads[row, FIRST] = to, 0
    heads[row, LARGEST] = (largest >> SIZE_BITS << SIZE_BITS) | size
    return True


@inlined
def _take_nodes(nodes: Int32s, state: Int64s) -> int:
    """The number of four rows; there is room for them."""
    quarters = state[FREE_NODES]
    if quarters > 0:
        state[FREE_NODES] = nodes[4 * quarters, START]
    else:
        quarters = state[USED_NODES] // 4
        state[USED_NODES] += 4
    for row in range(4 * quarters, 4 * quarters + 4):
        nodes[row, START] = nodes[row, FIRST] = nodes[row, COUNT] = nodes[row, LARGEST] = 0
    return quarters


@inlined
def _write(heads: Int32s, row: int, entries: Int64s, message: int, said: int) -> None:
    """Append an entry to a leaf that has room for it."""
    n, largest = heads[row, COUNT], heads[row, LARGEST]
    at = heads[row, START] + ((heads[row, FIRST] + n) & (room_of(largest) - 1))
    entries[at, MESSAGE], entries[at, SAID] = message, said
    heads[row, COUNT] = n + 1
    if said & WEIGHT > largest >> SIZE_BITS:
        heads[row, LARGEST] = (said & WEIGHT) << SIZE_BITS | (largest & SIZE)


@kernel
def _split(
    heads: Int32s, row: int, depth: int, nodes: Int32s, cells: Int64s, entries: Int64s, free: Int64s, state: Int64s
) -> bool:
    """Make four leaves of a full one; False if there is no room."""
    n, start, first, largest = heads[row, COUNT], heads[row, START], heads[row, FIRST], heads[row, LARGEST]
    if state[USED] + 2 * n > len(entries) or (state[FREE_NODES] == 0 and state[USED_NODES] + 4 > len(nodes)):
        return False
    quarters = _take_nodes(nodes, state)
    room, side, place = room_of(largest), CELLS >> (depth + 1), entries[start, MESSAGE]
    cells[quarters, LEFT] = (place >> AXIS_BITS & LAST_CELL) & -2 * side
    cells[quarters, BOTTOM] = (place & LAST_CELL) & -2 * side
    cells[quarters, SIDE] = side
    # Counted first, so that each gets a stretch of the right size.
    for turn in range(2):
        for i in range(n):
            at = start + ((first + i) & (room - 1))
            place = entries[at, MESSAGE]
            child = 4 * quarters + _quarter(place >> AXIS_BITS & LAST_CELL, place & LAST_CELL, depth)
            if turn == 0:
                nodes[child, FIRST] += 1
            else:
                _write(nodes, child, entries, place, entries[at, SAID])
        if turn == 0:
            for child in range(4 * quarters, 4 * quarters + 4):
                size = _size_for(nodes[child, FIRST])
                nodes[child, FIRST] = 0
                if size > 0:
                    nodes[child, START], nodes[child, LARGEST] = _take(entries, free, state, size), size
    _give(entries, free, start, largest & SIZE)
    heads[row, START], heads[row, FIRST] = -quarters, 0
    heads[row, LARGEST] = largest >> SIZE_BITS << SIZE_BITS
    return True


@inlined
def _raise(heads: Int32s, row: int, weight: int) -> None:
    heads[row, COUNT] += 1
    if weight > heads[row, LARGEST] >> SIZE_BITS:
        heads[row, LARGEST] = weight << SIZE_BITS | (heads[row, LARGEST] & SIZE)


@inlined
def _enlist(trees: TermTrees, code: int, message: int, said: int) -> bool:
    """Put an entry into the tree of its word; False if there is no room."""
    words, nodes, entries, path = trees.words, trees.nodes, trees.entries, trees.path
    x, y, weight = message >> AXIS_BITS & LAST_CELL, message & LAST_CELL, said & WEIGHT
    heads, row, depth = words, code, 0
    while True:
        while heads[row, START] < 0:
            row = -4 * heads[row, START] + _quarter(x, y, depth)
            heads = nodes
            path[depth] = row
            depth += 1
        n = heads[row, COUNT]
        if n < room_of(heads[row, LARGEST]):
            break
        if n == trees.most and depth < AXIS_BITS:
            if not _split(heads, row, depth, nodes, trees.cells, entries, trees.free, trees.state):
                return False
        elif not _resize(heads, row, entries, trees.free, trees.state, _size_for(n + 1)):
            return False
    _write(heads, row, entries, message, said)
    if depth > 0:
        _raise(words, code, weight)
        for i in range(depth - 1):
            _raise(nodes, path[i], weight)
    return True


@inlined
def bucket_of(code: int) -> int:
    """Where the two bits of a word lie in a sketch."""
    return WEIGHT_BITS + 2 * (code % N_BUCKETS)


@inlined
def _sketched(sketch: int, code: int, weight: float) -> int:
    """A sketch with one word more: a bucket has the largest of the levels of its words, 1 to 3."""
    bucket = bucket_of(code)
    level, before = 1 + (weight > LOW) + (weight > MIDDLE), sketch >> bucket & 3
    return sketch + (max(level - before, 0) << bucket)


@kernel
def insert(trees: TermTrees, contents: Contents, base: int, lo: int, hi: int) -> int:
    """Take in the messages lo to hi; returns the first that there was no room for, to be called with again.

    Their numbers begin at `base` + lo, and follow those that are in.
    """
    terms, weights, starts, counts = contents.terms, contents.term_weights, contents.term_start, contents.term_count
    point, state, n_codes = contents.point, trees.state, len(trees.words)
    for p in range(lo, hi):
        start, end = starts[p], starts[p] + counts[p]
        sketch = 0
        for at in range(start, end):
            sketch = _sketched(sketch, terms[at], weights[at])
        x = min(int(cell_of(point[0, p], trees.x_min, trees.x_side)), LAST_CELL)
        y = min(int(cell_of(point[1, p], trees.y_min, trees.y_side)), LAST_CELL)
        message = (base + p & NUMBERS) << PLACE_BITS | x << AXIS_BITS | y
        for at in range(start + state[TERMS_DONE], end):
            said = sketch | min(int(weights[at] * STEPS) + 1, WEIGHT)
            if terms[at] >= n_codes or not _enlist(trees, terms[at], message, said):
                state[TERMS_DONE], state[CODES_WANTED] = at - start, terms[at] + 1
                return p
        state[TERMS_DONE] = 0
    return hi


@inlined
def _largest_of(heads: Int32s, row: int, entries: Int64s, goal: int) -> int:
    """The largest weight in a leaf; the search ends with the first that reaches the goal."""
    start, first, mask = heads[row, START], heads[row, FIRST], room_of(heads[row, LARGEST]) - 1
    largest = 0
    for i in range(heads[row, COUNT]):
        largest = max(largest, entries[start + ((first + i) & mask), SAID] & WEIGHT)
        if largest >= goal:
            break
    return largest


@kernel
def _merge(heads: Int32s, row: int, trees: TermTrees, oldest: int) -> None:
    """Make one leaf of four, unless one of them is no leaf or the pool has no room."""
    nodes, entries, free, state = trees.nodes, trees.entries, trees.free, trees.state
    quarters, n = -heads[row, START], heads[row, COUNT]
    for child in range(4 * quarters, 4 * quarters + 4):
        if nodes[child, START] < 0:
            return
    to, size = 0, _size_for(n)
    if size > 0:
        to = _take(entries, free, state, size)
        if to < 0:
            return
    done = 0
    for child in range(4 * quarters, 4 * quarters + 4):
        start, first, largest = nodes[child, START], nodes[child, FIRST], nodes[child, LARGEST]
        for i in range(nodes[child, COUNT]):
            at = start + ((first + i) & (room_of(largest) - 1))
            message, said = entries[at, MESSAGE], entries[at, SAID]
            age, j = ((message >> PLACE_BITS) - oldest) & NUMBERS, to + done
            while j > to and ((entries[j - 1, MESSAGE] >> PLACE_BITS) - oldest) & NUMBERS > age:
                entries[j, MESSAGE], entries[j, SAID] = entries[j - 1, MESSAGE], entries[j - 1, SAID]
                j -= 1
            entries[j, MESSAGE], entries[j, SAID] = message, said
            done += 1
        if largest & SIZE:
            _give(entries, free, start, largest & SIZE)
        nodes[child, COUNT] = nodes[child, LARGEST] = 0
    nodes[4 * quarters, START], state[FREE_NODES] = state[FREE_NODES], quarters
    heads[row, START], heads[row, FIRST] = to, 0
    heads[row, LARGEST] = (heads[row, LARGEST] >> SIZE_BITS << SIZE_BITS) | size


@inlined
def _lower(heads: Int32s, row: int, trees: TermTrees, weight: int, oldest: int) -> None:
    """Count an entry less below a row that is quartered, and merge its quarters if they have become small."""
    nodes = trees.nodes
    heads[row, COUNT] -= 1
    largest = heads[row, LARGEST] >> SIZE_BITS
    if weight == largest:
        first = -4 * heads[row, START]
        largest = 0
        for child in range(first, first + 4):
            largest = max(largest, nodes[child, LARGEST] >> SIZE_BITS)
        heads[row, LARGEST] = largest << SIZE_BITS
    if 4 * heads[row, COUNT] < trees.most:
        _merge(heads, row, trees, oldest)


@inlined
def _drop_first(heads: Int32s, row: int, entries: Int64s, free: Int64s, state: Int64s) -> int:
    """Take the oldest entry out of a leaf; returns its weight."""
    start, first, largest = heads[row, START], heads[row, FIRST], heads[row, LARGEST]
    n, room = heads[row, COUNT] - 1, room_of(largest)
    weight = entries[start + first, SAID] & WEIGHT
    heads[row, FIRST], heads[row, COUNT] = (first + 1) & (room - 1), n
    if n == 0:
        _resize(heads, row, entries, free, state, 0)
        heads[row, LARGEST] = 0
        return weight
    if weight == largest >> SIZE_BITS:
        heads[row, LARGEST] = _largest_of(heads, row, entries, weight) << SIZE_BITS | (largest & SIZE)
    if 4 * n <= room:
        _resize(heads, row, entries, free, state, (largest & SIZE) - 1)
    return weight


@inlined
def _delist(trees: TermTrees, code: int, x: int, y: int, oldest: int) -> None:
    """Take the oldest entry at a place out of the tree of a word."""
    words, nodes, path = trees.words, trees.nodes, trees.path
    heads, row, depth = words, code, 0
    while heads[row, START] < 0:
        row = -4 * heads[row, START] + _quarter(x, y, depth)
        heads = nodes
        path[depth] = row
        depth += 1
    weight = _drop_first(heads, row, trees.entries, trees.free, trees.state)
    for i in range(depth - 2, -1, -1):
        _lower(nodes, path[i], trees, weight, oldest)
    if depth > 0:
        _lower(words, code, trees, weight, oldest)


@kernel
def forget(trees: TermTrees, contents: Contents, base: int, lo: int, hi: int) -> None:
    """Take out the messages lo to hi, the oldest that are in."""
    terms, starts, counts, point = contents.terms, contents.term_start, contents.term_count, contents.point
    for p in range(lo, hi):
        x = min(int(cell_of(point[0, p], trees.x_min, trees.x_side)), LAST_CELL)
        y = min(int(cell_of(point[1, p], trees.y_min, trees.y_side)), LAST_CELL)
        for at in range(starts[p], starts[p] + counts[p]):
            _delist(trees, terms[at], x, y, base + p)


@kernel
def repack(heads: Int32s, source: Int64s, into: Int64s, end: int) -> int:
    """Copy the rings of these rows to another pool, from `end` on; returns where they end."""
    for row in range(len(heads)):
        start, n, room = heads[row, START], heads[row, COUNT], room_of(heads[row, LARGEST])
        if n > 0 and start >= 0:
            for i in range(n):
                at = start + ((heads[row, FIRST] + i) & (room - 1))
                into[end + i, MESSAGE], into[end + i, SAID] = source[at, MESSAGE], source[at, SAID]
            heads[row, START], heads[row, FIRST] = end, 0
            end += room
    return end


def _stretches(trees: TermTrees) -> list[tuple[int, int]]:
    """The start and the end of every stretch, in use or given up, in the order of the pool."""
    found = []
    for heads in (trees.words, trees.nodes):
        for start, _, count, largest in heads.tolist():
            if count and start >= 0:
                found.append((start, start + room_of(largest)))
    for exponent, start in enumerate(trees.free.tolist()):
        while start >= 0:
            found.append((start, start + (1 << exponent)))
            start = int(trees.entries[start, MESSAGE])
            assert len(found) <= len(trees.entries), "a list of free stretches runs in a circle"
    return sorted(found)


def _check_row(trees: TermTrees, row: list[int], cell: tuple[int, int, int], oldest: int) -> list[int]:
    """Assert the invariants of a row and of all below it; returns the numbers of its messages."""
    start, first, count, packed = row
    left, bottom, side = cell
    largest = packed >> SIZE_BITS
    if start < 0:
        quarter = side // 2
        assert trees.cells[-start].tolist() == [left, bottom, quarter]
        assert packed & SIZE == 0
        children = trees.nodes[-4 * start : -4 * start + 4].tolist()
        numbers: list[int] = []
        for i, child in enumerate(children):
            corner = (left + i % 2 * quarter, bottom + i // 2 * quarter, quarter)
            numbers += _check_row(trees, child, corner, oldest)
        assert count == sum(child[COUNT] for child in children) == len(numbers) > 0
        assert largest == max(child[LARGEST] >> SIZE_BITS for child in children)
        return numbers
    room = room_of(packed)
    assert count <= room <= max(trees.most, room if side == 1 else 0)
    assert (count == 0) == (room == 0) == (largest == 0)
    held = trees.entries[[start + ((first + i) & (room - 1)) for i in range(count)]]
    place = held[:, MESSAGE]
    assert ((place >> AXIS_BITS & LAST_CELL & -side) == left).all()
    assert ((place & LAST_CELL & -side) == bottom).all()
    held_numbers: list[int] = (oldest + ((place >> PLACE_BITS) - oldest & NUMBERS)).tolist()
    assert (np.diff(held_numbers) > 0).all()
    assert largest == (held[:, SAID] & WEIGHT).max(initial=0)
    return held_numbers


def check_trees(trees: TermTrees, oldest: int) -> dict[int, list[int]]:
    """Assert the invariants; returns the numbers of the messages by code, in ascending order."""
    stretches = _stretches(trees)
    ends = [0, *(end for _, end in stretches)]
    assert [start for start, _ in stretches] == ends[:-1]
    assert ends[-1] == trees.state[USED] <= len(trees.entries)
    found = {}
    for code, row in enumerate(trees.words.tolist()):
        numbers = _check_row(trees, row, (0, 0, CELLS), oldest)
        if numbers:
            found[code] = sorted(numbers)
    _check_nodes(trees)
    return found


def _check_nodes(trees: TermTrees) -> None:
    """Every four rows are the quarters of one row, or on the list of those given up."""
    named = [-start for heads in (trees.words, trees.nodes) for start, _, n, _ in heads.tolist() if n and start < 0]
    free, quarters = int(trees.state[FREE_NODES]), []
    while free > 0:
        quarters.append(free)
        assert not trees.nodes[4 * free : 4 * free + 4, COUNT].any()
        free = int(trees.nodes[4 * free, START])
        assert len(quarters) <= len(trees.nodes), "the list of free nodes runs in a circle"
    assert sorted(named + quarters) == list(range(1, trees.state[USED_NODES] // 4))
