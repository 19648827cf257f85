"""Trees of points or boxes, sorted by a key, which know for every child where everything below it lies.

B+-trees over (key, slot) pairs. A node holds up to 32 entries, dimension by dimension, so that 32 comparisons are one
short loop over contiguous numbers. An entry of an inner node has the least pair, the bounding box and the number of the
items below it. Many trees share one pool of nodes. `skyband.ranges.kernels.boxsearch` asks them,
`skyband.kernels.sort_keys` has their keys, and `boxbuild` makes whole ones.

Invariants: the pairs of a tree ascend and are distinct; least pairs, boxes and numbers are exact after every update; no
node is empty, and a root that is no leaf has two children or more; every node is in one tree or free, once. Unused
entries have the key LAST and NaN for a box, which no comparison finds, so loops run over all 32. For points `high` is
the very same array as `low`: whatever moves entries reads both sides of an entry before it writes either.
A split leaves 16 entries in a node, and it takes 16 more to split it again: no number of insertions makes a tree higher
than HIGHEST, whatever is removed in between.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel

FANOUT = 32
HALF = FANOUT // 2
# Nodes are built with room for insertions to come: the first would split a full one.
PACKED = FANOUT * 7 // 8
LAST = np.iinfo(np.int64).max
HIGHEST = 16

# Rows of `path`, by level: the node, the entry in it, and the entries that are still to be looked at.
NODE = 0
AT = 1
REST = 2

# Places of `n_free`.
LEAF = 0
INNER = 1


class Leaves(NamedTuple):
    """By leaf the number of its items, and by leaf, dimension and item the items; for points `high` is `low`."""

    length: Int64s
    key: Int64s
    slot: Int64s
    low: Floats
    high: Floats


class Inners(NamedTuple):
    """By inner node and entry: the child, its least pair, its box, and the number of items below."""

    length: Int64s
    key: Int64s
    slot: Int64s
    child: Int64s
    low: Floats
    high: Floats
    below: Int64s


class Trees(NamedTuple):
    """By tree its root, its height (0: the root is a leaf, -1: there is nothing) and the number of its items.

    `free_leaf` and `free_inner` are stacks of `n_free` nodes. `path`, `box` and `flag` are scratch, so one thread at a
    time may use the trees.
    """

    leaves: Leaves
    inners: Inners
    root: Int64s
    height: Int64s
    size: Int64s
    free_leaf: Int64s
    free_inner: Int64s
    n_free: Int64s
    path: Int64s
    box: Floats
    flag: Int64s


def make_trees(dims: int, n_trees: int = 1, n_leaves: int = 0, n_inners: int = 0, boxes: bool = False) -> Trees:
    """Empty trees of points, or of boxes, over a pool of free nodes."""

    def whole(n: int) -> Int64s:
        return np.empty((n, FANOUT), np.int64)

    def sides(n: int) -> Floats:
        return np.empty((n, dims, FANOUT))

    low, lengths = sides(n_leaves), (np.zeros(n_leaves, np.int64), np.zeros(n_inners, np.int64))
    inner = (whole(n_inners), whole(n_inners), whole(n_inners), sides(n_inners), sides(n_inners), whole(n_inners))
    return Trees(
        Leaves(lengths[0], whole(n_leaves), whole(n_leaves), low, sides(n_leaves) if boxes else low),
        Inners(lengths[1], *inner),
        root=np.full(n_trees, -1, np.int64),
        height=np.full(n_trees, -1, np.int64),
        size=np.zeros(n_trees, np.int64),
        free_leaf=np.arange(n_leaves)[::-1].copy(),
        free_inner=np.arange(n_inners)[::-1].copy(),
        n_free=np.array([n_leaves, n_inners], np.int64),
        path=np.zeros((3, HIGHEST + 2), np.int64),
        box=np.zeros((2, dims)),
        flag=np.zeros((2, FANOUT), np.int64),
    )


@inlined
def _copy(key: Int64s, slot: Int64s, low: Floats, high: Floats, source: int, target: int) -> None:
    """Copy an entry within a node."""
    key[target], slot[target] = key[source], slot[source]
    for j in range(len(low)):
        first, last = low[j, source], high[j, source]
        low[j, target], high[j, target] = first, last


@inlined
def _clear(key: Int64s, slot: Int64s, low: Floats, high: Floats, since: int) -> None:
    """Clear the entries of a node from one on."""
    for i in range(since, FANOUT):
        key[i] = slot[i] = LAST
    for j in range(len(low)):
        for i in range(since, FANOUT):
            low[j, i] = high[j, i] = np.nan


@kernel
def take_leaf(leaves: Leaves, free: Int64s, n_free: Int64s) -> int:
    """A free leaf, empty; there is one."""
    n_free[LEAF] -= 1
    node = free[n_free[LEAF]]
    _clear(leaves.key[node], leaves.slot[node], leaves.low[node], leaves.high[node], 0)
    leaves.length[node] = 0
    return node


@kernel
def take_inner(inners: Inners, free: Int64s, n_free: Int64s) -> int:
    """A free inner node, empty; there is one."""
    n_free[INNER] -= 1
    node = free[n_free[INNER]]
    _clear(inners.key[node], inners.slot[node], inners.low[node], inners.high[node], 0)
    for i in range(FANOUT):
        inners.child[node, i], inners.below[node, i] = -1, 0
    inners.length[node] = 0
    return node


@inlined
def give_back(free: Int64s, n_free: Int64s, kind: int, node: int) -> None:
    free[n_free[kind]] = node
    n_free[kind] += 1


@inlined
def _n_until(keys: Int64s, slots: Int64s, key: int, slot: int) -> int:
    """How many entries of a node come no later than a pair."""
    n = 0
    for i in range(FANOUT):
        n += keys[i] < key
    while n < FANOUT and keys[n] == key and slots[n] <= slot:
        n += 1
    return n


@kernel
def _find(leaves: Leaves, inners: Inners, root: int, height: int, key: int, slot: int, path: Int64s) -> bool:
    """Note the way down to the leaf of a pair, and how many of its items come before it; whether the pair is there."""
    node = root
    for level in range(height, 0, -1):
        at = max(_n_until(inners.key[node], inners.slot[node], key, slot) - 1, 0)
        path[NODE, level], path[AT, level] = node, at
        node = inners.child[node, at]
    n = _n_until(leaves.key[node], leaves.slot[node], key, slot)
    is_there = n > 0 and leaves.key[node, n - 1] == key and leaves.slot[node, n - 1] == slot
    path[NODE, 0], path[AT, 0] = node, n - 1 if is_there else n
    return is_there


@inlined
def _edge(values: Floats, is_low: bool) -> float:
    """The least, or the largest, number of a node in one dimension."""
    edge = np.inf if is_low else -np.inf
    for i in range(FANOUT):
        if (values[i] < edge) if is_low else (values[i] > edge):
            edge = values[i]
    return edge


@kernel
def summarise(leaves: Leaves, level: int, parent: int, at: int, inners: Inners) -> None:
    """Write the least pair, the box and the number of items of a child, which is at this level, into its parent."""
    child, is_leaf, below = inners.child[parent, at], level == 0, 0
    inners.key[parent, at] = leaves.key[child, 0] if is_leaf else inners.key[child, 0]
    inners.slot[parent, at] = leaves.slot[child, 0] if is_leaf else inners.slot[child, 0]
    for j in range(inners.low.shape[1]):
        inners.low[parent, j, at] = _edge(leaves.low[child, j] if is_leaf else inners.low[child, j], True)
        inners.high[parent, j, at] = _edge(leaves.high[child, j] if is_leaf else inners.high[child, j], False)
    if is_leaf:
        below = leaves.length[child]
    else:
        for i in range(FANOUT):
            below += inners.below[child, i]
    inners.below[parent, at] = below


@kernel
def _halve_leaf(leaves: Leaves, node: int, other: int) -> None:
    """Move the upper half of a full leaf into an empty one."""
    for i in range(HALF):
        leaves.key[other, i], leaves.slot[other, i] = leaves.key[node, HALF + i], leaves.slot[node, HALF + i]
    for j in range(leaves.low.shape[1]):
        for i in range(HALF):
            first, last = leaves.low[node, j, HALF + i], leaves.high[node, j, HALF + i]
            leaves.low[other, j, i], leaves.high[other, j, i] = first, last
    _clear(leaves.key[node], leaves.slot[node], leaves.low[node], leaves.high[node], HALF)
    leaves.length[node] = leaves.length[other] = HALF


@kernel
def _halve_inner(inners: Inners, node: int, other: int) -> None:
    """Move the upper half of a full inner node into an empty one."""
    for i in range(HALF):
        at = HALF + i
        inners.key[other, i], inners.slot[other, i] = inners.key[node, at], inners.slot[node, at]
        inners.child[other, i], inners.below[other, i] = inners.child[node, at], inners.below[node, at]
        inners.child[node, at], inners.below[node, at] = -1, 0
        for j in range(inners.low.shape[1]):
            inners.low[other, j, i], inners.high[other, j, i] = inners.low[node, j, at], inners.high[node, j, at]
    _clear(inners.key[node], inners.slot[node], inners.low[node], inners.high[node], HALF)
    inners.length[node] = inners.length[other] = HALF


@kernel
def _add_child(inners: Inners, parent: int, at: int, child: int) -> None:
    """Put a child among the others of a node that has room; its summary is not written."""
    key, slot, low, high = inners.key[parent], inners.slot[parent], inners.low[parent], inners.high[parent]
    children, below = inners.child[parent], inners.below[parent]
    for i in range(inners.length[parent], at, -1):
        _copy(key, slot, low, high, i - 1, i)
        children[i], below[i] = children[i - 1], below[i - 1]
    children[at] = child
    inners.length[parent] += 1


@kernel
def _split(trees: Trees, t: int) -> None:
    """Split the full nodes at the end of the path, from above, and lead the path to where the new item belongs."""
    leaves, inners, n_free, height = trees.leaves, trees.inners, trees.n_free, trees.height[t]
    nodes, ats, top = trees.path[NODE], trees.path[AT], 1
    while top <= height and inners.length[nodes[top]] == FANOUT:
        top += 1
    if top > height:
        root = take_inner(inners, trees.free_inner, n_free)
        _add_child(inners, root, 0, trees.root[t])
        nodes[top], ats[top], trees.root[t], trees.height[t] = root, 0, root, top
    for level in range(top - 1, -1, -1):
        node, parent, at = nodes[level], nodes[level + 1], ats[level + 1]
        if level == 0:
            other = take_leaf(leaves, trees.free_leaf, n_free)
            _halve_leaf(leaves, node, other)
        else:
            other = take_inner(inners, trees.free_inner, n_free)
            _halve_inner(inners, node, other)
        _add_child(inners, parent, at + 1, other)
        summarise(leaves, level, parent, at, inners)
        summarise(leaves, level, parent, at + 1, inners)
        if ats[level] >= HALF:
            nodes[level] = other
            ats[level] -= HALF
            ats[level + 1] += 1


@kernel
def _fit(
    of_leaf: Floats,
    level: int,
    height: int,
    dim: int,
    is_low: bool,
    was: float,
    now: float,
    path: Int64s,
    of_inner: Floats,
) -> None:
    """An edge of an entry of the path's node at this level has moved: move the edges of the boxes above."""
    for above in range(level + 1, height + 1):
        parent, at = path[NODE, above], path[AT, above]
        edge = of_inner[parent, dim, at]
        if (now <= edge) if is_low else (now >= edge):
            moved = now
        elif was == edge:
            child = path[NODE, above - 1]
            moved = _edge(of_leaf[child, dim] if above == 1 else of_inner[child, dim], is_low)
        else:
            return
        if moved == edge:
            return
        of_inner[parent, dim, at] = moved
        was, now = edge, moved


