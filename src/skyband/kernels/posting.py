"""Postings: subscriptions to places and words under their rarest words, in blocks that know what a message must offer.

A subscription's keywords have an order of their own, rarest first. A message that shares none of the first i of them
has a relevance of at most the *rest*, the length of the vector of the others, since messages have unit length. So it is
enough to post a subscription under the keywords whose rest, they themselves included, can reach its gate: its *prefix*.
It is found through the first of them that a message has.

A posting repeats what decides whether its subscription need be looked at: place, alpha, the score it needs, its weight
for the word and its rest, both times (1 - alpha), and `bits`, a bit for each keyword of the rest. A message that weighs
the word by m is looked at closer if

    alpha * near + text * m + min(rest * sqrt(1 - m * m), sum * o) >= need,

where o is the most that it weighs another word by and `sum` the sum of the rest's weights, times (1 - alpha); without
the rest if no bit of it is in the message. All of this in 32 bits, with `SLACK` for rounding, in one loop that
the compiler turns into vectors; places are divided by the diagonal. What passes is scored exactly.

The postings of a word are a stretch of a pool, with room for a power of two. Stretches of `BLOCK` and more begin at
multiples of BLOCK. A list with room for two blocks or more has a *summary* of each: the box of its places, the largest
text and rest, and at each of `KNOTS` distances the largest alpha * near - need. The largest of several lines is convex,
so between two knots it lies below the chord.

Invariants: a keyword with place p has its posting there, and `place` is -1 for keywords that are not posted; all
keywords of a prefix are posted, and no others; the holes of a list, which need `NEVER`, are counted in `n_gone`; a
summary is no less than any posting in its block; stretches, in use or given up, fill the pool and do not overlap.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.candidate import Candidates
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.score import Contents, place_score

Floats = npt.NDArray[np.float64]
Float32s = npt.NDArray[np.float32]
Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

# Postings in a block: a cache line of each of their numbers, twice over.
BLOCK = 32
N_CLASSES = 32
# Weights have unit length within a millionth, and numbers of 32 bits are off by less than one in ten million.
UNIT = 1.00001
SLACK = np.float32(2e-5)
NEVER = 8.0
ALWAYS = -8.0
ZERO = np.float32(0.0)
ONE = np.float32(1.0)
# Distances, in diagonals, at which summaries know what is needed.
KNOTS = (0.0, 0.01, 0.04, 0.12, 0.35, 1.0)
N_KNOTS = 6
KNOT_1, KNOT_2, KNOT_3, KNOT_4 = (np.float32(knot) for knot in KNOTS[1:5])
STEP_1, STEP_2, STEP_3, STEP_4, STEP_5 = (np.float32(KNOTS[i + 1] - KNOTS[i]) for i in range(5))

# Columns of a summary; the curve begins at CURVE.
LOW_X = 0
HIGH_X = 1
LOW_Y = 2
HIGH_Y = 3
TEXT = 4
REST = 5
SUM = 6
CURVE = 7
N_SUMMARY = CURVE + N_KNOTS

# Columns of `holders`.
X = 0
Y = 1
ALPHA = 2
GATE = 3
START = 4
N = 5
N_HOLDER = 6

# Columns of `keywords` and of `weights`.
TERM = 0
OWNER = 1
PLACE = 2
OWN = 3
N_KEYWORD = 4
WEIGHT = 0
LENGTH = 1
N_WEIGHTS = 2

# Columns of `counts`.
BLOCKS_SKIPPED = 0
BLOCKS_READ = 1
READ = 2
PASSED = 3
VERIFIED = 4
FOUND = 5
# Kept so that loops which only ask for memory are not taken for idle ones.
TOUCHED = 6
N_COUNTS = 7


class Lists(NamedTuple):
    """Stretches of postings by term: `size` of `room` are taken, `n_gone` of them by holes.

    `n_moved` counts what has come or changed since the list was last sorted.
    """

    start: Int32s
    size: Int32s
    room: Int32s
    n_gone: Int32s
    n_moved: Int32s


class Postings(NamedTuple):
    """The pool. `free[c]` is the first stretch of 2 ** c places that was given up, or -1; `keyword` there is the next.

    `used[0]` is where the part begins that was never used.
    """

    keyword: Int32s
    bits: Int32s
    more_bits: Int32s
    x: Float32s
    y: Float32s
    alpha: Float32s
    need: Float32s
    text: Float32s
    rest: Float32s
    sum: Float32s
    summary: Float32s
    free: Int64s
    used: Int64s


class Space(NamedTuple):
    """Where places lie: `x`, `y` and the diagonal, by which they are divided."""

    x: float
    y: float
    diagonal: float


class Message(NamedTuple):
    """A message: its place, in diagonals, its terms from `first` to `end`, and the bits that they make."""

    x: np.float32
    y: np.float32
    first: int
    end: int
    bits: int
    more_bits: int


class Batch(NamedTuple):
    """Messages that are read together, so that a block of postings is fetched once for all that have its word.

    `messages` are places in 32 bits and the two largest weights, `bits` the bits of their words, by message; `places`
    says where their terms are, in the order of terms, and `of` whose they are. For each of these `said` has a column:
    the place of the message, its weight for the word, for all others together, and for the one that it weighs most.
    `offered` is scratch, as long.
    """

    messages: Float32s
    bits: Int64s
    places: Int64s
    of: Int64s
    said: Float32s
    offered: Float32s


class Pending(NamedTuple):
    """Postings that wait for a closer look, `n[0]` of them, with the message and what it offers without the rest.

    `offers` is scratch for a block.
    """

    n: Int64s
    at: Int64s
    of: Int64s
    offered: Float32s
    offers: Float32s


class Index(NamedTuple):
    """The whole index, with the columns above: subscriptions by slot in `holders`, in a row each so that looking at one
    takes a cache line, and their keywords in `keywords`, `weights` and `texts`, rarest first.

    The keywords of a slot are those from START on, N of them; an N of 0 is a slot not in use, and its keywords have no
    OWNER. LENGTH is that of the vector from a keyword on; PLACE is where it is posted, or -1; `texts` has the weight
    times (1 - alpha). The subscription's own i-th keyword is OWN of its i-th row behind the first.
    `stale` lists the terms whose lists want sorting, `stale_end[0]` of them.
    """

    holders: Floats
    keywords: Int32s
    weights: Floats
    texts: Float32s
    lists: Lists
    postings: Postings
    space: Space
    stale: Int64s
    stale_end: Int64s


@inlined
def bit_of(term: int) -> int:
    """A bit for a term."""
    return 1 << (int(term) * 2654435761 >> 9) % 31


@inlined
def other_bit_of(term: int) -> int:
    """Another bit for a term."""
    return 1 << (int(term) * 2246822519 >> 13) % 31


@inlined
def _own(holders: Floats, slot: int) -> range:
    """Where the keywords of a slot are."""
    start = int(holders[slot, START])
    return range(start, start + int(holders[slot, N]))


@inlined
def _needed(gate: float) -> float:
    """The score that a gate asks for, as far as scores go: they lie between 0 and 1."""
    return min(max(-gate, ALWAYS), NEVER)


@inlined
def _class_of(room: int) -> int:
    """The class of the least stretch with this much room."""
    room_class = 0
    while 1 << room_class < room:
        room_class += 1
    return room_class


@kernel
def _take_stretch(keyword: Int32s, free: Int64s, used: Int64s, room_class: int) -> int:
    """The start of a stretch of 2 ** room_class places, or -1 if the pool has none."""
    start = free[room_class]
    if start >= 0:
        free[room_class] = keyword[start]
        return start
    size = max(1 << room_class, BLOCK)
    if used[0] + size > len(keyword):
        return -1
    start = used[0]
    used[0] += size
    # The rest of a block that is begun for a small stretch becomes more of the same.
    for other in range(start + (1 << room_class), start + size, 1 << room_class):
        keyword[other] = free[room_class]
        free[room_class] = other
    return start


@inlined
def _give_stretch(keyword: Int32s, free: Int64s, start: int, room: int) -> None:
    room_class = _class_of(room)
    keyword[start] = free[room_class]
    free[room_class] = start


@inlined
def _write_hole(postings: Postings, at: int) -> None:
    postings.keyword[at] = -1
    postings.bits[at] = postings.more_bits[at] = 0
    postings.need[at] = NEVER
    postings.x[at] = postings.y[at] = postings.alpha[at] = postings.text[at] = postings.rest[at] = ZERO
    postings.sum[at] = ZERO


@inlined
def _carry(postings: Postings, at: int, into: Postings, to: int) -> None:
    """Write a posting once more."""
    into.keyword[to], into.bits[to], into.more_bits[to] = (
        postings.keyword[at],
        postings.bits[at],
        postings.more_bits[at],
    )
    into.x[to], into.y[to], into.alpha[to] = postings.x[at], postings.y[at], postings.alpha[at]
    into.need[to], into.text[to] = postings.need[at], postings.text[at]
    into.rest[to], into.sum[to] = postings.rest[at], postings.sum[at]


@kernel
def _regrow(lists: Lists, keywords: Int32s, postings: Postings, term: int) -> bool:
    """Make room for one more posting of a full list: without its holes, or in a larger stretch; False without one."""
    start, size, room = lists.start[term], lists.size[term], lists.room[term]
    n, to = size - lists.n_gone[term], start
    if room == 0 or 4 * n > 3 * room:
        to = _take_stretch(postings.keyword, postings.free, postings.used, _class_of(max(2 * n, 1)))
        if to < 0:
            return False
    end = to
    for at in range(start, start + size):
        keyword = postings.keyword[at]
        if keyword >= 0:
            _carry(postings, at, postings, end)
            keywords[keyword, PLACE] = end
            end += 1
    if to != start or room == 0:
        if room > 0:
            _give_stretch(postings.keyword, postings.free, start, room)
        lists.start[term], lists.room[term] = to, 1 << _class_of(max(2 * n, 1))
    for at in range(end, lists.start[term] + lists.room[term]):
        _write_hole(postings, at)
    lists.size[term], lists.n_gone[term] = n, 0
    summarise(lists, postings, term)
    return True


@inlined
def _widen(row: Float32s, knots: tuple[float, ...], postings: Postings, at: int) -> None:
    """Let a summary take in a posting."""
    row[LOW_X], row[HIGH_X] = min(row[LOW_X], postings.x[at]), max(row[HIGH_X], postings.x[at])
    row[LOW_Y], row[HIGH_Y] = min(row[LOW_Y], postings.y[at]), max(row[HIGH_Y], postings.y[at])
    row[TEXT], row[REST] = max(row[TEXT], postings.text[at]), max(row[REST], postings.rest[at])
    row[SUM] = max(row[SUM], postings.sum[at])
    for k in range(N_KNOTS):
        offered = postings.alpha[at] * (ONE - np.float32(knots[k])) - postings.need[at]
        row[CURVE + k] = max(row[CURVE + k], offered)


@kernel
def _summarise_block(postings: Postings, block: int) -> None:
    row = postings.summary[block]
    # Beyond any place, but not infinite: an empty block is so far away times a slope of zero.
    row[LOW_X] = row[LOW_Y] = NEVER
    row[HIGH_X] = row[HIGH_Y] = ALWAYS
    row[TEXT] = row[REST] = row[SUM] = ZERO
    for k in range(N_KNOTS):
        row[CURVE + k] = ALWAYS
    for at in range(block * BLOCK, (block + 1) * BLOCK):
        if postings.keyword[at] >= 0:
            _widen(row, KNOTS, postings, at)


@kernel
def summarise(lists: Lists, postings: Postings, term: int) -> None:
    """Summarise all blocks of a list, if it has two or more."""
    if lists.room[term] >= 2 * BLOCK:
        first = lists.start[term] // BLOCK
        for block in range(first, first + lists.room[term] // BLOCK):
            _summarise_block(postings, block)


@kernel
def _note_move(index: Index, term: int) -> None:
    """Count that a list has changed, and note down that it wants sorting when an eighth of it has."""
    lists = index.lists
    lists.n_moved[term] += 1
    if lists.room[term] >= 2 * BLOCK and 8 * lists.n_moved[term] > lists.size[term]:
        if index.stale_end[0] < len(index.stale):
            index.stale[index.stale_end[0]] = term
            index.stale_end[0] += 1
        lists.n_moved[term] = 0


@kernel
def _post(index: Index, slot: int, at: int) -> bool:
    """Post a keyword; False if the pool has no room."""
    holders, keywords, weights, texts, lists, postings, space, _, _ = index
    term = keywords[at, TERM]
    if lists.size[term] == lists.room[term] and not _regrow(lists, keywords, postings, term):
        return False
    to = lists.start[term] + lists.size[term]
    lists.size[term] += 1
    keywords[at, PLACE] = to
    alpha = holders[slot, ALPHA]
    bits = more_bits = 0
    total = 0.0
    for other in range(at + 1, int(holders[slot, START] + holders[slot, N])):
        bits |= bit_of(keywords[other, TERM])
        more_bits |= other_bit_of(keywords[other, TERM])
        total += texts[other]
    postings.keyword[to], postings.bits[to], postings.more_bits[to] = at, bits, more_bits
    postings.x[to] = (holders[slot, X] - space.x) / space.diagonal
    postings.y[to] = (holders[slot, Y] - space.y) / space.diagonal
    postings.alpha[to], postings.need[to] = alpha, _needed(holders[slot, GATE])
    postings.text[to] = texts[at]
    squares = weights[at, LENGTH] ** 2 - weights[at, WEIGHT] ** 2
    postings.rest[to] = (1.0 - alpha) * np.sqrt(max(squares, 0.0)) if bits != 0 else 0.0
    postings.sum[to] = total
    if lists.room[term] >= 2 * BLOCK:
        _widen(postings.summary[to // BLOCK], KNOTS, postings, to)
    _note_move(index, term)
    return True


@kernel
def _take_down(index: Index, at: int) -> None:
    """Leave a hole where a keyword was posted; a list of holes alone is given up."""
    keywords, lists, postings = index.keywords, index.lists, index.postings
    term, place = keywords[at, TERM], keywords[at, PLACE]
    keywords[at, PLACE] = -1
    _write_hole(postings, place)
    lists.n_gone[term] += 1
    if lists.n_gone[term] == lists.size[term]:
        _give_stretch(postings.keyword, postings.free, lists.start[term], lists.room[term])
        lists.size[term] = lists.room[term] = lists.n_gone[term] = lists.n_moved[term] = 0
    elif lists.room[term] >= 2 * BLOCK:
        _summarise_block(postings, place // BLOCK)


@inlined
def _is_in_prefix(alpha: float, rest: float, needed: float) -> bool:
    return alpha + (1.0 - alpha) * rest * UNIT >= needed - 1e-9


@kernel
def post(slots: Int64s, done: int, index: Index) -> int:
    """Bring the postings of slots, from `slots[done]` on, to what their gates want; returns how many have them.

    That is fewer than all if the pool has no room.
    """
    holders, keywords, weights, _, lists, postings = index[:6]
    for i in range(done, len(slots)):
        slot = slots[i]
        needed = _needed(holders[slot, GATE])
        for at in _own(holders, slot):
            place, term = keywords[at, PLACE], keywords[at, TERM]
            if _is_in_prefix(holders[slot, ALPHA], weights[at, LENGTH], needed):
                if place < 0:
                    if not _post(index, slot, at):
                        return i
                elif postings.need[place] != np.float32(needed):
                    falls = postings.need[place] > np.float32(needed)
                    postings.need[place] = needed
                    if lists.room[term] >= 2 * BLOCK:
                        if falls:
                            _widen(postings.summary[place // BLOCK], KNOTS, postings, place)
                        else:
                            _summarise_block(postings, place // BLOCK)
                        _note_move(index, term)
            elif place >= 0:
                _take_down(index, at)
    return len(slots)


@kernel
def take_down(slots: Int64s, index: Index) -> None:
    """Give up the postings of slots."""
    holders, keywords = index.holders, index.keywords
    for slot in slots:
        for at in _own(holders, slot):
            if keywords[at, PLACE] >= 0:
                _take_down(index, at)
            keywords[at, OWNER] = -1
        holders[slot, N] = 0


@kernel
def rearrange(index: Index, terms: Int64s, ends: Int64s, order: Int64s, scratch: Postings) -> None:
    """Lay out lists anew: that of `terms[i]` has the places `order[ends[i]]` to `order[ends[i + 1]]`, without holes.

    `scratch` has room for the longest of them.
    """
    keywords, lists, postings = index.keywords, index.lists, index.postings
    for i in range(len(terms)):
        term, first, n = terms[i], ends[i], ends[i + 1] - ends[i]
        start = lists.start[term]
        for j in range(n):
            _carry(postings, order[first + j], scratch, j)
        for j in range(n):
            _carry(scratch, j, postings, start + j)
            keywords[scratch.keyword[j], PLACE] = start + j
        for at in range(start + n, start + lists.size[term]):
            _write_hole(postings, at)
        lists.size[term], lists.n_gone[term], lists.n_moved[term] = n, 0, 0
        summarise(lists, postings, term)


@kernel
def _offer(row: Float32s, said: Float32s, run: int, end: int, offered: Float32s) -> None:
    """What each message of a run offers the block at best, beyond what is needed.

    A convex curve through knots is the largest of the lines between them, which takes no search for the right one.
    """
    low_x, high_x, low_y, high_y = row[LOW_X], row[HIGH_X], row[LOW_Y], row[HIGH_Y]
    text, rest, total = row[TEXT], row[REST], row[SUM]
    first, slope_1 = row[CURVE], (row[CURVE + 1] - row[CURVE]) / STEP_1
    slope_2, slope_3 = (row[CURVE + 2] - row[CURVE + 1]) / STEP_2, (row[CURVE + 3] - row[CURVE + 2]) / STEP_3
    slope_4, slope_5 = (row[CURVE + 4] - row[CURVE + 3]) / STEP_4, (row[CURVE + 5] - row[CURVE + 4]) / STEP_5
    second, third = row[CURVE + 1] - slope_2 * KNOT_1, row[CURVE + 2] - slope_3 * KNOT_2
    fourth, fifth = row[CURVE + 3] - slope_4 * KNOT_3, row[CURVE + 4] - slope_5 * KNOT_4
    xs, ys, weights, others, most = (
        said[0, run:end],
        said[1, run:end],
        said[2, run:end],
        said[3, run:end],
        said[4, run:end],
    )
    for i in range(end - run):
        dx = max(max(low_x - xs[i], xs[i] - high_x), ZERO)
        dy = max(max(low_y - ys[i], ys[i] - high_y), ZERO)
        away = np.sqrt(dx * dx + dy * dy)
        near = max(max(first + slope_1 * away, second + slope_2 * away), third + slope_3 * away)
        near = max(max(near, fourth + slope_4 * away), fifth + slope_5 * away)
        offered[i] = near + text * weights[i] + min(rest * others[i], total * most[i])


@inlined
def _read_block(
    postings: Postings,
    first: int,
    n: int,
    message: Message,
    said: Float32s,
    r: int,
    bare: Float32s,
    offered: Float32s,
) -> None:
    """What a message offers beyond what is needed, without the rest and at best, for n postings from `first` on."""
    xs, ys, alphas = postings.x[first : first + n], postings.y[first : first + n], postings.alpha[first : first + n]
    texts, rests = postings.text[first : first + n], postings.rest[first : first + n]
    needs, bits = postings.need[first : first + n], postings.bits[first : first + n]
    x, y, mask, other_mask = message.x, message.y, message.bits, message.more_bits
    more_bits, sums = postings.more_bits[first : first + n], postings.sum[first : first + n]
    weight, others, most = said[2, r], said[3, r], said[4, r]
    for i in range(n):
        dx, dy = xs[i] - x, ys[i] - y
        near = ONE - np.sqrt(dx * dx + dy * dy)
        rest = min(rests[i] * others, sums[i] * most)
        bare[i] = alphas[i] * near + texts[i] * weight - needs[i]
        offered[i] = bare[i] + (rest if (bits[i] & mask != 0) & (more_bits[i] & other_mask != 0) else ZERO)


@kernel
def describe(contents: Contents, lo: int, hi: int, space: Space, batch: Batch) -> None:
    """Write down the messages lo to hi."""
    messages, bits = batch.messages, batch.bits
    terms, weights, point = contents.terms, contents.term_weights, contents.point
    for i in range(hi - lo):
        first = contents.term_start[lo + i]
        heaviest = second = 0.0
        bits[i, 0] = bits[i, 1] = 0
        for t in range(first, first + contents.term_count[lo + i]):
            bits[i, 0] |= bit_of(terms[t])
            bits[i, 1] |= other_bit_of(terms[t])
            second = max(second, min(heaviest, weights[t]))
            heaviest = max(heaviest, weights[t])
        messages[i, 0] = (point[0, lo + i] - space.x) / space.diagonal
        messages[i, 1] = (point[1, lo + i] - space.y) / space.diagonal
        messages[i, 2], messages[i, 3] = heaviest, second


@inlined
def _message(contents: Contents, publication: int, batch: Batch, i: int) -> Message:
    first = contents.term_start[publication]
    end = first + contents.term_count[publication]
    messages, bits = batch.messages, batch.bits
    return Message(messages[i, 0], messages[i, 1], first, end, bits[i, 0], bits[i, 1])


@kernel
def _say(weights: Floats, batch: Batch, run: int, end: int) -> None:
    """Write down what each message of a run says of its word, and of others."""
    said = batch.said
    for r in range(run, end):
        i, weight = batch.of[r], weights[batch.places[r]]
        heaviest, second = batch.messages[i, 2], batch.messages[i, 3]
        said[0, r], said[1, r] = batch.messages[i, 0], batch.messages[i, 1]
        said[2, r], said[3, r] = weight, np.sqrt(max(UNIT * UNIT - weight * weight, 0.0))
        said[4, r] = second if np.float32(weight) == heaviest else heaviest


@inlined
def _find(terms: Int64s, message: Message, term: int) -> int:
    """Where a message has a term, or -1. A search of few terms takes less than a look into a table of all words."""
    if bit_of(term) & message.bits != 0:
        for t in range(message.first, message.end):
            if terms[t] == term:
                return t
    return -1


@inlined
def _is_reached(
    keywords: Int32s, texts: Float32s, at: int, contents: Contents, message: Message, offered: np.float32
) -> bool:
    """Whether a message that offers this much without the rest offers enough with it.

    Not if it has a rarer keyword of the subscription too: then that is where it is found.
    """
    owner, other = keywords[at, OWNER], at + 1
    while other < len(texts) and keywords[other, OWNER] == owner:
        t = _find(contents.terms, message, keywords[other, TERM])
        if t >= 0:
            offered += texts[other] * np.float32(contents.term_weights[t])
        other += 1
    if offered < -SLACK:
        return False
    other = at - 1
    while other >= 0 and keywords[other, OWNER] == owner:
        if _find(contents.terms, message, keywords[other, TERM]) >= 0:
            return False
        other -= 1
    return True


@inlined
def _exact(index: Index, slot: int, contents: Contents, publication: int, message: Message) -> float:
    """The directed score of a subscription that shares a term, its additions in its own order."""
    holders, keywords, weights = index.holders, index.keywords, index.weights
    relevance = 0.0
    for at in _own(holders, slot):
        own = keywords[at, OWN]
        t = _find(contents.terms, message, keywords[own, TERM])
        if t >= 0:
            relevance += weights[own, WEIGHT] * contents.term_weights[t]
    point = contents.point
    dx, dy = point[0, publication] - holders[slot, X], point[1, publication] - holders[slot, Y]
    return place_score(holders[slot, ALPHA], dx, dy, contents.diagonal, relevance)


@kernel
def settle(
    index: Index, contents: Contents, lo: int, batch: Batch, pending: Pending, counts: Int64s, into: Candidates
) -> bool:
    """Look closer at what is pending, and add the pairs within their gates; False if there may be no room for them.

    Each look begins with memory that is far away. The first loop does nothing but ask for all of it at once: a
    processor waits for many places at a time, as long as none tells it where the next one is.
    """
    holders, keywords, texts, n = index.holders, index.keywords, index.texts, pending.n[0]
    slots, publications, directeds, length = into.slot, into.publication, into.directed, into.length
    if length[0] + n > len(slots):
        return False
    touched = 0
    for j in range(n):
        touched += keywords[pending.at[j], OWNER] + int(texts[pending.at[j]])
    counts[PASSED] += n
    counts[TOUCHED] += touched != 0
    n_left = 0
    for j in range(n):
        at, i = pending.at[j], pending.of[j]
        message = _message(contents, lo + i, batch, i)
        if _is_reached(keywords, texts, at, contents, message, pending.offered[j]):
            pending.at[n_left], pending.of[n_left] = keywords[at, OWNER], i
            n_left += 1
    counts[VERIFIED] += n_left
    touched = 0
    for j in range(n_left):
        touched += int(holders[pending.at[j], START])
    counts[TOUCHED] += touched != 0
    to = length[0]
    for j in range(n_left):
        slot, i = pending.at[j], pending.of[j]
        directed = _exact(index, slot, contents, lo + i, _message(contents, lo + i, batch, i))
        if directed <= holders[slot, GATE]:
            slots[to], publications[to], directeds[to] = slot, lo + i, directed
            to += 1
    counts[FOUND] += to - length[0]
    length[0], pending.n[0] = to, 0
    return True


@kernel
def _read_run(
    index: Index,
    contents: Contents,
    lo: int,
    batch: Batch,
    run: int,
    end: int,
    pending: Pending,
    counts: Int64s,
    into: Candidates,
) -> bool:
    """Find the postings of one list that messages which have its word may reach; False if there is no room."""
    lists, postings, said, offers = index.lists, index.postings, batch.said, pending.offers
    bare, offered, term = offers[0], offers[1], contents.terms[batch.places[run]]
    start, stop = lists.start[term], lists.start[term] + lists.size[term]
    has_summary = lists.room[term] >= 2 * BLOCK
    _say(contents.term_weights, batch, run, end)
    for first in range(start, stop, BLOCK):
        n_read, best = min(BLOCK, stop - first), batch.offered
        if has_summary:
            _offer(postings.summary[first // BLOCK], said, run, end, best)
        for r in range(run, end):
            if has_summary and best[r - run] < -SLACK:
                counts[BLOCKS_SKIPPED] += 1
                continue
            i = batch.of[r]
            message = _message(contents, lo + i, batch, i)
            if pending.n[0] + n_read > len(pending.at) and not settle(
                index, contents, lo, batch, pending, counts, into
            ):
                return False
            counts[BLOCKS_READ] += 1
            counts[READ] += n_read
            _read_block(postings, first, n_read, message, said, r, bare, offered)
            n = pending.n[0]
            for j in range(n_read):
                if offered[j] >= -SLACK:
                    pending.at[n], pending.of[n], pending.offered[n] = postings.keyword[first + j], i, bare[j]
                    n += 1
            pending.n[0] = n
    return True


@kernel
def read_all(
    done: int,
    index: Index,
    contents: Contents,
    lo: int,
    batch: Batch,
    pending: Pending,
    counts: Int64s,
    into: Candidates,
) -> int:
    """Add the pairs of a batch whose first message is lo, from place `done` on; returns the place it came to.

    Where there is no room it comes to the beginning of a list, and nothing of that list is added or pending.
    """
    sizes, places = index.lists.size, batch.places
    while done < len(places):
        term, end = contents.terms[places[done]], done + 1
        while end < len(places) and contents.terms[places[end]] == term:
            end += 1
        if sizes[term] > 0:
            most = sizes[term] * (end - done)
            if pending.n[0] + most > len(pending.at) and not settle(index, contents, lo, batch, pending, counts, into):
                return done
            n_before = into.length[0]
            if not _read_run(index, contents, lo, batch, done, end, pending, counts, into):
                counts[FOUND] -= into.length[0] - n_before
                into.length[0], pending.n[0] = n_before, 0
                return done
        done = end
    settle(index, contents, lo, batch, pending, counts, into)
    return done


def stretches_of(lists: Lists, postings: Postings) -> Int64s:
    """The start and the end of every stretch, in use or given up, in the order of the pool."""
    rows = np.flatnonzero(lists.room > 0)
    stretches = np.stack([lists.start[rows], lists.start[rows] + lists.room[rows]], axis=1).tolist()
    for room_class, head in enumerate(postings.free.tolist()):
        start = head
        while start >= 0:
            stretches.append([start, start + (1 << room_class)])
            start = int(postings.keyword[start])
            assert len(stretches) <= len(postings.keyword), "a list of free stretches runs in a circle"
    return np.array(sorted(stretches), np.int64).reshape(-1, 2)


def check_postings(index: Index) -> None:
    """Assert the invariants."""
    holders, keywords, lists, postings = index.holders, index.keywords, index.lists, index.postings
    starts, ends = stretches_of(lists, postings).T
    assert np.array_equal(np.append(starts, postings.used[0]), np.insert(ends, 0, 0))
    n_posted = 0
    for term in np.flatnonzero(lists.room > 0).tolist():
        places = np.arange(lists.start[term], lists.start[term] + lists.room[term])
        taken = places[postings.keyword[places] >= 0]
        assert (taken < lists.start[term] + lists.size[term]).all()
        assert len(taken) == lists.size[term] - lists.n_gone[term] > 0
        assert (keywords[postings.keyword[taken], TERM] == term).all()
        assert (keywords[postings.keyword[taken], PLACE] == taken).all()
        assert (postings.need[np.setdiff1d(places, taken)] == NEVER).all()
        if lists.room[term] >= 2 * BLOCK:
            assert lists.start[term] % BLOCK == 0
            _check_summaries(postings, taken)
        n_posted += len(taken)
    for slot in np.flatnonzero(holders[:, N] > 0).tolist():
        n_posted -= _check_holder(index, slot)
    assert n_posted == 0


def _check_summaries(postings: Postings, taken: Int64s) -> None:
    rows = postings.summary[taken // BLOCK]
    assert (rows[:, LOW_X] <= postings.x[taken]).all()
    assert (rows[:, HIGH_X] >= postings.x[taken]).all()
    assert (rows[:, LOW_Y] <= postings.y[taken]).all()
    assert (rows[:, HIGH_Y] >= postings.y[taken]).all()
    assert (rows[:, TEXT] >= postings.text[taken]).all()
    assert (rows[:, REST] >= postings.rest[taken]).all()
    assert (rows[:, SUM] >= postings.sum[taken]).all()
    for k, knot in enumerate(KNOTS):
        offered = postings.alpha[taken] * (ONE - np.float32(knot)) - postings.need[taken]
        assert (rows[:, CURVE + k] >= offered).all()


def _check_holder(index: Index, slot: int) -> int:
    """Assert that a slot is posted as its gate wants; returns under how many words."""
    holders, keywords, postings = index.holders, index.keywords, index.postings
    own = int(holders[slot, START]) + np.arange(int(holders[slot, N]))
    assert (keywords[own, OWNER] == slot).all()
    assert np.array_equal(np.sort(keywords[own, OWN]), own)
    needed = _needed(float(holders[slot, GATE]))
    posted = 0
    for at in own.tolist():
        place = int(keywords[at, PLACE])
        assert (place >= 0) == _is_in_prefix(float(holders[slot, ALPHA]), float(index.weights[at, LENGTH]), needed)
        if place >= 0:
            assert postings.keyword[place] == at
            assert postings.need[place] == np.float32(needed)
            posted += 1
    return posted
