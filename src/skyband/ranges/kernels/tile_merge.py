"""Piles: tiles laid slab upon slab, which become boxes of a mosaic where they end (Algorithm 10 of the ranges paper).

Two boxes can be one without anybody else in it if one begins where the other ends and their tiles are the same. So the
pile holds the tiles of the last slab, each with the r2 where it begins; the next slab either has it too, or ends it.
Invariant: the tiles are sorted from west to east, and no two have an l in common.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxtree import Trees
from skyband.ranges.kernels.message import FARTHEST
from skyband.ranges.kernels.message_boxes import Mosaic, add_box, put_box
from skyband.ranges.kernels.paint import Style
from skyband.ranges.kernels.staircase import Tiles, make_tiles

# Sides of a box of subscriptions to two dimensions.
L1, R1, L2, R2 = range(4)


class Pile(NamedTuple):
    """The tiles on top, where each begins, the same for those of the next slab, and scratch for a box."""

    tiles: Tiles
    since: Floats
    later: Floats
    low: Floats
    high: Floats


class MergedBoxes(NamedTuple):
    """Where boxes go, and what is counted."""

    mosaic: Mosaic
    counts: Int64s


def make_pile(k: int) -> Pile:
    """Room for the tiles of a slab."""
    tiles = make_tiles(k)
    room = len(tiles.low)
    return Pile(tiles, np.zeros(room), np.zeros(room), np.zeros(4), np.zeros(4))


@inlined
def _end(pile: Pile, i: int, top: float, style: Style, subscriptions: Trees, object: int, done: MergedBoxes) -> bool:
    """Make a box of a tile that ends at this r2, shrunk to subscriptions if they are known; False without room."""
    low, high, tiles = pile.low, pile.high, pile.tiles
    low[L1], low[R1], high[L1], high[R1] = tiles.low[i, 0], tiles.low[i, 1], tiles.high[i, 0], tiles.high[i, 1]
    low[L2], high[L2] = -FARTHEST, -FARTHEST
    low[R2], high[R2] = pile.since[i], top
    if style.sparse:
        return add_box(done.mosaic, subscriptions, style.group, low, high, object, done.counts)
    return put_box(done.mosaic, low, high, object)


@inlined
def _is_same(tiles: Tiles, i: int, others: Tiles, j: int) -> bool:
    for side in range(2):
        if tiles.low[i, side] != others.low[j, side] or tiles.high[i, side] != others.high[j, side]:
            return False
    return True


@kernel
def lay_slab(
    tiles: Tiles,
    until: float,
    since: float,
    style: Style,
    subscriptions: Trees,
    object: int,
    pile: Pile,
    done: MergedBoxes,
) -> bool:
    """Lay the tiles of the next slab: the same ones go on, others end at one r2, and new ones begin at the next.

    A slab without tiles ends the pile. False without room.
    """
    old, n, i = pile.tiles, tiles.length[0], 0
    for j in range(n + 1):
        if j < n:
            pile.later[j] = since
        while i < old.length[0] and (j == n or old.low[i, 0] <= tiles.low[j, 0]):
            if j < n and _is_same(old, i, tiles, j):
                pile.later[j] = pile.since[i]
            elif not _end(pile, i, until, style, subscriptions, object, done):
                return False
            i += 1
    old.length[0] = n
    for j in range(n):
        pile.since[j] = pile.later[j]
        for side in range(2):
            old.low[j, side], old.high[j, side] = tiles.low[j, side], tiles.high[j, side]
    return True
