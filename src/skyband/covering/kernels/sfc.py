"""The SFC array: points of a cube of cells in the order of their keys along a space-filling curve.

A B+-tree over (key, slot) pairs, which are distinct; it is the paper's sorted array with fast insertion and removal.
A leaf holds up to 32 points in any order, dimension by dimension, so that one comparison looks at all of them. An entry
of an inner node has a *separator*, a pair that none below it comes before, and the corners of what is below it: in each
dimension the largest and the least cell. For leaves `lower` is the very same array as `upper`, their points.

Invariants: the pairs below an entry come no earlier than its separator, unless it is the first of its node, and before
the next one; corners are exact after every update; no node is empty, and a root that is no leaf has two children
or more; every node is in the tree or free, once. Places of a node from its length on mean nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from skyband.covering.kernels.curve import key_of, n_words, spread_table
from skyband.covering.kernels.hilbert import hilbert_key_of
from skyband.kernels.array import Int32s, Int64s, UInt64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import LANES, Cells

HALF = LANES // 2
# A split leaves 16 entries in a node, and it takes 16 more to split it again.
HIGHEST = 16

# Places of `shape`.
BITS, ROOT, HEIGHT, SIZE, HILBERT = 0, 1, 2, 3, 4
# Places of `n_free`, and rows of `free`.
LEAF, INNER = 0, 1
# Rows of `path`, by level: the node, and the entry in it.
NODE, AT = 0, 1


class SfcNodes(NamedTuple):
    """By node its length, by node, dimension and entry the corners, and by node and entry the separator and the child.

    The child of a leaf's entry is the slot of a point.
    """

    length: Int32s
    upper: Cells
    lower: Cells
    child: Int32s
    key: UInt64s
    tie: Int32s


class SFCArray(NamedTuple):
    """Nodes of a tree whose root is at `shape[ROOT]` and has height `shape[HEIGHT]`; height -1 means that it is empty.

    `shape[HILBERT]` tells the curve, the Z curve where it is 0. `free` holds stacks of `n_free` nodes. From `path` on
    all is scratch, so one thread at a time may use it.
    """

    leaves: SfcNodes
    inners: SfcNodes
    shape: Int64s
    spread: UInt64s
    free: tuple[Int64s, Int64s]
    n_free: Int64s
    path: Int64s
    cells: Cells
    turned: Int64s
    pair: UInt64s
    keys: UInt64s
    order: Int64s


def make_array(dims: int, bits: int, n_leaves: int = 0, n_inners: int = 0, hilbert: bool = False) -> SFCArray:
    """An empty array over a pool of free nodes."""
    words = n_words(dims, bits)
    kind: Any = np.uint16 if bits <= 16 else np.uint32

    def nodes(n: int, n_words: int) -> SfcNodes:
        upper, tie = np.zeros((n, dims, LANES), kind), np.zeros((n, LANES if n_words else 0), np.int32)
        lower = np.zeros((n, dims, LANES), kind) if n_words else upper
        child, key = np.zeros((n, LANES), np.int32), np.zeros((n, LANES if n_words else 0, words), np.uint64)
        return SfcNodes(np.zeros(n, np.int32), upper, lower, child, key, tie)

    return SFCArray(
        nodes(n_leaves, 0),
        nodes(n_inners, words),
        shape=np.array([bits, -1, -1, 0, hilbert], np.int64),
        spread=spread_table(dims),
        free=(np.arange(n_leaves)[::-1].copy(), np.arange(n_inners)[::-1].copy()),
        n_free=np.array([n_leaves, n_inners], np.int64),
        path=np.zeros((2, HIGHEST + 2), np.int64),
        cells=np.zeros(dims, kind),
        turned=np.zeros(dims, np.int64),
        pair=np.zeros(words, np.uint64),
        keys=np.zeros((LANES, words), np.uint64),
        order=np.zeros(LANES, np.int64),
    )


@kernel
def write_key(array: SFCArray, cells: Cells, key: UInt64s) -> None:
    """Write the key that a cell has on the curve."""
    if array.shape[HILBERT]:
        hilbert_key_of(cells, array.shape[BITS], array.spread, array.turned, key)
    else:
        key_of(cells, array.shape[BITS], array.spread, key)


@inlined
def precedes(a: UInt64s, a_tie: int, b: UInt64s, b_tie: int) -> bool:
    """Whether a pair comes before another."""
    for w in range(len(a)):
        if a[w] != b[w]:
            return a[w] < b[w]
    return a_tie < b_tie


@inlined
def child_at(nodes: SfcNodes, node: int, key: UInt64s, tie: int) -> int:
    """The entry of an inner node that a pair belongs below: the last whose separator does not come after it."""
    keys, ties, at, beyond = nodes.key[node], nodes.tie[node], 0, int(nodes.length[node])
    while beyond - at > 1:
        middle = (at + beyond) >> 1
        if precedes(key, tie, keys[middle], ties[middle]):
            beyond = middle
        else:
            at = middle
    return at


@kernel
def summarise(nodes: SfcNodes, node: int, parent: int, at: int, inners: SfcNodes) -> None:
    """Write the corners of a node into the entry of its parent."""
    n = int(nodes.length[node])
    for j in range(nodes.upper.shape[1]):
        cells, most = nodes.upper[node, j], nodes.upper[node, j, 0]
        for i in range(1, n):
            most = max(most, cells[i])
        inners.upper[parent, j, at] = most
        cells, least = nodes.lower[node, j], nodes.lower[node, j, 0]
        for i in range(1, n):
            least = min(least, cells[i])
        inners.lower[parent, j, at] = least


@kernel
def _move(nodes: SfcNodes, source: int, i: int, target: int, k: int) -> None:
    """Copy an entry of an inner node."""
    nodes.child[target, k], nodes.tie[target, k] = nodes.child[source, i], nodes.tie[source, i]
    for w in range(nodes.key.shape[2]):
        nodes.key[target, k, w] = nodes.key[source, i, w]
    for j in range(nodes.upper.shape[1]):
        nodes.upper[target, j, k] = nodes.upper[source, j, i]
        nodes.lower[target, j, k] = nodes.lower[source, j, i]


@inlined
def _take(free: Int64s, n_free: Int64s, kind: int) -> int:
    n_free[kind] -= 1
    return int(free[n_free[kind]])


@inlined
def _give_back(free: Int64s, n_free: Int64s, kind: int, node: int) -> None:
    free[n_free[kind]] = node
    n_free[kind] += 1


@kernel
def _make_room(inners: SfcNodes, parent: int, at: int) -> None:
    for i in range(inners.length[parent], at, -1):
        _move(inners, parent, i - 1, parent, i)
    inners.length[parent] += 1


@kernel
def _sort_leaf(array: SFCArray, node: int) -> None:
    """Write the keys of a full leaf into `keys`, and its entries in the order of their pairs into `order`."""
    leaves, cells, keys, order = array.leaves, array.cells, array.keys, array.order
    for i in range(LANES):
        for j in range(len(cells)):
            cells[j] = leaves.upper[node, j, i]
        write_key(array, cells, keys[i])
        k = i
        while k > 0 and precedes(keys[i], leaves.child[node, i], keys[order[k - 1]], leaves.child[node, order[k - 1]]):
            order[k] = order[k - 1]
            k -= 1
        order[k] = i


@kernel
def _halve_leaf(array: SFCArray, node: int, parent: int, at: int) -> None:
    """Move the upper half of a full leaf into a free one, the parent's next entry."""
    leaves, inners, order = array.leaves, array.inners, array.order
    _sort_leaf(array, node)
    other = _take(array.free[LEAF], array.n_free, LEAF)
    _make_room(inners, parent, at + 1)
    inners.child[parent, at + 1] = other
    inners.tie[parent, at + 1] = leaves.child[node, order[HALF]]
    for w in range(array.keys.shape[1]):
        inners.key[parent, at + 1, w] = array.keys[order[HALF], w]
    for i in range(HALF):
        leaves.child[other, i] = leaves.child[node, order[HALF + i]]
        for j in range(leaves.upper.shape[1]):
            leaves.upper[other, j, i] = leaves.upper[node, j, order[HALF + i]]
    _keep(leaves, node, order)
    leaves.length[node] = leaves.length[other] = HALF


