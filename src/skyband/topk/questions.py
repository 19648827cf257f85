"""What subscriptions ask and what they admit, by slot, as the kernels want it."""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.growth import BY_A_QUARTER, grown, grown_all, length_for, resized, resized_all
from skyband.kernels.ragged import places_of, starts_of
from skyband.kernels.slots import BLOCK
from skyband.table import Windows
from skyband.topk.kernels.enrolment import QuestionRows, write_questions
from skyband.topk.kernels.scan import LARGEST, UNBOUNDED, Rules
from skyband.topk.kernels.score import WAYS, Questions
from skyband.topk.roster import Roster
from skyband.topk.rows import TopSubscriptions
from skyband.topk.store import WIDEST


class NewQuestions(NamedTuple):
    """What new subscriptions ask: kinds and vectors by row, terms as lists laid end to end.

    `sphere` is (coordinate, row), where some of them are places on Earth.
    """

    kinds: Int8s
    points: Floats
    weights: Floats
    norms: Floats
    alphas: Floats
    signatures: Int64s
    offsets: Int64s
    terms: Int64s
    term_weights: Floats
    sphere: Floats | None = None


def _no_questions(dims: int, weighted_dims: int) -> Questions:
    empty, integers = np.zeros(0), np.zeros(0, np.int64)
    return Questions(
        kinds=np.zeros(0, np.int8),
        centre=np.zeros((0, dims, BLOCK)),
        weight=np.zeros((0, weighted_dims, BLOCK)),
        norm=empty,
        alpha=empty,
        signature=integers,
        term_start=integers,
        term_count=integers,
        terms=integers,
        term_weights=empty,
    )


def _no_rules() -> Rules:
    numbers, integers = np.zeros(0), np.zeros(0, np.int64)
    return Rules(
        gate=numbers,
        limit=numbers,
        window_kind=np.zeros(0, np.int8),
        window_size=integers,
        oldest=integers,
        due=np.zeros((0, 2), np.int64),
    )


def signs(rows: TopSubscriptions, kinds: Int8s) -> Floats:
    """1 where smaller scores are better, -1 where larger ones are, 0 for Boolean subscriptions, ranked by recency."""
    return np.where(np.isnan(rows.threshold), WAYS[kinds], 0.0)


class QuestionStore:
    """The questions and the rules of a roster's subscriptions."""

    def __init__(self, roster: Roster) -> None:
        self.roster = roster
        self.rules = _no_rules()
        self.questions = _no_questions(0, 0)
        self._n_terms = 0

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.rules)

    def write(self, rows: TopSubscriptions, new: NewQuestions, slots: Int64s) -> None:
        """Write down what new slots ask."""
        limits = np.where(np.isnan(rows.threshold), np.inf, WAYS[new.kinds] * rows.threshold)
        self._write_rules(rows.window, slots, limits)
        self._write_questions(new, slots)

    def _write_rules(self, windows: Windows, slots: Int64s, limits: Floats) -> None:
        if self.roster.slots.n_slots > len(self.rules.gate):
            self._grow_rules()
        self.rules.limit[slots] = limits
        self.rules.window_kind[slots] = windows.kind
        self.rules.window_size[slots] = np.minimum(windows.size, WIDEST)

    def _grow_rules(self) -> None:
        had = len(self.rules.due)
        # Whole blocks, so that there is a bound for each of them.
        n_blocks = length_for(self.roster.slots.n_blocks, had, BY_A_QUARTER)
        by_slot = resized_all(self.rules, n_blocks * BLOCK, Rules._fields[:-1])
        self.rules = by_slot._replace(due=resized(self.rules.due, n_blocks))
        self.rules.gate[had * BLOCK :] = -np.inf
        self.rules.oldest[had * BLOCK :] = LARGEST
        self.rules.due[had:] = LARGEST

    def _write_questions(self, new: NewQuestions, slots: Int64s) -> None:
        into = self._reserve_questions(new)
        write_questions(QuestionRows(*new[1:-1]), slots, self._n_terms, into)
        self._n_terms += len(new.terms)
        if new.sphere is not None:
            into.sphere[slots // BLOCK, :, slots % BLOCK] = new.sphere.T

    def _reserve_questions(self, new: NewQuestions) -> Questions:
        slots = self.roster.slots
        before = self.questions
        if not len(before.kinds):
            before = _no_questions(new.points.shape[1], new.weights.shape[1])
        n_terms = self._n_terms + len(new.terms)
        if before.kinds is slots.kinds and n_terms <= len(before.terms) and new.sphere is None:
            return before
        by_slot = ("norm", "alpha", "signature", "term_start", "term_count")
        sphere = before.sphere
        if new.sphere is not None and not len(sphere):
            sphere = np.zeros((0, len(new.sphere), BLOCK))
        if new.sphere is not None or len(sphere):
            sphere = grown(sphere, slots.n_blocks, share=BY_A_QUARTER)
        self.questions = grown_all(before, slots.n_slots, by_slot, BY_A_QUARTER)._replace(
            kinds=slots.kinds,
            sphere=sphere,
            centre=grown(before.centre, slots.n_blocks, share=BY_A_QUARTER),
            weight=grown(before.weight, slots.n_blocks, share=BY_A_QUARTER),
            terms=grown(before.terms, n_terms, share=BY_A_QUARTER),
            term_weights=grown(before.term_weights, n_terms, share=BY_A_QUARTER),
        )
        return self.questions

    def remove(self, slots: Int64s) -> None:
        """Forget what slots asked, once they are given up."""
        self.rules.gate[slots] = -np.inf
        self.rules.oldest[slots] = LARGEST
        self.rules.window_kind[slots] = UNBOUNDED
        self._drop_terms()

    def _drop_terms(self) -> None:
        """Lay the terms end to end again once most of them belong to nobody."""
        if self._n_terms < 4096:
            return
        slots = np.flatnonzero(self.roster.slots.used)
        lengths = self.questions.term_count[slots]
        if 2 * int(lengths.sum()) > self._n_terms:
            return
        places = places_of(self.questions.term_start[slots], lengths)
        self._n_terms = len(places)
        self.questions.terms[: self._n_terms] = self.questions.terms[places]
        self.questions.term_weights[: self._n_terms] = self.questions.term_weights[places]
        self.questions.term_start[slots] = starts_of(lengths)

    def windows(self, slots: Int64s) -> Windows:
        """The windows of these slots."""
        return Windows(self.rules.window_kind[slots], self.rules.window_size[slots])

    def widest(self, slots: Int64s) -> Floats:
        """The worst scores that may ever be in the tops of these slots: the threshold, or else an infinite one."""
        ways: Floats = WAYS[self.questions.kinds[slots // BLOCK]]
        return ways * self.rules.limit[slots]

    def thresholds(self, slots: Int64s, signs: Floats) -> Floats:
        """The thresholds as they were given; NaN for a subscription that is not Boolean."""
        ways, limits = WAYS[self.questions.kinds[slots // BLOCK]], self.rules.limit[slots]
        return np.where(signs == 0.0, ways * limits, np.nan)
