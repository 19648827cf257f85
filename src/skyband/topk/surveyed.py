"""Engines over sliding windows as witnesses: what they have stored, scored for one subscription, and what they keep.

The subscription need not be registered: its question is written down beside those of the engine, and thrown away.
"""

import math
from abc import abstractmethod
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from skyband.contract import Engine
from skyband.contract.explanation import Bound
from skyband.contract.handle import show_count
from skyband.kernels.array import Floats, Int64s
from skyband.topk.kernels.score import WAYS, Contents, Questions
from skyband.topk.kernels.survey import limit_of, score_stored
from skyband.topk.questions import NewQuestions, QuestionStore
from skyband.topk.roster import Pool, Roster
from skyband.topk.rows import TimedPublications, TopSubscriptions
from skyband.topk.store import Store
from skyband.topk.survey import Evidence, survey_of, wanted_by

SubscriptionsT = TypeVar("SubscriptionsT", bound=TopSubscriptions)
PublicationsT = TypeVar("PublicationsT", bound=TimedPublications)

NO_ITEMS = np.zeros(0, np.int64)
# Gates are rounded up by less than this.
ROUNDED = 1e-12
TINY = 1e-140


class KeptRows(Protocol):
    """What an engine keeps for each subscription."""

    @property
    def roster(self) -> Roster: ...

    def pool(self, slots: Int64s) -> Pool:
        """All entries of these slots, in the order of their tops."""


class StoredScores(NamedTuple):
    """Scores of publications that lie one behind the other in the store: directed, and as a user sees them."""

    directed: Floats
    scores: Floats


class Surveyed(Engine[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """What it takes to explain the answers of an engine that has a store and rows of candidates."""

    _store: Store | None
    _question_store: QuestionStore

    @property
    @abstractmethod
    def _candidates(self) -> KeptRows: ...

    @abstractmethod
    def _subscriptions_of(self, slots: Int64s) -> SubscriptionsT: ...

    @abstractmethod
    def _publications_of(self, indices: Int64s) -> PublicationsT: ...

    @abstractmethod
    def _questions_in_passing(self, rows: SubscriptionsT, store: Store) -> tuple[NewQuestions, Contents]:
        """What subscriptions ask that are not to be registered, and what is stored, as their scores need it."""

    @property
    def _n_codes(self) -> int:
        """One more than the greatest code of a word."""
        return 1

    def _question_rows(self, ids: pa.Array) -> SubscriptionsT:
        return self._subscriptions_of(self._candidates.roster.ids.find(ids))

    def _evidence(self, asked: SubscriptionsT) -> Evidence:
        store = self._store
        items = NO_ITEMS if store is None else store.recent()
        if store is None or not len(items):
            nothing, none = np.zeros(0), np.zeros(0, np.bool_)
            ids = pa.array([], self._id_type("publications id"))
            wanted = wanted_by(asked, True)
            survey = survey_of(wanted, self.now, ids, items, nothing, none)
        else:
            new, contents = self._questions_in_passing(asked, store)
            scores = self._scored(asked, new, contents, store).scores[items - store.head]
            wanted = wanted_by(asked, bool(WAYS[new.kinds[0]] > 0.0))
            stored = (store.ids_of(items), store.ts[items], scores, store.is_retracted(items))
            survey = survey_of(wanted, self.now, *stored)
        slot = int(self._candidates.roster.ids.find(asked.ids)[0])
        bound = partial(self._bound, slot, items)
        return Evidence(asked, wanted, survey, self.settings, self.now, partial(self._said_at, items), bound)

    def _scored(self, asked: SubscriptionsT, new: NewQuestions, contents: Contents, store: Store) -> StoredScores:
        """All that is stored, scored for a question of its own."""
        questions = QuestionStore(Roster())
        slots = questions.roster.enlist(asked.ids, new.kinds)
        questions.write(asked, new, slots)
        return self._score(questions.questions, int(slots[0]), contents, store.head, store.tail)

    def _score(self, questions: Questions, slot: int, contents: Contents, lo: int, hi: int) -> StoredScores:
        scored = StoredScores(np.empty(hi - lo), np.empty(hi - lo))
        score_stored(questions, slot, contents, lo, hi, np.zeros(max(self._n_codes, 1)), *scored)
        return scored

    def _said_at(self, items: Int64s, place: int) -> PublicationsT:
        return self._publications_of(items[place : place + 1])

    def _bound(self, slot: int, items: Int64s, place: int | None, competes: bool) -> Bound:
        """What the engine keeps of the publication at a place of the survey, for a slot."""
        assert slot >= 0
        pool = self._candidates.pool(np.array([slot]))
        row = slice(int(pool.start[0]), int(pool.start[0] + pool.n[0]))
        n_kept, limit = int(pool.n[0]), self._limit(slot, pool.score[row])
        keeps = f"The engine {self.name} keeps {show_count(n_kept, 'candidate')}"
        if place is None or self._store is None:
            return Bound("gate", n_kept, None, limit, False, f"{keeps}, and does not know this publication.")
        found = np.flatnonzero(pool.item[row] - self._store.base == items[place])
        kept = int(found[0]) + 1 if len(found) else None
        scored = self._registered_score(slot, int(items[place]))
        pruned = bool(scored.directed[0] > self._question_store.rules.gate[slot]) or math.isnan(scored.scores[0])
        return Bound("gate", n_kept, kept, limit, pruned, keeps + _standing(kept, limit, pruned, competes))

    def _registered_score(self, slot: int, item: int) -> StoredScores:
        """The score of one publication, as the engine itself has it."""
        assert self._store is not None
        return self._score(self._question_store.questions, slot, self._store.contents, item, item + 1)

    def _limit(self, slot: int, kept: Floats) -> float | None:
        """The worst score that passes the gate of a slot; None where all do, or none at all."""
        gate = float(self._question_store.rules.gate[slot])
        if not math.isfinite(gate):
            return None
        limit = float(limit_of(self._question_store.questions, slot, gate))
        made_from = [*kept[::-1].tolist(), float(self._question_store.widest(np.array([slot]))[0])]
        # Gates are rounded up, so that nothing is lost: what one was made from is what it means.
        near = (score for score in made_from if math.isclose(score, limit, rel_tol=ROUNDED, abs_tol=TINY))
        return next(near, limit)


def _standing(place: int | None, limit: float | None, pruned: bool, competes: bool) -> str:
    """How a publication stands to the candidates of a row."""
    if place is not None:
        return f", and this is number {place} of them."
    if pruned and limit is not None:
        return f" and looks at no score that is worse than {limit}: its gate prunes this publication for now."
    if pruned:
        return "; what has no score, it does not look at."
    if not competes:
        return ", and this publication is none of them any more."
    gate = "its gate is open" if limit is None else f"its gate of {limit} lets this score pass"
    return f", and this publication is none of them, although {gate}."
