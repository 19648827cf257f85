"""The steps of a batch: its commands, then runs of publications and of retractions that take turns."""

import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Int8s, Int64s
from skyband.table.operation import Operation

# What rows of publications ask for: to publish, to withdraw, to take what was kept back, and to let time pass.
PUBLISH, RETRACT, HELD, PASS = Operation.PUBLISH.value, Operation.RETRACT.value, "held", "pass"

# What rows ask for by numbers: those of commands, then those of publications, from PUBLISHES on; NOTHING is a bad row.
NUMBERED = ("subscribe", "unsubscribe", "resize", "advance", PUBLISH, RETRACT, HELD, PASS)
SUBSCRIBES, UNSUBSCRIBES, RESIZES, ADVANCES, PUBLISHES, RETRACTS, HOLDS, PASSES = range(len(NUMBERED))
NOTHING = -1
_WORDS = pa.array(NUMBERED)

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


def numbers_of(ops: pa.ChunkedArray) -> Int8s:
    """What rows ask for, as numbers."""
    found = pc.fill_null(pc.index_in(ops, value_set=_WORDS), NOTHING)
    numbers: Int8s = found.to_numpy().astype(np.int8)
    return numbers


def words_of(numbers: Int8s) -> pa.Array:
    """What rows ask for, as words."""
    return _WORDS.take(pa.array(numbers))


def is_command(numbers: Int8s) -> Bools:
    """Which rows are commands."""
    found: Bools = (numbers >= SUBSCRIBES) & (numbers <= ADVANCES)
    return found


def edges_of(*keys: Int8s | Int64s) -> Iterator[tuple[int, int]]:
    """Where runs of equal keys begin and end."""
    n = len(keys[0])
    differs = np.zeros(max(n - 1, 0), np.bool_)
    for key in keys:
        differs |= key[1:] != key[:-1]
    edges = [0, *(np.flatnonzero(differs) + 1).tolist(), n] if n else []
    return itertools.pairwise(edges)


def runs(keys: Sequence[KeyT]) -> Iterator[tuple[KeyT, int, int]]:
    """Consecutive rows of the same kind: the kind, and where they begin and end."""
    begin = 0
    for key, group in itertools.groupby(keys):
        end = begin + sum(1 for _ in group)
        yield key, begin, end
        begin = end
