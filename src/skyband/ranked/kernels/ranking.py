"""Ranked matching: the best subscriptions for an event, from streams of parts in order.

*In order*, where all streams rank by the score of the whole subscription (exact matching, or a single stream): they are
merged, a subscription all of whose indexed parts turn up is a candidate, and the first k are the answer. If keys are
only bounds, since scores depend on the event or on which parts are met, the search goes on until none that is left can
reach the answer. That is *by total*: relaxed matching with all streams in the order of what subscriptions can score.

*Threshold Algorithm*, where each stream ranks by the weights of its own dimension (relaxed matching): parts are taken
from the streams in turn; each new subscription is looked at as a whole; no subscription that was not seen yet can be
better than the threshold, what the keys that the streams came to combine to. A subscription has a limited number of
parts, so a sum takes only so many of the largest keys; a minimum is no larger than as many keys down as the
subscription with the fewest parts has. Where sums are exact, one that was not seen and reaches the threshold has the
keys that the streams came to and smaller labels: then ties end the search, too.
"""

from typing import NamedTuple

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.ranked.kernels.fitting import FLAT, MAX, MIN, SUM, UNMATCHED, Rule, score_parts
from skyband.ranked.kernels.getnext import Layers
from skyband.ranked.kernels.interval_scan import BestSlots, Events
from skyband.ranked.kernels.parts import CRAMPED, END, KEY, OWNER, Parts
from skyband.ranked.kernels.streams import RANDOM, Streams, make_heap_of_streams, open_streams, pull, sink

# Sums in another order may differ by the rounding of each addition.
SLACK = 2.0**-50
LARGEST_LABEL = 2**63 - 1


# A span: the first part, how many there are, and a bit that says whether these are about the first dimensions. One
# integer is one place in memory to go to.
SPAN_BITS = 21
MOST_PARTS = 2 ** (SPAN_BITS - 1) - 1


class Owners(NamedTuple):
    """By owner the `span` of its parts, how many of them have to turn up, and what its budget has left.

    A budget below zero is no budget; `budgeted` says whether there are any. `size` counts the indexed parts by
    dimension; no owner has parts in fewer streams than `least` or in more than `most`. Unless `all_parts` have to turn
    up, one does, and `verify` says that the others have to be looked at. If keys
    are what the whole subscription can score, it is `by_total`. If weights are `even`, sums of them are exact.
    """

    span: Int64s
    needed: Int32s
    budget: Int64s
    size: Int64s
    least: int
    most: int
    all_parts: bool
    verify: bool
    by_total: bool
    budgeted: bool
    even: bool


@inlined
def spent(asked: Owners, owner: int) -> bool:
    """Whether an owner's budget is used up."""
    return asked.budgeted and asked.budget[owner] == 0


class SearchScratch(NamedTuple):
    """What a search needs besides its streams: the best so far, when an owner was last seen, and sorted bounds."""

    heap: Heap
    seen: Int64s
    bounds: Floats


class RankingSearch(NamedTuple):
    """All that the matching of an event reads and writes, but for the event and the answer."""

    layers: Layers
    parts: Parts
    asked: Owners
    rule: Rule
    streams: Streams
    scratch: SearchScratch


@inlined
def match_event(
    search: RankingSearch, low: Floats, high: Floats, k: int, stamp: int, slots: Int64s, scores: Floats
) -> int:
    """Write the k best subscriptions for an event; answers how many they are, or CRAMPED.

    A stamp must not be the one of an event before.
    """
    rule, heap = search.rule, search.scratch.heap
    n = open_streams(search.layers, search.parts, search.asked.size, low, high, rule.inside, search.streams)
    if n == CRAMPED:
        return CRAMPED
    if n == 0:
        return 0
    by_score = rule.exact or (n == 1 and rule.combination != MIN and not search.asked.by_total)
    if by_score and rule.fit == FLAT:
        return _in_order(search, low, high, k, n, slots, scores)
    if by_score or search.asked.by_total:
        n_best = _in_bound_order(search, low, high, k, n)
    else:
        n_best = _threshold(search, low, high, k, n, stamp)
    heap_sort(heap, n_best)
    for i in range(n_best):
        slots[i], scores[i] = heap.items[i], -heap.keys[i]
    return n_best


