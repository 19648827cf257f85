"""Scores as compiled: how each kind is computed, which way it is better, and the best that a box allows.

This is the one module whose code depends on the kind of a score; `skyband.topk.score` has the same scores in plain
Python, and all else that is to be known of them. Kernels elsewhere walk over blocks, cells and trees, and ask here.

A block is `BLOCK` slots of one kind; its numbers lie dimension by dimension, so the inner loops run over contiguous
slots. What comes out is the *directed* score, smaller is better: the distance (squared for EUCLIDEAN: the root is taken
of the few that matter), the negated sum, cosine or place-and-words score; +inf where a publication does not match.
The additions happen in the order of `skyband.topk.score`, so the results are equal to the last bit.

A *bound* is the directed score that no point of a box can fall below, or no centre of a box give a point. It is put
together as the score is: a term for each dimension, of the best place within the sides, joined in the order of
dimensions. Rounding is monotone, so each step of the bound is at most the same step of the score, to the last bit.
Cosines are bounded by unit vectors, with a margin for their rounding.

Inner loops run over slices by an index that starts at 0: the compiler cannot see that `block * BLOCK + i` is not
negative, checks each access for Python's indexing from the end, and does not vectorise.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.slots import BLOCK
from skyband.kernels.sphere import directed_between, directed_within, metres, square_within

EUCLIDEAN = 0
CHEBYSHEV = 1
SUM = 2
COSINE = 3
PLACE = 4
GEODESIC = 5
PLACE_ON_EARTH = 6

# For each kind, 1 where smaller scores are better and -1 where larger ones are; kernels ask `direction`.
WAYS = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0, -1.0])

# Cosines of unit vectors are at most 1, and a bound on one may be off by a few units in the last place.
MARGIN = 1e-12
# Below this length products of two lengths leave the normal numbers, and nothing is known of the rounding.
TINY = 1e-140


class Questions(NamedTuple):
    """What subscriptions ask. Arrays that a family has no use for are empty.

    `centre` and `weight` are (block, dimension, slot within block); `norm` and `alpha` are by slot, as are `signature`
    (a bit for each term, hashed), `term_start` and `term_count`, which point into `terms` and `term_weights`. `sphere`
    is (block, coordinate, slot within block): where a centre that is a place on Earth lies on the unit sphere.
    """

    kinds: Int8s
    centre: Floats
    weight: Floats
    norm: Floats
    alpha: Floats
    signature: Int64s
    term_start: Int64s
    term_count: Int64s
    terms: Int64s
    term_weights: Floats
    sphere: Floats = np.zeros((0, 3, BLOCK))


class Contents(NamedTuple):
    """What publications say, in order of arrival: `point` is (dimension, publication), the rest by publication.

    `sphere` is (coordinate, publication), with no publication in it unless a subscription asks for places on Earth.
    """

    point: Floats
    norm: Floats
    signature: Int64s
    term_start: Int64s
    term_count: Int64s
    terms: Int64s
    term_weights: Floats
    diagonal: float
    sphere: Floats = np.zeros((3, 0))


@inlined
def raw_score(kind: int, directed: float) -> float:
    """The score a user sees."""
    if kind == EUCLIDEAN:
        return np.sqrt(directed)
    if kind == GEODESIC:
        return metres(directed)
    return directed if kind == CHEBYSHEV else -directed


@inlined
def direction(kind: int) -> float:
    """1 where smaller scores are better, -1 where larger ones are."""
    return 1.0 if kind <= CHEBYSHEV or kind == GEODESIC else -1.0


@inlined
def has_cells(kind: int) -> bool:
    """Whether the sides of a cell say anything about the score of a point in it."""
    return kind <= SUM or kind == GEODESIC


@inlined
def on_sphere(kind: int) -> bool:
    """Whether points and centres are those of `sphere`."""
    return kind == GEODESIC


@inlined
def has_words(kind: int) -> bool:
    """Whether messages are scored, by place and words."""
    return kind in (PLACE, PLACE_ON_EARTH)


@inlined
def has_weights(kind: int) -> bool:
    """Whether a subscription has weights beside its centre."""
    return kind == CHEBYSHEV


@inlined
def has_lengths(kind: int) -> bool:
    """Whether the lengths of vectors matter."""
    return kind == COSINE


@inlined
def adds_products(kind: int) -> bool:
    """Whether a dimension adds the product of two numbers, so that one in which a subscription has 0 adds nothing."""
    return kind in (SUM, COSINE)


@inlined
def has_corner(kind: int) -> bool:
    """Whether the best score lies in a corner of space and not at a centre, so that boxes without sides bound nothing.

    Weights are then where the centre would be.
    """
    return kind == SUM


@inlined
def gate_of(kind: int, key: float) -> float:
    """A bound on directed scores that no candidate with this key, or a better one, exceeds."""
    if kind == EUCLIDEAN:
        return key * key * (1.0 + 1e-14) + 1e-300 if key >= 0.0 else -np.inf
    return directed_within(key) if kind == GEODESIC else key


@inlined
def reach_of(kind: int, gate: float) -> float:
    """What the bound of a box must not exceed, if a point in it may be within the gate.

    Boxes on the sphere have chords for bounds.
    """
    return square_within(gate) if kind == GEODESIC else gate


@inlined
def relevance_of(
    terms: Int64s,
    weights: Floats,
    start: int,
    end: int,
    said: Floats,
) -> float:
    """The sum over the shared terms, or -1 where there is none."""
    relevance = 0.0
    shares = False
    for at in range(start, end):
        weight = said[terms[at]]
        if weight > 0.0:
            shares = True
            relevance += weights[at] * weight
    return relevance if shares else -1.0


@inlined
def place_score(alpha: float, dx: float, dy: float, diagonal: float, relevance: float) -> float:
    """The directed score of a publication so far away, with this relevance."""
    nearness = 1.0 - np.sqrt(dx * dx + dy * dy) / diagonal
    return -(alpha * nearness + (1.0 - alpha) * relevance)


@inlined
def earth_score(alpha: float, directed: float, half_circumference: float, relevance: float) -> float:
    """The directed score of a publication so far away on Earth, with this relevance."""
    nearness = 1.0 - metres(directed) / half_circumference
    return -(alpha * nearness + (1.0 - alpha) * relevance)


@inlined
def message_score(questions: Questions, slot: int, contents: Contents, publication: int, relevance: float) -> float:
    """The directed score of a message with this relevance."""
    block, i, alpha = slot // BLOCK, slot % BLOCK, questions.alpha[slot]
    if questions.kinds[block] == PLACE_ON_EARTH:
        centre, sphere = questions.sphere, contents.sphere
        x, y, z = centre[block, 0, i], centre[block, 1, i], centre[block, 2, i]
        there = sphere[0, publication], sphere[1, publication], sphere[2, publication]
        return earth_score(alpha, directed_between(there[0], there[1], there[2], x, y, z), contents.diagonal, relevance)
    dx = contents.point[0, publication] - questions.centre[block, 0, i]
    dy = contents.point[1, publication] - questions.centre[block, 1, i]
    return place_score(alpha, dx, dy, contents.diagonal, relevance)


@inlined
def say(contents: Contents, publication: int, said: Floats) -> None:
    """Write a publication's weights at its terms."""
    terms, weights, start = contents.terms, contents.term_weights, contents.term_start[publication]
    for at in range(start, start + contents.term_count[publication]):
        said[terms[at]] = weights[at]


