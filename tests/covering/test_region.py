"""Regions: what is claimed to be contained is, for points at the very border too; and little is lost."""

from itertools import pairwise, product

import numpy as np
import pytest

from skyband.covering.region import (
    Box,
    Kind,
    Regions,
    bounding_boxes,
    contains,
    is_empty,
    make_regions,
    open_thresholds,
    range_regions,
    take,
    whole_space,
)
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.topk.score import Score, chebyshev, cosine, euclidean, weighted_sum

SCORED = [Kind.BALL, Kind.BOX, Kind.HALF_SPACE, Kind.CONE]
# Caps are of places alone, see tests/window/test_geodesic.py.
FLAT = [kind for kind in Kind if kind != Kind.CAP]
STYLES = ["spread", "few", "huge", "tiny", "far"]
DOMAINS = ["whole", "box", "half-open", "flat"]
LARGEST = float(np.finfo(np.float64).max)


def summed(terms: Floats) -> Floats:
    total = np.zeros(len(terms))
    for column in terms.T:
        total = total + column
    return total


def scores(kind: int, point: Floats, weights: Floats, points: Floats) -> Floats:
    """The scores of `skyband.topk.score` for many points."""
    if kind == Kind.BALL:
        return np.asarray(np.sqrt(summed((points - point) ** 2)))
    if kind == Kind.BOX:
        return np.asarray(np.max(weights * np.abs(points - point), axis=1))
    if kind == Kind.HALF_SPACE:
        return summed(points * point)
    lengths = np.sqrt(summed(point[None] ** 2)) * np.sqrt(summed(points**2))
    return np.asarray(np.divide(summed(points * point), lengths, out=np.zeros(len(points)), where=lengths > 0))


def held(regions: Regions, row: int, points: Floats) -> Bools:
    """Which points are in a region."""
    kind, point, weights, limit = (array[row] for array in regions)
    if kind == Kind.RANGE:
        return np.asarray(((point <= points) & (points <= weights)).all(axis=1))
    found = scores(kind, point, weights, points)
    return np.asarray(found >= limit if kind in (Kind.HALF_SPACE, Kind.CONE) else found <= limit)


def draw_numbers(style: str, random: np.random.Generator, n: int, dims: int) -> Floats:
    if style == "few":
        return random.integers(-3, 4, (n, dims)).astype(np.float64)
    spread = random.normal(size=(n, dims))
    return {"spread": spread, "huge": spread * 1e150, "tiny": spread * 1e-160, "far": 1e8 + spread}[style]


def draw_domain(name: str, style: str, dims: int) -> Box | None:
    unit = {"spread": 1.0, "few": 2.0, "huge": 1e150, "tiny": 1e-160, "far": 2.0}[style]
    middle = np.full(dims, 1e8 if style == "far" else 0.0)
    if name == "whole":
        return None
    if name == "half-open":
        return Box(middle - unit, np.full(dims, np.inf))
    low, high = middle - unit, middle + unit
    if name == "flat":
        high[0] = low[0]
    return Box(low, high)


def draw(kind: Kind, style: str, random: np.random.Generator, n: int, dims: int) -> Regions:
    """Regions whose borders pass near to where the others are."""
    points = draw_numbers(style, random, n, dims)
    near = draw_numbers(style, random, n, dims)
    if kind == Kind.RANGE:
        return range_regions(np.minimum(points, near), np.maximum(points, near))
    weights = np.ones((n, dims))
    if kind == Kind.BOX:
        weights = random.choice([0.0, 0.5, 1.0, 3.0], (n, dims), p=[0.1, 0.3, 0.3, 0.3])
    if kind in (Kind.HALF_SPACE, Kind.CONE):
        points = draw_numbers("few" if style == "few" else "spread", random, n, dims)
    limits = np.array([scores(kind, points[i], weights[i], near[i : i + 1])[0] for i in range(n)])
    return make_regions(kind, points, weights, limits)


