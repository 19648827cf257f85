"""Brute force in numpy: every publication beside every subscription, anew for each batch.

It needs no package, so that it is what a contest can be tried with anywhere; every other peer has to be faster to be
worth its name.
"""

from collections import defaultdict
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from bench.peers.answer import Answer, best, matched
from bench.peers.package import Here, Package
from bench.peers.peer import Peer
from bench.peers.work import integers, vectors
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.earth import EARTH_RADIUS

# Subscriptions or events at a time, so that a matrix of pairs stays small.
AT_ONCE = 256


class NumpyNearest(Peer):
    """All distances, and the least k of each row."""

    name = "numpy"
    work = "window"
    package: ClassVar[Package] = Here("numpy")
    lacks = "no index, no push, no windows of one's own"

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.centres = vectors(subscriptions["point"])
        self.ids, self.points = np.empty(0, np.int64), np.empty((0, self.centres.shape[1]))

    def prepare(self, batch: pa.Table) -> Any:
        return integers(batch["id"]), vectors(batch["point"])

    def publish(self, prepared: Any) -> None:
        ids, points = prepared
        self.ids, self.points = (
            np.concatenate(pair)[-self.course.n_live :] for pair in ((self.ids, ids), (self.points, points))
        )
        pieces = [self._nearest(self.centres[i : i + AT_ONCE]) for i in range(0, self.course.n, AT_ONCE)]
        self.found, self.scores = (np.concatenate(parts) for parts in zip(*pieces, strict=True))

    def _nearest(self, centres: Floats) -> tuple[Int64s, Floats]:
        squares = np.zeros((len(centres), len(self.points)))
        for mine, theirs in zip(centres.T, self.points.T, strict=True):
            squares += (mine[:, None] - theirs[None, :]) ** 2
        k = min(self.course.k, len(self.points))
        chosen = np.argpartition(squares, k - 1, axis=1)[:, :k]
        return self.ids[chosen], np.sqrt(np.take_along_axis(squares, chosen, axis=1))

    def top(self) -> Answer:
        asker = np.repeat(np.arange(self.course.n), self.found.shape[1])
        return best(asker, self.found.ravel(), self.scores.ravel(), self.course.k, ascending=True)


class NumpyMessages(Peer):
    """Relevances word by word, in a row of live messages for each subscription."""

    name = "numpy"
    work = "geotext"
    package = Here("numpy")
    lacks = "no push, no windows of one's own"

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.asked = subscriptions.to_pylist()
        self.live: list[dict[str, Any]] = []

    def prepare(self, batch: pa.Table) -> Any:
        return batch.to_pylist()

    def publish(self, prepared: Any) -> None:
        self.live = (self.live + prepared)[-self.course.n_live :]
        self.ids = np.array([row["id"] for row in self.live])
        self.x, self.y = (np.array([row[name] for row in self.live]) for name in ("x", "y"))
        said: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for i, row in enumerate(self.live):
            for term, weight in zip(row["terms"], row["weights"], strict=True):
                said[term].append((i, weight))
        self.said = {
            term: (np.array(column).T[0].astype(np.int64), np.array(column).T[1]) for term, column in said.items()
        }
        self.found = [self._best(row) for row in self.asked]

    def _best(self, row: dict[str, Any]) -> tuple[Int64s, Floats]:
        relevance, shares = np.zeros(len(self.live)), np.zeros(len(self.live), np.bool_)
        for term, weight in zip(row["terms"], row["weights"], strict=True):
            at, theirs = self.said.get(term, (np.empty(0, np.int64), np.empty(0)))
            relevance[at] += weight * theirs
            shares[at] = True
        some = np.flatnonzero(shares)
        far = np.hypot(self.x[some] - row["x"], self.y[some] - row["y"]) / np.sqrt(2.0)
        scores = row["alpha"] * (1.0 - far) + (1.0 - row["alpha"]) * relevance[some]
        first = np.lexsort((-self.ids[some], -scores))[: self.course.k]
        return self.ids[some[first]], scores[first]

    def top(self) -> Answer:
        asker = np.repeat(np.arange(self.course.n), [len(ids) for ids, _ in self.found])
        item, score = (np.concatenate(parts) for parts in zip(*self.found, strict=True))
        return Answer(asker, item, score)


class NumpyIntervals(Peer):
    """All sides compared with all events."""

    name = "numpy"
    work = "ranked"
    package = Here("numpy")
    lacks = "no index, no budgets"

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.low, self.high, weights = (vectors(subscriptions[name]) for name in ("lo", "hi", "weights"))
        self.weight = weights.sum(axis=1)

    def prepare(self, batch: pa.Table) -> Any:
        return integers(batch["id"]), vectors(batch["point"])

    def publish(self, prepared: Any) -> None:
        self.found = [self._best(*event) for event in zip(*prepared, strict=True)]

    def _best(self, event: int, place: Floats) -> tuple[Int64s, Int64s, Floats]:
        inside = ((self.low <= place) & (place <= self.high)).all(axis=1)
        some = np.flatnonzero(inside)
        first = some[np.lexsort((-some, -self.weight[some]))[: self.course.k]]
        return np.full(len(first), event), first, self.weight[first]

    def top(self) -> Answer:
        return Answer(*(np.concatenate(parts) for parts in zip(*self.found, strict=True)))


class NumpyFences(Peer):
    """All distances on Earth."""

    name = "numpy"
    work = "fence"
    package = Here("numpy")
    lacks = "no index, no leaving"

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.centres = np.radians(vectors(subscriptions["point"]))
        self.most = np.sin(subscriptions["threshold"].to_numpy() / (2.0 * EARTH_RADIUS)) ** 2

    def prepare(self, batch: pa.Table) -> Any:
        return integers(batch["id"]), np.radians(vectors(batch["point"]))

    def publish(self, prepared: Any) -> None:
        self.found = [
            (event, np.flatnonzero(self._haversine(place) <= self.most)) for event, place in zip(*prepared, strict=True)
        ]

    def _haversine(self, place: Floats) -> Floats:
        half = np.sin((self.centres - place) / 2.0) ** 2
        along: Floats = half[:, 1] + np.cos(self.centres[:, 1]) * np.cos(place[1]) * half[:, 0]
        return along

    def top(self) -> Answer:
        sizes = [len(inside) for _, inside in self.found]
        asker = np.repeat([event for event, _ in self.found], sizes)
        return matched(asker, np.concatenate([inside for _, inside in self.found]))


PEERS = (NumpyNearest, NumpyMessages, NumpyIntervals, NumpyFences)
