"""Searching the term store: the best messages for a subscription by place and words, best bound first.

The words of the subscription are brought into an order, the rarest first. A message is taken from the tree of the first
of its words in this order, and passed over in the others. So what a message in the tree of word i can be worth in words
is bounded by its weight w for this word and by the words after i: s_i w + t sqrt(1 - w²), where t is the length of the
subscription's weights for these words, since the message's weights have length 1 (Cauchy and Schwarz). For a node w is
at most its largest weight. For an entry it is known, and the sketch bounds the weights of the other words one by one.
Place is bounded by the distance to the cell. A queue holds nodes and entries of all trees by these bounds; when an
entry comes up the message is scored, from the store and with the same additions in the same order as in `score_run`.
The search ends when the best bound is beyond the gate, which the worst of the kept messages sets.

The queue has room for all nodes, but only for so many entries: a leaf that it has no room for is read out at once, each
message scored that its bound does not rule out. So are all leaves for a Boolean subscription, whose gate does not move.

Bounds allow for rounding by SLACK, and for lengths of not quite 1. Invariants of the queue: no bound is less than that
of its parent, at `(i - 1) // 2`; a node is pushed at most once, and an entry only while room for all nodes is left.

Measured with 200,000 messages of 9 words and subscriptions of 1 to 5, where 35 are wanted: 120 messages are scored, 190
if every leaf is read out at once, and more than twice as many with one bit for a word in place of its level.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.earth import MAP_DIAGONAL
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.kernels.queue import BOUND, ENTRY, drop_first, push
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.cpm import CALLS, PUSHED, SCORED, VISITED, StoreQuery
from skyband.topk.kernels.scan import TIME, Live, Published
from skyband.topk.kernels.score import PLACE_ON_EARTH, Contents, Questions, message_score
from skyband.topk.kernels.term_store import (
    AXIS_BITS,
    BOTTOM,
    CELLS,
    COUNT,
    FIRST,
    LARGEST,
    LAST_CELL,
    LEFT,
    LOW,
    MESSAGE,
    MIDDLE,
    NUMBERS,
    PLACE_BITS,
    SAID,
    SIDE,
    SIZE_BITS,
    START,
    STEPS,
    WEIGHT,
    TermTrees,
    bucket_of,
    cell_of,
    room_of,
)

# The most words that a search goes by; a subscription with more has all messages looked at.
MOST_WORDS = 1024
# The most entries in the queue.
MOST_ENTRIES = 4096
SLACK = 1e-9
# The square of the largest length, and the most that rounding moves a place, in cells.
LONGEST = 1.0 + 3e-5
BLUR = 1e-6
REACH = 0.5 + BLUR
STEP = 1.0 / STEPS

# Columns of `TermSearch.weights`: of a word, of all words after it, and what the word adds at most by level.
OWN = 0
REST = 1
GAIN = 2

# Columns of `TermSearch.words`: the code and the bucket by rank; the rank by the subscription's own order.
CODE = 0
BUCKET = 1
RANK = 2

# Places of `TermSearch.outlook`.
X = 0
Y = 1
X_UNIT = 2
Y_UNIT = 3
ALPHA = 4
N_WORDS = 5


class TermSearch(NamedTuple):
    """Working space of one thread's searches.

    `queue` is a binary heap of bounds with nodes, and entries as numbers below 0. `weights` and `words` are those of
    the subscription. `outlook` has its place in cells, the sides of a cell as shares of the diagonal, its alpha and how
    many of its words anybody says. `counts` adds up messages scored, leaves visited, pushes and searches.
    """

    queue: Floats
    weights: Floats
    words: Int64s
    outlook: Floats
    counts: Int64s


def make_term_search(trees: TermTrees, most_words: int = MOST_WORDS, most_entries: int = MOST_ENTRIES) -> TermSearch:
    """Room for every node, so many entries and so many words, no more than MOST_WORDS."""
    return TermSearch(
        queue=np.zeros((len(trees.nodes) + most_entries, 2)),
        weights=np.zeros((most_words, 6)),
        words=np.zeros((most_words, 3), np.int64),
        outlook=np.zeros(6),
        counts=np.zeros(4, np.int64),
    )


@inlined
def _distance(outlook: Floats, left: float, bottom: float, side: float) -> float:
    """No more than the distance to any place in a cell, as a share of the diagonal."""
    dx = max(left - outlook[X], outlook[X] - (left + side), BLUR) - BLUR
    dy = max(bottom - outlook[Y], outlook[Y] - (bottom + side), BLUR) - BLUR
    dx, dy = dx * outlook[X_UNIT], dy * outlook[Y_UNIT]
    return np.sqrt(dx * dx + dy * dy)


@inlined
def _most_relevant(own: float, rest: float, weight: float) -> float:
    """The most that a message is worth in words, if the weight of this word is no larger."""
    length = np.sqrt(own * own + rest * rest)
    if weight * length >= own:
        return length * LONGEST
    return own * weight + rest * np.sqrt(max(LONGEST - weight * weight, 0.0))


@inlined
def _bound(alpha: float, far: float, relevance: float) -> float:
    """No more than a directed score, if nothing is nearer than this or worth more."""
    return -(alpha * (1.0 - far) + (1.0 - alpha) * relevance) - SLACK


@kernel
def _open(nodes: Int32s, cells: Int64s, quarters: int, rank: int, term_search: TermSearch, n: int, gate: float) -> int:
    """Push the quarters of a cell that are not beyond the gate; returns how many the queue has."""
    queue, outlook, own, rest = (
        term_search.queue,
        term_search.outlook,
        term_search.weights[rank, OWN],
        term_search.weights[rank, REST],
    )
    left, bottom, side = cells[quarters, LEFT], cells[quarters, BOTTOM], cells[quarters, SIDE]
    alpha = outlook[ALPHA]
    for i in range(4):
        row = 4 * quarters + i
        if nodes[row, COUNT] > 0:
            far = _distance(outlook, left + (i & 1) * side, bottom + (i >> 1) * side, side)
            bound = _bound(alpha, far, _most_relevant(own, rest, (nodes[row, LARGEST] >> SIZE_BITS) * STEP))
            if bound <= gate:
                n = push(queue, n, bound, row * float(MOST_WORDS) + rank)
    return n


@inlined
def _relevance(questions: Questions, slot: int, contents: Contents, p: int, words: Int64s, rank: int) -> float:
    """The sum over the shared terms, or -1 where there is none, or one of a lower rank."""
    asked, asked_weights, start = questions.terms, questions.term_weights, questions.term_start[slot]
    terms, weights, first = contents.terms, contents.term_weights, contents.term_start[p]
    end = first + contents.term_count[p]
    relevance, shares = 0.0, False
    for j in range(questions.term_count[slot]):
        term = asked[start + j]
        at = first
        while at < end and terms[at] != term:
            at += 1
        if at < end:
            if rank > 0 and words[j, RANK] < rank:
                return -1.0
            shares = True
            relevance += asked_weights[start + j] * weights[at]
    return relevance if shares else -1.0


@inlined
def _offer(
    questions: Questions,
    published: Published,
    ask: StoreQuery,
    p: int,
    rank: int,
    words: Int64s,
    heap: Heap,
    n_kept: int,
) -> int:
    """Score a message and put it into the heap if it is asked for; returns how many are kept."""
    contents, stamp, slot = published.contents, published.live.stamp[p], ask.slot
    relevance = _relevance(questions, slot, contents, p, words, rank)
    if relevance >= 0.0:
        directed = message_score(questions, slot, contents, p, relevance)
        if directed <= ask.limit and worse(ask.sign * -directed, stamp, ask.last_key, ask.last_stamp):
            n_kept = heap_push(heap, n_kept, ask.want, ask.sign * -directed, stamp, p)
    return n_kept


@inlined
def _is_live(ask: StoreQuery, live: Live, p: int) -> bool:
    """Whether the window of the subscription has a message."""
    if p < live.head or p >= ask.hi:
        return False
    age = live.ts[p] if ask.window_kind == TIME else live.stamp[p]
    return live.stamp[p] >= live.floor and age > ask.cut


@inlined
def _gain(said: int, rank: int, n_words: int, weights: Floats, words: Int64s) -> float:
    """The most that the words after this one add by their levels."""
    gain = 0.0
    for j in range(rank + 1, n_words):
        gain += weights[j, GAIN + (said >> words[j, BUCKET] & 3)]
    return gain


@inlined
def _relevant(said: int, own: float, rest: float, gain: float) -> float:
    """The most that a message is worth in words."""
    weight = (said & WEIGHT) * STEP
    if gain > 0.0:
        least = weight - STEP
        gain = min(gain, rest * np.sqrt(max(LONGEST - least * least, 0.0)))
    return own * weight + gain


@inlined
def _far(message: int, x: float, y: float, x_unit: float, y_unit: float) -> float:
    """No more than the distance of a message, as a share of the diagonal; x and y are by half a cell too small."""
    dx = (max(abs((message >> AXIS_BITS & LAST_CELL) - x), REACH) - REACH) * x_unit
    dy = (max(abs((message & LAST_CELL) - y), REACH) - REACH) * y_unit
    return np.sqrt(dx * dx + dy * dy)


@kernel
def _read(heads: Int32s, row: int, rank: int, entries: Int64s, term_search: TermSearch, n: int, gate: float) -> int:
    """Push the messages of a leaf that are not beyond the gate; returns how many the queue has."""
    queue, weights, words, outlook = term_search.queue, term_search.weights, term_search.words, term_search.outlook
    start, first, mask = heads[row, START], heads[row, FIRST], room_of(heads[row, LARGEST]) - 1
    x, y, x_unit, y_unit, alpha = outlook[X] - 0.5, outlook[Y] - 0.5, outlook[X_UNIT], outlook[Y_UNIT], outlook[ALPHA]
    own, rest, n_words = weights[rank, OWN], weights[rank, REST], int(outlook[N_WORDS])
    for i in range(heads[row, COUNT]):
        at = start + ((first + i) & mask)
        relevance = _relevant(entries[at, SAID], own, rest, _gain(entries[at, SAID], rank, n_words, weights, words))
        bound = _bound(alpha, _far(entries[at, MESSAGE], x, y, x_unit, y_unit), relevance)
        if bound <= gate:
            n = push(queue, n, bound, -1.0 - (at * float(MOST_WORDS) + rank))
    return n


@kernel
def _read_out(
    heads: Int32s,
    row: int,
    rank: int,
    entries: Int64s,
    questions: Questions,
    published: Published,
    ask: StoreQuery,
    term_search: TermSearch,
    heap: Heap,
    n_kept: int,
) -> int:
    """Offer the messages of a leaf that are not beyond the gate; returns how many are kept."""
    weights, words, outlook, live = term_search.weights, term_search.words, term_search.outlook, published.live
    start, first, mask = heads[row, START], heads[row, FIRST], room_of(heads[row, LARGEST]) - 1
    x, y, x_unit, y_unit, alpha = outlook[X] - 0.5, outlook[Y] - 0.5, outlook[X_UNIT], outlook[Y_UNIT], outlook[ALPHA]
    own, rest, n_words = weights[rank, OWN], weights[rank, REST], int(outlook[N_WORDS])
    gate = _gate(ask, heap, n_kept)
    # The most recent first: where recency decides, the others are then soon seen to come too late.
    for i in range(heads[row, COUNT] - 1, -1, -1):
        at = start + ((first + i) & mask)
        relevance = _relevant(entries[at, SAID], own, rest, _gain(entries[at, SAID], rank, n_words, weights, words))
        if _bound(alpha, _far(entries[at, MESSAGE], x, y, x_unit, y_unit), relevance) > gate:
            continue
        p = _index(entries, at, live.base)
        if _is_live(ask, live, p) and not (ask.sign == 0.0 and n_kept == ask.want and live.stamp[p] < heap.stamps[0]):
            term_search.counts[SCORED] += 1
            n_kept = _offer(questions, published, ask, p, rank, words, heap, n_kept)
            gate = _gate(ask, heap, n_kept)
    return n_kept


@inlined
def _index(entries: Int64s, at: int, base: int) -> int:
    """The place of an entry's message in the store."""
    return ((entries[at, MESSAGE] >> PLACE_BITS) - base) & NUMBERS


