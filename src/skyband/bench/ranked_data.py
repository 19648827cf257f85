"""Subscriptions and events for the evaluation of the ranked paper, as numbers: made up, or people of a census.

The file of the census is UCI Adult, CC BY 4.0.
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.real import unit_points
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.ragged import places_of
from skyband.ranked import workload as ranked
from skyband.ranked.kernels.interval_scan import Events
from skyband.ranked.rows import UNLIMITED, Subscriptions
from skyband.workload.seed import Purpose, generator
from skyband.workload.zipf import Zipf

SEED = 1
FILE = "census_adult.parquet"
COLUMNS = ("age", "education_num", "hours_per_week", "capital_gain", "capital_loss")
# How many of the short intervals have a point in common: what the best public code was measured with.
STABBED = 1000
# How many of the boxes an event meets, about.
MATCHED = 84
N_CELLS, SKEW = 100, 0.75


class RankedData(NamedTuple):
    """Subscriptions, and points that are published."""

    label: str
    rows: Subscriptions
    points: Floats

    @property
    def n(self) -> int:
        return len(self.rows.budget)

    @property
    def dims(self) -> int:
        return self.rows.dims

    def events(self, n: int, k: int, start: int = 0) -> Events:
        """n events that ask for the k best, from the one at `start` on."""
        points = self.points[start : start + n]
        return Events(points, points, np.full(len(points), min(k, self.n)))


def zipfian(n: int, dims: int, n_events: int, skew_length: float = SKEW) -> RankedData:
    """The workload of the paper with Table 1's defaults."""
    options = ranked.Options(n_subscriptions=n, n_publications=n_events, dims=dims, skew_length=skew_length, seed=SEED)
    asked = ranked.subscriptions(options)
    lo, hi, weights = (_flat(asked[name]) for name in ("lo", "hi", "weights"))
    points = _flat(ranked.publications(options)["point"]).reshape(-1, dims)
    return RankedData("Zipfian", _dense(lo, hi, weights, dims), points)


def _flat(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.combine_chunks().flatten())


def _dense(lo: Floats, hi: Floats, weights: Floats, dims: int) -> Subscriptions:
    n = len(lo) // dims
    dim = np.tile(np.arange(dims, dtype=np.int32), n)
    return Subscriptions(None, np.arange(n + 1) * dims, dim, lo, hi, weights, np.full(n, UNLIMITED), dims)


def short(n: int, n_events: int) -> RankedData:
    """Uniform intervals of one dimension, about `STABBED` of them at each point, with random weights."""
    random = generator(SEED, Purpose.SUBSCRIPTIONS)
    lo = random.random(n)
    hi = lo + random.random(n) * min(2.0 * STABBED / n, 0.5)
    points = generator(SEED, Purpose.PUBLICATIONS).random((n_events, 1))
    return RankedData("short", _dense(lo, hi, random.random(n), 1), points)


def boxes(n: int, dims: int, n_events: int) -> RankedData:
    """Boxes about uniform points, about `MATCHED` of them at each point, with random weights."""
    random = generator(SEED, Purpose.SUBSCRIPTIONS)
    middles = random.random(n * dims)
    # With half-lengths up to a, a share of a - a² / 3 has a point of [0, 1].
    share = min((MATCHED / n) ** (1.0 / dims), 2.0 / 3.0)
    halves = random.random(n * dims) * 1.5 * (1.0 - math.sqrt(1.0 - share / 0.75))
    points = generator(SEED, Purpose.PUBLICATIONS).random((n_events, dims))
    return RankedData("boxes", _dense(middles - halves, middles + halves, random.random(n * dims), dims), points)


def sparse(n: int, dims: int, n_asked: int, n_events: int) -> RankedData:
    """Zipfian lengths about uniform points in a few of many dimensions; events have all of them."""
    random = generator(SEED, Purpose.SUBSCRIPTIONS)
    chosen = random.integers(dims, size=(n, n_asked))
    while len(again := np.flatnonzero((np.diff(np.sort(chosen)) == 0).any(axis=1))):
        chosen[again] = random.integers(dims, size=(len(again), n_asked))
    middles, halves = random.random(n * n_asked), lengths(random, n * n_asked)
    points = generator(SEED, Purpose.PUBLICATIONS).random((n_events, dims))
    rows = _dense(middles - halves, middles + halves, 1.0 - halves, n_asked)
    return RankedData("sparse", rows._replace(dim=np.sort(chosen).ravel().astype(np.int32), dims=dims), points)


def lengths(random: np.random.Generator, n: int) -> Floats:
    """Zipfian half-lengths of intervals, as in Table 1."""
    return np.asarray((Zipf(N_CELLS, SKEW).draw(random, n) + 1.0 - random.random(n)) / N_CELLS)


@lru_cache(maxsize=1)
def read(path: Path) -> Floats:
    """The people of a file, a row each, every column shifted and scaled to [0, 1]."""
    return unit_points(path, COLUMNS)


def invented(n: int) -> Floats:
    """People that are made up: small integers, and two columns that are mostly nothing."""
    random = generator(SEED, Purpose.OBJECTS)
    people = random.integers(0, 16, (n, len(COLUMNS))) / 16
    people[:, 3:] *= random.random((n, 2)) < 0.1
    return np.asarray(people)


def about(people: Floats, n: int, n_events: int, label: str) -> RankedData:
    """Subscriptions with Zipfian lengths about people drawn at random, and people as events."""
    random, dims = generator(SEED, Purpose.SUBSCRIPTIONS), people.shape[1]
    middles = people[random.integers(len(people), size=n)].ravel()
    halves = lengths(random, n * dims)
    events = people[generator(SEED, Purpose.PUBLICATIONS).integers(len(people), size=n_events)]
    return RankedData(label, _dense(middles - halves, middles + halves, 1.0 - halves, dims), events)


def subset(rows: Subscriptions, chosen: Int64s) -> Subscriptions:
    """These subscriptions, in this order."""
    sizes = np.diff(rows.offsets)[chosen]
    at = places_of(rows.offsets[chosen], sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    parts = (rows.dim[at], rows.lo[at], rows.hi[at], rows.weight[at])
    return Subscriptions(None, offsets, *parts, rows.budget[chosen], rows.dims)


def with_budgets(rows: Subscriptions) -> Subscriptions:
    """Each with a budget that lasts, but for a tenth of them, which have used theirs up."""
    left = generator(SEED, Purpose.OBJECTS).random(len(rows.budget)) >= 0.1
    return rows._replace(budget=np.where(left, 1 << 40, 0))
