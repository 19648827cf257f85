"""Paint-Batch: the changes of a batch made into messages that tell only how it ends (ranges paper, IV-A).

The paper's are these steps. Changes of one object are coalesced before this. First what lowers a y, which ranks objects
higher, is applied to the trees. Then the others are applied in descending order of the new y, and each is swept upwards
to find what it exposes.

Ours is the rest. Messages are made last, when everything has been applied, where the paper makes them on the way; they
come in an order of our own; and whom they go to differs from the paper, whose regions lose an answer and repeat others
(docs/ranges.md has an example of each). With the influence regions before the batch and after it,
- an object that ranks higher is told to its region after;
- one that ranks lower is told to its region after, and to those who had it and would rank its old y among their best k
  still: nobody else would keep the old value;
- an exposed object that did not change is told to its region after without that before.
That is the least that anybody has to receive. Objects that rank lower come first, in descending order of the new y:
whatever a subscriber has not been told of yet then ranks before what arrives in the end too, so that nothing that
belongs to the answer is ever pushed out of a list.

`before` holds the objects as they were, in trees of its own that are one batch behind, which is ours too.

Nothing here looks at all objects: what a batch costs follows its changes and what they expose, besides the searches in
trees. Nothing is allocated either: a call that finds no room says for how much, and goes on where it stopped when it is
called again.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxtree import LAST, Trees
from skyband.ranges.kernels.events import EventProgress, depart, set_y
from skyband.ranges.kernels.message import GONE, Messages, above
from skyband.ranges.kernels.paint import (
    Audience,
    Easel,
    Exposed,
    Servers,
    Style,
    Update,
    find_reach,
    keep_counts,
    look_around,
    restore_counts,
    send_tiles,
    sweep_up,
)
from skyband.ranges.kernels.staircase import Around, lay_gained, lay_staircase, lay_told, make_around, widen


class UpdateBatch(NamedTuple):
    """Updates of objects that rank lower, in descending order of the new y: infinite for those that go.

    `known` is the object in the messages, as one that moves goes under another number than it comes.
    """

    object: Int64s
    known: Int64s
    event: Int64s
    old: Floats
    new: Floats


class News(NamedTuple):
    """What is to be told to each group, in this order: what ranks lower, what ranks higher, and what was exposed.

    `event` is by object that ranks higher. `gained[first[g] : end[g]]` was exposed to the group at g and has not
    changed; that is laid to one change, `cause`.
    """

    lowered: UpdateBatch
    raised: Int64s
    event: Int64s
    gained: Int64s
    first: Int64s
    end: Int64s
    cause: int


class Views(NamedTuple):
    """What ranks before an object: now, before the batch, and now for its old y."""

    now: Around
    before: Around
    then: Around


def make_views(k: int) -> Views:
    """Room for a k of up to this."""
    return Views(make_around(k), make_around(k), make_around(k))


@inlined
def _style(groups: Audience, g: int) -> Style:
    return Style(groups.group[g], groups.k[g], groups.sparse, groups.most[g])


@kernel
def _apply(batch: UpdateBatch, i: int, servers: Servers) -> None:
    if batch.new[i] == GONE:
        depart(servers, batch.object[i])
    else:
        set_y(servers, batch.object[i], batch.new[i])


@inlined
def _behind(y: float, tie: int) -> tuple[float, int]:
    """The first y and tie that rank behind these."""
    return (y, tie + 1) if tie < LAST else (above(y), -LAST - 1)


@kernel
def _sweep(
    batch: UpdateBatch,
    i: int,
    style: Style,
    servers: Servers,
    groups: Audience,
    exposed: Exposed,
    easel: Easel,
    out: Messages,
) -> None:
    """Note what an update that was applied exposes to a group."""
    object = batch.object[i]
    update = Update(object, batch.event[i], batch.old[i], batch.new[i])
    y, tie = batch.old[i], servers.tie[object]
    if object != batch.known[i]:
        # What has moved without another y ranks before the place that it leaves, where it has the same tie.
        y, tie = _behind(y, tie)
    look_around(servers, servers.x[object], y, tie, style.k, easel, easel.around)
    if style.sparse:
        find_reach(style, groups.trees, easel.around, servers.x[object], easel)
    sweep_up(style, servers, groups.trees, update, exposed, easel, out)


@kernel
def expose(
    batch: UpdateBatch,
    servers: Servers,
    groups: Audience,
    exposed: Exposed,
    progress: EventProgress,
    easel: Easel,
    nothing: Messages,
) -> bool:
    """Apply the updates in turn, and note what that exposes to whom; False if so many more places are needed.

    `progress.at` is the update, whether it was applied, the position of the group, and the places needed.
    """
    at = progress.at
    for i in range(at[0], len(batch.object)):
        if at[1] == 0:
            _apply(batch, i, servers)
            at[1] = 1
        for g in range(at[2], len(groups.group)):
            n = exposed.length[0]
            keep_counts(easel)
            _sweep(batch, i, _style(groups, g), servers, groups, exposed, easel, nothing)
            if exposed.length[0] > len(exposed.pair):
                at[0], at[2], at[3] = i, g, exposed.length[0] - n
                exposed.length[0] = n
                restore_counts(easel)
                return False
        at[1] = at[2] = 0
    at[0] = len(batch.object)
    return True


@kernel
def _nowhere(around: Around, k: int) -> None:
    """What ranks before an object that is not there: k everywhere."""
    around.n[0], around.n[1] = k, 0
    for i in range(k):
        around.west[i] = np.inf


@kernel
def _tell_lowered(
    batch: UpdateBatch,
    i: int,
    style: Style,
    servers: Servers,
    before: Servers,
    subscriptions: Trees,
    views: Views,
    easel: Easel,
    out: Messages,
) -> None:
    """Tell a group of one that ranks lower."""
    now, was, then, k, tiles = views.now, views.before, views.then, style.k, easel.tiles
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
    send_tiles(style, subscriptions, tiles, x, batch.new[i], batch.known[i], batch.event[i], easel, out)


@kernel
def _tell_raised(
    object: int,
    event: int,
    changed: bool,
    style: Style,
    servers: Servers,
    before: Servers,
    subscriptions: Trees,
    views: Views,
    easel: Easel,
    out: Messages,
) -> None:
    """Tell a group of an object that ranks higher, or that was exposed and has not `changed`."""
    now, was, k, tiles = views.now, views.before, style.k, easel.tiles
    x, y, tie = servers.x[object], servers.y[object], servers.tie[object]
    look_around(servers, x, y, tie, k, easel, now)
    if changed:
        lay_staircase(now, k, x, tiles)
    else:
        look_around(before, x, y, tie, k, easel, was)
        lay_gained(now, was, k, x, tiles)
    if style.most > k:
        widen(now, style.most, tiles)
    send_tiles(style, subscriptions, tiles, x, y, object, event, easel, out)


@kernel
def _tell_one(
    news: News,
    i: int,
    g: int,
    servers: Servers,
    before: Servers,
    groups: Audience,
    views: Views,
    easel: Easel,
    out: Messages,
) -> None:
    """Tell a group of what comes at place i of its news."""
    style, lowered, raised = _style(groups, g), len(news.lowered.object), len(news.raised)
    if i < lowered:
        _tell_lowered(news.lowered, i, style, servers, before, groups.trees, views, easel, out)
        return
    i -= lowered
    changed = i < raised
    object = news.raised[i] if changed else news.gained[news.first[g] + i - raised]
    event = news.event[i] if changed else news.cause
    _tell_raised(object, event, changed, style, servers, before, groups.trees, views, easel, out)


@kernel
def tell(
    news: News,
    servers: Servers,
    before: Servers,
    groups: Audience,
    views: Views,
    progress: EventProgress,
    easel: Easel,
    out: Messages,
) -> bool:
    """Tell every group its news; False if an empty `out` with room for so many is needed.

    `progress.at` is the place in the news, nothing, the position of the group, and the room needed.
    """
    at, n_changed = progress.at, len(news.lowered.object) + len(news.raised)
    for g in range(at[2], len(groups.group)):
        for i in range(at[0], n_changed + news.end[g] - news.first[g]):
            n = out.length[0]
            keep_counts(easel)
            _tell_one(news, i, g, servers, before, groups, views, easel, out)
            if out.length[0] > len(out.y):
                at[0], at[2], at[3] = i, g, out.length[0] - n
                out.length[0] = n
                restore_counts(easel)
                return False
        at[0] = 0
    at[2] = len(groups.group)
    return True
