"""The horizon: how far back an engine remembers, the widest of all windows it was ever asked for.

It only grows. A publication outside of it is forgotten, and is not found again by a wider window that comes later.
"""

from typing import NamedTuple

from skyband.kernels.extreme import largest
from skyband.kernels.slots import each_kind
from skyband.table import Window, WindowKind, Windows


class Horizon(NamedTuple):
    """What is kept: whatever is younger than `us` microseconds, and the last `n`, and everything if `unbounded`."""

    us: int = 0
    n: int = 0
    unbounded: bool = False

    def widened(self, window: Window) -> "Horizon":
        """The horizon that also holds this window."""
        return self._widened(window.kind, window.size)

    def widened_by_all(self, windows: Windows) -> "Horizon":
        """The horizon that also holds each of these windows."""
        wide = self
        for kind, some in each_kind(windows.kind):
            wide = wide._widened(kind, largest(windows.size[some]))
        return wide

    def _widened(self, kind: int, size: int) -> "Horizon":
        if kind == WindowKind.TIME:
            return self if size <= self.us else self._replace(us=size)
        if kind == WindowKind.COUNT:
            return self if size <= self.n else self._replace(n=size)
        return self if self.unbounded else self._replace(unbounded=True)
