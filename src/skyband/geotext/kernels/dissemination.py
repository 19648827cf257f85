"""Algorithm 1 of the Skype paper: the subscriptions that a message matters to, out of the lists of IGPT.

Where this differs from Algorithm 1:

- The paper goes leaf by leaf and looks up each word in each. Here the lists of a word are chained, so that only lists
  that exist are visited: word by word, and for each word through the leaves that are left. A subscription is in one
  leaf, so its words still come in order.
- The paper adds up the similarity of the entries it visits, and takes that for all that has been seen. But a word whose
  group was skipped is missing in the sum, although the skipping only proved that *its* words from there on are too
  little, not that they are together with earlier ones. So Theorem 2 here adds what s can have between the last word
  visited and this one, and in the end similarity is added up anew, in s's own order.

Bounds, and what they allow for rounding, are in `igpt`. Invariant: between messages `mark` and `said` are all zero.
"""

from typing import NamedTuple

import numpy as np

from skyband.geotext.kernels.igpt import (
    AFTER,
    ALPHA,
    ALPHA_STAR,
    BEHIND,
    GATE,
    HEAVIEST,
    INNER,
    LENGTH,
    MAX_BEHIND,
    NEED,
    NO_LIST,
    OF_LEAF,
    SLOT,
    SPAN,
    START,
    TOP_ALPHA,
    TOP_WT,
    ULP,
    WT,
    Igpt,
    is_hopeless,
    is_in_prefix,
    near_bound,
    refresh,
    text_need,
    theta_of,
    unseen_bound,
)
from skyband.geotext.kernels.quadtree import COUNT, N_NODES, distance_to, find_leaf
from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, place_score, relevance_of, say, unsay

# Places of `tally`.
CELLS = 0
GROUPS = 1
TERMINATED = 2
PREFIX = 3
UNSEEN = 4
ENTRIES = 5
VERIFIED = 6
ACCEPTED = 7
LEAVES = 8
N_TALLY = 9


class Prunings(NamedTuple):
    """Which bounds are used."""

    cells: bool
    groups: bool
    termination: bool
    prefix: bool
    max_weight: bool
    inner: bool
    outer: bool
    unseen: bool


class MessageWords(NamedTuple):
    """The words of one message, larger codes first; `maxwt` and `wtsum` from each word on, then 0.

    `cap` is what a weight of the message is at most for the prefix: `maxwt`, or HEAVIEST without the refinement.
    """

    word: Int64s
    weight: Floats
    maxwt: Floats
    wtsum: Floats
    cap: Floats


class Similarities(NamedTuple):
    """The paper's R: slots with their similarity so far, -inf when they are out; `mark` is a slot's place here plus 1.

    `rest` is the sum of the slot's weights behind its last word visited, and `last` which word of the message that is.
    """

    mark: Int32s
    slot: Int32s
    partial: Floats
    rest: Floats
    last: Int32s


class DisseminationWorkspace(NamedTuple):
    """Working space: by node the outer bound `reach`, -1 for leaves that are out, and the outer distance `far`.

    `tally` counts for one message, `total` for all.
    """

    message: MessageWords
    found: Similarities
    said: Floats
    reach: Floats
    far: Floats
    tally: Int64s
    total: Int64s


class Sight(NamedTuple):
    """How a message sees a leaf: `edge` is 1 where the inner distance of a slot adds to `far`, and 0 otherwise."""

    reach: float
    far: float
    edge: float
    diagonal: float


@kernel
def extent_of(contents: Contents, lo: int, hi: int) -> tuple[int, int]:
    """The most words that one of the messages lo to hi has, and a number above all their codes."""
    most, above = 0, 0
    for p in range(lo, hi):
        start, n_words = contents.term_start[p], contents.term_count[p]
        most = max(most, n_words)
        for at in range(start, start + n_words):
            above = max(above, contents.terms[at] + 1)
    return most, above


@inlined
def _read(contents: Contents, p: int, refined: bool, message: MessageWords) -> int:
    """Sort the words of a message and sum up its weights from behind; returns how many words there are."""
    word, weight, maxwt, wtsum, cap = message
    start, n = contents.term_start[p], contents.term_count[p]
    for i in range(n):
        # From behind: terms that ascend are sorted as they come.
        term, its_weight, at = contents.terms[start + n - 1 - i], contents.term_weights[start + n - 1 - i], i
        while at > 0 and word[at - 1] < term:
            word[at], weight[at] = word[at - 1], weight[at - 1]
            at -= 1
        word[at], weight[at] = term, its_weight
    maxwt[n] = wtsum[n] = cap[n] = 0.0
    for i in range(n - 1, -1, -1):
        maxwt[i], wtsum[i] = max(maxwt[i + 1], weight[i]), wtsum[i + 1] + weight[i]
        cap[i] = maxwt[i] if refined else HEAVIEST
    return n