@kernel
def _count(leaves: Leaves, level: int, height: int, more: int, path: Int64s, inners: Inners) -> None:
    """Change the numbers of items above the path's node at this level, and the least pairs where they have changed."""
    is_first = True
    for above in range(level + 1, height + 1):
        parent, at, child = path[NODE, above], path[AT, above], path[NODE, above - 1]
        inners.below[parent, at] += more
        if is_first:
            inners.key[parent, at] = leaves.key[child, 0] if above == 1 else inners.key[child, 0]
            inners.slot[parent, at] = leaves.slot[child, 0] if above == 1 else inners.slot[child, 0]
        is_first = is_first and at == 0


@kernel
def insert_item(trees: Trees, t: int, key: int, slot: int, low: Floats, high: Floats) -> bool:
    """Put in an item that is not there; False, and nothing has changed, if there may be too few free nodes."""
    leaves, inners, n_free, path = trees.leaves, trees.inners, trees.n_free, trees.path
    if trees.height[t] < 0:
        if n_free[LEAF] == 0:
            return False
        trees.root[t], trees.height[t] = take_leaf(leaves, trees.free_leaf, n_free), 0
    _find(leaves, inners, trees.root[t], trees.height[t], key, slot, path)
    if leaves.length[path[NODE, 0]] == FANOUT:
        if n_free[LEAF] == 0 or n_free[INNER] <= trees.height[t]:
            return False
        _split(trees, t)
    node, at, height = path[NODE, 0], path[AT, 0], trees.height[t]
    keys, slots, lows, highs = leaves.key[node], leaves.slot[node], leaves.low[node], leaves.high[node]
    for i in range(leaves.length[node], at, -1):
        _copy(keys, slots, lows, highs, i - 1, i)
    keys[at], slots[at] = key, slot
    leaves.length[node] += 1
    trees.size[t] += 1
    _count(leaves, 0, height, 1, path, inners)
    for j in range(len(low)):
        lows[j, at], highs[j, at] = low[j], high[j]
        _fit(leaves.low, 0, height, j, True, np.inf, low[j], path, inners.low)
        _fit(leaves.high, 0, height, j, False, -np.inf, high[j], path, inners.high)
    return True