@kernel
def _keep(leaves: SfcNodes, node: int, order: Int64s) -> None:
    """Leave only the first half of the order in a leaf, at its front."""
    stays = np.int64(0)
    for i in range(HALF):
        stays |= np.int64(1) << order[i]
    n = 0
    for i in range(LANES):
        if (stays >> i) & 1:
            leaves.child[node, n] = leaves.child[node, i]
            for j in range(leaves.upper.shape[1]):
                leaves.upper[node, j, n] = leaves.upper[node, j, i]
            n += 1


@kernel
def _halve_inner(array: SFCArray, node: int, parent: int, at: int) -> None:
    """Move the upper half of a full inner node into a free one, the parent's next entry."""
    inners = array.inners
    other = _take(array.free[INNER], array.n_free, INNER)
    _make_room(inners, parent, at + 1)
    inners.child[parent, at + 1], inners.tie[parent, at + 1] = other, inners.tie[node, HALF]
    for w in range(inners.key.shape[2]):
        inners.key[parent, at + 1, w] = inners.key[node, HALF, w]
    for i in range(HALF):
        _move(inners, node, HALF + i, other, i)
    inners.length[node] = inners.length[other] = HALF


@kernel
def _split(array: SFCArray, level: int, parent: int, at: int) -> None:
    """Split the full child of an entry, which is at this level; the parent has room."""
    inners, child = array.inners, int(array.inners.child[parent, at])
    if level == 0:
        _halve_leaf(array, child, parent, at)
    else:
        _halve_inner(array, child, parent, at)
    nodes = array.leaves if level == 0 else inners
    for i in range(at, at + 2):
        summarise(nodes, int(inners.child[parent, i]), parent, i, inners)


