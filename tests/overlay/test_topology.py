"""The internet-like network: connected, with the degrees it should have, and hops as a search by hand counts them."""

from collections import deque

import numpy as np
import pytest

from skyband.kernels.array import Int64s
from skyband.overlay import Topology, internet
from skyband.overlay.topology import wanted_degrees


def hops_by_search(topology: Topology, nodes: Int64s) -> list[list[int]]:
    linked: list[list[int]] = [[] for _ in range(topology.n_nodes)]
    for a, b in topology.links.tolist():
        linked[a].append(b)
        linked[b].append(a)
    rows = []
    for first in nodes.tolist():
        hops, queue = {first: 0}, deque([first])
        while queue:
            node = queue.popleft()
            for other in linked[node]:
                if other not in hops:
                    hops[other] = hops[node] + 1
                    queue.append(other)
        rows.append([hops.get(node, -1) for node in nodes.tolist()])
    return rows


@pytest.mark.parametrize("n_nodes", [*range(1, 12), 30, 300])
@pytest.mark.parametrize("stubs", [0.0, 0.3, 1.0])
def test_every_node_can_be_reached(n_nodes: int, stubs: float) -> None:
    topology = internet(n_nodes, seed=n_nodes, stubs=stubs)
    links = topology.links
    assert (links[:, 0] < links[:, 1]).all()
    assert len(np.unique(links, axis=0)) == len(links)
    assert topology.degrees.sum() == 2 * len(links)
    nodes = np.arange(n_nodes)
    assert (topology.hops(nodes) >= 0).all()
    assert topology.hops(nodes).tolist() == hops_by_search(topology, nodes)


def test_degrees_follow_the_power_law() -> None:
    topology = internet()
    degrees = topology.degrees
    assert len(degrees) == 20_000
    assert 45_000 < len(topology.links) < 60_000
    assert np.mean(degrees == 1) == pytest.approx(0.3, abs=0.02)
    assert degrees.max() > 2_000
    at = np.array([4, 8, 16, 32, 64, 128])
    n_above = np.array([(degrees >= degree).sum() for degree in at])
    slope = np.polyfit(np.log(at), np.log(n_above), 1)[0]
    assert slope == pytest.approx(-1.2, abs=0.15)
    hops = topology.hops(topology.choose(200))
    assert 3.0 < hops[hops > 0].mean() < 4.5


def test_the_largest_nodes_are_linked_with_each_other() -> None:
    topology = internet(2_000, seed=3, n_core=5)
    largest = np.argsort(topology.degrees)[-3:]
    assert topology.hops(largest).max() == 1


def test_degrees_wanted_are_spread_evenly() -> None:
    degrees = wanted_degrees(1_000, 2.2, 0.3)
    assert (np.diff(degrees) <= 0).all()
    assert (degrees == 1).sum() == 300
    share = np.arange(2.0, 1_000.0) ** -2.2
    assert (degrees == 2).sum() == pytest.approx(700 * share[0] / share.sum(), abs=1)


def test_a_seed_is_one_network() -> None:
    assert (internet(500, seed=4).links == internet(500, seed=4).links).all()
    assert not np.array_equal(internet(500, seed=4).links, internet(500, seed=5).links)


def test_brokers_are_different_nodes() -> None:
    topology = internet(100)
    assert sorted(topology.choose(100, seed=1).tolist()) == list(range(100))
    assert topology.choose(5, seed=1).tolist() == topology.choose(100, seed=1)[:5].tolist()
    assert len(topology.choose(0)) == 0
    with pytest.raises(ValueError, match="101 cannot be chosen"):
        topology.choose(101)


def test_hops_between_any_nodes() -> None:
    apart = Topology(5, np.array([[0, 1], [1, 2], [3, 4]]))
    assert apart.hops(np.array([0, 2, 3])).tolist() == [[0, 2, -1], [2, 0, -1], [-1, -1, 0]]
    assert apart.hops(np.array([2, 2])).tolist() == [[0, 0], [0, 0]]
    assert apart.hops(np.array([], np.int64)).shape == (0, 0)
    alone = Topology(2, np.empty((0, 2), np.int64))
    assert alone.hops(np.array([0, 1])).tolist() == [[0, -1], [-1, 0]]
    large = internet(400, seed=9)
    some = large.choose(130, seed=2)
    assert large.hops(some).dtype == np.int16
    assert large.hops(some).tolist() == hops_by_search(large, some)


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        internet(0)
    with pytest.raises(ValueError, match="in its core"):
        internet(5, n_core=0)
    with pytest.raises(ValueError, match="share"):
        internet(5, stubs=1.5)
