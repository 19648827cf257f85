"""The server of the ranges paper: it knows the objects, and makes messages of their changes, in one dimension."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.room import pauses
from skyband.kernels.sort_keys import float_keys
from skyband.ranges.boxes import Boxes
from skyband.ranges.kernels.boxtree import Trees
from skyband.ranges.kernels.events import (
    DONE,
    NEEDS_MESSAGES,
    NEEDS_NODES,
    NEEDS_SLOTS,
    Changes,
    make_progress,
    paint_changes,
)
from skyband.ranges.kernels.message import Messages
from skyband.ranges.kernels.paint import COUNTS, Audience, Servers, make_easel, make_exposed
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.unicast import UnicastSpace
from skyband.ranges.outbox import Outbox
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.sketch import Sketches

Algorithm = Literal["sparse", "dense", "unicast"]

# Servers divide the objects anew when there are this many times as many as when they last did.
GROWTH = 4


class PaintPlan(NamedTuple):
    """How to paint: by which algorithm, how coarsely, by how many servers, with how many rectangles for a sketch."""

    algorithm: Algorithm = "sparse"
    epsilon: float = 0.0
    servers: int = 1
    sketch: int | None = None


def lowest_rank(k: int, epsilon: float) -> int:
    """The lowest rank that an object may have for somebody who is told of it."""
    return k + max(1, int(np.ceil(epsilon * k - 1e-9))) - 1


class ServerObjects:
    """Objects by x and y, divided among servers along x.

    `fence[s]` is where the objects of server s begin; the first begins at minus infinity.
    """

    def __init__(self, n_servers: int) -> None:
        self.boxes = Boxes(2, n_servers)
        self.fence = np.full(n_servers, np.inf)
        self.fence[0] = -np.inf
        self._n_fitted = 0

    def is_outgrown(self, n_coming: int) -> bool:
        """Whether there are far more objects than when servers were divided, counting those that come."""
        n = int(self.boxes.trees.size.sum()) + n_coming
        return len(self.fence) > 1 and n > GROWTH * self._n_fitted

    def divide(self, x: Floats) -> None:
        """Divide the servers so that each has as many of these places."""
        self._n_fitted = len(x)
        self.fence[1:] = np.quantile(x, np.arange(1, len(self.fence)) / len(self.fence))

    def fill(self, slots: Int64s, x: Floats, y: Floats) -> None:
        """Hold these objects and no others."""
        self.boxes = Boxes(2, len(self.fence))
        points = np.column_stack([x, y])
        home = np.searchsorted(self.fence, x, side="right") - 1
        for server in range(len(self.fence)):
            own = home == server
            self.boxes.add(server, slots[own], points[own])


class Server:
    """Paint-Dense, Paint-Sparse and Unicast, one change after another."""

    def __init__(self, objects: Objects, groups: SubscriberGroups, plan: PaintPlan) -> None:
        self.objects = objects
        self.groups = groups
        self.plan = plan
        self._shelf = ServerObjects(plan.servers)
        self._key = np.zeros(0, np.int64)
        self._easel = make_easel(1)
        self._outbox = Outbox(1)
        self._points = np.zeros((0, 2))
        self._reported = np.zeros(0, np.int64)
        self._sketches = Sketches(plan.sketch) if plan.sketch is not None else None
        places = self._places()
        if self._shelf.is_outgrown(len(places)):
            self._shelf.divide(places)
        self._fill()

    def _places(self) -> Floats:
        alive: Int64s = np.flatnonzero(self.objects.alive[: self.objects.n])
        places: Floats = self.objects.x[alive, 0]
        return places

    def _fill(self) -> None:
        """Index the objects that are alive."""
        alive = self._fill_shelf(self._shelf)
        self._know_keys()
        self._key[alive] = float_keys(self.objects.x[alive, 0])

    def _fill_shelf(self, shelf: ServerObjects) -> Int64s:
        alive = np.flatnonzero(self.objects.alive[: self.objects.n])
        shelf.fill(alive, self.objects.x[alive, 0], self.objects.y[alive])
        return alive

    def _know_keys(self) -> None:
        self._key = grown(self._key, len(self.objects.y))

    def subscribe(self, slots: Int64s, group: int, points: Floats) -> None:
        """Take notice of points that were added to a group."""
        if self.plan.algorithm == "unicast":
            self._points = grown(self._points, int(slots.max(initial=-1)) + 1)
            self._points[slots] = points
        if self._sketches is not None:
            self._sketches.add(group, points, self.groups.points)

    def unsubscribe(self, slots: Int64s, group: int, points: Floats) -> None:
        """Take notice of points that were removed from a group."""
        if self._sketches is not None:
            self._sketches.remove(group, points, self.groups.points)

    def paint(self, changes: ObjectChanges) -> Iterator[Messages]:
        """Apply the changes one after another, and give their messages; see `Painter`."""
        self._make_ready(changes)
        given = self._changes(changes)
        progress = make_progress()
        inquiry = UnicastSpace(self._points, self._reported, make_exposed(0))
        missing = DONE

        def go_on() -> bool:
            nonlocal missing
            servers, audience, out = self._servers(), self._audience(), self._outbox.messages
            missing = paint_changes(given, servers, audience, inquiry, progress, self._easel, out)
            return missing == DONE

        # Unlike the others, the number of slots is not known in advance, and doubles.
        for _ in pauses(go_on, lambda: (*progress.at.tolist(), missing, len(self._reported))):
            if missing == NEEDS_NODES:
                self._shelf.boxes.grow(1 + self.plan.servers)
            elif missing == NEEDS_SLOTS:
                self._reported = np.zeros(2 * len(self._reported) + 1024, np.int64)
                inquiry = inquiry._replace(slots=self._reported)
            else:
                assert missing == NEEDS_MESSAGES
                yield from self._outbox.hand_over(int(progress.at[3]))
        yield from self._outbox.hand_over()

    def _make_ready(self, changes: ObjectChanges) -> None:
        """Room for the objects of these changes and for the largest k, and servers that share the work evenly."""
        self._know_keys()
        coming = changes.x[changes.alive, 0]
        if self._shelf.is_outgrown(len(coming)):
            self._shelf.divide(np.concatenate([self._places(), coming]))
            self._fill()
        k = int(self.groups.k.max(initial=1))
        if k >= len(self._easel.around.west):
            counts = self._easel.counts
            self._easel = make_easel(2 * k)._replace(counts=counts)

    @staticmethod
    def _changes(changes: ObjectChanges) -> Changes:
        x = np.where(changes.alive, changes.x[:, 0], 0.0)
        return Changes(changes.object, x, float_keys(x), np.where(changes.alive, changes.y, 0.0), changes.alive)

    def _servers(self) -> Servers:
        objects = self.objects
        return Servers(
            self._shelf.boxes.trees,
            self._shelf.fence,
            objects.x[:, 0],
            objects.y,
            objects.alive,
            objects.tie,
            self._key,
        )

    def _audience(self) -> Audience:
        used = np.array(self.groups.in_use(), np.int64)
        k = self.groups.k[used]
        most = np.array([lowest_rank(each, self.plan.epsilon) for each in k.tolist()], np.int64)
        return Audience(self._known(), used, k, most, self.plan.algorithm == "sparse")

    def _known(self) -> Trees:
        """What is known of the subscriptions: their points, or a sketch of them."""
        return self.groups.points.trees if self._sketches is None else self._sketches.boxes.trees

    def costs(self) -> dict[str, int]:
        """What was counted since this was last asked for."""
        return self._outbox.costs(COUNTS, self._easel.counts)

    @property
    def n_bytes(self) -> int:
        own = [self._key, self._points, self._reported]
        sketched = self._sketches.boxes.n_bytes if self._sketches is not None else 0
        return self._shelf.boxes.n_bytes + sketched + self._outbox.n_bytes + sum(array.nbytes for array in own)

    def check(self) -> None:
        """Assert that every server has its objects, as they are."""
        self._shelf.boxes.check()
        alive = np.flatnonzero(self.objects.alive[: self.objects.n])
        home = np.searchsorted(self._shelf.fence, self.objects.x[alive, 0], side="right") - 1
        sizes = self._shelf.boxes.trees.size
        assert (np.bincount(home, minlength=len(sizes)) == sizes).all()
        assert (self._key[alive] == float_keys(self.objects.x[alive, 0])).all()
