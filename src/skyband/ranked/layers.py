"""The index of an engine that goes on changing: two static ones, a large and a small, and IR-trees for what came last.

New parts go to a young IR-tree. When it has a 128th as many as there are, it is merged into the small index; when that
has an eighth, or so many parts have died, all is merged into the large one. A merge makes the next index in slices of
work that are taken between questions: nothing waits for it, and every question is answered in full from what there is.
A batch that is larger than what there is already is built in at once.
"""

from collections.abc import Generator
from typing import Literal, NamedTuple, get_args

import numpy as np

from skyband.kernels.array import Bools, Int8s, Int32s, Int64s
from skyband.kernels.ragged import owners_of
from skyband.ranked.arrange import arrange, finished, score_order
from skyband.ranked.intervaltree import IntervalForest
from skyband.ranked.irtree import IrForest
from skyband.ranked.kernels.getnext import CURSORS, Layers
from skyband.ranked.kernels.parts import HI, LO, Parts
from skyband.ranked.packed import PackedForest
from skyband.ranked.pool import LARGE, NOT_INDEXED, OLD, SMALL, YOUNG, OwnerPool
from skyband.ranked.segmenttree import SegmentForest
from skyband.table.argument import check_choice

Kind = Literal["sopt", "ir", "r", "segment", "interval"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# A merge into the small index is due with this share of the large one, and one into the large index with that.
SMALL_SHARE, LARGE_SHARE = 128, 8
# How many slices a merge takes for each SLICE parts, about. Updates drive it at such a pace that one into the small
# index is over when half of what begins the next one has come, and one into the large index after so great a share of
# it.
PASSES, SLICE = 40, 8192
LARGE_PACE = 32


class StaticIndex(NamedTuple):
    """A static index, and its parts in the order of their keys once interval events have asked for that."""

    by_kind: PackedForest | SegmentForest | IntervalForest
    by_key: PackedForest | None = None

    @property
    def n_bytes(self) -> int:
        return self.by_kind.n_bytes + (self.by_key.n_bytes if self.by_key else 0)


class Merge(NamedTuple):
    """A merge under way: the layer it makes, the parts it takes, and the slices of its work."""

    target: int
    ids: Int32s
    steps: Generator[None, None, StaticIndex]


class LayeredIndex:
    """Parts in layers; `kind` says what the static ones are, and "ir" that there are none.

    Fewer than `delta` changes do not begin a merge.
    """

    def __init__(self, kind: Kind, pool: OwnerPool, n_dims: int, delta: int) -> None:
        check_choice("index", kind, Kind)
        self.kind = kind
        self.n_dims = n_dims
        self.size = np.zeros(n_dims, np.int64)
        self.n_merges = 0
        # How often arrays that a view names may have been replaced.
        self.n_changes = 0
        self._delta = delta
        self._pool = pool
        self._static = {LARGE: _nothing(kind, n_dims), SMALL: _nothing(kind, n_dims)}
        self._old, self._young = IrForest(n_dims), IrForest(n_dims)
        self._wants_keys = False
        self._merge: Merge | None = None
        # Dead rows that a static index names, or the one being made, and those that only a replaced one names.
        self._limbo: dict[int, list[tuple[Int64s, Int64s]]] = {LARGE: [], SMALL: []}
        self._passing: list[tuple[Int64s, Int64s]] = []
        self._n_dead = {LARGE: 0, SMALL: 0}
        self._debt = 0.0

    @property
    def n_bytes(self) -> int:
        return sum(forest.n_bytes for forest in self._static.values()) + self._old.n_bytes + self._young.n_bytes

    @property
    def n(self) -> int:
        """How many parts there are, those that died and are still in an index included."""
        return sum(forest.by_kind.n for forest in self._static.values()) + self._old.n + self._young.n

    @property
    def merging(self) -> bool:
        """Whether a merge is under way."""
        return self._merge is not None

    def add(self, parts: Parts, ids: Int64s) -> None:
        """Index these parts."""
        self.n_changes += 1
        np.add.at(self.size, self._pool.dim[ids], 1)
        at_once = self.kind != "ir" and len(ids) >= max(self._delta, self.n)
        self._pool.layer[ids] = YOUNG
        if at_once:
            self._make(parts, LARGE)
        elif self._young.n == 0:
            self._young.bulk(parts, ids.astype(np.int32))
        else:
            self._young.insert(parts, ids.astype(np.int32))
        self._drive(parts, len(ids))

    def remove(self, parts: Parts, owners: Int64s) -> None:
        """Take the parts of these owners out of the index, and their rows back as soon as nothing names them."""
        self.n_changes += 1
        pool = self._pool
        rows, sizes = pool.rows_of(owners), pool.n_owned[owners].astype(np.int64)
        layer = pool.layer[rows]
        np.subtract.at(self.size, pool.dim[rows[layer != NOT_INDEXED]], 1)
        for where, forest in ((OLD, self._old), (YOUNG, self._young)):
            if (layer == where).any():
                forest.remove(parts, rows[layer == where].astype(np.int32))
        pool.kill(owners)
        holder = self._holders(layer)
        held = np.zeros(len(owners), np.int8)
        np.maximum.at(held, owners_of(sizes), holder)
        first = pool.first[owners]
        pool.free(first[held == 0], sizes[held == 0])
        for target in (LARGE, SMALL):
            self._limbo[target].append((first[held == target], sizes[held == target]))
            self._n_dead[target] += int((holder == target).sum())
        self._drive(parts, len(rows))

    def _holders(self, layer: Int8s) -> Int8s:
        """The static index that will name a row of each layer for longest, or 0."""
        holder = np.where((layer == LARGE) | (layer == SMALL), layer, 0).astype(np.int8)
        if self._merge is not None:
            holder[_taken_by(self._merge.target, layer)] = self._merge.target
        return holder

    def _drive(self, parts: Parts, n: int) -> None:
        """Begin a merge if one is due, and take as many slices of one under way as n updates call for."""
        if self.kind == "ir":
            return
        large, small = (self._static[layer].by_kind.n for layer in (LARGE, SMALL))
        if self._merge is not None:
            n_slices = PASSES * (1 + len(self._merge.ids) / SLICE)
            n_updates = max(self._delta, large // (LARGE_PACE if self._merge.target == LARGE else 2 * SMALL_SHARE))
            self._debt += n * n_slices / n_updates
            self.step(int(self._debt))
            self._debt %= 1.0
        elif small + self._young.n + self._n_dead[LARGE] >= max(self._delta, large // LARGE_SHARE):
            self._begin(parts, LARGE)
        elif self._young.n + self._n_dead[SMALL] >= max(self._delta, large // SMALL_SHARE):
            self._begin(parts, SMALL)

    def _begin(self, parts: Parts, target: int) -> None:
        pool = self._pool
        layer = pool.layer[: pool.n_rows]
        self._old, self._young = self._young, IrForest(self.n_dims)
        layer[layer == YOUNG] = OLD
        live = _taken_by(target, layer) & (pool.fact[: pool.n_rows, LO] <= pool.fact[: pool.n_rows, HI])
        ids = np.flatnonzero(live).astype(np.int32)
        for source in (LARGE, SMALL):
            if source >= target:
                self._passing += self._limbo[source]
                self._limbo[source], self._n_dead[source] = [], 0
        self._debt = 0.0
        self._merge = Merge(target, ids, self._build(parts, ids))
        # The first slice takes down what is in the parts now; their arrays may be replaced by longer ones later.
        self.step()

    def step(self, n: int = 1) -> None:
        """Take n slices of a merge that is under way."""
        for _ in range(n):
            if self._merge is None:
                return
            self.n_changes += 1
            try:
                next(self._merge.steps)
            except StopIteration as end:
                self._end(self._merge, end.value)

    def _end(self, merge: Merge, forest: StaticIndex) -> None:
        pool = self._pool
        # Parts that died meanwhile are in the new index, and nothing meets them.
        pool.layer[merge.ids] = merge.target
        self._static[merge.target] = forest
        if merge.target == LARGE:
            self._static[SMALL] = _nothing(self.kind, self.n_dims)
        self._old, self._merge = IrForest(self.n_dims), None
        for first, sizes in self._passing:
            pool.free(first, sizes)
        self._passing = []
        self.n_merges += 1

    def settle(self, parts: Parts) -> None:
        """Merge all there is into the large index, at once."""
        self._finish()
        if self.kind != "ir" and self.n > self._static[LARGE].by_kind.n - self._n_dead[LARGE]:
            self._make(parts, LARGE)

    def _make(self, parts: Parts, target: int) -> None:
        self._finish()
        self._begin(parts, target)
        self._finish()

    def _finish(self) -> None:
        while self._merge is not None:
            self.step()

    def _build(self, parts: Parts, ids: Int32s) -> Generator[None, None, StaticIndex]:
        if self.kind == "segment":
            forest = StaticIndex(SegmentForest.build(parts, ids, self.n_dims))
        elif self.kind == "interval":
            forest = StaticIndex(IntervalForest.build(parts, ids, self.n_dims))
        else:
            order = arrange if self.kind == "sopt" else score_order
            forest = StaticIndex((yield from PackedForest.packed(parts, (yield from order(parts, ids, self.n_dims)))))
        if self._wants_keys and self.kind != "r":
            by_key = yield from PackedForest.packed(parts, (yield from score_order(parts, ids, self.n_dims)))
            forest = forest._replace(by_key=by_key)
        return forest

    def _by_key(self, parts: Parts, layer: int) -> PackedForest:
        """A static index in the order of keys: what disjoint intervals are asked for together must be in."""
        self._wants_keys = True
        forest = self._static[layer]
        if self.kind in ("r", "ir"):
            assert isinstance(forest.by_kind, PackedForest)
            return forest.by_kind
        if forest.by_key is None:
            pool = self._pool
            ids = np.flatnonzero(pool.layer[: pool.n_rows] == layer).astype(np.int32)
            by_key = finished(PackedForest.packed(parts, finished(score_order(parts, ids, self.n_dims))))
            self._static[layer] = forest._replace(by_key=by_key)
            self.n_changes += 1
            return by_key
        return forest.by_key

    def view(self, parts: Parts, intervals: bool, room: int) -> tuple[Layers, int]:
        """The layers for kernels, and the length of their rows; IR-trees get `room` more than points need."""
        large, small = (self._by_key(parts, x) if intervals else self._static[x].by_kind for x in (LARGE, SMALL))
        at_small = CURSORS + large.width
        at_old = at_small + (small.width if small.n else 0)
        at_young = at_old + (self._old.width + room if self._old.n else 0)
        length = at_young + (self._young.width + room if self._young.n else 0)
        return Layers(large.tree, small.tree, self._old.tree, self._young.tree, at_small, at_old, at_young), length

    def check(self, parts: Parts) -> None:
        """Assert that the layers hold what the pool says they do."""
        pool = self._pool
        layer = pool.layer[: pool.n_rows]
        live = pool.fact[: pool.n_rows, LO] <= pool.fact[: pool.n_rows, HI]
        for forest in self._static.values():
            forest.by_kind.check(parts)
        for where, tree in ((OLD, self._old), (YOUNG, self._young)):
            tree.check(parts)
            assert tree.n == int(((layer == where) & live).sum())
        assert int(self.size.sum()) == int((live & (layer != NOT_INDEXED)).sum())


def _taken_by(target: int, layer: Int8s) -> Bools:
    """For rows of these layers, whether a merge into this one takes them."""
    return np.asarray((layer == OLD) | (layer == SMALL) | ((layer == LARGE) & (target == LARGE)))


def _nothing(kind: Kind, n_dims: int) -> StaticIndex:
    nothing = Parts(np.zeros((0, 4)), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64))
    ids = np.zeros(0, np.int32)
    if kind == "segment":
        return StaticIndex(SegmentForest.build(nothing, ids, n_dims))
    if kind == "interval":
        return StaticIndex(IntervalForest.build(nothing, ids, n_dims))
    return StaticIndex(finished(PackedForest.packed(nothing, finished(score_order(nothing, ids, n_dims)))))
