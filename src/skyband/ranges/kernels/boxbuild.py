"""Whole trees of `skyband.ranges.kernels.boxtree`: built from sorted items, taken apart into them, and checked."""

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxtree import (
    AT,
    FANOUT,
    INNER,
    LAST,
    LEAF,
    NODE,
    PACKED,
    Inners,
    Leaves,
    Trees,
    give_back,
    summarise,
    take_inner,
    take_leaf,
)


def n_packed(n: int) -> tuple[int, int]:
    """How many leaves and inner nodes this many items are built into."""
    n_leaves = n_inners = 0
    if n > 0:
        n_leaves = wide = -(-n // PACKED)
        while wide > 1:
            wide = -(-wide // PACKED)
            n_inners += wide
    return n_leaves, n_inners


@kernel
def build(
    trees: Trees, t: int, keys: Int64s, slots: Int64s, low: Floats, high: Floats, order: Int64s, nodes: Int64s
) -> None:
    """Build an empty tree from items in order of their pairs; `n_packed` nodes are free, `nodes` has room for them."""
    leaves, n = trees.leaves, len(order)
    wide = -(-n // PACKED)
    for i in range(wide):
        node = nodes[i] = take_leaf(leaves, trees.free_leaf, trees.n_free)
        first, end = i * n // wide, (i + 1) * n // wide
        for at in range(end - first):
            item = order[first + at]
            leaves.key[node, at], leaves.slot[node, at] = keys[item], slots[item]
            for j in range(low.shape[1]):
                leaves.high[node, j, at] = high[item, j]
                leaves.low[node, j, at] = low[item, j]
        leaves.length[node] = end - first
    height = min(wide, 1) - 1
    while wide > 1:
        wide, height = _build_level(trees, height, wide, nodes), height + 1
    trees.root[t], trees.height[t], trees.size[t] = nodes[0] if n > 0 else -1, height, n


@inlined
def _build_level(trees: Trees, level: int, n: int, nodes: Int64s) -> int:
    """Replace the first n of `nodes`, which are at this level, by their parents; returns how many those are."""
    inners, wide = trees.inners, -(-n // PACKED)
    for i in range(wide):
        node = take_inner(inners, trees.free_inner, trees.n_free)
        first, end = i * n // wide, (i + 1) * n // wide
        for at in range(end - first):
            inners.child[node, at] = nodes[first + at]
            summarise(trees.leaves, level, node, at, inners)
        inners.length[node] = end - first
        nodes[i] = node
    return wide


@kernel
def dismantle(trees: Trees, t: int, keys: Int64s, slots: Int64s, low: Floats, high: Floats) -> None:
    """Empty a tree and write its items down in order; `low` and `high` may be the same array."""
    nodes, ats, inners, leaves = trees.path[NODE], trees.path[AT], trees.inners, trees.leaves
    height, n = trees.height[t], 0
    level = height
    if level >= 0:
        nodes[level], ats[level] = trees.root[t], 0
    while 0 <= level <= height:
        node, at = nodes[level], ats[level]
        if level == 0:
            for i in range(leaves.length[node]):
                keys[n], slots[n] = leaves.key[node, i], leaves.slot[node, i]
                for j in range(low.shape[1]):
                    high[n, j] = leaves.high[node, j, i]
                    low[n, j] = leaves.low[node, j, i]
                n += 1
        if level == 0 or at == inners.length[node]:
            if level == 0:
                give_back(trees.free_leaf, trees.n_free, LEAF, node)
            else:
                give_back(trees.free_inner, trees.n_free, INNER, node)
            level += 1
        else:
            ats[level] += 1
            level -= 1
            nodes[level], ats[level] = inners.child[node, at], 0
    trees.root[t], trees.height[t], trees.size[t] = -1, -1, 0


def check_trees(trees: Trees) -> None:
    """Assert the invariants."""
    leaves, inners = [], []
    for t in range(len(trees.root)):
        if trees.height[t] < 0:
            assert trees.root[t] == -1
            assert trees.size[t] == 0
            continue
        level = [int(trees.root[t])]
        for height in range(int(trees.height[t]), 0, -1):
            inners += level
            assert height < trees.height[t] or trees.inners.length[level[0]] > 1
            level = [child for node in level for child in _check_inner(trees, node, height)]
        leaves += level
        pairs = [pair for node in level for pair in _check_leaf(trees, node)]
        assert pairs == sorted(set(pairs))
        assert len(pairs) == trees.size[t]
    for kind, used, free in ((LEAF, leaves, trees.free_leaf), (INNER, inners, trees.free_inner)):
        assert sorted(used + free[: trees.n_free[kind]].tolist()) == list(range(len(free)))


def _check_padding(node: int, entries: Leaves | Inners) -> int:
    count = int(entries.length[node])
    assert 0 < count <= FANOUT
    assert (entries.key[node, count:] == LAST).all()
    assert (entries.slot[node, count:] == LAST).all()
    for side in (entries.low, entries.high):
        assert np.isnan(side[node, :, count:]).all()
        assert np.isfinite(side[node, :, :count]).all()
    assert (entries.low[node, :, :count] <= entries.high[node, :, :count]).all()
    return count


def _check_leaf(trees: Trees, node: int) -> list[tuple[int, int]]:
    count = _check_padding(node, trees.leaves)
    return list(zip(trees.leaves.key[node, :count].tolist(), trees.leaves.slot[node, :count].tolist(), strict=True))


def _check_inner(trees: Trees, node: int, height: int) -> list[int]:
    inners = trees.inners
    count = _check_padding(node, inners)
    assert (inners.child[node, count:] == -1).all()
    assert (inners.below[node, count:] == 0).all()
    children = inners.child[node, :count].tolist()
    for at, child in enumerate(children):
        below: Leaves | Inners = trees.leaves if height == 1 else inners
        assert inners.key[node, at] == below.key[child, 0]
        assert inners.slot[node, at] == below.slot[child, 0]
        assert np.array_equal(inners.low[node, :, at], np.nanmin(below.low[child], axis=1))
        assert np.array_equal(inners.high[node, :, at], np.nanmax(below.high[child], axis=1))
        n_items = trees.leaves.length[child] if height == 1 else inners.below[child].sum()
        assert inners.below[node, at] == n_items
    return children
