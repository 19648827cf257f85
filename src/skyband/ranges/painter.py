"""The painter: turns changes of objects into messages, each a box of the subscription space and what is new in it."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import grown
from skyband.ranges.boxes import Boxes
from skyband.ranges.kernels.message import Messages
from skyband.ranges.kernels.range_scan import ObjectChanges


class Objects:
    """The last word on every object, by slot: `x` is (object, dimension); among equal y the smaller `tie` is better.

    Only the painter writes x, y and alive. An object that is not alive keeps the place and the y that it had last. New
    objects, also by a new label for old ones, change no order among the ties that were there before. Arrays may be
    longer than `n`, and are other arrays after `reserve` and `make_room`. What lies beyond `n` is the painter's while
    it paints, ties too; nothing is alive there otherwise.
    """

    def __init__(self, dims: int) -> None:
        self.n = 0
        self.x = np.zeros((0, dims))
        self.y = np.zeros(0)
        self.alive = np.zeros(0, np.bool_)
        self.tie = np.zeros(0, np.int64)

    @property
    def dims(self) -> int:
        return self.x.shape[1]

    @property
    def n_bytes(self) -> int:
        return self.x.nbytes + self.y.nbytes + self.alive.nbytes + self.tie.nbytes

    def reserve(self, n: int, tie: Int64s) -> None:
        """There are n objects now, with these ties; new ones are not alive."""
        self.x, self.y, self.alive, self.tie = grown(self.x, n), grown(self.y, n), grown(self.alive, n), tie
        self.n = n

    def make_room(self, n_more: int) -> None:
        """Have places for this many beyond the objects; all ties are copied if there are not so many for them yet."""
        n = self.n + n_more
        self.x, self.y, self.alive = grown(self.x, n), grown(self.y, n), grown(self.alive, n)
        self.tie = grown(self.tie, n)


class SubscriberGroups:
    """The points of subscriptions, a tree of them for every k; the number of a group is that of its tree.

    A group that became empty is given to another k when one is needed. Groups of `ks` are in use with nobody in them,
    too: for subscriptions elsewhere, of which nothing is known but their k.
    """

    def __init__(self, dims: int, ks: Iterable[int] = ()) -> None:
        self.points = Boxes(2 * dims, 0, order="curve")
        self.k = np.zeros(0, np.int64)
        self._of: dict[int, int] = {}
        self._ks = frozenset(ks)
        for k in sorted(self._ks):
            self.of(k)

    def __len__(self) -> int:
        return len(self.k)

    def of(self, k: int) -> int:
        """The group of a k, a new one if there is none."""
        if k not in self._of:
            self._of[k] = self._vacancy(k)
        return self._of[k]

    def _vacancy(self, k: int) -> int:
        for before, group in self._of.items():
            if not self._is_used(before, group):
                del self._of[before]
                self.k[group] = k
                return group
        self.k = np.append(self.k, k)
        return self.points.new_tree()

    def in_use(self) -> list[int]:
        """The groups to paint for, by k: those that have subscriptions, and those of `ks`."""
        return [group for k, group in sorted(self._of.items()) if self._is_used(k, group)]

    def _is_used(self, k: int, group: int) -> bool:
        return k in self._ks or self.points.size(group) > 0

    def check(self) -> None:
        """Assert the invariants."""
        self.points.check()
        for k, group in self._of.items():
            assert self.k[group] == k
        assert self._ks <= self._of.keys()
        assert sorted(self._of.values()) == list(range(len(self.k)))


class Painter(Protocol):
    """Makes messages of changes, for every group that is in use.

    It is made with `objects` and `groups`, which it shares with the engine: it indexes the objects that are alive then,
    and may read the points of subscriptions from the groups' trees, which are up to date whenever it is called.
    """

    def paint(self, changes: ObjectChanges) -> Iterator[Messages]:
        """Apply the changes to the objects, and give the messages in the order in which subscribers have to see them.

        `changes.end[t]` is the number of changes up to the end of step t; subscribers compare their tops from step to
        step only. The `event` of a message is the number of a change in its step, and messages go step by step, but a
        painter of batches may use the changes of one step in any order, or several of one object as one. Where an
        object is not `alive`, the `x` and `y` of the change mean nothing. A portion of messages may end anywhere, and
        counts until the next one is asked for; the caller takes them all.
        """

    def subscribe(self, slots: Int64s, group: int, points: Floats) -> None:
        """Take notice of points that were added to a group."""

    def unsubscribe(self, slots: Int64s, group: int, points: Floats) -> None:
        """Take notice of points that were removed from a group."""

    def costs(self) -> dict[str, int]:
        """What was counted since this was last asked for, by name: `messages`, `first_k`, `min_y`, `snap`, ..."""

    @property
    def n_bytes(self) -> int:
        """What its indexes take."""

    def check(self) -> None:
        """Assert every invariant."""