@kernel
def _grow(array: SFCArray) -> None:
    """Put a new root above one that is full."""
    shape, inners = array.shape, array.inners
    root = _take(array.free[INNER], array.n_free, INNER)
    inners.child[root, 0], inners.length[root] = shape[ROOT], 1
    # Nothing is compared with the separator of a first entry, until a removal makes another first.
    inners.tie[root, 0] = -1
    for w in range(inners.key.shape[2]):
        inners.key[root, 0, w] = 0
    _split(array, shape[HEIGHT], root, 0)
    shape[ROOT], shape[HEIGHT] = root, shape[HEIGHT] + 1


@inlined
def has_room(array: SFCArray) -> bool:
    """Whether there are free nodes enough for any one insertion."""
    return array.n_free[LEAF] > 0 and array.n_free[INNER] > array.shape[HEIGHT] + 1


@kernel
def insert(array: SFCArray, cells: Cells, slot: int) -> None:
    """Put in a point; there is room, and the slot is not there."""
    shape, leaves, inners, pair = array.shape, array.leaves, array.inners, array.pair
    write_key(array, cells, pair)
    if shape[HEIGHT] < 0:
        shape[ROOT], shape[HEIGHT] = _take(array.free[LEAF], array.n_free, LEAF), 0
        leaves.length[shape[ROOT]] = 0
    full = leaves.length[shape[ROOT]] if shape[HEIGHT] == 0 else inners.length[shape[ROOT]]
    if full == LANES:
        _grow(array)
    node = int(shape[ROOT])
    for level in range(shape[HEIGHT], 0, -1):
        at = child_at(inners, node, pair, slot)
        child = int(inners.child[node, at])
        length = leaves.length[child] if level == 1 else inners.length[child]
        if length == LANES:
            _split(array, level - 1, node, at)
            if not precedes(pair, slot, inners.key[node, at + 1], inners.tie[node, at + 1]):
                at += 1
            child = int(inners.child[node, at])
        _widen(inners, node, at, cells)
        node = child
    n = leaves.length[node]
    leaves.child[node, n], leaves.length[node] = slot, n + 1
    for j in range(len(cells)):
        leaves.upper[node, j, n] = cells[j]
    shape[SIZE] += 1