def units(vectors: Floats) -> Floats:
    """The vectors at length 1, without squares that overflow; those without length stay."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    near = vectors / np.where(largest > 0.0, largest, 1.0)
    lengths = np.sqrt((near**2).sum(axis=1, keepdims=True))
    return np.asarray(near / np.where(lengths > 0.0, lengths, 1.0))


def pool(
    regions: Regions, row: int, domain: Box | None, random: np.random.Generator, aim: Floats | None = None
) -> Floats:
    """Points of the domain in, around and at the border of a region, also where it reaches farthest along a vector."""
    dims = regions.points.shape[1]
    around = bounding_boxes(take(regions, np.array([row])), domain)
    if is_empty(around)[0]:
        around = Box(*(side[None] for side in domain or whole_space(dims)))
    point, limit = regions.points[row], regions.thresholds[row]
    reach = 1.0 + np.abs(point).max()
    lo, hi = np.maximum(around.lo[0], -2 * reach), np.minimum(around.hi[0], 2 * reach)
    parts = random.random((40, dims))
    inside = lo + (hi - lo) * parts
    corners = np.array(list(product(*zip(lo, hi, strict=True))))
    some = [inside, corners, np.where(parts < 0.3, lo, np.where(parts > 0.7, hi, inside))]
    if regions.kinds[row] == Kind.BALL:
        vectors = [random.normal(size=(30, dims)), np.eye(dims), -np.eye(dims), corners - point]
        vectors += [] if aim is None else [aim[None], -aim[None], aim[None] - point, point - aim[None]]
        some.append(point + units(np.concatenate(vectors)) * min(limit, LARGEST / 4))
    if regions.kinds[row] == Kind.HALF_SPACE and point.any() and np.isfinite(limit):
        some += [at - ((at @ point - limit) / (point @ point))[:, None] * point for at in (inside, corners)]
        for j in np.flatnonzero(point):
            moved = corners.copy()
            moved[:, j] += (limit - corners @ point) / point[j]
            some.append(moved)
    points = np.concatenate(some)
    points = np.concatenate([points, np.nextafter(points, -np.inf), np.nextafter(points, np.inf)])
    return points if domain is None else np.clip(points, domain.lo, domain.hi)


def ordinals(values: Floats) -> Int64s:
    """Whole numbers in the order of floats, one for each."""
    bits = values.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def values(ordinals: Int64s) -> Floats:
    return np.where(ordinals < 0, np.int64(-(2**63)) - ordinals, ordinals).view(np.float64)


def least_covering(outer: Regions, inner: Regions, domain: Box | None) -> Floats:
    """For each pair of rows the most demanding threshold of the outer one that is still said to cover; inf for none."""
    n = len(outer.kinds)
    rows = np.arange(n)
    larger = outer.kinds[0] in (Kind.HALF_SPACE, Kind.CONE)
    sign = -1.0 if larger else 1.0
    low = ordinals(np.full(n, -LARGEST if larger else 0.0))
    high = ordinals(np.full(n, LARGEST))
    for _ in range(64):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        covered = contains(outer._replace(thresholds=sign * values(middle)), rows, inner, rows, domain)
        low, high = np.where(covered, low, middle), np.where(covered, middle, high)
    found = contains(outer._replace(thresholds=sign * values(high)), rows, inner, rows, domain)
    return np.where(found, sign * values(high), np.nan)


def assert_sound(outer: Regions, inner: Regions, domain: Box | None, random: np.random.Generator) -> int:
    rows = np.arange(len(outer.kinds))
    claimed = np.flatnonzero(contains(outer, rows, inner, rows, domain))
    for row in claimed.tolist():
        points = pool(inner, row, domain, random, outer.points[row])
        points = points[held(inner, row, points)]
        assert held(outer, row, points).all()
    return len(claimed)


def test_kinds_are_scores() -> None:
    assert [int(kind) for kind in (*SCORED, Kind.CAP)] == [int(score) for score in Score]


def test_the_twin_is_the_score() -> None:
    random = np.random.default_rng(1)
    point, weights, points = random.normal(size=3), random.random(3), random.normal(size=(20, 3))
    for x, at in enumerate(points):
        a, b, c = point.tolist(), weights.tolist(), at.tolist()
        expected = [euclidean(a, c), chebyshev(a, b, c), weighted_sum(a, c), cosine(a, c)]
        assert [scores(kind, point, weights, points)[x] for kind in SCORED] == expected


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("style", STYLES)
def test_bounding_boxes_bound(style: str, name: str) -> None:
    random = np.random.default_rng(2)
    for kind in FLAT:
        domain = draw_domain(name, style, 3)
        regions = draw(kind, style, random, 12, 3)
        box = bounding_boxes(regions, domain)
        for row in range(12):
            points = pool(regions, row, domain, random)
            points = points[held(regions, row, points)]
            assert ((box.lo[row] <= points) & (points <= box.hi[row])).all()


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("style", STYLES)
def test_claims_are_true(style: str, name: str) -> None:
    """Each pair of kinds, with the outer threshold where containment is just claimed."""
    random = np.random.default_rng(3)
    n_claims = 0
    for outer, inner in product(FLAT, FLAT):
        domain = draw_domain(name, style, 3)
        a, b = draw(outer, style, random, 10, 3), draw(inner, style, random, 10, 3)
        if outer != Kind.RANGE:
            limits = least_covering(a, b, domain)
            a = a._replace(thresholds=np.where(np.isnan(limits), a.thresholds, limits))
        else:
            box = bounding_boxes(b, domain)
            empty = is_empty(box)[:, None]
            a = range_regions(np.where(empty, a.points, box.lo), np.where(empty, a.weights, box.hi))
        n_claims += assert_sound(a, b, domain, random)
    assert n_claims > 50


@pytest.mark.parametrize("dims", [1, 2, 9])
def test_distances_are_tight(dims: int) -> None:
    random = np.random.default_rng(dims)
    n = 20
    c, other = random.normal(size=(n, dims)), random.normal(size=(n, dims))
    w, w_inner, r = random.random((n, dims)) + 0.1, random.random((n, dims)) + 0.1, random.random(n)
    apart = np.abs(c - other)
    ball, box = make_regions(Kind.BALL, c, 1.0, r), make_regions(Kind.BOX, c, w, r)
    inner_ball, inner_box = make_regions(Kind.BALL, other, 1.0, r), make_regions(Kind.BOX, other, w_inner, r)
    reach = r[:, None] / w_inner
    cases = [
        (ball, inner_ball, np.sqrt((apart**2).sum(axis=1)) + r),
        (ball, inner_box, np.sqrt(((apart + reach) ** 2).sum(axis=1))),
        (box, inner_ball, (w * (apart + r[:, None])).max(axis=1)),
        (box, inner_box, (w * (apart + reach)).max(axis=1)),
    ]
    for outer, inner, exact in cases:
        found = least_covering(outer, inner, None)
        assert (found >= exact * (1 - 1e-15)).all()
        assert (found <= exact * (1 + 1e-12)).all()


@pytest.mark.parametrize("dims", [1, 2, 9])
def test_sums_over_balls_and_boxes_are_tight(dims: int) -> None:
    random = np.random.default_rng(dims)
    n = 20
    w, c, r = random.normal(size=(n, dims)), random.normal(size=(n, dims)), random.random(n)
    w_inner = random.random((n, dims)) + 0.1
    half = make_regions(Kind.HALF_SPACE, w, 1.0, 0.0)
    middle, length = (w * c).sum(axis=1), np.sqrt((w * w).sum(axis=1))
    ball_least = middle - length * r
    box_least = middle - (np.abs(w) * r[:, None] / w_inner).sum(axis=1)
    np.testing.assert_allclose(least_covering(half, make_regions(Kind.BALL, c, 1.0, r), None), ball_least, atol=1e-11)
    np.testing.assert_allclose(least_covering(half, make_regions(Kind.BOX, c, w_inner, r), None), box_least, atol=1e-11)


def vertices(w: Floats, t: float, domain: Box) -> Floats:
    """The corners of a half-space's part in a box, by looking at every corner and edge of the box."""
    corners = np.array(list(product(*zip(domain.lo, domain.hi, strict=True))))
    found = [corner for corner in corners if corner @ w >= t]
    for corner, j in product(corners, range(len(w))):
        if w[j] != 0.0:
            moved = corner.copy()
            moved[j] = 0.0
            moved[j] = (t - moved @ w) / w[j]
            if domain.lo[j] <= moved[j] <= domain.hi[j]:
                found.append(moved)
    return np.array(found).reshape(-1, len(w))


