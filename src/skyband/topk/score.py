"""Scores of points: for each one what it is called, how it is computed and bounded, what it needs, what can serve it.

This is the one place that says what a score of the window family is; rows, oracle, engines, zones and covering ask it.
Its compiled twin, with the same operations in the same order, is `skyband.topk.kernels.score`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import ClassVar, Literal

import numpy as np

from skyband.kernels.array import Bools, Floats
from skyband.kernels.earth import EARTH_RADIUS
from skyband.kernels.sphere import SLACK
from skyband.topk.great_circle import great_circle, is_place
from skyband.topk.kernels import score as compiled


class Score(IntEnum):
    """How a window subscription scores a point; snapshots hold these numbers."""

    EUCLIDEAN = compiled.EUCLIDEAN
    CHEBYSHEV = compiled.CHEBYSHEV
    SUM = compiled.SUM
    COSINE = compiled.COSINE
    GEODESIC = compiled.GEODESIC


def euclidean(centre: Sequence[float], point: Sequence[float]) -> float:
    """Distance in a straight line; smaller is better."""
    total = 0.0
    for c, x in zip(centre, point, strict=True):
        difference = x - c
        total += difference * difference
    return math.sqrt(total)


def chebyshev(centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float:
    """The largest weighted difference in any attribute; smaller is better."""
    largest = 0.0
    for c, w, x in zip(centre, weights, point, strict=True):
        largest = max(largest, w * abs(x - c))
    return largest


def weighted_sum(weights: Sequence[float], point: Sequence[float]) -> float:
    """The attributes added up by weight; larger is better."""
    total = 0.0
    for w, x in zip(weights, point, strict=True):
        total += w * x
    return total


def norm(vector: Sequence[float]) -> float:
    """The length of a vector."""
    total = 0.0
    for v in vector:
        total += v * v
    return math.sqrt(total)


def cosine(vector: Sequence[float], point: Sequence[float]) -> float:
    """The cosine of the angle between two vectors; larger is better, and 0 where either has no length."""
    lengths = norm(vector) * norm(point)
    return weighted_sum(vector, point) / lengths if lengths > 0.0 else 0.0


def geodesic(centre: Sequence[float], point: Sequence[float]) -> float | None:
    """Distance along the surface of the Earth in metres, None where the point is no place; smaller is better."""
    return great_circle(centre, point) if is_place(point) else None


class Form(ABC):
    """What is to be known of one score.

    `ascending` says that smaller scores are better. `vector` is the column with the subscription's vector, or "either"
    of point and weights; one with a point has a place, and `weighs` says that it has weights beside. `by_angle` says
    that only directions matter. `region` is the shape of what reaches a threshold, as covering names it. `by_cells`
    says that a grid of cells can serve it, and `by_shared_dimensions` that the index of long sparse vectors can; blocks
    and brute force serve all. One that is `on_sphere` takes places on Earth, longitude and latitude in degrees: the
    indexes are given points of the unit sphere, and the squares of the chords between them as for `euclidean`.
    """

    score: ClassVar[Score]
    ascending: ClassVar[bool]
    vector: ClassVar[Literal["point", "weights", "either"]]
    weighs: ClassVar[bool] = False
    by_angle: ClassVar[bool] = False
    region: ClassVar[Literal["ball", "box", "half_space", "cone", "cap"]]
    by_cells: ClassVar[bool] = True
    by_shared_dimensions: ClassVar[bool] = False
    on_sphere: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What rows call it."""
        return self.score.name.lower()

    @property
    def has_place(self) -> bool:
        """Whether it is a distance from a point."""
        return self.vector == "point"

    @abstractmethod
    def of(self, centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float | None:
        """The score of a point, in plain Python; None where it has none."""

    @abstractmethod
    def of_all(self, centres: Floats, weights: Floats, points: Floats) -> Floats:
        """About the scores of points, each (…, dimension): near enough to estimate how many reach a threshold."""

    @abstractmethod
    def best(self, low: Floats, high: Floats, weights: Floats, points: Floats) -> Floats:
        """How good any centre in a box can find points, each a column; larger is better, also for distances.

        `weights` are the least ones in the box. No point is better than that to the last bit, see `zoning.reach`. Of
        a score that is on the sphere, box and points are as well.
        """

    def reaches(self, scores: Floats, thresholds: Floats) -> Bools:
        """Which scores are as good as their thresholds."""
        return scores <= thresholds if self.ascending else scores >= thresholds


def _gap(low: float, high: float, values: Floats) -> Floats:
    """How far values lie outside of an interval."""
    gap = np.maximum(low - values, values - high)
    return np.maximum(gap, 0.0, out=gap)


def _squares(low: Floats, high: Floats, points: Floats) -> Floats:
    """The least square of the distance to any centre in a box."""
    total = np.zeros(points.shape[1])
    for i, values in enumerate(points):
        gap = _gap(low[i], high[i], values)
        total += gap * gap
    return total


def _largest_sum(low: Floats, high: Floats, points: Floats) -> Floats:
    """The largest sum by any weights in a box."""
    total = np.zeros(points.shape[1])
    for i, values in enumerate(points):
        total += np.maximum(low[i] * values, high[i] * values)
    return total


class Euclidean(Form):
    """Distance in a straight line; smaller is better."""

    score = Score.EUCLIDEAN
    ascending = True
    vector = "point"
    region = "ball"

    def of(self, centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float:
        return euclidean(centre, point)

    def of_all(self, centres: Floats, weights: Floats, points: Floats) -> Floats:
        distances: Floats = np.sqrt(((points - centres) ** 2).sum(axis=-1))
        return distances

    def best(self, low: Floats, high: Floats, weights: Floats, points: Floats) -> Floats:
        return -np.sqrt(_squares(low, high, points))


class Chebyshev(Form):
    """The largest weighted difference in any attribute; smaller is better."""

    score = Score.CHEBYSHEV
    ascending = True
    vector = "point"
    weighs = True
    region = "box"

    def of(self, centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float:
        return chebyshev(centre, weights, point)

    def of_all(self, centres: Floats, weights: Floats, points: Floats) -> Floats:
        largest: Floats = (weights * np.abs(points - centres)).max(axis=-1, initial=0.0)
        return largest

    def best(self, low: Floats, high: Floats, weights: Floats, points: Floats) -> Floats:
        largest = np.zeros(points.shape[1])
        for i, values in enumerate(points):
            np.maximum(largest, weights[i] * _gap(low[i], high[i], values), out=largest)
        return -largest


class Sum(Form):
    """The attributes added up by weight; larger is better."""

    score = Score.SUM
    ascending = False
    vector = "weights"
    region = "half_space"

    def of(self, centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float:
        return weighted_sum(centre, point)

    def of_all(self, centres: Floats, weights: Floats, points: Floats) -> Floats:
        total: Floats = (centres * points).sum(axis=-1)
        return total

    def best(self, low: Floats, high: Floats, weights: Floats, points: Floats) -> Floats:
        return _largest_sum(low, high, points)


class Cosine(Form):
    """The cosine of the angle between two vectors; larger is better, and 0 where either has no length."""

    score = Score.COSINE
    ascending = False
    vector = "either"
    by_angle = True
    region = "cone"
    by_cells = False
    by_shared_dimensions = True

    def of(self, centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float:
        return cosine(centre, point)

    def of_all(self, centres: Floats, weights: Floats, points: Floats) -> Floats:
        total = (centres * points).sum(axis=-1)
        lengths = np.sqrt((centres * centres).sum(axis=-1) * (points * points).sum(axis=-1))
        cosines: Floats = np.divide(total, lengths, out=np.zeros_like(total), where=lengths > 0)
        return cosines

    def best(self, low: Floats, high: Floats, weights: Floats, points: Floats) -> Floats:
        """Boxes and points are directions here, of length 1, so that the bound may be off by a few roundings."""
        return _largest_sum(low, high, points)


class Geodesic(Form):
    """Distance along the surface of the Earth in metres; smaller is better. Points that are no places have none."""

    score = Score.GEODESIC
    ascending = True
    vector = "point"
    region = "cap"
    on_sphere = True

    def of(self, centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float | None:
        return geodesic(centre, point)

    def of_all(self, centres: Floats, weights: Floats, points: Floats) -> Floats:
        if centres.shape[-1] != 2:
            return np.full(np.broadcast_shapes(centres.shape, points.shape)[:-1], np.inf)
        (east, up), (x, y) = (np.radians(np.moveaxis(places, -1, 0)) for places in (centres, points))
        half = np.sin((y - up) / 2) ** 2 + np.cos(y) * np.cos(up) * np.sin((x - east) / 2) ** 2
        distances: Floats = 2.0 * EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))
        return np.where(np.isfinite(distances), distances, np.inf)

    def best(self, low: Floats, high: Floats, weights: Floats, points: Floats) -> Floats:
        """Chords are measured up to a quarter of the circumference; what is farther is not told apart."""
        chords = np.sqrt(np.minimum(_squares(low, high, points), 2.0))
        return -2.0 * EARTH_RADIUS * (1.0 - SLACK) * np.arcsin(chords / 2.0)


FORMS: dict[Score, Form] = {form.score: form for form in (Euclidean(), Chebyshev(), Sum(), Cosine(), Geodesic())}


def by_kind(test: Callable[[Form], bool]) -> Bools:
    """For each kind of score whether its form passes a test; kinds that have no form do not."""
    passed = np.zeros(len(compiled.WAYS), np.bool_)
    passed[scores(test)] = True
    return passed


def scores(test: Callable[[Form], bool]) -> list[Score]:
    """The scores whose form passes a test."""
    return [score for score, form in FORMS.items() if test(form)]
