"""The live publications: arrays in order of arrival, and a timeline in order of recency.

A publication has a number (`base` + its index, never reused) and a *stamp*: its place in the order of (ts, id), counted
from the first publication ever. Stamps of live publications are consecutive, so the last n are those with the n largest
stamps, and what any window forgets is always a beginning of the timeline. A publication that arrives out of order takes
its place and moves the stamps behind it by one.

A publication that is retracted keeps its place in the timeline, and so in every window that counts publications, until
it is forgotten like all others. Its stamp is written less RETRACTED, which is below every floor, so no search finds it;
its id is free for another publication, which is the more recent one if both have the same ts.
"""

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
from skyband.kernels.ragged import owners_of, places_of, starts_of
from skyband.topk.kernels.arrival import ArrivalRows, StoredTimes, StoreEnds, write_arrivals
from skyband.topk.kernels.scan import RETRACTED, Live, Published
from skyband.topk.kernels.score import Contents
from skyband.topk.kernels.timeline import count_newer_before, find_times, put_in_place

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

    def recent(self) -> Int64s:
        """The indices of the publications that have a place, the retracted ones among them, the most recent first."""
        return self._timeline[self._first : self._last][::-1] - self.base

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

    def _among(self, times: Int64s) -> tuple[Int64s, Int64s]:
        """For each time the first place of the timeline that is no earlier, and the first that is later."""
        first, after = np.empty_like(times), np.empty_like(times)
        find_times(times, self._timeline[: self._last], self.ts, self.base, self._first, first, after)
        return first, after

    def _find_places(self, ts: Int64s, ids: pa.Array) -> Int64s:
        """Where rows, the oldest first, take their place in the timeline: behind all that is no more recent."""
        first, places = self._among(ts)
        tied = np.flatnonzero(first < places)
        if len(tied):
            latest = self.ids_of(self._timeline[places[tied] - 1] - self.base)
            between = tied[np.asarray(pc.less(ids.take(pa.array(tied)), latest))]
            if len(between):
                ends = places[between]
                places[between] = self._places_between(first[between], ends, ids.take(pa.array(between)))
        return places

    def _places_between(self, first: Int64s, ends: Int64s, ids: pa.Array) -> Int64s:
        """Where rows, the oldest first, come by their ids among what has the same time as each."""
        starts, which = np.unique(first, return_inverse=True)
        lengths = ends[np.searchsorted(first, starts)] - starts
        tied = self._timeline[places_of(starts, lengths)] - self.base
        times = np.concatenate([owners_of(lengths), which])
        rank = np.empty(len(times), np.int64)
        # Stable, so that what takes the id of a retracted publication, at the same time, is the more recent one.
        rank[by_recency(times, pa.concat_arrays([self.ids_of(tied), ids]))] = np.arange(len(times))
        n_before = rank[len(tied) :] - np.arange(len(ids))
        return starts[which] + n_before - starts_of(lengths)[which]

    def n_newer(self, ts: Int64s, ids: pa.Array) -> Int64s:
        """How many stored publications are more recent than each of these rows, the oldest first."""
        newer: Int64s = self._last - self._find_places(ts, ids)
        return newer

    def follow(self, ts: Int64s, ids: pa.Array, rank: Int64s) -> Bools:
        """Which of the rows that arrive are more recent than everything before them; `rank` is their own order."""
        newest: Bools = rank == np.maximum.accumulate(rank)
        latest = self.latest
        if latest is None:
            return newest
        follows: Bools = ts > latest[0]
        tied = np.flatnonzero(newest & (ts == latest[0]))
        if len(tied):
            follows[tied] = pc.greater(ids.take(pa.array(tied)), pa.scalar(latest[1], ids.type))
        return newest & follows

    def late(self, ts: Int64s, ids: pa.Array, rank: Int64s, now: Int64s, horizon: Horizon) -> Bools:
        """Which of the rows that arrive lie outside of the horizon by then; `now` is the time at each."""
        if horizon.unbounded:
            return np.zeros(len(ts), np.bool_)
        us = min(horizon.us, WIDEST)
        late: Bools = ts <= now - us if us else np.ones(len(ts), np.bool_)
        if horizon.n:
            late &= ~self.follow(ts, ids, rank)
            rows = np.flatnonzero(late)
            rows = rows[np.argsort(rank[rows])]
            n_newer = self.n_newer(ts[rows], ids.take(pa.array(rows))) + _n_newer_before(rank)[rows]
            late[rows] = n_newer >= horizon.n
        return late

    def append(self, rows: Arrivals, retracted: Bools | None = None) -> None:
        """Add publications, of which some may have been retracted."""
        n = len(rows.ts)
        if n == 0:
            return
        self._reserve(n, len(rows.terms))
        index = np.arange(self.tail, self.tail + n, dtype=np.int64)
        if retracted is None:
            self.ids.add(rows.ids, index)
        else:
            self.ids.add(rows.ids.filter(pa.array(~retracted)), index[~retracted])
            gone = rows.ids.filter(pa.array(retracted)).to_pylist()
            self._retracted |= zip((index[retracted] + self.base).tolist(), gone, strict=True)
        in_order = self._write(rows)
        if not in_order:
            self._put_in_place(rows, index + self.base)
        if retracted is not None:
            self.stamp[index[retracted]] -= RETRACTED
        self._n_terms += len(rows.terms)
        self._last += n
        self.tail += n

    def _write(self, rows: Arrivals) -> bool:
        """Write arrivals down; says whether they are in order, and so have their places in the timeline."""
        if self._to_sphere is not None:
            self.contents.sphere[:, self.tail : self.tail + len(rows.ts)] = self._to_sphere(rows.points)
        latest = self._ts_at(self._last - 1) if self._last > self._first else -WIDEST
        ends = StoreEnds(self.tail, self._n_terms, self._last, self.base, self._origin, latest)
        times = StoredTimes(self.ts, self.stamp, self._timeline)
        return write_arrivals(ArrivalRows(*rows[1:]), ends, times, self.contents)

    def _put_in_place(self, rows: Arrivals, numbers: Int64s) -> None:
        """Put arrivals into the timeline; what is more recent than one of them moves on."""
        order = by_recency(rows.ts, rows.ids)
        numbers, places = numbers[order], self._find_places(rows.ts[order], rows.ids.take(pa.array(order)))
        put_in_place(numbers, places, self._timeline, self._last, self.stamp, self.base)
        self.stamp[numbers - self.base] += self._origin + places + np.arange(len(numbers))

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
        young = self._first_after(now - min(horizon.us, WIDEST)) if horizon.us else self._last
        recent = max(self._first, self._last - horizon.n)
        first = min(young, recent)
        if first > self._first:
            gone = self._timeline[self._first : first]
            indices = gone - self.base
            self.ids.remove(indices[~self.is_retracted(indices)] if self._retracted else indices)
            for number in gone.tolist() if self._retracted else ():
                self._retracted.pop(number, None)
            self._first = first
            self.head = self._next_live()

    def _first_after(self, ts: int) -> int:
        """The first place in the timeline that is later than this."""
        if self._first < self._last and self._ts_at(self._first) > ts:
            return self._first
        return int(self._among(np.array([ts]))[1][0])

    def _next_live(self) -> int:
        """The first index from the head on whose publication has a place, found in steps that double."""
        lo, n, floor = self.head, 64, self.floor
        # Mostly it is the next one.
        while lo < min(self.head + 2, self.tail):
            if int(self.stamp[lo]) & (RETRACTED - 1) >= floor:
                return lo
            lo += 1
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


def _n_newer_before(rank: Int64s) -> Int64s:
    """For each row how many of those before it have a higher rank."""
    counts = np.empty_like(rank)
    count_newer_before(rank, np.zeros(len(rank) + 1, np.int64), counts)
    return counts


def _places(stamps: Int64s) -> Int64s:
    """The places in the timeline that belong to stamps, of retracted publications too."""
    return stamps & (RETRACTED - 1)
