"""The chart: which brokers there are, which links join them, and the tree along which all of them can be reached.

It is the same everywhere and does not change while brokers run; its version is a number that brokers compare when they
meet, and those with different charts refuse each other.
"""

import random
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property

from skyband.overlay.topology import internet

Links = tuple[tuple[int, int], ...]

_DRAWS = 1000


class Chart:
    """Brokers with the numbers 0 to `n_brokers` - 1, and links between them, which leave none apart.

    `agreed` is whatever else brokers have to agree on; charts that differ in it have different versions.
    """

    def __init__(self, n_brokers: int, links: Iterable[tuple[int, int]], agreed: str = "") -> None:
        if n_brokers < 1:
            raise ValueError(f"A chart needs at least one broker, not {n_brokers}.")
        self.n_brokers, self.agreed = n_brokers, agreed
        self.links: Links = tuple(sorted({(min(link), max(link)) for link in links}))
        if any(a == b or not 0 <= a < n_brokers or not 0 <= b < n_brokers for a, b in self.links):
            raise ValueError(f"Links join two different brokers, numbered from 0 to {n_brokers - 1}.")
        self.neighbours = _ends(n_brokers, self.links)
        self.tree = self._spanning()

    @cached_property
    def version(self) -> int:
        """A number that two different charts hardly share."""
        return zlib.crc32(repr((self.n_brokers, self.links)).encode() + self.agreed.encode())

    @cached_property
    def mean_degree(self) -> float:
        """How many links a broker has on average."""
        return 2 * len(self.links) / self.n_brokers

    def _spanning(self) -> tuple[tuple[int, ...], ...]:
        """The neighbours of each broker in the tree of shortest ways from broker 0."""
        above = self._towards(0)
        return _ends(self.n_brokers, [(broker, up) for broker, up in enumerate(above) if broker])

    def next_hop(self, source: int, target: int) -> int:
        """The neighbour of a broker that is next on a shortest way to another one."""
        return self._ways(target)[source]

    def distance(self, source: int, target: int) -> int:
        """How many links a shortest way takes."""
        n_hops = 0
        while source != target:
            source, n_hops = self.next_hop(source, target), n_hops + 1
        return n_hops

    def mean_distance(self) -> float:
        """The mean length of the shortest ways between two different brokers."""
        ways = [(a, b) for a in range(self.n_brokers) for b in range(self.n_brokers) if a != b]
        return sum(self.distance(a, b) for a, b in ways) / max(len(ways), 1)

    @cached_property
    def _known_ways(self) -> dict[int, list[int]]:
        return {}

    def _ways(self, target: int) -> list[int]:
        if target not in self._known_ways:
            self._known_ways[target] = self._towards(target)
        return self._known_ways[target]

    def _towards(self, target: int) -> list[int]:
        """For each broker its neighbour on a shortest way to one of them, the least where there are several."""
        above = [-1] * self.n_brokers
        above[target] = target
        todo = deque([target])
        while todo:
            broker = todo.popleft()
            for other in self.neighbours[broker]:
                if above[other] < 0:
                    above[other] = broker
                    todo.append(other)
        if -1 in above:
            raise ValueError(f"Broker {above.index(-1)} cannot be reached from broker {target}: add a link.")
        return above


def _ends(n_brokers: int, links: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    ends: list[set[int]] = [set() for _ in range(n_brokers)]
    for a, b in links:
        ends[a].add(b)
        ends[b].add(a)
    return tuple(tuple(sorted(others)) for others in ends)


def tree_chart(n_brokers: int, n_children: int = 3) -> Chart:
    """A tree whose brokers have as many children each, as far as they go."""
    return Chart(n_brokers, [(broker, (broker - 1) // n_children) for broker in range(1, n_brokers)])


def random_tree_chart(n_brokers: int, seed: int = 0) -> Chart:
    """A tree in which each broker is linked with one of those before it, at random."""
    chance = random.Random(seed)
    return Chart(n_brokers, [(broker, chance.randrange(broker)) for broker in range(1, n_brokers)])


def regular_chart(n_brokers: int, degree: int = 3, seed: int = 0) -> Chart:
    """A connected random graph in which all brokers have the same degree."""
    if n_brokers * degree % 2 or not 2 <= degree < n_brokers:
        raise ValueError(f"There is no connected graph of {n_brokers} brokers with {degree} links each.")
    chance = random.Random(seed)
    for _ in range(_DRAWS):
        ends = [broker for broker in range(n_brokers) for _ in range(degree)]
        chance.shuffle(ends)
        links = {(min(pair), max(pair)) for pair in zip(ends[::2], ends[1::2], strict=True)}
        if len(links) * 2 == len(ends) and all(a != b for a, b in links):
            try:
                return Chart(n_brokers, links)
            except ValueError:
                continue
    raise ValueError(
        f"No connected graph of {n_brokers} brokers with {degree} links each was found; take another seed."
    )


def internet_chart(n_brokers: int, seed: int = 0) -> Chart:
    """A graph with the degrees of a network like the internet, see `skyband.overlay.topology`."""
    return Chart(n_brokers, [(int(a), int(b)) for a, b in internet(n_brokers, seed).links.tolist()])


CHARTS: dict[str, Callable[[int, int], Chart]] = {
    "tree": lambda n_brokers, seed: tree_chart(n_brokers),
    "random-tree": random_tree_chart,
    "regular": lambda n_brokers, seed: regular_chart(n_brokers, 3, seed),
    "internet": internet_chart,
}
"""Charts by name, from a number of brokers and a seed."""
