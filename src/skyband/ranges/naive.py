"""Painters in plain Python, event by event: Paint-Dense in one dimension, and one message for everyone concerned.

They are twins to hold the compiled painters against. Both look at every object for every event, and the second one at
every subscription too.
"""

from abc import ABC, abstractmethod
from bisect import insort
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.kernels.message import GONE, Messages, above, below, make_messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.painter import Objects, SubscriberGroups

Corner = tuple[float, ...]
Box = tuple[Corner, Corner]


class Note(NamedTuple):
    """An object has a new y for everyone in a box, or is new in their tops."""

    low: Corner
    high: Corner
    object: int
    y: float


class Change(NamedTuple):
    """An object that stays where it is goes from one y to another, either of which may be GONE."""

    object: int
    before: float
    after: float


class EventByEvent(ABC):
    """Takes changes one at a time; an object that moves is deleted at the old place and inserted at the new one."""

    def __init__(self, objects: Objects, groups: SubscriberGroups) -> None:
        self.objects = objects
        self.groups = groups
        self._costs: Counter[str] = Counter()

    @property
    def n_bytes(self) -> int:
        return 0

    def costs(self) -> dict[str, int]:
        costs, self._costs = dict(self._costs), Counter()
        return costs

    def check(self) -> None:  # noqa: B027 - all facts are in `objects`, so there is nothing to assert
        """Assert every invariant."""

    def paint(self, changes: ObjectChanges) -> Iterator[Messages]:
        for event, object in enumerate(changes.object.tolist()):
            notes = []
            x, alive = changes.x[event], bool(changes.alive[event])
            moved = alive and self.objects.alive[object] and not np.array_equal(x, self.objects.x[object])
            if moved or not alive:
                notes += self._set(object, GONE)
            if alive:
                self.objects.x[object] = x
                notes += self._set(object, float(changes.y[event]))
            self._costs["messages"] += len(notes)
            yield self._messages(notes, event)

    def _set(self, object: int, y: float) -> list[tuple[int, Note, Floats]]:
        before = float(self.objects.y[object]) if self.objects.alive[object] else GONE
        if y == before:
            return []
        change = Change(object, before, y)
        notes = [(group, note) for group in self.groups.in_use() for note in self._paint_group(change, group)]
        self.objects.alive[object] = y != GONE
        if y != GONE:
            self.objects.y[object] = y
        return [(group, note, self.objects.x[note.object].copy()) for group, note in notes]

    def _messages(self, notes: list[tuple[int, Note, Floats]], event: int) -> Messages:
        messages = make_messages(len(notes), self.objects.dims)
        messages.length[0] = len(notes)
        messages.event[:] = event
        for i, (group, note, x) in enumerate(notes):
            messages.low[i], messages.high[i], messages.x[i] = note.low, note.high, x
            messages.object[i], messages.y[i], messages.group[i] = note.object, note.y, group
        return messages

    @abstractmethod
    def _paint_group(self, change: Change, group: int) -> list[Note]:
        """What a group has to be sent; the objects are as they were before."""

    def subscribe(self, slots: Int64s, group: int, points: Floats) -> None:  # noqa: B027 - not every painter looks
        """Take notice of points that were added to a group."""

    def unsubscribe(self, slots: Int64s, group: int, points: Floats) -> None:  # noqa: B027 - not every painter looks
        """Take notice of points that were removed from a group."""


class NaivePainter(EventByEvent):
    """Paint-Dense for one dimension: Algorithms 3 to 5 of the ranges paper, without knowledge of subscriptions."""

    def _paint_group(self, change: Change, group: int) -> list[Note]:
        object, k = change.object, int(self.groups.k[group])
        x, tie = float(self.objects.x[object, 0]), int(self.objects.tie[object])
        others = [other for other in self._ranked() if other[2] != object]
        better = [other for other in others if other[:2] < (min(change.before, change.after), tie)]
        west = sorted((self._x(other[2]) for other in better if self._x(other[2]) <= x), reverse=True)[:k]
        east = sorted(self._x(other[2]) for other in better if self._x(other[2]) > x)[:k]
        self._costs["first_k"] += 2
        notes = [Note(*box, object, change.after) for box in staircase(x, west, east, k)]
        if change.after < change.before:
            return notes
        for y, other_tie, other in others:
            exposed = self._x(other)
            if (change.before, tie) < (y, other_tie) < (change.after, tie) and _reach(west, east, k, exposed):
                notes += [Note(*box, other, y) for box in chain(x, west, east, k, exposed)]
                _put(exposed, x, west, east)
                del west[k:], east[k:]
                self._costs["min_y"] += 1
        self._costs["min_y"] += 1
        return notes

    def _x(self, object: int) -> float:
        return float(self.objects.x[object, 0])

    def _ranked(self) -> list[tuple[float, int, int]]:
        """The objects that are alive, best first, as y, tie and slot."""
        objects = self.objects
        alive = np.flatnonzero(objects.alive[: objects.n]).tolist()
        return sorted((float(objects.y[object]), int(objects.tie[object]), object) for object in alive)


