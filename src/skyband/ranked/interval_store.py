"""What ranked subscriptions ask, by slot: in blocks by dimension where those are few, or part by part."""

from abc import ABC, abstractmethod

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.growth import grown_all, resized
from skyband.kernels.heap import make_heap
from skyband.kernels.ragged import offsets_of, places_of, starts_of
from skyband.kernels.slots import BLOCK
from skyband.ranked.kernels.fitting import FLAT, SUM, Rule
from skyband.ranked.kernels.interval_scan import (
    BestSlots,
    Events,
    Intervals,
    PartSpans,
    ScoreTally,
    Standing,
    sift,
    stab,
)
from skyband.ranked.kernels.parts import HI, KEY, LO, OWNER, Parts
from skyband.ranked.part import Flat
from skyband.ranked.rows import Subscriptions

# A block has room for every dimension, asked about or not.
MOST_DIMS = 16


class IntervalStore(ABC):
    """The parts of every slot, and the search for the best slots."""

    @abstractmethod
    def put(self, slots: Int64s, n_slots: int, rows: Subscriptions) -> None:
        """Let slots, of `n_slots` that there are, ask for this from now on."""

    @abstractmethod
    def drop(self, slots: Int64s) -> None:
        """Let slots ask for nothing."""

    @abstractmethod
    def parts_of(self, slots: Int64s) -> Flat:
        """What slots ask for."""

    @abstractmethod
    def search(self, events: Events, n_slots: int, standing: Standing, found: BestSlots) -> None:
        """The best slots for each event; without budgets, threads may search for some events each."""

    @property
    @abstractmethod
    def n_bytes(self) -> int: ...


def asking(rule: Rule, dims: int) -> IntervalStore:
    """The way to keep parts that suits the rule."""
    if rule.fit == FLAT and rule.combination == SUM and dims <= MOST_DIMS:
        return IntervalBlocks(dims, rule.inside)
    return PartPool(rule)


class IntervalBlocks(IntervalStore):
    """Intervals in blocks, for sums of whole weights."""

    def __init__(self, dims: int, inside: bool) -> None:
        self._inside = inside
        self._intervals = Intervals(*(np.zeros((0, dims, BLOCK)) for _ in range(3)))

    def put(self, slots: Int64s, n_slots: int, rows: Subscriptions) -> None:
        self._intervals = grown_all(self._intervals, n_slots // BLOCK)
        self.drop(slots)
        owners = np.repeat(slots, np.diff(rows.offsets))
        at = (owners // BLOCK, rows.dim, owners % BLOCK)
        self._intervals.lo[at] = rows.lo
        self._intervals.hi[at] = rows.hi
        self._intervals.weight[at] = rows.weight

    def drop(self, slots: Int64s) -> None:
        self._intervals.lo[slots // BLOCK, :, slots % BLOCK] = np.inf
        self._intervals.hi[slots // BLOCK, :, slots % BLOCK] = -np.inf

    def parts_of(self, slots: Int64s) -> Flat:
        lo, hi, weight = (array[slots // BLOCK, :, slots % BLOCK] for array in self._intervals)
        asked = lo <= hi
        dim = np.nonzero(asked)[1].astype(np.int32)
        return Flat(offsets_of(asked.sum(axis=1)), dim, lo[asked], hi[asked], weight[asked])

    def search(self, events: Events, n_slots: int, standing: Standing, found: BestSlots) -> None:
        heap, tally = make_heap(int(events.k.max())), ScoreTally(np.zeros(BLOCK), np.zeros(BLOCK, np.int64))
        stab(events, self._inside, self._intervals, n_slots // BLOCK, standing, heap, tally, found)

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self._intervals)


class PartPool(IntervalStore):
    """Parts end to end, for any rule; room that was given up is found again when the pool is full."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._end = 0
        self._parts = Parts(np.zeros((0, 4)), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64))
        self._spans = PartSpans(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def put(self, slots: Int64s, n_slots: int, rows: Subscriptions) -> None:
        self._spans = grown_all(self._spans, n_slots)
        lengths = np.diff(rows.offsets)
        self.drop(slots)
        self._make_room(len(rows.dim))
        start, end = self._end, self._end + len(rows.dim)
        self._spans.first[slots] = start + rows.offsets[:-1]
        self._spans.n_parts[slots] = lengths
        fact = self._parts.fact[start:end]
        fact[:, LO], fact[:, HI], fact[:, KEY] = rows.lo, rows.hi, rows.weight
        fact[:, OWNER] = np.repeat(slots, lengths)
        self._parts.dim[start:end] = rows.dim
        self._parts.weight[start:end] = rows.weight
        self._end = end

    def _make_room(self, n: int) -> None:
        if self._end + n <= len(self._parts.dim):
            return
        places = self._places(np.arange(len(self._spans.first)))
        n_live = len(places)
        fact, dim, weight, label = self._parts
        room = max(n_live + n, 2 * n_live)
        self._parts = Parts(
            resized(fact[places], room), resized(dim[places], room), resized(weight[places], room), label
        )
        self._spans.first[:] = starts_of(self._spans.n_parts)
        self._end = n_live

    def _places(self, slots: Int64s) -> Int64s:
        """Where the parts of slots are."""
        return places_of(self._spans.first[slots], self._spans.n_parts[slots])

    def drop(self, slots: Int64s) -> None:
        self._spans.n_parts[slots] = 0

    def parts_of(self, slots: Int64s) -> Flat:
        places = self._places(slots)
        fact, dim, weight, _ = self._parts
        offsets = offsets_of(self._spans.n_parts[slots])
        return Flat(offsets, dim[places], fact[places, LO], fact[places, HI], weight[places])

    def search(self, events: Events, n_slots: int, standing: Standing, found: BestSlots) -> None:
        spans = PartSpans(self._spans.first[:n_slots], self._spans.n_parts[:n_slots])
        sift(events, self._rule, self._parts, spans, standing, make_heap(int(events.k.max())), found)

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in (*self._parts, *self._spans))
