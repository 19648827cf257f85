"""Changes of objects, one at a time: each is applied to the trees of the servers and painted for every group.

A change of x is a departure and an arrival, each with its own messages; a change that changes nothing has none. Nothing
is allocated: a call that finds no room says what for, and goes on where it stopped when it is called again.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import kernel
from skyband.ranges.kernels.boxtree import insert_item, remove_item, set_coordinate
from skyband.ranges.kernels.message import GONE, Messages
from skyband.ranges.kernels.paint import (
    Audience,
    Easel,
    Servers,
    Style,
    Update,
    home_of,
    keep_counts,
    paint,
    restore_counts,
)
from skyband.ranges.kernels.unicast import UnicastSpace, unicast

DONE, NEEDS_MESSAGES, NEEDS_NODES, NEEDS_SLOTS = range(4)
# What is to be done of a change next: find out what, paint a departure, apply, paint, or nothing.
_FRESH, _DEPARTED, _APPLY, _APPLIED, _OVER = range(5)


class Changes(NamedTuple):
    """What happens, in order: an object is at x now, which is `key` in the trees, with value y; or it is not there."""

    object: Int64s
    x: Floats
    key: Int64s
    y: Floats
    alive: Bools


class EventProgress(NamedTuple):
    """Where the work stands: change, what of it is next, position of the group, and what is needed; and the old y."""

    at: Int64s
    old: Floats


def make_progress() -> EventProgress:
    """Nothing done yet."""
    return EventProgress(np.zeros(4, np.int64), np.zeros(1))


@kernel
def depart(servers: Servers, object: int) -> None:
    """Take an object out of the trees; where it was stays known."""
    remove_item(servers.trees, home_of(servers, servers.x[object]), servers.key[object], object)
    servers.alive[object] = False


@kernel
def arrive(servers: Servers, object: int, x: float, key: int, y: float, easel: Easel) -> bool:
    """Put an object into the trees; False, and nothing is done, if there is no room."""
    point = easel.low
    point[0], point[1] = x, y
    if not insert_item(servers.trees, home_of(servers, x), key, object, point, point):
        return False
    servers.x[object], servers.key[object], servers.y[object], servers.alive[object] = x, key, y, True
    return True


@kernel
def set_y(servers: Servers, object: int, y: float) -> None:
    """Give an object that is there another y."""
    set_coordinate(servers.trees, home_of(servers, servers.x[object]), servers.key[object], object, 1, y)
    servers.y[object] = y


@kernel
def _apply(changes: Changes, i: int, servers: Servers, progress: EventProgress, easel: Easel) -> bool:
    """Do what is next of a change; False if there is no room in the trees."""
    object, at = changes.object[i], progress.at
    is_there = servers.alive[object]
    if at[1] == _FRESH:
        at[1] = _APPLY
        if is_there and not (changes.alive[i] and servers.x[object] == changes.x[i]):
            progress.old[0] = servers.y[object]
            depart(servers, object)
            at[1] = _DEPARTED
    elif at[1] == _APPLY:
        y = changes.y[i]
        if not changes.alive[i] or (is_there and servers.y[object] == y):
            at[1] = _OVER
        elif is_there:
            progress.old[0] = servers.y[object]
            set_y(servers, object, y)
            at[1] = _APPLIED
        else:
            progress.old[0] = GONE
            if not arrive(servers, object, changes.x[i], changes.key[i], y, easel):
                return False
            at[1] = _APPLIED
    return True


@kernel
def _paint_groups(
    update: Update,
    servers: Servers,
    groups: Audience,
    inquiry: UnicastSpace,
    progress: EventProgress,
    easel: Easel,
    out: Messages,
) -> int:
    """Paint an update for the groups that are left."""
    at = progress.at
    for g in range(at[2], len(groups.group)):
        style = Style(groups.group[g], groups.k[g], groups.sparse, groups.most[g])
        start = out.length[0]
        keep_counts(easel)
        enough = True
        if len(inquiry.point):
            enough = unicast(style, servers, groups.trees, update, inquiry, easel, out)
        else:
            paint(style, servers, groups.trees, update, inquiry.unnoted, easel, out)
        if not enough or out.length[0] > len(out.y):
            at[2], at[3] = g, out.length[0]
            out.length[0] = start
            restore_counts(easel)
            return NEEDS_MESSAGES if enough else NEEDS_SLOTS
    at[2] = 0
    return DONE


@kernel
def paint_changes(
    changes: Changes,
    servers: Servers,
    groups: Audience,
    inquiry: UnicastSpace,
    progress: EventProgress,
    easel: Easel,
    out: Messages,
) -> int:
    """Apply and paint the changes; what is missing if there was no room for all."""
    at = progress.at
    for i in range(at[0], len(changes.object)):
        object = changes.object[i]
        while at[1] != _OVER:
            if at[1] == _DEPARTED or at[1] == _APPLIED:
                new = changes.y[i] if at[1] == _APPLIED else GONE
                update = Update(object, i, progress.old[0], new)
                missing = _paint_groups(update, servers, groups, inquiry, progress, easel, out)
                if missing != DONE:
                    at[0] = i
                    return missing
                at[1] = _APPLY if at[1] == _DEPARTED else _OVER
            elif not _apply(changes, i, servers, progress, easel):
                at[0] = i
                return NEEDS_NODES
        at[1] = _FRESH
    at[0] = len(changes.object)
    return DONE


@kernel
def hang(start: int, changes: Changes, servers: Servers, easel: Easel) -> int:
    """Apply changes to the trees without a message, from `start` on; how many were applied before room ran out."""
    for i in range(start, len(changes.object)):
        object = changes.object[i]
        if servers.alive[object] and not (changes.alive[i] and servers.x[object] == changes.x[i]):
            depart(servers, object)
        if not changes.alive[i]:
            continue
        if servers.alive[object]:
            set_y(servers, object, changes.y[i])
        elif not arrive(servers, object, changes.x[i], changes.key[i], changes.y[i], easel):
            return i
    return len(changes.object)
