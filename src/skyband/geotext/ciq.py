"""CIQ, the published baseline for dissemination: an index of subscriptions by covering cells and words.

Chen, Cong, Cao and Tan, "Temporal Spatial-Keyword Top-k Publish/Subscribe" (ICDE 2015), as the Skype paper takes it up
in section 2.2: without decay over time. See `skyband.geotext.kernels.ciq` for how it works and why it misses nothing. A
message costs a walk through the lists of its terms in `depth` cells, from end to end, and a score for each subscription
that reaches its bound there. A gate that moves costs 3 * depth + 1 bounds; a subscription has as many postings for each
of its terms, which is what the memory goes into.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.geotext.kernels.ciq import (
    ALPHA,
    END,
    GATE,
    N_LISTS,
    N_POSTINGS,
    CiqPostings,
    CiqSubscribers,
    X,
    Y,
    bound,
    check_ciq,
    copy_lists,
    disseminate,
    enter,
    locate,
    make_lists,
    make_postings,
    make_reading,
    make_space,
    measure,
    place_lists,
    take_out,
)
from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.growth import grown, grown_all, resized
from skyband.kernels.ragged import places_of, starts_of
from skyband.kernels.room import DOUBLINGS, pauses, stops
from skyband.kernels.slots import BLOCK
from skyband.table.argument import check_integer
from skyband.topk.index import larger
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, Questions

DEEPEST = 8
# Subscriptions whose postings are sorted at a time: few enough that the work space is small beside the index.
CHUNK = 1 << 16


def _grouped(postings: CiqPostings) -> tuple[CiqPostings, Int64s]:
    """The same postings by list, and where each list's end."""
    order = np.argsort(postings.of, kind="stable")
    sorted_ = CiqPostings(postings.of[order], postings.slot[order], postings.weight[order])
    ends = np.flatnonzero(np.diff(sorted_.of, append=np.int32(-1))) + 1
    return sorted_, ends