@pytest.mark.parametrize("dims", [1, 2, 3, 5])
def test_half_spaces_in_a_box_are_tight(dims: int) -> None:
    random = np.random.default_rng(dims)
    domain = Box(np.full(dims, -1.0), np.full(dims, 2.0))
    w1, w2 = random.integers(-3, 4, (25, dims)) + 0.25, random.integers(-3, 4, (25, dims)) * 1.0
    inner = make_regions(Kind.HALF_SPACE, w2, 1.0, random.integers(-4, 5, 25) + 0.5)
    found = least_covering(make_regions(Kind.HALF_SPACE, w1, 1.0, 0.0), inner, domain)
    box = bounding_boxes(inner, domain)
    for row in range(25):
        points = vertices(w2[row], inner.thresholds[row], domain)
        assert is_empty(box)[row] == (len(points) == 0)
        if len(points):
            assert found[row] == pytest.approx((points @ w1[row]).min(), abs=1e-11)
            np.testing.assert_allclose(box.lo[row], points.min(axis=0), atol=1e-11)
            np.testing.assert_allclose(box.hi[row], points.max(axis=0), atol=1e-11)


def test_half_spaces_in_a_half_open_domain() -> None:
    """With attributes from zero up, the least of w1·x where w2·x >= t is the smallest ratio times t."""
    domain = Box(np.zeros(3), np.full(3, np.inf))
    w1, w2 = np.array([[2.0, 3.0, 5.0]]), np.array([[1.0, 2.0, 1.0]])
    found = least_covering(
        make_regions(Kind.HALF_SPACE, w1, 1.0, 0.0), make_regions(Kind.HALF_SPACE, w2, 1.0, 4.0), domain
    )
    assert found[0] == pytest.approx(6.0, rel=1e-11)


