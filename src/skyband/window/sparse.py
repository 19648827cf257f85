"""An index of subscriptions by cosine: inverted lists of the dimensions that matter most for telling vectors apart.

See `skyband.window.kernels.sparse` for how it works and why it misses nothing. A publication costs one look at each of
its numbers, a walk through the lists it reaches, and a score for each subscription they cannot rule out. A gate that
moves a little costs one comparison, otherwise a removal and an insertion for each listed entry. The global order of
dimensions is by how many vectors have been seen to use them, subscriptions and publications alike; it is fixed until
twice as many have been seen, and then everything is listed anew.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.growth import grown, grown_all
from skyband.kernels.ragged import owners_of, places_of, starts_of
from skyband.kernels.room import DOUBLINGS, stops
from skyband.topk.index import larger
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents
from skyband.window.kernels.sparse import (
    ABSENT,
    LEVELS,
    NOWHERE,
    Homes,
    Order,
    SparseLists,
    Vectors,
    adjust,
    check_index,
    copy_lists,
    enlist,
    leave,
    make_lists,
    make_reading,
    match,
    plan,
    slack_of,
    weigh,
)


def _no_index(dims: int) -> SparseLists:
    integers, numbers = np.zeros(0, np.int64), np.zeros(0)
    return SparseLists(
        Vectors(integers, integers, numbers, integers, numbers, integers, numbers, integers),
        Homes(numbers, numbers, numbers, numbers, numbers, np.zeros(0, np.int8), integers, integers),
        make_lists(np.zeros(dims * LEVELS, np.int64), 64),
        Order(np.arange(dims, dtype=np.int64), np.zeros(dims), np.zeros(dims, np.int64), slack_of(dims)),
        integers,
        np.zeros(1, np.int64),
    )


class SparseIndex:
    """Subscriptions by cosine; `moves` counts those whose lists had to change because their gate had moved."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._index = _no_index(dims)
        self._reading = make_reading(dims, 0)
        self._n_entries = 0
        self._n_seen = 0
        self._n_ordered = 0
        self.moves = 0

    @property
    def vectors(self) -> Vectors:
        """The subscriptions' vectors by slot."""
        return self._index.vectors

    @property
    def n_bytes(self) -> int:
        vectors, homes, lists, order, everywhere, _ = self._index
        arrays: list[npt.NDArray[Any]] = [*vectors, *homes, *lists, *order[:-1], everywhere, *self._reading]
        return sum(array.nbytes for array in arrays)

    def add(
        self,
        slots: Int64s,
        kinds: Int8s,
        centres: Floats,
        weights: Floats,
        norms: Floats,
        gates: Floats,
    ) -> None:
        """Take on subscriptions, all of kind COSINE, for which weights mean nothing."""
        if not len(slots):
            return
        self._reserve_slots(int(slots.max()) + 1)
        self._write(slots, centres)
        homes = self._index.homes
        self._index.vectors.norm[slots], homes.gate[slots] = norms, gates
        homes.home[slots] = NOWHERE
        self._saw(len(slots))
        # A new order has settled everybody; until then the new slots have no band.
        new = slots[homes.low[slots] > homes.high[slots]]
        self._sort(new)
        self._settle(new)

    def _write(self, slots: Int64s, centres: Floats) -> None:
        rows, dims = np.nonzero(centres)
        self._reserve_entries(len(dims))
        vectors, end = self._index.vectors, self._n_entries + len(dims)
        counts = np.bincount(rows, minlength=len(slots))
        vectors.n_entries[slots], vectors.start[slots] = counts, self._n_entries + starts_of(counts)
        vectors.dim[self._n_entries : end] = dims
        vectors.value[self._n_entries : end] = centres[rows, dims]
        self._n_entries = end
        self._index.order.seen[:] += np.bincount(dims, minlength=self.dims)

    def _sort(self, slots: Int64s) -> None:
        """Bring the entries of slots into the global order."""
        vectors = self._index.vectors
        counts = vectors.n_entries[slots]
        places = places_of(vectors.start[slots], counts)
        rank = np.empty(self.dims, np.int64)
        rank[self._index.order.dims] = np.arange(self.dims)
        order = np.lexsort((rank[vectors.dim[places]], owners_of(counts)))
        vectors.order[places] = places[order] - np.repeat(vectors.start[slots], counts)
        weigh(slots, vectors)

    def _settle(self, slots: Int64s) -> None:
        plan(slots, self._index)
        for _ in stops(lambda done: enlist(slots, done, self._index), len(slots)):
            self._enlarge_lists()

    def remove(self, slots: Int64s) -> None:
        """Forget subscriptions."""
        leave(slots, self._index)
        self._index.homes.home[slots] = ABSENT

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Move gates."""
        moved = np.empty(len(slots), np.int64)
        moved = moved[: adjust(slots, gates, self._index, moved)]
        if len(moved):
            leave(moved, self._index)
            self._settle(moved)
            self.moves += len(moved)

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Find every pair of a slot and one of the publications lo to hi that passes its gate."""

        def match_from(done: int) -> int:
            return match(self._index, contents, done, hi, self._reading, into)

        for _ in stops(match_from, hi, lo, DOUBLINGS):
            into = larger(into)
        self._saw(hi - lo)
        return into

    def _saw(self, n: int) -> None:
        self._n_seen += n
        if self._n_seen >= 2 * self._n_ordered:
            self._reorder()

    def _reorder(self) -> None:
        """Fix a new global order, and list everybody by it."""
        self._n_ordered = self._n_seen
        order, homes, slots = self._index.order, self._index.homes, self._present()
        order.dims[:] = np.argsort(order.seen, kind="stable")
        order.share[:] = order.seen / max(1, self._n_seen)
        self._index.lists.length[:] = 0
        self._index.n_everywhere[0] = 0
        homes.home[slots], homes.n_listed[slots] = NOWHERE, 0
        self._sort(slots)
        self._settle(slots)

    def _present(self) -> Int64s:
        return np.flatnonzero(self._index.homes.home != ABSENT)

    def _reserve_slots(self, n_slots: int) -> None:
        vectors, homes, _, _, everywhere, _ = self._index
        have = len(everywhere)
        if n_slots <= have:
            return
        self._index = self._index._replace(
            vectors=grown_all(vectors, n_slots, ("start", "n_entries", "norm")),
            homes=grown_all(homes, n_slots),
            everywhere=grown(everywhere, n_slots),
        )
        self._index.homes.low[have:] = np.inf
        self._index.homes.high[have:] = -np.inf
        n_slots = len(self._index.everywhere)
        self._reading = make_reading(self.dims, n_slots)

    def _reserve_entries(self, n: int) -> None:
        """Make room for entries, and lay those in use end to end when it has run out."""
        vectors = self._index.vectors
        if self._n_entries + n <= len(vectors.dim):
            return
        slots = self._present()
        counts = vectors.n_entries[slots]
        places = places_of(vectors.start[slots], counts)
        vectors.start[slots] = starts_of(counts)
        self._n_entries = len(places)
        packed: Any = {
            name: grown(getattr(vectors, name)[places], 2 * (len(places) + n))
            for name in ("dim", "value", "order", "tail", "spot")
        }
        self._index = self._index._replace(vectors=vectors._replace(**packed))

    def _enlarge_lists(self) -> None:
        """Lay the lists out anew, each with room to grow by half, and as much again behind them."""
        old = self._index.lists
        capacity = np.where(old.length > 0, old.length + old.length // 2 + 4, 0)
        n_entries = int(self._index.vectors.n_entries.max(initial=0))
        lists = make_lists(capacity, int(capacity.sum()) + 4 * n_entries + 64)
        copy_lists(old, lists)
        self._index = self._index._replace(lists=lists)

    def check(self) -> None:
        """Assert the invariants."""
        check_index(self._index)
        used = self._index.vectors.n_entries[self._present()].sum()
        assert used <= self._n_entries <= len(self._index.vectors.dim)
        assert not self._reading.dense.any()
        assert (self._reading.mark <= self._reading.serial[0]).all()
