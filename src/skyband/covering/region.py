"""Regions: what a subscription with a threshold is interested in, and whether one region contains another.

A point belongs to a region if its score *as computed* reaches the threshold. So containment is not asked of the ideal
shapes: the inner one is grown, and the outer one shrunk, by what rounding can do to a score. A score of d attributes
takes less than d + 8 roundings of 2^-53 each, relative to the sum of the terms' absolute values; `_slack` is more than
twice that, which leaves room for the roundings of the tests themselves. Scores are taken to be finite, and their
products not to underflow; squares of differences may (`TINY`). Rounding may lose a covering, never claim a false one.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Bools, Floats, Int8s, Int64s
from skyband.kernels.earth import EARTH_RADIUS
from skyband.kernels.sphere import unit_vectors
from skyband.topk.score import Score, scores

# A distance loses less than sqrt(d) * 2^-537 where squares underflow.
TINY = 2.0**-500
LEAST = 2.0**-1074
# So far to either side of a turning point a multiplier is tried where a box is open.
ASIDE = 2.0**-40
# Distances on Earth are off by less than a millionth of a metre, angles by less than this in proportion and degrees.
GROWN = 1e-9
METRES = 1e-6
NEAR_POLE = 1e-3


class Kind(IntEnum):
    """The shape of a region; a score's shape has the score's number."""

    BALL = Score.EUCLIDEAN
    BOX = Score.CHEBYSHEV
    HALF_SPACE = Score.SUM
    CONE = Score.COSINE
    RANGE = 4
    CAP = Score.GEODESIC


class Box(NamedTuple):
    """Closed boxes, one in a row; a side may be infinite, and an empty box is (inf, -inf) in every dimension."""

    lo: Floats
    hi: Floats


class Regions(NamedTuple):
    """Regions, one in a row.

    `points` and `weights` are those of window subscriptions, and the threshold is the gate of the subscription as its
    engine names it for a time: what lies outside of the region is in the top at no time up to then, and may be there
    later. A range, which has no threshold, holds `lo` and `hi` there.
    """

    kinds: Int8s
    points: Floats
    weights: Floats
    thresholds: Floats


def make_regions(
    kinds: npt.ArrayLike, points: npt.ArrayLike, weights: npt.ArrayLike, thresholds: npt.ArrayLike
) -> Regions:
    """Regions of window subscriptions, with gates for thresholds; `open_thresholds` has those of open gates."""
    places = np.atleast_2d(np.asarray(points, np.float64))
    shape = places.shape
    limits = np.broadcast_to(np.asarray(thresholds, np.float64), shape[:1])
    if np.isnan(limits).any():
        raise ValueError("A threshold must be a number; one that is not there yet is open.")
    if np.any(np.asarray(kinds) == Kind.CAP) and shape[1] != 2:
        raise ValueError("A cap has a longitude and a latitude.")
    factors = np.broadcast_to(np.asarray(weights, np.float64), shape)
    return Regions(np.broadcast_to(np.asarray(kinds, np.int8), shape[:1]), places, factors, limits)


def range_regions(lo: npt.ArrayLike, hi: npt.ArrayLike) -> Regions:
    """The regions of Boolean subscriptions to ranges."""
    return make_regions(Kind.RANGE, lo, hi, 0.0)


def open_thresholds(kinds: Int8s) -> Floats:
    """The thresholds that everything reaches."""
    return np.where(_larger_is_better(kinds), -np.inf, np.inf)


def take(regions: Regions, rows: Int64s | slice) -> Regions:
    """Some of the regions."""
    return Regions(regions.kinds[rows], regions.points[rows], regions.weights[rows], regions.thresholds[rows])


def whole_space(dims: int) -> Box:
    """The domain of publications that may lie anywhere."""
    return Box(np.full(dims, -np.inf), np.full(dims, np.inf))


@np.errstate(all="ignore")
def contains(outer: Regions, i: Int64s, inner: Regions, j: Int64s, domain: Box | None = None) -> Bools:
    """For each pair, whether every point of the domain that is in region j of `inner` is in region i of `outer`.

    True only where that is certain. It implies that the bounding boxes are nested.
    """
    a, b = take(outer, i), take(inner, j)
    around, box = bounding_boxes(a, domain), bounding_boxes(b, domain)
    found = is_empty(box)
    enclosed = nested(around, box)
    found |= enclosed & (_everything(a) | _ordered(a, b))
    for kind, inside, test in TESTS:
        pairs = enclosed & ~found & (a.kinds == kind) & (True if inside is None else b.kinds == inside)
        at = np.flatnonzero(pairs)
        if len(at):
            found[at] = test(take(a, at), take(b, at), Box(box.lo[at], box.hi[at]))
    return found


@np.errstate(all="ignore")
def bounding_boxes(regions: Regions, domain: Box | None = None) -> Box:
    """Boxes around the regions' parts inside of the domain, rounded outward."""
    around = whole_space(regions.points.shape[1]) if domain is None else domain
    box = Box(*(np.broadcast_to(side, regions.points.shape).copy() for side in around))
    for kind, bound in BOUNDS:
        at = np.flatnonzero(regions.kinds == kind)
        if len(at):
            lo, hi = bound(take(regions, at), Box(box.lo[at], box.hi[at]))
            # A side that is not a number, after an overflow, does not bound.
            box.lo[at], box.hi[at] = np.fmax(box.lo[at], lo), np.fmin(box.hi[at], hi)
    empty = _nothing(regions) | is_empty(box)
    box.lo[empty], box.hi[empty] = np.inf, -np.inf
    return box


