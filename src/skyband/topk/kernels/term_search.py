"""Searching the term store: the best messages for a subscription by place and words, best bound first.

The words of the subscription are brought into an order, the rarest first. A message is taken from the tree of the first
of its words in this order, and passed over in the others. A queue holds nodes and entries of all trees by their bounds
(see `term_bound`); when an entry comes up the message is scored, from the store and with the same additions in the same
order as in `score_run`. The search ends when the best bound is beyond the gate, which the worst of the kept messages
sets, or the worst of those that are promised. Messages are taken from the queue some at a time, and the memory of all
of them is asked for before the first is scored.

The queue has room for all nodes, but only for so many entries: a leaf that it has no room for is read out at once, each
message scored that its bound does not rule out. So are all leaves for a Boolean subscription, whose gate does not move.

Invariants of the queue: no bound is less than that of its parent, at `(i - 1) // 2`; a node is pushed at most once, and
an entry only while room for all nodes is left.

Measured with 200,000 messages of 9 words and subscriptions of 1 to 5, where 35 are wanted: 120 messages are scored, 190
if every leaf is read out at once, and more than twice as many with one bit for a word in place of its level. With
300,000 messages, of which 31 are wanted, 282 are pushed, and 1,033 without promises.
"""

import numpy as np

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.kernels.queue import BOUND, ENTRY, drop_first, push
from skyband.topk.kernels.cpm import CALLS, PUSHED, SCORED, VISITED, StoreQuery
from skyband.topk.kernels.scan import TIME, Live, Published
from skyband.topk.kernels.score import Contents, Questions, message_score
from skyband.topk.kernels.term_bound import (
    ALPHA,
    CHUNK,
    CODE,
    EARLIER,
    GATE,
    INDEX,
    LEAST,
    MOST_PROMISED,
    MOST_WORDS,
    N_PROMISED,
    N_WORDS,
    OWN,
    RANK,
    REST,
    SEEN,
    STEP,
    TermSearch,
    X,
    Y,
    bound_entries,
    bound_of,
    distance_to,
    look_from,
    most_relevant,
    promise,
    rank_words,
    surely,
)
from skyband.topk.kernels.term_store import (
    BOTTOM,
    CELLS,
    COUNT,
    FIRST,
    LARGEST,
    LEFT,
    MESSAGE,
    NUMBERS,
    PLACE_BITS,
    SAID,
    SIDE,
    SIZE_BITS,
    START,
    TermTrees,
    room_of,
)


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
            far = distance_to(outlook, left + (i & 1) * side, bottom + (i >> 1) * side, side)
            bound = bound_of(alpha, far, most_relevant(own, rest, (nodes[row, LARGEST] >> SIZE_BITS) * STEP))
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


@kernel
def _read_chunk(
    entries: Int64s, lo: int, hi: int, rank: int, ask: StoreQuery, live: Live, term_search: TermSearch, n: int
) -> int:
    """Push the messages of some entries that are not beyond the gate; returns how many the queue has.

    A promise counts each message once, in the tree of the first of its words.
    """
    queue, promised, earlier = term_search.queue, term_search.promised, term_search.words[rank, EARLIER]
    outlook, least, own = term_search.outlook, term_search.chunk[LEAST], term_search.weights[rank, OWN]
    n_promised, gate = int(outlook[N_PROMISED]), outlook[GATE]
    bound_entries(entries[lo:hi], rank, term_search)
    if n_promised > 0:
        for i in range(hi - lo):
            if least[i] < promised[0] and entries[lo + i, SAID] & earlier == 0:
                most = surely(entries[lo + i, MESSAGE], entries[lo + i, SAID], own, outlook)
                if most < promised[0] and _is_live(ask, live, _index(entries, lo + i, live.base)):
                    promise(promised, n_promised, most)
        gate = min(gate, promised[0])
    for i in range(hi - lo):
        if least[i] <= gate:
            n = push(queue, n, least[i], -1.0 - ((lo + i) * float(MOST_WORDS) + rank))
    return n


@inlined
def _read(
    heads: Int32s, row: int, rank: int, entries: Int64s, ask: StoreQuery, live: Live, term_search: TermSearch, n: int
) -> int:
    """Push the messages of a leaf that are not beyond the gate; returns how many the queue has."""
    start, first, room = heads[row, START], heads[row, FIRST], room_of(heads[row, LARGEST])
    done, count = 0, heads[row, COUNT]
    while done < count:
        at = (first + done) & (room - 1)
        size = min(count - done, room - at, CHUNK)
        n = _read_chunk(entries, start + at, start + at + size, rank, ask, live, term_search, n)
        done += size
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
    words, live, least, gate = term_search.words, published.live, term_search.chunk[LEAST], term_search.outlook[GATE]
    start, first, room, n = heads[row, START], heads[row, FIRST], room_of(heads[row, LARGEST]), heads[row, COUNT]
    # The most recent first: where recency decides, the others are then soon seen to come too late.
    while n > 0:
        end = (first + n - 1 & room - 1) + 1
        size = min(n, end, CHUNK)
        lo, n = start + end - size, n - size
        bound_entries(entries[lo : lo + size], rank, term_search)
        for i in range(size - 1, -1, -1):
            p = _index(entries, lo + i, live.base)
            if least[i] > gate or not _is_live(ask, live, p):
                continue
            if ask.sign != 0.0 or n_kept < ask.want or live.stamp[p] > heap.stamps[0]:
                term_search.counts[SCORED] += 1
                n_kept = _offer(questions, published, ask, p, rank, words, heap, n_kept)
                gate = min(gate, _gate(ask, heap, n_kept))
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
def _expect(ask: StoreQuery, outlook: Floats, promised: Floats) -> None:
    """Begin without a promise; there will be none if the place of the subscription is not known within the bounds."""
    n = ask.want if ask.want <= MOST_PROMISED and ask.sign != 0.0 and ask.last_key == -np.inf else 0
    if not (0.0 < outlook[X] < CELLS and 0.0 < outlook[Y] < CELLS):
        n = 0
    outlook[N_PROMISED] = n
    for i in range(n):
        promised[i] = np.inf


