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

from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel

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


class PostingLists(NamedTuple):
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


class PostedSubscriptions(NamedTuple):
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
    lists: PostingLists
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
def own_range(holders: Floats, slot: int) -> range:
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
def _regrow(lists: PostingLists, keywords: Int32s, postings: Postings, term: int) -> bool:
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
def summarise(lists: PostingLists, postings: Postings, term: int) -> None:
    """Summarise all blocks of a list, if it has two or more."""
    if lists.room[term] >= 2 * BLOCK:
        first = lists.start[term] // BLOCK
        for block in range(first, first + lists.room[term] // BLOCK):
            _summarise_block(postings, block)


@kernel
def _note_move(index: PostedSubscriptions, term: int) -> None:
    """Count that a list has changed, and note down that it wants sorting when an eighth of it has."""
    lists = index.lists
    lists.n_moved[term] += 1
    if lists.room[term] >= 2 * BLOCK and 8 * lists.n_moved[term] > lists.size[term]:
        if index.stale_end[0] < len(index.stale):
            index.stale[index.stale_end[0]] = term
            index.stale_end[0] += 1
        lists.n_moved[term] = 0


@kernel
def _post(index: PostedSubscriptions, slot: int, at: int) -> bool:
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
def _take_down(index: PostedSubscriptions, at: int) -> None:
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
def post(slots: Int64s, done: int, index: PostedSubscriptions) -> int:
    """Bring the postings of slots, from `slots[done]` on, to what their gates want; returns how many have them.

    That is fewer than all if the pool has no room.
    """
    holders, keywords, weights, _, lists, postings = index[:6]
    for i in range(done, len(slots)):
        slot = slots[i]
        needed = _needed(holders[slot, GATE])
        for at in own_range(holders, slot):
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
def take_down(slots: Int64s, index: PostedSubscriptions) -> None:
    """Give up the postings of slots."""
    holders, keywords = index.holders, index.keywords
    for slot in slots:
        for at in own_range(holders, slot):
            if keywords[at, PLACE] >= 0:
                _take_down(index, at)
            keywords[at, OWNER] = -1
        holders[slot, N] = 0


@kernel
def rearrange(index: PostedSubscriptions, terms: Int64s, ends: Int64s, order: Int64s, scratch: Postings) -> None:
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


def stretches_of(lists: PostingLists, postings: Postings) -> Int64s:
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


def check_postings(index: PostedSubscriptions) -> None:
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


def _check_holder(index: PostedSubscriptions, slot: int) -> int:
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
