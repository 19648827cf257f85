"""Making IR-trees: whole ones from parts in order, and subtrees anew from what they hold.

Everything is counted beforehand: `irdesk` says how medians are chosen, and so how many nodes and blocks n intervals
take at most. Whoever plants has made sure of the room.
"""

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranked.kernels.irblock import AT_BLOCK, AT_ENTRY, first_part, give_block, take_block
from skyband.ranked.kernels.irdesk import PACKED, IrWorkspace, Row, find_median, part_ways, sort_items
from skyband.ranked.kernels.irtree import (
    BLOCK,
    BUCKET,
    DEPTH,
    FIRST,
    FREE_NODE,
    HEIGHT,
    LEAST,
    LEFT,
    MEDIAN,
    MOST,
    N_NODES,
    N_PARTS,
    NONE,
    RIGHT,
    TALLEST,
    UNIT,
    IrBlocks,
    IrTree,
    whole,
)
from skyband.ranked.kernels.parts import Parts


@inlined
def n_units_at_most(n: int) -> int:
    """Units that n intervals take when they are packed, at most.

    A quarter of n, 3/4 for the last block of each node and bucket, 1/20 of n for inner blocks.
    """
    return 2 * n // 5 + 8


@inlined
def n_nodes_at_most(n: int) -> int:
    """Nodes of n intervals when they are packed, at most."""
    return n // (PACKED + 1) + 1


