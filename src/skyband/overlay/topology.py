"""A network like the internet, to count IP hops on.

Inet (Jin et al. 2000, Winick and Jamin 2002) draws networks that are like the graph of autonomous systems. It takes the
number of nodes of each degree from power laws that were fitted to measurements; connects the nodes of degree 2 and more
to a tree, each to one that is there already, chosen by degree; then the nodes of degree 1 to these; and then uses up
what is left of the degrees, the largest first. The graph here is made by the same steps, with simpler parts: one
exponent in place of fits over time; the choice by what is still free of a degree, without Inet's further weight for
degrees that differ much; the rest paired at random, where a pair that is there already is drawn again a few times and
then dropped; and the few largest nodes all connected with each other from the start.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skyband.kernels.array import Bools, Int16s, Int64s, UInt64s

N_DRAWS = 10


@dataclass(frozen=True)
class Topology:
    """Nodes and the links between them: each link once, as the smaller and the larger node."""

    n_nodes: int
    links: Int64s

    @cached_property
    def degrees(self) -> Int64s:
        """How many links each node has."""
        return np.bincount(self.links.ravel(), minlength=self.n_nodes)

    def choose(self, n: int, seed: int = 0) -> Int64s:
        """So many different nodes at random, to be brokers."""
        if not 0 <= n <= self.n_nodes:
            raise ValueError(f"There are {self.n_nodes} nodes, {n} cannot be chosen.")
        return np.random.default_rng(seed).permutation(self.n_nodes)[:n]

    def hops(self, nodes: Int64s) -> Int16s:
        """The number of links on the shortest way between any two of these nodes, -1 if there is none.

        All searches advance together, a link at a time: each node has a bit for each of `nodes` it was reached from.
        """
        nodes = np.asarray(nodes, np.int64)
        n_words = -(-len(nodes) // 64)
        ends = np.concatenate([self.links, self.links[:, ::-1]])
        ends = ends[np.argsort(ends[:, 0], kind="stable")]
        linked, starts = np.unique(ends[:, 0], return_index=True)
        reached = np.zeros((self.n_nodes, n_words), np.uint64)
        bits = np.left_shift(np.uint64(1), np.arange(len(nodes), dtype=np.uint64) % np.uint64(64))
        np.bitwise_or.at(reached, (nodes, np.arange(len(nodes)) // 64), bits)
        hops = np.full((len(nodes), len(nodes)), -1, np.int16)
        n_hops, before = 0, -1
        while len(nodes) > 0:
            hops[(hops < 0) & _unpacked(reached[nodes], len(nodes))] = n_hops
            n_reached = int(np.bitwise_count(reached).sum())
            if n_reached == before or (hops >= 0).all():
                break
            before, n_hops = n_reached, n_hops + 1
            if len(linked) > 0:
                reached[linked] |= np.bitwise_or.reduceat(reached[ends[:, 1]], starts, axis=0)
        return hops


def internet(
    n_nodes: int = 20_000, seed: int = 0, *, exponent: float = 2.2, stubs: float = 0.3, n_core: int = 4
) -> Topology:
    """A connected random network whose degrees follow a power law from 2 on; a share of `stubs` has one link only."""
    if n_nodes < 1 or n_core < 1:
        raise ValueError(f"A network needs at least one node and one in its core, not {n_nodes} and {n_core}.")
    if not 0.0 <= stubs <= 1.0:
        raise ValueError(f"stubs is a share from 0 to 1, not {stubs}.")
    random = np.random.default_rng(seed)
    degrees = wanted_degrees(n_nodes, exponent, stubs)
    n_core = min(n_core, n_nodes, int(degrees[0]) + 1)
    n_inner = max(n_core, int((degrees >= 2).sum()))
    order = np.concatenate(
        [np.arange(n_core), n_core + random.permutation(n_inner - n_core), np.arange(n_inner, n_nodes)]
    )
    core = np.argwhere(np.triu(np.ones((n_core, n_core), np.bool_), 1))
    tree, free = _grow_tree(order, degrees, n_core, random)
    links = np.concatenate([core, np.array(tree, np.int64).reshape(-1, 2)])
    links = _pair(links, np.array(free, np.int64), n_nodes, random)
    # Numbers tell nothing of degrees then, so that any nodes may be taken for brokers.
    names = random.permutation(n_nodes)
    return Topology(n_nodes, _sorted_links(names[links], n_nodes))


def wanted_degrees(n_nodes: int, exponent: float, stubs: float) -> Int64s:
    """The degrees of the nodes, largest first: evenly spread over the distribution, and so not a matter of chance."""
    n_inner = n_nodes - int(stubs * n_nodes)
    values = np.arange(2, max(n_nodes, 3))
    tail = np.cumsum((values**-exponent)[::-1])[::-1]
    # How many nodes have at least this degree, to the nearest whole number.
    n_above = np.floor(n_inner * tail / tail[0] + 0.5).astype(np.int64)
    inner = 1 + np.searchsorted(-n_above, -np.arange(n_inner), side="left")
    return np.concatenate([inner, np.ones(n_nodes - n_inner, np.int64)])


def _grow_tree(
    order: Int64s, degrees: Int64s, n_core: int, random: np.random.Generator
) -> tuple[list[tuple[int, int]], list[int]]:
    """Connect each node to one before it, chosen by what is free of its degree; returns the links and what is left."""
    wanted, draws = degrees.tolist(), random.random(len(order)).tolist()
    tree: list[tuple[int, int]] = []
    free = [node for node in range(n_core) for _ in range(wanted[node] - n_core + 1)]
    for i, node in enumerate(order.tolist()):
        if i < n_core:
            continue
        if not free:
            free = order[:i].tolist()
        at = int(draws[i] * len(free))
        tree.append((free[at], node))
        free[at] = free[-1]
        free.pop()
        free += [node] * (wanted[node] - 1)
    return tree, free


def _pair(links: Int64s, free: Int64s, n_nodes: int, random: np.random.Generator) -> Int64s:
    """Link what is left of degrees at random, no node with itself and no two nodes twice."""
    links = _sorted_links(links, n_nodes)
    for _ in range(N_DRAWS):
        free = random.permutation(free)
        pairs = np.sort(free[: len(free) // 2 * 2].reshape(-1, 2), axis=1)
        codes = pairs[:, 0] * n_nodes + pairs[:, 1]
        is_first = np.zeros(len(codes), np.bool_)
        is_first[np.unique(codes, return_index=True)[1]] = True
        is_new = is_first & (pairs[:, 0] != pairs[:, 1]) & ~np.isin(codes, links[:, 0] * n_nodes + links[:, 1])
        links = np.concatenate([links, pairs[is_new]])
        free = np.concatenate([pairs[~is_new].ravel(), free[len(free) // 2 * 2 :]])
    return links


def _sorted_links(links: Int64s, n_nodes: int) -> Int64s:
    codes = np.unique(links.min(axis=1) * n_nodes + links.max(axis=1))
    return np.stack(np.divmod(codes, n_nodes), axis=1)


def _unpacked(words: UInt64s, n_bits: int) -> Bools:
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, :n_bits].astype(np.bool_)
