"""The index of blocks: whom a publication may reach, found through trees of subscriptions that lie close together."""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.crew import n_shares, run
from skyband.kernels.growth import blank, grown
from skyband.kernels.order import order_by
from skyband.kernels.room import DOUBLINGS, NoProgress, stops
from skyband.kernels.slots import each_kind
from skyband.topk.index import extended, larger
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import Contents
from skyband.topk.score import FORMS, Score
from skyband.window.kernels.block_tree import (
    FANOUT,
    FAR,
    BlockNodes,
    Seats,
    Visits,
    enclose,
    move_gates,
    score_visits,
    visit_all,
)

# A top level of so many nodes is looked at as a whole.
AT_THE_TOP = 8
# So few publications times blocks are not worth a thread: one takes about 2 ns.
VISITS_A_THREAD = 200_000
# From so many publications on it pays to sort visits by block.
WORTH_SORTING = 4


def near_order(points: Floats, chunk: int = FANOUT) -> Int64s:
    """An order in which points that lie close together come close together, cut along the widest side again and again.

    Cuts fall on multiples of `chunk` that are as round as possible, so that aligned runs of chunks are boxes too.
    """
    order = np.arange(len(points), dtype=np.int64)
    pending = [(0, len(points))]
    while pending:
        lo, hi = pending.pop()
        if hi - lo <= chunk:
            continue
        n_chunks = -(-(hi - lo) // chunk)
        cut = chunk << ((n_chunks - 1).bit_length() - 1)
        part = points[order[lo:hi]]
        widest = int(np.argmax(part.max(axis=0) - part.min(axis=0)))
        order[lo:hi] = order[lo:hi][np.argpartition(part[:, widest], cut)]
        pending += [(lo, lo + cut), (lo + cut, hi)]
    return order


class Sitters(NamedTuple):
    """Subscriptions of one kind that want seats."""

    slots: Int64s
    centres: Floats
    weights: Floats
    norms: Floats
    gates: Floats


class Lookout:
    """What one thread needs to find and to score visits to a tree of so many blocks and levels."""

    def __init__(self, n_blocks: int, n_levels: int, dims: int) -> None:
        room = max(4 * n_blocks, 4096)
        self.visits = Visits(
            np.zeros(1, np.int64),
            np.zeros(room, np.int64),
            np.zeros(room, np.int64),
            np.zeros(n_blocks + FANOUT * n_levels, np.int64),
            blank(FANOUT),
        )
        self.point = np.zeros(dims)

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.visits)