@inlined
def _pick(queue: Floats, n: int, gate: float, picked: Floats) -> tuple[int, int]:
    """Take the first entries out of the queue, as far as they are within the gate and no node lies before them.

    Returns how many the queue has left, and how many were taken.
    """
    n_picked = 0
    while n > 0 and n_picked < len(picked) and queue[0, ENTRY] < 0.0 and queue[0, BOUND] <= gate:
        picked[n_picked, BOUND], picked[n_picked, ENTRY] = queue[0, BOUND], queue[0, ENTRY]
        n = drop_first(queue, n)
        n_picked += 1
    return n, n_picked


@inlined
def _ask_for(entries: Int64s, published: Published, picked: Floats, n: int) -> int:
    """Ask for the memory of some messages at once, as `prefetch` does; what comes back means nothing."""
    contents, stamps, base = published.contents, published.live.stamp, published.live.base
    points, starts, lengths = contents.point, contents.term_start, contents.term_count
    terms, weights = contents.terms, contents.term_weights
    seen = 0
    for i in range(n):
        p = _index(entries, (-1 - int(picked[i, ENTRY])) // MOST_WORDS, base)
        picked[i, INDEX] = p
        seen += starts[p] + lengths[p] + stamps[p] + (points[0, p] > 0.0) + (points[1, p] > 0.0)
    for i in range(n):
        p = int(picked[i, INDEX])
        first, last = starts[p], starts[p] + max(lengths[p] - 1, 0)
        seen += terms[first] + terms[last] + (weights[first] > 0.0) + (weights[last] > 0.0)
    return seen


@kernel
def _offer_first(
    entries: Int64s,
    questions: Questions,
    published: Published,
    ask: StoreQuery,
    term_search: TermSearch,
    n: int,
    heap: Heap,
    n_kept: int,
) -> tuple[int, int]:
    """Offer the first messages of a queue of n to the heap; returns how many the queue has left and the heap keeps."""
    picked, words, counts, gate = term_search.picked, term_search.words, term_search.counts, term_search.outlook[GATE]
    n, n_picked = _pick(term_search.queue, n, gate, picked)
    term_search.outlook[SEEN] = _ask_for(entries, published, picked, n_picked)
    for i in range(n_picked):
        p = int(picked[i, INDEX])
        if picked[i, BOUND] <= gate and _is_live(ask, published.live, p):
            rank = (-1 - int(picked[i, ENTRY])) % MOST_WORDS
            n_kept = _offer(questions, published, ask, p, rank, words, heap, n_kept)
            gate = min(gate, _gate(ask, heap, n_kept))
            counts[SCORED] += 1
    counts[PUSHED] += n_picked
    return n, n_kept


@kernel
def _walk(
    trees: TermTrees, questions: Questions, published: Published, ask: StoreQuery, term_search: TermSearch, heap: Heap
) -> int:
    """Put the best messages into the heap, by bound; returns how many."""
    table, nodes, cells, entries = trees.words, trees.nodes, trees.cells, trees.entries
    queue, counts, words, outlook = term_search.queue, term_search.counts, term_search.words, term_search.outlook
    n_words = int(outlook[N_WORDS])
    room = len(queue) - len(nodes) if ask.sign != 0.0 else 0
    n = n_kept = turn = 0
    while True:
        outlook[GATE] = _gate(ask, heap, n_kept)
        if outlook[N_PROMISED] > 0.0:
            outlook[GATE] = min(outlook[GATE], term_search.promised[0])
        # The words come first, each as if it had just come up.
        if turn < n_words:
            heads, row, rank = table, words[turn, CODE], turn
            turn += 1
        elif n == 0 or queue[0, BOUND] > outlook[GATE]:
            break
        elif queue[0, ENTRY] < 0.0:
            n, n_kept = _offer_first(entries, questions, published, ask, term_search, n, heap, n_kept)
            continue
        else:
            entry = int(queue[0, ENTRY])
            n = drop_first(queue, n)
            counts[PUSHED] += 1
            heads, row, rank = nodes, entry // MOST_WORDS, entry % MOST_WORDS
        if heads[row, START] < 0:
            n = _open(nodes, cells, -heads[row, START], rank, term_search, n, outlook[GATE])
            continue
        counts[VISITED] += 1
        if n + heads[row, COUNT] <= room:
            n = _read(heads, row, rank, entries, ask, published.live, term_search, n)
        else:
            n_kept = _read_out(heads, row, rank, entries, questions, published, ask, term_search, heap, n_kept)
    counts[PUSHED] += n
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
        rank_words(trees, questions, ask.slot, term_search)
        look_from(trees, questions, ask.slot, published.contents.diagonal, term_search.outlook)
        _expect(ask, term_search.outlook, term_search.promised)
        n_kept = _walk(trees, questions, published, ask, term_search, heap)
    heap_sort(heap, n_kept)
    return n_kept
