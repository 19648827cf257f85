"""Which of many proxies may let a publication in, found by distance at once before they are asked one by one.

A proxy whose score is the distance to a place lets in what is as near as its gate. All of these are compared in a few
calls over arrays, with a margin for rounding, so that what is left out is refused for certain. The others are always
asked. Gates are those that hold until the next step of a staircase; what has stepped since is looked up again.
"""

from collections import defaultdict
from typing import Any

import numpy as np

from skyband.contract.tops import Id
from skyband.kernels.array import Floats
from skyband.overlay.broker.frame import Proxy
from skyband.overlay.broker.step import FOR_EVER, gate_at, next_step

# Fewer proxies are asked one by one in less time.
WORTHWHILE = 24
# More than a distance of a thousand coordinates can be rounded by.
MARGIN = 1.0 + 1e-9
TINY = float(np.finfo(np.float64).tiny)

ScreenKey = tuple[int, Id]


def reach_of(gate: float) -> float:
    """The square of the largest distance that may pass a gate; negative where none can."""
    return gate * gate * MARGIN + TINY if gate >= 0.0 else -1.0


def widest_gate(proxy: Proxy, now: int) -> float:
    """The widest gate that a proxy has had by a time: that of a lease stays as it was when the lease ended."""
    return gate_at(proxy.steps, now if proxy.closes is None else min(now, proxy.closes - 1))


class ProxyScreen:
    """Proxies by destination and subscription; those that score by distance have a row."""

    def __init__(self) -> None:
        self._rows: dict[ScreenKey, int] = {}
        self._proxies: list[Proxy | None] = []
        self._numbers: list[int] = []
        self._free: list[int] = []
        self._others: dict[ScreenKey, Proxy] = {}
        self._centres: Floats = np.zeros((0, 0))
        self._reach: Floats = np.zeros(0)
        self._until = np.zeros(0, np.int64)
        self._next = FOR_EVER

    @property
    def has_any(self) -> bool:
        """Whether there are proxies at all: floods need none."""
        return bool(self._rows or self._others)

    @property
    def is_worthwhile(self) -> bool:
        """Whether to ask here first."""
        return len(self._rows) >= WORTHWHILE

    def put(self, number: int, proxy: Proxy, now: int) -> None:
        """A new proxy, or a new version of one."""
        key, centre = (number, proxy.asked.id), proxy.asked.centre_of_score
        if centre is None or (len(self._proxies) and len(centre) != self._centres.shape[1]):
            self.drop(number, proxy.asked.id)
            self._others[key] = proxy
            return
        self._others.pop(key, None)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._new_row(len(centre))
        self._proxies[row], self._numbers[row], self._centres[row] = proxy, number, centre
        self._look(row, proxy, now)

    def drop(self, number: int, id: Id) -> None:
        """A proxy has gone."""
        self._others.pop((number, id), None)
        row = self._rows.pop((number, id), None)
        if row is not None:
            self._proxies[row], self._reach[row], self._until[row] = None, -1.0, FOR_EVER
            self._free.append(row)

    def near(self, place: tuple[float, ...], now: int) -> dict[int, list[Proxy]]:
        """The proxies that may let in a publication at a place, by destination."""
        if now >= self._next:
            self._look_again(now)
        found: dict[int, list[Proxy]] = defaultdict(list)
        for row in self._rows_near(place):
            proxy = self._proxies[row]
            assert proxy is not None
            found[self._numbers[row]].append(proxy)
        for (number, _), proxy in self._others.items():
            found[number].append(proxy)
        return found

    def _rows_near(self, place: tuple[float, ...]) -> list[int]:
        if len(place) != self._centres.shape[1]:
            return []
        # What overflows is farther away than any gate reaches.
        with np.errstate(over="ignore"):
            difference = self._centres - place
            is_near = (difference * difference).sum(axis=1) <= self._reach
        rows: list[int] = np.flatnonzero(is_near).tolist()
        return rows

    def _look_again(self, now: int) -> None:
        for row in np.flatnonzero(self._until <= now).tolist():
            proxy = self._proxies[row]
            assert proxy is not None
            self._look(row, proxy, now)
        self._next = int(self._until.min(initial=FOR_EVER))

    def _look(self, row: int, proxy: Proxy, now: int) -> None:
        self._reach[row] = reach_of(widest_gate(proxy, now))
        self._until[row] = next_step(proxy.steps, now)
        self._next = min(self._next, int(self._until[row]))

    def _new_row(self, dims: int) -> int:
        if not self._free:
            self._grow(dims)
        return self._free.pop()

    def _grow(self, dims: int) -> None:
        n, more = len(self._proxies), max(16, len(self._proxies))
        extra: list[tuple[str, Any]] = [
            ("_centres", np.zeros((more, dims))),
            ("_reach", np.full(more, -1.0)),
            ("_until", np.full(more, FOR_EVER)),
        ]
        for name, rows in extra:
            before = getattr(self, name)
            setattr(self, name, np.concatenate([before, rows]) if n else rows)
        self._proxies += [None] * more
        self._numbers += [-1] * more
        self._free += range(n + more - 1, n - 1, -1)
