"""Where brokers are drawn: around a broker in the middle of the tree, each within the share of those beyond it."""

import math

from skyband.overlay.broker.chart import Chart

Place = tuple[float, float]


def middle_of(chart: Chart) -> int:
    """The broker from which the farthest one is nearest along the tree, the least where there are several."""
    return min(range(chart.n_brokers), key=lambda broker: (max(_depths(chart, broker)), broker))


def places_of(chart: Chart) -> list[Place]:
    """A place from (-1, -1) to (1, 1) for each broker; those as far along the tree are on one circle."""
    root = middle_of(chart)
    depths, leaves = _depths(chart, root), _leaves(chart, root)
    most = max(max(depths), 1)
    places: list[Place] = [(0.0, 0.0)] * chart.n_brokers
    todo = [(root, -1, 0.0, 2.0 * math.pi)]
    while todo:
        broker, above, start, span = todo.pop()
        if broker != root:
            angle, radius = start + span / 2, depths[broker] / most
            places[broker] = (radius * math.cos(angle), radius * math.sin(angle))
        for below in (peer for peer in chart.tree[broker] if peer != above):
            share = span * leaves[below] / leaves[broker]
            todo.append((below, broker, start, share))
            start += share
    return places


def _order(chart: Chart, root: int) -> list[tuple[int, int]]:
    """All brokers with the one before them on the way from the root, which come first."""
    found, seen = [(root, -1)], {root}
    for broker, _ in found:
        for peer in chart.tree[broker]:
            if peer not in seen:
                seen.add(peer)
                found.append((peer, broker))
    return found


def _depths(chart: Chart, root: int) -> list[int]:
    depths = [0] * chart.n_brokers
    for broker, above in _order(chart, root)[1:]:
        depths[broker] = depths[above] + 1
    return depths


def _leaves(chart: Chart, root: int) -> list[int]:
    """How many ends of the tree lie beyond each broker, itself included if it is one."""
    leaves = [0] * chart.n_brokers
    for broker, above in reversed(_order(chart, root)):
        leaves[broker] = max(leaves[broker], 1)
        if above >= 0:
            leaves[above] += leaves[broker]
    return leaves