@inlined
def _gate(ask: StoreQuery, heap: Heap, n_kept: int) -> float:
    """What the directed score of a message may be at most: the recency of a Boolean match says nothing of its score."""
    if n_kept == ask.want and ask.sign != 0.0:
        return min(ask.limit, heap.keys[0])
    return ask.limit


@inlined
def _rank(trees: TermTrees, questions: Questions, slot: int, term_search: TermSearch) -> None:
    """Write down the words of the subscription that anybody says, the rarest first."""
    table, words, weights = trees.words, term_search.words, term_search.weights
    start, n = questions.term_start[slot], 0
    for j in range(questions.term_count[slot]):
        code = questions.terms[start + j]
        words[j, RANK] = MOST_WORDS
        if code >= len(table) or table[code, COUNT] == 0:
            continue
        at = n
        while at > 0 and table[words[at - 1, CODE], COUNT] > table[code, COUNT]:
            words[at, CODE], weights[at, OWN], weights[at, REST] = (
                words[at - 1, CODE],
                weights[at - 1, OWN],
                weights[at - 1, REST],
            )
            at -= 1
        # REST has the place in the subscription's own order until all are sorted.
        words[at, CODE], weights[at, OWN], weights[at, REST] = code, questions.term_weights[start + j], j
        n += 1
    square = 0.0
    for rank in range(n - 1, -1, -1):
        words[int(weights[rank, REST]), RANK] = rank
        words[rank, BUCKET] = bucket_of(words[rank, CODE])
        weights[rank, REST] = np.sqrt(square)
        own = weights[rank, OWN]
        square += own * own
        weights[rank, GAIN + 0], weights[rank, GAIN + 1] = 0.0, own * LOW
        weights[rank, GAIN + 2], weights[rank, GAIN + 3] = own * MIDDLE, own * LONGEST
    term_search.outlook[N_WORDS] = n


