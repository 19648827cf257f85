"""Points, or boxes, in trees: whatever holds objects or subscriptions by where they are."""

from typing import Literal

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import resized, resized_all
from skyband.kernels.room import ample, stops
from skyband.kernels.sort_keys import curve_keys, float_keys
from skyband.ranges.kernels.boxbuild import build, check_trees, dismantle, n_packed
from skyband.ranges.kernels.boxtree import (
    INNER,
    LEAF,
    Trees,
    insert_items,
    make_trees,
    remove_items,
    set_coordinate,
)

Order = Literal["first", "curve"]

# A tree is built anew when a batch is at least this share of it, when it has become this many times as large since its
# curve was laid, and when it has shrunk to one in so many, as nodes are only given up when they are quite empty.
SHARE = 0.25
GROWTH = 4
SHRINKAGE = 8
# Numbers beyond stand for infinity; a curve that reached there would have all else in one cell.
BEYOND = 1e300
# So many points are enough to tell an extent.
SAMPLE = 10_000


class Boxes:
    """Trees of points, or of boxes, in one pool of nodes that grows.

    The order of a tree is that of the first dimension, or that of a curve through all of them, which keeps together
    what lies close together. Coordinates are finite. `trees` is for the kernels, and is another one after an addition.
    """

    def __init__(self, dims: int, n_trees: int = 1, order: Order = "first", boxes: bool = False) -> None:
        self.dims = dims
        self.order = order
        self.trees = make_trees(dims, n_trees, boxes=boxes)
        self._is_box = boxes
        self._low = np.zeros((n_trees, dims))
        self._high = np.zeros((n_trees, dims))
        # By tree its size when it was built, and the largest since then.
        self._built = np.zeros(n_trees, np.int64)
        self._most = np.zeros(n_trees, np.int64)

    def size(self, tree: int) -> int:
        """How many items a tree holds."""
        return int(self.trees.size[tree])

    def new_tree(self) -> int:
        """One more empty tree."""
        tree, n = len(self._built), len(self._built) + 1
        self.trees = trees = resized_all(self.trees, n, ("root", "height", "size"))
        trees.root[tree] = trees.height[tree] = -1
        self._low, self._high = resized(self._low, n), resized(self._high, n)
        self._built, self._most = resized(self._built, n), resized(self._most, n)
        return tree

    def keys(self, tree: int, low: Floats) -> Int64s:
        """The keys that items here have in a tree."""
        if self.order == "first":
            return float_keys(low[:, 0])
        return curve_keys(low, self._low[tree], self._high[tree])

    def add(self, tree: int, slots: Int64s, low: Floats, high: Floats | None = None) -> None:
        """Put in items, which are not there yet; a point has no `high`."""
        size = self.size(tree)
        low, after = _plain(low), size + len(slots)
        high = low if high is None else _plain(high)
        if len(slots) == 0:
            return
        if len(slots) >= SHARE * size or (self.order == "curve" and after > GROWTH * self._built[tree]):
            self._build(tree, slots, low, high)
        else:
            self._insert(tree, slots, low, high)

    def _insert(self, tree: int, slots: Int64s, low: Floats, high: Floats) -> None:
        keys = self.keys(tree, low)
        order = np.argsort(keys, kind="stable")
        keys, slots, low, high = keys[order], slots[order], low[order], high[order]
        for _ in stops(lambda done: insert_items(done, self.trees, tree, keys, slots, low, high), len(keys)):
            self.grow()
        self._most[tree] = max(self._most[tree], self.size(tree))

    def _build(self, tree: int, slots: Int64s, low: Floats, high: Floats) -> None:
        """Build a tree anew from what it holds and what is added."""
        n = self.size(tree)
        if n > 0:
            old_slots, old_low = np.empty(n, np.int64), np.empty((n, self.dims))
            old_high = np.empty((n, self.dims)) if self._is_box else old_low
            dismantle(self.trees, tree, np.empty(n, np.int64), old_slots, old_low, old_high)
            slots, low = np.concatenate([old_slots, slots]), np.concatenate([old_low, low])
            high = np.concatenate([old_high, high]) if self._is_box else low
        self._low[tree], self._high[tree] = extent_of(low)
        self._built[tree] = self._most[tree] = len(slots)
        keys, (n_leaves, n_inners) = self.keys(tree, low), n_packed(len(slots))
        self.grow(n_leaves, n_inners)
        build(self.trees, tree, keys, slots, low, high, np.lexsort((slots, keys)), np.empty(n_leaves, np.int64))

    def remove(self, tree: int, slots: Int64s, low: Floats) -> None:
        """Take out items, which are there, at these places."""
        keys = self.keys(tree, low)
        order = np.argsort(keys, kind="stable")
        keys, slots = keys[order], slots[order]
        done = remove_items(0, self.trees, tree, keys, slots)
        if done < len(slots):
            raise KeyError(f"Slot {slots[done]} is not in tree {tree} at the place given.")
        if 0 < SHRINKAGE * self.size(tree) < self._most[tree]:
            nowhere = np.empty((0, self.dims))
            self._build(tree, np.empty(0, np.int64), nowhere, nowhere)

    def set(self, tree: int, slot: int, low: Floats, dim: int, value: float) -> None:
        """Move the point at this place to another one that differs in one dimension."""
        places = np.stack([low, low])
        places[1, dim] = value
        was, now = self.keys(tree, places).tolist()
        if was != now:
            self.remove(tree, np.array([slot]), places[:1])
            self.add(tree, np.array([slot]), places[1:])
        elif not set_coordinate(self.trees, tree, was, slot, dim, value):
            raise KeyError(f"Slot {slot} is not in tree {tree} at the place given.")

    def grow(self, n_leaves: int = 1, n_inners: int = 0) -> None:
        """Make sure that so many nodes are free, and enough for one insertion at least."""
        trees = self.trees
        more_leaves = _more(n_leaves, int(trees.n_free[LEAF]), len(trees.free_leaf))
        if more_leaves > 0:
            self.trees = trees = _with_leaves(trees, more_leaves)
        n_inners = max(n_inners, int(trees.height.max(initial=-1)) + 1)
        more_inners = _more(n_inners, int(trees.n_free[INNER]), len(trees.free_inner))
        if more_inners > 0:
            self.trees = _with_inners(trees, more_inners)

    @property
    def n_bytes(self) -> int:
        leaves, inners, *others = self.trees
        own = [
            *leaves[: None if self._is_box else -1],
            *inners,
            *others,
            self._low,
            self._high,
            self._built,
            self._most,
        ]
        return sum(array.nbytes for array in own)

    def check(self) -> None:
        """Assert the invariants."""
        check_trees(self.trees)


