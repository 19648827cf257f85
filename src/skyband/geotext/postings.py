"""Ours: subscriptions posted under their rarest words, in blocks that know what a message must offer."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.geotext.kernels.posting import (
    ALPHA,
    BLOCK,
    GATE,
    LENGTH,
    N_CLASSES,
    N_HOLDER,
    N_KEYWORD,
    N_SUMMARY,
    N_WEIGHTS,
    OWN,
    OWNER,
    PLACE,
    START,
    TERM,
    WEIGHT,
    N,
    PostedSubscriptions,
    PostingLists,
    Postings,
    Space,
    X,
    Y,
    check_postings,
    post,
    rearrange,
    take_down,
)
from skyband.geotext.kernels.posting_search import (
    BLOCKS_READ,
    BLOCKS_SKIPPED,
    FOUND,
    N_COUNTS,
    PASSED,
    READ,
    VERIFIED,
    MessageBatch,
    Pending,
    describe,
    read_all,
)
from skyband.kernels.array import Float32s, Floats, Int64s
from skyband.kernels.count import count_up
from skyband.kernels.growth import BY_A_QUARTER, grown, grown_all, resized, resized_all
from skyband.kernels.order import order_by
from skyband.kernels.ragged import offsets_of, owners_of, places_of, starts_of
from skyband.kernels.room import DOUBLINGS, pauses, stops
from skyband.kernels.slots import BLOCK as SLOTS_IN_BLOCK
from skyband.topk.index import larger
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, Questions

# So many postings are looked at closer at a time.
PENDING = 1024

COUNTERS = {
    "blocks skipped": BLOCKS_SKIPPED,
    "blocks read": BLOCKS_READ,
    "entries": READ,
    "passed": PASSED,
    "verified": VERIFIED,
    "accepted": FOUND,
}


def _no_postings(size: int) -> Postings:
    by_place = [np.zeros(size, dtype) for dtype in [np.int32] * 3 + [np.float32] * 7]
    summary = np.zeros((size // BLOCK, N_SUMMARY), np.float32)
    return Postings._make([*by_place, summary, np.full(N_CLASSES, -1, np.int64), np.zeros(1, np.int64)])


def _step(values: Float32s, n: int, low: float, high: float) -> Int64s:
    """Which of n equal steps from low to high a value lies in."""
    steps: Int64s = np.clip((values - np.float32(low)) * np.float32(n / (high - low)), 0, n - 1).astype(np.int64)
    return steps


def spread(values: Int64s, by: int, n_bits: int) -> Int64s:
    """The bits of small numbers, `by` places apart."""
    result = np.zeros(len(values), np.int64)
    for bit in range(n_bits):
        result |= (values >> bit & 1) << (by * bit)
    return result


class PostingIndex:
    """Whom a message may reach, by the rarest of the words that they share."""

    def __init__(self, x: float, y: float, diagonal: float) -> None:
        self._counts = np.zeros(N_COUNTS, np.int64)
        self._pending = Pending(
            n=np.zeros(1, np.int64),
            at=np.zeros(PENDING, np.int64),
            of=np.zeros(PENDING, np.int64),
            offered=np.zeros(PENDING, np.float32),
            offers=np.zeros((2, BLOCK), np.float32),
        )
        self._seen = np.zeros(1, np.int64)
        self._n_keywords = 0
        self._n_used = 0
        small = np.zeros(0, np.int32)
        self._index = PostedSubscriptions(
            np.zeros((0, N_HOLDER)),
            np.zeros((0, N_KEYWORD), np.int32),
            np.zeros((0, N_WEIGHTS)),
            np.zeros(0, np.float32),
            PostingLists(small, small, small, small, small),
            _no_postings(64 * BLOCK),
            Space(x, y, diagonal),
            np.zeros(1 << 12, np.int64),
            np.zeros(1, np.int64),
        )

    @property
    def n_bytes(self) -> int:
        index = self._index
        arrays: list[npt.NDArray[Any]] = [index.holders, index.keywords, index.weights, index.texts]
        return sum(array.nbytes for array in [*arrays, *index.lists, *index.postings, index.stale, self._seen])

    @property
    def counters(self) -> dict[str, int]:
        return {name: int(self._counts[column]) for name, column in COUNTERS.items()}

    def add(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        """Take in new subscriptions."""
        if not len(slots):
            return
        self._reserve(int(slots.max()) + 1, self._n_keywords + int(questions.term_count[slots].sum()))
        self._write(slots, questions, gates)
        self._post(slots)

    def _reserve(self, n_slots: int, n: int) -> None:
        """Have room for so many slots and keywords."""
        index = self._index
        # By a quarter: with millions of keywords, twice as many places are too many.
        holders = grown(index.holders, n_slots, share=BY_A_QUARTER)
        longer = grown_all(index, n, ("keywords", "weights", "texts"), BY_A_QUARTER)
        self._index = longer._replace(holders=holders)
        self._index.keywords[len(index.keywords) :, OWNER] = -1

    def _know(self, n_codes: int) -> None:
        """Have room for so many words."""
        lists = self._index.lists
        self._seen = grown(self._seen, n_codes, share=BY_A_QUARTER)
        if n_codes > len(lists.size):
            self._index = self._index._replace(lists=grown_all(lists, n_codes, share=BY_A_QUARTER))

    def _write(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        """Write down keywords, with their order from the rarest on and the lengths of what is left from each on."""
        counts = questions.term_count[slots]
        offsets = offsets_of(counts)
        total = int(offsets[-1])
        at = places_of(questions.term_start[slots], counts)
        terms, weights, row = questions.terms[at], questions.term_weights[at], owners_of(counts)
        self._know(int(terms.max(initial=-1)) + 1)
        count_up(self._seen, terms)
        order = np.lexsort((-terms, self._seen[terms], row))
        own = np.empty(total, np.int64)
        own[order] = np.arange(self._n_keywords, self._n_keywords + total)
        terms, weights = terms[order], weights[order]
        sums = np.cumsum((weights * weights)[::-1])[::-1]
        after = np.append(sums, 0.0)[offsets[1:]]
        # The sums run over everybody, so what is small drowns in their rounding.
        lost = sums.max(initial=0.0) * int(counts.max(initial=0)) * np.finfo(np.float64).eps
        rest = np.sqrt(np.maximum(sums - np.repeat(after, counts), 0.0) + lost) + 1e-6
        into = slice(self._n_keywords, self._n_keywords + total)
        keywords, its_weights, holders = self._index.keywords[into], self._index.weights[into], self._index.holders
        keywords[:, TERM], keywords[:, OWNER], keywords[:, PLACE] = terms, np.repeat(slots, counts), -1
        keywords[:, OWN] = own
        its_weights[:, WEIGHT], its_weights[:, LENGTH] = weights, rest
        self._index.texts[into] = weights * np.repeat(1.0 - questions.alpha[slots], counts)
        block, i = slots // SLOTS_IN_BLOCK, slots % SLOTS_IN_BLOCK
        x, y = questions.centre[block, 0, i], questions.centre[block, 1, i]
        start = self._n_keywords + offsets[:-1]
        columns = ((X, x), (Y, y), (ALPHA, questions.alpha[slots]), (GATE, gates), (START, start), (N, counts))
        for column, values in columns:
            holders[slots, column] = values
        self._n_keywords += total
        self._n_used += total

    def _post(self, slots: Int64s) -> None:
        for _ in stops(lambda done: post(slots, done, self._index), len(slots), tries=DOUBLINGS):
            self._enlarge()
        self._sort()

    def _enlarge(self) -> None:
        postings = self._index.postings
        size = BLOCK * (len(postings.keyword) // BLOCK * 5 // 4 + 64)
        summary = resized(postings.summary, size // BLOCK)
        longer = resized_all(postings, size, Postings._fields[:10])._replace(summary=summary)
        self._index = self._index._replace(postings=longer)

    def _sort(self) -> None:
        """Sort the lists that want it: what a message offers alike comes together."""
        index = self._index
        n_stale = int(index.stale_end[0])
        if not n_stale:
            return
        terms = np.unique(index.stale[:n_stale])
        index.stale_end[0] = 0
        if n_stale == len(index.stale):
            # More may have wanted it than there was room to note.
            lists = index.lists
            terms = np.flatnonzero((lists.room >= 2 * BLOCK) & (lists.size > 0))
        lists, postings = index.lists, index.postings
        terms = terms[lists.room[terms] >= 2 * BLOCK]
        if not len(terms):
            return
        sizes = lists.size[terms].astype(np.int64)
        places, row = places_of(lists.start[terms], sizes), owners_of(sizes)
        taken = postings.keyword[places] >= 0
        places, row = places[taken], row[taken]
        order = np.lexsort((self._key(places), row))
        ends = np.searchsorted(row, np.arange(len(terms) + 1))
        rearrange(index, terms, ends, places[order], _no_postings(int(sizes.max())))

    def _key(self, places: Int64s) -> Int64s:
        """Numbers that are close where messages that offer alike may reach: by what is needed beyond place and rest,
        then by alpha, by rest, and by place along a curve that leaves no neighbourhood before it is through.
        """
        postings = self._index.postings
        alpha, rest = postings.alpha[places], postings.rest[places]
        needed = _step(postings.need[places] - alpha - rest, 16, -1.0, 0.3)
        x, y = (spread(_step(values[places], 256, 0.0, 1.0), 2, 8) for values in (postings.x, postings.y))
        return needed << 24 | _step(alpha, 4, 0.0, 1.0) << 20 | _step(rest, 4, 0.0, 1.0) << 16 | x << 1 | y

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        self._n_used -= int(self._index.holders[slots, N].sum())
        take_down(slots, self._index)
        if self._n_keywords > 4096 and 2 * self._n_used < self._n_keywords:
            self._drop_unused()

    def _drop_unused(self) -> None:
        """Lay the keywords in use end to end."""
        index = self._index
        slots = np.flatnonzero(index.holders[:, N] > 0)
        counts = index.holders[slots, N].astype(np.int64)
        places = places_of(index.holders[slots, START].astype(np.int64), counts)
        n = self._n_keywords = self._n_used = len(places)
        kept = index._replace(keywords=index.keywords[places], weights=index.weights[places], texts=index.texts[places])
        kept.keywords[:n, OWN] -= (places - np.arange(n)).astype(np.int32)
        kept.keywords[n:, OWNER] = -1
        index.holders[slots, START] = starts_of(counts)
        posted = np.flatnonzero(kept.keywords[:n, PLACE] >= 0)
        index.postings.keyword[kept.keywords[posted, PLACE]] = posted
        self._index = kept

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        self._index.holders[slots, GATE] = gates
        self._post(slots)

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates) -> Candidates:
        """Add every pair of a subscription and a message from lo to hi that is within the gate."""
        n_before, n_verified = int(into.length[0]), int(self._counts[VERIFIED])
        batch = self._batch(contents, lo, hi)
        done = 0

        def go_on() -> bool:
            nonlocal done
            done = read_all(done, self._index, contents, lo, batch, self._pending, self._counts, into)
            return done == len(batch.places) and not self._pending.n[0]

        for _ in pauses(go_on, lambda: (done,), DOUBLINGS):
            into = larger(into)
        into.counts[0] += int(self._counts[VERIFIED]) - n_verified
        if hi - lo == 1:
            return into
        found = slice(n_before, int(into.length[0]))
        order = order_by(into.publication[found])
        for array in (into.slot, into.publication, into.directed):
            array[found] = array[found][order]
        return into

    def _batch(self, contents: Contents, lo: int, hi: int) -> MessageBatch:
        """The messages lo to hi, and their terms in order."""
        n, n_terms = hi - lo, contents.term_count[lo:hi]
        first = int(contents.term_start[lo]) if n else 0
        last = int(contents.term_start[hi - 1] + n_terms[-1]) if n else 0
        terms = contents.terms[first:last]
        order = order_by(terms)
        self._know(int(terms[order[-1]]) + 1 if len(order) else 0)
        count_up(self._seen, terms)
        batch = MessageBatch(
            messages=np.empty((n, 4), np.float32),
            bits=np.empty((n, 2), np.int64),
            places=first + order,
            of=owners_of(n_terms)[order] if n > 1 else np.zeros(len(order), np.int64),
            said=np.empty((5, len(terms)), np.float32),
            offered=np.empty(len(terms), np.float32),
        )
        describe(contents, lo, hi, self._index.space, batch)
        return batch

    def check(self) -> None:
        """Assert the invariants."""
        check_postings(self._index)
