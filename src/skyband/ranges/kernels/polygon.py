"""Paint-Dense and Paint-Sparse for ranges [l1, r1] x (-inf, r2] (ranges paper, appendix D and Algorithms 6 to 11).

An object that ranks higher is told to its new region, slab by slab (see `slab`), where a tile goes on in the next slab
if that has the same one. An object that ranks lower is told to its old region; then its y is swept upwards. Every slab
knows the object that it would meet first, so that after an exposed object only those are asked again that it concerns.

The paper's calls are counted as we read them: one `min_x` for each step of the sweep in x2, the last of which finds
nothing; one `min_y` for each slab when the sweep in y begins, and again for those whose object lies outside of the
influence interval now, or was exposed. A slab where nothing was found is not asked again, and no call looks beyond the
new y: that gives the figures of Table VII.

Where Algorithms 7 and 11 are printed otherwise:
- every step of the sweep in x2 but the first takes the new y, also when the old region is wanted; we take one y;
- `min_y` is not told after which y to begin, nor that the first slab has the objects below it too, which line 22 counts
  on; and an object is exposed before it is asked whether its y is below the new one;
- the object that was exposed stays the first one of its slab, and would be exposed again: the slab is asked anew;
- an empty h_z means both that nothing was found and that nothing is known, which costs calls for the former and makes
  line 37 depend on where the slab was cut: we tell the two apart;
- line 22 compares with the first slab only, so that two objects at the same x2 make a slab of no height: we cut a slab
  only where an object lies above its bottom;
- II = conv(L u R) is the influence interval only where both lists are full: else it has no end on that side.

Paint-Sparse sweeps only as far as subscriptions reach that lie in the box around the rest of the region, and forgets
the slabs above the last of them. Its tiles are those of Paint-Dense, shrunk to subscriptions and joined (`mosaic`).
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxrank import BoxQuery, BoxWalk, Field, first_above, make_asked, make_walk
from skyband.ranges.kernels.boxsearch import first_k, least, snap
from skyband.ranges.kernels.boxtree import LAST, Trees
from skyband.ranges.kernels.message import FARTHEST, Messages, above
from skyband.ranges.kernels.message_boxes import (
    COUNTS,
    EXPOSED,
    FIRST_K,
    MIN_X,
    MIN_Y,
    REACH,
    Mosaic,
    Scrap,
    join_boxes,
    make_mosaic,
    make_scrap,
    send_box,
)
from skyband.ranges.kernels.paint import Style, Update
from skyband.ranges.kernels.region_slabs import (
    FIRST,
    NOTHING,
    UNKNOWN,
    Slabs,
    are_alike,
    around_of,
    clear_slabs,
    cut_off,
    drop_next,
    is_full,
    left_of,
    make_slabs,
    right_of,
    split_slab,
    take_slab,
    top_of,
)
from skyband.ranges.kernels.staircase import Tiles, lay_diagonal, lay_staircase, make_tiles, step_in, widen
from skyband.ranges.kernels.tile_merge import L1, L2, R1, R2, MergedBoxes, Pile, lay_slab, make_pile

# Dimensions of a box of objects.
X1, X2, Y = range(3)


class PolygonEasel(NamedTuple):
    """Space to paint with."""

    slabs: Slabs
    tiles: Tiles
    pile: Pile
    mosaic: Mosaic
    asked: BoxQuery
    walk: BoxWalk
    scrap: Scrap
    slots: Int64s
    low: Floats
    high: Floats
    found_low: Floats
    found_high: Floats
    counts: Int64s


def make_easel(room: int, k: int) -> PolygonEasel:
    """Room for this many slabs, and a k of up to this."""
    low, high, found_low, found_high = (np.zeros(4) for _ in range(4))
    return PolygonEasel(
        make_slabs(room, k),
        make_tiles(k),
        make_pile(k),
        make_mosaic(room, 2),
        make_asked(2),
        make_walk(1),
        make_scrap(2),
        np.zeros(k, np.int64),
        low,
        high,
        found_low,
        found_high,
        np.zeros(len(COUNTS), np.int64),
    )


@inlined
def _ask(asked: BoxQuery, left: float, right: float, since: float, until: float, y: float) -> None:
    """Ask about a box of places, with a y from this one on."""
    asked.low[X1], asked.high[X1] = left, right
    asked.low[X2], asked.high[X2] = since, until
    asked.low[Y], asked.high[Y] = y, np.inf


@kernel
def _look_around(style: Style, field: Field, object: int, y: float, z: int, easel: PolygonEasel) -> None:
    """Find what ranks before an object with this y among those with no larger x2, k to each side."""
    x, tie, slabs, k, asked = field.x[object], field.tie[object], easel.slabs, style.k, easel.asked
    for side in range(2):
        west = side == 0
        _ask(asked, -FARTHEST if west else above(x[X1]), x[X1] if west else FARTHEST, -FARTHEST, x[X2], -np.inf)
        asked.high[Y] = y
        easel.counts[FIRST_K] += 1
        n = first_k(field.trees, 0, asked.low, asked.high, west, k, Y, y, tie, field.tie, easel.slots, 0)
        slabs.n[z, side] = n
        steps = slabs.west[z] if west else slabs.east[z]
        for i in range(n):
            steps[i] = field.x[easel.slots[i], X1]


@kernel
def _find_reach(style: Style, subscriptions: Trees, x: float, z: int, easel: PolygonEasel) -> bool:
    """How far the subscriptions in the box around a slab and all above reach; False if there are none."""
    slabs, low, high, k = easel.slabs, easel.low, easel.high, style.k
    low[L1], high[L1] = left_of(slabs, z, k), x
    low[R1], high[R1] = x, right_of(slabs, z, k)
    low[L2], high[L2] = -FARTHEST, -FARTHEST
    low[R2], high[R2] = slabs.bottom[z], FARTHEST
    easel.counts[REACH] += 1
    return snap(subscriptions, style.group, low, high, easel.found_low, easel.found_high)


@kernel
def trace(style: Style, field: Field, subscriptions: Trees, object: int, y: float, easel: PolygonEasel) -> bool:
    """Make the slabs of the region of an object with this y, sweeping upwards (Algorithm 7); False without room."""
    slabs, x, tie, k, asked = easel.slabs, field.x[object], field.tie[object], style.k, easel.asked
    clear_slabs(slabs)
    if is_full(slabs):
        return False
    z = slabs.at[FIRST] = take_slab(slabs, x[X2])
    _look_around(style, field, object, y, z, easel)
    under, last_tie = -1, LAST
    while True:
        left, right, until = left_of(slabs, z, k), right_of(slabs, z, k), FARTHEST
        if style.sparse:
            if not _find_reach(style, subscriptions, x[X1], z, easel):
                cut_off(slabs, under, z)
                return True
            left, right, until = easel.found_low[L1], easel.found_high[R1], easel.found_high[R2]
        _ask(asked, left, right, slabs.bottom[z], until, -np.inf)
        easel.counts[MIN_X] += 1
        other = first_above(field, asked, X2, last_tie, y, tie, easel.walk)
        if other < 0:
            return True
        if field.x[other, X2] > slabs.bottom[z]:
            if is_full(slabs):
                return False
            under, z = z, split_slab(slabs, z, field.x[other, X2])
        step_in(around_of(slabs, z), k, x[X1], field.x[other, X1])
        last_tie = field.tie[other]


@kernel
def _send_mosaic(
    style: Style, field: Field, subscriptions: Trees, y: float, event: int, easel: PolygonEasel, out: Messages
) -> None:
    """Send what was laid of one object, which has this y now."""
    mosaic = easel.mosaic
    if style.sparse:
        join_boxes(mosaic, subscriptions, style.group, 0, easel.scrap, easel.counts)
    for i in range(mosaic.length[0]):
        object = mosaic.object[i]
        send_box(out, mosaic.low[i], mosaic.high[i], object, field.x[object], y, style.group, event)


@inlined
def _begin(easel: PolygonEasel) -> None:
    """Nothing is laid yet."""
    easel.pile.tiles.length[0] = easel.mosaic.length[0] = 0


@inlined
def _lay(style: Style, subscriptions: Trees, object: int, until: float, since: float, easel: PolygonEasel) -> bool:
    """Lay the tiles of a slab that begins at one r2, on those that end at another."""
    done = MergedBoxes(easel.mosaic, easel.counts)
    return lay_slab(easel.tiles, until, since, style, subscriptions, object, easel.pile, done)


@kernel
def lay_region(style: Style, field: Field, subscriptions: Trees, object: int, easel: PolygonEasel) -> bool:
    """The boxes of the whole region, into the mosaic (Algorithm 8, Paint-Dense-IR); False without room."""
    slabs, tiles, x = easel.slabs, easel.tiles, field.x[object, X1]
    _begin(easel)
    z, top, bottom = slabs.at[FIRST], FARTHEST, FARTHEST
    while True:
        tiles.length[0] = 0
        if z >= 0:
            around, bottom = around_of(slabs, z), slabs.bottom[z]
            lay_staircase(around, style.k, x, tiles)
            if style.most > style.k:
                widen(around, style.most, tiles)
        if not _lay(style, subscriptions, object, top, bottom, easel):
            return False
        if z < 0:
            return True
        top, z = top_of(slabs, z), slabs.next[z]


@inlined
def _is_within(slabs: Slabs, z: int, k: int, place: float) -> bool:
    """Whether a place is in the influence interval of a slab."""
    return left_of(slabs, z, k) <= place <= right_of(slabs, z, k)


@kernel
def expose(style: Style, field: Field, subscriptions: Trees, update: Update, z: int, easel: PolygonEasel) -> bool:
    """Expose the object found in a slab to it and to all above whose interval it lies in (Algorithm 9).

    There its boxes go into the mosaic, and it steps in. Slabs that are alike then become one. False without room.
    """
    slabs, tiles, k, x, other = easel.slabs, easel.tiles, style.k, field.x[update.object, X1], easel.slabs.found[z]
    place = field.x[other]
    _begin(easel)
    slabs.found[z] = UNKNOWN
    if place[X2] > slabs.bottom[z]:
        if is_full(slabs):
            return False
        z = split_slab(slabs, z, place[X2])
    under, top = -1, FARTHEST
    while True:
        tiles.length[0] = 0
        goes_on = z >= 0 and _is_within(slabs, z, k, place[X1])
        if goes_on:
            around = around_of(slabs, z)
            lay_diagonal(around, k, x, place[X1], tiles)
            if style.most > k:
                widen(around, style.most, tiles)
            step_in(around, k, x, place[X1])
        if not _lay(style, subscriptions, other, top, slabs.bottom[z] if goes_on else top, easel):
            return False
        if not goes_on:
            return True
        top = top_of(slabs, z)
        if under >= 0 and are_alike(slabs, under, z):
            slabs.found[under] = _first_found(field, slabs.found[under], slabs.found[z])
            drop_next(slabs, under)
            z = under
        under, z = z, slabs.next[z]


@inlined
def _first_found(field: Field, a: int, b: int) -> int:
    """What is found first in two slabs together."""
    if a < 0 or b < 0:
        return UNKNOWN if a == UNKNOWN or b == UNKNOWN else max(a, b)
    return a if ranks_before(field, a, field.y[b], field.tie[b]) else b


@inlined
def ranks_before(field: Field, object: int, y: float, tie: int) -> bool:
    return bool(field.y[object] < y or (field.y[object] == y and field.tie[object] < tie))


@kernel
def _search(style: Style, field: Field, update: Update, z: int, y: float, tie: int, easel: PolygonEasel) -> None:
    """Find what ranks next after a pair in a slab and its interval; with subscriptions known, within their reach."""
    slabs, asked, low, high = easel.slabs, easel.asked, easel.found_low, easel.found_high
    bottom, top = slabs.bottom[z] if z != slabs.at[FIRST] else -FARTHEST, top_of(slabs, z)
    if style.sparse:
        _ask(asked, low[L1], high[R1], bottom, min(top, high[R2]), y)
    else:
        _ask(asked, left_of(slabs, z, style.k), right_of(slabs, z, style.k), bottom, top, y)
    asked.high[Y] = update.new
    easel.counts[MIN_Y] += 1
    other = least(field.trees, 0, asked.low, asked.high, Y, y, tie, LAST, field.tie)
    if other >= 0 and not ranks_before(field, other, update.new, field.tie[update.object]):
        other = NOTHING
    slabs.found[z] = other


@kernel
def _next_exposed(
    style: Style, field: Field, subscriptions: Trees, update: Update, y: float, tie: int, easel: PolygonEasel
) -> int:
    """The slab in which the object lies that is exposed next, after a pair of y and tie; or -1."""
    slabs, x = easel.slabs, field.x[update.object, X1]
    best, under, z = -1, -1, slabs.at[FIRST]
    while z >= 0:
        other = slabs.found[z]
        if other == UNKNOWN or (other >= 0 and not _is_within(slabs, z, style.k, field.x[other, X1])):
            if style.sparse and not _find_reach(style, subscriptions, x, z, easel):
                cut_off(slabs, under, z)
                return best
            _search(style, field, update, z, y, tie, easel)
            other = slabs.found[z]
        if other >= 0 and (
            best < 0 or ranks_before(field, other, field.y[slabs.found[best]], field.tie[slabs.found[best]])
        ):
            best = z
        under, z = z, slabs.next[z]
    return best


@kernel
def paint_slabs(
    style: Style, field: Field, subscriptions: Trees, update: Update, easel: PolygonEasel, out: Messages
) -> bool:
    """The messages that tell an update to a group: the tree holds the objects as they are now; False without room."""
    object, event = update.object, update.event
    y = min(update.old, update.new)
    if not trace(style, field, subscriptions, object, y, easel):
        return False
    if not lay_region(style, field, subscriptions, object, easel):
        return False
    _send_mosaic(style, field, subscriptions, update.new, event, easel, out)
    if update.new < update.old:
        return True
    tie = field.tie[object]
    while True:
        z = _next_exposed(style, field, subscriptions, update, y, tie, easel)
        if z < 0:
            return True
        other = easel.slabs.found[z]
        y, tie = field.y[other], field.tie[other]
        easel.counts[EXPOSED] += 1
        if not expose(style, field, subscriptions, update, z, easel):
            return False
        _send_mosaic(style, field, subscriptions, y, event, easel, out)
