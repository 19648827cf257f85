"""Ours: subscriptions posted under their rarest words, in blocks that know what a message must offer."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.geotext.kernels.posting import (
    BLOCK,
    GATE,
    N_CLASSES,
    N_HOLDER,
    N_KEYWORD,
    N_SUMMARY,
    N_WEIGHTS,
    OWN,
    OWNER,
    PLACE,
    START,
    N,
    PostedSubscriptions,
    PostingLists,
    Postings,
    Space,
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
from skyband.geotext.kernels.posting_write import KeywordColumns, greatest_term, write_keywords
from skyband.kernels.array import Float32s, Floats, Int64s
from skyband.kernels.count import count_up
from skyband.kernels.crew import even_cuts, n_shares, run
from skyband.kernels.growth import BY_AN_EIGHTH, grown, grown_all, resized, resized_all
from skyband.kernels.order import order_by
from skyband.kernels.ragged import owners_of, places_of, starts_of
from skyband.kernels.room import DOUBLINGS, initial, pauses, stops
from skyband.topk.index import extended, larger
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import Contents, Questions

# So many postings are looked at closer at a time.
PENDING = 1024
# So few postings, times the messages that have their word, are not worth a thread: one takes 1 to 10 ns.
POSTINGS_A_THREAD = 100_000

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


def _make_pending() -> Pending:
    return Pending(
        n=np.zeros(1, np.int64),
        at=np.zeros(PENDING, np.int64),
        of=np.zeros(PENDING, np.int64),
        offered=np.zeros(PENDING, np.float32),
        offers=np.zeros((2, BLOCK), np.float32),
    )


def _part(batch: MessageBatch, first: int, last: int) -> MessageBatch:
    """What one thread reads of a batch."""
    n, its = last - first, slice(first, last)
    said, offered = np.empty((len(batch.said), n), np.float32), np.empty(n, np.float32)
    return batch._replace(places=batch.places[its], of=batch.of[its], said=said, offered=offered)


class PostingIndex:
    """Whom a message may reach, by the rarest of the words that they share."""

    def __init__(self, x: float, y: float, diagonal: float) -> None:
        self._counts = np.zeros(2 * N_COUNTS, np.int64)
        self._pending = _make_pending()
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
        # By an eighth: with millions of keywords, what lies idle adds up.
        if n_slots <= len(index.holders) and n <= len(index.keywords):
            return
        holders = grown(index.holders, n_slots, share=BY_AN_EIGHTH)
        longer = grown_all(index, n, ("keywords", "weights", "texts"), BY_AN_EIGHTH)
        self._index = longer._replace(holders=holders)
        self._index.keywords[len(index.keywords) :, OWNER] = -1

    def _know(self, n_codes: int) -> None:
        """Have room for so many words."""
        lists = self._index.lists
        self._seen = grown(self._seen, n_codes, share=BY_AN_EIGHTH)
        if n_codes > len(lists.size):
            self._index = self._index._replace(lists=grown_all(lists, n_codes, share=BY_AN_EIGHTH))

    def _write(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        """Write down keywords, with their order from the rarest on and the lengths of what is left from each on."""
        self._know(greatest_term(slots, questions) + 1)
        columns = KeywordColumns(*self._index[:4])
        end = write_keywords(slots, questions, gates, self._seen, self._n_keywords, columns)
        self._n_used += end - self._n_keywords
        self._n_keywords = end

    def _post(self, slots: Int64s) -> None:
        for _ in stops(lambda done: post(slots, done, self._index), len(slots), tries=DOUBLINGS):
            self._enlarge()
        self._sort()

    def _enlarge(self) -> None:
        postings = self._index.postings
        size = BLOCK * (len(postings.keyword) // BLOCK * 9 // 8 + 64)
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

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add every pair of a subscription and a message from lo to hi that is within the gate."""
        n_before, n_verified = int(into.length[0]), int(self._counts[VERIFIED])
        batch = self._batch(contents, lo, hi)
        parts = self._parts(batch, contents, threads)
        if len(parts) == 1:
            into = self._read(batch, contents, lo, self._pending, self._counts, into)
        else:
            into = self._read_parts(parts, contents, lo, into)
        into.counts[0] += int(self._counts[VERIFIED]) - n_verified
        if hi - lo == 1:
            return into
        found = slice(n_before, int(into.length[0]))
        order = order_by(into.publication[found])
        for array in (into.slot, into.publication, into.directed):
            array[found] = array[found][order]
        return into

    def _read(
        self, batch: MessageBatch, contents: Contents, lo: int, pending: Pending, counts: Int64s, into: Candidates
    ) -> Candidates:
        """Add the pairs of a batch, or of a part of it."""
        done = 0

        def go_on() -> bool:
            nonlocal done
            done = read_all(done, self._index, contents, lo, batch, pending, counts, into)
            return done == len(batch.places) and not pending.n[0]

        for _ in pauses(go_on, lambda: (done,), DOUBLINGS):
            into = larger(into)
        return into

    def _parts(self, batch: MessageBatch, contents: Contents, threads: int) -> list[MessageBatch]:
        """The batch in parts of whole lists, of about as many postings each."""
        terms = contents.terms[batch.places]
        if threads == 1 or not len(terms):
            return [batch]
        ends = np.cumsum(1 + self._index.lists.size[terms].astype(np.int64))
        n = n_shares(threads, int(ends[-1]), POSTINGS_A_THREAD)
        if n == 1:
            return [batch]
        cuts = np.searchsorted(terms, terms[even_cuts(ends, n)[:-1]], "left")
        return [_part(batch, first, last) for first, last in pairwise([*np.unique(cuts).tolist(), len(terms)])]

    def _read_parts(self, parts: list[MessageBatch], contents: Contents, lo: int, into: Candidates) -> Candidates:
        """Add the pairs of parts, which several threads read."""
        counts = np.zeros((len(parts), 2 * N_COUNTS), np.int64)
        found = run(
            [
                partial(self._read, part, contents, lo, _make_pending(), own, make_candidates(initial(1 << 12)))
                for part, own in zip(parts, counts, strict=True)
            ]
        )
        self._counts += counts.sum(axis=0)
        return extended(into, found)

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
