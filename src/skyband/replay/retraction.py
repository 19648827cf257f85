"""Retractions among the publications of a source: which rows they are, and the pieces that a run takes in turn."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FARTHEST, AnyEngine
from skyband.contract.checked import Checked
from skyband.kernels.array import Bools, Int64s
from skyband.table import Reject, shorten
from skyband.table.operation import retracted

# Earlier than any time.
_NEVER = -(2**62)


class Retractions(NamedTuple):
    """Rows that retract: their places in the source, the ids, and the times of those that are `timed`."""

    places: Int64s
    ids: pa.Array
    ts: Int64s
    timed: Bools

    def take(self, some: Int64s) -> "Retractions":
        """Some of these rows."""
        return Retractions(self.places[some], self.ids.take(pa.array(some)), self.ts[some], self.timed[some])

    @property
    def times(self) -> Int64s:
        """The time that each row brings; one without a time brings none."""
        return np.where(self.timed, self.ts, _NEVER)


NO_RETRACTIONS = Retractions(
    np.zeros(0, np.int64), pa.array([], pa.string()), np.zeros(0, np.int64), np.zeros(0, np.bool_)
)


class Piece(NamedTuple):
    """Consecutive rows of one sort: the publications, or else the retractions, from `start` to `stop`."""

    publishes: bool
    start: int
    stop: int


def retractions_of(checked: Checked) -> tuple[Retractions, list[Reject]]:
    """The rows of a source that retract, and those of them whose time is too far away."""
    if not len(checked.left_out):
        return NO_RETRACTIONS, []
    found = Retractions(checked.left_out, *retracted(checked.reading.table, checked.left_out))
    far = found.timed & (np.abs(found.ts) > FARTHEST)
    numbers = checked.reading.row_numbers[found.places]
    why = "lies beyond ±2**61 microseconds"
    rejects = [Reject(int(numbers[i]), "ts", shorten(int(found.ts[i])), why) for i in np.flatnonzero(far)]
    return found.take(np.flatnonzero(~far)), rejects


def retracted_by(at: int, retractions: Retractions, places: Int64s, ids: pa.Array, ts: Int64s) -> Retractions:
    """Those that happened by a time: one without a time happened at the largest of all rows before it.

    `places`, `ids` and `ts` are those of the publications. One whose id was published again, by a row that comes later
    in the source and tells an earlier time, had to happen before that.
    """
    every = np.concatenate([places, retractions.places])
    order = np.argsort(every)
    so_far = np.empty(len(every), np.int64)
    so_far[order] = np.maximum.accumulate(np.concatenate([ts, retractions.times])[order])
    happened = np.where(retractions.timed, retractions.ts, so_far[len(places) :]) <= at
    needed = ~happened & _come_again(retractions, places[ts <= at], ids.filter(pa.array(ts <= at)))
    return retractions._replace(timed=retractions.timed & ~needed).take(np.flatnonzero(happened | needed))


def _come_again(retractions: Retractions, places: Int64s, ids: pa.Array) -> Bools:
    """Which of the retracted ids these publications have again, further on in the source."""
    asked = pc.is_in(ids, value_set=retractions.ids).to_numpy(zero_copy_only=False)
    last = dict(zip(ids.filter(pa.array(asked)).to_pylist(), places[asked].tolist(), strict=True))
    found = zip(retractions.ids.to_pylist(), retractions.places.tolist(), strict=True)
    return np.array([last.get(id, -1) > place for id, place in found], np.bool_)


def pieces(publications: Int64s, retractions: Int64s, batch: int) -> Iterator[Piece]:
    """All rows in the order of the source, by their places: publications in batches, retractions in whole runs.

    So where a batch ends depends on the rows and on how long it may be, and on nothing else.
    """
    before = np.searchsorted(publications, retractions)
    starts = np.flatnonzero(np.diff(before, prepend=-1)).tolist()
    published = 0
    for start, stop in pairwise([*starts, len(retractions)]):
        yield from _batches(published, int(before[start]), batch)
        yield Piece(False, start, stop)
        published = int(before[start])
    yield from _batches(published, len(publications), batch)


def _batches(start: int, stop: int, batch: int) -> Iterator[Piece]:
    for first in range(start, stop, batch):
        yield Piece(True, first, min(first + batch, stop))


def withdraw(engine: AnyEngine, retractions: Retractions) -> Iterator[pa.Table]:
    """Retract one run of rows; time first advances to that of a row where it is later than now."""
    now = _NEVER if engine.now is None else engine.now
    so_far = np.maximum.accumulate(np.maximum(retractions.times, now))
    later = set(np.flatnonzero(np.diff(so_far, prepend=now) > 0).tolist())
    for start, stop in pairwise(sorted({0, *later, len(so_far)})):
        if start in later:
            yield engine.advance(int(so_far[start])).table()
        yield engine.retract(retractions.ids.slice(start, stop - start))
