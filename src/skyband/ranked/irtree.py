"""The IR-trees of all dimensions: they own the arrays, and grow them or lay them out anew when it is time."""

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.growth import resized, resized_all
from skyband.kernels.room import stops
from skyband.kernels.simd import BLOCK_ENDS
from skyband.ranked.kernels.irblock import RESERVE
from skyband.ranked.kernels.irbuild import clear_all, n_nodes_at_most, n_units_at_most, plant_all
from skyband.ranked.kernels.ircheck import check_tree
from skyband.ranked.kernels.irdesk import IrWorkspace, make_desk
from skyband.ranked.kernels.irtree import (
    DEPTH,
    FIRST_UNIT,
    FRESH,
    LEVELS,
    N_COLUMNS,
    N_NODES,
    N_PARTS,
    NONE,
    PENDING,
    ROOMIEST,
    TALLEST,
    UNIT,
    WANTED,
    IrBlocks,
    IrTree,
)
from skyband.ranked.kernels.irupdate import find_ends, insert_parts, remove_parts
from skyband.ranked.kernels.parts import KEY, OWNER, Parts

# Intervals that can be made anew without more room: most of what is made anew is single buckets.
DESK = 256
# Places of the pool for each interval, and for each dimension; trees that have come to take more are made anew.
# Made anew they take at most 1.4 for each interval and 6 for each dimension: it is a while until the next time.
SPREAD, APART = 2, 8
# A change wants another number of intervals once all of them are made anew.
TRIES = 2