def _reach(west: list[float], east: list[float], k: int, x: float) -> bool:
    """Whether an object at x lies in the influence interval."""
    return (len(west) < k or x > west[k - 1]) and (len(east) < k or x < east[k - 1])


def _put(exposed: float, x: float, west: list[float], east: list[float]) -> None:
    if exposed <= x:
        insort(west, exposed, key=lambda place: -place)
    else:
        insort(east, exposed)


def staircase(x: float, west: list[float], east: list[float], k: int) -> list[Box]:
    """The region where an object at x is among the best k, from east to west.

    `west` are the places of up to k better objects at x or before it, nearest first; `east` of those after it.
    """
    columns: list[list[float]] = []
    for n in range(min(len(west), k - 1) + 1):
        left, right = _column(x, west, n)
        top = east[k - 1 - n] if k - 1 - n < len(east) else np.inf
        if columns and columns[-1][2] == top:
            columns[-1][0] = left
        elif left < right:
            columns.append([left, right, top])
    return [((above(left), x), (right, below(top))) for left, right, top in columns]


def chain(x: float, west: list[float], east: list[float], k: int, exposed: float) -> list[Box]:
    """The region where an object at x is the k-th best, so far as it holds an exposed object, from east to west."""
    boxes: list[Box] = []
    for n in range(min(len(west), k - 1) + 1):
        if k - 1 - n > len(east):
            continue
        left, right = _column(x, west, n)
        bottom = east[k - 2 - n] if k - 1 - n > 0 else x
        top = east[k - 1 - n] if k - 1 - n < len(east) else np.inf
        right, bottom = min(right, exposed), max(bottom, exposed)
        if left < right and bottom < top:
            boxes.append(((above(left), bottom), (right, below(top))))
    return boxes


def _column(x: float, west: list[float], n: int) -> tuple[float, float]:
    """Where a range has to begin, after the first number and up to the second, to hold n of the west."""
    return west[n] if n < len(west) else -np.inf, west[n - 1] if n > 0 else x


class Unicast(EventByEvent):
    """Sends every message to one subscription alone, by holding its top before against its top after.

    As a message goes to a range, several subscriptions with the same range get each other's messages too.
    """

    def __init__(self, objects: Objects, groups: SubscriberGroups) -> None:
        super().__init__(objects, groups)
        self._points: dict[int, dict[int, Floats]] = {}

    def subscribe(self, slots: Int64s, group: int, points: Floats) -> None:
        self._points.setdefault(group, {}).update(zip(slots.tolist(), points, strict=True))

    def unsubscribe(self, slots: Int64s, group: int, points: Floats) -> None:
        for slot in slots.tolist():
            del self._points[group][slot]

    def _paint_group(self, change: Change, group: int) -> list[Note]:
        k, x = int(self.groups.k[group]), self.objects.x[change.object]
        notes = []
        for _, point in sorted(self._points[group].items(), key=lambda item: item[0]):
            if not ((point[0::2] <= x) & (x <= point[1::2])).all():
                continue
            corner = tuple(point.tolist())
            before, after = (self._top(change.object, y, point, k) for y in (change.before, change.after))
            if change.object in before or change.object in after:
                notes.append(Note(corner, corner, change.object, change.after))
            new = [object for object in after if object not in before and object != change.object]
            notes += [Note(corner, corner, object, float(self.objects.y[object])) for object in new]
        return notes

    def _top(self, object: int, y: float, point: Floats, k: int) -> list[int]:
        """The top of a subscription if the object had this y."""
        objects = self.objects
        x, ys, there = objects.x[: objects.n], objects.y[: objects.n].copy(), objects.alive[: objects.n].copy()
        ys[object], there[object] = y, y != GONE
        inside = np.flatnonzero(there & ((point[0::2] <= x) & (x <= point[1::2])).all(1))
        best: list[int] = inside[np.lexsort((objects.tie[inside], ys[inside]))][:k].tolist()
        self._costs["min_y"] += 1
        return best
