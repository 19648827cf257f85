"""Zones of a space: boxes that divide it, who borders on whom, and how a message travels from border to border.

A zone is half-open, low <= p < high in each dimension; outer sides are infinite. Zones are the leaves of a tree of
splits: what is less than the value of a split lies on its first side. So each point lies in exactly one zone. A message
goes to a closed box. Numbers of zones may have holes, whose box is empty, from +inf to -inf.

Invariants: two zones are neighbours if they meet in one dimension and overlap in all others; `neighbour` has each pair
twice, sorted by the first zone, and those of zone z from `start[z]` on.

*Flooding.* A zone takes a message from one neighbour only, and brokers can tell by themselves from which. Let `point`
be a point of the box in the zone where the message came in. From the point of zone z that is nearest to it, the first
side that has to be crossed towards `point` leads into the *leader* of z. There are finitely many numbers of 64 bits, so
count along them: the leader is nearer to `point` by at least one number in one dimension, and farther in none. Leaders
of leaders thus end where the message came in, and all of them meet the box, since `point` and the nearest point lie in
it. So the links from leaders are a tree that has every zone of the box once.

*Travelling.* On the way to the box a message goes to the neighbour nearest to it, if that is nearer. If none is, as far
as rounded numbers tell, it goes to the leader, with the lowest corner of the box as the point: never farther from the
box, and nearer to the corner. So no zone is passed twice, and the message arrives.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int16s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.message import FARTHEST

LEAF = -1
# Distances are added up this much smaller, so that a thousand sides of any length have a finite sum.
SHRINK = 2.0**-11

# Columns of what is counted for a message.
OVERLAY = 0
IP = 1
REACHED = 2


class Splits(NamedTuple):
    """The tree, node 0 is the root: dimension `dim` is split at `value`, or LEAF, whose zone is its first `child`."""

    dim: Int64s
    value: Floats
    child: Int64s


class Borders(NamedTuple):
    """The box of each zone, and its neighbours `neighbour[start[zone] : start[zone + 1]]`."""

    low: Floats
    high: Floats
    start: Int64s
    neighbour: Int64s


@kernel
def find_zones(points: Floats, splits: Splits, zones: Int64s) -> None:
    """The zone of each point."""
    dims, values, child = splits.dim, splits.value, splits.child
    for i in range(len(points)):
        node = 0
        while dims[node] != LEAF:
            node = child[node, 1] if points[i, dims[node]] >= values[node] else child[node, 0]
        zones[i] = child[node, 0]


@inlined
def _are_neighbours(low: Floats, high: Floats, zone: int, other: int) -> bool:
    """Whether two zones that touch do so in more than an edge or a corner."""
    n_met = 0
    for j in range(low.shape[1]):
        if low[zone, j] == high[other, j] or low[other, j] == high[zone, j]:
            n_met += 1
    return n_met == 1


@kernel
def find_neighbours(splits: Splits, low: Floats, high: Floats, stack: Int64s, start: Int64s, neighbour: Int64s) -> int:
    """Fill in the neighbours of all zones; returns how many there are, which may be more than there was room for."""
    dims, values, child, n = splits.dim, splits.value, splits.child, 0
    for zone in range(len(low)):
        start[zone] = n
        stack[0] = 0
        depth = 1 if low[zone, 0] < high[zone, 0] else 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            dim = dims[node]
            if dim == LEAF:
                other = child[node, 0]
                if _are_neighbours(low, high, zone, other):
                    if n < len(neighbour):
                        neighbour[n] = other
                    n += 1
                continue
            # Only zones that touch are walked to.
            if high[zone, dim] >= values[node]:
                stack[depth] = child[node, 1]
                depth += 1
            if low[zone, dim] <= values[node]:
                stack[depth] = child[node, 0]
                depth += 1
    start[len(low)] = n
    return n


@inlined
def is_empty(box_low: Floats, box_high: Floats) -> bool:
    """Whether no finite point can lie in a box."""
    for j in range(len(box_low)):
        if not (box_low[j] <= box_high[j] and box_low[j] < np.inf and box_high[j] > -np.inf):
            return True
    return False


@inlined
def _meets(low: Floats, high: Floats, zone: int, box_low: Floats, box_high: Floats) -> bool:
    for j in range(len(box_low)):
        if low[zone, j] > box_high[j] or box_low[j] >= high[zone, j]:
            return False
    return True


@inlined
def _distance(low: Floats, high: Floats, zone: int, box_low: Floats, box_high: Floats) -> float:
    """How far a zone is from a box, side by side added up."""
    distance = 0.0
    for j in range(len(box_low)):
        if high[zone, j] <= box_low[j]:
            distance += box_low[j] * SHRINK - high[zone, j] * SHRINK
        elif low[zone, j] > box_high[j]:
            distance += low[zone, j] * SHRINK - box_high[j] * SHRINK
    return distance


@inlined
def _is_leader(low: Floats, high: Floats, zone: int, other: int, point: Floats) -> bool:
    """Whether the way from a zone to a point leads into this neighbour first."""
    is_across = False
    for j in range(len(point)):
        if point[j] < low[zone, j]:
            side = low[zone, j]
            if is_across and not low[other, j] <= side < high[other, j]:
                return False
            if not is_across and high[other, j] != side:
                return False
            is_across = True
        elif point[j] >= high[zone, j]:
            side = high[zone, j]
            if is_across and not low[other, j] < side <= high[other, j]:
                return False
            if not is_across and low[other, j] != side:
                return False
            is_across = True
        elif not low[other, j] <= point[j] < high[other, j]:
            return False
    return is_across


@inlined
def _next(zone: int, box_low: Floats, box_high: Floats, point: Floats, borders: Borders) -> int:
    low, high, neighbour = borders.low, borders.high, borders.neighbour
    nearest, onward, leader = _distance(low, high, zone, box_low, box_high), -1, -1
    for i in range(borders.start[zone], borders.start[zone + 1]):
        other = neighbour[i]
        distance = _distance(low, high, other, box_low, box_high)
        if distance < nearest:
            nearest, onward = distance, other
        if onward < 0 and _is_leader(low, high, zone, other, point):
            leader = other
    return leader if onward < 0 else onward


@kernel
def travel(source: int, box_low: Floats, box_high: Floats, borders: Borders, point: Floats, links: Int64s) -> int:
    """The links from a zone to the first one that meets the box, which is not empty; returns how many.

    `point` becomes the point of the box from where the flooding starts.
    """
    zone, n = source, 0
    for j in range(len(point)):
        point[j] = max(box_low[j], -FARTHEST)
    while not _meets(borders.low, borders.high, zone, box_low, box_high):
        links[n, 0] = zone
        zone = _next(zone, box_low, box_high, point, borders)
        links[n, 1] = zone
        n += 1
    for j in range(len(point)):
        point[j] = max(point[j], borders.low[zone, j])
    return n


@kernel
def flood(entry: int, box_low: Floats, box_high: Floats, borders: Borders, point: Floats, n: int, links: Int64s) -> int:
    """The links, from place n on, by which all other zones of a box are reached; returns the place after the last."""
    low, high, start, neighbour = borders.low, borders.high, borders.start, borders.neighbour
    zone, done = entry, n
    while True:
        for i in range(start[zone], start[zone + 1]):
            other = neighbour[i]
            if _meets(low, high, other, box_low, box_high) and _is_leader(low, high, other, zone, point):
                links[n, 0], links[n, 1] = zone, other
                n += 1
        if done == n:
            return n
        zone = links[done, 1]
        done += 1


@kernel
def count_hops(
    box_low: Floats,
    box_high: Floats,
    sources: Int64s,
    borders: Borders,
    hops: Int16s,
    point: Floats,
    links: Int64s,
    counted: Int64s,
) -> None:
    """For each box the overlay links that its message takes from its source, their IP hops, and the zones reached."""
    for message in range(len(box_low)):
        below, above = box_low[message], box_high[message]
        counted[message, OVERLAY] = counted[message, IP] = counted[message, REACHED] = 0
        if is_empty(below, above):
            continue
        n_travelled = travel(sources[message], below, above, borders, point, links)
        entry = links[n_travelled - 1, 1] if n_travelled > 0 else sources[message]
        n_links = flood(entry, below, above, borders, point, n_travelled, links)
        for i in range(n_links):
            counted[message, IP] += hops[links[i, 0], links[i, 1]]
        counted[message, OVERLAY] = n_links
        counted[message, REACHED] = n_links - n_travelled + 1


def check_zones(splits: Splits, borders: Borders) -> None:
    """Assert that the zones are the leaves of the splits and that neighbours are all there."""
    low, high = np.full_like(borders.low, np.inf), np.full_like(borders.high, -np.inf)
    dims, todo, seen = low.shape[1], [(0, (-np.inf,) * low.shape[1], (np.inf,) * low.shape[1])], []
    while todo:
        node, below, above = todo.pop()
        dim, value, (first, second) = int(splits.dim[node]), float(splits.value[node]), splits.child[node].tolist()
        if dim == LEAF:
            low[first], high[first] = below, above
            seen.append(first)
            continue
        assert below[dim] < value < above[dim]
        todo.append((first, below, tuple(value if j == dim else above[j] for j in range(dims))))
        todo.append((second, tuple(value if j == dim else below[j] for j in range(dims)), above))
    assert len(set(seen)) == len(seen)
    assert (low == borders.low).all()
    assert (high == borders.high).all()
    for zone in range(len(low)):
        meets = (low[zone] == high) | (high[zone] == low)
        overlaps = (np.maximum(low[zone], low) < np.minimum(high[zone], high)) & ~meets
        expected = (meets.sum(axis=1) == 1) & (overlaps.sum(axis=1) == dims - 1) & (low[zone] < high[zone]).all()
        found = borders.neighbour[borders.start[zone] : borders.start[zone + 1]]
        assert sorted(found.tolist()) == np.flatnonzero(expected).tolist(), zone