@kernel
def _fill_block(row: Row, first: int, n: int, blocks: IrBlocks) -> int:
    """A block of n entries of a row."""
    block = take_block(blocks, (n + UNIT - 1) // UNIT)
    start = block * UNIT
    part, low, high = blocks.part, blocks.low, blocks.high
    for i in range(n):
        part[start + i], low[start + i], high[start + i] = row.part[first + i], row.low[first + i], row.high[first + i]
    blocks.size[block] = n
    return block


@kernel
def _pack(items: Row, first: int, n: int, others: Row, blocks: IrBlocks) -> tuple[int, int]:
    """An R-tree of n intervals: its root and height; `others` is written from `first` on."""
    row, height = items, 0
    while n > PACKED:
        n_blocks = 0
        for i in range(0, n, PACKED):
            size = min(PACKED, n - i)
            least, most = row.low[first + i], row.high[first + i]
            for at in range(first + i, first + i + size):
                least, most = min(least, row.low[at]), max(most, row.high[at])
            # It is written where entries were that have a block by now.
            to = first + n_blocks
            others.part[to] = _fill_block(row, first + i, size, blocks)
            others.low[to], others.high[to] = least, most
            n_blocks += 1
        row, n, height = others, n_blocks, height + 1
    return _fill_block(row, first, n, blocks), height


@inlined
def summarise(tree: IrTree, v: int, root: int, height: int) -> None:
    """Write the R-tree of a node, and its extent and first part."""
    blocks, row = tree.blocks, tree.node[v]
    row[BLOCK], row[HEIGHT] = root, height
    row[LEAST], row[MOST] = np.iinfo(np.int32).max, np.iinfo(np.int32).min
    if root >= 0:
        start = root * UNIT
        for place in range(start, start + whole(blocks.size[root])):
            row[LEAST], row[MOST] = min(row[LEAST], blocks.low[place]), max(row[MOST], blocks.high[place])
        row[FIRST] = first_part(blocks.part, start, height)
        tree.peak[TALLEST] = max(tree.peak[TALLEST], height)


@inlined
def _take_node(tree: IrTree) -> int:
    """A node that was given up, or a new one, for which there is room."""
    spare = tree.spare
    v = spare[FREE_NODE]
    if v >= 0:
        spare[FREE_NODE] = tree.node[v, LEFT]
    else:
        v = spare[N_NODES]
        spare[N_NODES] += 1
    return v


@inlined
def _give_node(tree: IrTree, v: int) -> None:
    tree.node[v, LEFT], tree.below[v] = tree.spare[FREE_NODE], 0
    tree.spare[FREE_NODE] = v


@inlined
def _note(todo: Int64s, i: int, first: int, n: int, parent: int, side: int, depth: int) -> None:
    task = todo[i]
    task[0], task[1], task[2], task[3], task[4] = first, n, parent, side, depth


@kernel
def plant(tree: IrTree, desk: IrWorkspace, first: int, n: int, depth: int) -> int:
    """A subtree of n intervals of the desk, which are in order, below so many nodes; returns the reference to it.

    There is room for it in the tree.
    """
    items, todo, node = desk.items, desk.todo, tree.node
    n_todo, root = 1, NONE
    _note(todo, 0, first, n, NONE, LEFT, depth)
    while n_todo > 0:
        n_todo -= 1
        task = todo[n_todo]
        first, n, parent, side, depth = task[0], task[1], task[2], task[3], task[4]
        child = NONE
        if n > PACKED:
            child = _take_node(tree)
            median = find_median(items, first, n, desk.ends)
            n_left, n_right = part_ways(items, desk.others, first, n, median)
            n_here = n - n_left - n_right
            block, height = _pack(items, first + n_left + n_right, n_here, desk.others, tree.blocks)
            node[child, MEDIAN], tree.below[child] = median, n
            summarise(tree, child, block, height)
            _note(todo, n_todo, first, n_left, child, LEFT, depth + 1)
            _note(todo, n_todo + 1, first + n_left, n_right, child, RIGHT, depth + 1)
            n_todo += 2
            tree.peak[DEPTH] = max(tree.peak[DEPTH], depth + 1)
        elif n > 0:
            child = BUCKET - _fill_block(items, first, n, tree.blocks)
        if parent == NONE:
            root = child
        else:
            node[parent, side] = child
    return root


@kernel
def plant_all(tree: IrTree, desk: IrWorkspace, starts: Int64s) -> None:
    """Trees of the dimensions, which are empty, from the intervals of the desk, those of dimension d at `starts[d]`."""
    for dim in range(len(starts) - 1):
        tree.root[dim] = plant(tree, desk, starts[dim], starts[dim + 1] - starts[dim], 0)
    tree.spare[N_PARTS] = starts[-1]


@kernel
def _drain(blocks: IrBlocks, root: int, height: int, items: Row, n: int, way: Int64s) -> int:
    """Append the intervals of an R-tree to the items and give up its blocks; returns how many items there are."""
    level = height
    way[AT_BLOCK, level], way[AT_ENTRY, level] = root, 0
    while level <= height:
        block, at = way[AT_BLOCK, level], way[AT_ENTRY, level]
        start, size = block * UNIT, whole(blocks.size[block])
        if level == 0:
            for i in range(size):
                items.part[n + i], items.low[n + i] = blocks.part[start + i], blocks.low[start + i]
                items.high[n + i] = blocks.high[start + i]
            n, at = n + size, size
        if at == size:
            give_block(blocks, block, whole(blocks.units[block]))
            level += 1
        else:
            way[AT_ENTRY, level] = at + 1
            level -= 1
            way[AT_BLOCK, level], way[AT_ENTRY, level] = whole(blocks.part[start + at]), 0
    return n


@kernel
def clear(tree: IrTree, child: int, n: int, desk: IrWorkspace) -> int:
    """Add the intervals of a subtree to the n of the desk and give up its nodes and blocks; returns their number."""
    node, todo, n_todo = tree.node, desk.todo, 1
    todo[0, 0] = child
    while n_todo > 0:
        n_todo -= 1
        child = todo[n_todo, 0]
        if child >= 0:
            if node[child, BLOCK] >= 0:
                n = _drain(tree.blocks, node[child, BLOCK], node[child, HEIGHT], desk.items, n, desk.way)
            todo[n_todo, 0], todo[n_todo + 1, 0] = node[child, LEFT], node[child, RIGHT]
            n_todo += 2
            _give_node(tree, child)
        elif child <= BUCKET:
            n = _drain(tree.blocks, BUCKET - child, 0, desk.items, n, desk.way)
    return n


@kernel
def clear_all(tree: IrTree, desk: IrWorkspace) -> int:
    """Bring the intervals of all dimensions to the desk; returns their number."""
    n = 0
    for dim in range(len(tree.root)):
        n = clear(tree, tree.root[dim], n, desk)
        tree.root[dim] = NONE
    return n


@kernel
def replant(tree: IrTree, parts: Parts, child: int, depth: int, desk: IrWorkspace) -> int:
    """Make a subtree anew from its intervals; returns the reference to it. Tree and desk have room for it."""
    n = clear(tree, child, 0, desk)
    sort_items(parts, desk, n)
    return plant(tree, desk, 0, n, depth)
