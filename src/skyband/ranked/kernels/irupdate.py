"""Parts that come to IR-trees and leave them, one after the other.

An interval that no median on its path stabs ends in a bucket; a bucket of more than 32 becomes a subtree. Where a child
comes to hold more than 3/4 of what is below its parent, and 4 more, the highest such subtree is made anew: as at least
a twelfth of it has come or gone since it was made, that costs O(log² n) for each change in the long run, also if parts
come in the order of their ends. The path is looked at first, and nothing has changed where there is too little room.
"""

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import LANES, image_above, image_below
from skyband.ranked.kernels.irblock import (
    RESERVE,
    ROOT,
    IrEntry,
    insert_entry,
    lead,
    put_entry,
    remove_entry,
    take_block,
)
from skyband.ranked.kernels.irbuild import clear, n_nodes_at_most, n_units_at_most, plant, replant, summarise
from skyband.ranked.kernels.irdesk import IrWorkspace, sort_items
from skyband.ranked.kernels.irtree import (
    BLOCK,
    BUCKET,
    FEWEST,
    FRESH,
    HEIGHT,
    LEFT,
    MEDIAN,
    N_NODES,
    N_PARTS,
    NONE,
    RIGHT,
    WANTED,
    IrTree,
    n_below,
    whole,
)
from skyband.ranked.kernels.parts import HI, LO, Parts

# Rows of `trail`: the nodes of a path, and the side it goes on at.
NODE, SIDE = 0, 1


@kernel
def find_ends(fact: Floats, ids: Int32s, ends: Int32s) -> None:
    """The ends of parts in 32 bits, low ones and high ones; an interval with nothing in it is taken for a point."""
    for i in range(len(ids)):
        low, high = image_below(fact[ids[i], LO]), image_above(fact[ids[i], HI])
        ends[0, i], ends[1, i] = low, max(low, high)


@inlined
def _has_room(tree: IrTree, desk: IrWorkspace, n: int) -> bool:
    """Whether there is room for a change that makes n intervals anew, and splits a bucket."""
    n_units, n_nodes = len(tree.blocks.size) - tree.blocks.used[FRESH], len(tree.node) - tree.spare[N_NODES]
    return n_units >= n_units_at_most(n) + RESERVE and n_nodes > n_nodes_at_most(n) and len(desk.items.part) >= n


@kernel
def _follow(tree: IrTree, dim: int, entry: IrEntry, more: int, trail: Int64s) -> tuple[int, int, int]:
    """Note the path to where an interval is held: the node or bucket, and how many nodes are above it.

    The third number is how many are above the highest subtree on the path that has to be made anew when the interval
    has come (`more` is 1) or gone (-1), or NONE.
    """
    child, n, anew = whole(tree.root[dim]), 0, NONE
    while child >= 0:
        row = tree.node[child]
        side = LEFT if entry.high < row[MEDIAN] else RIGHT if entry.low > row[MEDIAN] else NONE
        n_left, n_right = n_below(tree, row[LEFT]), n_below(tree, row[RIGHT])
        n_left, n_right = n_left + more * (side == LEFT), n_right + more * (side == RIGHT)
        n_all = tree.below[child] + more
        if anew == NONE and (n_all <= FEWEST or 4 * max(n_left, n_right) > 3 * n_all + 16):
            anew = n
        if side == NONE:
            break
        trail[NODE, n], trail[SIDE, n] = child, side
        n += 1
        child = whole(row[side])
    return child, n, anew


@inlined
def _link(tree: IrTree, dim: int, n: int, trail: Int64s, child: int) -> None:
    """Make a subtree the one below n nodes of the path."""
    if n == 0:
        tree.root[dim] = child
    else:
        tree.node[trail[NODE, n - 1], trail[SIDE, n - 1]] = child


@inlined
def _is_ready(tree: IrTree, desk: IrWorkspace, child: int, n: int, anew: int) -> bool:
    """Whether there is room for the change; if not, WANTED is the number of intervals that will be made anew."""
    n_anew = LANES + 1
    if anew != NONE:
        n_anew += tree.below[desk.trail[NODE, anew] if anew < n else child]
    tree.spare[WANTED] = n_anew
    return _has_room(tree, desk, n_anew)


@inlined
def _count(tree: IrTree, child: int, n: int, more: int, trail: Int64s) -> None:
    for i in range(n):
        tree.below[trail[NODE, i]] += more
    if child >= 0:
        tree.below[child] += more
    tree.spare[N_PARTS] += more