def claim(outer: Regions, inner: Regions, domain: Box | None = None) -> bool:
    return bool(contains(outer, np.array([0]), inner, np.array([0]), domain)[0])


def one(kind: Kind, point: list[float], threshold: float, weights: float | list[float] = 1.0) -> Regions:
    return make_regions(kind, [point], weights, [threshold])


def test_open_covers_all_and_nothing_is_covered_by_all() -> None:
    point = [1.0, -2.0]
    some = [one(kind, point, 0.5) for kind in SCORED] + [range_regions([point], [[3.0, 4.0]])]
    wide = [one(kind, point, float(open_thresholds(np.array([kind], np.int8))[0])) for kind in SCORED]
    none = [one(Kind.BALL, point, -1.0), one(Kind.BOX, point, -1.0), one(Kind.HALF_SPACE, point, np.inf)]
    none += [one(Kind.CONE, point, 1.5), one(Kind.HALF_SPACE, [0.0, 0.0], 1.0), one(Kind.CONE, [0.0, 0.0], 0.1)]
    none += [range_regions([[1.0, 1.0]], [[0.0, 2.0]])]
    wide += [one(Kind.CONE, [0.0, 0.0], 0.0), one(Kind.HALF_SPACE, [0.0, 0.0], 0.0), one(Kind.CONE, point, -1.5)]
    wide += [one(Kind.BOX, point, 1.0, 0.0), range_regions([[-np.inf] * 2], [[np.inf] * 2])]
    for outer, inner in product(wide, some + none + wide):
        assert claim(outer, inner)
    for outer, inner in product(some + none + wide, none):
        assert claim(outer, inner)
    for outer, inner in product(none, some + wide):
        assert not claim(outer, inner)
    for outer, inner in product(some, wide):
        assert not claim(outer, inner)


@pytest.mark.parametrize("kind", SCORED)
def test_one_score_is_compared_by_threshold_alone(kind: Kind) -> None:
    random = np.random.default_rng(4)
    steps = np.sort(random.random(9))
    for lower, upper in [*pairwise(steps), *((x, np.nextafter(x, 2.0)) for x in steps)]:
        a, b = one(kind, [0.1, 0.7, -0.3], float(lower)), one(kind, [0.1, 0.7, -0.3], float(upper))
        demanding = kind in (Kind.HALF_SPACE, Kind.CONE)
        assert claim(a, a)
        assert claim(a, b) == demanding
        assert claim(b, a) != demanding


def test_parallel_weights() -> None:
    half = one(Kind.HALF_SPACE, [1.0, 3.0], 2.0)
    assert claim(half, one(Kind.HALF_SPACE, [4.0, 12.0], 8.0))
    assert claim(half, one(Kind.HALF_SPACE, [0.25, 0.75], 0.5))
    assert not claim(half, one(Kind.HALF_SPACE, [4.0, 12.0], 7.9))
    assert not claim(half, one(Kind.HALF_SPACE, [4.0, 12.5], 100.0))
    # The sums round differently, without limit as attributes grow: only a domain makes it certain.
    thrice = one(Kind.HALF_SPACE, [3.0, 9.0], 6.1)
    assert not claim(half, thrice)
    assert claim(half, thrice, Box(np.full(2, -1e3), np.full(2, 1e3)))
    assert claim(one(Kind.CONE, [1.0, 3.0], 0.2), one(Kind.CONE, [2.0, 6.0], 0.2))
    assert not claim(one(Kind.CONE, [1.0, 3.0], 0.2), one(Kind.CONE, [2.0, 6.5], 0.9))
    assert not claim(one(Kind.HALF_SPACE, [1e-300, 1e300], 1.0), one(Kind.HALF_SPACE, [0.0, 2.0**-100], 1.0))


