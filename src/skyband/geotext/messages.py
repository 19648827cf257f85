"""The geotext family for the skeleton: messages, scored by place and words."""

from abc import abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.geotext.kernels.signature import sign
from skyband.geotext.rows import Publications, Subscriptions
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.ragged import offsets_of, places_of
from skyband.kernels.slots import BLOCK
from skyband.kernels.sphere import on_earth
from skyband.topk.kernels.score import PLACE, PLACE_ON_EARTH, Contents
from skyband.topk.questions import NewQuestions
from skyband.topk.skeleton import Continuous
from skyband.topk.store import Arrivals, Store
from skyband.topk.vocabulary import Vocabulary


def signatures(codes: Int64s, offsets: Int64s) -> Int64s:
    """For each list of term codes a word with a bit for each of them: lists with no common bit share no term."""
    words = np.empty(len(offsets) - 1, np.int64)
    sign(codes, offsets, words)
    return words


class MessageEngine(Continuous[Subscriptions, Publications]):
    """Rows of the geotext family as the kernels want them, and back."""

    family = "geotext"
    subscriptions = Subscriptions
    publications = Publications

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._vocabulary = Vocabulary()

    @property
    def _dims(self) -> int:
        return 2

    @property
    def _is_on_earth(self) -> bool:
        return self.settings.bounds.is_geographic

    def _opened(self) -> Store:
        if self._store is not None:
            return self._store
        store = super()._opened()
        if self._is_on_earth:
            store.put_on_sphere(on_earth)
        return store

    def memory(self) -> dict[str, int]:
        return super().memory() | {"vocabulary": self._vocabulary.n_bytes}

    @abstractmethod
    def _widen(self, n_codes: int) -> None:
        """Make working space for so many words."""

    def _codes(self, terms: pa.Array) -> Int64s:
        codes = self._vocabulary.take(terms)
        self._widen(self._vocabulary.n_codes)
        return codes

    def _questions_of(self, rows: Subscriptions) -> NewQuestions:
        return self._as_questions(rows, self._codes(rows.terms))

    def _questions_in_passing(self, rows: Subscriptions, store: Store) -> tuple[NewQuestions, Contents]:
        codes = self._vocabulary.find(rows.terms)
        # What nobody says, no message shares.
        said = codes >= 0
        offsets = np.append(0, np.cumsum(said))[rows.offsets]
        shared = rows._replace(offsets=offsets, terms=rows.terms.filter(pa.array(said)), weights=rows.weights[said])
        return self._as_questions(shared, codes[said]), store.contents

    @property
    def _n_codes(self) -> int:
        return self._vocabulary.n_codes

    def _as_questions(self, rows: Subscriptions, codes: Int64s) -> NewQuestions:
        n = len(rows.k)
        return NewQuestions(
            kinds=np.full(n, PLACE_ON_EARTH if self._is_on_earth else PLACE, np.int8),
            points=rows.xy,
            weights=np.zeros((n, 0)),
            norms=np.zeros(n),
            alphas=rows.alpha,
            signatures=signatures(codes, rows.offsets),
            offsets=rows.offsets,
            terms=codes,
            term_weights=rows.weights,
            sphere=on_earth(rows.xy) if self._is_on_earth else None,
        )

    def _arrivals(self, rows: Publications) -> Arrivals:
        codes = self._codes(rows.terms)
        return Arrivals(
            ids=rows.ids,
            ts=rows.ts,
            points=rows.xy,
            norms=np.zeros(len(rows.ts)),
            signatures=signatures(codes, rows.offsets),
            offsets=rows.offsets,
            terms=codes,
            weights=rows.weights,
        )

    def _give_up(self, slots: Int64s) -> None:
        questions = self._question_store.questions
        codes = (
            questions.terms[places_of(questions.term_start[slots], questions.term_count[slots])]
            if len(slots)
            else slots
        )
        super()._give_up(slots)
        self._vocabulary.give(codes)

    def _forgotten(self, lo: int, hi: int) -> None:
        super()._forgotten(lo, hi)
        said = self._opened().contents
        self._vocabulary.give(said.terms[said.term_start[lo] : said.term_start[hi - 1] + said.term_count[hi - 1]])

    def _subscriptions_of(self, slots: Int64s) -> Subscriptions:
        questions = self._question_store.questions
        words = self._words(
            questions.term_start[slots], questions.term_count[slots], questions.terms, questions.term_weights
        )
        return Subscriptions(
            self._roster.ids.ids(slots),
            self._rows.ks(slots),
            np.ascontiguousarray(questions.centre[slots // BLOCK, :, slots % BLOCK]),
            questions.alpha[slots],
            *words,
            window=self._question_store.windows(slots),
            threshold=self._question_store.thresholds(slots, self._rows.signs(slots)),
        )

    def _publications_of(self, indices: Int64s) -> Publications:
        store = self._opened()
        said = store.contents
        words = self._words(said.term_start[indices], said.term_count[indices], said.terms, said.term_weights)
        return Publications(
            store.ids_of(indices), store.ts[indices], np.ascontiguousarray(said.point[:, indices].T), *words
        )

    def _words(self, start: Int64s, count: Int64s, codes: Int64s, weights: Floats) -> tuple[Int64s, pa.Array, Floats]:
        places = places_of(start, count)
        return offsets_of(count), self._vocabulary.words(codes[places]), weights[places]
