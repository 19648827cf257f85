"""The scored segment tree of a set of parts: the fastest to ask, and by far the largest.

A part is listed in up to 2 log n nodes; a value meets all that its path lists, so nothing is ever looked at in vain.
Opening a cursor costs O(log n), the next part O(log log n), building O(n log n). Static: whoever changes a part builds
another one. The scored segment tree of the paper's Section 2.2.1.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.ranked.kernels.parts import HI, KEY, LO, OWNER, Parts
from skyband.ranked.kernels.segmenttree import (
    EndSpans,
    SegmentTree,
    check_segments,
    count_pieces,
    fill_pieces,
    n_pieces,
)

MOST_PIECES = int(np.iinfo(np.uint32).max)


def in_order(parts: Parts, ids: Int32s) -> Int32s:
    """Parts by dimension, and in each of them in the order of its index; those that nothing meets are left out."""
    ids = ids[parts.fact[ids, LO] <= parts.fact[ids, HI]]
    fact = parts.fact[ids]
    label = parts.label[fact[:, OWNER].astype(np.int64)]
    return ids[np.lexsort((~label, -fact[:, KEY], parts.dim[ids]))]


def offsets(dims: Int32s, n_dims: int) -> Int64s:
    """Where each dimension begins in a list that is sorted by it, and where the last one ends."""
    return np.searchsorted(dims, np.arange(n_dims + 1, dtype=np.int32))


class SegmentPlan(NamedTuple):
    """Parts by rank, the distinct ends of each dimension and which of them are whose."""

    part: Int32s
    first: Int64s
    end: Floats
    spans: EndSpans


def plan(parts: Parts, ids: Int32s, n_dims: int) -> SegmentPlan:
    """All that has to be known of a tree before it is built."""
    part = in_order(parts, ids)
    n, dim = len(part), parts.dim[part]
    dims, ends = np.tile(dim, 2), parts.fact[part][:, [LO, HI]].ravel(order="F")
    order = np.lexsort((ends, dims))
    dims, ends = dims[order], ends[order]
    new = np.ones(2 * n, np.bool_)
    new[1:] = (dims[1:] != dims[:-1]) | (ends[1:] != ends[:-1])
    place = np.empty(2 * n, np.int64)
    place[order] = np.cumsum(new) - 1
    first = offsets(dims[new], n_dims)
    return SegmentPlan(part, first, ends[new], EndSpans(dim, place[:n] - first[dim], place[n:] - first[dim]))


class SegmentForest:
    """A scored segment tree for each dimension, for events that are points."""

    def __init__(self, tree: SegmentTree) -> None:
        self.tree = tree

    @classmethod
    def build(cls, parts: Parts, ids: Int32s, n_dims: int) -> "SegmentForest":
        """The trees of these parts, whose dimensions are below `n_dims`; the dead are left out."""
        part, first, end, spans = plan(parts, ids, n_dims)
        total = n_pieces(first, spans)
        if total > MOST_PIECES:
            raise MemoryError(f"The segment tree would have {total} entries; it can have {MOST_PIECES} at most.")
        tree = SegmentTree(first, end, np.zeros(4 * len(end) + 1, np.uint32), np.empty(total, np.int32), part)
        count_pieces(first, spans, tree.start)
        fill_pieces(spans, tree)
        return cls(tree)

    @staticmethod
    def estimate(parts: Parts, ids: Int32s, n_dims: int | None = None) -> int:
        """How many bytes the trees of these parts will take, to the byte; `n_dims` as they are built with."""
        if n_dims is None:
            n_dims = int(parts.dim[ids].max(initial=-1)) + 1
        part, first, end, spans = plan(parts, ids, n_dims)
        return first.nbytes + end.nbytes + 4 * (4 * len(end) + 1 + n_pieces(first, spans) + len(part))

    @property
    def n(self) -> int:
        """How many parts there are."""
        return len(self.tree.part)

    @property
    def n_bytes(self) -> int:
        """How much memory the trees take."""
        return sum(array.nbytes for array in self.tree)

    @property
    def width(self) -> int:
        """How long a cursor has to be."""
        n_nodes = 4 * int(np.diff(self.tree.first).max(initial=0))
        return 1 + 3 * n_nodes.bit_length()

    def check(self, parts: Parts) -> None:
        """Assert the invariants."""
        check_segments(self.tree, parts)