@inlined
def unsay(contents: Contents, publication: int, said: Floats) -> None:
    """Take them back."""
    terms, start = contents.terms, contents.term_start[publication]
    for at in range(start, start + contents.term_count[publication]):
        said[terms[at]] = 0.0


@inlined
def score_seats(
    kind: int, n: int, centre: Floats, weight: Floats, norm: Floats, point: Floats, length: float, directed: Floats
) -> None:
    """Directed scores of a point for n subscriptions that lie dimension by dimension; `length` is that of the point."""
    for i in range(n):
        directed[i] = 0.0
    for j in range(len(point)):
        x, c = point[j], centre[j]
        if kind == EUCLIDEAN:
            for i in range(n):
                difference = x - c[i]
                directed[i] += difference * difference
        elif kind == CHEBYSHEV:
            w = weight[j]
            for i in range(n):
                directed[i] = max(directed[i], w[i] * abs(x - c[i]))
        else:
            for i in range(n):
                directed[i] += c[i] * x
    if kind == SUM:
        for i in range(n):
            directed[i] = -directed[i]
    elif kind == COSINE:
        for i in range(n):
            lengths = norm[i] * length
            directed[i] = -(directed[i] / lengths) if lengths > 0.0 else -0.0


@inlined
def bound_boxes(
    kind: int, n: int, low: Floats, high: Floats, weight: Floats, point: Floats, length: float, bound: Floats
) -> None:
    """For each of n boxes of centres the least directed score that one of them can give a point.

    `weight` has the least weights of each box. For COSINE the boxes are of unit vectors, and `length` is the point's.
    """
    for i in range(n):
        bound[i] = 0.0
    for j in range(len(point)):
        x = point[j]
        below, above = low[j], high[j]
        if kind == EUCLIDEAN:
            for i in range(n):
                gap = max(max(below[i] - x, x - above[i]), 0.0)
                bound[i] += gap * gap
        elif kind == CHEBYSHEV:
            least = weight[j]
            for i in range(n):
                bound[i] = max(bound[i], least[i] * max(max(below[i] - x, x - above[i]), 0.0))
        else:
            for i in range(n):
                bound[i] += max(below[i] * x, above[i] * x)
    if kind == SUM:
        for i in range(n):
            bound[i] = -bound[i]
    elif kind == COSINE:
        for i in range(n):
            bound[i] = -(bound[i] / length) - MARGIN if length > TINY else -np.inf


