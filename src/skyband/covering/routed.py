"""What brokers have to know of a subscription whose engine is elsewhere: how it scores, and what it may be offered.

The module `routing` of a family's room fills in how one subscription of it scores one publication, in plain Python and
to the last bit as its engines do.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from skyband.contract.family import Parse, ReadFew
from skyband.contract.tops import Id
from skyband.covering.region import Regions
from skyband.kernels.array import Floats
from skyband.table import Rejected, Settings, WindowKind, to_table
from skyband.table.plain import Doubtful


class Spoken(NamedTuple):
    """A publication as brokers read it: where it lies, for rendezvous, and what subscriptions score."""

    id: Id
    ts: int
    place: tuple[float, ...]
    content: Any


class RoutedSubscription(ABC):
    """A subscription away from its engine.

    `window` is in microseconds, and None where nothing expires by time; one that `counts` has a count window, from
    which nothing may be held back.
    """

    __slots__ = ("ascending", "counts", "id", "k", "row", "threshold", "window")

    def __init__(self, row: Mapping[str, Any], rows: Any, ascending: bool) -> None:
        self.row = dict(row)
        self.id: Id = rows.ids.to_pylist()[0]
        self.k = int(rows.k[0])
        self.counts = bool(rows.window.kind[0] == WindowKind.COUNT)
        self.window = int(rows.window.size[0]) if rows.window.kind[0] == WindowKind.TIME else None
        threshold = float(rows.threshold[0])
        self.threshold = None if threshold != threshold else threshold
        self.ascending = ascending

    @property
    @abstractmethod
    def n_dims(self) -> int:
        """How many coordinates the places of its publications have."""

    @abstractmethod
    def score(self, content: Any) -> float | None:
        """The score of a publication, None where it cannot be in the top at all."""

    @abstractmethod
    def best(self, low: Floats, high: Floats) -> float:
        """No publication in the box from `low` to `high` has a better score."""

    def bests(self, low: Floats, high: Floats) -> Floats:
        """The same for many boxes, a row each."""
        return np.array([self.best(*box) for box in zip(low, high, strict=True)], np.float64)

    @property
    def centre_of_score(self) -> tuple[float, ...] | None:
        """The place whose distance to that of a publication is the score; None for other scores."""
        return None

    def region(self, gate: float) -> Regions | None:
        """What passes a gate, as covering compares it; None where it cannot be compared."""
        return None

    @property
    def open_gate(self) -> float:
        """The gate that everything passes."""
        return float("inf") if self.ascending else float("-inf")

    def passes(self, score: float | None, gate: float) -> bool:
        """Whether a score is as good as a gate."""
        return score is not None and (score <= gate if self.ascending else score >= gate)

    def narrower(self, gate: float, other: float) -> bool:
        """Whether a gate lets less in than another one."""
        return gate < other if self.ascending else gate > other


class RoutedFamily(ABC):
    """How the rows of one family are read by brokers; asked of the family."""

    @abstractmethod
    def subscription(self, row: Mapping[str, Any], settings: Settings) -> RoutedSubscription:
        """A subscription from its row; a ValueError says what is wrong with it."""

    @abstractmethod
    def spoken(self, row: Mapping[str, Any], settings: Settings) -> Spoken:
        """A publication from its row; a ValueError says what is wrong with it."""


def read_one(row: Mapping[str, Any], settings: Settings, read: ReadFew, parse: Parse, what: str) -> Any:
    """One row as the family reads it; a bad one raises `Rejected`."""
    plain = dict(row)
    with suppress(Doubtful):
        return read([plain], settings)
    parsed = parse(to_table([plain]), settings)
    if len(parsed.kept) != 1:
        raise Rejected(parsed.rejects, what)
    return parsed.rows
