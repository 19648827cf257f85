"""Paint-Dense and Paint-Sparse: the change of an object made into the fewest messages that tell it (ranges paper, III).

An object that ranks higher is told to its new influence region. One that ranks lower is told to its old one, and then
its y is swept upwards from the old value to the new: each object that the sweep meets within the influence interval is
exposed, which means that it takes the place of the updated one along a diagonal of the shrinking staircase.

Paint-Dense knows the objects alone. Paint-Sparse also knows the subscriptions: tiles shrink to the subscriptions in
them or fall away, neighbours become one where nobody else lies in between, and the sweep only looks where subscriptions
reach. With an epsilon, tiles are widened first, and some are told what they will not keep.

The objects may be split among servers along x (appendix C): each has a tree of its own, a search begins with the server
at home and goes on from neighbour to neighbour, and every server that is asked is counted.

Painting writes nothing but messages, what was exposed, and counts. What finds no room is counted all the same, so that
the caller can make room and paint again.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxsearch import any_inside, first_k, least, snap
from skyband.ranges.kernels.boxtree import Trees
from skyband.ranges.kernels.message import FARTHEST, Messages, above, below
from skyband.ranges.kernels.staircase import (
    Around,
    Tiles,
    lay_diagonal,
    lay_staircase,
    make_around,
    make_tiles,
    step_in,
    widen,
)

# What is counted: the calls of the paper's tables, those it leaves out, the servers asked, and objects swept over.
FIRST_K, MIN_Y, SNAP, EMPTY, REACH, VISIT, EXPOSED, AFFECTED, ASKED = range(9)
COUNTS = ("first_k", "min_y", "snap", "empty", "reach", "visited", "exposed", "affected", "asked")


class Servers(NamedTuple):
    """The objects as points (x, y), split among servers: server s has those with `fence[s] <= x < fence[s + 1]`.

    By object: where it is, its y, whether it is there, what breaks ties, and its key in the tree.
    """

    trees: Trees
    fence: Floats
    x: Floats
    y: Floats
    alive: Bools
    tie: Int64s
    key: Int64s


class Easel(NamedTuple):
    """Space to paint with."""

    around: Around
    tiles: Tiles
    columns: Tiles
    slots: Int64s
    low: Floats
    high: Floats
    found_low: Floats
    found_high: Floats
    box_low: Floats
    box_high: Floats
    reach: Floats
    counts: Int64s
    kept: Int64s


class Style(NamedTuple):
    """How to paint for a group of subscriptions: its tree, its k, whether it is looked at, the lowest rank to tell."""

    group: int
    k: int
    sparse: bool
    most: int


class Audience(NamedTuple):
    """The groups to paint for, with their styles: only groups that have subscriptions are listed."""

    trees: Trees
    group: Int64s
    k: Int64s
    most: Int64s
    sparse: bool


class Exposed(NamedTuple):
    """What sweeps found for a batch to tell later: `length[0]` pairs of a group and an object, some more than once.

    A pair is the number of the group times the number of places for objects, and the object. Without a place for pairs
    what is found is told at once.
    """

    length: Int64s
    pair: Int64s


class Update(NamedTuple):
    """What happened to an object: its y was and is now; infinite where it was or is not there."""

    object: int
    event: int
    old: float
    new: float


def make_exposed(room: int) -> Exposed:
    """Nothing found yet, and room for this many pairs."""
    return Exposed(np.zeros(1, np.int64), np.zeros(room, np.int64))


def make_easel(k: int) -> Easel:
    """Space for a k of up to this."""
    low, high, found_low, found_high, box_low, box_high, reach = np.zeros((7, 2))
    boxes = (low, high, found_low, found_high, box_low, box_high)
    counts, kept = np.zeros((2, len(COUNTS)), np.int64)
    tiles = (make_tiles(k), make_tiles(k))
    return Easel(make_around(k), *tiles, np.zeros(2 * k + 2, np.int64), *boxes, reach, counts, kept)


@inlined
def keep_counts(easel: Easel) -> None:
    """Note what was counted by now."""
    for i in range(len(easel.counts)):
        easel.kept[i] = easel.counts[i]


@inlined
def restore_counts(easel: Easel) -> None:
    """Count as if nothing had been done since that was noted: it will be done again."""
    for i in range(len(easel.counts)):
        easel.counts[i] = easel.kept[i]


@inlined
def home_of(servers: Servers, x: float) -> int:
    """The server that has the objects at x."""
    s = len(servers.fence) - 1
    while servers.fence[s] > x:
        s -= 1
    return s


@kernel
def _first(servers: Servers, x: float, west: bool, k: int, y: float, tie: int, easel: Easel) -> int:
    """The slots of the first k objects to one side that rank before (y, tie) (Algorithm 1)."""
    low, high, out = easel.low, easel.high, easel.slots
    low[0], high[0] = (-FARTHEST, x) if west else (above(x), FARTHEST)
    low[1], high[1] = -FARTHEST, y
    n, s = 0, home_of(servers, x)
    easel.counts[FIRST_K] += 1
    while 0 <= s < len(servers.fence) and n < k:
        easel.counts[VISIT] += 1
        n += first_k(servers.trees, s, low, high, west, k - n, 1, y, tie, servers.tie, out, n)
        s += -1 if west else 1
    return n


@kernel
def look_around(servers: Servers, x: float, y: float, tie: int, k: int, easel: Easel, around: Around) -> None:
    """Find those that rank before (y, tie), k to each side of x."""
    for side in range(2):
        n = _first(servers, x, side == 0, k, y, tie, easel)
        steps = around.west if side == 0 else around.east
        around.n[side] = n
        for i in range(n):
            steps[i] = servers.x[easel.slots[i]]


@kernel
def next_exposed(
    servers: Servers, x: float, left: float, right: float, y: float, last: int, top: float, easel: Easel
) -> int:
    """The object in [left, right] that ranks next after a `last` one with this y, and has a y of at most `top`; or -1
    (Algorithm 2).

    What has moved without another y is there twice for a while, in two slots with one tie: the smaller comes first.
    """
    easel.counts[MIN_Y] += 1
    low, high = easel.low, easel.high
    low[0], high[0], low[1], high[1] = left, right, y, top
    home = home_of(servers, x)
    best = -1
    for direction in (-1, 1):
        s = home if direction == -1 else home + 1
        while 0 <= s < len(servers.fence) and (
            s == home or (servers.fence[s] <= right if direction == 1 else servers.fence[s + 1] > left)
        ):
            easel.counts[VISIT] += 1
            found = least(servers.trees, s, low, high, 1, y, servers.tie[last], last, servers.tie)
            if found >= 0 and (best < 0 or _comes_first(servers, found, best)):
                best = found
            s += direction
    return best


@inlined
def _comes_first(servers: Servers, object: int, other: int) -> bool:
    y, tie = servers.y[other], servers.tie[other]
    is_twin = servers.y[object] == y and servers.tie[object] == tie
    return ranks_before(servers, object, y, tie) or (is_twin and object < other)


@inlined
def ranks_before(servers: Servers, object: int, y: float, tie: int) -> bool:
    return bool(servers.y[object] < y or (servers.y[object] == y and servers.tie[object] < tie))


@inlined
def send(
    messages: Messages, low: Floats, high: Floats, x: float, y: float, object: int, group: int, event: int
) -> None:
    n = messages.length[0]
    messages.length[0] = n + 1
    if n >= len(messages.y):
        return
    for j in range(2):
        messages.low[n, j], messages.high[n, j] = low[j], high[j]
    messages.object[n], messages.x[n, 0], messages.y[n] = object, x, y
    messages.group[n], messages.event[n] = group, event


@kernel
def _fits(subscriptions: Trees, group: int, a_low: Floats, a_high: Floats, b: Easel) -> bool:
    """Whether a box from the west and the one found east of it have nobody beside them in the box around both."""
    low, high, b_low, b_high = b.low, b.high, b.found_low, b.found_high
    bottom, top = min(a_low[1], b_low[1]), max(a_high[1], b_high[1])
    for part in range(5):
        if part < 2:
            low[0], high[0] = a_low[0], a_high[0]
        elif part < 4:
            low[0], high[0] = b_low[0], b_high[0]
        else:
            low[0], high[0] = above(a_high[0]), below(b_low[0])
        if part == 4:
            low[1], high[1] = bottom, top
        elif part % 2 == 0:
            low[1], high[1] = bottom, below(a_low[1] if part < 2 else b_low[1])
        else:
            low[1], high[1] = above(a_high[1] if part < 2 else b_high[1]), top
        if low[0] <= high[0] and low[1] <= high[1]:
            b.counts[EMPTY] += 1
            if any_inside(subscriptions, group, low, high):
                return False
    return True


@kernel
def send_tiles(
    style: Style,
    subscriptions: Trees,
    tiles: Tiles,
    x: float,
    y: float,
    object: int,
    event: int,
    easel: Easel,
    out: Messages,
) -> bool:
    """Send an object to the tiles, merged greedily where subscriptions are known; says whether that took a message.

    `easel.reach` becomes the least l and the largest r of the subscriptions in the tiles.
    """
    n = tiles.length[0]
    if not style.sparse:
        for i in range(n):
            send(out, tiles.low[i], tiles.high[i], x, y, object, style.group, event)
        return n > 0
    low, high, found_low, found_high = easel.box_low, easel.box_high, easel.found_low, easel.found_high
    easel.reach[0], easel.reach[1] = np.inf, -np.inf
    open_box = False
    for i in range(n):
        easel.counts[SNAP] += 1
        if not snap(subscriptions, style.group, tiles.low[i], tiles.high[i], found_low, found_high):
            continue
        easel.reach[0] = min(easel.reach[0], found_low[0])
        easel.reach[1] = max(easel.reach[1], found_high[1])
        if open_box and not _fits(subscriptions, style.group, low, high, easel):
            send(out, low, high, x, y, object, style.group, event)
            open_box = False
        if not open_box:
            low[0], high[0], low[1], high[1] = found_low[0], found_high[0], found_low[1], found_high[1]
        else:
            high[0] = found_high[0]
            low[1], high[1] = min(low[1], found_low[1]), max(high[1], found_high[1])
        open_box = True
    if open_box:
        send(out, low, high, x, y, object, style.group, event)
    return open_box


@kernel
def find_reach(style: Style, subscriptions: Trees, around: Around, x: float, easel: Easel) -> None:
    """The least l and the largest r of the subscriptions in the staircase, into `easel.reach`."""
    columns, reach = easel.columns, easel.reach
    lay_staircase(around, style.k, x, columns)
    reach[0], reach[1] = np.inf, -np.inf
    n, group, found_low, found_high = columns.length[0], style.group, easel.found_low, easel.found_high
    first = 0
    while first < n and reach[0] == np.inf:
        easel.counts[REACH] += 1
        if snap(subscriptions, group, columns.low[first], columns.high[first], found_low, found_high):
            reach[0], reach[1] = found_low[0], found_high[1]
        first += 1
    # Tops fall to the west: once a top is no higher than what was found, nothing west of it is.
    i = n - 1
    while i >= first and columns.high[i, 1] > reach[1]:
        easel.counts[REACH] += 1
        if snap(subscriptions, group, columns.low[i], columns.high[i], found_low, found_high):
            reach[1] = max(reach[1], found_high[1])
        i -= 1


@inlined
def _note(exposed: Exposed, pair: int) -> None:
    n = exposed.length[0]
    exposed.length[0] = n + 1
    if n < len(exposed.pair):
        exposed.pair[n] = pair


@kernel
def sweep_up(
    style: Style, servers: Servers, subscriptions: Trees, update: Update, exposed: Exposed, easel: Easel, out: Messages
) -> None:
    """Sweep the y of an object that ranks lower now upwards, and tell what that exposes.

    `easel.around` has what ranks before the old y, `easel.reach` how far subscriptions reach. If `exposed` has places,
    what was exposed is noted there, and no message is sent.
    """
    around, tiles, k = easel.around, easel.tiles, style.k
    x, tie_of = servers.x[update.object], servers.tie
    y, last = update.old, update.object
    while True:
        left = above(around.west[k - 1]) if around.n[0] >= k else -FARTHEST
        right = below(around.east[k - 1]) if around.n[1] >= k else FARTHEST
        if style.sparse:
            left, right = max(left, easel.reach[0]), min(right, easel.reach[1])
        object = next_exposed(servers, x, left, right, y, last, update.new, easel)
        if object < 0 or not ranks_before(servers, object, update.new, tie_of[update.object]):
            return
        easel.counts[EXPOSED] += 1
        place = servers.x[object]
        lay_diagonal(around, k, x, place, tiles)
        y, last = servers.y[object], object
        left, right = easel.reach[0], easel.reach[1]
        if len(exposed.pair):
            told = not style.sparse or _anyone(style, subscriptions, tiles, easel)
            if told:
                _note(exposed, style.group * len(servers.y) + object)
        else:
            if style.most > k:
                widen(around, style.most, tiles)
            told = send_tiles(style, subscriptions, tiles, place, y, object, update.event, easel, out)
            easel.reach[0], easel.reach[1] = left, right
        step_in(around, k, x, place)
        if style.sparse and told:
            find_reach(style, subscriptions, around, x, easel)


@kernel
def _anyone(style: Style, subscriptions: Trees, tiles: Tiles, easel: Easel) -> bool:
    """Whether any tile has a subscription in it."""
    for i in range(tiles.length[0]):
        easel.counts[SNAP] += 1
        if any_inside(subscriptions, style.group, tiles.low[i], tiles.high[i]):
            return True
    return False


@kernel
def paint(
    style: Style, servers: Servers, subscriptions: Trees, update: Update, unnoted: Exposed, easel: Easel, out: Messages
) -> None:
    """The messages that tell an update to a group (Algorithm 3): the trees hold the objects as they are now."""
    object = update.object
    x, tie, around, tiles = servers.x[object], servers.tie[object], easel.around, easel.tiles
    look_around(servers, x, min(update.old, update.new), tie, style.k, easel, around)
    lay_staircase(around, style.k, x, tiles)
    if style.most > style.k:
        widen(around, style.most, tiles)
    send_tiles(style, subscriptions, tiles, x, update.new, object, update.event, easel, out)
    if update.new > update.old:
        sweep_up(style, servers, subscriptions, update, unnoted, easel, out)