@kernel
def _drop_item(leaves: Leaves, node: int, at: int) -> int:
    """Take an item out of a leaf; returns how many are left."""
    key, slot, low, high = leaves.key[node], leaves.slot[node], leaves.low[node], leaves.high[node]
    length = leaves.length[node] - 1
    for i in range(at, length):
        _copy(key, slot, low, high, i + 1, i)
    _clear(key, slot, low, high, length)
    leaves.length[node] = length
    return length


@kernel
def _drop_child(inners: Inners, node: int, at: int) -> int:
    """Take a child out of a node; returns how many are left."""
    key, slot, low, high = inners.key[node], inners.slot[node], inners.low[node], inners.high[node]
    children, below, length = inners.child[node], inners.below[node], inners.length[node] - 1
    for i in range(at, length):
        _copy(key, slot, low, high, i + 1, i)
        children[i], below[i] = children[i + 1], below[i + 1]
    _clear(key, slot, low, high, length)
    children[length], below[length] = -1, 0
    inners.length[node] = length
    return length


@kernel
def _drop(trees: Trees, height: int) -> int:
    """Take out the item at the end of the path, and the nodes that are empty then; returns the level above those."""
    path, n_free, level = trees.path, trees.n_free, 0
    n_left = _drop_item(trees.leaves, path[NODE, 0], path[AT, 0])
    while n_left == 0:
        if level == 0:
            give_back(trees.free_leaf, n_free, LEAF, path[NODE, 0])
        else:
            give_back(trees.free_inner, n_free, INNER, path[NODE, level])
        level += 1
        n_left = _drop_child(trees.inners, path[NODE, level], path[AT, level]) if level <= height else 1
    return level


