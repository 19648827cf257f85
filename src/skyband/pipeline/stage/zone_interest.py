"""What a zone can be reached by, as the router knows it."""

from typing import Any

from skyband.kernels.array import Bools
from skyband.zoning import Interest


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

    def admits(self, rows: Any, now: int) -> Bools:
        """Which publications it cannot rule out, up to that time."""
        if self._close is None:
            return self.whole.admits(rows, now)
        return self._close.admits(rows, now) | self._since.admits(rows, now)
