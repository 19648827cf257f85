"""The words of geotext rows and their weights, given or computed by a words model."""

import math
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.ragged import offsets_of, owners_of
from skyband.table.argument import is_unicode
from skyband.table.plain import Doubtful, PlainRows, Row
from skyband.table.plain import words as plain_words
from skyband.table.scalar import null_mask, texts
from skyband.table.settings import WordModel
from skyband.table.sieve import Sieve, any_of
from skyband.table.vector import Lists, all_finite, no_nulls, vectors, words

UNIT_LENGTH = 1e-6


class Weighed(NamedTuple):
    """Words and weights of each row, flat with offsets."""

    offsets: Int64s
    terms: Any
    weights: Floats

    def keep(self, sieve: Sieve) -> "Weighed":
        """The words of the good rows."""
        if not sieve.bad.any():
            return self._replace(weights=np.require(self.weights, requirements=["C", "W"]))
        lengths = np.diff(self.offsets)
        good = ~np.repeat(sieve.bad, lengths)
        return Weighed(offsets_of(lengths[~sieve.bad]), self.terms.filter(pa.array(good)), self.weights[good])


def weighed(sieve: Sieve, model: WordModel | None, subscriptions: bool) -> Weighed:
    """The words and weights of every row, checked; rows without weights are weighed here."""
    terms, weights, text = words(sieve, "terms"), vectors(sieve, "weights"), texts(sieve, "text")
    _check_terms(sieve, terms)
    no_nulls(sieve, "weights", weights)
    all_finite(sieve, "weights", weights)
    without = weights.null & ~sieve.bad & ((terms.lengths > 0) | (terms.null & ~null_mask(text)))
    _check_counts(sieve, terms, weights, without)
    found = _weigh(sieve, model, terms, text, np.flatnonzero(without), subscriptions)
    result = _merge(sieve, terms, weights, found)
    if subscriptions:
        name = "terms" if sieve.has("terms") else "text"
        sieve.reject(np.diff(result.offsets) == 0, name, "a subscription must have at least one term")
    _check_weights(sieve, result)
    return result


def plainly_weighed(plain: PlainRows, model: WordModel | None, subscriptions: bool) -> Weighed:
    """The words and weights of few plain rows as `weighed` has them, or `Doubtful`."""
    found = [_plain_words(row, model, subscriptions) for row in plain.rows]
    terms, weights = [words for words, _ in found], [its_weights for _, its_weights in found]
    lengths = [len(words) for words in terms]
    if lengths != [len(its_weights) for its_weights in weights] or not all(map(_is_plain_unit, weights)):
        raise Doubtful
    if subscriptions and 0 in lengths:
        raise Doubtful
    offsets = np.array([0, *accumulate(lengths)], np.int64)
    flat = weights[0] if len(weights) == 1 else list(chain.from_iterable(weights))
    return Weighed(offsets, plain_words(terms), np.array(flat, np.float64))


def _plain_words(row: Row, model: WordModel | None, subscriptions: bool) -> tuple[list[str], list[float]]:
    """The words of a row and their weights; whether they are plain is for others to say."""
    terms, weights, text = row.get("terms"), row.get("weights"), row.get("text")
    if type(terms) is list and type(weights) is list and "text" not in row:
        return terms, weights
    if "weights" in row or ("text" in row and "terms" in row):
        raise Doubtful
    if type(terms) is list and set(map(type, terms)) == {str} and len(set(terms)) == len(terms):
        if model is not None:
            return model.weigh(terms)
        if subscriptions:
            return terms, [1.0 / math.sqrt(len(terms))] * len(terms)
    if type(text) is str and is_unicode(text) and model is not None:
        return model.weigh(model.tokens(text))
    raise Doubtful


def _is_plain_unit(weights: list[float]) -> bool:
    """Whether weights are surely positive and of length 1; a list of none is."""
    if not weights:
        return True
    if set(map(type, weights)) != {float} or not min(weights) > 0.0:
        return False
    # How sums are rounded decides at the very limit: what is close to it is left to the rules of tables.
    return abs(math.hypot(*weights) - 1.0) <= 0.9 * UNIT_LENGTH


