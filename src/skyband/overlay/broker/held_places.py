"""What a broker holds back, by place: which of it a proxy may let in, found by distance at once.

This is the other way round than `skyband.overlay.broker.screen`: one proxy, and many publications. What is left out is
refused for certain; a proxy that does not score by distance may let in anything.
"""

from typing import Generic, Protocol, TypeVar

import numpy as np

from skyband.kernels.array import Floats
from skyband.overlay.broker.frame import Proxy, Publication
from skyband.overlay.broker.screen import reach_of, widest_gate

ROOM = 64


class Retained(Protocol):
    """Something that is kept of a publication."""

    @property
    def publication(self) -> Publication:
        """The publication."""


RetainedT = TypeVar("RetainedT", bound=Retained)


class HeldPlaces(Generic[RetainedT]):
    """Held publications in the order in which they came; only the oldest can go.

    Invariant: row i of the places is that of the i-th of the list. Those before `_first` have gone. A place with
    another number of coordinates than the first one has no numbers here, and is near to nothing.
    """

    def __init__(self) -> None:
        self._kept: list[RetainedT] = []
        self._places: Floats = np.zeros((0, 0))
        self._first = 0

    def __len__(self) -> int:
        return len(self._kept) - self._first

    def add(self, kept: RetainedT) -> None:
        """One more, the latest."""
        place = kept.publication.spoken.place
        if len(self._kept) == len(self._places):
            self._make_room(len(place))
        self._places[len(self._kept)] = place if len(place) == self._places.shape[1] else np.nan
        self._kept.append(kept)

    def drop_oldest(self) -> None:
        """The oldest has gone."""
        self._first += 1

    def near(self, proxy: Proxy, now: int) -> list[tuple[int, RetainedT]]:
        """What a proxy may let in up to a time, with numbers that grow in the order in which it came."""
        rows, centre = range(self._first, len(self._kept)), proxy.asked.centre_of_score
        if not rows or centre is None or len(centre) != self._places.shape[1]:
            return [(row, self._kept[row]) for row in rows]
        # What overflows is farther away than any gate reaches.
        with np.errstate(over="ignore"):
            difference = self._places[self._first : len(self._kept)] - centre
            is_near = (difference * difference).sum(axis=1) <= reach_of(widest_gate(proxy, now))
        return [(row, self._kept[row]) for row in (np.flatnonzero(is_near) + self._first).tolist()]

    def check(self) -> None:
        """Assert the invariant."""
        assert 0 <= self._first <= len(self._kept) <= len(self._places)
        for kept, row in zip(self._kept, self._places, strict=False):
            place = kept.publication.spoken.place
            assert tuple(row.tolist()) == place if len(place) == len(row) else np.isnan(row).all()

    def _make_room(self, dims: int) -> None:
        """Close the gap that the gone have left; the room doubles if half of it is in use even so."""
        kept = self._kept[self._first :]
        dims = self._places.shape[1] if kept else dims
        places = np.full((max(ROOM, 2 * len(kept)), dims), np.nan)
        if kept:
            places[: len(kept)] = self._places[self._first : len(self._kept)]
        self._kept, self._places, self._first = kept, places, 0
