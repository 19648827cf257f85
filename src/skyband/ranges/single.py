"""Painters for more than one dimension take changes one at a time: each is applied to a tree, then painted."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.room import DOUBLINGS, pauses
from skyband.ranges.boxes import GROWTH, Boxes
from skyband.ranges.kernels.boxrank import Field
from skyband.ranges.kernels.boxsearch import report
from skyband.ranges.kernels.boxtree import insert_item, remove_item, set_coordinate
from skyband.ranges.kernels.message import GONE, Messages
from skyband.ranges.kernels.message_boxes import COUNTS
from skyband.ranges.kernels.paint import Update
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.outbox import Outbox
from skyband.ranges.painter import Objects, SubscriberGroups


class OneByOne(ABC):
    """Objects as points (x1 .. xd, y) in a tree whose keys do not depend on y, so that a change of y moves nothing.

    A change of x is a departure and an arrival, each with its own messages; a change that changes nothing has none.
    """

    def __init__(self, objects: Objects, groups: SubscriberGroups) -> None:
        self.objects = objects
        self.groups = groups
        self._key = np.zeros(0, np.int64)
        self._outbox = Outbox(objects.dims)
        self._boxes = self._new_boxes(objects.x[:0])
        self._n_fitted = 0
        self._stock(objects.x[:0])

    @abstractmethod
    def _new_boxes(self, places: Floats) -> Boxes:
        """An empty tree for points, most of which will be near these places."""

    @abstractmethod
    def _paint(self, update: Update, group: int) -> bool:
        """Paint an update for a group; False if there is no room for the work."""

    @abstractmethod
    def _calls(self) -> Int64s:
        """What is counted, by place in COUNTS."""

    @abstractmethod
    def _make_room(self, k: int, more: bool) -> None:
        """Make sure that there is room for a k, and for more work than before if that was too little."""

    def _stock(self, coming: Floats) -> None:
        """Put the objects into a tree that is fitted to them, and to the places where some are to arrive."""
        alive = np.flatnonzero(self.objects.alive[: self.objects.n])
        places = np.concatenate([self.objects.x[alive], coming])
        self._n_fitted = len(places)
        self._boxes = self._new_boxes(places)
        points = self._points(self.objects.x[alive], self.objects.y[alive])
        self._boxes.add(0, alive, points)
        self._key = grown(self._key, len(self.objects.y))
        self._key[alive] = self._boxes.keys(0, points)

    @staticmethod
    def _points(x: Floats, y: Floats) -> Floats:
        return np.column_stack([x, y])

    def paint(self, changes: ObjectChanges) -> Iterator[Messages]:
        """Apply the changes one after another, and give their messages; see `Painter`."""
        x, alive = np.where(changes.alive[:, np.newaxis], changes.x, 0.0), changes.alive.tolist()
        self._key = grown(self._key, len(self.objects.y))
        if self._boxes.size(0) + int(changes.alive.sum()) > GROWTH * self._n_fitted:
            self._stock(x[changes.alive])
        points = self._points(x, np.where(changes.alive, changes.y, 0.0))
        keys, used = self._boxes.keys(0, points).tolist(), self.groups.in_use()
        self._make_room(self._most(), more=False)
        for event, object in enumerate(changes.object.tolist()):
            if self.objects.alive[object] and not (alive[event] and np.array_equal(x[event], self.objects.x[object])):
                yield from self._tell(self._depart(object, event), used)
            if alive[event]:
                update = self._set(object, event, points[event], keys[event])
                if update.old != update.new:
                    yield from self._tell(update, used)
        yield from self._outbox.hand_over()

    def _most(self) -> int:
        """The largest number of objects that anything is kept of: the largest k, but no more than there are."""
        return min(int(self.groups.k.max(initial=1)), self.objects.n + 1)

    def _depart(self, object: int, event: int) -> Update:
        remove_item(self._boxes.trees, 0, int(self._key[object]), object)
        self.objects.alive[object] = False
        return Update(object, event, float(self.objects.y[object]), GONE)

    def _set(self, object: int, event: int, point: Floats, key: int) -> Update:
        objects, y, old = self.objects, float(point[-1]), GONE
        if objects.alive[object]:
            old = float(objects.y[object])
            set_coordinate(self._boxes.trees, 0, key, object, len(point) - 1, y)
        else:
            for _ in pauses(lambda: insert_item(self._boxes.trees, 0, key, object, point, point), lambda: (object,)):
                self._boxes.grow()
        objects.x[object], objects.y[object], objects.alive[object] = point[:-1], y, True
        self._key[object] = key
        return Update(object, event, old, y)

    def _tell(self, update: Update, groups: list[int]) -> Iterator[Messages]:
        for group in groups:
            yield from self._tell_group(update, group)

    def _tell_group(self, update: Update, group: int) -> Iterator[Messages]:
        n_missing = 0

        def succeeds() -> bool:
            nonlocal n_missing
            start, counts = self._outbox.n, self._calls().copy()
            enough, end = self._paint(update, group), self._outbox.n
            if enough and end <= self._outbox.room:
                return True
            self._outbox.messages.length[0] = start
            self._calls()[:] = counts
            n_missing = end - start if enough else 0
            return False

        for _ in pauses(succeeds, lambda: (group,), DOUBLINGS):
            if n_missing:
                yield from self._outbox.hand_over(n_missing)
            else:
                self._make_room(self._most(), more=True)

    def _field(self) -> Field:
        return Field(self._boxes.trees, self.objects.x, self.objects.y, self.objects.tie)

    def subscribe(self, slots: Int64s, group: int, points: Floats) -> None:  # noqa: B027 - for painters that look
        """The groups' own trees are all there is to know."""

    def unsubscribe(self, slots: Int64s, group: int, points: Floats) -> None:  # noqa: B027 - for painters that look
        """The groups' own trees are all there is to know."""

    def costs(self) -> dict[str, int]:
        """What was counted since this was last asked for."""
        return self._outbox.costs(COUNTS, self._calls())

    @property
    def n_bytes(self) -> int:
        return self._boxes.n_bytes + self._key.nbytes + self._outbox.n_bytes

    def check(self) -> None:
        """Assert that the tree has the objects as they are."""
        self._boxes.check()
        objects = self.objects
        alive = np.flatnonzero(objects.alive[: objects.n])
        points = self._points(objects.x[alive], objects.y[alive])
        assert self._boxes.size(0) == len(alive)
        assert (self._key[alive] == self._boxes.keys(0, points)).all()
        for object, point in zip(alive.tolist(), points, strict=True):
            here = np.zeros(len(alive), np.int64)
            assert object in here[: report(self._boxes.trees, 0, point, point, here, 0)]