@kernel
def remove_item(trees: Trees, t: int, key: int, slot: int) -> bool:
    """Take an item out; False if it is not there."""
    leaves, inners, path, box = trees.leaves, trees.inners, trees.path, trees.box
    root, height = trees.root[t], trees.height[t]
    if height < 0 or not _find(leaves, inners, root, height, key, slot, path):
        return False
    for j in range(box.shape[1]):
        box[0, j] = leaves.low[path[NODE, 0], j, path[AT, 0]]
        box[1, j] = leaves.high[path[NODE, 0], j, path[AT, 0]]
    level = _drop(trees, height)
    # The box of an entry that went with the last item below it was that of the item.
    _count(leaves, level, height, -1, path, inners)
    for j in range(box.shape[1]):
        _fit(leaves.low, level, height, j, True, box[0, j], np.inf, path, inners.low)
        _fit(leaves.high, level, height, j, False, box[1, j], -np.inf, path, inners.high)
    if level > height:
        root = height = -1
    while height > 0 and inners.length[root] == 1:
        give_back(trees.free_inner, trees.n_free, INNER, root)
        root, height = inners.child[root, 0], height - 1
    trees.root[t], trees.height[t] = root, height
    trees.size[t] -= 1
    return True


@kernel
def set_coordinate(trees: Trees, t: int, key: int, slot: int, dim: int, value: float) -> bool:
    """Move a point, whose pair stays the same, to this number in one dimension; False if it is not there."""
    leaves, inners, path, height = trees.leaves, trees.inners, trees.path, trees.height[t]
    if height < 0 or not _find(leaves, inners, trees.root[t], height, key, slot, path):
        return False
    node, at = path[NODE, 0], path[AT, 0]
    low, high = leaves.low[node, dim, at], leaves.high[node, dim, at]
    leaves.low[node, dim, at] = leaves.high[node, dim, at] = value
    _fit(leaves.low, 0, height, dim, True, low, value, path, inners.low)
    _fit(leaves.high, 0, height, dim, False, high, value, path, inners.high)
    return True


@kernel
def insert_items(since: int, trees: Trees, t: int, keys: Int64s, slots: Int64s, low: Floats, high: Floats) -> int:
    """Put in items from `since` on; returns the first that there may be too few free nodes for."""
    for i in range(since, len(keys)):
        if not insert_item(trees, t, keys[i], slots[i], low[i], high[i]):
            return i
    return len(keys)


@kernel
def remove_items(since: int, trees: Trees, t: int, keys: Int64s, slots: Int64s) -> int:
    """Take out items from `since` on; returns the first that is not there."""
    for i in range(since, len(keys)):
        if not remove_item(trees, t, keys[i], slots[i]):
            return i
    return len(keys)


@kernel
def set_coordinates(since: int, trees: Trees, t: int, keys: Int64s, slots: Int64s, dim: int, values: Floats) -> int:
    """Move items from `since` on in one dimension; returns the first that is not there."""
    for i in range(since, len(keys)):
        if not set_coordinate(trees, t, keys[i], slots[i], dim, values[i]):
            return i
    return len(keys)