@inlined
def term(kind: int, centre: float, weight: float, start: float, end: float) -> float:
    """The least that one dimension contributes to the directed score of a point between two edges.

    Only for a kind that has cells.
    """
    if kind == SUM:
        if centre == 0.0:
            return 0.0
        return -(centre * (end if centre > 0.0 else start))
    gap = max(0.0, max(start - centre, centre - end))
    return weight * gap if kind == CHEBYSHEV else gap * gap


@inlined
def joined(kind: int, bound: float, part: float) -> float:
    """A bound of some dimensions with the term of one more."""
    return max(bound, part) if kind == CHEBYSHEV else bound + part


@kernel
def _score_places(
    questions: Questions,
    block: int,
    contents: Contents,
    publication: int,
    said: Floats,
    directed: Floats,
) -> None:
    signature, slots = contents.signature[publication], slice(block * BLOCK, (block + 1) * BLOCK)
    signatures = questions.signature[slots]
    start, n_terms = questions.term_start[slots], questions.term_count[slots]
    terms, weights = questions.terms, questions.term_weights
    say(contents, publication, said)
    for i in range(BLOCK):
        directed[i] = np.inf
        if signatures[i] & signature != 0:
            relevance = relevance_of(terms, weights, start[i], start[i] + n_terms[i], said)
            if relevance >= 0.0:
                directed[i] = message_score(questions, block * BLOCK + i, contents, publication, relevance)
    unsay(contents, publication, said)


@inlined
def _sum_of_squares(centre: Floats, points: Floats, at: int) -> float:
    total = 0.0
    for j in range(len(centre)):
        difference = points[at, j] - centre[j]
        total += difference * difference
    return total


@inlined
def _largest_difference(centre: Floats, weight: Floats, points: Floats, at: int) -> float:
    largest = 0.0
    for j in range(len(centre)):
        largest = max(largest, weight[j] * abs(points[at, j] - centre[j]))
    return largest


