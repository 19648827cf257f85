"""Tiers: subscriptions in blocks of 32 that lie close together, searched by bounds on sums of weights.

A block has for each dimension the least lower end, the greatest upper end and the greatest weight of its members; the
weights of those dimensions whose extent the event touches add up to a bound on the scores in it. A tier is up to
N_BLOCKS blocks, whose bounds are found in one loop for each dimension; tiers are gone through by the greatest sum of
weights in them. Numbers have 32 bits, ends rounded outward and weights upward: whoever can reach the k-th score is
looked at in the pool of parts, exactly.

Invariants: what is said of a block holds for its members; a place without a member has an interval that nothing meets;
weights are above zero, so that a bound is zero only where nothing is met.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import heap_push, heap_sort
from skyband.ranked.kernels.fitting import UNMATCHED
from skyband.ranked.kernels.interval_scan import BestSlots, Events
from skyband.ranked.kernels.ranking import RankingSearch, has_spent, owner_score, spent, use_up
from skyband.ranked.kernels.streams import RANDOM, SORTED

BLOCK = 32
N_BLOCKS = 512
TIER = BLOCK * N_BLOCKS
NOBODY = -1
# The smallest weight, so that whoever is met has a bound above zero.
SMALLEST = float(np.finfo(np.float32).tiny)


class Planes(NamedTuple):
    """Ends and weights, of members or of blocks."""

    lo: Float32s
    hi: Float32s
    weight: Float32s


class Tiers(NamedTuple):
    """Planes by tier, dimension and block, and by tier, block, dimension and place; who is at each place.

    The last dimension may be for what every event meets. `most` is by tier the greatest sum of weights, and `order` has
    the tiers by it.
    """

    block: Planes
    member: Planes
    owner: Int32s
    most: Floats
    order: Int64s


class TierBounds(NamedTuple):
    """Scratch for bounds of blocks and of members, and the events in 32 bits: what an interval has to touch."""

    block: Float32s
    member: Float32s
    low: Float32s
    high: Float32s


@inlined
def add_weights(
    lo: Float32s, hi: Float32s, weight: Float32s, low: np.float32, high: np.float32, bound: Float32s
) -> None:
    """Add the weights of those intervals that have a point in common with [low, high]."""
    for i in range(len(bound)):
        if (lo[i] <= high) & (hi[i] >= low):
            bound[i] += weight[i]


@inlined
def _reaches(bound: float, n_best: int, k: int, worst: float, slack: float) -> bool:
    return bound > 0.0 and (n_best < k or bound * slack >= worst)


@kernel
def search_tiers(
    tiers: Tiers,
    search: RankingSearch,
    events: Events,
    event: int,
    bounds: TierBounds,
) -> int:
    """Put the k best subscriptions for an event into the heap; answers how many."""
    blocks = tiers.block
    heap, n_dims, k = search.scratch.heap, tiers.member.lo.shape[2], events.k[event]
    # Each addition of 32 bits may lose half a unit in the last of its 24 bits.
    slack = 1.0 + n_dims * 2.0**-22
    n_best = 0
    for place in range(len(tiers.order)):
        tier = tiers.order[place]
        if n_best == k and tiers.most[tier] * slack < -heap.keys[0]:
            break
        block_bound = bounds.block
        for i in range(N_BLOCKS):
            block_bound[i] = 0.0
        for j in range(n_dims):
            # A missing dimension is NaN, and has no point in common with anything.
            lo, hi, weight = blocks.lo[tier, j], blocks.hi[tier, j], blocks.weight[tier, j]
            add_weights(lo, hi, weight, bounds.low[event, j], bounds.high[event, j], block_bound)
        for block in range(N_BLOCKS):
            if _reaches(block_bound[block], n_best, k, -heap.keys[0], slack):
                n_best = _search_block(tiers, tier, block, search, events, event, bounds, slack, n_best)
    return n_best


@inlined
def _search_block(
    tiers: Tiers,
    tier: int,
    block: int,
    search: RankingSearch,
    events: Events,
    event: int,
    bounds: TierBounds,
    slack: float,
    n_best: int,
) -> int:
    members = tiers.member
    heap, parts, member_bound, k = search.scratch.heap, search.parts, bounds.member, events.k[event]
    search.streams.work[SORTED] += 1
    for i in range(BLOCK):
        member_bound[i] = 0.0
    for j in range(tiers.member.lo.shape[2]):
        lo, hi, weight = members.lo[tier, block, j], members.hi[tier, block, j], members.weight[tier, block, j]
        add_weights(lo, hi, weight, bounds.low[event, j], bounds.high[event, j], member_bound)
    for i in range(BLOCK):
        if _reaches(member_bound[i], n_best, k, -heap.keys[0], slack):
            owner = int(tiers.owner[tier, block, i])
            if not spent(search.asked, owner):
                search.streams.work[RANDOM] += 1
                score = owner_score(search, owner, events.low[event], events.high[event])
                if score != UNMATCHED:
                    n_best = heap_push(heap, n_best, k, -score, parts.label[owner], owner)
    return n_best


@kernel
def match_in_tiers(
    tiers: Tiers, search: RankingSearch, events: Events, order: Int64s, bounds: TierBounds, found: BestSlots
) -> None:
    """Match the events in this order; without one serve them, as `match_events` does."""
    heap, serving = search.scratch.heap, len(order) == 0
    for i in range(len(found.length) if serving else len(order)):
        event = i if serving else order[i]
        at = found.start[event]
        if not serving or has_spent(search, found, event):
            found.length[event] = search_tiers(tiers, search, events, event, bounds)
            heap_sort(heap, found.length[event])
            for j in range(found.length[event]):
                found.slot[at + j], found.score[at + j] = heap.items[j], -heap.keys[j]
        if serving:
            use_up(search, found, event)
