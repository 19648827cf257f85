"""Bounds of a search for messages: how a subscription's words rank, and what nodes and entries can be worth to it.

The words of the subscription are in an order, the rarest first, and a message is met in the tree of the first of them
that it has. What it can be worth in words is bounded by its weight w for this word and by the words after i: s_i w + t
sqrt(1 - w²), where t is the length of the subscription's weights for these words, since the message's weights have
length 1 (Cauchy and Schwarz). For a node w is at most its largest weight. For an entry it is known, and the sketch
bounds the weights of the other words one by one. Place is bounded by the distance to the cell.

An entry bounds its score from the other side too: the message lies in its cell, and weighs the word by no less than
STEP below what is noted. Once as many different messages as are wanted are *promised* to be no worse than some score,
whatever cannot be as good is passed over. Bounds allow for rounding by SLACK, and for lengths of not quite 1.

The loops over entries are one to a function and run over whole rows of an array, so that they become vectors.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.earth import MAP_DIAGONAL
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.score import PLACE_ON_EARTH, Questions
from skyband.topk.kernels.term_store import (
    AXIS_BITS,
    CELLS,
    COUNT,
    LAST_CELL,
    LOW,
    MESSAGE,
    MIDDLE,
    SAID,
    STEPS,
    WEIGHT,
    TermTrees,
    bucket_of,
    cell_of,
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

# Columns of `TermSearch.words`: the code and the bucket by rank, and the bits that a sketch has if the message may have
# a word of a lower rank; the rank by the subscription's own order.
CODE = 0
BUCKET = 1
EARLIER = 2
RANK = 3

# Rows of `TermSearch.chunk`: no more than the directed scores of entries, and the most that they are worth in words.
LEAST = 0
WORTH = 1
# Entries whose bounds are computed at a time.
CHUNK = 256
# Messages that are taken from the queue and asked for at a time.
AT_ONCE = 32
# The most promises; a search for more goes without.
MOST_PROMISED = 256

# Places of `TermSearch.outlook`.
X = 0
Y = 1
X_UNIT = 2
Y_UNIT = 3
ALPHA = 4
N_WORDS = 5
IS_FLAT = 6
N_PROMISED = 7
GATE = 8
# No number of the subscription: it takes what comes of asking for memory.
SEEN = 9

# Columns of `TermSearch.picked`, after those of the queue: the place in the store.
INDEX = 2


class TermSearch(NamedTuple):
    """Working space of one thread's searches.

    `queue` is a binary heap of bounds with nodes, and entries as numbers below 0. `weights` and `words` are those of
    the subscription. `outlook` has its place in cells, the sides of a cell as shares of the diagonal, its alpha, how
    many of its words anybody says, 1 if distances are those of the map, how many messages are to be promised, and the
    gate. `chunk` has the bounds of some entries. `promised` is a heap of scores, the worst first: as many different
    messages are known to be no worse. `picked` has the first entries of the queue. `counts` adds up messages scored,
    leaves visited, pushes and searches.
    """

    queue: Floats
    weights: Floats
    words: Int64s
    outlook: Floats
    chunk: Floats
    promised: Floats
    picked: Floats
    counts: Int64s


def make_term_search(trees: TermTrees, most_words: int = MOST_WORDS, most_entries: int = MOST_ENTRIES) -> TermSearch:
    """Room for every node, so many entries and so many words, no more than MOST_WORDS."""
    return TermSearch(
        queue=np.zeros((len(trees.nodes) + most_entries, 2)),
        weights=np.zeros((most_words, 6)),
        words=np.zeros((most_words, 4), np.int64),
        outlook=np.zeros(10),
        chunk=np.zeros((2, CHUNK)),
        promised=np.zeros(MOST_PROMISED),
        picked=np.zeros((AT_ONCE, 3)),
        counts=np.zeros(4, np.int64),
    )


@inlined
def distance_to(outlook: Floats, left: float, bottom: float, side: float) -> float:
    """No more than the distance to any place in a cell, as a share of the diagonal."""
    dx = max(left - outlook[X], outlook[X] - (left + side), BLUR) - BLUR
    dy = max(bottom - outlook[Y], outlook[Y] - (bottom + side), BLUR) - BLUR
    dx, dy = dx * outlook[X_UNIT], dy * outlook[Y_UNIT]
    return np.sqrt(dx * dx + dy * dy)


@inlined
def most_relevant(own: float, rest: float, weight: float) -> float:
    """The most that a message is worth in words, if the weight of this word is no larger."""
    length = np.sqrt(own * own + rest * rest)
    if weight * length >= own:
        return length * LONGEST
    return own * weight + rest * np.sqrt(max(LONGEST - weight * weight, 0.0))


@inlined
def bound_of(alpha: float, far: float, relevance: float) -> float:
    """No more than a directed score, if nothing is nearer than this or worth more."""
    return -(alpha * (1.0 - far) + (1.0 - alpha) * relevance) - SLACK


@inlined
def _far(message: int, x: float, y: float, x_unit: float, y_unit: float) -> float:
    """No more than the distance of a message, as a share of the diagonal; x and y are by half a cell too small."""
    dx = (max(abs((message >> AXIS_BITS & LAST_CELL) - x), REACH) - REACH) * x_unit
    dy = (max(abs((message & LAST_CELL) - y), REACH) - REACH) * y_unit
    return np.sqrt(dx * dx + dy * dy)


@inlined
def _add_levels(entries: Int64s, bucket: int, low: float, middle: float, high: float, worth: Floats) -> None:
    """Add the most that a word is worth by its level."""
    for i in range(len(entries)):
        level = entries[i, SAID] >> bucket & 3
        worth[i] += (high if level == 3 else middle) if level > 1 else (low if level == 1 else 0.0)


@inlined
def _cap(entries: Int64s, rest: float, worth: Floats) -> None:
    """What the other words are worth at most, since all weights together have length 1."""
    for i in range(len(entries)):
        least = (entries[i, SAID] & WEIGHT) * STEP - STEP
        worth[i] = min(worth[i], rest * np.sqrt(max(LONGEST - least * least, 0.0)))


@inlined
def _bound_words(entries: Int64s, rank: int, n_words: int, weights: Floats, words: Int64s, worth: Floats) -> None:
    """The most that each entry is worth in words, by its weight and by the levels of the words after this one."""
    for i in range(len(entries)):
        worth[i] = 0.0
    for j in range(rank + 1, n_words):
        _add_levels(entries, words[j, BUCKET], weights[j, GAIN + 1], weights[j, GAIN + 2], weights[j, GAIN + 3], worth)
    if rank + 1 < n_words:
        _cap(entries, weights[rank, REST], worth)
    own = weights[rank, OWN]
    for i in range(len(entries)):
        worth[i] += own * ((entries[i, SAID] & WEIGHT) * STEP)


@kernel
def bound_entries(entries: Int64s, rank: int, term_search: TermSearch) -> None:
    """The least that the directed scores of some entries can be."""
    outlook, least, worth = term_search.outlook, term_search.chunk[LEAST], term_search.chunk[WORTH]
    x, y, x_unit, y_unit, alpha = outlook[X] - 0.5, outlook[Y] - 0.5, outlook[X_UNIT], outlook[Y_UNIT], outlook[ALPHA]
    _bound_words(entries, rank, int(outlook[N_WORDS]), term_search.weights, term_search.words, worth)
    for i in range(len(entries)):
        least[i] = bound_of(alpha, _far(entries[i, MESSAGE], x, y, x_unit, y_unit), worth[i])


@inlined
def surely(message: int, said: int, own: float, outlook: Floats) -> float:
    """No less than the directed score of a message, +inf if it is not known to be within the bounds."""
    x, y, far = message >> AXIS_BITS & LAST_CELL, message & LAST_CELL, 1.0
    # What is out of bounds has been moved to the edge.
    if not (0 < x < LAST_CELL and 0 < y < LAST_CELL):
        return np.inf
    if outlook[IS_FLAT] > 0.0:
        dx = (abs(x - (outlook[X] - 0.5)) + REACH) * outlook[X_UNIT]
        dy = (abs(y - (outlook[Y] - 0.5)) + REACH) * outlook[Y_UNIT]
        far = np.sqrt(dx * dx + dy * dy)
    return 2.0 * SLACK + bound_of(outlook[ALPHA], far, own * ((said & WEIGHT) - 1) * STEP)


@inlined
def promise(promised: Floats, n: int, score: float) -> None:
    """Put a score in place of the worst of n that are promised."""
    hole, child = 0, 1
    while child < n:
        if child + 1 < n and promised[child + 1] > promised[child]:
            child += 1
        if promised[child] <= score:
            break
        promised[hole] = promised[child]
        hole, child = child, 2 * child + 1
    promised[hole] = score


@inlined
def rank_words(trees: TermTrees, questions: Questions, slot: int, term_search: TermSearch) -> None:
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
    earlier = 0
    for rank in range(n):
        words[rank, EARLIER] = earlier
        earlier |= 3 << bucket_of(words[rank, CODE])
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
def look_from(trees: TermTrees, questions: Questions, slot: int, diagonal: float, outlook: Floats) -> None:
    """Write down where the subscription is; one on Earth is on the flat map, as the messages in the trees are."""
    block, i = slot // BLOCK, slot % BLOCK
    x, y = questions.centre[block, 0, i], questions.centre[block, 1, i]
    if questions.kinds[block] == PLACE_ON_EARTH:
        x, y, diagonal = questions.sphere[block, 3, i], questions.sphere[block, 4, i], MAP_DIAGONAL
    outlook[X], outlook[Y] = cell_of(x, trees.x_min, trees.x_side), cell_of(y, trees.y_min, trees.y_side)
    outlook[X_UNIT], outlook[Y_UNIT] = trees.x_side / diagonal / CELLS, trees.y_side / diagonal / CELLS
    outlook[ALPHA] = questions.alpha[slot]
    outlook[IS_FLAT] = 0.0 if questions.kinds[block] == PLACE_ON_EARTH else 1.0
