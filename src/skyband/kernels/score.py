"""Scores of a block of subscriptions against one publication, and of one subscription against a run of publications.

A block is `BLOCK` slots of one kind; its numbers lie dimension by dimension, so the inner loops run over contiguous
slots. What comes out is the *directed* score, smaller is better: the distance (squared for EUCLIDEAN: the root is taken
of the few that matter), the negated sum, cosine or place-and-words score; +inf where a publication does not match.
The additions happen in the order of `skyband.scoring`, so the results are equal to the last bit.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.compile import kernel
from skyband.kernels.slots import BLOCK

EUCLIDEAN = 0
CHEBYSHEV = 1
SUM = 2
COSINE = 3
PLACE = 4


class Questions(NamedTuple):
    """What subscriptions ask. Arrays that a family has no use for are empty.

    `centre` and `weight` are (block, dimension, slot within block); `norm` and `alpha` are by slot, as are `signature`
    (a bit for each term, hashed), `term_start` and `term_count`, which point into `terms` and `term_weights`.
    """

    kinds: npt.NDArray[np.int8]
    centre: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    norm: npt.NDArray[np.float64]
    alpha: npt.NDArray[np.float64]
    signature: npt.NDArray[np.int64]
    term_start: npt.NDArray[np.int64]
    term_count: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int64]
    term_weights: npt.NDArray[np.float64]


class Contents(NamedTuple):
    """What publications say, in order of arrival: `point` is (dimension, publication), the rest by publication."""

    point: npt.NDArray[np.float64]
    norm: npt.NDArray[np.float64]
    signature: npt.NDArray[np.int64]
    term_start: npt.NDArray[np.int64]
    term_count: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int64]
    term_weights: npt.NDArray[np.float64]
    diagonal: float


@kernel
def raw_score(kind: int, directed: float) -> float:
    """The score a user sees."""
    if kind == EUCLIDEAN:
        return np.sqrt(directed)
    return directed if kind == CHEBYSHEV else -directed


@kernel
def direction(kind: int) -> float:
    """1 where smaller scores are better, -1 where larger ones are."""
    return 1.0 if kind <= CHEBYSHEV else -1.0


@kernel
def gate_of(kind: int, key: float) -> float:
    """A bound on directed scores that no candidate with this key, or a better one, exceeds."""
    if kind == EUCLIDEAN:
        return key * key * (1.0 + 1e-14) + 1e-300 if key >= 0.0 else -np.inf
    return key


@kernel
def _place_score(
    questions: Questions, slot: int, dx: float, dy: float, contents: Contents, said: npt.NDArray[np.float64]
) -> float:
    relevance = 0.0
    shares = False
    start = questions.term_start[slot]
    for at in range(start, start + questions.term_count[slot]):
        weight = said[questions.terms[at]]
        if weight > 0.0:
            shares = True
            relevance += questions.term_weights[at] * weight
    if not shares:
        return np.inf
    nearness = 1.0 - np.sqrt(dx * dx + dy * dy) / contents.diagonal
    alpha = questions.alpha[slot]
    return -(alpha * nearness + (1.0 - alpha) * relevance)


@kernel
def score_block(
    questions: Questions,
    block: int,
    contents: Contents,
    publication: int,
    said: npt.NDArray[np.float64],
    directed: npt.NDArray[np.float64],
) -> None:
    """Directed scores of one publication for the slots of a block.

    `said` holds the publication's weight at each of its terms and 0 elsewhere (see `say`).
    """
    kind = questions.kinds[block]
    centre = questions.centre[block]
    if kind == PLACE:
        x, y = contents.point[0, publication], contents.point[1, publication]
        signature = contents.signature[publication]
        for i in range(BLOCK):
            slot = block * BLOCK + i
            if questions.signature[slot] & signature == 0:
                directed[i] = np.inf
            else:
                directed[i] = _place_score(questions, slot, x - centre[0, i], y - centre[1, i], contents, said)
        return
    for i in range(BLOCK):
        directed[i] = 0.0
    for j in range(centre.shape[0]):
        x = contents.point[j, publication]
        if kind == EUCLIDEAN:
            for i in range(BLOCK):
                difference = x - centre[j, i]
                directed[i] += difference * difference
        elif kind == CHEBYSHEV:
            weight = questions.weight[block, j]
            for i in range(BLOCK):
                directed[i] = max(directed[i], weight[i] * abs(x - centre[j, i]))
        else:
            for i in range(BLOCK):
                directed[i] += centre[j, i] * x
    if kind == SUM:
        for i in range(BLOCK):
            directed[i] = -directed[i]
    elif kind == COSINE:
        norm = contents.norm[publication]
        for i in range(BLOCK):
            lengths = questions.norm[block * BLOCK + i] * norm
            directed[i] = -(directed[i] / lengths) if lengths > 0.0 else -0.0


@kernel
def say(contents: Contents, publication: int, said: npt.NDArray[np.float64]) -> None:
    """Write a publication's weights at its terms."""
    start = contents.term_start[publication]
    for at in range(start, start + contents.term_count[publication]):
        said[contents.terms[at]] = contents.term_weights[at]


@kernel
def unsay(contents: Contents, publication: int, said: npt.NDArray[np.float64]) -> None:
    """Take them back."""
    start = contents.term_start[publication]
    for at in range(start, start + contents.term_count[publication]):
        said[contents.terms[at]] = 0.0


@kernel
def score_run(
    questions: Questions,
    slot: int,
    contents: Contents,
    lo: int,
    hi: int,
    asked: npt.NDArray[np.float64],
    directed: npt.NDArray[np.float64],
) -> None:
    """Directed scores of the publications lo to hi for one slot, written from index 0.

    `asked` is scratch as long as the vocabulary, all zero before and after.
    """
    block, i = slot // BLOCK, slot % BLOCK
    kind = questions.kinds[block]
    n = hi - lo
    if kind == PLACE:
        _place_run(questions, slot, contents, lo, hi, asked, directed)
        return
    for p in range(n):
        directed[p] = 0.0
    for j in range(contents.point.shape[0]):
        c = questions.centre[block, j, i]
        point = contents.point[j, lo:hi]
        if kind == EUCLIDEAN:
            for p in range(n):
                difference = point[p] - c
                directed[p] += difference * difference
        elif kind == CHEBYSHEV:
            weight = questions.weight[block, j, i]
            for p in range(n):
                directed[p] = max(directed[p], weight * abs(point[p] - c))
        else:
            for p in range(n):
                directed[p] += c * point[p]
    if kind == SUM:
        for p in range(n):
            directed[p] = -directed[p]
    elif kind == COSINE:
        for p in range(n):
            lengths = questions.norm[slot] * contents.norm[lo + p]
            directed[p] = -(directed[p] / lengths) if lengths > 0.0 else -0.0


@kernel
def _place_run(
    questions: Questions,
    slot: int,
    contents: Contents,
    lo: int,
    hi: int,
    said: npt.NDArray[np.float64],
    directed: npt.NDArray[np.float64],
) -> None:
    centre = questions.centre[slot // BLOCK]
    x, y = centre[0, slot % BLOCK], centre[1, slot % BLOCK]
    for p in range(lo, hi):
        if questions.signature[slot] & contents.signature[p] == 0:
            directed[p - lo] = np.inf
            continue
        # The additions must run in the subscription's own order, so it is the publication that is spread out.
        say(contents, p, said)
        dx, dy = contents.point[0, p] - x, contents.point[1, p] - y
        directed[p - lo] = _place_score(questions, slot, dx, dy, contents, said)
        unsay(contents, p, said)
