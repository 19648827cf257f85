"""Zones of the subscription space, one for each broker, small where subscriptions are dense.

A subscription is a point of the space, see `skyband.ranges.kernels.message`, and belongs to the broker whose zone holds
it, its gateway. Zones are made by splitting, as in a content-addressable network (Ratnasamy et al. 2001): the most
crowded one in two, in one dimension after the other, at the median of its subscriptions. A zone is half-open, low <= p
< high, and the outermost ones have no end, so each point lies in exactly one.
"""

import heapq

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.overlay.kernels.zone import LEAF, Borders, Splits, check_zones, find_neighbours, find_zones
from skyband.overlay.part import ZonePart, median_cut, middle_cut
from skyband.ranges.kernels.message import FARTHEST


class Zones:
    """Zones for this many brokers, fitted to subscriptions; `counts` says how many each of them holds.

    A zone has the number of its broker. If a broker leaves, its number stays empty until another one joins. `centre`
    is the place of the server; otherwise that is the middle of the bounded coordinates of the subscriptions.
    """

    def __init__(self, points: Floats, n_zones: int, centre: Floats | None = None) -> None:
        points = np.asarray(points, np.float64)
        if points.ndim != 2 or points.shape[1] < 2 or points.shape[1] % 2:
            raise ValueError("Subscriptions need one row each, with two coordinates for every dimension.")
        if n_zones < 1:
            raise ValueError(f"There must be at least one zone, not {n_zones}.")
        self.dims = points.shape[1]
        points = self._checked(points)
        self.centre = self._checked(_middle(points) if centre is None else np.asarray(centre, np.float64)[None])[0]
        self._root = ZonePart(np.full(self.dims, -np.inf), np.full(self.dims, np.inf), 0, 0, None, 0)
        self._parts: list[ZonePart | None] = [self._root]
        self.counts = np.array([len(points)])
        self._splits: Splits | None = None
        self._borders: Borders | None = None
        self._divide(points, {0: np.arange(len(points))}, n_zones - 1)

    @property
    def n_zones(self) -> int:
        """How many there are."""
        return len(self._parts) - self._parts.count(None)

    @property
    def numbers(self) -> Int64s:
        """The numbers of the zones there are, ascending."""
        return np.array([zone for zone, part in enumerate(self._parts) if part is not None])

    @property
    def borders(self) -> Borders:
        """The boxes of the zones and who borders on whom; another object after each change."""
        if self._borders is None:
            self._borders = self._find_borders()
        return self._borders

    @property
    def server(self) -> int:
        """The zone that holds the centre."""
        return int(self.zone_of(self.centre[None])[0])

    def zone_of(self, points: Floats) -> Int64s:
        """The zone of each point, whose broker is the gateway of a subscription there."""
        points = self._checked(points)
        zones = np.empty(len(points), np.int64)
        find_zones(points, self._tree(), zones)
        return zones

    def neighbours(self, zone: int) -> Int64s:
        """The zones that share a border with this one, more than an edge or a corner."""
        self._part(zone)
        return self.borders.neighbour[self.borders.start[zone] : self.borders.start[zone + 1]]

    def subscribe(self, points: Floats) -> Int64s:
        """Count subscriptions in; returns their zones."""
        zones = self.zone_of(points)
        self.counts += np.bincount(zones, minlength=len(self.counts))
        return zones

    def unsubscribe(self, points: Floats) -> Int64s:
        """Count subscriptions out; returns their zones."""
        zones = self.zone_of(points)
        counts = self.counts - np.bincount(zones, minlength=len(self.counts))
        if (counts < 0).any():
            raise ValueError(f"Zone {int(np.argmin(counts))} does not hold that many subscriptions.")
        self.counts = counts
        return zones

    def join(self, points: Floats) -> int:
        """A broker joins and takes half of the most crowded zone; returns its number.

        `points` are all subscriptions that there are: only they can tell where the median is.
        """
        zones = self.zone_of(points)
        if not np.array_equal(np.bincount(zones, minlength=len(self.counts)), self.counts):
            raise ValueError("These are not the subscriptions that the zones hold.")
        ends = np.cumsum(self.counts)[:-1]
        held = np.split(np.argsort(zones, kind="stable"), ends)
        return self._divide(self._checked(points), {zone: held[zone] for zone in self.numbers.tolist()}, 1)

    def leave(self, zone: int) -> int:
        """A broker leaves; returns the one that takes its zone over.

        If the other half of what was split last is one zone, the two are merged. Otherwise two zones are merged within
        it, those with the fewest subscriptions, and the broker that is set free by this moves.
        """
        left, counts = self._part(zone), self.counts
        if left.parent is None:
            raise ValueError("The last broker cannot leave.")
        sibling = next(half for half in left.parent.halves if half is not left)
        if not sibling.halves:
            taker = sibling.zone
            self._merge(left.parent, taker)
            counts[taker] += counts[zone]
        else:
            pair = min(sibling.pairs(), key=lambda part: sum(counts[half.zone] for half in part.halves))
            taker, stays = sorted((half.zone for half in pair.halves), key=lambda number: counts[number])
            self._merge(pair, stays)
            counts[stays] += counts[taker]
            left.zone, counts[taker] = taker, counts[zone]
            self._parts[taker] = left
        self._parts[zone], counts[zone] = None, 0
        self._forget()
        return taker

    def check(self) -> None:
        """Assert that the zones divide the space and know their neighbours."""
        check_zones(self._tree(), self.borders)
        assert (self.counts >= 0).all()
        for zone, part in enumerate(self._parts):
            assert part.zone == zone if part is not None else self.counts[zone] == 0

    def _part(self, zone: int) -> ZonePart:
        part = self._parts[zone] if 0 <= zone < len(self._parts) else None
        if part is None:
            raise ValueError(f"There is no zone {zone}.")
        return part

    def _checked(self, points: Floats) -> Floats:
        points = np.ascontiguousarray(points, np.float64)
        if points.ndim != 2 or points.shape[1] != self.dims:
            raise ValueError(f"Points need one row each, with {self.dims} coordinates.")
        if not np.isfinite(points).all():
            raise ValueError("Points need finite coordinates.")
        return points

    def _forget(self) -> None:
        self._splits = self._borders = None

    def _divide(self, points: Floats, held: dict[int, Int64s], n_more: int) -> int:
        """Split so many times; returns the number of the last new zone. `held` has the subscriptions of each zone.

        Zones whose subscriptions all lie in one place come last: to cut them again would not spread any load.
        """
        fresh = -1
        crowds = [(-len(rows), zone) for zone, rows in held.items()]
        heapq.heapify(crowds)
        while n_more > 0 and crowds:
            zone = heapq.heappop(crowds)[1]
            cut = median_cut(points, held[zone], self._part(zone).turn)
            if cut is not None:
                fresh = self._split(zone, cut, points, held)
                for half in (zone, fresh):
                    heapq.heappush(crowds, (-len(held[half]), half))
                n_more -= 1
        return self._divide_space(points, held, n_more) if n_more > 0 else fresh

    def _divide_space(self, points: Floats, held: dict[int, Int64s], n_more: int) -> int:
        """Split so many times anywhere, first what was split least often."""
        fresh = -1
        wide = [(self._part(zone).depth, -len(rows), zone) for zone, rows in held.items()]
        heapq.heapify(wide)
        while n_more > 0:
            zone = heapq.heappop(wide)[2]
            cut = middle_cut(self._part(zone))
            if cut is not None:
                fresh = self._split(zone, cut, points, held)
                for half in (zone, fresh):
                    heapq.heappush(wide, (self._part(half).depth, -len(held[half]), half))
                n_more -= 1
        return fresh

    def _split(self, zone: int, cut: tuple[int, float], points: Floats, held: dict[int, Int64s]) -> int:
        part, (dim, value), fresh = self._part(zone), cut, self._free_number()
        part.split(dim, value, (zone, fresh))
        self._parts[zone], self._parts[fresh] = part.halves
        is_above = points[held[zone], dim] >= value
        held[zone], held[fresh] = held[zone][~is_above], held[zone][is_above]
        self.counts[[zone, fresh]] = len(held[zone]), len(held[fresh])
        self._forget()
        return fresh

    def _free_number(self) -> int:
        if None in self._parts:
            return self._parts.index(None)
        self._parts.append(None)
        self.counts = np.append(self.counts, 0)
        return len(self._parts) - 1

    def _merge(self, part: ZonePart, zone: int) -> None:
        part.turn, part.dim, part.halves, part.zone = part.dim, LEAF, (), zone
        self._parts[zone] = part

    def _tree(self) -> Splits:
        if self._splits is None:
            parts = list(self._root.walk())
            place = {id(part): i for i, part in enumerate(parts)}
            child = [[place[id(half)] for half in part.halves] or [part.zone, part.zone] for part in parts]
            dims, values = [part.dim for part in parts], [part.value for part in parts]
            self._splits = Splits(np.array(dims), np.array(values), np.array(child))
        return self._splits

    def _find_borders(self) -> Borders:
        n_zones, splits = len(self._parts), self._tree()
        low, high = np.full((n_zones, self.dims), np.inf), np.full((n_zones, self.dims), -np.inf)
        for zone, part in enumerate(self._parts):
            if part is not None:
                low[zone], high[zone] = part.low, part.high
        start, stack = np.empty(n_zones + 1, np.int64), np.empty(len(splits.dim), np.int64)
        neighbour = np.empty(8 * n_zones, np.int64)
        found = find_neighbours(splits, low, high, stack, start, neighbour)
        if found > len(neighbour):
            neighbour = np.empty(found, np.int64)
            find_neighbours(splits, low, high, stack, start, neighbour)
        return Borders(low, high, start, neighbour[:found])


def _middle(points: Floats) -> Floats:
    """The middle of the coordinates, leaving out those that stand for no bound."""
    bounded = np.abs(points) < FARTHEST
    low: Floats = np.min(points, axis=0, where=bounded, initial=FARTHEST, keepdims=True)
    high: Floats = np.max(points, axis=0, where=bounded, initial=-FARTHEST, keepdims=True)
    return 0.5 * low + 0.5 * high
