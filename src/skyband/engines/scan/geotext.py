"""Scan for the geotext family: messages scored by place and words."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import register
from skyband.engines.continuous.inquiry import Asked
from skyband.engines.continuous.roster import Int64s
from skyband.engines.continuous.store import Arrivals
from skyband.engines.scan.continuous import ContinuousScan
from skyband.kernels.idmap import IdMap
from skyband.kernels.score import PLACE
from skyband.kernels.slots import BLOCK, grown
from skyband.model.geotext import Publications, Subscriptions


def signatures(codes: Int64s, offsets: Int64s) -> Int64s:
    """For each list of term codes a word with a bit for each of them: lists with no common bit share no term."""
    bits = np.left_shift(np.int64(1), (codes * 2654435761 >> 7) % 63)
    words = np.zeros(len(offsets) - 1, np.int64)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        words[filled] = np.bitwise_or.reduceat(bits, offsets[filled])
    return words


@register
class GeotextScan(ContinuousScan[Subscriptions, Publications]):
    """Top-k by place and words in sliding windows, by brute force."""

    family = "geotext"
    name = "scan"
    good_for = "a few thousand subscriptions, and as the baseline"
    subscriptions = Subscriptions
    publications = Publications

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._vocabulary = IdMap()

    @property
    def _dims(self) -> int:
        return 2

    def memory(self) -> dict[str, int]:
        return super().memory() | {"vocabulary": self._vocabulary.n_bytes + self._scratch.said.nbytes}

    def _codes(self, terms: pa.Array) -> Int64s:
        """The code of each term; a new one is given the next."""
        codes = self._vocabulary.find(terms)
        new = np.flatnonzero(codes < 0)
        if len(new):
            fresh = pc.unique(terms.take(pa.array(new)))
            size = self._vocabulary.size
            self._vocabulary.add(fresh, np.arange(size, size + len(fresh), dtype=np.int64))
            self._scratch = self._scratch._replace(said=grown(self._scratch.said, self._vocabulary.size))
            codes[new] = self._vocabulary.find(terms.take(pa.array(new)))
        return codes

    def _asked(self, rows: Subscriptions) -> Asked:
        n, codes = len(rows.k), self._codes(rows.terms)
        return Asked(
            kinds=np.full(n, PLACE, np.int8),
            points=rows.xy,
            weights=np.zeros((n, 0)),
            norms=np.zeros(n),
            alphas=rows.alpha,
            signatures=signatures(codes, rows.offsets),
            offsets=rows.offsets,
            terms=codes,
            term_weights=rows.weights,
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

    def _subscriptions_of(self, slots: Int64s) -> Subscriptions:
        asked = self._inquiry.questions
        offsets, terms, weights = self._words(
            asked.term_start[slots], asked.term_count[slots], asked.terms, asked.term_weights
        )
        return Subscriptions(
            ids=self._roster.ids.ids(slots),
            k=self._rows.ks(slots),
            xy=np.ascontiguousarray(asked.centre[slots // BLOCK, :, slots % BLOCK]),
            alpha=asked.alpha[slots],
            offsets=offsets,
            terms=terms,
            weights=weights,
            window=self._inquiry.windows(slots),
            threshold=self._inquiry.thresholds(slots, self._rows.signs(slots)),
        )

    def _publications_of(self, indices: Int64s) -> Publications:
        store = self._opened()
        said = store.contents
        words = self._words(said.term_start[indices], said.term_count[indices], said.terms, said.term_weights)
        return Publications(
            store.ids.ids(indices), store.ts[indices], np.ascontiguousarray(said.point[:, indices].T), *words
        )

    def _words(
        self, start: Int64s, count: Int64s, codes: Int64s, weights: npt.NDArray[np.float64]
    ) -> tuple[Int64s, pa.Array, npt.NDArray[np.float64]]:
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        places = np.repeat(start - offsets[:-1], count) + np.arange(offsets[-1])
        return offsets, self._vocabulary.ids(codes[places]), weights[places]