@inlined
def _in_order(search: RankingSearch, low: Floats, high: Floats, k: int, n: int, slots: Int64s, scores: Floats) -> int:
    parts, asked, rule, streams = search.parts, search.asked, search.rule, search.streams
    fact = parts.fact
    n_found, n_turned_up = 0, 1
    n_live = n if n == 1 else _start(search, low, high, n)
    while n_live > 0 and n_found < k:
        if n == 1:
            part = pull(search.layers, parts, low, high, rule, streams, 0)
            if part == END:
                break
        else:
            part, n_turned_up, n_live = _next_owner(search, low, high, n_live)
        owner = int(fact[part, OWNER])
        if (asked.all_parts and n_turned_up < asked.needed[owner]) or spent(asked, owner):
            continue
        if asked.verify:
            streams.work[RANDOM] += 1
            if owner_score(search, owner, low, high) == UNMATCHED:
                continue
        slots[n_found], scores[n_found] = owner, fact[part, KEY]
        n_found += 1
    return n_found


@inlined
def _in_bound_order(search: RankingSearch, low: Floats, high: Floats, k: int, n: int) -> int:
    asked, fact, heap = search.asked, search.parts.fact, search.scratch.heap
    n_best = 0
    n_live = _start(search, low, high, n)
    while n_live > 0:
        part, n_turned_up, n_live = _next_owner(search, low, high, n_live)
        owner = int(fact[part, OWNER])
        # Whoever comes later has a smaller key, or the same and a smaller label.
        if n_best == k and worse(-fact[part, KEY], search.parts.label[owner], heap.keys[0], heap.stamps[0]):
            break
        if not (asked.all_parts and n_turned_up < asked.needed[owner]) and not spent(asked, owner):
            n_best = _look(search, owner, low, high, k, n_best)
    return n_best


@inlined
def owner_score(search: RankingSearch, owner: int, low: Floats, high: Floats) -> float:
    """The score of a subscription for an event, or UNMATCHED."""
    span = search.asked.span[owner]
    n, leading = (span >> 1) & MOST_PARTS, span & 1 == 1
    return score_parts(search.parts, span >> SPAN_BITS, n, leading, low, high, search.rule)


@inlined
def _look(search: RankingSearch, owner: int, low: Floats, high: Floats, k: int, n_best: int) -> int:
    """Look at a subscription as a whole, and keep it if it is among the best; answers how many these are."""
    parts, heap = search.parts, search.scratch.heap
    search.streams.work[RANDOM] += 1
    score = owner_score(search, owner, low, high)
    if score == UNMATCHED or (n_best == k and -score > heap.keys[0]):
        return n_best
    return heap_push(heap, n_best, k, -score, parts.label[owner], owner)


@inlined
def _start(search: RankingSearch, low: Floats, high: Floats, n: int) -> int:
    for stream in range(n):
        search.streams.head[stream] = pull(search.layers, search.parts, low, high, search.rule, search.streams, stream)
    return make_heap_of_streams(search.parts, search.streams, n)


@inlined
def _next_owner(search: RankingSearch, low: Floats, high: Floats, n_live: int) -> tuple[int, int, int]:
    """A part of the next owner of all streams, how many of its parts turned up, and how many streams go on."""
    parts, streams = search.parts, search.streams
    fact, heap, head = parts.fact, streams.heap, streams.head
    part = head[heap[0]]
    n_turned_up = 0
    while n_live > 0 and fact[head[heap[0]], OWNER] == fact[part, OWNER]:
        n_turned_up += 1
        stream = heap[0]
        head[stream] = pull(search.layers, parts, low, high, search.rule, streams, stream)
        if head[stream] == END:
            n_live -= 1
            heap[0] = heap[n_live]
        sink(parts, streams, n_live, 0)
    return part, n_turned_up, n_live