class KindTree:
    """The subscriptions of one kind."""

    def __init__(self, kind: int, dims: int) -> None:
        self.kind = kind
        self.form = FORMS[Score(kind)]
        self.dims = dims
        self._n_sorted = self._n_used = self._next = 0
        self._make(1)

    def _make(self, n_blocks: int) -> None:
        """Empty seats and nodes for this many blocks."""
        dims = self.dims
        shape = (n_blocks, dims, FANOUT)
        self.seats = Seats(
            blank(shape),
            blank(shape if self.form.weighs else (0, dims, FANOUT)),
            blank((n_blocks if self.form.by_angle else 0, FANOUT)),
            blank((n_blocks, FANOUT), -np.inf),
            blank((n_blocks, FANOUT), -1, np.int64),
        )
        counts = [n_blocks, -(-n_blocks // FANOUT)]
        while counts[-1] > AT_THE_TOP:
            counts.append(-(-counts[-1] // FANOUT))
        n_nodes = sum(counts[1:])
        box = (n_nodes, dims, FANOUT)
        self.nodes = BlockNodes(
            blank(box, FAR),
            blank(box, -FAR),
            blank(box if self.form.weighs else (n_nodes, 0, FANOUT), FAR),
            blank((n_nodes, FANOUT), -np.inf),
            np.array([0, *np.cumsum([0, *counts[1:-1]])], np.int64),
            np.array(counts, np.int64),
        )
        self._lookouts: list[Lookout] = []

    @property
    def n_bytes(self) -> int:
        own = sum(array.nbytes for group in (self.seats, self.nodes) for array in group)
        return own + sum(lookout.n_bytes for lookout in self._lookouts)

    @property
    def _n_seats(self) -> int:
        return FANOUT * len(self.seats.slot)

    def add(self, some: Sitters) -> Int64s:
        """Seats for new slots; returns where everyone sits whose seat is new, as pairs of slot and place."""
        n_tail = self._next + len(some.slots) - self._n_sorted
        if self._next + len(some.slots) <= self._n_seats and n_tail <= max(1024, self._n_sorted // 4):
            places = np.arange(self._next, self._next + len(some.slots), dtype=np.int64)
            self._next += len(places)
            self._n_used += len(places)
            return self._seat(some, places)
        return self._rebuild(some)

    def _shape(self, some: Sitters) -> Floats:
        """The points that decide who lies close to whom: directions for cosines."""
        if not self.form.by_angle:
            return some.centres
        return some.centres / np.where(some.norms > 0.0, some.norms, 1.0)[:, np.newaxis]

    def _rebuild(self, some: Sitters) -> Int64s:
        """Seat everyone anew, the new ones among the others, with room for a quarter more."""
        old = self._sitting()
        everyone = Sitters._make(np.concatenate(pair) for pair in zip(old, some, strict=True))
        n = len(everyone.slots)
        self._make(-(-n // FANOUT) + max(16, n // (4 * FANOUT)))
        self._n_used = n
        self._n_sorted = self._next = FANOUT * -(-n // FANOUT)
        return self._seat(everyone, np.arange(n, dtype=np.int64))

    def _sitting(self) -> Sitters:
        """Everyone who has a seat; weights are 1 and norms 0 where the kind has none."""
        seats, taken = self.seats, np.flatnonzero(self.seats.slot.ravel() >= 0)
        block, i = taken // FANOUT, taken % FANOUT
        weights, norms = np.ones((len(taken), self.dims)), np.zeros(len(taken))
        if self.form.weighs:
            weights = seats.weight[block, :, i]
        if self.form.by_angle:
            norms = seats.norm[block, i]
        return Sitters(seats.slot[block, i], seats.centre[block, :, i], weights, norms, seats.gate[block, i])

    def _seat(self, some: Sitters, places: Int64s) -> Int64s:
        """Seat these, close ones close together; returns pairs of slot and place."""
        if len(some.slots) > 1:
            order = near_order(self._shape(some))
            some = Sitters._make(field[order] for field in some)
        block, i = places // FANOUT, places % FANOUT
        self.seats.slot[block, i] = some.slots
        self.seats.centre[block, :, i] = some.centres
        if self.form.weighs:
            self.seats.weight[block, :, i] = some.weights
        if self.form.by_angle:
            self.seats.norm[block, i] = some.norms
        enclose(self.kind, self.seats, self.nodes, places)
        self.adjust(places, some.gates)
        return np.array([some.slots, places]).T

    def adjust(self, places: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        move_gates(self.seats, self.nodes, places, gates)

    def remove(self, places: Int64s) -> None:
        """Empty seats; they are filled again when everyone is seated anew."""
        self.seats.slot[places // FANOUT, places % FANOUT] = -1
        self.adjust(places, np.full(len(places), -np.inf))
        self._n_used -= len(places)

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add the pairs that are within their gates, each thread those of some of the publications."""
        n_blocks, n_levels = len(self.seats.slot), len(self.nodes.n)
        n = min(hi - lo, n_shares(threads, (hi - lo) * n_blocks, VISITS_A_THREAD))
        self._lookouts += [Lookout(n_blocks, n_levels, self.dims) for _ in range(max(n, 1) - len(self._lookouts))]
        if n < 2:
            return self._look(self._lookouts[0], contents, lo, hi, into)
        edges = [lo + (hi - lo) * i // n for i in range(n + 1)]
        parts = run(
            [
                partial(self._look, lookout, contents, first, last, make_candidates(max(1, len(into.slot) // n)))
                for lookout, (first, last) in zip(self._lookouts, pairwise(edges), strict=False)
            ]
        )
        return extended(into, parts)

    def _look(self, lookout: Lookout, contents: Contents, lo: int, hi: int, into: Candidates) -> Candidates:
        since, is_many, visits = lo, hi - lo >= WORTH_SORTING, lookout.visits
        while since < hi:
            visits.length[0] = 0
            came = visit_all(since, hi, self.kind, self.nodes, contents, lookout.point, visits)
            if came == since:
                raise NoProgress(since)
            into = self._score(lookout, contents, is_many, into)
            since = came
        return into

    def _score(self, lookout: Lookout, contents: Contents, is_many: bool, into: Candidates) -> Candidates:
        """Add the pairs that are within their gates among those to visit."""
        visits, n = lookout.visits, int(lookout.visits.length[0])
        order = order_by(visits.block[:n]) if is_many else np.arange(n, dtype=np.int64)

        def score_from(done: int) -> int:
            return score_visits(done, order, self.kind, self.seats, contents, visits, lookout.point, into)

        for _ in stops(score_from, n, tries=DOUBLINGS):
            into = larger(into)
        return into

    def check(self, place_of: Int64s) -> None:
        """Assert the invariants."""
        seats, nodes = self.seats, self.nodes
        taken = np.flatnonzero(seats.slot.ravel() >= 0)
        assert len(taken) == self._n_used
        assert (place_of[seats.slot.ravel()[taken]] == taken).all()
        assert (seats.gate[seats.slot < 0] == -np.inf).all()
        for place, point in zip(taken, self._shape(self._sitting()), strict=True):
            node = place // FANOUT
            for level in range(1, len(nodes.n)):
                at, child = nodes.first[level] + node // FANOUT, node % FANOUT
                assert (nodes.low[at, :, child] <= point).all()
                assert (nodes.high[at, :, child] >= point).all()
                node //= FANOUT
        below = seats.gate
        for level in range(1, len(nodes.n)):
            above = nodes.gate[nodes.first[level] :][: -(-nodes.n[level - 1] // FANOUT)]
            assert np.array_equal(above.ravel()[: len(below)], below.max(axis=1))
            below = above


class BlockIndex:
    """One tree a kind of score; where a slot sits is kept here."""

    def __init__(self, dims: int) -> None:
        self._dims = dims
        self._trees: dict[int, KindTree] = {}
        self._place = np.zeros(0, np.int64)
        self._kind = np.zeros(0, np.int8)

    @property
    def n_bytes(self) -> int:
        return self._place.nbytes + self._kind.nbytes + sum(tree.n_bytes for tree in self._trees.values())

    def add(self, slots: Int64s, kinds: Int8s, centres: Floats, weights: Floats, norms: Floats, gates: Floats) -> None:
        """Take in new subscriptions."""
        last = int(slots.max())
        self._place = grown(self._place, last + 1)
        self._kind = grown(self._kind, last + 1)
        self._kind[slots] = kinds
        for kind, some in each_kind(kinds):
            if kind not in self._trees:
                self._trees[kind] = KindTree(kind, self._dims)
            tree = self._trees[kind]
            seated = tree.add(Sitters(slots[some], centres[some], weights[some], norms[some], gates[some]))
            self._place[seated[:, 0]] = seated[:, 1]

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        for tree, some in self._by_kind(slots):
            tree.remove(self._place[slots[some]])

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        for tree, some in self._by_kind(slots):
            tree.adjust(self._place[slots[some]], gates[some])

    def _by_kind(self, slots: Int64s) -> list[tuple[KindTree, Int64s | slice]]:
        if len(self._trees) == 1:
            return [(tree, slice(None)) for tree in self._trees.values()]
        kinds = self._kind[slots]
        return [(tree, np.flatnonzero(kinds == kind)) for kind, tree in self._trees.items()]

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add every pair of a subscription and a publication from lo to hi that is within the gate."""
        for tree in self._trees.values():
            into = tree.route(contents, lo, hi, into, threads)
        return into

    def check(self) -> None:
        """Assert the invariants."""
        for tree in self._trees.values():
            tree.check(self._place)
