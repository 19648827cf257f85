"""A tree of cuts: a space is cut in two again and again, where the load on both sides fits the zones they get.

A leaf has one zone, or several where nothing tells its subscriptions apart: they are dealt out by the digests of their
ids. Cuts lie between the values of a sample, but any point has a leaf: what is less than the value of a cut is on its
first side.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s, UInt64s

LEAF = -1
# Cuts in the next dimension of the turn are taken when they balance nearly as well as the best one.
NEARLY = 1.1
# Beyond this share of the mean load, dealing out by id is better than a cut.
CROWDED = 1.5


class CutTree(NamedTuple):
    """Node 0 is the root: `dim` is cut at `value`, or LEAF, with the zones from `first` on, `dealt` of them."""

    dim: Int64s
    value: Floats
    child: Int64s
    first: Int64s
    dealt: Int64s

    def leaf_of(self, points: Floats) -> Int64s:
        """The leaf of each point."""
        nodes = np.zeros(len(points), np.int64)
        while True:
            going = np.flatnonzero(self.dim[nodes] != LEAF)
            if not len(going):
                return nodes
            at = nodes[going]
            is_above = points[going, self.dim[at]] >= self.value[at]
            nodes[going] = self.child[at, is_above.astype(np.int64)]

    def zone_of(self, points: Floats, digests: UInt64s) -> Int64s:
        """The zone of each point, by the digest of its id where its leaf has several."""
        leaves = self.leaf_of(points)
        among = (digests % self.dealt[leaves].astype(np.uint64)).astype(np.int64)
        return self.first[leaves] + among

    def boxes(self, n_dims: int) -> list[tuple[Floats, Floats, int, int]]:
        """The box of each leaf with its first zone and how many it has."""
        found = []
        todo = [(0, np.full(n_dims, -np.inf), np.full(n_dims, np.inf))]
        while todo:
            node, low, high = todo.pop()
            dim, value = int(self.dim[node]), float(self.value[node])
            if dim == LEAF:
                found.append((low, high, int(self.first[node]), int(self.dealt[node])))
                continue
            below, above = high.copy(), low.copy()
            below[dim] = above[dim] = value
            todo += [(int(self.child[node, 1]), above, high), (int(self.child[node, 0]), low, below)]
        return found


class Cut(NamedTuple):
    """A dimension, where to cut it, and how many zones the first side gets."""

    dim: int
    value: float
    n_below: int


class _Nodes:
    """Nodes of a tree that is growing."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, float, int, int, int, int]] = []

    def add(self, first: int, count: int) -> int:
        """A leaf; returns its number."""
        self.rows.append((LEAF, 0.0, 0, 0, first, count))
        return len(self.rows) - 1

    def cut(self, node: int, dim: int, value: float, children: tuple[int, int]) -> None:
        """Make a leaf a cut."""
        first, count = self.rows[node][4:]
        self.rows[node] = (dim, value, *children, first, count)

    def tree(self) -> CutTree:
        dim, value, below, above, first, count = zip(*self.rows, strict=True)
        whole = [np.array(column, np.int64) for column in (dim, first, count)]
        return CutTree(whole[0], np.array(value), np.array([below, above], np.int64).T.copy(), *whole[1:])


def one_leaf(n_zones: int) -> CutTree:
    """A tree without cuts: all is dealt out by id."""
    nodes = _Nodes()
    nodes.add(0, n_zones)
    return nodes.tree()


def divide(points: Floats, loads: Floats, n_zones: int, by_turns: bool = True) -> CutTree:
    """A tree for so many zones of nearly equal load.

    Dimensions are cut by turns, or else always the first one that balances well.
    """
    nodes = _Nodes()
    mean = float(loads.sum()) / n_zones
    _grow(nodes, nodes.add(0, n_zones), points, loads, mean, 0 if by_turns else None)
    return nodes.tree()


def divide_apart(points: Floats, loads: Floats, is_apart: Bools, n_zones: int) -> CutTree:
    """A tree whose first cut, in dimension 0 at 0.5, sets some subscriptions apart, which are dealt out by id.

    They have zones of their own in proportion to their load, or the last one along with others where that is little.
    """
    nodes = _Nodes()
    root = nodes.add(0, n_zones)
    total, apart = float(loads.sum()), float(loads[is_apart].sum())
    first, n_apart, n_others = 0, n_zones, n_zones
    if 0.0 < apart < total:
        share = n_zones * apart / total
        n_apart = min(max(round(share), 1), n_zones - 1)
        n_others = n_zones - n_apart if share >= 0.5 else n_zones
        first = n_zones - n_apart
    children = nodes.add(0, n_others), nodes.add(first, n_apart)
    nodes.cut(root, 0, 0.5, children)
    _grow(nodes, children[0], points[~is_apart], loads[~is_apart], total / n_zones, 1)
    if len(nodes.rows) == 3 and n_others == n_apart == n_zones:
        return one_leaf(n_zones)
    return nodes.tree()


def _grow(nodes: _Nodes, node: int, points: Floats, loads: Floats, mean: float, turn: int | None) -> None:
    first, count = nodes.rows[node][4:]
    cut = best_cut(points, loads, count, mean, turn or 0) if count > 1 else None
    if cut is None:
        return
    is_above = points[:, cut.dim] >= cut.value
    children = nodes.add(first, cut.n_below), nodes.add(first + cut.n_below, count - cut.n_below)
    nodes.cut(node, cut.dim, cut.value, children)
    turn = None if turn is None else (cut.dim + 1) % points.shape[1]
    _grow(nodes, children[0], points[~is_above], loads[~is_above], mean, turn)
    _grow(nodes, children[1], points[is_above], loads[is_above], mean, turn)


def best_cut(points: Floats, loads: Floats, n_zones: int, mean: float, turn: int) -> Cut | None:
    """The cut in the dimension whose turn it is, or in the next that balances well; None where none does."""
    n_dims = points.shape[1]
    dims = [(turn + i) % n_dims for i in range(n_dims)]
    found = [cut for dim in dims if (cut := _cut_of(points[:, dim], loads, n_zones, dim)) is not None]
    if not found:
        return None
    least = min(crowd for crowd, _ in found)
    if least > max(CROWDED * mean, 1.05 * float(loads.sum()) / n_zones):
        return None
    return next(cut for crowd, cut in found if crowd <= NEARLY * least)


def _cut_of(values: Floats, loads: Floats, n_zones: int, dim: int) -> tuple[float, Cut] | None:
    """The best cut of one dimension, after the load of the more crowded of its zones."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(loads[order])
    ends = np.flatnonzero(values[1:] > values[:-1])
    if not len(ends):
        return None
    total = float(below[-1])
    wanted = total * (n_zones // 2) / n_zones
    end = ends[np.argmin(np.abs(below[ends] - wanted))]
    load = float(below[end])
    n_below = min(max(round(n_zones * load / total), 1), n_zones - 1)
    crowd = max(load / n_below, (total - load) / (n_zones - n_below))
    return crowd, Cut(dim, _between(float(values[end]), float(values[end + 1])), n_below)


def _between(low: float, high: float) -> float:
    """A number more than one and at most the other."""
    middle = 0.5 * low + 0.5 * high
    return middle if middle > low else high
