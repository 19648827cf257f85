"""The server of the network: it knows the objects, what it has to know of the subscriptions, and nobody's list.

Changes of objects get numbers in the order in which they come: one order of events for everybody. What it knows of
subscriptions depends on how it paints: Paint-Dense has a count of them for each k, Paint-Sparse their points, or a
sketch of those, and Unicast their points. The first top of a subscription is looked up among the objects once.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.contract.tops import Id
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.object_ids import Lexicon
from skyband.overlay.network.paint_rows import PaintRows
from skyband.ranges.boxed import Boxed
from skyband.ranges.kernels.message import Messages, make_messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.naive import Unicast
from skyband.ranges.painter import Objects, Painter, SubscriberGroups
from skyband.ranges.server import PaintPlan, Server

NEVER = np.iinfo(np.int64).min


class Sighting(NamedTuple):
    """A change of an object on its way to the server: where it is now and its y, or None for one that is gone."""

    ts: int
    object: Id
    x: tuple[float, ...]
    y: float | None


class RankedObject(NamedTuple):
    """A member of a top."""

    object: Id
    y: float


class ServedGroups(SubscriberGroups):
    """Groups that are painted for while anybody asks for their k, whether or not their points are known."""

    def __init__(self, dims: int) -> None:
        super().__init__(dims)
        self.asking: Counter[int] = Counter()

    def _is_used(self, k: int, group: int) -> bool:
        return self.asking[k] > 0


@dataclass
class KnownSubscription:
    """What the server has of a subscription while it stands; its slot is -1 where points are not needed."""

    k: int
    point: Floats
    slot: int = -1


@dataclass
class _Slots:
    """Numbers to be given out and taken back."""

    n: int = 0
    free: list[int] = field(default_factory=list)

    def take(self) -> int:
        if self.free:
            return self.free.pop()
        self.n += 1
        return self.n - 1


class PaintServer:
    """Paints by a plan; `event` is the number of the last change."""

    def __init__(self, plan: PaintPlan | None = None, dims: int = 1) -> None:
        self.event = 0
        self.plan, self.dims = plan or PaintPlan(), dims
        self._lexicon = Lexicon()
        self._last = np.zeros(0, np.int64)
        self._objects, self._groups = Objects(dims), ServedGroups(dims)
        self._known: dict[int, KnownSubscription] = {}
        self._slots = _Slots()
        self._quit_early: set[int] = set()
        self._painter = self._make_painter()

    def _make_painter(self) -> Painter:
        if self.dims == 1:
            return Server(self._objects, self._groups, self.plan)
        if self.plan.algorithm == "dense":
            raise ValueError("In more than one dimension a server paints by the algorithm sparse or unicast.")
        make = Unicast if self.plan.algorithm == "unicast" else Boxed
        return make(self._objects, self._groups)

    @property
    def n_subscriptions(self) -> int:
        """For how many it paints."""
        return len(self._known)

    @property
    def n_bytes_of_subscriptions(self) -> int:
        """What it keeps of subscriptions, in bytes; without points that is their number for each k."""
        return self._groups.points.n_bytes if self._knows_points else 16 * len(self._groups.asking)

    @property
    def _knows_points(self) -> bool:
        return self.plan.algorithm != "dense"

    def enter(self, key: int, k: int, point: Floats) -> bool:
        """Paint for a subscription from the next event on; False if it was given up before it came."""
        if key in self._quit_early:
            self._quit_early.discard(key)
            return False
        known = self._known[key] = KnownSubscription(k, point)
        self._groups.asking[k] += 1
        group = self._groups.of(k)
        if self._knows_points:
            known.slot = self._slots.take()
            self._groups.points.add(group, np.array([known.slot]), point[np.newaxis])
            self._painter.subscribe(np.array([known.slot]), group, point[np.newaxis])
        return True

    def quit(self, key: int) -> None:
        """Paint for a subscription no more; one that has not come yet will not be taken."""
        known = self._known.pop(key, None)
        if known is None:
            self._quit_early.add(key)
            return
        group = self._groups.of(known.k)
        if self._knows_points:
            slots = np.array([known.slot])
            self._groups.points.remove(group, slots, known.point[np.newaxis])
            self._painter.unsubscribe(slots, group, known.point[np.newaxis])
            self._slots.free.append(known.slot)
        self._groups.asking[known.k] -= 1

    def top(self, k: int, point: Floats) -> list[RankedObject]:
        """The best k in a range as of the last event."""
        objects, n = self._objects, self._objects.n
        x = objects.x[:n]
        inside = np.flatnonzero(objects.alive[:n] & ((point[0::2] <= x) & (x <= point[1::2])).all(axis=1))
        best = inside[np.lexsort((objects.tie[inside], objects.y[inside]))[:k]]
        ids = self._lexicon.ids.ids(best).to_pylist() if len(best) else []
        return [RankedObject(*pair) for pair in zip(ids, objects.y[best].tolist(), strict=True)]

    def change(self, sighting: Sighting) -> PaintRows | None:
        """Give a change its place in the order, and paint it; None for one that is older than what is known."""
        slots = self._know(pa.array([sighting.object]))
        if sighting.ts < self._last[slots[0]]:
            return None
        self._last[slots[0]] = sighting.ts
        self.event += 1
        alive = sighting.y is not None
        x = np.array([sighting.x or (np.nan,) * self.dims], np.float64)
        y = np.array([sighting.y if alive else np.nan], np.float64)
        changes = ObjectChanges(slots, x, y, np.array([alive]), np.array([1]))
        nothing = make_messages(0, self.dims)
        return self._rows([nothing, *(_kept(portion) for portion in self._painter.paint(changes))])

    def _know(self, ids: pa.Array) -> Int64s:
        before = self._lexicon.n
        slots = self._lexicon.slots(ids)
        n = self._lexicon.n
        self._last = grown(self._last, n)
        self._last[before:n] = NEVER
        self._lexicon.reserve(n + len(slots))
        self._objects.reserve(n, self._lexicon.tie)
        return slots

    def _rows(self, portions: list[Messages]) -> PaintRows:
        """Messages with ids, of all portions together."""
        columns = [np.concatenate(parts) for parts in zip(*(portion[1:7] for portion in portions), strict=True)]
        low, high, object, x, y, group = columns
        return PaintRows(low, high, x, y, self._groups.k[group], self._lexicon.ids.ids(object))

    def costs(self) -> dict[str, int]:
        """What painting took since this was last asked for."""
        return self._painter.costs()

    def check(self) -> None:
        """Assert the invariants."""
        self._painter.check()
        self._groups.check()
        assert Counter(known.k for known in self._known.values()) == +self._groups.asking


def _kept(messages: Messages) -> Messages:
    """A copy of a portion of messages, which is written over when the next one is asked for."""
    n = int(messages.length[0])
    return Messages._make([messages.length.copy(), *(column[:n].copy() for column in messages[1:])])
