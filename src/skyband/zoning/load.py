"""What a subscription costs the engine of its zone: one, and as much again for each time the sample reaches it.

How often that is, the division of its family says.
"""

from typing import Any

import numpy as np

from skyband.kernels.array import Floats
from skyband.zoning.division import division_of

# Publications beyond these are left out where each is held against each subscription.
MOST_COMPARED = 1_000
_CHUNK = 1_000_000


def loads(family: str, subscriptions: Any, publications: Any) -> Floats:
    """The load of each subscription by a sample of publications."""
    if len(publications.ids) == 0:
        return np.ones(len(subscriptions.ids))
    return 1.0 + division_of(family).reached(subscriptions, publications)


def some_of(points: Floats) -> tuple[Floats, float]:
    """Some of the points, evenly chosen, and which share of them that is."""
    if len(points) <= MOST_COMPARED:
        return points, 1.0
    return points[np.arange(MOST_COMPARED) * len(points) // MOST_COMPARED], MOST_COMPARED / len(points)


def chunks(n_rows: int, cost: int) -> list[slice]:
    """Slices of the rows, none of which takes much memory at so many numbers a row."""
    size = max(_CHUNK // max(cost, 1), 1)
    return [slice(start, start + size) for start in range(0, n_rows, size)]
