"""What must be true of IR-trees at any time between two changes, looked at from outside, without any speed."""

from itertools import pairwise

import numpy as np

from skyband.kernels.simd import LANES, images
from skyband.ranked.kernels.irblock import IrEntry
from skyband.ranked.kernels.irtree import (
    BLOCK,
    BUCKET,
    DEPTH,
    FEWEST,
    FIRST,
    FIRST_UNIT,
    FREE_NODE,
    FRESH,
    GIVEN_UP,
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
    IrTree,
)
from skyband.ranked.kernels.parts import HI, LO, Parts, ahead, rounded_down, rounded_up

# Blocks in use, by number: how many units they have.
Taken = dict[int, int]


def check_tree(tree: IrTree, parts: Parts) -> list[int]:
    """Assert the invariants; returns the parts that are held."""
    taken: Taken = {}
    held: list[int] = []
    nodes: list[int] = []
    for dim, root in enumerate(tree.root.tolist()):
        found = _check_subtree(tree, parts, root, 0, taken, nodes)
        assert (parts.dim[found] == dim).all()
        held += found
    assert len(held) == tree.spare[N_PARTS]
    assert len(set(held)) == len(held)
    _check_pool(tree, taken)
    _check_nodes(tree, nodes)
    return held


def _check_subtree(tree: IrTree, parts: Parts, child: int, depth: int, taken: Taken, nodes: list[int]) -> list[int]:
    if child == NONE:
        return []
    if child <= BUCKET:
        return _check_block(tree, parts, BUCKET - child, 0, taken)[1]
    nodes.append(child)
    assert depth < tree.peak[DEPTH]
    row = tree.node[child]
    left, right = (_check_subtree(tree, parts, int(row[side]), depth + 1, taken, nodes) for side in (LEFT, RIGHT))
    here = _check_held(tree, parts, child, taken)
    n = len(left) + len(right) + len(here)
    assert n == tree.below[child] > FEWEST
    assert 4 * max(len(left), len(right)) <= 3 * n + 16
    assert (images(rounded_up(parts.fact[left, HI])) < row[MEDIAN]).all()
    assert (images(rounded_down(parts.fact[right, LO])) > row[MEDIAN]).all()
    return left + right + here


def _check_held(tree: IrTree, parts: Parts, v: int, taken: Taken) -> list[int]:
    """Assert what must be true of the intervals of a node; returns them."""
    row = tree.node[v]
    if row[BLOCK] == NONE:
        assert row[LEAST] > row[MOST]
        return []
    assert row[HEIGHT] <= tree.peak[TALLEST]
    extent, here = _check_block(tree, parts, int(row[BLOCK]), int(row[HEIGHT]), taken)
    assert (extent.low, extent.high) == (row[LEAST], row[MOST])
    assert here[0] == row[FIRST]
    assert (images(rounded_down(parts.fact[here, LO])) <= row[MEDIAN]).all()
    assert (images(rounded_up(parts.fact[here, HI])) >= row[MEDIAN]).all()
    assert all(ahead(parts, p, q) for p, q in pairwise(here))
    return here


def _check_block(tree: IrTree, parts: Parts, block: int, level: int, taken: Taken) -> tuple[IrEntry, list[int]]:
    """Assert what must be true of a block and of those below it; returns its extent and its parts."""
    blocks = tree.blocks
    n, units, start = int(blocks.size[block]), int(blocks.units[block]), block * UNIT
    assert 0 < n <= min(units * UNIT, LANES)
    assert block not in taken
    taken[block] = units
    low, high, below = (array[start : start + n] for array in (blocks.low, blocks.high, blocks.part))
    held = below.tolist()
    if level == 0:
        assert np.array_equal(low, images(rounded_down(parts.fact[below, LO])))
        assert np.array_equal(high, np.maximum(low, images(rounded_up(parts.fact[below, HI]))))
        assert all(ahead(parts, p, q) for p, q in pairwise(held))
    else:
        under = [_check_block(tree, parts, child, level - 1, taken) for child in held]
        assert [extent.low for extent, _ in under] == low.tolist()
        assert [extent.high for extent, _ in under] == high.tolist()
        held = [part for _, found in under for part in found]
    return IrEntry(block, int(low.min()), int(high.max())), held


def _check_pool(tree: IrTree, taken: Taken) -> None:
    blocks = tree.blocks
    stretches = [(block, block + units) for block, units in taken.items()]
    n_taken = len(stretches)
    for units, head in enumerate(blocks.free.tolist()):
        block = head
        while block >= 0:
            stretches.append((block, block + units))
            block = int(blocks.part[block * UNIT])
            assert len(stretches) <= len(blocks.size), "a list of free blocks runs in a circle"
    assert sum(end - start for start, end in stretches[n_taken:]) == blocks.used[GIVEN_UP]
    starts, ends = zip(*sorted(stretches), strict=True) if stretches else ((), ())
    assert (*starts, blocks.used[FRESH]) == (FIRST_UNIT, *ends)


def _check_nodes(tree: IrTree, nodes: list[int]) -> None:
    v = int(tree.spare[FREE_NODE])
    while v >= 0:
        nodes.append(v)
        v = int(tree.node[v, LEFT])
        assert len(nodes) <= len(tree.node), "the list of free nodes runs in a circle"
    assert sorted(nodes) == list(range(tree.spare[N_NODES]))
