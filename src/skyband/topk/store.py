"""The live publications: arrays in order of arrival, and a timeline in order of recency.

A publication has a number (`base` + its index, never reused) and a *stamp*: its place in the order of (ts, id), counted
from the first publication ever. Stamps of live publications are consecutive, so the last n are those with the n largest
stamps, and what any window forgets is always a beginning of the timeline. A publication that arrives out of order takes
its place and moves the stamps behind it by one.

A publication that is retracted keeps its place in the timeline, and so in every window that counts publications, until
it is forgotten like all others. Its stamp is written less RETRACTED, which is below every floor, so no search finds it;
its id is free for another publication, which is the more recent one if both have the same ts.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FARTHEST, Horizon
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.growth import grown, grown_all
from skyband.kernels.idmap import IdMap
from skyband.kernels.order import is_strictly_ascending
from skyband.topk.kernels.scan import RETRACTED, Live, Published
from skyband.topk.kernels.score import Contents

# Wider windows hold everything, since times lie within ±FARTHEST; and this much more than a time fits 64 bits.
WIDEST = 2 * FARTHEST + 1

# Coordinates on the sphere, one in a column, of places, one in a row.
ToSphere = Callable[[Floats], Floats]


class Arrivals(NamedTuple):
    """Contents of publications that arrive: points by row, and terms as lists laid end to end."""

    ids: Any
    ts: Int64s
    points: Floats
    norms: Floats
    signatures: Int64s
    offsets: Int64s
    terms: Int64s
    weights: Floats


def by_recency(ts: Int64s, ids: pa.Array) -> Int64s:
    """The rows from the oldest to the most recent: by ts, then by id."""
    if is_strictly_ascending(ts):
        return np.arange(len(ts), dtype=np.int64)
    if pa.types.is_integer(ids.type):
        return np.lexsort((ids.to_numpy(), ts))
    keys = [("ts", "ascending"), ("id", "ascending")]
    return np.array(pc.sort_indices(pa.table({"ts": ts, "id": ids}), sort_keys=keys), np.int64)


class Store:
    """Publications that are live for at least one window."""

    def __init__(self, dims: int, diagonal: float) -> None:
        self.ids = IdMap()
        self.base = 0
        self.head = 0
        self.tail = 0
        self.ts = np.zeros(0, np.int64)
        self.stamp = np.zeros(0, np.int64)
        nothing = np.zeros(0, np.int64)
        self.contents = Contents(
            np.zeros((dims, 0)), np.zeros(0), nothing, nothing, nothing, nothing, np.zeros(0), diagonal
        )
        self._n_terms = 0
        self._to_sphere: ToSphere | None = None
        # timeline[i] is the number of the publication with stamp `origin + i`, for first <= i < last.
        self._timeline = np.zeros(0, np.int64)
        self._first = 0
        self._last = 0
        self._origin = 0
        # The ids of retracted publications, by number.
        self._retracted: dict[int, object] = {}

    @property
    def size(self) -> int:
        return self._last - self._first

    @property
    def floor(self) -> int:
        """The least live stamp."""
        return self._origin + self._first

    @property
    def stamps_end(self) -> int:
        """One more than the largest stamp."""
        return self._origin + self._last

    @property
    def latest(self) -> tuple[int, object] | None:
        """The ts and id of the most recent publication."""
        if not self.size:
            return None
        index = self._timeline[self._last - 1 : self._last] - self.base
        return int(self.ts[index[0]]), self.ids_of(index)[0].as_py()

    @property
    def latest_ts(self) -> int | None:
        """The ts of the most recent publication."""
        return self._ts_at(self._last - 1) if self.size else None

    @property
    def live(self) -> Live:
        return Live(self.ts, self.stamp, self.base, self.head, self.floor, self._timeline, self._origin)

    @property
    def published(self) -> Published:
        return Published(self.contents, self.live)

    @property
    def n_bytes(self) -> int:
        held = (self.ts, self.stamp, self._timeline, *self.contents)
        return self.ids.n_bytes + sum(array.nbytes for array in held if isinstance(array, np.ndarray))

    def put_on_sphere(self, to_sphere: ToSphere) -> None:
        """Have points on the sphere as well from now on, those that are stored and those that come."""
        if self._to_sphere is None:
            self._to_sphere = to_sphere
            found = to_sphere(np.ascontiguousarray(self.contents.point[:, : self.tail].T))
            # As much room as all else has, since they grow together.
            sphere = np.zeros((len(found), len(self.ts)))
            sphere[:, : self.tail] = found
            self.contents = self.contents._replace(sphere=sphere)

    def indices(self) -> Int64s:
        """The indices of the publications that have a place, the retracted ones among them, in order of arrival."""
        return self.head + np.flatnonzero(_places(self.stamp[self.head : self.tail]) >= self.floor)

    def is_retracted(self, indices: Int64s) -> Bools:
        """Which of these publications were retracted."""
        retracted: Bools = self.stamp[indices] < 0
        return retracted

    def ids_of(self, indices: Int64s) -> pa.Array:
        """The ids of publications that have a place, the retracted ones among them."""
        retracted = self.is_retracted(indices)
        if not retracted.any():
            return self.ids.ids(indices)
        gone = pa.array([self._retracted[number] for number in (indices[retracted] + self.base).tolist()])
        if retracted.all():
            return gone
        order = np.argsort(np.concatenate([np.flatnonzero(~retracted), np.flatnonzero(retracted)]))
        return pa.concat_arrays([self.ids.ids(indices[~retracted]), gone]).take(pa.array(order))

    def between(self, first: int, end: int) -> Int64s:
        """The indices of the live publications with these stamps, from the oldest to the most recent."""
        indices = self._timeline[first - self._origin : end - self._origin] - self.base
        return indices[~self.is_retracted(indices)] if self._retracted else indices

    def _ts_at(self, place: int) -> int:
        return int(self.ts[self._timeline[place] - self.base])

    def _place(self, ts: int, after: bool) -> int:
        find = bisect_right if after else bisect_left
        return find(range(self._last), ts, self._first, self._last, key=self._ts_at)

    def n_newer(self, ts: int, id: object) -> int:
        """How many live publications are more recent than (ts, id)."""
        lo, hi = self._place(ts, after=False), self._place(ts, after=True)
        tied = self.ids_of(self._timeline[lo:hi] - self.base).to_pylist()
        return int(self._last - hi + sum(other > id for other in tied))

    def follow(self, ts: Int64s, ids: pa.Array, rank: Int64s) -> Bools:
        """Which of the rows that arrive are more recent than everything before them; `rank` is their own order."""
        newest: Bools = rank == np.maximum.accumulate(rank)
        latest = self.latest
        if latest is None:
            return newest
        follows: Bools = ts > latest[0]
        for i in np.flatnonzero(newest & (ts == latest[0])):
            follows[i] = ids[int(i)].as_py() > latest[1]
        return newest & follows

    def late(self, ts: Int64s, ids: pa.Array, rank: Int64s, now: Int64s, horizon: Horizon) -> Bools:
        """Which of the rows that arrive lie outside of the horizon by then; `now` is the time at each."""
        if horizon.unbounded:
            return np.zeros(len(ts), np.bool_)
        us = min(horizon.us, WIDEST)
        late: Bools = ts <= now - us if us else np.ones(len(ts), np.bool_)
        if horizon.n:
            late &= ~self.follow(ts, ids, rank)
            for i in np.flatnonzero(late):
                n_newer = int((rank[:i] > rank[i]).sum()) + self.n_newer(int(ts[i]), ids[int(i)].as_py())
                late[i] = n_newer >= horizon.n
        return late

    def append(self, rows: Arrivals, retracted: Bools | None = None) -> bool:
        """Add publications, of which some may have been retracted; returns whether stamps given out before moved."""
        n = len(rows.ts)
        if n == 0:
            return False
        self._reserve(n, len(rows.terms))
        index = np.arange(self.tail, self.tail + n, dtype=np.int64)
        self.stamp[index] = 0
        if retracted is None:
            self.ids.add(rows.ids, index)
        else:
            self.ids.add(rows.ids.filter(pa.array(~retracted)), index[~retracted])
            self.stamp[index[retracted]] = -RETRACTED
            gone = rows.ids.filter(pa.array(retracted)).to_pylist()
            self._retracted |= zip((index[retracted] + self.base).tolist(), gone, strict=True)
        self.ts[index] = rows.ts
        self._write(rows, index)
        self.tail += n
        return self._date(rows, index + self.base)

    def _write(self, rows: Arrivals, index: Int64s) -> None:
        into = self.contents
        into.point[:, index[0] : index[-1] + 1] = rows.points.T
        if self._to_sphere is not None:
            into.sphere[:, index[0] : index[-1] + 1] = self._to_sphere(rows.points)
        into.norm[index] = rows.norms
        into.signature[index] = rows.signatures
        into.term_start[index] = self._n_terms + rows.offsets[:-1]
        into.term_count[index] = np.diff(rows.offsets)
        end = self._n_terms + len(rows.terms)
        into.terms[self._n_terms : end] = rows.terms
        into.term_weights[self._n_terms : end] = rows.weights
        self._n_terms = end

    def _date(self, rows: Arrivals, numbers: Int64s) -> bool:
        """Put arrivals into the timeline, merging with the part of it that is not older than all of them."""
        place = self._last
        if place > self._first and self._ts_at(place - 1) >= rows.ts.min():
            place = self._place(int(rows.ts.min()), after=False)
        behind = self._timeline[place : self._last].copy()
        if not len(behind) and is_strictly_ascending(rows.ts):
            self._last = place + len(numbers)
            self._timeline[place : self._last] = numbers
            self.stamp[numbers - self.base] += self._origin + np.arange(place, self._last)
            return False
        ids: pa.Array = rows.ids
        if len(behind):
            ids = pa.concat_arrays([self.ids_of(behind - self.base), ids])
        every = np.concatenate([behind, numbers])
        # Stable, so that what takes the id of a retracted publication, at the same ts, is the more recent one.
        every = every[by_recency(self.ts[every - self.base], ids)]
        self._last = place + len(every)
        self._timeline[place : self._last] = every
        stamps = self._origin + np.arange(place, self._last)
        self.stamp[every - self.base] = stamps - RETRACTED * self.is_retracted(every - self.base)
        return not np.array_equal(every[: len(behind)], behind)

    def retract(self, indices: Int64s) -> None:
        """Let no search find these live publications any more; their ids are theirs until `release`."""
        self.stamp[indices] -= RETRACTED

    def release(self, indices: Int64s) -> None:
        """Let others have the ids of these publications, which were retracted just now."""
        ids = self.ids.ids(indices).to_pylist()
        self._retracted |= zip((indices + self.base).tolist(), ids, strict=True)
        self.ids.remove(indices)

    def forget(self, now: int, horizon: Horizon) -> None:
        """Drop what lies outside of the horizon."""
        if horizon.unbounded:
            return
        young = self._place(now - horizon.us, after=True) if horizon.us else self._last
        recent = max(self._first, self._last - horizon.n)
        first = min(young, recent)
        if first > self._first:
            gone = self._timeline[self._first : first]
            self.ids.remove(gone[~self.is_retracted(gone - self.base)] - self.base)
            for number in gone.tolist() if self._retracted else ():
                self._retracted.pop(number, None)
            self._first = first
            self.head = self._next_live()

    def _next_live(self) -> int:
        """The first index from the head on whose publication has a place, found in steps that double."""
        lo, n = self.head, 64
        while lo < self.tail:
            alive = _places(self.stamp[lo : min(lo + n, self.tail)]) >= self.floor
            if alive.any():
                return lo + int(np.argmax(alive))
            lo, n = lo + n, 2 * n
        return self.tail

    def _reserve(self, n: int, n_terms: int) -> None:
        if self.tail + n > len(self.ts) or self._n_terms + n_terms > len(self.contents.terms):
            if 2 * self.head > self.tail:
                self._drop_head()
            self.ts = grown(self.ts, self.tail + n)
            self.stamp = grown(self.stamp, self.tail + n)
            by_publication = ("norm", "signature", "term_start", "term_count")
            self.contents = grown_all(self.contents, self.tail + n, by_publication)._replace(
                point=grown(self.contents.point, self.tail + n, axis=1),
                sphere=grown(self.contents.sphere, self.tail + n, axis=1) if self._to_sphere else self.contents.sphere,
                terms=grown(self.contents.terms, self._n_terms + n_terms),
                term_weights=grown(self.contents.term_weights, self._n_terms + n_terms),
            )
        if self._last + n > len(self._timeline):
            self._timeline = grown(self._timeline[self._first : self._last].copy(), self.size + n)
            self._origin += self._first
            self._first, self._last = 0, self._last - self._first

    def _drop_head(self) -> None:
        kept, n = slice(self.head, self.tail), self.tail - self.head
        for array in (self.ts, self.stamp, *self.contents[1:5]):
            array[:n] = array[kept].copy()
        self.contents.point[:, :n] = self.contents.point[:, kept].copy()
        if self._to_sphere is not None:
            self.contents.sphere[:, :n] = self.contents.sphere[:, kept].copy()
        first_term = int(self.contents.term_start[0]) if n else self._n_terms
        n_terms = self._n_terms - first_term
        for array in (self.contents.terms, self.contents.term_weights):
            array[:n_terms] = array[first_term : self._n_terms].copy()
        self.contents.term_start[:n] -= first_term
        self._n_terms = n_terms
        self.ids.shift(self.head)
        self.base += self.head
        self.head, self.tail = 0, n

    def check(self) -> None:
        """Assert the invariants."""
        live = self._timeline[self._first : self._last] - self.base
        assert np.array_equal(np.sort(live), self.indices())
        assert self.head <= (int(live.min()) if len(live) else self.tail)
        assert np.array_equal(_places(self.stamp[live]), np.arange(self.floor, self.stamps_end))
        retracted = self.is_retracted(live)
        assert set((live[retracted] + self.base).tolist()) == set(self._retracted)
        keys = list(zip(self.ts[live].tolist(), self.ids_of(live).to_pylist(), (~retracted).tolist(), strict=True))
        assert keys == sorted(keys)
        assert self.ids.size == len(live) - len(self._retracted)
        self.ids.check()


def _places(stamps: Int64s) -> Int64s:
    """The places in the timeline that belong to stamps, of retracted publications too."""
    return stamps & (RETRACTED - 1)
