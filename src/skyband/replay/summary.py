"""What a run came to: how much, how fast, and at what cost."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats


class Percentiles(NamedTuple):
    """How long something took, in seconds; None where it never happened."""

    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None


class Summary(NamedTuple):
    """What a run came to.

    `seconds` is the whole run, reading and writing included; `publishing_seconds`, the rate and the latencies are of
    the engine alone, after it was warmed up. The latency of a publication is its share of its batch. `changes` counts
    rows by op, for ranked the matches; `notes` are sentences that a reader of the figures should know. Of what was to
    be retracted, `n_retracted` were there, and `n_retracted_late` were not, or no longer.
    """

    family: str
    engine: str
    n_publications: int
    n_subscriptions: int
    n_rejected: int
    n_late: int
    seconds: float
    publishing_seconds: float
    publications_per_second: float | None
    changes: dict[str, int]
    deliveries: int
    batch_latency: Percentiles
    publication_latency: Percentiles
    bytes_per_subscription: dict[str, float]
    counters: dict[str, int]
    notes: list[str]
    n_retracted: int = 0
    n_retracted_late: int = 0


class Stopwatch:
    """The time of every batch, how many publications it held, and how many rows all were answered with."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.sizes: list[int] = []
        self.n_rows = 0

    def add(self, seconds: float, size: int, n_rows: int) -> None:
        """Note one batch and how many rows it was answered with."""
        self.seconds.append(seconds)
        self.sizes.append(size)
        self.n_rows += n_rows

    @property
    def total(self) -> float:
        """The seconds of all batches."""
        return sum(self.seconds)

    @property
    def rate(self) -> float | None:
        """Publications per second."""
        return sum(self.sizes) / self.total if self.total > 0 else None

    def per_batch(self) -> Percentiles:
        """How long batches took."""
        return _percentiles(self.seconds)

    def per_publication(self) -> Percentiles:
        """How long publications took, each its share of its batch."""
        sizes = np.array(self.sizes, np.int64)
        return _percentiles(np.repeat(np.array(self.seconds) / sizes, sizes))


def _percentiles(seconds: Sequence[float] | Floats) -> Percentiles:
    if not len(seconds):
        return Percentiles(None, None, None, None)
    return Percentiles(*np.percentile(seconds, [50, 90, 99, 100]).tolist())