@inlined
def _threshold(search: RankingSearch, low: Floats, high: Floats, k: int, n: int, stamp: int) -> int:
    parts, asked, rule, streams, scratch = search.parts, search.asked, search.rule, search.streams, search.scratch
    fact, heap, seen, bound, turn = parts.fact, scratch.heap, scratch.seen, streams.bound, streams.heap
    n_best, n_live = 0, n
    for stream in range(n):
        turn[stream] = stream
    while n_live > 0:
        i = 0
        while i < n_live:
            stream = turn[i]
            part = pull(search.layers, parts, low, high, rule, streams, stream)
            if part == END:
                bound[stream] = 0.0
                n_live -= 1
                turn[i] = turn[n_live]
                continue
            i += 1
            bound[stream], streams.head[stream] = fact[part, KEY], part
            owner = int(fact[part, OWNER])
            if seen[owner] != stamp:
                seen[owner] = stamp
                if not spent(asked, owner):
                    n_best = _look(search, owner, low, high, k, n_best)
        if n_best == k:
            limit = threshold(bound, n, asked, rule.combination, scratch.bounds)
            if limit < -heap.keys[0]:
                break
            if asked.even and limit == -heap.keys[0] and _largest_unseen(search, n) <= heap.stamps[0]:
                break
    return n_best


@inlined
def _largest_unseen(search: RankingSearch, n: int) -> int:
    """A label above those of all subscriptions that were not seen and reach the threshold."""
    parts, streams = search.parts, search.streams
    least, most, n_above = LARGEST_LABEL, -LARGEST_LABEL, 0
    for stream in range(n):
        if streams.bound[stream] > 0.0:
            label = parts.label[int(parts.fact[streams.head[stream], OWNER])]
            least, most, n_above = min(least, label), max(most, label), n_above + 1
    if n_above == 0:
        return LARGEST_LABEL
    # It has parts in all the streams that add to the threshold, or in as many of them as it may have parts.
    return least if n_above <= search.asked.most else most


@kernel
def threshold(bound: Floats, n: int, asked: Owners, combination: int, bounds: Floats) -> float:
    """What no subscription that was not seen can be better than, given the keys that n streams came to."""
    if combination == MIN and asked.least > n:
        return 0.0
    taken = 1
    if combination != MAX:
        taken = min(n, asked.most if combination == SUM else max(asked.least, 1))
    for i in range(n):
        place = min(i, taken)
        while place > 0 and bounds[place - 1] < bound[i]:
            if place < taken:
                bounds[place] = bounds[place - 1]
            place -= 1
        if place < taken:
            bounds[place] = bound[i]
    if combination != SUM:
        return bounds[taken - 1]
    total = 0.0
    for i in range(taken):
        total += bounds[i]
    return total if asked.even else total * (1.0 + SLACK * len(asked.size))


@kernel
def match_events(search: RankingSearch, events: Events, order: Int64s, stamp: int, start: int, found: BestSlots) -> int:
    """Match the events in this order, from place `start` on; answers how far it came. They need not be all of them.

    Without an order they are *served*: budgets are used up, event by event, and only those are matched (again) whose
    answers hold a budget that is used up by then.
    """
    slots, serving = found.slot, len(order) == 0
    n_events = len(found.length) if serving else len(order)
    for i in range(start, n_events):
        event = i if serving else order[i]
        if not serving or has_spent(search, found, event):
            at, k = found.start[event], events.k[event]
            answer = slots[at : at + k], found.score[at : at + k]
            n = match_event(search, events.low[event], events.high[event], k, stamp + i, *answer)
            if n == CRAMPED:
                return i
            found.length[event] = n
        if serving:
            use_up(search, found, event)
    return n_events


@inlined
def has_spent(search: RankingSearch, found: BestSlots, event: int) -> bool:
    """Whether the answer to an event holds a budget that is used up."""
    at = found.start[event]
    for j in range(at, at + found.length[event]):
        if search.asked.budget[found.slot[j]] == 0:
            return True
    return False


@inlined
def use_up(search: RankingSearch, found: BestSlots, event: int) -> None:
    """Take one from each budget in the answer to an event."""
    at, budget = found.start[event], search.asked.budget
    for j in range(at, at + found.length[event]):
        if budget[found.slot[j]] > 0:
            budget[found.slot[j]] -= 1
