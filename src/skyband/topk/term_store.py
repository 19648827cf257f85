"""The catalogue of stored messages that searches by place and words run over.

Kernels write to it (`skyband.topk.kernels.term_store`) and search it (`skyband.topk.kernels.term_search`). Here it is
given room: when the pool is full, what is in use is laid end to end in a new one that leaves a third of it free, so
that each arrival pays a constant share of the copying, and a window that stays as large as it is takes the same memory
for ever.
"""

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.room import pauses
from skyband.topk.kernels.score import Contents
from skyband.topk.kernels.term_search import Lookup, make_lookup
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
    Pages,
    check_pages,
    forget,
    insert,
    make_pages,
    repack,
)

LEAF = 256
"""The most entries of a leaf."""
# A word may want each of three kinds of room, once for each level of its tree.
MOST_STOPS = 3 * AXIS_BITS


class Catalogue:
    """Stored messages by word and place; `counts` says what searches did (see `Frontier`)."""

    def __init__(self, bounds: tuple[float, float, float, float], leaf: int = LEAF) -> None:
        self._pages = make_pages(bounds, leaf)
        self._lookup = make_lookup(self._pages)
        self._oldest = 0
        self._end = 0

    @property
    def pages(self) -> Pages:
        """For kernels, until the next insertion."""
        return self._pages

    @property
    def lookup(self) -> Lookup:
        """Working space for one thread, until the next insertion; `make_lookup` makes it for others."""
        return self._lookup

    @property
    def counts(self) -> Int64s:
        return self._lookup.counts

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in (*self._pages[:7], *self._lookup))

    def insert(self, contents: Contents, base: int, lo: int, hi: int) -> None:
        """Take in the messages lo to hi that the store has appended; `base` is the number of its first."""
        if self._oldest == self._end:
            self._oldest = base + lo

        def go_on() -> bool:
            nonlocal lo
            lo = insert(self._pages, contents, base, lo, hi)
            return lo == hi

        for _ in pauses(go_on, lambda: (lo, int(self._pages.state[TERMS_DONE])), MOST_STOPS):
            self._make_room()
        self._end = base + hi

    def forget(self, contents: Contents, base: int, oldest: int) -> None:
        """Drop all numbers below `oldest`, whose messages are still in the store."""
        oldest = min(oldest, self._end)
        if oldest > self._oldest:
            forget(self._pages, contents, base, self._oldest - base, oldest - base)
            self._oldest = oldest

    def _make_room(self) -> None:
        """Give room to whatever may have run out of it."""
        pages = self._pages
        wanted = int(pages.state[CODES_WANTED])
        if wanted > len(pages.words):
            self._pages = pages._replace(words=grown(pages.words, wanted))
        elif pages.state[USED_NODES] + 4 > len(pages.nodes) and not pages.state[FREE_NODES]:
            nodes = grown(pages.nodes, len(pages.nodes) + 4)
            self._pages = pages._replace(nodes=nodes, cells=grown(pages.cells, len(nodes) // 4))
            self._lookup = self._lookup._replace(queue=make_lookup(self._pages).queue)
        else:
            self._repack()

    def _repack(self) -> None:
        """Lay what is in use end to end in a new pool."""
        pages = self._pages
        rooms = np.concatenate([_rooms(heads) for heads in (pages.words, pages.nodes)])
        n_used, longest = int(rooms.sum()), int(rooms.max(initial=0))
        # A split takes at most twice as many places as a leaf has, and so does a leaf that is moved.
        entries = np.zeros((n_used + n_used // 2 + 2 * max(longest, pages.most), 2), np.int64)
        end = repack(pages.words, pages.entries, entries, 0)
        pages.state[USED] = repack(pages.nodes, pages.entries, entries, end)
        pages.free[:] = -1
        self._pages = pages._replace(entries=entries)

    def check(self, numbers: Int64s, contents: Contents, base: int) -> None:
        """Assert the invariants; `numbers` are those of the messages that are in, in order."""
        expected: dict[int, list[int]] = {}
        for number in numbers.tolist():
            start = contents.term_start[number - base]
            for code in contents.terms[start : start + contents.term_count[number - base]].tolist():
                expected.setdefault(code, []).append(number)
        assert check_pages(self._pages, self._oldest) == expected
        assert len(self._lookup.queue) >= len(self._pages.nodes)


def _rooms(heads: Int32s) -> Int64s:
    """How many places of the pool each leaf among these rows has."""
    leaves = heads[(heads[:, COUNT] > 0) & (heads[:, START] >= 0), LARGEST].astype(np.int64)
    rooms: Int64s = np.left_shift(1, leaves & SIZE) >> 1
    return rooms