@inlined
def _renew(tree: IrTree, parts: Parts, dim: int, child: int, n: int, anew: int, desk: IrWorkspace) -> None:
    """Make the subtree below `anew` nodes of the path anew."""
    if anew != NONE:
        old = desk.trail[NODE, anew] if anew < n else child
        _link(tree, dim, anew, desk.trail, replant(tree, parts, old, anew, desk))


@kernel
def _hold(tree: IrTree, parts: Parts, v: int, entry: IrEntry, way: Int64s) -> None:
    """Put an interval into the R-tree of a node."""
    blocks, root = tree.blocks, whole(tree.node[v, BLOCK])
    if root < 0:
        summarise(tree, v, put_entry(blocks, take_block(blocks, 1), 0, entry), 0)
        return
    lead(blocks, parts, root, whole(tree.node[v, HEIGHT]), entry.part, way)
    insert_entry(blocks, entry, way)
    summarise(tree, v, way[ROOT, 0], way[ROOT, 1])


@kernel
def _drop_in(tree: IrTree, parts: Parts, child: int, entry: IrEntry, depth: int, desk: IrWorkspace) -> int:
    """Put an interval into a bucket, or where nothing is; returns the reference to what is there then."""
    blocks, items = tree.blocks, desk.items
    if child == NONE:
        return BUCKET - put_entry(blocks, take_block(blocks, 1), 0, entry)
    if blocks.size[BUCKET - child] < LANES:
        lead(blocks, parts, BUCKET - child, 0, entry.part, desk.way)
        insert_entry(blocks, entry, desk.way)
        return BUCKET - desk.way[ROOT, 0]
    n = clear(tree, child, 0, desk)
    items.part[n], items.low[n], items.high[n] = entry.part, entry.low, entry.high
    sort_items(parts, desk, n + 1)
    return plant(tree, desk, 0, n + 1, depth)


@kernel
def insert_parts(tree: IrTree, parts: Parts, ids: Int32s, ends: Int32s, done: int, desk: IrWorkspace) -> int:
    """Put in parts that are not there, from `ids[done]` on; returns the first that there is too little room for.

    `ends` is (low or high, part).
    """
    trail = desk.trail
    for i in range(done, len(ids)):
        dim, entry = parts.dim[ids[i]], IrEntry(whole(ids[i]), whole(ends[0, i]), whole(ends[1, i]))
        child, n, anew = _follow(tree, dim, entry, 1, trail)
        if not _is_ready(tree, desk, child, n, anew):
            return i
        _count(tree, child, n, 1, trail)
        if child >= 0:
            _hold(tree, parts, child, entry, desk.way)
        else:
            _link(tree, dim, n, trail, _drop_in(tree, parts, child, entry, n, desk))
        _renew(tree, parts, dim, child, n, anew, desk)
    return len(ids)


@kernel
def _let_go(tree: IrTree, parts: Parts, child: int, part: int, way: Int64s) -> bool:
    """Take a part out of the R-tree of a node, or out of a bucket; False if it is not there."""
    if child == NONE or (child >= 0 and tree.node[child, BLOCK] < 0):
        return False
    root = whole(tree.node[child, BLOCK]) if child >= 0 else BUCKET - child
    height = whole(tree.node[child, HEIGHT]) if child >= 0 else 0
    lead(tree.blocks, parts, root, height, part, way)
    if not remove_entry(tree.blocks, part, way):
        return False
    if child >= 0:
        summarise(tree, child, way[ROOT, 0], way[ROOT, 1])
    return True


@kernel
def remove_parts(tree: IrTree, parts: Parts, ids: Int32s, ends: Int32s, done: int, desk: IrWorkspace) -> int:
    """Take out parts, which still have their facts, from `ids[done]` on, as `insert_parts` puts them in."""
    trail = desk.trail
    for i in range(done, len(ids)):
        part, dim = whole(ids[i]), parts.dim[ids[i]]
        entry = IrEntry(part, whole(ends[0, i]), whole(ends[1, i]))
        child, n, anew = _follow(tree, dim, entry, -1, trail)
        if not _is_ready(tree, desk, child, n, anew):
            return i
        if _let_go(tree, parts, child, part, desk.way):
            _count(tree, child, n, -1, trail)
            if child <= BUCKET and desk.way[ROOT, 0] == NONE:
                _link(tree, dim, n, trail, NONE)
            _renew(tree, parts, dim, child, n, anew, desk)
    return len(ids)