def nested(outer: Box, inner: Box) -> Bools:
    """Which boxes enclose which; either side may be a single box."""
    return _all((outer.lo <= inner.lo) & (inner.hi <= outer.hi))


def is_empty(box: Box) -> Bools:
    """Which boxes are empty."""
    return ~_all(box.lo <= box.hi)


def _all(held: Bools) -> Bools:
    whole: Bools = np.logical_and.reduce(held, axis=1)
    return whole


def _slack(array: Floats) -> float:
    return float(array.shape[-1] + 16) * 2.0**-52


def _larger_is_better(kinds: Int8s) -> Bools:
    return np.isin(kinds, scores(lambda form: not form.ascending))


def _times(a: Floats, b: Floats) -> Floats:
    """The product, where nothing is nothing however often."""
    return np.where((a == 0.0) | (b == 0.0), 0.0, a * b)


def _total(terms: Floats) -> Floats:
    # Added up in order: a row has the same total whatever rows are beside it, and so the same bounding box.
    return np.cumsum(terms, axis=1)[:, -1]


def _others(terms: Floats) -> Floats:
    """For each term the total of the other ones, without taking it out of the total of all, which would cancel."""
    before, after = np.zeros_like(terms), np.zeros_like(terms)
    np.cumsum(terms[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumsum(terms[:, :0:-1], axis=1)[:, ::-1]
    return before + after


def _length(vectors: Floats) -> Floats:
    return np.sqrt(_total(vectors * vectors))


def _everything(regions: Regions) -> Bools:
    """Which regions every point is in for certain: the open ones, and cones that demand too little."""
    # A computed cosine is at least -1 - slack, and that with a vector without length is 0.
    t = regions.thresholds
    cone = np.where(regions.points.any(axis=1), t < -1.0 - _slack(regions.points), t <= 0.0)
    is_open = t == open_thresholds(regions.kinds)
    # What is no place on Earth is in no cap.
    return np.where(regions.kinds == Kind.CONE, cone, is_open & ~np.isin(regions.kinds, (Kind.RANGE, Kind.CAP)))


def _nothing(regions: Regions) -> Bools:
    """Which regions no point is in for certain."""
    t = regions.thresholds
    cone = np.where(regions.points.any(axis=1), t > 1.0 + _slack(regions.points), t > 0.0)
    never = np.where(regions.kinds == Kind.HALF_SPACE, t == np.inf, t < 0.0)
    return np.where(regions.kinds == Kind.CONE, cone, never & (regions.kinds != Kind.RANGE))


def _ordered(a: Regions, b: Regions) -> Bools:
    """Whether a is b with a lower demand: one score for both, so that rounding does not matter.

    Weights of a sum or a cosine may also differ by a power of two, by which every step of the score then differs.
    """
    step = np.frexp(np.abs(a.points).max(axis=1))[1] - np.frexp(np.abs(b.points).max(axis=1))[1]
    larger = _larger_is_better(a.kinds)
    up, down = np.where(larger, step, 0), np.where(larger, -step, 0)
    # Both ways, as one of them is exact: the other may overflow or underflow.
    points = (a.points == np.ldexp(b.points, up[:, None])) & (b.points == np.ldexp(a.points, down[:, None]))
    same = (a.kinds == b.kinds) & _all(points & (a.weights == b.weights))
    summed = a.kinds == Kind.HALF_SPACE
    scaled = np.ldexp(b.thresholds, np.where(summed, up, 0)), np.ldexp(a.thresholds, np.where(summed, down, 0))
    lower = (a.thresholds <= scaled[0]) & (scaled[1] <= b.thresholds)
    demand = np.where(larger, lower, a.thresholds >= b.thresholds)
    ordered: Bools = same & demand
    return ordered


def _ball_bounds(balls: Regions, _: Box) -> Box:
    reach = _reach(balls)[:, None]
    return Box(np.nextafter(balls.points - reach, -np.inf), np.nextafter(balls.points + reach, np.inf))


def _reach(balls: Regions) -> Floats:
    """No point that the score puts into a ball is farther away from its centre."""
    reach: Floats = (balls.thresholds + TINY) * (1.0 + _slack(balls.points))
    return reach


def _box_bounds(boxes: Regions, _: Box) -> Box:
    # Attributes of no weight divide by zero: their sides are open.
    reach = (boxes.thresholds[:, None] + LEAST) / boxes.weights * (1.0 + _slack(boxes.points))
    return Box(np.nextafter(boxes.points - reach, -np.inf), np.nextafter(boxes.points + reach, np.inf))


def _range_bounds(ranges: Regions, _: Box) -> Box:
    return Box(ranges.points, ranges.weights)


def _cap_bounds(caps: Regions, _: Box) -> Box:
    """Longitudes and latitudes around a cap: all longitudes where it holds a pole or a part of the date line."""
    lon, lat = caps.points.T
    angle = np.degrees(np.minimum(caps.thresholds / EARTH_RADIUS, np.pi)) * (1.0 + GROWN) + GROWN
    ratio = np.sin(np.radians(np.minimum(angle, 90.0))) / np.cos(np.radians(lat))
    width = np.degrees(np.arcsin(np.clip(ratio, 0.0, 1.0))) + GROWN
    # Close to a pole the width hardly depends on what it is computed from.
    around = (np.abs(lat) + angle >= 90.0 - NEAR_POLE) | (lon - width <= -180.0) | (lon + width >= 180.0)
    west, east = np.where(around, -180.0, lon - width), np.where(around, 180.0, lon + width)
    south, north = np.maximum(lat - angle, -90.0), np.minimum(lat + angle, 90.0)
    return Box(np.column_stack([west, south]), np.column_stack([east, north]))


def _half_space_bounds(halves: Regions, domain: Box) -> Box:
    """Each attribute has to add what the others, at their best, leave missing.

    A term p counts for at most p + slack |p| in a computed sum, which grows with p: the best is at a side.
    """
    w, t, slack = halves.points, halves.thresholds, _slack(halves.points)
    best = np.maximum(_times(w, domain.lo), _times(w, domain.hi))
    missing = t[:, None] - (_others(best) + 2.0 * slack * _others(np.abs(best)))
    edge = missing * np.where(missing > 0.0, 1.0 - 2.0 * slack, 1.0 + 2.0 * slack) / w
    lo = np.where(w > 0.0, np.nextafter(edge, -np.inf), -np.inf)
    hi = np.where(w < 0.0, np.nextafter(edge, np.inf), np.inf)
    beyond = _total(best) + 2.0 * slack * _total(np.abs(best)) < t
    lo[beyond], hi[beyond] = np.inf, -np.inf
    return Box(lo, hi)


def _farthest(box: Box, points: Floats) -> Floats:
    return np.maximum(np.abs(box.lo - points), np.abs(box.hi - points))


def _box_in_ball(a: Regions, _: Regions, box: Box) -> Bools:
    far = _length(_farthest(box, a.points)) + TINY
    return far * (1.0 + 4.0 * _slack(a.points)) <= a.thresholds


def _box_in_box(a: Regions, _: Regions, box: Box) -> Bools:
    # Exact: the computed score of an attribute never falls as the difference grows.
    return _all(_times(a.weights, _farthest(box, a.points)) <= a.thresholds[:, None])


def _box_in_half_space(a: Regions, _: Regions, box: Box) -> Bools:
    # A term p counts for at least p - slack |p|, which grows with p: the worst corner has the least of each.
    least = np.minimum(_times(a.points, box.lo), _times(a.points, box.hi))
    return _total(least) - 4.0 * _slack(least) * _total(np.abs(least)) >= a.thresholds


def _box_in_range(a: Regions, _: Regions, __: Box) -> Bools:
    # The range is its own bounding box, in which the inner one is known to be.
    return np.ones(len(a.kinds), np.bool_)


def _ball_in_ball(a: Regions, b: Regions, _: Box) -> Bools:
    apart = _length(a.points - b.points)
    return (apart + b.thresholds + TINY) * (1.0 + 4.0 * _slack(a.points)) <= a.thresholds


def _cap_in_cap(a: Regions, b: Regions, _: Box) -> Bools:
    here, there = unit_vectors(a.points), unit_vectors(b.points)
    chord, opposite = (np.minimum(np.sqrt((side * side).sum(axis=0)), 2.0) for side in (here - there, here + there))
    near, far = 2.0 * np.arcsin(chord / 2.0), np.pi - 2.0 * np.arcsin(opposite / 2.0)
    apart = EARTH_RADIUS * np.where(chord <= opposite, near, far)
    held: Bools = (apart + b.thresholds) * (1.0 + GROWN) + METRES <= a.thresholds
    return held


def _ball_in_half_space(a: Regions, b: Regions, box: Box) -> Bools:
    """The least of w·x in a ball is w·c - |w| r; the score errs by a part of the terms of x, which is in the box."""
    centre = a.points * b.points
    drop = _length(a.points) * _reach(b)
    terms = _total(np.abs(centre)) + drop + _total(_times(np.abs(a.points), _farthest(box, np.zeros(1))))
    return _total(centre) - drop - 4.0 * _slack(centre) * terms >= a.thresholds


def _half_space_in_half_space(a: Regions, b: Regions, box: Box) -> Bools:
    """The least of w1·x in the box where w2·x >= t2 is not below λ t2 + least of (w1 - λ w2)·x, for any λ >= 0.

    The bound is concave in λ and turns where an attribute's coefficient changes sign: one of the turning points attains
    the minimum, as filling the attributes in order of their ratios would. An open side leaves a bound only if the
    coefficient's sign is certain, for which λ is also tried a little aside.
    """
    ratios = np.where(b.points != 0.0, a.points / b.points, 0.0)
    asides = (1.0,) if np.isfinite(box.lo).all() and np.isfinite(box.hi).all() else (1.0, 1.0 - ASIDE, 1.0 + ASIDE)
    best = _dual(a, b, box, np.zeros(len(ratios)))
    for ratio in ratios.T:
        for aside in asides:
            best = np.fmax(best, _dual(a, b, box, np.maximum(ratio, 0.0) * aside))
    return best >= a.thresholds


def _dual(a: Regions, b: Regions, box: Box, multiplier: Floats) -> Floats:
    # Computed sums move each term by a part of itself: as if its coefficient were anywhere within `doubt`.
    times, slack = multiplier[:, None], 2.0 * _slack(a.points)
    coefficient = a.points - times * b.points
    doubt = slack * (np.abs(a.points) + times * np.abs(b.points))
    corners = [_times(c, x) for c in (coefficient - doubt, coefficient + doubt) for x in box]
    least = np.minimum.reduce(corners)
    base = _times(multiplier, b.thresholds)
    return base + _total(least) - slack * (np.abs(base) + _total(np.abs(least)))


Bound = Callable[[Regions, Box], Box]
Test = Callable[[Regions, Regions, Box], Bools]

BOUNDS: list[tuple[Kind, Bound]] = [
    (Kind.BALL, _ball_bounds),
    (Kind.BOX, _box_bounds),
    (Kind.HALF_SPACE, _half_space_bounds),
    (Kind.RANGE, _range_bounds),
    (Kind.CAP, _cap_bounds),
]

# The outer kind, the inner kind (None: any, by its bounding box), and the test; the cheap ones come first.
TESTS: list[tuple[Kind, Kind | None, Test]] = [
    (Kind.RANGE, None, _box_in_range),
    (Kind.BOX, None, _box_in_box),
    (Kind.BALL, None, _box_in_ball),
    (Kind.HALF_SPACE, None, _box_in_half_space),
    (Kind.BALL, Kind.BALL, _ball_in_ball),
    (Kind.CAP, Kind.CAP, _cap_in_cap),
    (Kind.HALF_SPACE, Kind.BALL, _ball_in_half_space),
    (Kind.HALF_SPACE, Kind.HALF_SPACE, _half_space_in_half_space),
]
