"""Works: what is asked and published, the same for Skyband and for every peer.

A work has rows from a seeded workload, an engine of Skyband, and what its answer is. Ids count from 0, so that they are
the rows of the tables too.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

import skyband
from bench.peers.answer import Answer, matched, ranked
from skyband.bench.experiment import Size
from skyband.contract import AnyEngine
from skyband.geotext import workload as geotext
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.earth import EARTH_RADIUS
from skyband.ranked import workload as intervals
from skyband.table import Bounds, Op, Window
from skyband.window import workload as points
from skyband.workload.seed import Purpose, generator
from skyband.workload.table import lists


class PeerScale(NamedTuple):
    """How much is measured: numbers of subscriptions, live publications, a batch, and seconds allowed for a peer."""

    ns: tuple[int, ...]
    n_live: int
    batch: int
    patience: float


@dataclass(frozen=True)
class Course:
    """What one contest is about: rows by id, of which the first `n_live` publications come before the subscriptions."""

    n_live: int
    batch: int
    k: int
    threads: int
    subscriptions: pa.Table
    publications: pa.Table

    @property
    def n(self) -> int:
        return len(self.subscriptions)

    def batch_at(self, turn: int) -> pa.Table:
        """The publications of a turn."""
        return self.publications.slice(self.n_live + turn * self.batch, self.batch)


class Work(ABC):
    """One kind of question, from its data to the form of its answer."""

    name: ClassVar[str]
    summary: ClassVar[str]
    scales: ClassVar[dict[Size, PeerScale]]

    @abstractmethod
    def course(self, scale: PeerScale, n: int, n_turns: int, threads: int) -> Course:
        """The rows for n subscriptions and so many batches."""

    @abstractmethod
    def open(self, course: Course) -> AnyEngine:
        """An empty engine of Skyband."""

    @abstractmethod
    def answer(self, engine: AnyEngine, told: pa.Table) -> Answer:
        """Skyband's answer after a batch, whose changes or matches are `told`."""

    @abstractmethod
    def rescore(self, course: Course, asker: Int64s, item: Int64s) -> Floats:
        """The scores of pairs, from the data."""


def vectors(column: pa.ChunkedArray) -> Floats:
    """A column of lists of one length as a matrix."""
    flat = np.asarray(column.combine_chunks().flatten())
    return flat.reshape(len(column), -1) if len(column) else flat.reshape(0, 0)


def integers(column: pa.ChunkedArray) -> Int64s:
    """A column of ids as an array."""
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _standing(engine: AnyEngine) -> Answer:
    tops = engine.top()
    order = np.lexsort((tops["rank"].to_numpy(), tops["subscription"].to_numpy()))
    columns = (tops[name].to_numpy()[order] for name in ("subscription", "publication", "score"))
    return Answer(*columns)


class NearestPoints(Work):
    """The nearest points of a window, for everyone about a place of their own."""

    name = "window"
    summary = "The 9 nearest of the last points in 4 dimensions."
    scales: ClassVar[dict[Size, PeerScale]] = {
        "toy": PeerScale((20,), 100, 10, 0.5),
        "small": PeerScale((1_000, 10_000), 10_000, 100, 6.0),
        "full": PeerScale((1_000, 10_000, 100_000), 40_000, 1_000, 60.0),
    }

    def course(self, scale: PeerScale, n: int, n_turns: int, threads: int) -> Course:
        n_publications = scale.n_live + n_turns * scale.batch
        options = points.Options(n_subscriptions=n, n_publications=n_publications, window_n=scale.n_live)
        made = points.generate(options)
        return Course(scale.n_live, scale.batch, options.k, threads, made.subscriptions, made.publications)

    def open(self, course: Course) -> AnyEngine:
        return skyband.open("window", window=Window.count(course.n_live))

    def answer(self, engine: AnyEngine, told: pa.Table) -> Answer:
        return _standing(engine)

    def rescore(self, course: Course, asker: Int64s, item: Int64s) -> Floats:
        centres, places = vectors(course.subscriptions["point"]), vectors(course.publications["point"])
        distances: Floats = np.sqrt(((centres[asker] - places[item]) ** 2).sum(axis=1))
        return distances


class BestMessages(Work):
    """The best messages of a window by place and words."""

    name = "geotext"
    summary = "The 20 best of the last messages by place and words."
    scales: ClassVar[dict[Size, PeerScale]] = {
        "toy": PeerScale((20,), 100, 10, 0.5),
        "small": PeerScale((1_000, 10_000), 10_000, 100, 6.0),
        "full": PeerScale((10_000, 100_000, 1_000_000), 40_000, 1_000, 60.0),
    }

    def course(self, scale: PeerScale, n: int, n_turns: int, threads: int) -> Course:
        n_publications = scale.n_live + n_turns * scale.batch
        options = geotext.Options(n_subscriptions=n, n_publications=n_publications, window_n=scale.n_live)
        made = geotext.generate(options)
        return Course(scale.n_live, scale.batch, options.k, threads, made.subscriptions, made.publications)

    def open(self, course: Course) -> AnyEngine:
        return skyband.open("geotext", window=Window.count(course.n_live), bounds=Bounds(0.0, 0.0, 1.0, 1.0))

    def answer(self, engine: AnyEngine, told: pa.Table) -> Answer:
        return _standing(engine)

    def rescore(self, course: Course, asker: Int64s, item: Int64s) -> Floats:
        mine, theirs = course.subscriptions.take(asker).to_pylist(), course.publications.take(item).to_pylist()
        return np.array([_place_and_words(*pair) for pair in zip(mine, theirs, strict=True)])


