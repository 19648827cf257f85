"""A change log over time: how many changes each stretch of it has, and who was in which top from when to when."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int64s
from skyband.replay.source import tells_time
from skyband.table import Op, Rejected, Source, UnreadableFile, read_table
from skyband.table.duration import UNITS
from skyband.table.instant import instants
from skyband.table.sieve import Sieve

COLUMNS = ("subscription", "publication", "op", "score", "at")
Id = int | str

# Lengths of stretches that people can read off an axis, in microseconds.
STEPS = (
    *(digit * 10**power for power in range(6) for digit in (1, 2, 5)),
    *(n * UNITS["s"] for n in (1, 2, 5, 10, 15, 30)),
    *(n * UNITS["m"] for n in (1, 2, 5, 10, 15, 30)),
    *(n * UNITS["h"] for n in (1, 2, 3, 6, 12)),
    *(digit * 10**power * UNITS["d"] for power in range(9) for digit in (1, 2, 5)),
)


class Stay(NamedTuple):
    """A publication in a top: its last score there, and from when to when in microseconds; None if it has not left."""

    publication: Id
    score: float
    start: int
    end: int | None


class ChangeLogRows(NamedTuple):
    """A change log in its own order; `timed` if its times are dates rather than integers."""

    name: str
    subscriptions: list[Id]
    publications: list[Id]
    ops: list[str]
    scores: list[float]
    at: Int64s
    timed: bool

    def stays(self, subscription: Id) -> list[Stay]:
        """Who was in the top of a subscription, in the order of entering."""
        found: list[Stay] = []
        places: dict[Id, int] = {}
        for row in (row for row, who in enumerate(self.subscriptions) if who == subscription):
            publication, time = self.publications[row], int(self.at[row])
            if self.ops[row] == Op.ENTER:
                places[publication] = len(found)
                found.append(Stay(publication, self.scores[row], time, None))
            elif publication in places:
                place = places[publication]
                changed = {"end": time} if self.ops[row] == Op.LEAVE else {"score": self.scores[row]}
                found[place] = found[place]._replace(**changed)
        return found

    def busiest(self, n: int) -> list[Id]:
        """The subscriptions with the most changes, of equals the first in the log first."""
        return [subscription for subscription, _ in Counter(self.subscriptions).most_common(n)]

    def named(self, texts: Sequence[str]) -> list[Id]:
        """The subscriptions that are written so; a ValueError names one that has no changes."""
        known = {str(subscription): subscription for subscription in self.subscriptions}
        for text in texts:
            if text not in known:
                raise ValueError(f"{self.name} has no changes of a subscription {text}.")
        return [known[text] for text in texts]


class Stretches(NamedTuple):
    """The time of a log, cut into stretches of `step` microseconds from `start` on, with the changes of each by op."""

    start: int
    step: int
    counts: dict[str, Int64s]

    @property
    def end(self) -> int:
        """Where the last stretch ends."""
        return self.start + self.step * len(next(iter(self.counts.values())))


def read_changes(source: Source) -> ChangeLogRows:
    """A change log from a file or a table."""
    reading, name = read_table(source), str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else ""
    name = name or "the table"
    missing = [column for column in COLUMNS if column not in reading.table.column_names]
    if missing:
        found = ", ".join(reading.table.column_names) or "none"
        raise UnreadableFile(
            f'{name} is no change log: it has no column "{missing[0]}" (columns found: {found}). '
            "Answers of ranked have no time, and are not plotted."
        )
    sieve = Sieve(reading.table, "changes")
    at = instants(sieve, "at")
    rejects = [*reading.rejects, *sieve.done(None).rejects]
    if rejects:
        raise Rejected(rejects, name)
    subscriptions, publications, ops, scores = (sieve.values(column) for column in COLUMNS[:-1])
    return ChangeLogRows(name, subscriptions, publications, ops, scores, at, tells_time(reading.table, "at"))


def stretches(log: ChangeLogRows, n_most: int) -> Stretches:
    """The log cut into at most so many stretches, of a length that people can read off an axis."""
    first, last = (int(log.at.min()), int(log.at.max())) if len(log.at) else (0, 0)
    step = next((step for step in STEPS if last // step - first // step < n_most), STEPS[-1])
    start = first // step * step
    places, n_stretches = (log.at - start) // step, (last - start) // step + 1
    ops = np.array(log.ops, object)
    counts = {op: np.bincount(places[ops == op], minlength=n_stretches) for op in _ops(log)}
    return Stretches(start, step, counts)


def _ops(log: ChangeLogRows) -> Iterator[str]:
    """Enter and leave, and move where there are any."""
    yield from (Op.ENTER.value, Op.LEAVE.value)
    if Op.MOVE.value in log.ops:
        yield Op.MOVE.value