def _plain(array: Floats) -> Floats:
    # Kernels are compiled anew for arrays that are read-only or have gaps.
    return np.require(array, np.float64, ["C", "W"])


def extent_of(points: Floats) -> tuple[Floats, Floats]:
    """A box that holds nearly all points: few that lie far away do not stretch it."""
    low, high = np.zeros(points.shape[1]), np.zeros(points.shape[1])
    for j, values in enumerate(points[:: 1 + len(points) // SAMPLE].T):
        is_near = np.abs(values) < BEYOND
        near = np.sort(values[is_near] if is_near.any() else values)
        if len(near) > 0:
            low[j], high[j] = near[len(near) // 200], near[-1 - len(near) // 200]
    return low, high


def _more(needed: int, free: int, have: int) -> int:
    return 0 if needed <= free else ample(needed - free, max(have // 4, 4))


def _freed(free: Int64s, n_free: int, more: int) -> Int64s:
    larger = resized(free, len(free) + more)
    larger[n_free : n_free + more] = np.arange(len(free) + more - 1, len(free) - 1, -1)
    return larger


def _with_leaves(trees: Trees, more: int) -> Trees:
    old = trees.leaves
    n = len(old.length) + more
    leaves = resized_all(old, n, ("length", "key", "slot", "low"))
    leaves = leaves._replace(high=leaves.low if old.high is old.low else resized(old.high, n))
    free = _freed(trees.free_leaf, int(trees.n_free[LEAF]), more)
    trees.n_free[LEAF] += more
    return trees._replace(leaves=leaves, free_leaf=free)


def _with_inners(trees: Trees, more: int) -> Trees:
    inners = resized_all(trees.inners, len(trees.free_inner) + more)
    free = _freed(trees.free_inner, int(trees.n_free[INNER]), more)
    trees.n_free[INNER] += more
    return trees._replace(inners=inners, free_inner=free)
