"""Keywords of new subscriptions as they are written down: rarest first, with the length of what is left from each."""

from typing import NamedTuple

import numpy as np

from skyband.geotext.kernels.posting import (
    ALPHA,
    GATE,
    LENGTH,
    OWN,
    OWNER,
    PLACE,
    START,
    TERM,
    WEIGHT,
    N,
    X,
    Y,
)
from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.score import Questions

EPSILON = 2.0**-52
# Lengths are rounded up by this much, so that what they bound is no more in numbers of 32 bits.
MARGIN = 1e-6


class KeywordColumns(NamedTuple):
    """Subscriptions and their keywords, as `PostedSubscriptions` has them."""

    holders: Floats
    keywords: Int32s
    weights: Floats
    texts: Float32s


@kernel
def greatest_term(slots: Int64s, questions: Questions) -> int:
    """The greatest term that these slots ask for, or -1."""
    greatest = -1
    for slot in slots:
        start = questions.term_start[slot]
        for t in range(start, start + questions.term_count[slot]):
            greatest = max(greatest, questions.terms[t])
    return greatest


@inlined
def _is_rarer(seen: Int64s, term: int, other: int) -> bool:
    """Whether a term comes before another: seen less often, or as often and later."""
    return seen[term] < seen[other] or (seen[term] == seen[other] and term > other)


@inlined
def _sort_in(questions: Questions, slot: int, first: int, seen: Int64s, into: KeywordColumns) -> int:
    """Write the terms of a slot to places from `first` on, rarest first, with their weights; returns how many.

    PLACE is where each stands in the subscription.
    """
    keywords, weights, start = into.keywords, into.weights, questions.term_start[slot]
    for i in range(questions.term_count[slot]):
        term, at = questions.terms[start + i], first + i
        while at > first and _is_rarer(seen, term, keywords[at - 1, TERM]):
            keywords[at, TERM], keywords[at, PLACE] = keywords[at - 1, TERM], keywords[at - 1, PLACE]
            weights[at, WEIGHT] = weights[at - 1, WEIGHT]
            at -= 1
        keywords[at, TERM], keywords[at, PLACE], weights[at, WEIGHT] = term, i, questions.term_weights[start + i]
    return questions.term_count[slot]


@kernel
def write_keywords(
    slots: Int64s, questions: Questions, gates: Floats, seen: Int64s, first: int, into: KeywordColumns
) -> int:
    """Write down slots, with their keywords at places from `first` on, which are there; returns where they end.

    `seen` counts how often each term was seen, those of all these slots included.
    """
    holders, keywords, weights, texts = into
    for slot in slots:
        start = questions.term_start[slot]
        for t in range(start, start + questions.term_count[slot]):
            seen[questions.terms[t]] += 1
    for i in range(len(slots)):
        slot, block, seat = slots[i], slots[i] // BLOCK, slots[i] % BLOCK
        n, alpha, square = _sort_in(questions, slot, first, seen, into), questions.alpha[slot], 0.0
        for at in range(first, first + n):
            keywords[first + keywords[at, PLACE], OWN] = at
        for at in range(first + n - 1, first - 1, -1):
            keywords[at, OWNER], keywords[at, PLACE] = slot, -1
            square += weights[at, WEIGHT] * weights[at, WEIGHT]
            weights[at, LENGTH] = np.sqrt(square * (1.0 + n * EPSILON)) + MARGIN
            texts[at] = weights[at, WEIGHT] * (1.0 - alpha)
        holders[slot, X], holders[slot, Y] = questions.centre[block, 0, seat], questions.centre[block, 1, seat]
        holders[slot, ALPHA], holders[slot, GATE] = alpha, gates[i]
        holders[slot, START], holders[slot, N] = first, n
        first += n
    return first