class CiqIndex:
    """Subscriptions by place and words; bounds are least x and y, greatest x and y, cut into quarters `depth` times.

    `counters` adds up the postings walked through, the pairs that were scored and those that passed.
    """

    def __init__(self, bounds: tuple[float, float, float, float], depth: int = 2) -> None:
        self.depth = depth = check_integer("depth", depth, 1, DEEPEST)
        self._space = make_space(bounds, depth)
        self._lists = make_lists(0, 0)
        self._asked = CiqSubscribers(
            np.zeros((0, 4)),
            np.zeros((0, 2), np.int64),
            np.zeros((4 * depth, 0), np.float32),
            np.zeros(0, np.int64),
            np.zeros(0),
        )
        self._reading = make_reading()
        self._present = np.zeros(0, np.bool_)
        self._n_terms = 0

    @property
    def counters(self) -> dict[str, int]:
        return dict(zip(("postings", "verified", "accepted"), self._reading.counts.tolist(), strict=True))

    @property
    def n_bytes(self) -> int:
        arrays: list[npt.NDArray[Any]] = [*self._space[:2], *self._asked, *self._lists, *self._reading, self._present]
        return sum(array.nbytes for array in arrays)

    def add(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        """Take in new subscriptions; questions are by slot."""
        if not len(slots):
            return
        order = np.argsort(slots)
        slots, gates = slots[order], gates[order]
        self._reserve_slots(int(slots[-1]) + 1)
        self._write(slots, questions, gates)
        bound(slots, self._space, self._asked)
        for lo in range(0, len(slots), CHUNK):
            self._enter(*_grouped(self._located(slots[lo : lo + CHUNK])))

    def _write(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        counts = questions.term_count[slots]
        places = places_of(questions.term_start[slots], counts)
        self._reserve_terms(len(places))
        asked, end = self._asked, self._n_terms + len(places)
        asked.numbers[slots, X] = questions.centre[slots // BLOCK, 0, slots % BLOCK]
        asked.numbers[slots, Y] = questions.centre[slots // BLOCK, 1, slots % BLOCK]
        asked.numbers[slots, ALPHA], asked.numbers[slots, GATE] = questions.alpha[slots], gates
        asked.span[slots, 0], asked.span[slots, 1] = self._n_terms + starts_of(counts), counts
        asked.terms[self._n_terms : end] = questions.terms[places]
        asked.weights[self._n_terms : end] = questions.term_weights[places]
        self._say_up_to(int(asked.terms[self._n_terms : end].max(initial=-1)) + 1)
        self._n_terms = end
        self._present[slots] = True

    def _located(self, slots: Int64s) -> CiqPostings:
        """The postings of ascending slots, by slot."""
        postings = make_postings(int(self._asked.span[slots, 1].sum()) * (3 * self.depth + 1))
        room = len(self._lists.key) - int(self._lists.used[N_LISTS])
        located = pauses(
            lambda: locate(slots, self._space, self._asked, self._lists, postings), lambda: (0,), DOUBLINGS
        )
        for _ in located:
            room = 2 * room + 64
            self._renew_lists(room)
        return postings

    def _enter(self, postings: CiqPostings, ends: Int64s) -> None:
        for done in stops(lambda done: enter(postings, ends, done, self._lists), len(ends)):
            self._lay_out(postings.of[ends[done - 1] if done else 0 :])

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        slots = np.sort(slots)
        for lo in range(0, len(slots), CHUNK):
            take_out(*_grouped(self._located(slots[lo : lo + CHUNK])), self._lists)
        self._present[slots] = False
        if len(self._lists.slot) > 1024 + 4 * self._lists.used[N_POSTINGS]:
            self._renew_lists(0)
            self._lay_out(np.zeros(0, np.int32))

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        self._asked.numbers[slots, GATE] = gates
        bound(slots, self._space, self._asked)

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add every pair of a subscription and a publication from lo to hi that is within the gate."""
        n_terms, n_codes = measure(contents, lo, hi)
        self._say_up_to(n_codes)
        self._reading = grown_all(self._reading, n_terms + 1, ("at", "end", "head", "order", "weight"))
        reading = self._reading

        def disseminate_from(lo: int) -> int:
            return disseminate(self._space, self._asked, self._lists, contents, lo, hi, reading, into)

        for _ in stops(disseminate_from, hi, lo, DOUBLINGS):
            into = larger(into)
        return into

    def _renew_lists(self, room: int) -> None:
        """Forget the lists that are empty, and make room for so many more, or for a quarter more."""
        old = self._lists
        kept = np.flatnonzero(old.length[: old.used[N_LISTS]])
        n = len(kept)
        new = make_lists(n + max(n // 4, room), 0)
        new.key[:n], new.start[:n] = old.key[kept], old.start[kept]
        new.capacity[:n], new.length[:n] = old.capacity[kept], old.length[kept]
        new.used[:] = n, old.used[END], old.used[N_POSTINGS]
        self._lists = new._replace(slot=old.slot, weight=old.weight)
        place_lists(self._lists)

    def _lay_out(self, coming: Int32s) -> None:
        """Lay the lists out anew, with room for these lists' postings to come, and some places more."""
        old, n = self._lists, int(self._lists.used[N_LISTS])
        need = old.length[:n] + np.bincount(coming, minlength=n)
        capacity, start = old.capacity.copy(), old.start.copy()
        capacity[:n] = need + need // 8
        end = int(capacity[:n].sum(dtype=np.int64))
        start[:n] = starts_of(capacity[:n])
        size = end + end // 8 + 64
        pool = make_lists(0, size)
        used = np.array([n, end, old.used[N_POSTINGS]])
        new = old._replace(start=start, capacity=capacity, used=used, slot=pool.slot, weight=pool.weight)
        copy_lists(old, new)
        self._lists = new

    def _say_up_to(self, n_codes: int) -> None:
        self._reading = self._reading._replace(said=grown(self._reading.said, n_codes))

    def _reserve_slots(self, n_slots: int) -> None:
        asked = self._asked
        least = grown(asked.least, n_slots, axis=1)
        self._asked = grown_all(asked, n_slots, ("numbers", "span"))._replace(least=least)
        self._present = grown(self._present, n_slots)
        self._reading = grown_all(self._reading, n_slots, ("found", "text"))

    def _reserve_terms(self, n: int) -> None:
        """Make room for terms, and lay those in use end to end when it has run out."""
        asked = self._asked
        if self._n_terms + n <= len(asked.terms):
            return
        slots = np.flatnonzero(self._present)
        counts = asked.span[slots, 1]
        places = places_of(asked.span[slots, 0], counts)
        asked.span[slots, 0] = starts_of(counts)
        self._n_terms = len(places)
        length = self._n_terms + n + self._n_terms // 4
        self._asked = asked._replace(
            terms=resized(asked.terms[places], length), weights=resized(asked.weights[places], length)
        )

    def check(self) -> None:
        """Assert the invariants."""
        slots = np.flatnonzero(self._present)
        check_ciq(self._space, self._asked, self._lists, slots)
        assert self._asked.span[slots, 1].sum() <= self._n_terms <= len(self._asked.terms)
        assert len(self._reading.found) == len(self._present) == len(self._asked.numbers) == len(self._asked.span)
        assert not self._reading.said.any()
