"""A quadtree of places: which leaf holds whom. Leaves split when they are crowded and merge when they are not.

A node is halved at its `middle` in both dimensions: what is less than the middle lies on the lower side. So leaves
divide the plane whatever the numbers are, and a leaf at the rim of the bounds reaches to infinity: nothing goes wrong
with a place outside of them. Slots of a leaf form a ring without a head: FIRST, then `after` and `before`.

Invariants: every seated slot is in the ring of the leaf that its place leads to, and COUNT is the length of the ring,
0 for inner nodes; a leaf holds at most `capacity` slots unless it is DEEPEST; the four children of a node lie together;
four sibling leaves hold more than half the capacity together, right after a slot has left one of them; nodes that were
given up are linked by CHILD, four at a time. `known` is the leaf that the owner has been told a slot is in.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel

# Columns of `node`.
CHILD = 0
PARENT = 1
DEPTH = 2
COUNT = 3
FIRST = 4

# Columns of `box`.
X_LOW = 0
Y_LOW = 1
X_HIGH = 2
Y_HIGH = 3

LEAF = -1
NOWHERE = -1
# Sides of a leaf are then a millionth of those of the bounds; deeper leaves hold as many as there are.
DEEPEST = 20

# Places of `used`.
N_NODES = 0
FREE_NODES = 1
N_SPLITS = 2
N_MERGES = 3


class QuadTree(NamedTuple):
    """Nodes: CHILD is the first of the four children or LEAF; node 0 is the root. `extent` is the size of the bounds.

    The first `used[N_NODES]` nodes have been used, those from `used[FREE_NODES]` on are free again; `is_live` says
    which are not. `used` counts the splits and merges, too.
    """

    node: Int32s
    box: Floats
    middle: Floats
    is_live: Bools
    extent: Floats
    used: Int64s


class TreePlaces(NamedTuple):
    """By slot: its place, its leaf or NOWHERE, the leaf that is known, and its neighbours in the ring."""

    place: Floats
    leaf: Int32s
    known: Int32s
    after: Int32s
    before: Int32s


def make_tree(bounds: tuple[float, float, float, float], n_nodes: int = 128) -> QuadTree:
    """One empty leaf."""
    low, high = np.array(bounds, np.float64).reshape(2, 2)
    tree = QuadTree(
        node=np.zeros((n_nodes, 5), np.int32),
        box=np.zeros((n_nodes, 4)),
        middle=np.zeros((n_nodes, 2)),
        is_live=np.zeros(n_nodes, np.bool_),
        extent=high - low,
        used=np.array([1, -1, 0, 0]),
    )
    tree.node[0] = LEAF, -1, 0, 0, -1
    tree.box[0] = -np.inf, -np.inf, np.inf, np.inf
    tree.middle[0] = low + 0.5 * (high - low)
    tree.is_live[0] = True
    return tree


@inlined
def find_leaf(tree: QuadTree, x: float, y: float) -> int:
    """The leaf of a place."""
    node, middle, at = tree.node, tree.middle, 0
    while node[at, CHILD] != LEAF:
        at = node[at, CHILD] + (x >= middle[at, 0]) + 2 * (y >= middle[at, 1])
    return at


@inlined
def distance_to(tree: QuadTree, leaf: int, x: float, y: float) -> float:
    """How far a place is from a leaf; 0 within."""
    box = tree.box
    dx = max(box[leaf, X_LOW] - x, x - box[leaf, X_HIGH], 0.0)
    dy = max(box[leaf, Y_LOW] - y, y - box[leaf, Y_HIGH], 0.0)
    return np.sqrt(dx * dx + dy * dy)


@inlined
def depth_within(tree: QuadTree, leaf: int, x: float, y: float) -> float:
    """How far a place in a leaf is from the nearest place outside; 0 where there is nothing outside."""
    box = tree.box
    dx = min(x - box[leaf, X_LOW], box[leaf, X_HIGH] - x)
    dy = min(y - box[leaf, Y_LOW], box[leaf, Y_HIGH] - y)
    depth = min(dx, dy)
    return depth if depth < np.inf else 0.0


@kernel
def link(tree: QuadTree, seats: TreePlaces, slot: int, leaf: int) -> None:
    """Put a slot into the ring of a leaf."""
    node, after, before, first = tree.node, seats.after, seats.before, tree.node[leaf, FIRST]
    if node[leaf, COUNT] == 0:
        after[slot] = before[slot] = node[leaf, FIRST] = slot
    else:
        last = before[first]
        after[slot], before[slot], after[last], before[first] = first, last, slot, slot
    node[leaf, COUNT] += 1
    seats.leaf[slot] = leaf


@kernel
def unlink(tree: QuadTree, seats: TreePlaces, slot: int) -> None:
    """Take a slot out of the ring of its leaf."""
    node, after, before, leaf = tree.node, seats.after, seats.before, seats.leaf[slot]
    after[before[slot]], before[after[slot]] = after[slot], before[slot]
    node[leaf, COUNT] -= 1
    if node[leaf, FIRST] == slot:
        node[leaf, FIRST] = after[slot] if node[leaf, COUNT] > 0 else -1


@inlined
def _take_nodes(tree: QuadTree) -> int:
    used, first = tree.used, tree.used[FREE_NODES]
    if first >= 0:
        used[FREE_NODES] = tree.node[first, CHILD]
    else:
        first = used[N_NODES]
        used[N_NODES] += 4
    return first


@kernel
def _make_children(tree: QuadTree, parent: int) -> None:
    node, box, middle = tree.node, tree.box, tree.middle
    child = _take_nodes(tree)
    depth = node[parent, DEPTH] + 1
    share = 0.5 ** (depth + 1)
    for i in range(4):
        at = child + i
        node[at, CHILD], node[at, PARENT], node[at, DEPTH], node[at, COUNT], node[at, FIRST] = (
            LEAF,
            parent,
            depth,
            0,
            -1,
        )
        tree.is_live[at] = True
        for j in range(2):
            is_upper = (i >> j) & 1
            box[at, j] = middle[parent, j] if is_upper else box[parent, j]
            box[at, j + 2] = box[parent, j + 2] if is_upper else middle[parent, j]
            middle[at, j] = middle[parent, j] + (share if is_upper else -share) * tree.extent[j]
    node[parent, CHILD] = child
    tree.used[N_SPLITS] += 1


@inlined
def _move(tree: QuadTree, seats: TreePlaces, slot: int, leaf: int, n_moved: int, moved: Int64s) -> int:
    """Move a slot, and note it if it has not been noted since its leaf became known."""
    if seats.leaf[slot] == seats.known[slot]:
        moved[n_moved] = slot
        n_moved += 1
    link(tree, seats, slot, leaf)
    return n_moved


@kernel
def _split(tree: QuadTree, seats: TreePlaces, leaf: int, n_moved: int, moved: Int64s) -> int:
    node, place, after = tree.node, seats.place, seats.after
    slot, count = node[leaf, FIRST], node[leaf, COUNT]
    node[leaf, COUNT], node[leaf, FIRST] = 0, -1
    _make_children(tree, leaf)
    for _ in range(count):
        following = after[slot]
        to = find_leaf(tree, place[slot, 0], place[slot, 1])
        n_moved = _move(tree, seats, slot, to, n_moved, moved)
        slot = following
    return n_moved


@kernel
def seat(
    slots: Int64s, done: int, capacity: int, tree: QuadTree, seats: TreePlaces, n_moved: Int64s, moved: Int64s
) -> int:
    """Seat slots from `slots[done]` on, and split what is crowded then; returns how many are seated.

    Not all are when nodes run out. `moved` gets, once each, the new slots and those known to be in a leaf that is none
    any more; `n_moved[0]` of them are noted.
    """
    node, place, n = tree.node, seats.place, n_moved[0]
    for i in range(done, len(slots)):
        if tree.used[N_NODES] + 4 * DEEPEST > len(node):
            n_moved[0] = n
            return i
        slot = slots[i]
        leaf = find_leaf(tree, place[slot, 0], place[slot, 1])
        link(tree, seats, slot, leaf)
        moved[n] = slot
        n += 1
        # Only one child can be crowded after a split: that which has got everybody.
        while node[leaf, COUNT] > capacity and node[leaf, DEPTH] < DEEPEST:
            n = _split(tree, seats, leaf, n, moved)
            leaf = seats.leaf[slot]
    n_moved[0] = n
    return len(slots)


@inlined
def _held_below(tree: QuadTree, parent: int) -> int:
    """How many slots the four children hold, or -1 if one is no leaf."""
    node, child, held = tree.node, tree.node[parent, CHILD], 0
    for at in range(child, child + 4):
        if node[at, CHILD] != LEAF:
            return -1
        held += node[at, COUNT]
    return held


@kernel
def _merge(tree: QuadTree, seats: TreePlaces, parent: int, n_moved: int, moved: Int64s) -> int:
    node, after, child = tree.node, seats.after, tree.node[parent, CHILD]
    node[parent, CHILD] = LEAF
    for at in range(child, child + 4):
        slot = node[at, FIRST]
        for _ in range(node[at, COUNT]):
            following = after[slot]
            n_moved = _move(tree, seats, slot, parent, n_moved, moved)
            slot = following
        node[at, COUNT], node[at, FIRST], tree.is_live[at] = 0, -1, False
    node[child, CHILD] = tree.used[FREE_NODES]
    tree.used[FREE_NODES] = child
    tree.used[N_MERGES] += 1
    return n_moved


@kernel
def unseat(slots: Int64s, capacity: int, tree: QuadTree, seats: TreePlaces, moved: Int64s) -> int:
    """Take slots out and merge what has become sparse; returns how many other slots were moved, noted in `moved`."""
    node, is_live, leaves, n_moved = tree.node, tree.is_live, seats.leaf, 0
    for slot in slots:
        unlink(tree, seats, slot)
    for slot in slots:
        at = leaves[slot]
        while is_live[at] and at > 0:
            at = node[at, PARENT]
            if not 0 <= _held_below(tree, at) <= capacity // 2:
                break
            n_moved = _merge(tree, seats, at, n_moved, moved)
        leaves[slot] = NOWHERE
    return n_moved


def leaves_of(tree: QuadTree) -> Int64s:
    """All leaves."""
    return np.flatnonzero(tree.is_live & (tree.node[:, CHILD] == LEAF))


def check_tree(tree: QuadTree, seats: TreePlaces, capacity: int) -> None:
    """Assert the invariants."""
    node, n_nodes = tree.node, int(tree.used[N_NODES])
    assert tree.is_live[0]
    assert not tree.is_live[n_nodes:].any()
    assert len(leaves_of(tree)) == 1 + 3 * (tree.used[N_SPLITS] - tree.used[N_MERGES])
    free, first = [], int(tree.used[FREE_NODES])
    while first >= 0:
        free += [first, first + 1, first + 2, first + 3]
        first = int(node[first, CHILD])
    assert sorted(free) == np.flatnonzero(~tree.is_live[:n_nodes]).tolist()
    for at in np.flatnonzero(tree.is_live).tolist():
        if node[at, CHILD] != LEAF:
            children = np.arange(node[at, CHILD], node[at, CHILD] + 4)
            assert (node[children, PARENT] == at).all()
            assert (node[children, DEPTH] == node[at, DEPTH] + 1).all()
            assert tree.is_live[children].all()
            assert node[at, COUNT] == 0
        assert node[at, COUNT] <= capacity or node[at, DEPTH] == DEEPEST
        _check_ring(tree, seats, at)
    seated = np.flatnonzero(seats.leaf != NOWHERE)
    assert node[tree.is_live, COUNT].sum() == len(seated)
    for slot in seated.tolist():
        assert find_leaf(tree, seats.place[slot, 0], seats.place[slot, 1]) == seats.leaf[slot]


def _check_ring(tree: QuadTree, seats: TreePlaces, leaf: int) -> None:
    ring, slot = [], int(tree.node[leaf, FIRST])
    for _ in range(tree.node[leaf, COUNT]):
        ring.append(slot)
        assert seats.leaf[slot] == leaf
        assert seats.before[seats.after[slot]] == slot
        slot = int(seats.after[slot])
    assert len(set(ring)) == len(ring)
    assert slot == tree.node[leaf, FIRST]