@kernel
def _widen(inners: SfcNodes, node: int, at: int, cells: Cells) -> None:
    for j in range(len(cells)):
        inners.upper[node, j, at] = max(inners.upper[node, j, at], cells[j])
        inners.lower[node, j, at] = min(inners.lower[node, j, at], cells[j])


@kernel
def remove(array: SFCArray, cells: Cells, slot: int) -> bool:
    """Take a point out; False if it is not there."""
    shape, leaves, inners, pair, path = array.shape, array.leaves, array.inners, array.pair, array.path
    height = int(shape[HEIGHT])
    if height < 0:
        return False
    write_key(array, cells, pair)
    node = int(shape[ROOT])
    for level in range(height, 0, -1):
        at = child_at(inners, node, pair, slot)
        path[NODE, level], path[AT, level] = node, at
        node = int(inners.child[node, at])
    n, at = int(leaves.length[node]), 0
    while at < n and leaves.child[node, at] != slot:
        at += 1
    if at == n:
        return False
    leaves.child[node, at], leaves.length[node] = leaves.child[node, n - 1], n - 1
    for j in range(len(cells)):
        leaves.upper[node, j, at] = leaves.upper[node, j, n - 1]
    shape[SIZE] -= 1
    path[NODE, 0] = node
    _mend(array, height)
    return True


@kernel
def _mend(array: SFCArray, height: int) -> None:
    """Give up the nodes of the path that are empty, mend the corners above the others, and drop a root of one child."""
    leaves, inners, shape, path = array.leaves, array.inners, array.shape, array.path
    level, n_left = 0, int(leaves.length[path[NODE, 0]])
    while n_left == 0:
        if level == 0:
            _give_back(array.free[LEAF], array.n_free, LEAF, path[NODE, 0])
        else:
            _give_back(array.free[INNER], array.n_free, INNER, path[NODE, level])
        level += 1
        if level > height:
            shape[ROOT] = shape[HEIGHT] = -1
            return
        n_left = _drop_child(inners, path[NODE, level], path[AT, level])
    for above in range(level + 1, height + 1):
        nodes = leaves if above == 1 else inners
        summarise(nodes, int(path[NODE, above - 1]), path[NODE, above], path[AT, above], inners)
    while shape[HEIGHT] > 0 and inners.length[shape[ROOT]] == 1:
        _give_back(array.free[INNER], array.n_free, INNER, shape[ROOT])
        shape[ROOT], shape[HEIGHT] = inners.child[shape[ROOT], 0], shape[HEIGHT] - 1


@kernel
def _drop_child(inners: SfcNodes, node: int, at: int) -> int:
    """Take a child out of a node; returns how many are left."""
    length = int(inners.length[node]) - 1
    for i in range(at, length):
        _move(inners, node, i + 1, node, i)
    inners.length[node] = length
    return length


@kernel
def insert_all(array: SFCArray, cells: Cells, slots: Int64s, start: int) -> int:
    """Put in points from one on; returns how far it came, which is not the end where free nodes may run out."""
    for i in range(start, len(slots)):
        if not has_room(array):
            return i
        insert(array, cells[i], slots[i])
    return len(slots)


@kernel
def remove_all(array: SFCArray, cells: Cells, slots: Int64s) -> int:
    """Take points out; returns how many were there."""
    n = 0
    for i in range(len(slots)):
        n += remove(array, cells[i], slots[i])
    return n