@inlined
def _weighted_sum(centre: Floats, points: Floats, at: int) -> float:
    total = 0.0
    for j in range(len(centre)):
        total += centre[j] * points[at, j]
    return total


@inlined
def score_row(kind: int, centre: Floats, weight: Floats, points: Floats, at: int) -> float:
    """The directed score of a row of points for one subscription, of a kind that has cells.

    For GEODESIC it is the square of a chord, to be held against `reach_of` the gate and then `measured`: with a branch
    more in the loop over a cell, searches for other kinds took a tenth longer.

    One loop to a function: with calls to `score_pair` in its place, the 9 nearest of 40,000 points in 4 dimensions took
    9.6 µs to find instead of 5.0.
    """
    if kind in (EUCLIDEAN, GEODESIC):
        return _sum_of_squares(centre, points, at)
    if kind == CHEBYSHEV:
        return _largest_difference(centre, weight, points, at)
    return -_weighted_sum(centre, points, at)


@kernel
def _arc(centre: Floats, points: Floats, at: int) -> float:
    return directed_between(points[at, 0], points[at, 1], points[at, 2], centre[0], centre[1], centre[2])


@inlined
def measured(kind: int, directed: float, centre: Floats, points: Floats, at: int) -> float:
    """The directed score that `score_row` has found, along the surface of the sphere where that is one."""
    return _arc(centre, points, at) if kind == GEODESIC else directed


@inlined
def score_listed(
    kind: int, centre: Floats, weight: Floats, norm: Floats, slot: int, point: Floats, length: float
) -> float:
    """The directed score of one point for a slot whose numbers are a row of `centre` and of `weight`."""
    directed = 0.0
    if kind == EUCLIDEAN:
        for j in range(len(point)):
            difference = point[j] - centre[slot, j]
            directed += difference * difference
    elif kind == CHEBYSHEV:
        for j in range(len(point)):
            directed = max(directed, weight[slot, j] * abs(point[j] - centre[slot, j]))
    else:
        for j in range(len(point)):
            directed += centre[slot, j] * point[j]
        if kind == SUM:
            directed = -directed
        else:
            lengths = norm[slot] * length
            directed = -(directed / lengths) if lengths > 0.0 else -0.0
    return directed


@inlined
def score_pair(
    kind: int,
    centre: Floats,
    weight: Floats,
    norm: float,
    point: Floats,
    point_norm: float,
) -> float:
    """The directed score of one point for one subscription, both vectors given by dimension; not for PLACE.

    For GEODESIC they are points of the sphere.
    """
    directed = 0.0
    if kind == GEODESIC:
        return directed_between(point[0], point[1], point[2], centre[0], centre[1], centre[2])
    if kind == EUCLIDEAN:
        for j in range(len(point)):
            difference = point[j] - centre[j]
            directed += difference * difference
    elif kind == CHEBYSHEV:
        for j in range(len(point)):
            directed = max(directed, weight[j] * abs(point[j] - centre[j]))
    else:
        for j in range(len(point)):
            directed += centre[j] * point[j]
        if kind == SUM:
            directed = -directed
        else:
            lengths = norm * point_norm
            directed = -(directed / lengths) if lengths > 0.0 else -0.0
    return directed


@inlined
def _score_globe(centre: Floats, sphere: Floats, lo: int, hi: int, directed: Floats) -> None:
    """Directed distances of the publications lo to hi from the slots of a block, a row of `directed` each."""
    front, east, up = centre[0], centre[1], centre[2]
    for row in range(hi - lo):
        x, y, z, into = sphere[0, lo + row], sphere[1, lo + row], sphere[2, lo + row], directed[row]
        for i in range(BLOCK):
            into[i] = directed_between(x, y, z, front[i], east[i], up[i])


