"""Stored messages by word and place, for searches to run over.

Kernels write to it (`skyband.topk.kernels.term_store`) and search it (`skyband.topk.kernels.term_search`). Here it is
given room: when the pool is full, what is in use is laid end to end in a new one that leaves a third of it free, so
that each arrival pays a constant share of the copying, and a window that stays as large as it is takes the same memory
for ever.
"""

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.room import pauses
from skyband.topk.kernels.cpm import SCORED
from skyband.topk.kernels.score import Contents
from skyband.topk.kernels.seek import TermSpace
from skyband.topk.kernels.term_bound import TermSearch, make_term_search
from skyband.topk.kernels.term_store import (
    AXIS_BITS,
    CODES_WANTED,
    COUNT,
    FREE_NODES,
    LARGEST,
    SIZE,
    START,
    TERMS_DONE,
    USED,
    USED_NODES,
    TermTrees,
    check_trees,
    forget,
    insert,
    make_trees,
    repack,
)

# Measured: a search takes about a microsecond for each message that it scores, a row about 10 ns for each entry.
ENTRIES_A_MESSAGE = 100
LEAF = 256
"""The most entries of a leaf."""
# A word may want each of three kinds of room, once for each level of its tree.
MOST_STOPS = 3 * AXIS_BITS


class TermStore:
    """Stored messages by word and place; `counts` says what searches did (see `Frontier`)."""

    def __init__(self, bounds: tuple[float, float, float, float], leaf: int = LEAF) -> None:
        self._trees = make_trees(bounds, leaf)
        self._term_search = make_term_search(self._trees)
        self._oldest = 0
        self._end = 0

    @property
    def space(self) -> TermSpace:
        """For kernels and one thread, until the next insertion."""
        return TermSpace(self._trees, self._term_search)

    @property
    def n_searched(self) -> int:
        """What searches have cost since the counts were last set to zero, in entries of a row touched."""
        return ENTRIES_A_MESSAGE * int(self.counts[SCORED])

    @property
    def trees(self) -> TermTrees:
        """For kernels, until the next insertion."""
        return self._trees

    @property
    def term_search(self) -> TermSearch:
        """Working space for one thread, until the next insertion; `make_term_search` makes it for others."""
        return self._term_search

    @property
    def counts(self) -> Int64s:
        return self._term_search.counts

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in (*self._trees[:7], *self._term_search))

    def insert(self, contents: Contents, base: int, lo: int, hi: int) -> None:
        """Take in the messages lo to hi that the store has appended; `base` is the number of its first."""
        if self._oldest == self._end:
            self._oldest = base + lo

        def go_on() -> bool:
            nonlocal lo
            lo = insert(self._trees, contents, base, lo, hi)
            return lo == hi

        for _ in pauses(go_on, lambda: (lo, int(self._trees.state[TERMS_DONE])), MOST_STOPS):
            self._make_room()
        self._end = base + hi

    def forget(self, contents: Contents, base: int, oldest: int) -> None:
        """Drop all numbers below `oldest`, whose messages are still in the store."""
        oldest = min(oldest, self._end)
        if oldest > self._oldest:
            forget(self._trees, contents, base, self._oldest - base, oldest - base)
            self._oldest = oldest

    def _make_room(self) -> None:
        """Give room to whatever may have run out of it."""
        trees = self._trees
        wanted = int(trees.state[CODES_WANTED])
        if wanted > len(trees.words):
            self._trees = trees._replace(words=grown(trees.words, wanted))
        elif trees.state[USED_NODES] + 4 > len(trees.nodes) and not trees.state[FREE_NODES]:
            nodes = grown(trees.nodes, len(trees.nodes) + 4)
            self._trees = trees._replace(nodes=nodes, cells=grown(trees.cells, len(nodes) // 4))
            self._term_search = self._term_search._replace(queue=make_term_search(self._trees).queue)
        else:
            self._repack()

    def _repack(self) -> None:
        """Lay what is in use end to end in a new pool."""
        trees = self._trees
        rooms = np.concatenate([_rooms(heads) for heads in (trees.words, trees.nodes)])
        n_used, longest = int(rooms.sum()), int(rooms.max(initial=0))
        # A split takes at most twice as many places as a leaf has, and so does a leaf that is moved.
        entries = np.zeros((n_used + n_used // 2 + 2 * max(longest, trees.most), 2), np.int64)
        end = repack(trees.words, trees.entries, entries, 0)
        trees.state[USED] = repack(trees.nodes, trees.entries, entries, end)
        trees.free[:] = -1
        self._trees = trees._replace(entries=entries)

    def check(self, numbers: Int64s, contents: Contents, base: int) -> None:
        """Assert the invariants; `numbers` are those of the messages that are in, in order."""
        expected: dict[int, list[int]] = {}
        for number in numbers.tolist():
            start = contents.term_start[number - base]
            for code in contents.terms[start : start + contents.term_count[number - base]].tolist():
                expected.setdefault(code, []).append(number)
        assert check_trees(self._trees, self._oldest) == expected
        assert len(self._term_search.queue) >= len(self._trees.nodes)


def _rooms(heads: Int32s) -> Int64s:
    """How many places of the pool each leaf among these rows has."""
    leaves = heads[(heads[:, COUNT] > 0) & (heads[:, START] >= 0), LARGEST].astype(np.int64)
    rooms: Int64s = np.left_shift(1, leaves & SIZE) >> 1
    return rooms