def _check_terms(sieve: Sieve, terms: Lists) -> None:
    no_nulls(sieve, "terms", terms)
    if not len(terms.values):
        return
    codes = terms.values.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.lexsort((codes, terms.rows))
    rows, codes = terms.rows[order], codes[order]
    again = np.zeros(len(codes), np.bool_)
    again[1:] = (rows[1:] == rows[:-1]) & (codes[1:] == codes[:-1])
    sieve.reject(any_of(rows, again, sieve.n_rows), "terms", "terms must not hold the same term twice")


def _check_counts(sieve: Sieve, terms: Lists, weights: Lists, without: Bools) -> None:
    uneven = ~without & (terms.lengths != weights.lengths)
    sieve.reject(
        uneven,
        "weights",
        lambda row: f"weights must be as many as terms, not {weights.lengths[row]} for {terms.lengths[row]}",
    )


def _weigh(
    sieve: Sieve,
    model: WordModel | None,
    terms: Lists,
    text: Any,
    rows: Int64s,
    subscriptions: bool,
) -> dict[int, tuple[list[str], list[float]]]:
    """The words and weights of the rows that came without weights, by row."""
    found: dict[int, tuple[list[str], list[float]]] = {}
    unweighable = np.zeros(sieve.n_rows, np.bool_)
    for row in rows.tolist():
        given = _given(terms, row)
        if model is not None:
            found[row] = model.weigh(model.tokens(text[row].as_py()) if terms.null[row] else given)
        elif subscriptions and not terms.null[row]:
            found[row] = (given, [1.0 / math.sqrt(len(given))] * len(given))
        else:
            unweighable[row] = True
    if subscriptions:
        sieve.reject(unweighable, "text", "give terms, or a words model to find them in the text")
    else:
        sieve.reject(unweighable, "weights", "give terms with weights, or a words model to weigh them")
    return found


def _given(terms: Lists, row: int) -> list[str]:
    start, stop = terms.offsets[row : row + 2].tolist()
    given: list[str] = terms.values[start:stop].to_pylist()
    return given


def _merge(sieve: Sieve, terms: Lists, weights: Lists, found: dict[int, tuple[list[str], list[float]]]) -> Weighed:
    """Given and computed words together, in row order; bad rows have none."""
    given = ~(sieve.bad | weights.null)
    lengths = np.where(given, terms.lengths, 0)
    values = terms.values.filter(pa.array(given[terms.rows], pa.bool_()))
    merged = Weighed(offsets_of(lengths), values, weights.values[given[weights.rows]])
    return _insert(merged, found) if found else merged


def _insert(given: Weighed, found: dict[int, tuple[list[str], list[float]]]) -> Weighed:
    terms, weights = given.terms.to_pylist(), given.weights.tolist()
    all_terms: list[str] = []
    all_weights: list[float] = []
    lengths: list[int] = []
    for row, (start, stop) in enumerate(pairwise(given.offsets.tolist())):
        its_terms, its_weights = found.get(row) or (terms[start:stop], weights[start:stop])
        all_terms += its_terms
        all_weights += its_weights
        lengths.append(len(its_terms))
    offsets = offsets_of(np.array(lengths, np.int64))
    return Weighed(offsets, pa.array(all_terms, pa.string()), np.array(all_weights, np.float64))


def _check_weights(sieve: Sieve, result: Weighed) -> None:
    lengths = np.diff(result.offsets)
    rows = owners_of(lengths)
    weights = result.weights
    sieve.reject(any_of(rows, ~(weights > 0), sieve.n_rows), "weights", "weights must all be greater than 0")
    squares = np.bincount(rows, weights * weights, minlength=sieve.n_rows)
    off = (lengths > 0) & (np.abs(np.sqrt(squares) - 1.0) > UNIT_LENGTH)
    sieve.reject(off, "weights", lambda row: f"weights must have length 1, not {math.sqrt(squares[row]):.7g}")