def _place_and_words(mine: dict[str, Any], theirs: dict[str, Any]) -> float:
    said = dict(zip(theirs["terms"], theirs["weights"], strict=True))
    shared = [w * said[term] for term, w in zip(mine["terms"], mine["weights"], strict=True) if term in said]
    far = np.hypot(mine["x"] - theirs["x"], mine["y"] - theirs["y"]) / np.sqrt(2.0)
    return float(mine["alpha"] * (1.0 - far) + (1.0 - mine["alpha"]) * sum(shared)) if shared else np.nan


class RankedIntervals(Work):
    """The best of all subscriptions whose intervals hold an event."""

    name = "ranked"
    summary = "The 20 heaviest of the weighted boxes in 2 dimensions that hold an event."
    scales: ClassVar[dict[Size, PeerScale]] = {
        "toy": PeerScale((50,), 0, 10, 0.5),
        "small": PeerScale((10_000, 100_000), 0, 100, 6.0),
        "full": PeerScale((10_000, 100_000, 1_000_000), 0, 1_000, 60.0),
    }

    def course(self, scale: PeerScale, n: int, n_turns: int, threads: int) -> Course:
        options = intervals.Options(n_subscriptions=n, n_publications=n_turns * scale.batch, dims=2)
        made = intervals.generate(options)
        subscriptions = made.subscriptions.drop_columns("k")
        return Course(0, scale.batch, options.k, threads, subscriptions, made.publications)

    def open(self, course: Course) -> AnyEngine:
        return skyband.open("ranked", k=course.k, matching="exact")

    def answer(self, engine: AnyEngine, told: pa.Table) -> Answer:
        asker, item = integers(told["event"]), integers(told["subscription"])
        return ranked(asker, item, told["score"].to_numpy(), ascending=False)

    def rescore(self, course: Course, asker: Int64s, item: Int64s) -> Floats:
        place = vectors(course.publications["point"])[asker]
        low, high, weight = (vectors(course.subscriptions[name])[item] for name in ("lo", "hi", "weights"))
        inside = ((low <= place) & (place <= high)).all(axis=1)
        return np.where(inside, weight.sum(axis=1), np.nan)


class CircleFences(Work):
    """The fences, circles on Earth, that a place lies in."""

    name = "fence"
    summary = "The circles on Earth that a place lies in, each a Boolean subscription."
    scales: ClassVar[dict[Size, PeerScale]] = {
        "toy": PeerScale((50,), 0, 10, 0.5),
        "small": PeerScale((10_000, 100_000), 0, 100, 6.0),
        "full": PeerScale((10_000, 100_000, 1_000_000), 0, 1_000, 60.0),
    }
    # About so many fences hold each place.
    n_held = 20.0

    def course(self, scale: PeerScale, n: int, n_turns: int, threads: int) -> Course:
        centres = _on_earth(generator(0, Purpose.SUBSCRIPTIONS), n)
        # A share of r² / 4R² of all places lies in a circle, and a third of the largest r² is their mean.
        radii = generator(0, Purpose.CENTRES).random(n) * 2.0 * EARTH_RADIUS * np.sqrt(3.0 * self.n_held / n)
        places = _on_earth(generator(0, Purpose.PUBLICATIONS), n_turns * scale.batch)
        asked = {"id": np.arange(n), "score": ["geodesic"] * n, "point": lists(centres), "threshold": radii}
        said = {"id": np.arange(len(places)), "ts": np.arange(len(places)), "point": lists(places)}
        return Course(0, scale.batch, 0, threads, pa.table(asked), pa.table(said))

    def open(self, course: Course) -> AnyEngine:
        # With a k of 1, every match enters when it arrives.
        return skyband.open("window", window=Window.count(course.batch), granularity="publication")

    def answer(self, engine: AnyEngine, told: pa.Table) -> Answer:
        entered: Bools = told["op"].to_numpy(zero_copy_only=False) == Op.ENTER
        return matched(*(integers(told[name])[entered] for name in ("publication", "subscription")))

    def rescore(self, course: Course, asker: Int64s, item: Int64s) -> Floats:
        # Who holds a place holds it alike: nothing else is as good as what is right.
        return np.full(len(item), np.nan)


def _on_earth(random: np.random.Generator, n: int) -> Floats:
    """Longitudes and latitudes of places that are as likely anywhere, in degrees."""
    east, up = random.random((2, n))
    return np.stack([360.0 * east - 180.0, np.degrees(np.arcsin(2.0 * up - 1.0))], axis=1)


WORKS: dict[str, Work] = {
    work.name: work for work in (NearestPoints(), BestMessages(), RankedIntervals(), CircleFences())
}
