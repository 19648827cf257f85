"""Paint-Batch: a server that tells only how a batch of changes ends, with regions and an order of messages of our own.

What it does for a batch follows the changes in it and what they expose. Arrays over all objects, here and in `Objects`,
are kept between batches and written where something changed; they grow by doubling.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.room import ample, initial, pauses
from skyband.kernels.sort_keys import float_keys
from skyband.ranges.kernels.batch import News, UpdateBatch, expose, make_views, tell
from skyband.ranges.kernels.events import Changes, hang, make_progress
from skyband.ranges.kernels.message import GONE, Messages
from skyband.ranges.kernels.paint import Audience, Exposed, Servers, make_exposed
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.server import PaintPlan, Server, ServerObjects

# Pairs of a group and an object that there is room for at first.
ROOM = 1024


def roomier(exposed: Exposed, n_more: int) -> Exposed:
    """The same pairs, each once, with room for so many more and as many again, so that this is not needed often."""
    pairs = np.unique(exposed.pair[: int(exposed.length[0])])
    larger = grown(exposed.pair, ample(len(pairs) + n_more, 2 * (len(pairs) + n_more)))
    larger[: len(pairs)] = pairs
    exposed.length[0] = len(pairs)
    return Exposed(exposed.length, larger)


def coalesced(changes: ObjectChanges, lo: int, hi: int) -> Int64s:
    """Which changes from `lo` to `hi` are the last of their object, in the order of the objects."""
    backwards = changes.object[lo:hi][::-1]
    return hi - 1 - np.unique(backwards, return_index=True)[1]


class Net(NamedTuple):
    """How each object of a batch ends, by change; and what becomes of it."""

    object: Int64s
    event: Int64s
    x: Floats
    y: Floats
    alive: Bools
    moved: Int64s
    lowered: Int64s
    raised: Int64s


class BatchServer(Server):
    """Paint-Batch over Paint-Dense or Paint-Sparse: the paper's steps, with regions and an order of our own."""

    def __init__(self, objects: Objects, groups: SubscriberGroups, plan: PaintPlan) -> None:
        if plan.algorithm == "unicast":
            raise ValueError("Unicast goes change by change, and has no form for batches.")
        self._views = make_views(1)
        self._before = ServerObjects(plan.servers)
        self._x, self._y, self._old_key = np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
        self._alive = np.zeros(0, np.bool_)
        self._exposed = make_exposed(initial(ROOM))
        super().__init__(objects, groups, plan)

    def _fill(self) -> None:
        super()._fill()
        n = self.objects.n
        self._before.fence[:] = self._shelf.fence
        alive = self._fill_shelf(self._before)
        self._grow_before()
        self._x[:n], self._y[:n] = self.objects.x[:n, 0], self.objects.y[:n]
        self._alive[:n] = self.objects.alive[:n]
        self._old_key[alive] = float_keys(self._x[alive])

    def _grow_before(self) -> None:
        n = len(self.objects.y)
        self._x, self._y, self._alive = grown(self._x, n), grown(self._y, n), grown(self._alive, n)
        self._old_key = grown(self._old_key, n)

    def paint(self, changes: ObjectChanges) -> Iterator[Messages]:
        """Apply the changes step by step, and give the messages that tell how each step ends; see `Painter`."""
        self._make_ready(changes)
        self._grow_before()
        if len(self._views.now.west) < len(self._easel.around.west):
            self._views = make_views(len(self._easel.around.west) - 1)
        lo = 0
        for hi in changes.end.tolist():
            yield from self._paint_step(self._net(changes, lo, hi))
            lo = hi
        yield from self._outbox.hand_over()

    def _net(self, changes: ObjectChanges, lo: int, hi: int) -> Net:
        last = coalesced(changes, lo, hi)
        object, alive = changes.object[last], changes.alive[last]
        x, y = np.where(alive, changes.x[last, 0], 0.0), np.where(alive, changes.y[last], GONE)
        was, x_was, y_was = self.objects.alive[object], self.objects.x[object, 0], self.objects.y[object]
        stays = was & alive & (x == x_was)
        moved = was & alive & ~stays
        lowered = (was & ~alive) | (stays & (y > y_was))
        raised = (alive & ~was) | (stays & (y < y_was)) | moved
        some = np.flatnonzero(lowered | raised)
        fates = [np.flatnonzero(fate[some]) for fate in (moved, lowered, raised)]
        return Net(object[some], last[some], x[some], y[some], alive[some], *fates)

    def _paint_step(self, net: Net) -> Iterator[Messages]:
        if not len(net.object):
            return
        lowered = self._lowered(net)
        self._make_shadows(net.object[net.moved])
        self._hang(self._shelf, self._servers(), self._first_changes(net))
        servers, audience = self._servers(), self._audience()
        exposed = self._expose(lowered, servers, audience)
        yield from self._tell(self._news(net, lowered, exposed, servers, audience), servers, audience)
        self._hang(self._before, self._servers_before(), self._all_changes(net))

    def _lowered(self, net: Net) -> UpdateBatch:
        """What ranks lower or goes, in descending order; what moves goes too, under a number of its own."""
        low, moved, n = net.lowered, net.moved, self.objects.n
        slots = np.concatenate([net.object[low], n + np.arange(len(moved))])
        known, event = (np.concatenate([part[low], part[moved]]) for part in (net.object, net.event))
        new = np.concatenate([net.y[low], np.full(len(moved), GONE)])
        order = np.lexsort((-self.objects.tie[known], -new))
        return UpdateBatch(slots[order], known[order], event[order], self.objects.y[known][order], new[order])

    def _make_shadows(self, moved: Int64s) -> None:
        """Have places beyond the objects for some of them where they were before they moved."""
        n = self.objects.n
        self.objects.make_room(len(moved))
        self._know_keys()
        self.objects.tie[n : n + len(moved)] = self.objects.tie[moved]

    def _first_changes(self, net: Net) -> Changes:
        """What ranks higher or comes; what moves stays where it was for now, as its shadow."""
        raised, moved = net.raised, net.object[net.moved]
        slots = np.concatenate([net.object[raised], self.objects.n + np.arange(len(moved))])
        x = np.concatenate([net.x[raised], self.objects.x[moved, 0]])
        y = np.concatenate([net.y[raised], self.objects.y[moved]])
        return Changes(slots, x, float_keys(x), y, np.ones(len(x), np.bool_))

    @staticmethod
    def _all_changes(net: Net) -> Changes:
        return Changes(net.object, net.x, float_keys(net.x), np.where(net.alive, net.y, 0.0), net.alive)

    def _servers_before(self) -> Servers:
        tie = self.objects.tie
        return Servers(self._before.boxes.trees, self._before.fence, self._x, self._y, self._alive, tie, self._old_key)

    def _hang(self, shelf: ServerObjects, servers: Servers, changes: Changes) -> None:
        progress = make_progress()

        def work() -> bool:
            progress.at[0] = hang(int(progress.at[0]), changes, servers._replace(trees=shelf.boxes.trees), self._easel)
            return int(progress.at[0]) == len(changes.object)

        for _ in pauses(work, lambda: (int(progress.at[0]),)):
            shelf.boxes.grow(1 + self.plan.servers)

    def _expose(self, lowered: UpdateBatch, servers: Servers, audience: Audience) -> Int64s:
        """Apply what ranks lower; the pairs of a group and an object that this exposes, in order."""
        progress, easel, nothing = make_progress(), self._easel, self._outbox.messages
        self._exposed.length[0] = 0

        def go_on() -> bool:
            return expose(lowered, servers, audience, self._exposed, progress, easel, nothing)

        for *_, needed in pauses(go_on, lambda: tuple(progress.at.tolist())):
            self._exposed = roomier(self._exposed, needed)
        return np.unique(self._exposed.pair[: int(self._exposed.length[0])])

    def _news(self, net: Net, lowered: UpdateBatch, exposed: Int64s, servers: Servers, audience: Audience) -> News:
        object = exposed % len(servers.y)
        unchanged = (object < self.objects.n) & ~np.isin(object, net.object)
        first, end = (
            np.searchsorted(exposed[unchanged], groups * len(servers.y))
            for groups in (audience.group, audience.group + 1)
        )
        raised = net.raised
        return News(lowered, net.object[raised], net.event[raised], object[unchanged], first, end, int(net.event.max()))

    def _tell(self, news: News, servers: Servers, audience: Audience) -> Iterator[Messages]:
        before, progress, views, easel = self._servers_before(), make_progress(), self._views, self._easel

        def go_on() -> bool:
            return tell(news, servers, before, audience, views, progress, easel, self._outbox.messages)

        for *_, needed in pauses(go_on, lambda: tuple(progress.at.tolist())):
            yield from self._outbox.hand_over(needed)

    @property
    def n_bytes(self) -> int:
        own = (self._x, self._y, self._alive, self._old_key, *self._exposed)
        return super().n_bytes + self._before.boxes.n_bytes + sum(array.nbytes for array in own)

    def check(self) -> None:
        """Assert also that what was before is what is now, between batches, and that no shadow was left."""
        super().check()
        self._before.boxes.check()
        objects, n = self.objects, self.objects.n
        alive = np.flatnonzero(objects.alive[:n])
        assert not objects.alive[n:].any()
        assert (self._alive[:n] == objects.alive[:n]).all()
        assert (self._x[alive] == objects.x[alive, 0]).all()
        assert (self._y[alive] == objects.y[alive]).all()
        assert (self._old_key[alive] == self._key[alive]).all()
        assert (self._before.boxes.trees.size == self._shelf.boxes.trees.size).all()
