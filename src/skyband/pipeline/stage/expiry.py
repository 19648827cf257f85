"""In which order publications leave a window: by time, or as the oldest beyond so many.

A publication is an *entry*: the slot of its id, and a number that no other has, so that an entry of an id that was
withdrawn is told from one that has the slot now.
"""

import heapq
from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Int64s


class LiveEntries(NamedTuple):
    """Publications with their times."""

    ts: Int64s
    slots: Int64s
    numbers: Int64s

    @classmethod
    def none(cls) -> Self:
        """No publication."""
        return cls(*(np.zeros(0, np.int64) for _ in range(3)))

    def take(self, chosen: Int64s | Bools | slice) -> Self:
        """The chosen ones."""
        return type(self)(*(column[chosen] for column in self))

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """All of these, one after the other."""
        return cls(*(np.concatenate(columns) for columns in zip(cls.none(), *parts, strict=True)))


class TimeOrder:
    """Entries that leave when their time has come, in runs that are sorted; the run that begins first is the first."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, LiveEntries]] = []
        self._n_runs = 0

    def add(self, entries: LiveEntries) -> None:
        """Let these leave later."""
        if len(entries.ts):
            self._push(entries.take(np.argsort(entries.ts, kind="stable")))

    def _push(self, run: LiveEntries) -> None:
        self._n_runs += 1
        heapq.heappush(self._runs, (int(run.ts[0]), self._n_runs, run))

    def pop(self, until: int) -> LiveEntries:
        """Take out what is of this time or before."""
        found = []
        while self._runs and self._runs[0][0] <= until:
            run = heapq.heappop(self._runs)[2]
            end = int(np.searchsorted(run.ts, until, "right"))
            found.append(run.take(slice(0, end)))
            if end < len(run.ts):
                self._push(run.take(slice(end, None)))
        return LiveEntries.joined(found)

    def all(self) -> LiveEntries:
        """All that have not left."""
        return LiveEntries.joined(run for _, _, run in self._runs)


class CountOrder:
    """Entries of which the last so many stay: by time, then by id. Withdrawn ones keep their places, and their ids."""

    def __init__(self, kind: pa.DataType) -> None:
        self.entries = LiveEntries.none()
        self._withdrawn = np.zeros(0, np.int64)
        self._its_ids = pa.array([], kind)

    def add(self, entries: LiveEntries) -> None:
        """Let these be among the last ones."""
        self.entries = LiveEntries.joined([self.entries, entries])

    def withdraw(self, numbers: Int64s, ids: pa.Array) -> None:
        """Keep the ids of entries whose slots are taken back."""
        order = np.argsort(np.concatenate([self._withdrawn, numbers]), kind="stable")
        self._withdrawn = np.concatenate([self._withdrawn, numbers])[order]
        self._its_ids = pa.concat_arrays([self._its_ids, ids]).take(pa.array(order))

    def is_withdrawn(self, entries: LiveEntries) -> Bools:
        """Which of these were withdrawn."""
        return np.isin(entries.numbers, self._withdrawn)

    def ids(self, entries: LiveEntries, live: pa.Array) -> pa.Array:
        """The ids of entries, given those of the ones that were not withdrawn."""
        gone = self.is_withdrawn(entries)
        at = np.searchsorted(self._withdrawn, entries.numbers[gone])
        place = np.empty(len(gone), np.int64)
        place[~gone], place[gone] = np.arange(len(live)), len(live) + np.arange(len(at))
        return pa.concat_arrays([live, self._its_ids.take(pa.array(at))]).take(pa.array(place))

    def first(self, n: int) -> tuple[Int64s, Int64s]:
        """Where the first n are as far as times tell, and where those of the last such time are."""
        if n <= 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        last = np.partition(self.entries.ts, n - 1)[n - 1]
        return np.flatnonzero(self.entries.ts < last), np.flatnonzero(self.entries.ts == last)

    def drop(self, chosen: Int64s) -> LiveEntries:
        """Take these out."""
        found, left = self.entries.take(chosen), np.ones(len(self.entries.ts), np.bool_)
        left[chosen] = False
        self.entries = self.entries.take(left)
        stay = ~np.isin(self._withdrawn, found.numbers)
        self._withdrawn, self._its_ids = self._withdrawn[stay], self._its_ids.filter(pa.array(stay))
        return found


def in_order(ts: Int64s, ids: pa.Array, numbers: Int64s) -> Int64s:
    """Entries by time, then by id, then by number."""
    table = pa.table({"ts": ts, "id": ids, "number": numbers})
    by = [(name, "ascending") for name in table.column_names]
    found: Int64s = pc.sort_indices(table, sort_keys=by).to_numpy().astype(np.int64)
    return found
