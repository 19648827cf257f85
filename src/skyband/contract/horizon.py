"""The horizon: how far back an engine remembers, the widest of all windows it was ever asked for.

It only grows. A publication outside of it is forgotten, and is not found again by a wider window that comes later.
"""

from typing import NamedTuple

import numpy as np

from skyband.table import Window, WindowKind, Windows


class Horizon(NamedTuple):
    """What is kept: whatever is younger than `us` microseconds, and the last `n`, and everything if `unbounded`."""

    us: int = 0
    n: int = 0
    unbounded: bool = False

    def widened(self, window: Window) -> "Horizon":
        """The horizon that also holds this window."""
        if window.kind == WindowKind.TIME:
            return self._replace(us=max(self.us, window.size))
        if window.kind == WindowKind.COUNT:
            return self._replace(n=max(self.n, window.size))
        return self._replace(unbounded=True)

    def widened_by_all(self, windows: Windows) -> "Horizon":
        """The horizon that also holds each of these windows."""
        wide = self
        for kind in np.unique(windows.kind):
            wide = wide.widened(Window(WindowKind(int(kind)), int(windows.size[windows.kind == kind].max())))
        return wide
