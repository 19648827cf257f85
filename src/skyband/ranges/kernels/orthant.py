"""Paint-Sparse for boxes in any number of dimensions (ranges paper, IV-C, which has no algorithm).

A subscription is a point (l1, r1, .., ld, rd); an object is in the ranges of those in an orthant. A tight box of
subscriptions has a largest range, from the least l to the largest r, and a smallest one; every range of the box lies
between these two. Two questions are settled by cutting boxes apart, with a snap for each part, so that parts without
subscriptions fall away at once:

- Who has the object among the best k? Take the k objects that rank before it nearest to the smallest range, as shares
  of the way to the largest one. If there are fewer in the largest range, everybody has it. Else nobody who holds all k
  has it, and the others, who lie beyond one of the 2d sides of the box around these k, are looked at again.
- Who is given which object, when it ranks lower? Take the k best objects of the largest range, as they are now. If
  there are fewer that rank before it, nobody is. Else those who hold all k are given the k-th, and the others are
  looked at again. So there is no sweep: a box is asked again for each object that is exposed to it.

Each cut leaves at least one object out of the largest range of every part, so this ends. A cut goes through places
where the region has a corner, never elsewhere. In one dimension the boxes are the steps of the staircase.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxrank import DISTANCE, BoxQuery, BoxWalk, Field, best, make_asked, make_walk, surround
from skyband.ranges.kernels.boxsearch import snap
from skyband.ranges.kernels.boxtree import Trees
from skyband.ranges.kernels.message import Messages, above, below
from skyband.ranges.kernels.message_boxes import (
    COUNTS,
    LOWEST,
    NEAREST,
    SNAP,
    Mosaic,
    Scrap,
    add_box,
    join_boxes,
    make_mosaic,
    make_scrap,
    put_box,
    send_box,
)
from skyband.ranges.kernels.paint import Style, Update


class Bench(NamedTuple):
    """Space to cut boxes: those that wait, those that are done, the one at hand, and the box around k objects."""

    pending: Mosaic
    mosaic: Mosaic
    asked: BoxQuery
    walk: BoxWalk
    scrap: Scrap
    low: Floats
    high: Floats
    hull_low: Floats
    hull_high: Floats
    counts: Int64s


def make_bench(room: int, k: int, dims: int) -> Bench:
    """Room for this many boxes and for a k of up to this."""
    boxes = (make_mosaic(room, dims), make_mosaic(room, dims))
    sides = (np.zeros(2 * dims), np.zeros(2 * dims), np.zeros(dims), np.zeros(dims))
    return Bench(*boxes, make_asked(dims), make_walk(k), make_scrap(dims), *sides, np.zeros(len(COUNTS), np.int64))


@inlined
def _wait(bench: Bench, subscriptions: Trees, group: int) -> None:
    """Let the part of the box at hand that has subscriptions wait; there is room."""
    pending = bench.pending
    n = pending.length[0]
    bench.counts[SNAP] += 1
    if snap(subscriptions, group, bench.low, bench.high, pending.low[n], pending.high[n]):
        pending.length[0] = n + 1


@inlined
def _take(bench: Bench) -> None:
    """Take the box at hand from those that wait, and ask about its largest range, beside its smallest one."""
    pending, asked = bench.pending, bench.asked
    n = pending.length[0] - 1
    pending.length[0] = n
    for side in range(len(bench.low)):
        bench.low[side], bench.high[side] = pending.low[n, side], pending.high[n, side]
    d = len(asked.inner_low)
    for j in range(d):
        asked.low[j], asked.inner_low[j] = bench.low[2 * j], bench.high[2 * j]
        asked.inner_high[j], asked.high[j] = bench.low[2 * j + 1], bench.high[2 * j + 1]
    asked.low[d], asked.high[d] = -np.inf, np.inf


@inlined
def _surround(field: Field, k: int, bench: Bench) -> None:
    """The box around the objects found."""
    x, slots, low, high = field.x, bench.walk.slot, bench.hull_low, bench.hull_high
    for j in range(len(low)):
        low[j], high[j] = np.inf, -np.inf
        for i in range(k):
            low[j], high[j] = min(low[j], x[slots[i], j]), max(high[j], x[slots[i], j])


@kernel
def _cut(subscriptions: Trees, group: int, bench: Bench) -> None:
    """Let those who do not hold the whole box around the objects wait; what is left at hand are those who do."""
    low, high = bench.low, bench.high
    for j in range(len(bench.hull_low)):
        first, last, left, right = bench.hull_low[j], bench.hull_high[j], 2 * j, 2 * j + 1
        if high[left] > first:
            since = low[left]
            low[left] = max(since, above(first))
            _wait(bench, subscriptions, group)
            low[left], high[left] = since, first
        if low[right] < last:
            until = high[right]
            high[right] = min(until, below(last))
            _wait(bench, subscriptions, group)
            low[right], high[right] = last, until


@inlined
def _has_room(bench: Bench) -> bool:
    """Whether a cut can be made: room for all parts."""
    return bench.pending.length[0] + len(bench.low) <= len(bench.pending.size) and bench.mosaic.length[0] < len(
        bench.mosaic.size
    )


@inlined
def _begin(x: Floats, subscriptions: Trees, group: int, pending: Mosaic) -> bool:
    """Let the orthant of a place wait, as far as there are subscriptions of the group at all; False if there are none.

    It is not tight: a snap of something that large takes longer than all others together.
    """
    low, high = pending.low[0], pending.high[0]
    surround(subscriptions, group, low, high)
    for j in range(len(x)):
        high[2 * j], low[2 * j + 1] = min(high[2 * j], x[j]), max(low[2 * j + 1], x[j])
        if low[2 * j] > high[2 * j] or low[2 * j + 1] > high[2 * j + 1]:
            return False
    pending.length[0] = 1
    return True


@kernel
def find_holders(style: Style, field: Field, subscriptions: Trees, object: int, y: float, bench: Bench) -> bool:
    """Boxes of all who would have an object with this y among their best k, into the mosaic; False without room."""
    pending, mosaic, low, high, tie = bench.pending, bench.mosaic, bench.low, bench.high, field.tie[object]
    mosaic.length[0] = 0
    if not _begin(field.x[object], subscriptions, style.group, pending):
        return True
    is_tight = False
    while pending.length[0] > 0:
        _take(bench)
        if not _has_room(bench):
            return False
        bench.counts[NEAREST] += 1
        if best(field, bench.asked, DISTANCE, y, tie, style.k, bench.walk) < style.k:
            if is_tight:
                put_box(mosaic, low, high, object)
            else:
                add_box(mosaic, subscriptions, style.group, low, high, object, bench.counts)
        else:
            _surround(field, style.k, bench)
            _cut(subscriptions, style.group, bench)
        is_tight = True
    return True


@kernel
def find_heirs(style: Style, field: Field, subscriptions: Trees, update: Update, bench: Bench) -> bool:
    """Boxes of those in the mosaic who lose an object, by what takes its place, behind those; False without room."""
    pending, mosaic, group, k, d = bench.pending, bench.mosaic, style.group, style.k, len(bench.hull_low)
    tie, n = field.tie[update.object], mosaic.length[0]
    for i in range(n):
        for side in range(2 * d):
            pending.low[0, side], pending.high[0, side] = mosaic.low[i, side], mosaic.high[i, side]
        pending.length[0] = 1
        while pending.length[0] > 0:
            _take(bench)
            if not _has_room(bench):
                return False
            bench.counts[LOWEST] += 1
            if best(field, bench.asked, d, update.new, tie, k, bench.walk) == k:
                heir = bench.walk.slot[k - 1]
                _surround(field, k, bench)
                _cut(subscriptions, group, bench)
                add_box(mosaic, subscriptions, group, bench.low, bench.high, heir, bench.counts)
    return True


@kernel
def paint_boxes(style: Style, field: Field, subscriptions: Trees, update: Update, bench: Bench, out: Messages) -> bool:
    """The messages that tell an update to a group: the tree holds the objects as they are now; False without room."""
    mosaic, object, group = bench.mosaic, update.object, style.group
    if not find_holders(style, field, subscriptions, object, min(update.old, update.new), bench):
        return False
    join_boxes(mosaic, subscriptions, group, 0, bench.scrap, bench.counts)
    n = mosaic.length[0]
    for i in range(n):
        send_box(out, mosaic.low[i], mosaic.high[i], object, field.x[object], update.new, group, update.event)
    if update.new < update.old:
        return True
    if not find_heirs(style, field, subscriptions, update, bench):
        return False
    join_boxes(mosaic, subscriptions, group, n, bench.scrap, bench.counts)
    for i in range(n, mosaic.length[0]):
        heir = mosaic.object[i]
        send_box(out, mosaic.low[i], mosaic.high[i], heir, field.x[heir], field.y[heir], group, update.event)
    return True