@inlined
def _measure(
    index: Igpt, x: float, y: float, diagonal: float, prunings: Prunings, reading: DisseminationWorkspace
) -> None:
    """The outer bound of each leaf that has slots and cannot be pruned as a whole (Lemma 6)."""
    tree, least, reach, far, tally = index.tree, index.least, reading.reach, reading.far, reading.tally
    for leaf in range(tree.used[N_NODES]):
        reach[leaf] = -1.0
        if tree.node[leaf, COUNT] > 0:
            far[leaf] = distance_to(tree, leaf, x, y) if prunings.outer else 0.0
            bound = near_bound(0.0, far[leaf], diagonal)
            if prunings.cells and least[leaf] > bound:
                tally[CELLS] += 1
            else:
                reach[leaf] = bound
                tally[LEAVES] += 1


@inlined
def _end_of(parts: Float32s, first: int, n: int, wtsum_m: float, reach: float) -> int:
    """The first entry of a group from which on nobody can have enough in common with the message (Theorem 4)."""
    lo, hi = first, first + n
    while lo < hi:
        at = (lo + hi) // 2
        if is_hopeless(float(parts[at, TOP_WT]), wtsum_m, float(parts[at, NEED]), float(parts[at, TOP_ALPHA]), reach):
            hi = at
        else:
            lo = at + 1
    return lo


@inlined
def _visit(
    index: Igpt, at: int, i: int, sight: Sight, prunings: Prunings, reading: DisseminationWorkspace, n: int
) -> int:
    """Look at the slot of an entry of word i; returns how many have been found then, -1 if there is no room for it."""
    parts, gauge, found, message = index.lists.parts, index.asks.gauge, reading.found, reading.message
    slot, wt, behind = index.lists.who[at, SLOT], float(parts[at, WT]), float(parts[at, BEHIND])
    f = found.mark[slot] - 1
    if f >= 0 and found.partial[f] < 0.0:
        return n
    near = near_bound(sight.edge * gauge[slot, INNER], sight.far, sight.diagonal)
    need = text_need(theta_of(gauge[slot, GATE]), gauge[slot, ALPHA], near)
    if prunings.prefix and not is_in_prefix(wt + behind, message.cap[i], need):
        reading.tally[PREFIX] += 1
        return n
    if f < 0:
        if n == len(found.slot):
            return -1
        f, n = n, n + 1
        found.mark[slot], found.slot[f], found.partial[f], found.rest[f], found.last[f] = n, slot, 0.0, 0.0, 0
    # What words between the last one and this can have added unseen; both sums are rounded up, hence the margin.
    gap = max(found.rest[f] - (wt + behind) * (1.0 - 8.0 * ULP), 0.0)
    found.partial[f] += gap * message.maxwt[found.last[f]] + wt * message.weight[i]
    found.rest[f], found.last[f] = behind, i + 1
    left = unseen_bound(behind, message.maxwt[i + 1], message.wtsum[i + 1], float(parts[at, MAX_BEHIND]))
    if prunings.unseen and found.partial[f] + left < need:
        found.partial[f] = -np.inf
        reading.tally[UNSEEN] += 1
    return n


@inlined
def _visit_group(
    index: Igpt, first: int, end: int, i: int, sight: Sight, prunings: Prunings, reading: DisseminationWorkspace, n: int
) -> int:
    """Look at the entries of a group; returns as `_visit`."""
    parts, cap, is_filtered, n_filtered = index.lists.parts, reading.message.cap[i], prunings.prefix, 0
    for at in range(first, end):
        # First the prefix with the outer bound alone, by what the entry has itself: a look at the slot is a cache miss.
        need = float(parts[at, NEED]) - float(parts[at, ALPHA_STAR]) * sight.reach
        if is_filtered and not is_in_prefix(float(parts[at, WT]) + float(parts[at, BEHIND]), cap, need):
            n_filtered += 1
            continue
        n = _visit(index, at, i, sight, prunings, reading, n)
        if n < 0:
            break
    reading.tally[PREFIX] += n_filtered
    reading.tally[ENTRIES] += end - first
    return n


