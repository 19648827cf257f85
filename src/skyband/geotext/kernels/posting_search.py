"""Reading postings: the subscriptions that the messages of a batch matter to.

Batches are read word by word, so that a block of postings is fetched once for all messages that have its word. Postings
that a message may reach wait until there are many of them; then all the memory that a closer look takes is asked for at
once. See `posting` for what a posting knows, and for the bounds.
"""

from typing import NamedTuple

import numpy as np

from skyband.geotext.kernels.posting import (
    ALPHA,
    BLOCK,
    CURVE,
    GATE,
    HIGH_X,
    HIGH_Y,
    KNOTS,
    LOW_X,
    LOW_Y,
    ONE,
    OWN,
    OWNER,
    REST,
    SLACK,
    START,
    SUM,
    TERM,
    TEXT,
    UNIT,
    WEIGHT,
    ZERO,
    PostedSubscriptions,
    Postings,
    Space,
    X,
    Y,
    bit_of,
    other_bit_of,
    own_range,
)
from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, place_score

KNOT_1, KNOT_2, KNOT_3, KNOT_4 = (np.float32(knot) for knot in KNOTS[1:5])
STEP_1, STEP_2, STEP_3, STEP_4, STEP_5 = (np.float32(KNOTS[i + 1] - KNOTS[i]) for i in range(5))

# Columns of `counts`.
BLOCKS_SKIPPED = 0
BLOCKS_READ = 1
READ = 2
PASSED = 3
VERIFIED = 4
FOUND = 5
# Kept so that loops which only ask for memory are not taken for idle ones.
TOUCHED = 6
# As many columns more have what was counted before a list that there may be no room for.
N_COUNTS = 7


class PostedMessage(NamedTuple):
    """A message: its place, in diagonals, its terms from `first` to `end`, and the bits that they make."""

    x: np.float32
    y: np.float32
    first: int
    end: int
    bits: int
    more_bits: int


class MessageBatch(NamedTuple):
    """Messages that are read together, so that a block of postings is fetched once for all that have its word.

    `messages` are places in 32 bits and the two largest weights, `bits` the bits of their words, by message; `places`
    says where their terms are, in the order of terms, and `of` whose they are. For each of these `said` has a column:
    the place of the message, its weight for the word, for all others together, and for the one that it weighs most.
    `offered` is scratch, as long as what one thread reads.
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
    message: PostedMessage,
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
def describe(contents: Contents, lo: int, hi: int, space: Space, batch: MessageBatch) -> None:
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
def _message(contents: Contents, publication: int, batch: MessageBatch, i: int) -> PostedMessage:
    first = contents.term_start[publication]
    end = first + contents.term_count[publication]
    messages, bits = batch.messages, batch.bits
    return PostedMessage(messages[i, 0], messages[i, 1], first, end, bits[i, 0], bits[i, 1])


@kernel
def _say(weights: Floats, batch: MessageBatch, run: int, end: int) -> None:
    """Write down what each message of a run says of its word, and of others."""
    said = batch.said
    for r in range(run, end):
        i, weight = batch.of[r], weights[batch.places[r]]
        heaviest, second = batch.messages[i, 2], batch.messages[i, 3]
        said[0, r], said[1, r] = batch.messages[i, 0], batch.messages[i, 1]
        said[2, r], said[3, r] = weight, np.sqrt(max(UNIT * UNIT - weight * weight, 0.0))
        said[4, r] = second if np.float32(weight) == heaviest else heaviest


@inlined
def _find(terms: Int64s, message: PostedMessage, term: int) -> int:
    """Where a message has a term, or -1. A search of few terms takes less than a look into a table of all words."""
    if bit_of(term) & message.bits != 0:
        for t in range(message.first, message.end):
            if terms[t] == term:
                return t
    return -1


@inlined
def _is_reached(
    keywords: Int32s, texts: Float32s, at: int, contents: Contents, message: PostedMessage, offered: np.float32
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
def _exact(
    index: PostedSubscriptions, slot: int, contents: Contents, publication: int, message: PostedMessage
) -> float:
    """The directed score of a subscription that shares a term, its additions in its own order."""
    holders, keywords, weights = index.holders, index.keywords, index.weights
    relevance = 0.0
    for at in own_range(holders, slot):
        own = keywords[at, OWN]
        t = _find(contents.terms, message, keywords[own, TERM])
        if t >= 0:
            relevance += weights[own, WEIGHT] * contents.term_weights[t]
    point = contents.point
    dx, dy = point[0, publication] - holders[slot, X], point[1, publication] - holders[slot, Y]
    return place_score(holders[slot, ALPHA], dx, dy, contents.diagonal, relevance)


@kernel
def settle(
    index: PostedSubscriptions,
    contents: Contents,
    lo: int,
    batch: MessageBatch,
    pending: Pending,
    counts: Int64s,
    into: Candidates,
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
    index: PostedSubscriptions,
    contents: Contents,
    lo: int,
    batch: MessageBatch,
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
    index: PostedSubscriptions,
    contents: Contents,
    lo: int,
    batch: MessageBatch,
    pending: Pending,
    counts: Int64s,
    into: Candidates,
) -> int:
    """Add the pairs of a batch whose first message is lo, from place `done` on; returns the place it came to.

    Where there is no room it comes to the beginning of a list, and nothing of that list is added, pending or counted.
    Several threads may have parts of the places, each whole lists.
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
            for i in range(N_COUNTS):
                counts[N_COUNTS + i] = counts[i]
            if not _read_run(index, contents, lo, batch, done, end, pending, counts, into):
                for i in range(N_COUNTS):
                    counts[i] = counts[N_COUNTS + i]
                into.length[0], pending.n[0] = n_before, 0
                return done
        done = end
    settle(index, contents, lo, batch, pending, counts, into)
    return done
