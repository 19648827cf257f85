"""The desk of IR-trees: intervals laid out to be sorted, and to be parted by a median.

A desk has room for each interval twice, so that what is moved keeps its order. The median of n intervals is an end of
one of them, chosen so that the buckets on either side come out full: with j = ⌈(n + 1) / 29⌉ and h = ⌊j / 2⌋ at most
29h − 1 intervals lie left of it, and 29(j − h) − 1 right. So there will be at most j buckets of up to 28 and j − 1
nodes, and no child has more than two thirds of the intervals.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.select import nth
from skyband.ranked.kernels.irblock import HIGHEST
from skyband.ranked.kernels.irtree import whole
from skyband.ranked.kernels.parts import Parts, ahead

# Blocks are made with a few entries less than they may have: the next insertion would split them.
PACKED = 28
# No path has more nodes: each has at most 3/4 n + 4 of the intervals above it.
DEEPEST = 96


class Row(NamedTuple):
    """Intervals side by side: parts and their ends."""

    part: Int32s
    low: Int32s
    high: Int32s


class IrWorkspace(NamedTuple):
    """Room to rebuild a subtree: its intervals, twice, and their ends; and places to note ways and things to do."""

    items: Row
    others: Row
    ends: Int32s
    todo: Int64s
    trail: Int64s
    way: Int64s


def make_desk(n: int) -> IrWorkspace:
    """Room for n intervals."""
    rows = [Row(*(np.empty(n, np.int32) for _ in range(3))) for _ in range(2)]
    todo, trail = np.zeros((2 * DEEPEST, 5), np.int64), np.zeros((2, DEEPEST), np.int64)
    return IrWorkspace(rows[0], rows[1], np.empty(2 * n, np.int32), todo, trail, np.zeros((3, HIGHEST + 2), np.int64))


@inlined
def carry(source: Row, i: int, target: Row, j: int) -> None:
    target.part[j], target.low[j], target.high[j] = source.part[i], source.low[i], source.high[i]


@kernel
def find_median(items: Row, first: int, n: int, ends: Int32s) -> int:
    low, high = items.low[first : first + n], items.high[first : first + n]
    for i in range(n):
        ends[i] = low[i]
    for i in range(n):
        ends[n + i] = high[i]
    n_buckets = (n + PACKED + 1) // (PACKED + 1)
    return whole(nth(ends, 2 * n, 2 * (n * (n_buckets // 2) // n_buckets)))


@kernel
def part_ways(items: Row, others: Row, first: int, n: int, median: int) -> tuple[int, int]:
    """Move what lies left of the median to the front, then what lies right; returns how many are left and right."""
    part, low, high = items
    part_then, low_then, high_then = others
    n_left = n_right = n_here = 0
    for i in range(first, first + n):
        # The right ones are kept at the front of `others`, the stabbed ones at its end, in reverse.
        if high[i] < median:
            to = first + n_left
            part[to], low[to], high[to] = part[i], low[i], high[i]
            n_left += 1
        else:
            is_right = low[i] > median
            to = first + (n_right if is_right else n - 1 - n_here)
            part_then[to], low_then[to], high_then[to] = part[i], low[i], high[i]
            n_right += is_right
            n_here += not is_right
    for i in range(n_right):
        carry(others, first + i, items, first + n_left + i)
    for i in range(n_here):
        carry(others, first + n - 1 - i, items, first + n_left + n_right + i)
    return n_left, n_right


@kernel
def _merge(parts: Parts, source: Row, first: int, middle: int, last: int, target: Row) -> None:
    i, j = first, middle
    for to in range(first, last):
        if j == last or (i < middle and ahead(parts, source.part[i], source.part[j])):
            carry(source, i, target, to)
            i += 1
        else:
            carry(source, j, target, to)
            j += 1


@kernel
def sort_items(parts: Parts, desk: IrWorkspace, n: int) -> None:
    """Bring the first n items of the desk into order, by merging."""
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            _merge(parts, desk.items, first, min(first + width, n), min(first + 2 * width, n), desk.others)
        for i in range(n):
            carry(desk.others, i, desk.items, i)
        width *= 2