@inlined
def _globe_run(x: float, y: float, z: float, sphere: Floats, lo: int, hi: int, directed: Floats) -> None:
    """Directed distances of the publications lo to hi from one point of the sphere."""
    fronts, easts, ups = sphere[0, lo:hi], sphere[1, lo:hi], sphere[2, lo:hi]
    for p in range(hi - lo):
        directed[p] = directed_between(fronts[p], easts[p], ups[p], x, y, z)


@kernel
def score_tile(
    questions: Questions,
    block: int,
    contents: Contents,
    lo: int,
    hi: int,
    said: Floats,
    directed: Floats,
) -> None:
    """Directed scores of the publications lo to hi for the slots of a block, a row of `directed` each.

    `said` is scratch as long as the vocabulary, all zero before and after.
    """
    kind = questions.kinds[block]
    if has_words(kind):
        for row in range(hi - lo):
            _score_places(questions, block, contents, lo + row, said, directed[row])
        return
    if kind == GEODESIC:
        _score_globe(questions.sphere[block], contents.sphere, lo, hi, directed)
        return
    centre, weight = questions.centre[block], questions.weight[block]
    norm = questions.norm[block * BLOCK : (block + 1) * BLOCK]
    for row in range(hi - lo):
        point, length = contents.point[:, lo + row], contents.norm[lo + row]
        score_seats(kind, BLOCK, centre, weight, norm, point, length, directed[row])


@kernel
def score_run(
    questions: Questions,
    slot: int,
    contents: Contents,
    lo: int,
    hi: int,
    said: Floats,
    directed: Floats,
) -> None:
    """Directed scores of the publications lo to hi for one slot, written from index 0; `said` as in `score_tile`."""
    block, i = slot // BLOCK, slot % BLOCK
    kind = questions.kinds[block]
    if has_words(kind):
        _place_run(questions, slot, contents, lo, hi, said, directed)
        return
    if kind == GEODESIC:
        centres = questions.sphere
        x, y, z = centres[block, 0, i], centres[block, 1, i], centres[block, 2, i]
        _globe_run(x, y, z, contents.sphere, lo, hi, directed)
        return
    for p in range(hi - lo):
        directed[p] = 0.0
    for j in range(contents.point.shape[0]):
        c, point = questions.centre[block, j, i], contents.point[j, lo:hi]
        if c == 0.0 and adds_products(kind):
            # A product with zero changes no bit of a sum that began at 0.0, which is never -0.0.
            continue
        if kind == EUCLIDEAN:
            for p in range(hi - lo):
                difference = point[p] - c
                directed[p] += difference * difference
        elif kind == CHEBYSHEV:
            weight = questions.weight[block, j, i]
            for p in range(hi - lo):
                directed[p] = max(directed[p], weight * abs(point[p] - c))
        else:
            for p in range(hi - lo):
                directed[p] += c * point[p]
    if kind == SUM:
        for p in range(hi - lo):
            directed[p] = -directed[p]
    elif kind == COSINE:
        for p in range(hi - lo):
            lengths = questions.norm[slot] * contents.norm[lo + p]
            directed[p] = -(directed[p] / lengths) if lengths > 0.0 else -0.0


@kernel
def _place_run(
    questions: Questions,
    slot: int,
    contents: Contents,
    lo: int,
    hi: int,
    said: Floats,
    directed: Floats,
) -> None:
    start, end = questions.term_start[slot], questions.term_start[slot] + questions.term_count[slot]
    terms, weights, signature = questions.terms, questions.term_weights, questions.signature[slot]
    signatures = contents.signature[lo:hi]
    for p in range(hi - lo):
        directed[p] = np.inf
        if signature & signatures[p] != 0:
            # The additions must run in the subscription's own order, so it is the publication that is spread out.
            say(contents, lo + p, said)
            relevance = relevance_of(terms, weights, start, end, said)
            if relevance >= 0.0:
                directed[p] = message_score(questions, slot, contents, lo + p, relevance)
            unsay(contents, lo + p, said)
