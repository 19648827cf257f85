"""Distance on Earth in plain Python: the twin of `skyband.kernels.sphere`, by the same operations.

Places are longitude and latitude in degrees, on a sphere of the Earth's mean radius.
"""

import math
from collections.abc import Sequence

from skyband.kernels.earth import EARTH_RADIUS
from skyband.kernels.sphere import ARCSINE, COSINE, LARGE, RADIAN, ROOT_OF_2, SINE


def _series(coefficients: Sequence[float], x: float) -> float:
    total = 0.0
    for coefficient in coefficients:
        total = (total + coefficient) * x
    return total


def _sine_cosine(degrees: float) -> tuple[float, float]:
    """Whole quarters of a turn are taken off first, which is exact."""
    quarters = 0
    while degrees > 45.0:
        degrees, quarters = degrees - 90.0, quarters + 1
    while degrees < -45.0:
        degrees, quarters = degrees + 90.0, quarters - 1
    x = degrees * RADIAN
    sine, cosine = x + x * _series(SINE, x * x), 1.0 + _series(COSINE, x * x)
    for _ in range(quarters % 4):
        sine, cosine = cosine, -sine
    return sine, cosine


def is_place(point: Sequence[float]) -> bool:
    """Whether two numbers are a longitude and a latitude."""
    return abs(point[0]) <= 180.0 and abs(point[1]) <= 90.0


def _on_sphere(place: Sequence[float]) -> tuple[float, float, float]:
    (east, front), (up, out) = _sine_cosine(place[0]), _sine_cosine(place[1])
    return out * front, out * east, up


def _arc(sine: float) -> float:
    """The angle whose half has this sine, at most a quarter of a turn."""
    times = 2.0
    if sine > LARGE:
        sine, times = sine / math.sqrt(2.0 * (1.0 + math.sqrt((1.0 - sine) * (1.0 + sine)))), 4.0
    return times * (sine + sine * _series(ARCSINE, sine * sine))


def great_circle(place: Sequence[float], other: Sequence[float]) -> float:
    """The distance of two places in metres: from one to the other, or half the circumference less that to its antipode,
    whichever angle is the smaller and so the more exact."""
    here, there = _on_sphere(place), _on_sphere(other)
    x, y, z = (b - a for a, b in zip(here, there, strict=True))
    square = x * x + y * y + z * z
    if square <= 2.0:
        return EARTH_RADIUS * _arc(math.sqrt(square) / 2.0)
    x, y, z = (b + a for a, b in zip(here, there, strict=True))
    folded = 4.0 - math.sqrt(2.0 * (x * x + y * y + z * z))
    return EARTH_RADIUS * (math.pi - _arc((4.0 - folded) / (2.0 * ROOT_OF_2)))