class IrForest:
    """An IR-tree for each dimension.

    A million intervals take 13 to 16 bytes each when they are built, an insertion O(log² n) in the long run. A batch
    larger than the forest is built together with what is there.
    """

    def __init__(self, n_dims: int) -> None:
        self.tree = _make_tree(n_dims, 0, 0)
        self._desk = make_desk(DESK)

    @property
    def n(self) -> int:
        """The number of parts."""
        return int(self.tree.spare[N_PARTS])

    @property
    def n_dims(self) -> int:
        """The number of dimensions there is a tree for."""
        return len(self.tree.root)

    @property
    def n_bytes(self) -> int:
        """Memory taken, with what is kept to be filled later."""
        desk = (*self._desk.items, *self._desk.others, *self._desk[2:])
        return sum(array.nbytes for array in (*self.tree.blocks, *self.tree[1:], *desk))

    @property
    def width(self) -> int:
        """The length of a cursor that suffices for points."""
        depth, height = int(self.tree.peak[DEPTH]), int(self.tree.peak[TALLEST])
        return PENDING + depth + 2 + (depth + 1) * (LEVELS + 2 * (height + 1) + 1)

    def bulk(self, parts: Parts, ids: Int32s) -> None:
        """Build the trees anew, of what they hold and of these parts."""
        desk = make_desk(self.n + len(ids))
        n_held = clear_all(self.tree, desk)
        desk.items.part[n_held:] = ids
        desk.items.part[:] = desk.items.part[_order(parts, desk.items.part)]
        self._build(parts, desk)

    def _build(self, parts: Parts, desk: IrWorkspace) -> None:
        held = desk.items.part
        dims, n = parts.dim[held], len(held)
        n_dims = max(self.n_dims, int(dims.max(initial=-1)) + 1)
        desk.items.low[:], desk.items.high[:] = _ends(parts, held)
        self.tree = _make_tree(n_dims, n_units_at_most(n) + 8 * n_dims, n_nodes_at_most(n) + n_dims)
        plant_all(self.tree, desk, np.searchsorted(dims, np.arange(n_dims + 1)))
        self._resize(int(self.tree.blocks.used[FRESH]) * 33 // 32, int(self.tree.spare[N_NODES]) * 33 // 32)

    def insert(self, parts: Parts, ids: Int32s) -> None:
        """Put in parts that are not there; they may have dimensions of which there were none."""
        # The kernel would be compiled anew for arrays that are read-only or have gaps.
        ids = np.require(ids, np.int32, ["C", "W"])
        if len(ids) > max(DESK, self.n):
            self.bulk(parts, ids)
            return
        n_dims = int(parts.dim[ids].max(initial=-1)) + 1
        if n_dims > self.n_dims:
            self.tree = self.tree._replace(root=resized(self.tree.root, n_dims, NONE))
        ends = _ends(parts, ids)
        inserted = stops(
            lambda done: insert_parts(self.tree, parts, ids, ends, done, self._desk), len(ids), tries=TRIES
        )
        for _ in inserted:
            self._make_room(parts)
        self._tidy(parts)

    def remove(self, parts: Parts, ids: Int32s) -> None:
        """Take out parts, whose facts are still those that they came with; unknown ones are left out."""
        ids = np.require(ids[parts.dim[ids] < self.n_dims], np.int32)
        ends = _ends(parts, ids)
        removed = stops(lambda done: remove_parts(self.tree, parts, ids, ends, done, self._desk), len(ids), tries=TRIES)
        for _ in removed:
            self._make_room(parts)
        self._tidy(parts)

    def check(self, parts: Parts) -> None:
        """Assert the invariants."""
        check_tree(self.tree, parts)

    def _make_room(self, parts: Parts) -> None:
        """Make room for a change that makes WANTED intervals anew: of what there is too little."""
        wanted, blocks = int(self.tree.spare[WANTED]), self.tree.blocks
        if wanted > max(DESK, self.n // 4):
            # As quick as to make most of it anew in place, which would take as much room again.
            self.bulk(parts, np.zeros(0, np.int32))
            return
        if wanted > len(self._desk.items.part):
            self._desk = make_desk(2 * wanted)
        n_units, n_nodes = len(blocks.size), len(self.tree.node)
        units = int(blocks.used[FRESH]) + n_units_at_most(wanted) + RESERVE
        nodes = int(self.tree.spare[N_NODES]) + n_nodes_at_most(wanted) + 1
        if units > n_units or nodes > n_nodes:
            self._resize(
                n_units if units <= n_units else units + n_units // 16,
                n_nodes if nodes <= n_nodes else nodes + n_nodes // 16,
            )

    def _resize(self, n_units: int, n_nodes: int) -> None:
        blocks, n_places = self.tree.blocks, n_units * UNIT + BLOCK_ENDS
        blocks = resized_all(blocks, n_places, ("part", "low", "high"))
        blocks = resized_all(blocks, n_units, ("size", "units"))
        self.tree = resized_all(self.tree, n_nodes, ("node", "below"))._replace(blocks=blocks)

    def _tidy(self, parts: Parts) -> None:
        """Give up room that was needed for a while, and lay out anew what has become sparse."""
        if len(self._desk.items.part) > max(DESK, self.n // 32):
            self._desk = make_desk(DESK)
        if int(self.tree.blocks.used[FRESH]) * UNIT > SPREAD * self.n + APART * self.n_dims + UNIT * DESK:
            self.bulk(parts, np.zeros(0, np.int32))


def _make_tree(n_dims: int, n_units: int, n_nodes: int) -> IrTree:
    """Trees of nothing, with so much room."""
    n_units += FIRST_UNIT
    part, low, high = (np.empty(n_units * UNIT + BLOCK_ENDS, np.int32) for _ in range(3))
    size, units = np.empty(n_units, np.uint8), np.empty(n_units, np.uint8)
    return IrTree(
        IrBlocks(part, low, high, size, units, np.full(ROOMIEST + 1, NONE), np.array([FIRST_UNIT, 0])),
        node=np.empty((n_nodes, N_COLUMNS), np.int32),
        below=np.empty(n_nodes, np.int32),
        root=np.full(n_dims, NONE, np.int32),
        spare=np.array([NONE, 0, 0, 0]),
        peak=np.zeros(2, np.int64),
    )


def _ends(parts: Parts, ids: Int32s) -> Int32s:
    """The ends of parts in 32 bits, low ones and high ones; an interval with nothing in it is taken for a point."""
    ends = np.empty((2, len(ids)), np.int32)
    find_ends(parts.fact, ids, ends)
    return ends


def _order(parts: Parts, ids: Int32s) -> Int64s:
    """The order of parts: by dimension, and then that of `ahead`."""
    facts = parts.fact[ids]
    return np.lexsort((~parts.label[facts[:, OWNER].astype(np.int64)], -facts[:, KEY], parts.dim[ids]))