def test_only_the_part_in_the_domain_counts() -> None:
    domain = Box(np.zeros(2), np.ones(2))
    ball = one(Kind.BALL, [0.5, 0.5], 0.75)
    for inner in [one(kind, [3.0, 2.0], float(t)) for kind, t in zip(SCORED, (9.0, 9.0, -9.0, -0.9), strict=True)]:
        assert claim(ball, inner, domain)
        assert not claim(ball, inner)
    assert claim(one(Kind.BALL, [0.0, 0.0], 0.1), one(Kind.BALL, [5.0, 5.0], 1.0), domain)
    assert claim(one(Kind.BALL, [1.0, 1.0], 0.3), one(Kind.HALF_SPACE, [1.0, 1.0], 1.8), domain)
    assert not claim(one(Kind.BALL, [1.0, 1.0], 0.1), one(Kind.HALF_SPACE, [1.0, 1.0], 1.8), domain)


def test_ranges_are_exact() -> None:
    inner = range_regions([[0.0, 0.1]], [[1.0, 0.3]])
    assert claim(inner, inner)
    assert claim(range_regions([[0.0, -np.inf]], [[1.0, 0.3]]), inner)
    assert not claim(range_regions([[0.0, 0.1]], [[1.0, np.nextafter(0.3, 0.0)]]), inner)
    assert claim(one(Kind.BOX, [0.5, 0.0], 0.5, [1.0, 1.0]), range_regions([[0.0, -0.5]], [[1.0, 0.5]]))
    assert claim(one(Kind.HALF_SPACE, [1.0, 1.0], 0.0), range_regions([[0.0, 0.0]], [[1.0, np.inf]]))
    moved = inner._replace(thresholds=np.array([-np.inf]))
    assert claim(inner, moved)
    assert not claim(moved, range_regions([[5.0, 5.0]], [[6.0, 6.0]]))


def test_beyond_all_numbers() -> None:
    """Where squares overflow, nothing is claimed."""
    far = one(Kind.BALL, [1e200, 0.0], 1.0)
    assert not claim(far, one(Kind.BALL, [-1e200, 0.0], 1.0))
    assert not claim(one(Kind.BALL, [0.0, 0.0], 1e300), far)
    assert claim(far, far)
    assert not claim(one(Kind.HALF_SPACE, [1e200, -1e200], 0.0), one(Kind.BALL, [1e200, 1e200], 1.0))


def test_squares_that_underflow() -> None:
    """To a score, a point nearer than 1e-162 is at the centre."""
    speck, dot = one(Kind.BALL, [0.0, 0.0], 0.0), np.array([[1e-170, -1e-170]])
    assert held(speck, 0, dot).all()
    box = bounding_boxes(speck)
    assert ((box.lo < dot) & (dot < box.hi)).all()
    assert not claim(one(Kind.BALL, [1e-162, 0.0], 1e-162), one(Kind.BALL, [0.0, 0.0], 0.0))
    assert not claim(range_regions([[0.0, 0.0]], [[0.0, 0.0]]), speck)
    assert claim(one(Kind.BALL, [1e-162, 0.0], 1e-140), speck)


def test_tangent_half_spaces() -> None:
    """The nearest point of a ball to a border, a few roundings to either side."""
    random = np.random.default_rng(5)
    n, steps = 300, np.arange(-4, 5)
    w, c = random.normal(size=(n, 3)), 1e3 * random.normal(size=(n, 3))
    balls, half = make_regions(Kind.BALL, c, 1.0, random.random(n)), make_regions(Kind.HALF_SPACE, w, 1.0, 0.0)
    half = half._replace(thresholds=least_covering(half, balls, None))
    for row in range(n):
        tangent = c[row] - balls.thresholds[row] * units(w[row : row + 1])[0]
        moves = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
        points = tangent + moves * np.spacing(np.abs(tangent))
        points = points[held(balls, row, points)]
        assert held(half, row, points).all()


def test_no_pairs_and_no_number() -> None:
    none = np.zeros(0, np.int64)
    ball = one(Kind.BALL, [0.0], 1.0)
    assert contains(ball, none, ball, none).shape == (0,)
    assert bounding_boxes(take(ball, none)).lo.shape == (0, 1)
    with pytest.raises(ValueError, match="must be a number"):
        one(Kind.BALL, [0.0], float("nan"))
