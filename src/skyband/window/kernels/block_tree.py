"""A tree of blocks: subscriptions that lie close together share a block, and blocks that lie close together a node.

Whom may a publication reach? A block holds 64 subscriptions of one kind, dimension by dimension, so that 64 scores are
one short loop over contiguous numbers. A node holds 64 children, each with the box that its centres lie in and the
widest gate among them: the best score that any point of the box could give is held against that gate, and most
subtrees fall away unseen. Gates move both ways at the cost of one write: what a node says of a child changes only where
the widest gate below it has become wider or narrower. Whoever looks writes nothing, so that several threads may look at
a time.

Levels are counted from the blocks up: child j of node i at level l + 1 is node `64 * i + j` at level l. Boxes are not
kept apart by position in memory: `first[l]` is where the nodes of level l begin, and the blocks are level 0.
Invariants: a seat in use has the slot that sits there, and `seat[slot]` points back; an empty seat has gate -inf; the
box of a child holds those of everything below it, and its gate is the widest of theirs.

Scores and bounds are those of `skyband.topk.kernels.score`.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import TINY, Contents, bound_boxes, has_lengths, has_weights, score_seats

FANOUT = 64
# Further out than any number that is let in, and so small that sums of squares and products stay finite.
FAR = 1e152


class Seats(NamedTuple):
    """Level 0, by block and then by seat: what a subscription asks, its gate, and its slot, or -1."""

    centre: Floats
    weight: Floats
    norm: Floats
    gate: Floats
    slot: Int64s


class BlockNodes(NamedTuple):
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
def _widest(gate: Floats) -> float:
    widest = -np.inf
    for i in range(FANOUT):
        widest = max(widest, gate[i])
    return widest


@kernel
def visit(kind: int, nodes: BlockNodes, contents: Contents, publication: int, point: Floats, visits: Visits) -> None:
    """Write down the blocks that this publication may matter to; there is room for all."""
    top, stack, bound = len(nodes.n) - 1, visits.stack, visits.bound
    blocks, publications, n_found = visits.block, visits.publication, visits.length[0]
    norm = contents.norm[publication] if has_lengths(kind) else 0.0
    depth = 0
    for node in range(nodes.n[top]):
        stack[depth] = top * nodes.n[0] + node
        depth += 1
    while depth > 0:
        depth -= 1
        level, node = stack[depth] // nodes.n[0], stack[depth] % nodes.n[0]
        at = nodes.first[level] + node
        gate = nodes.gate[at]
        bound_boxes(kind, FANOUT, nodes.low[at], nodes.high[at], nodes.weight[at], point, norm, bound)
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
def visit_all(
    since: int, hi: int, kind: int, nodes: BlockNodes, contents: Contents, point: Floats, visits: Visits
) -> int:
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
    contents: Contents,
    visits: Visits,
    point: Floats,
    into: Candidates,
) -> int:
    """Score the visits `order[since:]`, block by block, and write down who is within his gate.

    Returns the first visit that there was no room for.
    """
    directed, slots, gates, centres = visits.bound, seats.slot, seats.gate, seats.centre
    to_slot, to_publication, to_directed = into.slot, into.publication, into.directed
    n_found = into.length[0]
    for at in range(since, len(order)):
        if n_found + FANOUT > len(to_slot):
            into.length[0] = n_found
            return at
        block, publication = visits.block[order[at]], visits.publication[order[at]]
        for j in range(len(point)):
            point[j] = contents.point[j, publication]
        norm = contents.norm[publication] if has_lengths(kind) else 0.0
        gate, slot, centre = gates[block], slots[block], centres[block]
        # Of what a kind has no use for there are no rows.
        weight = seats.weight[block] if has_weights(kind) else centre
        lengths = seats.norm[block] if has_lengths(kind) else gate
        score_seats(kind, FANOUT, centre, weight, lengths, point, norm, directed)
        for i in range(FANOUT):
            if directed[i] <= gate[i]:
                to_slot[n_found], to_publication[n_found], to_directed[n_found] = slot[i], publication, directed[i]
                n_found += 1
        into.counts[0] += FANOUT
    into.length[0] = n_found
    return len(order)


@inlined
def _widen(nodes: BlockNodes, block: int, gate: float) -> None:
    """Let the nodes above a block know of a gate, as far up as it is wider than what they have."""
    node = block
    for level in range(1, len(nodes.n)):
        at, i = nodes.first[level] + node // FANOUT, node % FANOUT
        if nodes.gate[at, i] >= gate:
            return
        nodes.gate[at, i] = gate
        node //= FANOUT


@inlined
def _narrow(seats: Seats, nodes: BlockNodes, block: int, before: float) -> None:
    """Let the nodes above a block know that a gate of it is not this wide any more, as far up as it was the widest."""
    node = block
    for level in range(1, len(nodes.n)):
        at, i = nodes.first[level] + node // FANOUT, node % FANOUT
        if nodes.gate[at, i] > before:
            return
        widest = _widest(seats.gate[block]) if level == 1 else _widest(nodes.gate[nodes.first[level - 1] + node])
        if widest == before:
            return
        nodes.gate[at, i] = widest
        node //= FANOUT


@kernel
def move_gates(seats: Seats, nodes: BlockNodes, places: Int64s, gates: Floats) -> None:
    """Gates move, either way."""
    for i in range(len(places)):
        block, seat = places[i] // FANOUT, places[i] % FANOUT
        before, seats.gate[block, seat] = seats.gate[block, seat], gates[i]
        if gates[i] > before:
            _widen(nodes, block, gates[i])
        elif gates[i] < before:
            _narrow(seats, nodes, block, before)


@kernel
def enclose(kind: int, seats: Seats, nodes: BlockNodes, places: Int64s) -> None:
    """Make the boxes above these seats hold them; new boxes are empty, from FAR to -FAR."""
    dims = seats.centre.shape[1]
    for place in places:
        block, seat = place // FANOUT, place % FANOUT
        length = seats.norm[block, seat] if has_lengths(kind) else 1.0
        node = block
        for level in range(1, len(nodes.n)):
            at, i = nodes.first[level] + node // FANOUT, node % FANOUT
            for j in range(dims):
                c = seats.centre[block, j, seat] / length if length > TINY else 0.0
                reach = 0.0 if length > TINY else FAR
                nodes.low[at, j, i] = min(nodes.low[at, j, i], c - reach)
                nodes.high[at, j, i] = max(nodes.high[at, j, i], c + reach)
                if has_weights(kind):
                    nodes.weight[at, j, i] = min(nodes.weight[at, j, i], seats.weight[block, j, seat])
            node //= FANOUT