@inlined
def _look_from(trees: TermTrees, questions: Questions, slot: int, diagonal: float, outlook: Floats) -> None:
    """Write down where the subscription is; one on Earth is on the flat map, as the messages in the trees are."""
    block, i = slot // BLOCK, slot % BLOCK
    x, y = questions.centre[block, 0, i], questions.centre[block, 1, i]
    if questions.kinds[block] == PLACE_ON_EARTH:
        x, y, diagonal = questions.sphere[block, 3, i], questions.sphere[block, 4, i], MAP_DIAGONAL
    outlook[X], outlook[Y] = cell_of(x, trees.x_min, trees.x_side), cell_of(y, trees.y_min, trees.y_side)
    outlook[X_UNIT], outlook[Y_UNIT] = trees.x_side / diagonal / CELLS, trees.y_side / diagonal / CELLS
    outlook[ALPHA] = questions.alpha[slot]


@kernel
def _walk(
    trees: TermTrees, questions: Questions, published: Published, ask: StoreQuery, term_search: TermSearch, heap: Heap
) -> int:
    """Put the best messages into the heap, by bound; returns how many."""
    table, nodes, cells, entries = trees.words, trees.nodes, trees.cells, trees.entries
    queue, counts, words, base = term_search.queue, term_search.counts, term_search.words, published.live.base
    n_words = int(term_search.outlook[N_WORDS])
    room = len(queue) - len(nodes) if ask.sign != 0.0 else 0
    n = n_kept = n_scored = n_visited = n_popped = turn = 0
    while True:
        gate = _gate(ask, heap, n_kept)
        # The words come first, each as if it had just come up.
        if turn < n_words:
            heads, row, rank = table, words[turn, CODE], turn
            turn += 1
        elif n == 0 or queue[0, BOUND] > gate:
            break
        else:
            entry = int(queue[0, ENTRY])
            n = drop_first(queue, n)
            n_popped += 1
            if entry < 0:
                p = _index(entries, (-1 - entry) // MOST_WORDS, base)
                if _is_live(ask, published.live, p):
                    n_scored += 1
                    n_kept = _offer(questions, published, ask, p, (-1 - entry) % MOST_WORDS, words, heap, n_kept)
                continue
            heads, row, rank = nodes, entry // MOST_WORDS, entry % MOST_WORDS
        if heads[row, START] < 0:
            n = _open(nodes, cells, -heads[row, START], rank, term_search, n, gate)
            continue
        n_visited += 1
        if n + heads[row, COUNT] <= room:
            n = _read(heads, row, rank, entries, term_search, n, gate)
        else:
            n_kept = _read_out(heads, row, rank, entries, questions, published, ask, term_search, heap, n_kept)
    counts[PUSHED] += n_popped + n
    counts[SCORED] += n_scored
    counts[VISITED] += n_visited
    return n_kept


@kernel
def _look_at_all(
    questions: Questions, published: Published, ask: StoreQuery, term_search: TermSearch, heap: Heap
) -> int:
    """Put the best messages into the heap, scoring all that are stored; returns how many."""
    n_kept = 0
    for p in range(published.live.head, ask.hi):
        if _is_live(ask, published.live, p):
            term_search.counts[SCORED] += 1
            n_kept = _offer(questions, published, ask, p, 0, term_search.words, heap, n_kept)
    return n_kept


@kernel
def search_terms(
    trees: TermTrees, questions: Questions, published: Published, ask: StoreQuery, term_search: TermSearch, heap: Heap
) -> int:
    """Put what is asked for into the heap, by index into the store and best first; returns how many there are.

    The term store has everything that is stored, and `heap` room for `ask.want`.
    """
    term_search.counts[CALLS] += 1
    if ask.want <= 0:
        return 0
    if questions.term_count[ask.slot] > len(term_search.words):
        n_kept = _look_at_all(questions, published, ask, term_search, heap)
    else:
        _rank(trees, questions, ask.slot, term_search)
        _look_from(trees, questions, ask.slot, published.contents.diagonal, term_search.outlook)
        n_kept = _walk(trees, questions, published, ask, term_search, heap)
    heap_sort(heap, n_kept)
    return n_kept
