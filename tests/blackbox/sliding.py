"""Brute force for window and geotext: the k best of what is live, looked at anew after every step.

Scores are computed as the pages print them, so they equal those of the engines to the last bit where sums are exact
whatever their order, as on the data of `streams.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.blackbox.oracle import Order, Row, retracts


def point_score(subscription: Row, point: list[float]) -> float:
    """The score of a point for a subscription of the window family."""
    name = subscription["score"]
    centre: list[float] | None = subscription.get("point")
    weights: list[float] | None = subscription.get("weights")
    if name == "euclidean":
        return math.sqrt(sum((x - c) ** 2 for x, c in zip(point, centre or [], strict=True)))
    if name == "chebyshev":
        weights = weights or [1.0] * len(point)
        return max(w * abs(x - c) for w, x, c in zip(weights, point, centre or [], strict=True))
    vector = weights or centre or []
    dot = sum(w * x for w, x in zip(vector, point, strict=True))
    if name == "sum":
        return dot
    lengths = math.sqrt(sum(w * w for w in vector)) * math.sqrt(sum(x * x for x in point))
    return dot / lengths if lengths else 0.0


def place_and_words(subscription: Row, publication: Row, bounds: Sequence[float]) -> float | None:
    """The score of a message for a subscription of the geotext family, or None where they share no word."""
    asked, said = weighed(subscription), weighed(publication)
    shared = asked.keys() & said.keys()
    if not shared:
        return None
    diagonal = math.sqrt((bounds[2] - bounds[0]) ** 2 + (bounds[3] - bounds[1]) ** 2)
    distance = math.sqrt((subscription["x"] - publication["x"]) ** 2 + (subscription["y"] - publication["y"]) ** 2)
    relevance = sum(asked[term] * said[term] for term in sorted(shared))
    alpha = float(subscription["alpha"])
    return float(alpha * (1 - distance / diagonal) + (1 - alpha) * relevance)


def weighed(row: Row) -> dict[str, float]:
    """The weight of each term; a single one that is given none weighs 1, by whatever it is weighed."""
    terms = row["terms"] or []
    return dict(zip(terms, row.get("weights") or [1.0] * len(terms), strict=True))


def grows(subscription: Row) -> bool:
    """Whether a larger score is better."""
    return subscription.get("score") not in ("euclidean", "chebyshev")


def standing(
    subscription: Row, publication: Row, score: Callable[[Row, Row], float | None]
) -> tuple[tuple[Any, ...], Any, float] | None:
    """The place of a publication among those that match a subscription, or None if it does not match."""
    value = score(subscription, publication)
    if value is None:
        return None
    recent = (-publication["ts"], Order(publication["id"]))
    worse = -value if grows(subscription) else value
    threshold = subscription.get("threshold")
    if threshold is None:
        return ((worse, *recent), publication["id"], value)
    reaches = value >= threshold if grows(subscription) else value <= threshold
    return (recent, publication["id"], value) if reaches else None


@dataclass
class Windows:
    """What is live by time and by count, and what an engine remembers."""

    default_n: int | None
    default_us: int | None
    subscriptions: Sequence[Row]
    arrived: list[Row] = field(default_factory=list)
    now: int = -(2**63)
    late: int = 0
    withdrawn: list[Row] = field(default_factory=list)

    def withdraw(self, name: Any) -> None:
        """Take back what was published under an id; it keeps its place among the others."""
        self.withdrawn += [row for row in self.arrived if row["id"] == name]

    def arrive(self, publication: Row) -> None:
        """Take in a publication, in the order of time and id, unless it is beyond the horizon."""
        self.now = max(self.now, publication["ts"])
        self.arrived.append(publication)
        self.arrived.sort(key=lambda row: (row["ts"], row["id"]))
        if not self.remembers(publication):
            self.late += 1
            self.arrived = [row for row in self.arrived if row is not publication]

    def remembers(self, publication: Row) -> bool:
        """Whether the widest window of either kind reaches back to it."""
        if self.default_n is None and self.default_us is None:
            return True
        most_n = max([self.default_n or 0, *(each.get("window_n") or 0 for each in self.subscriptions)])
        most_us = max([self.default_us or 0, *(each.get("window_us") or 0 for each in self.subscriptions)])
        return publication["ts"] > self.now - most_us or any(row is publication for row in self.last(most_n))

    def last(self, n: int) -> list[Row]:
        return self.arrived[-n:] if n else []

    def live(self, subscription: Row) -> list[Row]:
        """What is live for a subscription, and was not taken back."""
        gone = set(map(id, self.withdrawn))
        return [row for row in self.within(subscription) if id(row) not in gone]

    def within(self, subscription: Row) -> list[Row]:
        """What is within the window of a subscription."""
        n, us = subscription.get("window_n"), subscription.get("window_us")
        if n is None and us is None:
            n, us = self.default_n, self.default_us
        if n is not None:
            return self.last(n)
        return [row for row in self.arrived if us is None or row["ts"] > self.now - us]


@dataclass
class Sliding:
    """The answers of window and geotext: the k best of what is live."""

    windows: Windows
    score: Callable[[Row, Row], float | None]
    places: dict[tuple[Any, Any], Any] = field(default_factory=dict)
    reborn: set[Any] = field(default_factory=set)

    def top(self, subscription: Row) -> list[tuple[Any, float]]:
        """Who is in the top of a subscription now, best first."""
        key = subscription["id"]
        places = [self.places[key, row["id"]] for row in self.windows.live(subscription)]
        found = sorted(place for place in places if place is not None)
        return [place[1:] for place in found[: subscription.get("k") or 1]]

    def arrive(self, publication: Row) -> None:
        """Take in a publication, or a retraction, or that time has passed."""
        if publication.get("op") == "advance":
            self.advance(publication["ts"])
            return
        if retracts(publication):
            self.windows.withdraw(publication["id"])
            self.reborn.add(publication["id"])
            return
        self.windows.arrive(publication)
        for subscription in self.windows.subscriptions:
            self.places[subscription["id"], publication["id"]] = standing(subscription, publication, self.score)

    def advance(self, now: int) -> None:
        """Let time pass."""
        self.windows.now = max(self.windows.now, now)

    @property
    def now(self) -> int:
        return self.windows.now
