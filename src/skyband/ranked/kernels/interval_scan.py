"""Brute force over intervals: each event is held against every subscription, in the order of a batch.

Subscriptions have a slot each. Where the score is the sum of whole weights in a few dimensions, their numbers lie
dimension by dimension in blocks, and a loop over a block vectorises; otherwise the parts of each are looked at in turn.
Invariants: a slot that is free or whose budget is used up needs NEVER parts; no other does. In a block, a dimension
that a slot does not ask about has an empty interval.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort
from skyband.kernels.ragged import starts_of
from skyband.kernels.slots import BLOCK
from skyband.ranked.kernels.fitting import UNMATCHED, Rule, score_parts
from skyband.ranked.kernels.parts import Parts

NEVER = 2**62


class Intervals(NamedTuple):
    """Intervals and weights as (block, dimension, slot within block)."""

    lo: Floats
    hi: Floats
    weight: Floats


class PartSpans(NamedTuple):
    """Where in a pool the parts of each slot begin, and how many there are."""

    first: Int64s
    n_parts: Int64s


class Standing(NamedTuple):
    """By slot: a label, larger for a larger id; how many parts have to be met; what is left of the budget, or -1."""

    label: Int64s
    needed: Int64s
    budget: Int64s


class Events(NamedTuple):
    """Intervals by event and dimension, NaN where one is missing, and how many slots each event asks for."""

    low: Floats
    high: Floats
    k: Int64s


class ScoreTally(NamedTuple):
    """Scratch for a block: scores so far, and how many parts are met."""

    score: Floats
    n_met: Int64s


class BestSlots(NamedTuple):
    """The best slots of each event and their scores: `length` of them, from `start` on."""

    start: Int64s
    length: Int64s
    slot: Int64s
    score: Floats


def make_found(ks: Int64s) -> BestSlots:
    """Room for so many slots an event."""
    starts, n = (starts_of(ks), ks.sum()) if len(ks) > 1 else (np.zeros(len(ks), np.int64), int(sum(ks)))
    return BestSlots(starts, np.zeros(len(ks), np.int64), np.zeros(n, np.int64), np.zeros(n))


def most_asked(events: Events) -> int:
    """How many slots an event asks for at most."""
    return int(events.k[0] if len(events.k) == 1 else events.k.max(initial=0))


@kernel
def score_interval_block(
    intervals: Intervals,
    block: int,
    low: Floats,
    high: Floats,
    inside: bool,
    tally: ScoreTally,
) -> None:
    """The sum of the weights of the parts that are met, for a block's slots, and how many there are."""
    score, n_met = tally.score, tally.n_met
    for i in range(BLOCK):
        score[i] = 0.0
        n_met[i] = 0
    for j in range(len(low)):
        lo, hi, weight = intervals.lo[block, j], intervals.hi[block, j], intervals.weight[block, j]
        # A part has to begin by one end of the event and to last until the other.
        begin, last = (low[j], high[j]) if inside else (high[j], low[j])
        if np.isnan(begin):
            # A missing dimension meets the parts that are open on both sides, as both infinities do.
            begin, last = -np.inf, np.inf
        for i in range(BLOCK):
            if (lo[i] <= begin) & (last <= hi[i]):
                score[i] += weight[i]
                n_met[i] += 1


@inlined
def _promising(tally: ScoreTally, needed: Int64s, least: float) -> bool:
    """Whether a slot of a block matches with such a score; unlike the loop that picks them, this one vectorises."""
    score, n_met = tally.score, tally.n_met
    n_promising = 0
    for i in range(BLOCK):
        n_promising += (n_met[i] >= needed[i]) & (score[i] >= least)
    return n_promising > 0


@inlined
def _answer(heap: Heap, n: int, event: int, standing: Standing, found: BestSlots) -> None:
    """Write down what an event found, and take it off the budgets."""
    heap_sort(heap, n)
    found.length[event] = n
    needed, budget = standing.needed, standing.budget
    start = found.start[event]
    for i in range(n):
        slot = heap.items[i]
        found.slot[start + i], found.score[start + i] = slot, -heap.keys[i]
        if budget[slot] > 0:
            budget[slot] -= 1
            if budget[slot] == 0:
                needed[slot] = NEVER


@kernel
def stab(
    events: Events,
    inside: bool,
    intervals: Intervals,
    n_blocks: int,
    standing: Standing,
    heap: Heap,
    tally: ScoreTally,
    found: BestSlots,
) -> None:
    """The best slots for each event by the sum of the weights of the parts that are met."""
    score, n_met, keys = tally.score, tally.n_met, heap.keys
    for event in range(len(events.k)):
        n, k = 0, events.k[event]
        low, high = events.low[event], events.high[event]
        for block in range(n_blocks):
            score_interval_block(intervals, block, low, high, inside, tally)
            first = block * BLOCK
            needed, label = standing.needed[first : first + BLOCK], standing.label[first : first + BLOCK]
            if not _promising(tally, needed, -keys[0] if n == k else 0.0):
                continue
            for i in range(BLOCK):
                if n_met[i] >= needed[i] and (n < k or -score[i] <= keys[0]):
                    n = heap_push(heap, n, k, -score[i], label[i], first + i)
        _answer(heap, n, event, standing, found)


@kernel
def sift(
    events: Events,
    rule: Rule,
    parts: Parts,
    spans: PartSpans,
    standing: Standing,
    heap: Heap,
    found: BestSlots,
) -> None:
    """The best slots for each event by any rule."""
    first, n_parts, needed, keys = spans.first, spans.n_parts, standing.needed, heap.keys
    for event in range(len(events.k)):
        n, k = 0, events.k[event]
        low, high = events.low[event], events.high[event]
        for slot in range(len(first)):
            if needed[slot] == NEVER:
                continue
            score = score_parts(parts, first[slot], n_parts[slot], False, low, high, rule)
            if score != UNMATCHED and (n < k or -score <= keys[0]):
                n = heap_push(heap, n, k, -score, standing.label[slot], slot)
        _answer(heap, n, event, standing, found)


def check_standing(standing: Standing, used: Bools) -> None:
    """Assert which slots need NEVER parts; `used` may be shorter than the arrays."""
    spent = np.ones(len(standing.needed), np.bool_)
    spent[: len(used)] = ~used | (standing.budget[: len(used)] == 0)
    assert ((standing.needed == NEVER) == spent).all()
    assert (standing.budget[: len(used)][used] >= -1).all()
