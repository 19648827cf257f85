"""Places on Earth for an index of the plane: to it they lie on a flat map, on which nothing is too far apart.

So whoever is within a gate on Earth is so on the map. What the index finds is scored again, by the distance on Earth.
"""

from collections.abc import Callable

import numpy as np

from skyband.geotext.kernels.earth import score_again
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.earth import MAP_DIAGONAL
from skyband.topk.index import WordIndex
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, Questions

# Far above what rounding does to scores of magnitude 1.
SLACK = 1e-9
# Below the coordinates on the sphere are those on the map.
MAP_ROWS = slice(3, 5)


def on_map(contents: Contents) -> Contents:
    """The same messages, with their places on the map for points."""
    return contents._replace(point=contents.sphere[MAP_ROWS], diagonal=MAP_DIAGONAL)


class OnEarth:
    """Subscriptions to messages on Earth, in an index of the plane; `asked_and_said` has what scores depend on."""

    def __init__(self, index: WordIndex, asked_and_said: Callable[[], tuple[Questions, Floats]]) -> None:
        self.index = index
        self._asked_and_said = asked_and_said

    @property
    def n_bytes(self) -> int:
        return self.index.n_bytes

    @property
    def counters(self) -> dict[str, int]:
        """What the index has looked at."""
        return self.index.counters

    def add(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        """Take in new subscriptions; questions are by slot."""
        self.index.add(slots, questions._replace(centre=questions.sphere[:, MAP_ROWS]), np.asarray(gates) + SLACK)

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        self.index.remove(slots)

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        self.index.adjust(slots, gates + SLACK)

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add every pair of a subscription and a message from lo to hi that is within the gate."""
        since = int(into.length[0])
        into = self.index.route(on_map(contents), lo, hi, into, threads)
        score_again(into, since, contents, *self._asked_and_said())
        return into

    def check(self) -> None:
        """Assert the invariants."""
        self.index.check()
