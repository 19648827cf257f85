"""The steps of a batch: its commands, then runs of publications and of retractions that take turns."""

import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

from skyband.table.operation import Operation

# What rows of publications ask for: to publish, to withdraw, to take what was kept back, and to let time pass.
PUBLISH, RETRACT, HELD, PASS = Operation.PUBLISH.value, Operation.RETRACT.value, "held", "pass"

KeyT = TypeVar("KeyT", bound=Hashable)


class BatchSteps:
    """The numbers of the steps of a batch, from the first after its commands, and what came of them."""

    def __init__(self, first: int) -> None:
        self._next = first
        self.n_late = 0
        self.n_retracted = 0

    def take(self, n: int) -> int:
        """The first of so many numbers; a step that has no rows left takes one too, so that no two share any."""
        first = self._next
        self._next += max(n, 1)
        return first


def runs(keys: Sequence[KeyT]) -> Iterator[tuple[KeyT, int, int]]:
    """Consecutive rows of the same kind: the kind, and where they begin and end."""
    begin = 0
    for key, group in itertools.groupby(keys):
        end = begin + sum(1 for _ in group)
        yield key, begin, end
        begin = end
