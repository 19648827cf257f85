"""Staircases: where in the subscription space an object is among the best k, and how two such regions differ.

Around an object at x lie those that rank before it: `west` of it, nearest first, and `east` of it. A subscription with
the range [l, r] that holds x holds as many of them as lie in between, and has the object among its best k if these are
fewer than k. So the region has a top for each l, the r of the east object that would be one too many: a staircase with
its corner at (x, x), which falls to the west (Lemma 2 of the ranges paper).

Tiles are closed boxes (l, r) from west to east, no two with an l in common. Objects at the same place as x count as
west of it; a tile that ties make empty is left out, and neighbours with the same bottom and top are one.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.message import FARTHEST, above, below


class Around(NamedTuple):
    """The places of the objects that rank before one, at most k to each side; `n` are west and east."""

    n: Int64s
    west: Floats
    east: Floats


class Tiles(NamedTuple):
    """Boxes of the subscription space, `length[0]` of them."""

    length: Int64s
    low: Floats
    high: Floats


def make_around(k: int) -> Around:
    """Room for k places to each side."""
    return Around(np.zeros(2, np.int64), np.zeros(k + 1), np.zeros(k + 1))


def make_tiles(k: int) -> Tiles:
    """Room for the tiles of up to three staircases together."""
    return Tiles(np.zeros(1, np.int64), np.zeros((3 * k + 3, 2)), np.zeros((3 * k + 3, 2)))


@inlined
def _lay(tiles: Tiles, l_low: float, l_high: float, r_low: float, r_high: float) -> None:
    """Add a tile next to the last one, to the east of it or to the west; one that is empty is left out."""
    if l_low > l_high or r_low > r_high:
        return
    n = tiles.length[0]
    if n > 0:
        low, high = tiles.low[n - 1], tiles.high[n - 1]
        if low[1] == r_low and high[1] == r_high:
            if above(high[0]) == l_low:
                high[0] = l_high
                return
            if above(l_high) == low[0]:
                low[0] = l_low
                return
    tiles.low[n, 0], tiles.low[n, 1] = l_low, r_low
    tiles.high[n, 0], tiles.high[n, 1] = l_high, r_high
    tiles.length[0] = n + 1


@inlined
def _top(around: Around, k: int, n_west: int) -> float:
    """The largest r of the region where a range holds this many of the west; less than everything if none is."""
    j = k - n_west
    if j <= 0:
        return -np.inf
    return below(around.east[j - 1]) if j <= around.n[1] else FARTHEST


@kernel
def lay_staircase(around: Around, k: int, x: float, tiles: Tiles) -> None:
    """The tiles of the influence region: at most k (Algorithm 4, Paint-Dense-IR)."""
    west, a = around.west, around.n[0]
    tiles.length[0] = 0
    for c in range(min(a, k - 1), -1, -1):
        l_low = above(west[c]) if c < a else -FARTHEST
        l_high = west[c - 1] if c > 0 else x
        _lay(tiles, l_low, l_high, x, _top(around, k, c))


@kernel
def lay_diagonal(around: Around, k: int, x: float, x_exposed: float, tiles: Tiles) -> None:
    """The tiles in which an exposed object takes the place of the one at x (Algorithm 5, Paint-Dense-Exposed).

    There a range holds k - 1 that rank before both, and the exposed object: at most k tiles along a diagonal.
    """
    west, east, a, b = around.west, around.east, around.n[0], around.n[1]
    tiles.length[0] = 0
    for c in range(min(a, k - 1), max(-1, k - 2 - b), -1):
        l_low = above(west[c]) if c < a else -FARTHEST
        l_high = west[c - 1] if c > 0 else x
        r_low = east[k - 2 - c] if c < k - 1 else x
        if x_exposed > x:
            r_low = max(r_low, x_exposed)
        else:
            l_high = min(l_high, x_exposed)
        _lay(tiles, l_low, l_high, r_low, _top(around, k, c))


@kernel
def _west_of(around: Around, place: float) -> int:
    """How many of the west are at the place or east of it."""
    n = 0
    while n < around.n[0] and around.west[n] >= place:
        n += 1
    return n


@inlined
def _next_step(around: Around, n_west: int) -> float:
    return float(around.west[n_west]) if n_west < around.n[0] else -np.inf


@kernel
def lay_told(now: Around, before: Around, then: Around, k: int, x: float, tiles: Tiles) -> None:
    """The region of `now`, and what `before` and `then` have in common.

    Whom to tell that an object ranks lower: who still has it, and who had it and would keep it with its old value.
    """
    _lay_combined(now, before, then, False, k, x, tiles)


@kernel
def lay_gained(now: Around, before: Around, k: int, x: float, tiles: Tiles) -> None:
    """The region of `now` without that of `before`: whom to tell of an object that has not changed itself."""
    _lay_combined(now, before, before, True, k, x, tiles)


@kernel
def _lay_combined(a: Around, b: Around, c: Around, minus: bool, k: int, x: float, tiles: Tiles) -> None:
    """The column tops of three staircases combined, column by column.

    Columns are found from the east, as their steps are sorted; they are turned around at the end.
    """
    tiles.length[0] = 0
    l_high = x
    while l_high > -np.inf:
        n_a, n_b, n_c = _west_of(a, l_high), _west_of(b, l_high), _west_of(c, l_high)
        step = max(_next_step(a, n_a), max(_next_step(b, n_b), _next_step(c, n_c)))
        top, top_b, top_c = _top(a, k, n_a), _top(b, k, n_b), _top(c, k, n_c)
        bottom = x
        if minus:
            bottom = max(x, above(top_b))
        else:
            top = max(top, min(top_b, top_c))
        _lay(tiles, above(step), l_high, bottom, top)
        l_high = step
    _turn(tiles)


@inlined
def _turn(tiles: Tiles) -> None:
    n = tiles.length[0]
    for i in range(n // 2):
        for box in (tiles.low, tiles.high):
            for j in range(2):
                box[i, j], box[n - 1 - i, j] = box[n - 1 - i, j], box[i, j]


@kernel
def rank_at(around: Around, left: float, right: float) -> int:
    """The rank of the object for a range that reaches no further than the lists do."""
    n_east = 0
    while n_east < around.n[1] and around.east[n_east] <= right:
        n_east += 1
    return 1 + _west_of(around, left) + n_east


@kernel
def widen(around: Around, most: int, tiles: Tiles) -> None:
    """Let neighbouring tiles be one box while nobody in it ranks the object after `most`."""
    low, high = tiles.low, tiles.high
    n = 0
    for i in range(tiles.length[0]):
        if n > 0:
            bottom, top = min(low[n - 1, 1], low[i, 1]), max(high[n - 1, 1], high[i, 1])
            if rank_at(around, low[n - 1, 0], top) <= most:
                low[n - 1, 1] = bottom
                high[n - 1, 0], high[n - 1, 1] = high[i, 0], top
                continue
        for j in range(2):
            low[n, j], high[n, j] = low[i, j], high[i, j]
        n += 1
    tiles.length[0] = n


@kernel
def step_in(around: Around, k: int, x: float, place: float) -> None:
    """Let one more object rank before the one at x; what is then beyond k to its side is forgotten."""
    is_east = place > x
    steps, side = (around.east, 1) if is_east else (around.west, 0)
    n = around.n[side]
    i = n
    while i > 0 and ((steps[i - 1] > place) if is_east else (steps[i - 1] < place)):
        steps[i] = steps[i - 1]
        i -= 1
    steps[i] = place
    around.n[side] = min(n + 1, k)
