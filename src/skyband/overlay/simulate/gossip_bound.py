"""How far gossip gets at least, on a chart that is a tree and in calm weather.

A broker that hears of something first passes it on to `fan_out` of its other neighbours, all choices alike, and for
`rounds` rounds. There is one way between two brokers of a tree, so that the chance to get along it is the product of
the chances at its brokers, and 0 if it is longer than the rounds. The sum over all brokers is how many are reached on
average. Publications are independent of each other, so that by Hoeffding's inequality n of them reach together fewer
than that by (N - 1) sqrt(n ln(1/ε) / 2) with a chance of less than ε. And none reaches fewer than the choice of the
smallest branches does.
"""

import math
from collections.abc import Iterable

from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.central import read_disks
from skyband.overlay.simulate.watcher import RunWatcher
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import strategy_named
from skyband.overlay.strategy.gossip import BasicGossiping

DOUBT = 1e-9
"""The chance with which the bound may be missed."""


class GossipBound:
    """How many brokers publications reach, by the broker where they are published."""

    def __init__(self, options: BrokerOptions) -> None:
        self._chart, self._fan_out, self._rounds = options.chart, options.fan_out, options.rounds

    def mean(self, origin: int) -> float:
        """How many brokers are reached on average, this one included."""
        return self._mean(origin, -1, self._rounds)

    def least(self, origin: int) -> int:
        """How many are reached in any case."""
        return self._least(origin, -1, self._rounds)

    def total(self, origins: Iterable[int]) -> float:
        """How many brokers the publications of these origins reach together, but for the chance of `DOUBT`."""
        found = list(origins)
        slack = (self._chart.n_brokers - 1) * math.sqrt(len(found) * math.log(1 / DOUBT) / 2)
        return max(sum(map(self.mean, found)) - slack, sum(map(self.least, found)))

    def _mean(self, broker: int, source: int, rounds: int) -> float:
        others = self._others(broker, source)
        if not others or not rounds:
            return 1.0
        chance = min(1.0, self._fan_out / len(others))
        return 1.0 + chance * sum(self._mean(other, broker, rounds - 1) for other in others)

    def _least(self, broker: int, source: int, rounds: int) -> int:
        branches = sorted(self._least(other, broker, rounds - 1) for other in self._others(broker, source) if rounds)
        return 1 + sum(branches[: self._fan_out])

    def _others(self, broker: int, source: int) -> list[int]:
        return [other for other in self._chart.neighbours[broker] if other != source]


def is_tree(chart: Chart) -> bool:
    """Whether there is one way only between any two brokers."""
    return len(chart.links) == chart.n_brokers - 1


def check_gossip(world: BrokerWorld, watcher: RunWatcher) -> Iterable[str]:
    """Publications have come to as many brokers as they must."""
    options = world.scenario.options
    is_meant = issubclass(strategy_named(options.strategy), BasicGossiping) and is_tree(options.chart)
    if not is_meant or not world.scenario.is_calm or not watcher.reached:
        return
    origins, bound = [origin for origin, _ in watcher.reached], GossipBound(options)
    n_reached = sum(map(len, watcher.reached.values()))
    if len(origins) != len(read_disks(world).publications):
        yield f"Of {len(read_disks(world).publications)} publications {len(origins)} were spoken of."
    if n_reached < bound.total(origins):
        yield f"Publications have reached {n_reached} brokers, and {bound.total(origins):.1f} is the bound."
    for key, brokers in watcher.reached.items():
        if len(brokers) < bound.least(key[0]):
            yield f"The publication {key} has reached {len(brokers)} brokers, and {bound.least(key[0])} is the least."
