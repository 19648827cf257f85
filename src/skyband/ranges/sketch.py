"""Sketches: instead of every subscription a server may know a few rectangles that hold them all.

Paint-Sparse then merges less and sends some messages that reach nobody, but nobody gets one in vain: what it takes
for empty is empty (the remark after Theorem 5 of the ranges paper).
"""

import heapq

import numpy as np

from skyband.kernels.array import Floats
from skyband.ranges.boxes import Boxes
from skyband.ranges.kernels.boxtree import Trees

# A cover is made anew when there are this many times as many subscriptions, or when this share of them has gone.
GROWTH = 2
SHARE = 0.5


class Sketches:
    """For each group a cover of its subscriptions by at most B rectangles, which `snap` takes for what is there.

    A cover is cut out of the tree of the subscriptions: its nodes have boxes, and the largest are opened first. A new
    subscription that no rectangle holds enlarges the one that has to grow least; one that goes leaves it as it is.
    """

    def __init__(self, n_boxes: int) -> None:
        self.n_boxes = n_boxes
        self.boxes = Boxes(2, 0, order="curve", boxes=True)
        self._covers: list[tuple[Floats, Floats]] = []
        self._n_cut: list[int] = []
        self._n_gone: list[int] = []

    def add(self, group: int, points: Floats, known: Boxes) -> None:
        """Cover points that were added to the trees of what is known."""
        while len(self._covers) <= group:
            self._covers.append((np.zeros((0, 2)), np.zeros((0, 2))))
            self._n_cut.append(0)
            self._n_gone.append(0)
        if known.size(group) + self._n_gone[group] > GROWTH * self._n_cut[group]:
            self._cut(group, known)
        else:
            self._enlarge(group, points)
        self._build()

    def remove(self, group: int, points: Floats, known: Boxes) -> None:
        """Forget points that were removed from the trees of what is known, some time."""
        self._n_gone[group] += len(points)
        if self._n_gone[group] >= SHARE * self._n_cut[group]:
            self._cut(group, known)
            self._build()

    def _cut(self, group: int, known: Boxes) -> None:
        self._covers[group] = cover(known.trees, group, self.n_boxes)
        self._n_cut[group], self._n_gone[group] = known.size(group), 0

    def _enlarge(self, group: int, points: Floats) -> None:
        low, high = self._covers[group]
        for point in points:
            # Halves, since sides may be as far apart as numbers are.
            growth = np.maximum(low * 0.5 - point * 0.5, point * 0.5 - high * 0.5).max(axis=1, initial=-np.inf)
            least = int(growth.argmin())
            low[least], high[least] = np.minimum(low[least], point), np.maximum(high[least], point)

    def _build(self) -> None:
        self.boxes = Boxes(2, len(self._covers), order="curve", boxes=True)
        for group, (low, high) in enumerate(self._covers):
            self.boxes.add(group, np.arange(len(low)), low, high)


def cover(trees: Trees, tree: int, n_boxes: int) -> tuple[Floats, Floats]:
    """At most this many boxes that hold everything in a tree."""
    if trees.size[tree] == 0:
        return np.zeros((0, 2)), np.zeros((0, 2))
    # What is open yet, the largest first: its extent, its number in the order of opening, its level and node, its box.
    level, node = int(trees.height[tree]), int(trees.root[tree])
    low, high = _entries(trees, level, node)
    open_nodes = [(0.0, 0, level, node, low.min(axis=0), high.max(axis=0))]
    closed: list[tuple[Floats, Floats]] = []
    n_opened = 0
    while open_nodes:
        *_, level, node, node_low, node_high = heapq.heappop(open_nodes)
        low, high = _entries(trees, level, node)
        if len(closed) + len(open_nodes) + len(low) > n_boxes:
            closed.append((node_low, node_high))
            continue
        for i in range(len(low)):
            if level == 0:
                closed.append((low[i], high[i]))
                continue
            n_opened += 1
            extent = -float((high[i] * 0.5 - low[i] * 0.5).sum())
            child = int(trees.inners.child[node, i])
            heapq.heappush(open_nodes, (extent, n_opened, level - 1, child, low[i], high[i]))
    return np.array([low for low, _ in closed]), np.array([high for _, high in closed])


def _entries(trees: Trees, level: int, node: int) -> tuple[Floats, Floats]:
    """The boxes of what a node holds, one row each."""
    held = trees.inners if level > 0 else trees.leaves
    n = int(held.length[node])
    return held.low[node, :, :n].T.copy(), held.high[node, :, :n].T.copy()
