"""Bags of Zipfian words: how many different ones a message has, how often each, and what each weighs."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.ragged import offsets_of, owners_of
from skyband.workload.word import words
from skyband.workload.zipf import Zipf

ROUNDS = 64
"""After so many attempts a message keeps the keywords it has; only tiny vocabularies come near."""


class Keywords(NamedTuple):
    """The keywords of some rows, flat: row of each, rank of its word, how often it occurs; sorted by row."""

    n_rows: int
    rows: Int64s
    ranks: Int64s
    counts: Int64s


class ZipfWords:
    """Words with Zipfian frequencies, for messages with so many different ones on average."""

    def __init__(self, size: int, average: float, skew: float) -> None:
        self.size = size
        self.average = max(average, 1.0)
        self.zipf = Zipf(size, skew)

    def draw(self, random: np.random.Generator, n_rows: int) -> Keywords:
        """The keywords of this many messages: words are drawn until enough of them differ."""
        missing = np.minimum(1 + random.poisson(self.average - 1.0, n_rows), self.size)
        keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
        for _ in range(ROUNDS):
            rows = owners_of(missing)
            if not len(rows):
                break
            drawn = rows * self.size + self.zipf.draw(random, len(rows)).astype(np.int64)
            keys, counts, added = _merge(keys, counts, drawn)
            missing = missing - np.bincount(added // self.size, minlength=n_rows)
        return Keywords(n_rows, keys // self.size, keys % self.size, counts)

    def columns(self, keywords: Keywords) -> tuple[pa.Array, pa.Array]:
        """The words as lists, and their weights."""
        offsets = offsets_of(np.bincount(keywords.rows, minlength=keywords.n_rows)).astype(np.int32)
        weights = pa.array(self.weigh(keywords))
        return pa.ListArray.from_arrays(offsets, words(keywords.ranks)), pa.ListArray.from_arrays(offsets, weights)

    def weigh(self, keywords: Keywords) -> Floats:
        """tf-idf, each row of unit length."""
        weights = keywords.counts * self.idf(keywords.ranks)
        squares = np.bincount(keywords.rows, weights * weights, minlength=keywords.n_rows)
        return np.asarray(weights / np.sqrt(squares)[keywords.rows])

    def idf(self, ranks: Int64s) -> Floats:
        """ln(1 + N / df), N / df being one over the probability that a message has the word.

        Rounded, so that the last bit of a machine's logarithm cannot show in a table.
        """
        probabilities = self.zipf.probabilities(ranks.astype(np.float64))
        # A vocabulary of one word has it in every message.
        present = -np.expm1(self.average * np.log1p(-np.minimum(probabilities, 1.0 - 1e-12)))
        return np.asarray(np.round(np.log1p(1.0 / present), 9))


def pick(keywords: Keywords, random: np.random.Generator, most: int) -> Keywords:
    """One to `most` keywords of each row, or all where it has fewer, each then counted once."""
    wanted = random.integers(1, most + 1, keywords.n_rows)
    order = np.lexsort((random.random(len(keywords.rows)), keywords.rows))
    starts = np.searchsorted(keywords.rows, np.arange(keywords.n_rows))
    place = np.arange(len(order)) - starts[keywords.rows]
    kept = np.sort(order[place < wanted[keywords.rows]])
    return Keywords(keywords.n_rows, keywords.rows[kept], keywords.ranks[kept], np.ones(len(kept), np.int64))


def _merge(keys: Int64s, counts: Int64s, drawn: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Sorted keys and their counts with what was drawn counted in, and the keys that are new."""
    drawn, times = np.unique(drawn, return_counts=True)
    at = np.searchsorted(keys, drawn)
    known = np.zeros(len(drawn), dtype=np.bool_)
    known[at < len(keys)] = keys[at[at < len(keys)]] == drawn[at < len(keys)]
    counts[at[known]] += times[known]
    added = drawn[~known]
    return np.insert(keys, at[~known], added), np.insert(counts, at[~known], times[~known]), added
