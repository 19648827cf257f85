"""Paint-Batch: a server that tells only how a batch of changes ends."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from skyband.engines.ranges.painter import Floats, Groups, Int64s, Objects
from skyband.engines.ranges.server import Plan, Server, Shelf
from skyband.kernels.batch import Batch, expose, make_views, send_lowered, send_raised
from skyband.kernels.boxkeys import float_keys
from skyband.kernels.events import Changes, hang
from skyband.kernels.message import GONE, Messages
from skyband.kernels.paint import Audience, Bools, Servers
from skyband.kernels.slots import grown
from skyband.kernels.sweep import ObjectChanges


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
    """Paint-Batch over Paint-Dense or Paint-Sparse."""

    def __init__(self, objects: Objects, groups: Groups, plan: Plan) -> None:
        if plan.algorithm == "unicast":
            raise ValueError("Unicast goes change by change, and has no form for batches.")
        self._views = make_views(1)
        self._before = Shelf(plan.servers)
        self._x, self._y, self._old_key = np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
        self._alive = np.zeros(0, np.bool_)
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
        batch = self._lowered(net)
        servers = self._with_shadows(net)
        self._hang(self._shelf, servers, self._first_changes(net))
        servers, audience = servers._replace(trees=self._shelf.boxes.trees), self._audience()
        exposed = np.zeros((len(audience.group), len(servers.y)), np.int64)
        expose(batch, servers, audience, exposed, self._easel, self._outbox.messages)
        yield from self._tell(net, batch, servers, audience, exposed)
        n = self.objects.n
        self.objects.x[:n, 0], self.objects.y[:n], self.objects.alive[:n] = (
            servers.x[:n],
            servers.y[:n],
            servers.alive[:n],
        )
        self._key[:n] = servers.key[:n]
        self._hang(self._before, self._servers_before(), self._all_changes(net))

    def _lowered(self, net: Net) -> Batch:
        """What ranks lower or goes, in descending order; what moves goes too, under a number of its own."""
        low, moved, n = net.lowered, net.moved, self.objects.n
        slots = np.concatenate([net.object[low], n + np.arange(len(moved))])
        known, event = (np.concatenate([part[low], part[moved]]) for part in (net.object, net.event))
        new = np.concatenate([net.y[low], np.full(len(moved), GONE)])
        order = np.lexsort((-self.objects.tie[known], -new))
        return Batch(slots[order], known[order], event[order], self.objects.y[known][order], new[order])

    def _with_shadows(self, net: Net) -> Servers:
        """The servers with places at the end for objects where they were before they moved."""
        servers, n, moved = self._servers(), self.objects.n, net.object[net.moved]
        if not len(moved):
            return servers
        x, y, tie, key = (
            np.concatenate([part[:n], part[moved]]) for part in (servers.x, servers.y, servers.tie, servers.key)
        )
        return servers._replace(
            x=x, y=y, tie=tie, key=key, alive=np.concatenate([servers.alive[:n], np.zeros(len(moved), np.bool_)])
        )

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

    def _hang(self, shelf: Shelf, servers: Servers, changes: Changes) -> None:
        done = 0
        while (done := hang(done, changes, servers._replace(trees=shelf.boxes.trees), self._easel)) < len(
            changes.object
        ):
            shelf.boxes.grow(1 + self.plan.servers)

    def _tell(
        self, net: Net, batch: Batch, servers: Servers, audience: Audience, exposed: Int64s
    ) -> Iterator[Messages]:
        exposed[:, net.object] = 0
        for g in range(len(audience.group)):
            gained = np.flatnonzero(exposed[g, : self.objects.n])
            raised = net.object[net.raised]
            yield from self._tell_lowered(batch, g, servers, audience)
            yield from self._tell_raised(raised, net.event[net.raised], True, g, servers, audience)
            yield from self._tell_raised(gained, np.full(len(gained), net.event.max()), False, g, servers, audience)

    def _tell_lowered(self, batch: Batch, g: int, servers: Servers, audience: Audience) -> Iterator[Messages]:
        before = self._servers_before()

        def send(start: int) -> int:
            return send_lowered(
                start, batch, g, servers, before, audience, self._views, self._easel, self._outbox.messages
            )

        return self._send(len(batch.object), send)

    def _tell_raised(
        self, slots: Int64s, events: Int64s, changed: bool, g: int, servers: Servers, audience: Audience
    ) -> Iterator[Messages]:
        before, views, easel = self._servers_before(), self._views, self._easel

        def send(start: int) -> int:
            return send_raised(
                start, slots, events, changed, g, servers, before, audience, views, easel, self._outbox.messages
            )

        return self._send(len(slots), send)

    def _send(self, n: int, send: Callable[[int], int]) -> Iterator[Messages]:
        done = 0
        while (done := send(done)) < n:
            yield from self._outbox.hand_over(0 if self._outbox.n else self._outbox.room + 1)

    @property
    def n_bytes(self) -> int:
        own = (self._x, self._y, self._alive, self._old_key)
        return super().n_bytes + self._before.boxes.n_bytes + sum(array.nbytes for array in own)
