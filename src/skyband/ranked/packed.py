"""Packed trees for all dimensions, made from an arrangement in slices of work."""

from collections.abc import Generator

import numpy as np

from skyband.kernels.array import Int32s
from skyband.kernels.simd import LANES, NEVER_HI, NEVER_LO, images
from skyband.ranked.arrange import Arrangement
from skyband.ranked.kernels.packed import LEVELS, Packed
from skyband.ranked.kernels.parts import HI, LO, Parts, rounded_down, rounded_up

# How many parts a slice of work packs.
SLICE = 65536


class PackedForest:
    """The tree of every dimension over one arrangement; nothing is added to it later."""

    def __init__(self, tree: Packed) -> None:
        self.tree = tree

    @property
    def n(self) -> int:
        return len(self.tree.item)

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.tree)

    @property
    def width(self) -> int:
        """How long a cursor has to be."""
        return LEVELS + 2 * (int(self.tree.top.max(initial=-1)) + 1)

    @classmethod
    def packed(cls, parts: Parts, arrangement: Arrangement) -> Generator[None, None, "PackedForest"]:
        """The forest for an arrangement; pauses after each slice."""
        part, start = arrangement.part, arrangement.start
        # The arrays of parts may be replaced by longer ones in a pause, but the parts in the arrangement stay as
        # they are, or die: then their ends of before do no harm.
        fact = parts.fact
        blocks: list[Int32s] = []
        first = np.zeros((len(start) - 1, 1), np.int64)
        top = np.full(len(start) - 1, -1, np.int64)
        n_blocks = 0
        for dim in range(len(start) - 1):
            chosen = part[start[dim] : start[dim + 1]]
            lo, hi = np.empty(len(chosen), np.int32), np.empty(len(chosen), np.int32)
            for at in range(0, len(chosen), SLICE):
                ends = fact[chosen[at : at + SLICE]]
                lo[at : at + SLICE] = images(rounded_down(ends[:, LO]))
                hi[at : at + SLICE] = images(rounded_up(ends[:, HI]))
                yield
            levels = _levels(lo, hi) if len(chosen) else []
            top[dim] = len(levels) - 1
            if len(levels) > first.shape[1]:
                first = np.pad(first, ((0, 0), (0, len(levels) - first.shape[1])))
            for level, its_blocks in enumerate(levels):
                first[dim, level] = n_blocks
                n_blocks += len(its_blocks)
                blocks.append(its_blocks)
            yield
        flat = np.concatenate(blocks).ravel() if blocks else np.zeros(0, np.int32)
        return cls(Packed(flat, part, start[:-1].copy(), top, first))

    def check(self, parts: Parts) -> None:
        """Assert that every entry is the extent of what lies below it, and covers the parts that live."""
        tree = self.tree
        blocks = tree.ends.reshape(-1, 2, LANES)
        for dim, top in enumerate(tree.top.tolist()):
            for level in range(1, top + 1):
                below = blocks[tree.first[dim, level - 1] : tree.first[dim, level]]
                above = blocks[tree.first[dim, level] :]
                assert (above[:, 0].ravel()[: len(below)] == below[:, 0].min(axis=1)).all()
                assert (above[:, 1].ravel()[: len(below)] == below[:, 1].max(axis=1)).all()
            if top >= 0:
                self._check_leaves(parts, dim)

    def _check_leaves(self, parts: Parts, dim: int) -> None:
        tree = self.tree
        end = tree.start[dim + 1] if dim + 1 < len(tree.start) else len(tree.item)
        chosen = tree.item[tree.start[dim] : end]
        leaves = tree.ends.reshape(-1, 2, LANES)[tree.first[dim, 0] :]
        fact = parts.fact[chosen]
        alive = fact[:, LO] <= fact[:, HI]
        lo, hi = images(rounded_down(fact[:, LO])), images(rounded_up(fact[:, HI]))
        assert (leaves[:, 0].ravel()[: len(chosen)] == lo)[alive].all()
        assert (leaves[:, 1].ravel()[: len(chosen)] == hi)[alive].all()


def _levels(lo: Int32s, hi: Int32s) -> list[Int32s]:
    """The blocks of each level, the leaves first."""
    levels = []
    while True:
        n_blocks = -(-len(lo) // LANES)
        blocks = np.empty((n_blocks, 2, LANES), np.int32)
        for side, (ends, never) in enumerate(((lo, NEVER_LO), (hi, NEVER_HI))):
            padded = np.full(n_blocks * LANES, never, np.int32)
            padded[: len(ends)] = ends
            blocks[:, side] = padded.reshape(n_blocks, LANES)
        levels.append(blocks)
        if n_blocks == 1:
            return levels
        lo, hi = blocks[:, 0].min(axis=1), blocks[:, 1].max(axis=1)
