"""Small worlds of objects and subscriptions, with painters at work in them and brute force to hold them against."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.kernels.message import GONE, Messages, points_of
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.painter import Objects, Painter, SubscriberGroups

MakePainter = Callable[[Objects, SubscriberGroups], Painter]
Top = dict[int, float]


class Asked(NamedTuple):
    """Subscriptions: their points and ks."""

    points: Floats
    k: Int64s


def some_of(asked: Asked, rows: Int64s) -> Asked:
    """These rows of the subscriptions."""
    return Asked(asked.points[rows], asked.k[rows])


class Heard(NamedTuple):
    """One subscription got one message."""

    message: int
    event: int
    subscription: int
    object: int
    y: float


class World:
    """Objects and a painter over subscriptions, who keep their lists from messages alone."""

    def __init__(self, asked: Asked, n_objects: int, make: MakePainter) -> None:
        self.asked = asked
        self.objects = Objects(1)
        self.groups = SubscriberGroups(1)
        self.painter = make(self.objects, self.groups)
        self.objects.reserve(n_objects, -np.arange(n_objects))
        self.lists: list[Top] = [{} for _ in asked.k]
        for k in np.unique(asked.k).tolist():
            slots, group = np.flatnonzero(asked.k == k), self.groups.of(k)
            self.groups.points.add(group, slots, asked.points[slots])
            self.painter.subscribe(slots, group, asked.points[slots])

    def paint(self, changes: ObjectChanges) -> list[Heard]:
        """Let changes happen; who heard what, in order."""
        heard = []
        n_before = 0
        for messages in self.painter.paint(changes):
            for message in heard_of(messages, self.asked, self.groups.k):
                heard.append(message._replace(message=n_before + message.message))
                self._receive(message)
            n_before += int(messages.length[0])
        self.painter.check()
        return heard

    def _receive(self, heard: Heard) -> None:
        """The protocol of section II-A."""
        own, tie = self.lists[heard.subscription], self.objects.tie
        if heard.y == GONE:
            own.pop(heard.object, None)
            return
        own[heard.object] = heard.y
        if len(own) > self.asked.k[heard.subscription]:
            del own[max(own, key=lambda object: (own[object], tie[object]))]

    def tops(self) -> list[Top]:
        """Everybody's answer, by brute force."""
        objects = self.objects
        order = np.lexsort((objects.tie[: objects.n], objects.y[: objects.n]))
        alive = [int(i) for i in order if objects.alive[i]]
        tops = []
        for (left, right), k in zip(self.asked.points, self.asked.k, strict=True):
            inside = [i for i in alive if left <= objects.x[i, 0] <= right]
            tops.append({i: float(objects.y[i]) for i in inside[:k]})
        return tops

    def rank(self, subscription: int, object: int) -> int:
        """The rank of an object that is there for a subscription that holds it."""
        left, right = self.asked.points[subscription]
        objects, own = self.objects, (self.objects.y[object], self.objects.tie[object])
        others = [i for i in range(objects.n) if objects.alive[i] and left <= objects.x[i, 0] <= right]
        return 1 + sum((objects.y[i], objects.tie[i]) < own for i in others)


def heard_of(messages: Messages, asked: Asked, k_of: Int64s) -> Iterator[Heard]:
    """Who is in the box of each message, by brute force."""
    for i in range(int(messages.length[0])):
        inside = ((messages.low[i] <= asked.points) & (asked.points <= messages.high[i])).all(axis=1)
        inside &= asked.k == k_of[messages.group[i]]
        for subscription in np.flatnonzero(inside).tolist():
            yield Heard(i, int(messages.event[i]), subscription, int(messages.object[i]), float(messages.y[i]))


def draw_asked(random: np.random.Generator, n_cells: int) -> Asked:
    """Ranges on a small grid: many share an end, some are points or have no end."""
    n = int(random.integers(0, 40))
    lo = random.integers(-1, n_cells + 1, n).astype(float)
    hi = np.maximum(lo, random.integers(-1, n_cells + 1, n))
    lo[random.random(n) < 0.1], hi[random.random(n) < 0.1] = -np.inf, np.inf
    return Asked(points_of(lo[:, np.newaxis], hi[:, np.newaxis]), random.choice([1, 2, 3, 5], n))


def draw_changes(random: np.random.Generator, places: Floats, n: int, moves: float = 0.2) -> ObjectChanges:
    """Changes of y on a small grid, so that many are equal; some objects go, and some move."""
    object = random.integers(0, len(places), n)
    x = places[object].copy()
    moving = random.random(n) < moves
    x[moving] = random.choice(places, int(moving.sum()))
    y, alive = random.integers(0, 8, n).astype(float), random.random(n) < 0.85
    return ObjectChanges(object, x[:, np.newaxis], y, alive, np.array([n]))


def fewest_boxes(wanted: Floats, others: Floats) -> int:
    """The least number of boxes with every wanted point in exactly one of them and none of the others in any."""
    distinct = np.unique(wanted, axis=0)
    sets = set()
    for l_low in set(distinct[:, 0]):
        for l_high in {each for each in distinct[:, 0] if each >= l_low}:
            for r_low in set(distinct[:, 1]):
                for r_high in {each for each in distinct[:, 1] if each >= r_low}:
                    low, high = np.array([l_low, r_low]), np.array([l_high, r_high])
                    if not ((low <= others) & (others <= high)).all(axis=1).any():
                        inside = ((low <= distinct) & (distinct <= high)).all(axis=1)
                        sets.add(sum(1 << int(i) for i in np.flatnonzero(inside)))
    known = {0: 0}

    def fewest(left: int) -> int:
        if left not in known:
            lowest = left & -left
            known[left] = 1 + min(fewest(left & ~box) for box in sets if box & lowest and box & left == box)
        return known[left]

    return fewest((1 << len(distinct)) - 1)


def per_object(heard: list[Heard]) -> Counter[tuple[int, int]]:
    """How many messages each subscription got of each object."""
    return Counter((message.subscription, message.object) for message in heard)
