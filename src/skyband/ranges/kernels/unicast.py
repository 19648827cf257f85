"""Unicast, the baseline: every subscription that a change may concern is looked at, and told by a message of its own.

As in the ranges paper, the influence interval of the object bounds where to look. The paper counts one call of `min_y`
for every subscription found there, which is counted as `asked` here. What takes the place of an object that ranks lower
is the next after its old y only if it was the last of the k: in general as many calls are needed as it lies above that.
"""

from typing import NamedTuple

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import kernel
from skyband.ranges.kernels.boxsearch import report
from skyband.ranges.kernels.boxtree import Trees
from skyband.ranges.kernels.message import FARTHEST, Messages, above, below
from skyband.ranges.kernels.paint import (
    AFFECTED,
    ASKED,
    Easel,
    Exposed,
    Servers,
    Style,
    Update,
    look_around,
    next_exposed,
    ranks_before,
    send,
)
from skyband.ranges.kernels.staircase import rank_at


class UnicastSpace(NamedTuple):
    """The points of subscriptions by slot, room for those that a change may concern, and none for what is exposed."""

    point: Floats
    slots: Int64s
    unnoted: Exposed


@kernel
def unicast(
    style: Style,
    servers: Servers,
    subscriptions: Trees,
    update: Update,
    inquiry: UnicastSpace,
    easel: Easel,
    out: Messages,
) -> bool:
    """A message to each subscription that an update affects, and one for what takes its place; False without room."""
    object, k, around = update.object, style.k, easel.around
    x, tie = servers.x[object], servers.tie[object]
    look_around(servers, x, min(update.old, update.new), tie, k, easel, around)
    low, high = easel.box_low, easel.box_high
    low[0] = above(around.west[k - 1]) if around.n[0] >= k else -FARTHEST
    high[1] = below(around.east[k - 1]) if around.n[1] >= k else FARTHEST
    high[0] = low[1] = x
    n = report(subscriptions, style.group, low, high, inquiry.slots, 0)
    if n < 0:
        return False
    for i in range(n):
        easel.counts[ASKED] += 1
        point = inquiry.point[inquiry.slots[i]]
        rank = rank_at(around, point[0], point[1])
        if rank > k:
            continue
        easel.counts[AFFECTED] += 1
        send(out, point, point, x, update.new, object, style.group, update.event)
        if update.new > update.old:
            other = _replacement(servers, point, update, k + 1 - rank, easel)
            if other >= 0:
                send(out, point, point, servers.x[other], servers.y[other], other, style.group, update.event)
    return True


@kernel
def _replacement(servers: Servers, point: Floats, update: Update, n_steps: int, easel: Easel) -> int:
    """The object that comes this many after the old y in a range; -1 if that is not before the new y."""
    object, tie = update.object, servers.tie[update.object]
    y, last = update.old, update.object
    for _ in range(n_steps):
        object = next_exposed(servers, servers.x[update.object], point[0], point[1], y, last, update.new, easel)
        if object < 0 or not ranks_before(servers, object, update.new, tie):
            return -1
        y, last = servers.y[object], object
    return int(object)
