"""Cells: subscriptions of exact matching as bits, one for each cell of each dimension that their intervals reach into.

A page holds up to PAGE subscriptions. It cuts each dimension into ROWS - 1 cells at ends of their intervals, and has a
row of bits for each cell: bit i is set if the interval of the one at place i reaches into the cell. What an event meets
is among the bits that are set in the rows of its cells in all dimensions, 32 to a number. A last row says who leaves
the dimension open, for events that lack it. Those who are left are looked at in the pool of parts, exactly.

Pages, words and places are gone through by what can be scored there, and a search ends where nobody comes before the
k-th any more, of equal scores by their labels. A page that an event does not reach is passed over.

Relaxed matching of sums in many dimensions has the same pages without cells: subscriptions in the descending order of
what they can score, each with the heaviest of its parts at hand. What an event misses of these is lost of the score.

Invariants: an interval reaches into the cells from that of its lower end to that of its upper end, and the cell of a
value is how many cuts are not above it; `lo` and `hi` hold for all members of a page; nobody at the places of a word,
or of a page, comes before its `head`; a place that is not live is met by nothing.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, worse
from skyband.kernels.simd import lowest_bit
from skyband.ranked.kernels.fitting import UNMATCHED, meets
from skyband.ranked.kernels.interval_scan import BestSlots, Events
from skyband.ranked.kernels.ranking import RankingSearch, has_spent, owner_score, spent, use_up
from skyband.ranked.kernels.runs import keep_best, sort_best
from skyband.ranked.kernels.streams import RANDOM, SORTED

UInt32s = npt.NDArray[np.uint32]

WORD = 32
N_WORDS = 128
PAGE = WORD * N_WORDS
# Rows of bits in a dimension: cells, and at last those who leave it open.
ROWS = 64
OPEN = ROWS - 1
MOST_CUTS = ROWS - 2
# No head, where nobody was yet, and no part.
NOBODY, NONE = -1, -1
# What sums in two orders may differ by, as a share of the greatest.
SLACK = 2.0**-30


class Pages(NamedTuple):
    """`bits` by page, dimension, row and word, `live` by page and word, ascending `cut` by page and dimension.

    `lo` and `hi` are by page and dimension, `owner` and `score` by page and place. A `head` is a place of its page, by
    word and last of the whole page. `order` has the pages by their heads.

    Where not all parts have to be met, some of each member are at hand: by page, place and number their `dim`, or NONE,
    their ends rounded outward, and their weights rounded down.
    """

    bits: UInt32s
    live: UInt32s
    cut: Floats
    lo: Floats
    hi: Floats
    owner: Int32s
    score: Floats
    head: Int32s
    dim: Int32s
    end: Float32s
    weight: Float32s
    order: Int64s


class CellScratch(NamedTuple):
    """Bits of those who are left of a page, and room to sort."""

    left: UInt32s
    spare: Heap


@inlined
def cell_of(cut: Floats, value: float) -> int:
    """The cell of a value, which is finite; cuts that are not in use are infinite."""
    n = 0
    for i in range(len(cut)):
        n += cut[i] <= value
    return n


@kernel
def set_bits(bits: UInt32s, start: int, first: Int64s, last: Int64s, opened: npt.NDArray[np.bool_]) -> None:
    """Let members from place `start` of a page on reach into cells from `first` to `last`, by member and dimension."""
    for j in range(first.shape[1]):
        for i in range(len(first)):
            word, bit = (start + i) // WORD, np.uint32(1 << (start + i) % WORD)
            for row in range(first[i, j], last[i, j] + 1):
                bits[j, row, word] |= bit
            if opened[i, j]:
                bits[j, OPEN, word] |= bit


@inlined
def _keep(left: UInt32s, row: UInt32s) -> None:
    for word in range(len(left)):
        left[word] &= row[word]


@inlined
def _keep_any(left: UInt32s, rows: UInt32s, first: int, last: int) -> None:
    for word in range(len(left)):
        met = rows[first, word]
        for row in range(first + 1, last + 1):
            met |= rows[row, word]
        left[word] &= met


@inlined
def narrow(left: UInt32s, rows: UInt32s, cut: Floats, low: float, high: float, inside: bool) -> None:
    """Leave those who may meet [low, high] in the dimension of these rows; NaN is a dimension that is missing."""
    if np.isnan(low):
        _keep(left, rows[OPEN])
        return
    first = cell_of(cut, low)
    last = first if low == high else cell_of(cut, high)
    if first == last or inside:
        # Whoever reaches into both cells reaches into all between them.
        _keep(left, rows[first])
        _keep(left, rows[last])
    else:
        _keep_any(left, rows, first, last)


@inlined
def _reaches(pages: Pages, page: int, low: Floats, high: Floats, inside: bool) -> bool:
    for j in range(pages.lo.shape[1]):
        if not meets(pages.lo[page, j], pages.hi[page, j], low[j], high[j], inside):
            return False
    return True


@inlined
def _beaten(pages: Pages, search: RankingSearch, page: int, place: int) -> bool:
    """Whether the one at a place, if it scores all it can, comes after the worst of a full heap."""
    heap, label = search.scratch.heap, search.parts.label[pages.owner[page, place]]
    return worse(-pages.score[page, place], label, heap.keys[0], heap.stamps[0])


@inlined
def _falls_short(pages: Pages, search: RankingSearch, page: int, place: int, low: Floats, high: Floats) -> bool:
    """Whether the one at a place misses so much that it comes after the worst of a full heap."""
    can, inside = pages.score[page, place], search.rule.inside
    least = -search.scratch.heap.keys[0] - SLACK * can
    for i in range(pages.dim.shape[2]):
        j = pages.dim[page, place, i]
        if j == NONE:
            break
        if not meets(pages.end[page, place, i, 0], pages.end[page, place, i, 1], low[j], high[j], inside):
            can -= pages.weight[page, place, i]
    return can < least


@kernel
def search_pages(pages: Pages, search: RankingSearch, events: Events, event: int, scratch: CellScratch) -> int:
    """Put the k best subscriptions for an event into the heap; answers how many."""
    low, high, k, inside = events.low[event], events.high[event], events.k[event], search.rule.inside
    left, n_best = scratch.left, 0
    for turn in range(len(pages.order)):
        page = pages.order[turn]
        if n_best == k and _beaten(pages, search, page, pages.head[page, N_WORDS]):
            break
        if _reaches(pages, page, low, high, inside):
            search.streams.work[SORTED] += 1
            for word in range(N_WORDS):
                left[word] = pages.live[page, word]
            for j in range(pages.lo.shape[1]):
                narrow(left, pages.bits[page, j], pages.cut[page, j], low[j], high[j], inside)
            n_best = _look(pages, page, search, low, high, k, scratch, n_best)
    return n_best


@inlined
def _look(
    pages: Pages, page: int, search: RankingSearch, low: Floats, high: Floats, k: int, scratch: CellScratch, n_best: int
) -> int:
    """Look at those who are left of a page."""
    left, heap, parts = scratch.left, search.scratch.heap, search.parts
    for word in range(N_WORDS):
        if left[word] == 0 or (n_best == k and _beaten(pages, search, page, pages.head[page, word])):
            continue
        mask = np.int64(left[word])
        while mask != 0:
            place = word * WORD + lowest_bit(int(mask))
            mask &= mask - 1
            owner = int(pages.owner[page, place])
            if spent(search.asked, owner) or (n_best == k and _beaten(pages, search, page, place)):
                continue
            if n_best == k and _falls_short(pages, search, page, place, low, high):
                continue
            search.streams.work[RANDOM] += 1
            score = owner_score(search, owner, low, high)
            if score != UNMATCHED:
                n_best = keep_best(heap, scratch.spare, n_best, k, -score, parts.label[owner], owner)
    return n_best


@kernel
def match_in_pages(
    pages: Pages, search: RankingSearch, events: Events, order: Int64s, scratch: CellScratch, found: BestSlots
) -> None:
    """Match the events in this order; without one serve them, as `match_events` does."""
    heap, serving = search.scratch.heap, len(order) == 0
    for i in range(len(found.length) if serving else len(order)):
        event = i if serving else order[i]
        at = found.start[event]
        if not serving or has_spent(search, found, event):
            found.length[event] = search_pages(pages, search, events, event, scratch)
            sort_best(heap, scratch.spare, found.length[event], events.k[event])
            for j in range(found.length[event]):
                found.slot[at + j], found.score[at + j] = heap.items[j], -heap.keys[j]
        if serving:
            use_up(search, found, event)
