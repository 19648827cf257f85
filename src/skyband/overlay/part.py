"""Parts of space: boxes that are split in two again and again, and where to split them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.overlay.kernels.zone import LEAF
from skyband.ranges.kernels.message import FARTHEST


@dataclass(slots=True, eq=False)
class ZonePart:
    """A box of space: a zone, or what was split at `value` in dimension `dim` into two halves."""

    low: Floats
    high: Floats
    turn: int
    depth: int
    parent: "ZonePart | None"
    zone: int
    dim: int = LEAF
    value: float = 0.0
    halves: "tuple[ZonePart, ...]" = ()

    def split(self, dim: int, value: float, zones: tuple[int, int]) -> None:
        """Become two zones with these numbers."""
        halves = [
            ZonePart(self.low.copy(), self.high.copy(), (dim + 1) % len(self.low), self.depth + 1, self, zone)
            for zone in zones
        ]
        halves[0].high[dim] = halves[1].low[dim] = value
        self.dim, self.value, self.halves, self.zone = dim, value, tuple(halves), LEAF

    def walk(self) -> "Iterator[ZonePart]":
        """This part and all within, each before its halves."""
        todo = [self]
        while todo:
            part = todo.pop()
            yield part
            todo += part.halves

    def pairs(self) -> "Iterator[ZonePart]":
        """The parts within whose halves are zones both."""
        return (part for part in self.walk() if part.halves and not any(half.halves for half in part.halves))


def _between(low: float, high: float) -> float:
    """A number more than one and at most the other."""
    middle = 0.5 * low + 0.5 * high
    return middle if middle > low else high


def median_cut(points: Floats, rows: Int64s, turn: int) -> tuple[int, float] | None:
    """The dimension whose turn it is, or the next that tells these points apart, and where it halves them best."""
    for dim in ((turn + i) % points.shape[1] for i in range(points.shape[1])):
        values = points[rows, dim]
        if len(values) < 2:
            return None
        median = np.partition(values, len(values) // 2)[len(values) // 2]
        below, above = values[values < median], values[values > median]
        if len(below) > 0 and len(below) >= len(above):
            return dim, _between(float(below.max()), float(median))
        if len(above) > 0:
            return dim, _between(float(median), float(above.min()))
    return None


def middle_cut(part: ZonePart) -> tuple[int, float] | None:
    """The dimension whose turn it is, or the next that is wide enough, and some number within."""
    for dim in ((part.turn + i) % len(part.low) for i in range(len(part.low))):
        low, high = float(part.low[dim]), float(part.high[dim])
        if low == -np.inf:
            value = 0.0 if high == np.inf else high - max(1.0, abs(high))
        else:
            value = low + max(1.0, abs(low)) if high == np.inf else _between(low, high)
        # Nothing lies below the least number that there is.
        if max(low, -FARTHEST) < value < high:
            return dim, value
    return None
