"""A whole SFC array at once from sorted points, and what its tests assert."""

from itertools import pairwise

import numpy as np

from skyband.covering.kernels.curve import Words, keys_of
from skyband.covering.kernels.hilbert import hilbert_keys
from skyband.covering.kernels.sfc import HEIGHT, HILBERT, INNER, LEAF, ROOT, SIZE, SFCArray, SfcNodes, make_array
from skyband.kernels.array import Int64s
from skyband.kernels.simd import LANES, Cells

# Nodes are built with room for insertions to come: the first would split a full one.
PACKED = LANES * 7 // 8


def n_packed(n: int) -> tuple[int, int]:
    """How many leaves and inner nodes are built for so many points."""
    n_leaves = level = -(-n // PACKED)
    n_inners = 0
    while level > 1:
        level = -(-level // PACKED)
        n_inners += level
    return n_leaves, n_inners


def curve_keys(cells: Cells, bits: int, hilbert: bool) -> Words:
    """The keys of cells on one of the curves."""
    return hilbert_keys(cells, bits) if hilbert else keys_of(cells, bits)


def build(
    cells: Cells, slots: Int64s, bits: int, n_leaves: int = 0, n_inners: int = 0, hilbert: bool = False
) -> SFCArray:
    """An array of these points, which are in the order of their pairs, with free nodes besides."""
    leaves, inners = n_packed(len(slots))
    array = make_array(cells.shape[1], bits, leaves + n_leaves, inners + n_inners, hilbert)
    if not len(slots):
        return array
    _pack(array.leaves, 0, cells, cells, slots)
    level, height = np.arange(-(-len(slots) // PACKED)), 0
    firsts = np.arange(0, len(slots), PACKED)
    keys, first_node = curve_keys(cells[firsts], bits, hilbert), 0
    nodes = array.leaves
    while len(level) > 1:
        upper, lower = _corners(nodes, level)
        _pack(array.inners, first_node, upper, lower, level)
        parents = first_node + np.arange(-(-len(level) // PACKED))
        at = np.arange(len(level))
        array.inners.key[parents[at // PACKED], at % PACKED] = keys
        array.inners.tie[parents[at // PACKED], at % PACKED] = slots[firsts]
        firsts, keys = firsts[::PACKED], keys[::PACKED]
        first_node, level, nodes, height = first_node + len(parents), parents, array.inners, height + 1
    array.shape[[ROOT, HEIGHT, SIZE]] = level[0], height, len(slots)
    for kind, used in ((LEAF, n_packed(len(slots))[0]), (INNER, first_node)):
        free = array.free[kind]
        array.n_free[kind] = len(free) - used
        free[: len(free) - used] = np.arange(used, len(free))[::-1]
    return array


def _pack(nodes: SfcNodes, first: int, upper: Cells, lower: Cells, children: Int64s) -> None:
    """Fill nodes from one on with entries in their order."""
    n, dims = upper.shape
    node, lane = first + np.arange(n) // PACKED, np.arange(n) % PACKED
    for j in range(dims):
        nodes.upper[node, j, lane] = upper[:, j]
        if nodes.lower is not nodes.upper:
            nodes.lower[node, j, lane] = lower[:, j]
    nodes.child[node, lane] = children
    nodes.length[: first + -(-n // PACKED)][first:] = np.bincount(node - first)


def _corners(nodes: SfcNodes, level: Int64s) -> tuple[Cells, Cells]:
    """The corners of nodes, all of which have entries."""
    in_use = (np.arange(LANES) < nodes.length[level][:, None])[:, None, :]
    most = np.iinfo(nodes.upper.dtype).max
    upper, lower = nodes.upper[level], nodes.lower[level]
    return np.where(in_use, upper, 0).max(axis=2), np.where(in_use, lower, most).min(axis=2)


Pair = tuple[tuple[int, ...], int]


def check_array(array: SFCArray) -> list[Pair]:
    """Assert the invariants; answers with the pairs of key and slot, in their order."""
    bits, root, height, size, _ = array.shape.tolist()
    seen: dict[int, list[int]] = {LEAF: [], INNER: []}
    found = _check(array, root, height, bits, seen) if height >= 0 else []
    assert len(found) == size
    assert all(first < second for first, second in pairwise(found))
    for kind, nodes in ((LEAF, array.leaves), (INNER, array.inners)):
        free = array.free[kind][: array.n_free[kind]].tolist()
        assert sorted(free + seen[kind]) == list(range(len(nodes.length)))
    assert array.leaves.upper is array.leaves.lower
    assert height <= 0 or array.inners.length[root] > 1
    return found


def _check(array: SFCArray, node: int, height: int, bits: int, seen: dict[int, list[int]]) -> list[Pair]:
    """The pairs below a node in ascending order, everything below it asserted."""
    if height == 0:
        seen[LEAF].append(node)
        n = int(array.leaves.length[node])
        assert 0 < n <= LANES
        cells = np.ascontiguousarray(array.leaves.upper[node, :, :n].T)
        keys = curve_keys(cells, bits, bool(array.shape[HILBERT]))
        return sorted(zip(map(tuple, keys.tolist()), array.leaves.child[node, :n].tolist(), strict=True))
    seen[INNER].append(node)
    inners, below, pairs = array.inners, array.leaves if height == 1 else array.inners, list[Pair]()
    n = int(inners.length[node])
    assert 0 < n <= LANES
    upper, lower = _corners(below, inners.child[node, :n].astype(np.int64))
    assert np.array_equal(upper.T, inners.upper[node, :, :n])
    assert np.array_equal(lower.T, inners.lower[node, :, :n])
    for at in range(n):
        own = _check(array, int(inners.child[node, at]), height - 1, bits, seen)
        if at:
            separator = (tuple(inners.key[node, at].tolist()), int(inners.tie[node, at]))
            assert pairs[-1] < separator <= own[0]
        pairs += own
    return pairs
