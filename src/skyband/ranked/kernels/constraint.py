"""The constraint graph of scored intervals: who has to come before whom, so that every point meets them in order.

Intervals are numbered in their order, best first, dimension by dimension. There is an edge from one to a later one if
some point lies in both and in none of those between. The graph is found by Algorithm 2 of the paper on ranked
publish/subscribe: looking up from below at the intervals so far, one sees blocks, each a piece of the latest interval
there, and the next interval has edges from those that it meets. There are at most 3n edges.

Ends are replaced by their positions among all ends: where intervals start at their low ends, and where they have just
ended, behind their high ends and behind all that start there. An interval is the positions from `first` to before
`end`, closed intervals that touch have one in common, and each dimension has a range of positions of its own.

Invariants: blocks partition the positions of each dimension; `start` has their first positions, and `owner` the latest
interval over them there, or NOBODY; neighbours have different owners unless they have none. A list of edges begins at
the `head` of its interval with the latest target, edge 0 stands for none, `degree` counts the edges that come in, and
they come from earlier intervals.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranked.kernels.bits import (
    NONE,
    Bits,
    check_bits,
    clear_bit,
    make_bits,
    members,
    next_bit,
    previous_bit,
    set_bit,
)
from skyband.ranked.kernels.radix import Deck

NOBODY = -1

# Columns of `edge`, and what ranking the ends has to remember.
TARGET, NEXT = range(2)
DIM, AT_LOW, AT_HIGH, POSITION = range(4)


class IntervalPositions(NamedTuple):
    """Positions by interval, and its place among the left ends: in their order, equal ones best first."""

    first: Int32s
    end: Int32s
    left: Int32s


class ViewBlocks(NamedTuple):
    """What one sees from below, by position."""

    start: Bits
    owner: Int32s


class Graph(NamedTuple):
    """`head` and `degree` by interval; `edge` has rows of a target and the next edge of the same list."""

    head: Int32s
    degree: Int32s
    edge: Int32s
    n_edges: Int64s


def make_spans(n: int) -> IntervalPositions:
    """Room for n intervals."""
    return IntervalPositions(*(np.empty(n, np.int32) for _ in range(3)))


def make_blocks(n: int) -> ViewBlocks:
    """Room for the positions of n intervals."""
    return ViewBlocks(make_bits(2 * n), np.empty(2 * n, np.int32))


def make_graph(n: int) -> Graph:
    """A graph of n intervals without edges, with room for all that there can be."""
    edge = np.empty((3 * n + 1, 2), np.int32)
    edge[0] = NOBODY, 0
    return Graph(np.zeros(n, np.int32), np.zeros(n, np.int32), edge, np.zeros(1, np.int64))


@kernel
def rank_ends(
    starts: Int64s, lows: Deck, highs: Deck, steps: int, state: Int64s, spans: IntervalPositions, blocks: ViewBlocks
) -> bool:
    """Merge sorted low and high ends, of dimension d those from `starts[d]`; returns whether more is to be done."""
    low, low_item, high, high_item = lows.number, lows.item, highs.number, highs.item
    firsts, ends, lefts, owners = spans.first, spans.end, spans.left, blocks.owner
    dim, i, j, position = state[DIM], state[AT_LOW], state[AT_HIGH], state[POSITION]
    while steps > 0 and dim < len(starts) - 1:
        steps -= 1
        since, until = starts[dim], starts[dim + 1]
        if j == until:
            dim += 1
        elif i < until and low[i] <= high[j]:
            if i == since or low[i] != low[i - 1]:
                position += 1
            if i == since:
                set_bit(blocks.start, position)
                owners[position] = NOBODY
            firsts[low_item[i]], lefts[low_item[i]] = position, i
            i += 1
        else:
            if j == since or high[j] != high[j - 1]:
                position += 1
            ends[high_item[j]] = position
            j += 1
    state[DIM], state[AT_LOW], state[AT_HIGH], state[POSITION] = dim, i, j, position
    return dim < len(starts) - 1


@inlined
def _link(graph: Graph, source: int, target: int) -> None:
    """Add an edge unless it is there: it would be the latest of its list."""
    edges, before = graph.edge, graph.head[source]
    if edges[before, TARGET] != target:
        graph.n_edges[0] += 1
        edge = graph.n_edges[0]
        edges[edge, TARGET], edges[edge, NEXT] = target, before
        graph.head[source] = edge
        graph.degree[target] += 1


@kernel
def constrain(spans: IntervalPositions, start: int, steps: int, blocks: ViewBlocks, graph: Graph, ready: Bits) -> int:
    """Add the edges into the intervals from `start` on; those without any are ready, by their places from the left.

    Returns where to go on. An interval may meet very many blocks, so that it may have to be gone on with in the middle:
    those done with are gone, but for the one at its left end, whose edge will not be added twice.
    """
    block_start, owners = blocks.start, blocks.owner
    firsts, ends, lefts, degrees = spans.first, spans.end, spans.left, graph.degree
    for i in range(start, len(firsts)):
        if steps <= 0:
            return i
        first, end = firsts[i], ends[i]
        at = previous_bit(block_start, first)
        while True:
            steps -= 1
            owner = owners[at]
            if owner != NOBODY:
                _link(graph, owner, i)
            after = next_bit(block_start, at + 1)
            if at > first:
                clear_bit(block_start, at)
            if after == NONE or after >= end:
                break
            if at > first and steps <= 0:
                return i
            at = after
        if after != end:
            set_bit(block_start, end)
            owners[end] = owner
        set_bit(block_start, first)
        owners[first] = i
        if degrees[i] == 0:
            set_bit(ready, lefts[i])
    return len(firsts)


def edges_of(graph: Graph) -> list[tuple[int, int]]:
    """All edges, by source and target."""
    pairs = []
    for source in range(len(graph.head)):
        edge = int(graph.head[source])
        while edge:
            pairs.append((source, int(graph.edge[edge, TARGET])))
            edge = int(graph.edge[edge, NEXT])
    return sorted(pairs)


def check_graph(graph: Graph) -> None:
    """Assert the invariants."""
    pairs = edges_of(graph)
    assert len(set(pairs)) == len(pairs) == graph.n_edges[0] <= 3 * len(graph.head)
    assert all(source < target for source, target in pairs)
    degrees = np.bincount([target for _, target in pairs], minlength=len(graph.head))
    assert np.array_equal(degrees, graph.degree)


def check_blocks(blocks: ViewBlocks, spans: IntervalPositions, n_done: int, n_positions: int) -> None:
    """Assert the invariants after the first `n_done` intervals."""
    check_bits(blocks.start, n_positions)
    starts = members(blocks.start)
    owners = blocks.owner[starts]
    assert ((owners[1:] != owners[:-1]) | (owners[1:] == NOBODY)).all()
    seen = np.full(n_positions, NOBODY)
    for i in range(n_done):
        seen[spans.first[i] : spans.end[i]] = i
    lengths = np.diff([*starts, n_positions])
    assert np.array_equal(np.repeat(owners, lengths), seen)
