"""Brute force for covering: every box held against every other one."""

import math
from collections.abc import Sequence

from tests.blackbox.oracle import Row, vector

Box = list[tuple[float, float]]


def box(row: Row, domain: tuple[float, float, bool] | None) -> Box | None:
    """The ranges of a covering subscription, of the values in the domain; None if no value lies in one."""
    ranges = []
    for lo, hi in zip(vector(row["lo"]), vector(row["hi"]), strict=True):
        low, high = -math.inf if lo is None else lo, math.inf if hi is None else hi
        if domain is not None:
            low, high = max(low, domain[0]), min(high, domain[1])
            low, high = (math.ceil(low), math.floor(high)) if domain[2] else (low, high)
        if low > high:
            return None
        ranges.append((low, high))
    return ranges


def covers(wide: Box, narrow: Box) -> bool:
    """Whether each range of a box contains that of another one."""
    return all(w[0] <= n[0] and n[1] <= w[1] for w, n in zip(wide, narrow, strict=True))


def uncovered(boxes: Sequence[Box]) -> list[int]:
    """The numbers of the boxes that no other one covers; the first of equal ones stands for all."""
    return [
        i
        for i, narrow in enumerate(boxes)
        if not any(j != i and covers(wide, narrow) and (wide != narrow or j < i) for j, wide in enumerate(boxes))
    ]
