"""Places on the sphere: the arcs between them against sums of many digits, and bounds that hold."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from skyband.kernels.earth import EARTH_RADIUS, HALF_CIRCUMFERENCE
from skyband.kernels.sphere import directed_between, directed_within, metres, squares_within, unit_vectors
from skyband.topk.great_circle import great_circle
from skyband.topk.kernels.score import GEODESIC, WAYS, direction, gate_of, joined, reach_of, term
from skyband.topk.score import FORMS, Score

Place = tuple[float, float]
# Measured with 300 pairs of each sort: 6e-9 m.
ERROR = 1e-8


def _sine(x: Decimal) -> Decimal:
    total = power = x
    k = 1
    while abs(power) > Decimal(10) ** -48:
        power *= -x * x / ((k + 1) * (k + 2))
        total, k = total + power, k + 2
    return total


def _arctangent(x: Decimal) -> Decimal:
    times = 1
    while abs(x) > Decimal("0.01"):
        x, times = x / (1 + (1 + x * x).sqrt()), 2 * times
    total = power = x
    k = 1
    while abs(power) > Decimal(10) ** -48:
        power *= -x * x
        total, k = total + power / (k + 2), k + 2
    return total * times


def _exactly(a: Place, b: Place) -> Decimal:
    """Vincenty's formula on a sphere, with 50 digits: another way than by chords."""
    with localcontext() as context:
        context.prec = 50
        pi = 16 * _arctangent(Decimal(1) / 5) - 4 * _arctangent(Decimal(1) / 239)
        (x1, y1), (x2, y2) = ((Decimal(lon) * pi / 180, Decimal(lat) * pi / 180) for lon, lat in (a, b))
        turn = x2 - x1
        cosine = {angle: _sine(pi / 2 - angle) for angle in (y1, y2, turn)}
        side = cosine[y2] * _sine(turn)
        front = cosine[y1] * _sine(y2) - _sine(y1) * cosine[y2] * cosine[turn]
        along = _sine(y1) * _sine(y2) + cosine[y1] * cosine[y2] * cosine[turn]
        across = (side * side + front * front).sqrt()
        if abs(along) >= across:
            angle = _arctangent(across / along)
            return Decimal(EARTH_RADIUS) * (angle if along > 0 else angle + pi)
        return Decimal(EARTH_RADIUS) * (pi / 2 - _arctangent(along / across))


def _compiled(a: Place, b: Place) -> float:
    (ax, bx), (ay, by), (az, bz) = unit_vectors(np.array([a, b])).tolist()
    return metres(directed_between(bx, by, bz, ax, ay, az))


def _pairs(random: np.random.Generator, n: int) -> list[tuple[Place, Place]]:
    """Places anywhere, close to each other, close to antipodes, about a quarter apart, at poles and the date line."""
    pairs = []
    for _ in range(n):
        lon, lat = float(random.uniform(-180, 180)), float(np.degrees(np.arcsin(random.uniform(-1, 1))))
        other = float(random.uniform(-180, 180)), float(random.uniform(-90, 90))
        step = 10.0 ** random.uniform(-12, 0)
        close = min(lon + step, 180.0), max(lat - step, -90.0)
        antipode = close[0] + (180.0 if close[0] <= 0.0 else -180.0), -close[1]
        quarter = lon + (90.0 if lon <= 0.0 else -90.0), float(random.normal() * 1e-9)
        pairs += [((lon, lat), other), ((lon, lat), close), ((lon, lat), antipode), ((lon, 0.0), quarter)]
        pairs += [((180.0 - step, lat), (step - 180.0, lat)), ((lon, 90.0 - step), other), ((lon, -90.0), close)]
    return pairs


def test_arcs_are_exact_and_the_same_in_plain_python() -> None:
    for a, b in _pairs(np.random.default_rng(1), 40):
        found = _compiled(a, b)
        assert found == great_circle(a, b) == great_circle(b, a)
        assert abs(Decimal(found) - _exactly(a, b)) < ERROR


def test_places_with_several_names_are_one() -> None:
    assert great_circle((180.0, 12.5), (-180.0, 12.5)) == 0.0
    assert great_circle((77.0, 90.0), (-13.0, 90.0)) == 0.0
    assert great_circle((0.1, -90.0), (179.9, -90.0)) == 0.0
    assert great_circle((3.0, 90.0), (-71.0, -90.0)) == HALF_CIRCUMFERENCE
    assert great_circle((0.0, 0.0), (180.0, 0.0)) == HALF_CIRCUMFERENCE
    assert great_circle((-180.0, 0.0), (0.0, 0.0)) == HALF_CIRCUMFERENCE
    assert great_circle((0.0, 0.0), (90.0, 0.0)) == pytest.approx(HALF_CIRCUMFERENCE / 2, abs=ERROR)


def test_what_is_no_place_has_no_distance() -> None:
    for point in ((180.1, 0.0), (0.0, 90.1), (-181.0, 91.0), (math.nan, 0.0)):
        assert _compiled((12.0, 47.0), point) == math.inf
        assert FORMS[Score.GEODESIC].of((12.0, 47.0), (), point) is None


def test_a_gate_lets_pass_what_is_no_farther() -> None:
    squares = np.zeros(1)
    for a, b in _pairs(np.random.default_rng(2), 60):
        (ax, bx), (ay, by), (az, bz) = unit_vectors(np.array([a, b])).tolist()
        directed = directed_between(bx, by, bz, ax, ay, az)
        gate = gate_of(GEODESIC, metres(directed))
        assert directed <= gate == directed_within(metres(directed))
        squares_within(np.array([gate]), squares)
        assert (ax - bx) ** 2 + (ay - by) ** 2 + (az - bz) ** 2 <= squares[0]
        assert directed_within(metres(directed) * 0.999 - 1.0) < directed
    assert directed_within(-1.0) == -math.inf
    assert directed_within(math.inf) < math.inf


def test_directions_are_told_alike() -> None:
    assert [direction(kind) for kind in range(len(WAYS))] == WAYS.tolist()
    assert all((WAYS[score] > 0) == form.ascending for score, form in FORMS.items())


def test_no_point_of_a_box_is_closer_than_its_bound() -> None:
    random, form = np.random.default_rng(3), FORMS[Score.GEODESIC]
    for _ in range(300):
        spread = 10.0 ** random.uniform(-6, 2)
        middle = np.array([random.choice([-180.0, 180.0, 0.0, 77.0]), random.choice([-90.0, 90.0, 0.0, 40.0])])
        places = np.clip(middle + random.normal(size=(20, 2)) * spread, [-180, -90], [180, 90])
        centre = (float(random.uniform(-180, 180)), float(random.uniform(-90, 90)))
        points = unit_vectors(places)
        low, high, at = points.min(axis=1), points.max(axis=1), unit_vectors(np.array([centre]))
        bound = 0.0
        for j in range(3):
            bound = joined(GEODESIC, bound, term(GEODESIC, at[j, 0], 0.0, low[j], high[j]))
        distances = [great_circle(centre, place) for place in places.tolist()]
        directed = [directed_between(*points[:, i], *at[:, 0]) for i in range(20)]
        assert all(bound <= reach_of(GEODESIC, gate_of(GEODESIC, metres(each))) for each in directed)
        assert -form.best(low, high, np.ones(3), at)[0] <= min(distances)