@inlined
def _visit_list(
    index: Igpt, of: int, i: int, sight: Sight, prunings: Prunings, reading: DisseminationWorkspace, n: int
) -> int:
    """Look at a list of word i, group by group; returns as `_visit`."""
    who, parts, tally, wtsum_m = index.lists.who, index.lists.parts, reading.tally, reading.message.wtsum[i]
    first = index.lists.head[of, START]
    end = first + index.lists.head[of, LENGTH]
    while first < end and n >= 0:
        span = who[first, SPAN]
        maxwt, need, alpha_star = float(parts[first, TOP_WT]), float(parts[first, NEED]), float(parts[first, TOP_ALPHA])
        if prunings.groups and is_hopeless(maxwt, wtsum_m, need, alpha_star, sight.reach):
            tally[GROUPS] += 1
        else:
            last = _end_of(parts, first, span, wtsum_m, sight.reach) if prunings.termination else first + span
            tally[TERMINATED] += first + span - last
            n = _visit_group(index, first, last, i, sight, prunings, reading, n)
        first += span
    return n


@inlined
def _walk(
    index: Igpt, n_words: int, home: int, diagonal: float, prunings: Prunings, reading: DisseminationWorkspace
) -> int:
    """Find the slots that the bounds leave; returns how many, -1 if there is no room for them."""
    head, chain, word, n = index.lists.head, index.lists.chain, reading.message.word, 0
    for i in range(n_words):
        of = chain[word[i]] if word[i] < len(chain) else NO_LIST
        while of != NO_LIST:
            leaf = head[of, OF_LEAF]
            if reading.reach[leaf] >= 0.0:
                edge = 1.0 if prunings.inner and leaf != home else 0.0
                sight = Sight(reading.reach[leaf], reading.far[leaf], edge, diagonal)
                n = _visit_list(index, of, i, sight, prunings, reading, n)
                if n < 0:
                    return n
            of = head[of, AFTER]
    return n


@inlined
def _verify(
    index: Igpt, n_found: int, contents: Contents, p: int, reading: DisseminationWorkspace, into: Candidates
) -> int:
    """Score what was found; returns how many candidates there are then, written down as far as there is room."""
    asks, place, found, tally = index.asks, index.seats.place, reading.found, reading.tally
    n, room, x, y = into.length[0], len(into.slot), contents.point[0, p], contents.point[1, p]
    say(contents, p, reading.said)
    for f in range(n_found):
        if found.partial[f] < 0.0:
            continue
        slot = found.slot[f]
        start = asks.span[slot, 0]
        relevance = relevance_of(asks.terms, asks.weights, start, start + asks.span[slot, 1], reading.said)
        dx, dy = x - place[slot, 0], y - place[slot, 1]
        directed = place_score(asks.gauge[slot, ALPHA], dx, dy, contents.diagonal, relevance)
        tally[VERIFIED] += 1
        if directed <= asks.gauge[slot, GATE] and directed != np.inf:
            if n < room:
                into.slot[n], into.publication[n], into.directed[n] = slot, p, directed
            n += 1
            tally[ACCEPTED] += 1
    unsay(contents, p, reading.said)
    return n


@inlined
def _forget(n_found: int, found: Similarities) -> None:
    for f in range(n_found):
        found.mark[found.slot[f]] = 0


@kernel
def match(
    index: Igpt,
    contents: Contents,
    lo: int,
    hi: int,
    prunings: Prunings,
    reading: DisseminationWorkspace,
    into: Candidates,
) -> int:
    """Find the slots that messages lo to hi pass the gates of, by Algorithm 1 for each.

    Returns the first message that there was no room for, be it in `into` or among what was found.
    """
    found, tally, total, diagonal = reading.found, reading.tally, reading.total, contents.diagonal
    refresh(index)
    for p in range(lo, hi):
        for t in range(N_TALLY):
            tally[t] = 0
        n_words = _read(contents, p, prunings.max_weight, reading.message)
        if n_words > 0:
            x, y = contents.point[0, p], contents.point[1, p]
            _measure(index, x, y, diagonal, prunings, reading)
            n_found = _walk(index, n_words, find_leaf(index.tree, x, y), diagonal, prunings, reading)
            if n_found < 0:
                _forget(len(found.slot), found)
                return p
            n = _verify(index, n_found, contents, p, reading, into)
            _forget(n_found, found)
            if n > len(into.slot):
                return p
            into.length[0] = n
            into.counts[0] += tally[VERIFIED]
            for t in range(N_TALLY):
                total[t] += tally[t]
    return hi
