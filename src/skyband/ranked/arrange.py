"""The orders in which R-trees hold intervals, found in small slices of work between questions.

`score_order` is that of the scored R-tree: best first. `arrange` is that of the score-optimal one, left to right as far
as every point still meets its intervals best first: in leaves of intervals side by side in this order a search for the
k best of a point opens at most 2k. It does not hold for values that are intervals, which may meet two that no point has
in common. Both are generators. Each step takes a slice of the work, and the first one copies what the parts say, so
that parts may die, change and move between steps.
"""

from collections.abc import Generator, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.ragged import offsets_of
from skyband.ranked.kernels.arrangement import arrange_steps
from skyband.ranked.kernels.bits import Bits, make_bits
from skyband.ranked.kernels.constraint import (
    Graph,
    IntervalPositions,
    constrain,
    make_blocks,
    make_graph,
    make_spans,
    rank_ends,
)
from skyband.ranked.kernels.parts import Parts
from skyband.ranked.kernels.radix import (
    DIGITS,
    N_DIGITS,
    Deck,
    Facts,
    copy_facts,
    count_digits,
    deal,
    deal_groups,
    make_deck,
    make_facts,
    places,
)

# Intervals, cards or edges in a step.
SLICE = 8192

R = TypeVar("R")
Number = TypeVar("Number", np.int32, np.int64)
Steps = Generator[None, None, R]


class Arrangement(NamedTuple):
    """Parts dimension by dimension, each in its order, of dimension d from `start[d]`; how many edges said so."""

    part: Int32s
    start: Int64s
    n_edges: int


class Scored(NamedTuple):
    """Parts by dimension, best first: `item` says which of the given ones they are, of dimension d from `start[d]`."""

    facts: Facts
    item: Int32s
    start: Int64s


def finished(steps: Generator[None, None, R]) -> R:
    """Take all steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: R = end.value
            return result


def score_order(parts: Parts, ids: Int32s, n_dims: int) -> Steps[Arrangement]:
    """These parts by dimension, best first."""
    ids = ids.astype(np.int32)
    scored = yield from _score(parts, ids, n_dims)
    part = yield from _taken(ids, scored.item)
    return Arrangement(part, scored.start, 0)


def arrange(parts: Parts, ids: Int32s, n_dims: int) -> Steps[Arrangement]:
    """These parts by dimension, left to right as far as every point still meets its own best first."""
    ids = ids.astype(np.int32)
    scored = yield from _score(parts, ids, n_dims)
    start, part = scored.start, (yield from _taken(ids, scored.item))
    lows = yield from _sort_ends(scored.facts.low, scored)
    highs = yield from _sort_ends(scored.facts.high, scored)
    del scored
    spans, graph, ready = yield from _constrain(start, lows, highs)
    del highs
    placed = yield from _place(graph, spans, lows.item, ready)
    part = yield from _taken(part, placed)
    return Arrangement(part, start, int(graph.n_edges[0]))


def _slices(n: int) -> Iterator[slice]:
    for start in range(0, n, SLICE):
        yield slice(start, min(start + SLICE, n))


def _taken(values: npt.NDArray[Number], items: Int32s) -> Steps[npt.NDArray[Number]]:
    taken = np.empty(len(items), values.dtype)
    for some in _slices(len(items)):
        taken[some] = values[items[some]]
        yield
    return taken


def _score(parts: Parts, ids: Int32s, n_dims: int) -> Steps[Scored]:
    facts, n_in = make_facts(len(ids)), np.zeros(n_dims, np.int64)
    copy_facts(parts, ids, facts, n_in)
    yield
    start = offsets_of(n_in)
    deck = yield from _sort(facts.label, np.arange(len(ids), dtype=np.int32))
    keys = yield from _taken(facts.key, deck.item)
    deck = yield from _sort(keys, deck.item)
    deck = yield from _gather(deck, facts.dim, start)
    return Scored(facts, deck.item, start)


def _sort(numbers: Int64s, items: Int32s) -> Steps[Deck]:
    """Items by their numbers, equal ones as they come; both arrays are used up."""
    n, deck, spare = len(items), Deck(numbers, items), make_deck(len(items))
    counts = np.zeros((N_DIGITS, DIGITS), np.int64)
    for some in _slices(n):
        count_digits(numbers, some.start, some.stop, counts)
        yield
    for row in range(N_DIGITS):
        if counts[row].max() < n:
            place = places(counts, row)
            for some in _slices(n):
                deal(deck, row, some.start, some.stop, place, spare)
                yield
            deck, spare = spare, deck
    return deck


def _gather(deck: Deck, dims: Int32s, start: Int64s) -> Steps[Deck]:
    """The cards by dimension, otherwise in the order they have."""
    n = len(deck.item)
    if np.diff(start).max(initial=0) == n:
        return deck
    gathered, place = make_deck(n), start[:-1].copy()
    for some in _slices(n):
        deal_groups(deck, dims, some.start, some.stop, place, gathered)
        yield
    return gathered


def _sort_ends(ends: Int64s, scored: Scored) -> Steps[Deck]:
    """Ends of intervals by dimension, ascending, equal ones best first; the items are intervals by score."""
    numbers = yield from _taken(ends, scored.item)
    deck = yield from _sort(numbers, np.arange(len(ends), dtype=np.int32))
    dims = yield from _taken(scored.facts.dim, scored.item)
    return (yield from _gather(deck, dims, scored.start))


def _constrain(start: Int64s, lows: Deck, highs: Deck) -> Steps[tuple[IntervalPositions, Graph, Bits]]:
    """The constraint graph, and which intervals may come first."""
    n = len(lows.item)
    spans, blocks, graph, ready = make_spans(n), make_blocks(n), make_graph(n), make_bits(n)
    state = np.array([0, 0, 0, -1])
    while rank_ends(start, lows, highs, SLICE, state, spans, blocks):
        yield
    done = 0
    while done < n:
        done = constrain(spans, done, SLICE, blocks, graph, ready)
        yield
    return spans, graph, ready


def _place(graph: Graph, spans: IntervalPositions, by_left: Int32s, ready: Bits) -> Steps[Int32s]:
    placed, state = np.empty(len(by_left), np.int32), np.zeros(3, np.int64)
    while arrange_steps(graph, spans, by_left, SLICE, state, ready, placed):
        yield
    return placed
