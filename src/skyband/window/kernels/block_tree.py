"""A tree of blocks: subscriptions that lie close together share a block, and blocks that lie close together a node.

Whom may a publication reach? A block holds 64 subscriptions of one kind, dimension by dimension, so that 64 scores are
one short loop over contiguous numbers. A node holds 64 children, each with the box that its centres lie in and the
widest gate among them: the best score that any point of the box could give is held against that gate, and most
subtrees fall away unseen. Gates move both ways at the cost of one write: a wider one is written into the nodes above
as far as it matters, a narrower one is noticed when the block is looked at the next time.

Levels are counted from the blocks up: child j of node i at level l + 1 is node `64 * i + j` at level l. Boxes are not
kept apart by position in memory: `first[l]` is where the nodes of level l begin, and the blocks are level 0.
Invariants: a seat in use has the slot that sits there, and `seat[slot]` points back; an empty seat has gate -inf; the
box and the gate of a child hold those of everything below it.

A bound never exceeds the score it bounds, to the last bit: it is added up in the same order from terms that are each
at most as large, and rounding keeps order. Cosines are bounded by unit vectors with a margin for their rounding.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import CHEBYSHEV, COSINE, EUCLIDEAN, SUM, Contents

FANOUT = 64
# Cosines of unit vectors are at most 1, and a bound on one may be off by a few units in the last place.
MARGIN = 1e-12
# Below this length products of two lengths leave the normal numbers, and nothing is known of the rounding.
TINY = 1e-140
# Further out than any number that is let in, and so small that sums of squares and products stay finite.
FAR = 1e152


class Seats(NamedTuple):
    """Level 0, by block and then by seat: what a subscription asks, its gate, and its slot, or -1."""

    centre: Floats
    weight: Floats
    norm: Floats
    gate: Floats
    slot: Int64s


class Nodes(NamedTuple):
    """The levels above, all in one: the box of each child's centres, the least weights in it, and its widest gate.

    `first[l]` is the first node of level l, from level 1 on; `n[l]` how many there are, with `n[0]` blocks.
    """

    low: Floats
    high: Floats
    weight: Floats
    gate: Floats
    first: Int64s
    n: Int64s


class Visits(NamedTuple):
    """Pairs of a block and a publication that are to be scored, `length[0]` of them, and space to find them with."""

    length: Int64s
    block: Int64s
    publication: Int64s
    stack: Int64s
    bound: Floats


@inlined
def _bound_children(
    kind: int, low: Floats, high: Floats, weight: Floats, point: Floats, norm: float, bound: Floats
) -> None:
    """For each child of a node the least directed score that a point of its box can give."""
    for i in range(FANOUT):
        bound[i] = 0.0
    for j in range(len(point)):
        x = point[j]
        below, above = low[j], high[j]
        if kind == EUCLIDEAN:
            for i in range(FANOUT):
                gap = max(max(below[i] - x, x - above[i]), 0.0)
                bound[i] += gap * gap
        elif kind == CHEBYSHEV:
            least = weight[j]
            for i in range(FANOUT):
                bound[i] = max(bound[i], least[i] * max(max(below[i] - x, x - above[i]), 0.0))
        else:
            for i in range(FANOUT):
                bound[i] += max(below[i] * x, above[i] * x)
    if kind == SUM:
        for i in range(FANOUT):
            bound[i] = -bound[i]
    elif kind == COSINE:
        for i in range(FANOUT):
            bound[i] = -(bound[i] / norm) - MARGIN if norm > TINY else -np.inf


@inlined
def _score_block(kind: int, seats: Seats, block: int, point: Floats, norm: float, directed: Floats) -> None:
    """The directed scores of the 64 seats of a block, as `skyband.topk.kernels.score` has them."""
    centre, weight = seats.centre[block], seats.weight
    for i in range(FANOUT):
        directed[i] = 0.0
    for j in range(len(point)):
        x, c = point[j], centre[j]
        if kind == EUCLIDEAN:
            for i in range(FANOUT):
                difference = x - c[i]
                directed[i] += difference * difference
        elif kind == CHEBYSHEV:
            w = weight[block, j]
            for i in range(FANOUT):
                directed[i] = max(directed[i], w[i] * abs(x - c[i]))
        else:
            for i in range(FANOUT):
                directed[i] += c[i] * x
    if kind == SUM:
        for i in range(FANOUT):
            directed[i] = -directed[i]
    elif kind == COSINE:
        lengths = seats.norm[block]
        for i in range(FANOUT):
            length = lengths[i] * norm
            directed[i] = -(directed[i] / length) if length > 0.0 else -0.0


@inlined
def _widest(gate: Floats) -> float:
    widest = -np.inf
    for i in range(FANOUT):
        widest = max(widest, gate[i])
    return widest


@inlined
def _set_gate_above(nodes: Nodes, level: int, node: int, gate: float) -> None:
    """Write the widest gate of a node of this level into its parent."""
    if level + 1 < len(nodes.n):
        nodes.gate[nodes.first[level + 1] + node // FANOUT, node % FANOUT] = gate


@kernel
def visit(kind: int, nodes: Nodes, contents: Contents, publication: int, point: Floats, visits: Visits) -> None:
    """Write down the blocks that this publication may matter to; there is room for all."""
    top, stack, bound = len(nodes.n) - 1, visits.stack, visits.bound
    blocks, publications, n_found = visits.block, visits.publication, visits.length[0]
    norm = contents.norm[publication] if kind == COSINE else 0.0
    depth = 0
    for node in range(nodes.n[top]):
        stack[depth] = top * nodes.n[0] + node
        depth += 1
    while depth > 0:
        depth -= 1
        level, node = stack[depth] // nodes.n[0], stack[depth] % nodes.n[0]
        at = nodes.first[level] + node
        gate = nodes.gate[at]
        _bound_children(kind, nodes.low[at], nodes.high[at], nodes.weight[at], point, norm, bound)
        _set_gate_above(nodes, level, node, _widest(gate))
        for i in range(FANOUT):
            if bound[i] <= gate[i] and gate[i] > -np.inf:
                child = node * FANOUT + i
                if level == 1:
                    blocks[n_found], publications[n_found] = child, publication
                    n_found += 1
                else:
                    stack[depth] = (level - 1) * nodes.n[0] + child
                    depth += 1
    visits.length[0] = n_found


@kernel
def visit_all(since: int, hi: int, kind: int, nodes: Nodes, contents: Contents, point: Floats, visits: Visits) -> int:
    """Visits of the publications `since` to `hi`; returns the first one that there was no room for."""
    for publication in range(since, hi):
        if visits.length[0] + nodes.n[0] > len(visits.block):
            return publication
        for j in range(len(point)):
            point[j] = contents.point[j, publication]
        visit(kind, nodes, contents, publication, point, visits)
    return hi


@kernel
def score_visits(
    since: int,
    order: Int64s,
    kind: int,
    seats: Seats,
    nodes: Nodes,
    contents: Contents,
    visits: Visits,
    point: Floats,
    into: Candidates,
) -> int:
    """Score the visits `order[since:]`, block by block, and write down who is within his gate.

    Returns the first visit that there was no room for.
    """
    directed, slots, gates = visits.bound, seats.slot, seats.gate
    to_slot, to_publication, to_directed = into.slot, into.publication, into.directed
    n_found, before = into.length[0], -1
    for at in range(since, len(order)):
        if n_found + FANOUT > len(to_slot):
            into.length[0] = n_found
            return at
        block, publication = visits.block[order[at]], visits.publication[order[at]]
        for j in range(len(point)):
            point[j] = contents.point[j, publication]
        norm = contents.norm[publication] if kind == COSINE else 0.0
        _score_block(kind, seats, block, point, norm, directed)
        gate, slot = gates[block], slots[block]
        if block != before:
            _set_gate_above(nodes, 0, block, _widest(gate))
            before = block
        for i in range(FANOUT):
            if directed[i] <= gate[i]:
                to_slot[n_found], to_publication[n_found], to_directed[n_found] = slot[i], publication, directed[i]
                n_found += 1
        into.counts[0] += FANOUT
    into.length[0] = n_found
    return len(order)


@inlined
def _widen(nodes: Nodes, block: int, gate: float) -> None:
    """Let the nodes above a block know of a gate, as far up as it is wider than what they have."""
    node = block
    for level in range(1, len(nodes.n)):
        at, i = nodes.first[level] + node // FANOUT, node % FANOUT
        if nodes.gate[at, i] >= gate:
            return
        nodes.gate[at, i] = gate
        node //= FANOUT


@kernel
def move_gates(seats: Seats, nodes: Nodes, places: Int64s, gates: Floats) -> None:
    """Gates move, either way."""
    for i in range(len(places)):
        block, seat = places[i] // FANOUT, places[i] % FANOUT
        seats.gate[block, seat] = gates[i]
        _widen(nodes, block, gates[i])


@kernel
def enclose(kind: int, seats: Seats, nodes: Nodes, places: Int64s) -> None:
    """Make the boxes above these seats hold them; new boxes are empty, from FAR to -FAR."""
    dims = seats.centre.shape[1]
    for place in places:
        block, seat = place // FANOUT, place % FANOUT
        length = seats.norm[block, seat] if kind == COSINE else 1.0
        node = block
        for level in range(1, len(nodes.n)):
            at, i = nodes.first[level] + node // FANOUT, node % FANOUT
            for j in range(dims):
                c = seats.centre[block, j, seat] / length if length > TINY else 0.0
                reach = 0.0 if length > TINY else FAR
                nodes.low[at, j, i] = min(nodes.low[at, j, i], c - reach)
                nodes.high[at, j, i] = max(nodes.high[at, j, i], c + reach)
                if kind == CHEBYSHEV:
                    nodes.weight[at, j, i] = min(nodes.weight[at, j, i], seats.weight[block, j, seat])
            node //= FANOUT
