"""Objects that change: each event starts from what the one before left."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s

Heights = list[float | None]
"""The y of each object; None for a deleted one."""


class EventDraws(NamedTuple):
    """What chance says of some events: the object, what kind of event, two numbers for y, and a new place."""

    chosen: Int64s
    kinds: Floats
    steps: Floats
    fresh: Floats
    places: Floats


class LiveObjects:
    """The objects as they are now, and how an event changes one."""

    def __init__(
        self,
        places: Floats,
        heights: Heights,
        delete_share: float,
        move_share: float,
        new_y: Callable[[float, float, float], float],
    ) -> None:
        self.places = places
        self.heights = heights
        self.deletes_below = delete_share
        self.moves_below = delete_share + move_share
        self.new_y = new_y

    def apply(self, draws: EventDraws) -> tuple[Floats, Heights]:
        """Where each event's object is and its y, after the event; a million a second."""
        n_objects = len(self.places)
        places = np.concatenate((self.places, draws.places))
        at = list(range(n_objects))
        seen: list[int] = []
        heights: Heights = []
        events = zip(*(column.tolist() for column in draws[:4]), strict=True)
        for event, (thing, kind, step, fresh) in enumerate(events):
            y = self.heights[thing]
            if y is not None and self.deletes_below <= kind < self.moves_below:
                at[thing] = n_objects + event
            else:
                self.heights[thing] = self._next(y, kind, step, fresh)
            seen.append(at[thing])
            heights.append(self.heights[thing])
        self.places = places[at]
        return places[seen], heights

    def _next(self, y: float | None, kind: float, step: float, fresh: float) -> float | None:
        if y is None:
            return fresh
        return None if kind < self.deletes_below else self.new_y(y, step, fresh)


def jump(y: float, coin: float, share: float) -> float:
    """Anywhere above the old y, or anywhere below it."""
    return y + (1.0 - y) * share if coin < 0.5 else y * share


def drift(y: float, step: float, _: float) -> float:
    """The old y plus a step, reflected at the ends of [0, 1]."""
    folded = (y + step) % 2.0
    return 2.0 - folded if folded > 1.0 else folded
