"""The scored interval tree of a set of parts: small, and slow where many parts come close to a value and miss it.

A part is listed once, with others that contain the same centre, best first. A value reads the lists on its path and
passes over what it misses: opening a cursor costs O(log n), the next part O(log log n) and what is passed over.
Building costs O(n log n). Static: whoever changes a part builds another one. The score-sorted interval tree of the
paper's Section 2.2.2.
"""

import numpy as np

from skyband.kernels.array import Int32s
from skyband.ranked.kernels.intervaltree import IntervalTree, Workshop, build_intervals, check_intervals, n_levels
from skyband.ranked.kernels.parts import HI, LO, Parts, rounded_down, rounded_up
from skyband.ranked.segmenttree import in_order, offsets

# Ranges wait for their turn while a tree is built: no more than it has levels, and one.
MOST_RANGES = 64


class IntervalForest:
    """A score-sorted interval tree for each dimension, for events that are points."""

    def __init__(self, tree: IntervalTree, most: int) -> None:
        self.tree = tree
        self.width = 2 + 3 * n_levels(most)

    @classmethod
    def build(cls, parts: Parts, ids: Int32s, n_dims: int) -> "IntervalForest":
        """The trees of these parts, whose dimensions are below `n_dims`; the dead are left out."""
        part = in_order(parts, ids)
        first, n = offsets(parts.dim[part], n_dims), len(part)
        most = int(np.diff(first).max(initial=0))
        lo, hi = rounded_down(parts.fact[part, LO]), rounded_up(parts.fact[part, HI])
        # There are at most as many nodes as parts; memory that is not touched costs nothing until it is given back.
        nodes = np.empty((n + 1, 3), np.float32), np.empty((n + 1, 2), np.int32)
        tree = IntervalTree(np.empty(n_dims + 1, np.int64), *nodes, lo, hi, part)
        n_nodes = build_intervals(first, _workshop(most), tree)
        return cls(tree._replace(extent=tree.extent[:n_nodes].copy(), link=tree.link[: n_nodes + 1].copy()), most)

    @property
    def n(self) -> int:
        """How many parts there are."""
        return len(self.tree.part)

    @property
    def n_bytes(self) -> int:
        """How much memory the trees take."""
        return sum(array.nbytes for array in self.tree)

    def check(self, parts: Parts) -> None:
        """Assert the invariants."""
        check_intervals(self.tree, parts)


def _workshop(n: int) -> Workshop:
    ends = np.empty(n, np.float32), np.empty(n, np.float32)
    return Workshop(*ends, np.empty(n, np.int32), np.empty(2 * n, np.float32), np.empty((MOST_RANGES, 3), np.int64))
