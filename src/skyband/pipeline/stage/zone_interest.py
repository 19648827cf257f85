"""What a zone can be reached by, as the router knows it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from skyband.kernels.array import Bools
from skyband.kernels.ragged import offsets_of
from skyband.pipeline.stage.flags import anywhere
from skyband.zoning import Interest, Together


class Reach:
    """The interest of one zone: that of all its subscriptions, and a closer one while it holds.

    The closer one is computed by the running engine from the answers of that time, and subscriptions that came since
    are added to it.
    """

    def __init__(self, family: str) -> None:
        self.whole = Interest.nothing(family)
        self._close: Interest | None = None
        self._since = Interest.nothing(family)

    def widen(self, more: Interest) -> None:
        """Take new subscriptions in."""
        self.whole = self.whole.joined(more)
        self._since = self._since.joined(more)

    def refresh(self, whole: Interest, close: Interest) -> None:
        """Begin anew with what the engine says of its subscriptions."""
        self.whole, self._close, self._since = whole, close, Interest.nothing(whole.family)

    def loosen(self) -> None:
        """Give the closer interest up."""
        self._close = None

    @property
    def may_widen(self) -> bool:
        """Whether time alone can widen it."""
        return self._close is not None

    @property
    def interests(self) -> tuple[Interest, ...]:
        """What cannot be ruled out is of interest to one of these."""
        return (self.whole,) if self._close is None else (self._close, self._since)


class Reaches:
    """The reaches of all zones, which are held against publications at once."""

    def __init__(self, family: str, n_zones: int) -> None:
        self._each = [Reach(family) for _ in range(n_zones)]
        self._together: Together | None = None

    def __getitem__(self, zone: int) -> Reach:
        return self._each[zone]

    def __iter__(self) -> Iterator[Reach]:
        return iter(self._each)

    def admits(self, rows: Any, now: int) -> Bools:
        """By publication and zone, which cannot be ruled out, up to that time."""
        interests = [its for reach in self._each for its in reach.interests]
        if self._together is None or not self._together.are(interests):
            self._together = Together(interests)
        found = self._together.admits(rows, now)
        ends = offsets_of(np.array([len(reach.interests) for reach in self._each])).tolist()
        return np.stack([anywhere(found[:, begin:end]) for begin, end in pairwise(ends)], axis=1)
