"""Subscriptions in easy and in awkward places, and the plain rules that zones are held against."""

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.overlay import Zones
from skyband.ranges.kernels.message import FARTHEST

KINDS = ["uniform", "ties", "one place", "two places", "hot spot", "unbounded", "huge", "tiny", "empty"]


def ranges(kind: str, n: int, dims: int, seed: int = 0) -> Floats:
    """Subscriptions as points (l1, r1, l2, r2, ...)."""
    random = np.random.default_rng(seed)
    values = random.random((n, dims, 2))
    if kind == "ties":
        values = np.floor(values * 4)
    elif kind == "one place":
        values[:] = 0.25
    elif kind == "two places":
        values = np.where(random.random((n, 1, 1)) < 0.5, 0.25, 0.75) + np.zeros_like(values)
    elif kind == "hot spot":
        values[random.random(n) < 0.7] = 0.5
    elif kind == "unbounded":
        values = np.where(random.random((n, dims, 2)) < 0.3, np.array([-FARTHEST, FARTHEST]), values)
    elif kind == "huge":
        values = (values - 0.5) * 10.0 ** random.integers(-10, 150, (n, dims, 2))
    elif kind == "tiny":
        values = np.floor(values * 8) * 5e-324
    elif kind == "empty":
        values = values[:0]
    return np.sort(values, axis=2).reshape(len(values), 2 * dims)


def message_boxes(zones: Zones, points: Floats, n: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Boxes with corners at subscriptions, at sides of zones, anywhere, and nowhere; single points, and empty ones."""
    random = np.random.default_rng(seed)
    borders = zones.borders
    sides = np.concatenate([borders.low.ravel(), borders.high.ravel(), points.ravel(), random.random(20)])
    first, second = random.choice(sides, (2, n, zones.dims))
    low, high = np.minimum(first, second), np.maximum(first, second)
    high[::5] = low[::5]
    low[1::7], high[2::7] = -np.inf, np.inf
    low[3::11, 0], high[3::11, 0] = 1.0, 0.0
    low[0], high[0] = -np.inf, np.inf
    return low, high


def zones_meeting(zones: Zones, low: Floats, high: Floats) -> Int64s:
    """The zones that have a finite number of the closed box in each dimension."""
    borders = zones.borders
    last = np.nextafter(borders.high, -np.inf)
    least, most = np.maximum(borders.low, -FARTHEST), np.minimum(last, FARTHEST)
    return np.flatnonzero((np.maximum(least, low) <= np.minimum(most, high)).all(axis=1))
