"""Paint-Batch: the changes of a batch made into messages that tell only how it ends (ranges paper, IV-A).

The steps are the paper's. Changes of one object are coalesced before this. First what lowers a y, which ranks objects
higher, is applied to the trees, without messages. Then the others are applied in descending order of the new y, and
each is swept upwards to find what it exposes. Last come the messages, each object's at once.

Whom they go to differs from the paper, whose regions lose an answer and repeat others (docs/ranges.md has an example of
each). With the influence regions before the batch and after it,
- an object that ranks higher is told to its region after;
- one that ranks lower is told to its region after, and to those who had it and would rank its old y among their best k
  still: nobody else would keep the old value;
- an exposed object that did not change is told to its region after without that before.
That is the least that anybody has to receive. Objects that rank lower come first, in descending order of the new y:
whatever a subscriber has not been told of yet then ranks before what arrives in the end too, so that nothing that
belongs to the answer is ever pushed out of a list.

`before` holds the objects as they were, in trees of its own that are one batch behind.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.compile import kernel
from skyband.kernels.events import depart, set_y
from skyband.kernels.message import GONE, Floats, Int64s, Messages
from skyband.kernels.paint import Audience, Easel, Servers, Style, Update, find_reach, look_around, send_tiles, sweep_up
from skyband.kernels.staircase import Around, lay_gained, lay_staircase, lay_told, make_around, widen


class Batch(NamedTuple):
    """Updates of objects that rank lower, in descending order of the new y: infinite for those that go.

    `known` is the object in the messages, as one that moves goes under another number than it comes.
    """

    object: Int64s
    known: Int64s
    event: Int64s
    old: Floats
    new: Floats


class Views(NamedTuple):
    """What ranks before an object: now, before the batch, and now for its old y."""

    now: Around
    before: Around
    then: Around


def make_views(k: int) -> Views:
    """Room for a k of up to this."""
    return Views(make_around(k), make_around(k), make_around(k))


@kernel
def expose(batch: Batch, servers: Servers, groups: Audience, exposed: Int64s, easel: Easel, nothing: Messages) -> None:
    """Apply the updates in turn; `exposed[g, object]` becomes 1 for what that exposes to a group."""
    for i in range(len(batch.object)):
        object = batch.object[i]
        if batch.new[i] == GONE:
            depart(servers, object)
        else:
            set_y(servers, object, batch.new[i])
        update = Update(object, batch.event[i], batch.old[i], batch.new[i])
        # What has moved without another y ranks before the place that it leaves, where it has the same tie.
        tie = servers.tie[object] + (object != batch.known[i])
        for g in range(len(groups.group)):
            style = Style(groups.group[g], groups.k[g], groups.sparse, groups.most[g])
            look_around(servers, servers.x[object], batch.old[i], tie, style.k, easel, easel.around)
            if style.sparse:
                find_reach(style, groups.trees, easel.around, servers.x[object], easel)
            sweep_up(style, servers, groups.trees, update, exposed[g], easel, nothing)


@kernel
def _nowhere(around: Around, k: int) -> None:
    """What ranks before an object that is not there: k everywhere."""
    around.n[0], around.n[1] = k, 0
    for i in range(k):
        around.west[i] = np.inf


@kernel
def send_lowered(
    start: int,
    batch: Batch,
    g: int,
    servers: Servers,
    before: Servers,
    groups: Audience,
    views: Views,
    easel: Easel,
    out: Messages,
) -> int:
    """Tell a group of those that rank lower, from `start` on; how many were told before there was no more room."""
    style = Style(groups.group[g], groups.k[g], groups.sparse, groups.most[g])
    now, was, then, k, tiles = views.now, views.before, views.then, style.k, easel.tiles
    for i in range(start, len(batch.object)):
        object = batch.object[i]
        x, tie = servers.x[object], servers.tie[object]
        if batch.new[i] == GONE:
            _nowhere(now, k)
        else:
            look_around(servers, x, batch.new[i], tie, k, easel, now)
        look_around(before, x, batch.old[i], tie, k, easel, was)
        look_around(servers, x, batch.old[i], tie, k, easel, then)
        lay_told(now, was, then, k, x, tiles)
        if style.most > k:
            widen(then, style.most, tiles)
        n = out.length[0]
        send_tiles(style, groups.trees, tiles, x, batch.new[i], batch.known[i], batch.event[i], easel, out)
        if out.length[0] > len(out.y):
            out.length[0] = n
            return i
    return len(batch.object)


@kernel
def send_raised(
    start: int,
    objects: Int64s,
    events: Int64s,
    changed: bool,
    g: int,
    servers: Servers,
    before: Servers,
    groups: Audience,
    views: Views,
    easel: Easel,
    out: Messages,
) -> int:
    """Tell a group of objects that rank higher, or that were exposed and have not `changed`; see `send_lowered`."""
    style = Style(groups.group[g], groups.k[g], groups.sparse, groups.most[g])
    now, was, k, tiles = views.now, views.before, style.k, easel.tiles
    for i in range(start, len(objects)):
        object = objects[i]
        x, y, tie = servers.x[object], servers.y[object], servers.tie[object]
        look_around(servers, x, y, tie, k, easel, now)
        if changed:
            lay_staircase(now, k, x, tiles)
        else:
            look_around(before, x, y, tie, k, easel, was)
            lay_gained(now, was, k, x, tiles)
        if style.most > k:
            widen(now, style.most, tiles)
        n = out.length[0]
        send_tiles(style, groups.trees, tiles, x, y, object, events[i], easel, out)
        if out.length[0] > len(out.y):
            out.length[0] = n
            return i
    return len(objects)
