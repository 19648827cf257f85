"""Geotext subscriptions away from their engines: messages, and how good any message from a box can be."""

from collections.abc import Mapping
from typing import Any

from skyband.covering.routed import RoutedFamily, RoutedSubscription, Spoken, read_one
from skyband.geotext.rows import parse_publications, parse_subscriptions, read_publications, read_subscriptions
from skyband.geotext.score import place_and_words
from skyband.geotext.zoning import LONGEST
from skyband.kernels.array import Floats
from skyband.table import Settings
from skyband.topk.great_circle import great_circle
from skyband.topk.score import euclidean


class RoutedMessages(RoutedSubscription):
    """A subscription to the k best messages of a window, by place and words."""

    __slots__ = ("alpha", "bounds", "place", "words")

    def __init__(self, row: Mapping[str, Any], settings: Settings) -> None:
        rows = read_one(row, settings, read_subscriptions, parse_subscriptions, "subscriptions")
        super().__init__(row, rows, ascending=False)
        self.alpha, self.bounds = float(rows.alpha[0]), settings.bounds
        self.place = (float(rows.xy[0, 0]), float(rows.xy[0, 1]))
        self.words: list[tuple[str, float]] = list(zip(rows.terms.to_pylist(), rows.weights.tolist(), strict=True))

    @property
    def n_dims(self) -> int:
        """A place on a map."""
        return 2

    def score(self, content: Any) -> float | None:
        """The score by place and words; a message without one of its words has none."""
        at, said = content
        distance = great_circle if self.bounds.is_geographic else euclidean
        return place_and_words(self.alpha, self.place, self.words, at, said, self.bounds.diagonal, distance)

    def best(self, low: Floats, high: Floats) -> float:
        """All its words, said at the nearest place of the box; on Earth at its own place."""
        nearness = 1.0
        if not self.bounds.is_geographic and self.bounds.diagonal > 0.0:
            nearest = [min(max(here, least), most) for here, least, most in zip(self.place, low, high, strict=True)]
            nearness = 1.0 - euclidean(self.place, nearest) / self.bounds.diagonal
        return self.alpha * nearness + (1.0 - self.alpha) * LONGEST + 1e-9


class MessageRouting(RoutedFamily):
    """How brokers read messages."""

    def subscription(self, row: Mapping[str, Any], settings: Settings) -> RoutedMessages:
        """A subscription from its row."""
        return RoutedMessages(row, settings)

    def spoken(self, row: Mapping[str, Any], settings: Settings) -> Spoken:
        """A message from its row."""
        rows = read_one(row, settings, read_publications, parse_publications, "publications")
        place = (float(rows.xy[0, 0]), float(rows.xy[0, 1]))
        said = dict(zip(rows.terms.to_pylist(), rows.weights.tolist(), strict=True))
        return Spoken(rows.ids.to_pylist()[0], int(rows.ts[0]), place, (place, said))


ROUTING = MessageRouting()
