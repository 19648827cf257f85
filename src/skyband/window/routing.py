"""Window subscriptions away from their engines: points, and how good any point of a box can be."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from skyband.covering.region import Kind, Regions, make_regions
from skyband.covering.routed import RoutedFamily, RoutedSubscription, Spoken, read_one
from skyband.kernels.array import Floats
from skyband.table import Settings
from skyband.topk.score import FORMS, Score
from skyband.window.rows import parse_publications, parse_subscriptions, read_publications, read_subscriptions

# In place of infinity, which times nothing is not a number.
FAR = 1e300


class RoutedPoints(RoutedSubscription):
    """A subscription to the k best points of a window."""

    __slots__ = ("centre", "form", "weights")

    def __init__(self, row: Mapping[str, Any], settings: Settings) -> None:
        rows = read_one(row, settings, read_subscriptions, parse_subscriptions, "subscriptions")
        self.form = FORMS[Score(int(rows.score[0]))]
        super().__init__(row, rows, self.form.ascending)
        self.centre: tuple[float, ...] = tuple(rows.points[0].tolist())
        self.weights: tuple[float, ...] = tuple(rows.weights[0].tolist())

    @property
    def n_dims(self) -> int:
        """As many as its own point has."""
        return len(self.centre)

    @property
    def centre_of_score(self) -> tuple[float, ...] | None:
        """Its own point, if it scores by distance in a straight line."""
        return self.centre if self.form is FORMS[Score.EUCLIDEAN] else None

    def score(self, content: Any) -> float | None:
        """The score of a point; one of another number of dimensions has none."""
        if len(content) != len(self.centre):
            return None
        return self.form.of(self.centre, self.weights, content)

    def best(self, low: Floats, high: Floats) -> float:
        """Distances and sums are bounded by the box; angles, and distances on the sphere, are not."""
        return float(self.bests(low[None, :], high[None, :])[0])

    def bests(self, low: Floats, high: Floats) -> Floats:
        """All boxes at once."""
        form = self.form
        if form.by_angle or form.on_sphere:
            return np.full(len(low), -np.inf if form.ascending else np.inf)
        # The bound of the best centre in a box for a point is that of the best point in it for a centre.
        low, high = np.clip(low, -FAR, FAR).T, np.clip(high, -FAR, FAR).T
        centres = np.broadcast_to(np.array(self.centre)[:, None], low.shape)
        with np.errstate(over="ignore"):
            found = form.best(low, high, np.array(self.weights), centres)
        return -found if form.ascending else found

    def region(self, gate: float) -> Regions | None:
        """The shape of its score."""
        return make_regions(Kind(int(self.form.score)), [self.centre], [self.weights], gate)


class PointRouting(RoutedFamily):
    """How brokers read points."""

    def subscription(self, row: Mapping[str, Any], settings: Settings) -> RoutedPoints:
        """A subscription from its row."""
        return RoutedPoints(row, settings)

    def spoken(self, row: Mapping[str, Any], settings: Settings) -> Spoken:
        """A point from its row."""
        rows = read_one(row, settings, read_publications, parse_publications, "publications")
        place = tuple(rows.points[0].tolist())
        return Spoken(rows.ids.to_pylist()[0], int(rows.ts[0]), place, place)


ROUTING = PointRouting()
