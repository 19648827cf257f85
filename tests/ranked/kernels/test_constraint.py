"""The constraint graph and the arrangement against their definitions, and what the paper promises of them."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import skyband.ranked.arrange as driver
from skyband.kernels.array import Floats
from skyband.ranked.arrange import Arrangement, arrange, finished, score_order
from skyband.ranked.kernels.arrangement import arrange_steps, check_ready
from skyband.ranked.kernels.bits import Bits, make_bits, members
from skyband.ranked.kernels.constraint import (
    NOBODY,
    POSITION,
    Graph,
    IntervalPositions,
    ViewBlocks,
    check_blocks,
    check_graph,
    constrain,
    edges_of,
    make_blocks,
    make_graph,
    make_spans,
    rank_ends,
)
from skyband.ranked.kernels.parts import HI, KEY, LO, OWNER, Parts, rounded_down, rounded_up
from skyband.ranked.kernels.radix import Deck

KINDS = [
    "uniform",
    "wide",
    "few",
    "nested",
    "inverted",
    "disjoint",
    "touching",
    "stairs",
    "equal",
    "points",
    "infinite",
]
KINDS += ["huge", "zeros", "flowers"]


def ends_of(kind: str, n: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Intervals that are hard in some way, in the order of their scores."""
    i: Floats = np.arange(n, dtype=np.float64)
    if kind == "nested":
        return i, 2.0 * n - i
    if kind == "inverted":
        return -i, i
    if kind in ("disjoint", "touching"):
        at = random.permutation(2.0 * i)
        return at, at + (1.0 if kind == "disjoint" else 2.0)
    if kind == "stairs":
        return i, i + 5.0
    if kind == "equal":
        return np.full(n, 3.0), np.full(n, 8.0)
    if kind == "points":
        at = random.integers(0, 4, n).astype(np.float64)
        return at, at
    if kind == "flowers":
        # Wide ones now and then, which meet all the small blocks of those before.
        at = random.permutation(2.0 * i)
        wide = i % 10 == 9
        return np.where(wide, -1.0, at), np.where(wide, 2.0 * n, at + 0.5)
    pool = {
        "infinite": [-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf],
        "huge": [-1e308, -1e150, -5e-324, 0.0, 5e-324, 1e150, 1e308],
        "zeros": [-1.0, -0.0, 0.0, 1.0],
        "few": list(range(8)),
    }
    if kind in pool:
        two = random.choice(np.array(pool[kind], np.float64), (2, n))
        return two.min(axis=0), two.max(axis=0)
    low = random.random(n)
    return low, low + random.random(n) * (1.0 if kind == "wide" else 0.05)


def parts_of(low: Floats, high: Floats, key: Floats, n_dims: int, random: np.random.Generator) -> Parts:
    """Parts with distinct owners, whose labels are in no order."""
    n = len(low)
    dim = random.integers(0, n_dims, n).astype(np.int32)
    owner = random.permutation(n)
    label = random.permutation(n).astype(np.int64) * 3 - n
    return Parts(np.column_stack([low, high, key, owner]).reshape(n, 4), dim, key, label)


def random_parts(kind: str, n: int, n_dims: int, seed: int) -> Parts:
    """Parts of a kind, their keys descending, or with many ties, or in no order."""
    random = np.random.default_rng(seed)
    low, high = ends_of(kind, n, random)
    key = [np.arange(n, 0.0, -1.0), random.integers(0, 3, n) * 0.5, random.choice([-0.0, 0.0, np.inf, 1.0], n)]
    return parts_of(low, high, np.asarray(key[seed % 3], np.float64), n_dims, random)


def in_score_order(parts: Parts, ids: npt.NDArray[np.int32], dim: int) -> npt.NDArray[np.int32]:
    """Those of a dimension, best first."""
    ids = ids[parts.dim[ids] == dim]
    fact = parts.fact[ids]
    return ids[np.lexsort((-parts.label[fact[:, OWNER].astype(np.int64)], -fact[:, KEY]))]


def rounded_ends(parts: Parts, ids: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
    """The ends of parts as indexes hold them."""
    low, high = rounded_down(parts.fact[ids, LO]), rounded_up(parts.fact[ids, HI])
    return low.astype(np.float64), high.astype(np.float64)


def naive_edges(low: Floats, high: Floats) -> list[tuple[int, int]]:
    """By the definition: a point of both, an end or between two ends, that is in none of those between."""
    ends = np.unique(np.concatenate([low, high]))
    first, last = 2 * np.searchsorted(ends, low), 2 * np.searchsorted(ends, high)
    position = np.arange(2 * len(ends))
    cover = (first[:, None] <= position) & (position <= last[:, None])
    pairs = []
    for target in range(len(low)):
        seen = cover[target].copy()
        for source in range(target - 1, -1, -1):
            if (seen & cover[source]).any():
                pairs.append((source, target))
            seen &= ~cover[source]
    return sorted(pairs)


def naive_arrangement(low: Floats, pairs: list[tuple[int, int]]) -> list[int]:
    """Algorithm 1, word for word."""
    left, edges, placed = set(range(len(low))), set(pairs), []
    while left:
        blocked = {target for _, target in edges}
        best = min(left - blocked, key=lambda i: (low[i], i))
        placed.append(best)
        left.remove(best)
        edges = {pair for pair in edges if pair[0] != best}
    return placed


class Built(NamedTuple):
    """What Algorithm 2 has made of intervals in one dimension."""

    spans: IntervalPositions
    blocks: ViewBlocks
    graph: Graph
    ready: Bits
    by_left: npt.NDArray[np.int32]


def constrained(low: Floats, high: Floats, steps: int, n_done: int | None = None) -> Built:
    """The first intervals of a row of them, all invariants checked after each slice."""
    n, ends, decks = len(low), np.unique([low, high]), []
    for values in (low, high):
        order = np.argsort(values, kind="stable").astype(np.int32)
        decks.append(Deck(np.searchsorted(ends, values[order]).astype(np.int64), order))
    spans, blocks, graph, ready = make_spans(n), make_blocks(n), make_graph(n), make_bits(n)
    state = np.array([0, 0, 0, -1])
    while rank_ends(np.array([0, n]), decks[0], decks[1], steps, state, spans, blocks):
        pass
    part = IntervalPositions(*(array[:n_done] for array in spans))
    done = 0
    while done < len(part.first):
        done = constrain(part, done, steps, blocks, graph, ready)
        check_graph(graph)
    check_blocks(blocks, spans, len(part.first), int(state[POSITION]) + 1)
    return Built(spans, blocks, graph, ready, decks[0].item)


@pytest.mark.parametrize("steps", [1, 7, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_algorithm_2_and_1(kind: str, steps: int) -> None:
    low, high = ends_of(kind, 40, np.random.default_rng(steps))
    built = constrained(low, high, steps)
    edges = edges_of(built.graph)
    assert edges == naive_edges(low, high)
    assert len(edges) == built.graph.n_edges[0] <= 3 * len(low)
    placed, state = np.empty(len(low), np.int32), np.zeros(3, np.int64)
    more = True
    while more:
        check_ready(built.graph, built.spans, state, built.ready, placed)
        more = arrange_steps(built.graph, built.spans, built.by_left, steps, state, built.ready, placed)
    assert placed.tolist() == naive_arrangement(low, edges)


def test_the_running_example() -> None:
    # The ten intervals of the figures, as far as the text tells their ends; the best is number 1.
    ends = [(30, 50), (75, 100), (45, 55), (65, 90), (0, 30), (0, 30), (75, 100), (65, 90), (10, 45), (30, 100)]
    low, high = np.array(ends, np.float64).T.copy()
    edges = {(source + 1, target + 1) for source, target in edges_of(constrained(low, high, 5).graph)}
    assert {(1, 3), (1, 9), (3, 10)} <= edges
    assert (1, 10) not in edges
    built = constrained(low, high, 5, n_done=7)
    starts = members(built.blocks.start)
    owners = [int(owner) + 1 for owner in built.blocks.owner[starts]]
    # Closed blocks of 6, 1, 3, nobody, 4, 7 and nobody; the point 30 is hidden behind 6.
    assert owners == [6, 1, 3, NOBODY + 1, 4, 7, NOBODY + 1]


@pytest.mark.parametrize("n_dims", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_arrange_and_score_order(kind: str, n_dims: int) -> None:
    for seed in range(3):
        parts = random_parts(kind, 60, n_dims, seed)
        ids = np.random.default_rng(seed).permutation(60)[:50].astype(np.int32)
        check_orders(
            parts, ids, n_dims, finished(score_order(parts, ids, n_dims)), finished(arrange(parts, ids, n_dims))
        )


def check_orders(
    parts: Parts, ids: npt.NDArray[np.int32], n_dims: int, by_score: Arrangement, arranged: Arrangement
) -> None:
    """Both orders of all dimensions are what their definitions say."""
    n_edges = 0
    for dim in range(n_dims):
        expected = in_score_order(parts, ids, dim)
        low, high = rounded_ends(parts, expected)
        edges = naive_edges(low, high)
        n_edges += len(edges)
        assert by_score.part[by_score.start[dim] : by_score.start[dim + 1]].tolist() == expected.tolist()
        there = arranged.part[arranged.start[dim] : arranged.start[dim + 1]]
        assert there.tolist() == expected[naive_arrangement(low, edges)].tolist()
    assert arranged.n_edges == n_edges <= 3 * len(ids)
    assert by_score.n_edges == 0
    assert by_score.start[n_dims] == arranged.start[n_dims] == len(ids)


def points_of(low: Floats, high: Floats) -> Floats:
    """Ends, and points between them and outside of them."""
    ends = np.unique(np.concatenate([low, high, [-1e300, 1e300]]))
    between = [a / 2 + b / 2 for a, b in pairwise(ends.tolist()) if np.isfinite(a) and np.isfinite(b)]
    return np.concatenate([ends[np.isfinite(ends)], between])


def opened(low: Floats, high: Floats, point: float, k: int, width: int) -> tuple[list[int], int]:
    """A search for the first k with a point through leaves of intervals side by side, and how many it opens."""
    found: list[int] = []
    n_opened = 0
    for start in range(0, len(low), width):
        leaf = range(start, min(start + width, len(low)))
        if len(found) < k and min(low[leaf]) <= point <= max(high[leaf]):
            n_opened += 1
            found += [i for i in leaf if low[i] <= point <= high[i]]
    return found[:k], n_opened


@pytest.mark.parametrize("kind", KINDS)
def test_points_meet_intervals_in_order_and_few_holes(kind: str) -> None:
    parts = random_parts(kind, 60, 1, 4)
    ids = np.arange(60, dtype=np.int32)
    order = finished(arrange(parts, ids, 1)).part
    rank = np.empty(60, np.int64)
    rank[in_score_order(parts, ids, 0)] = np.arange(60)
    low, high = rounded_ends(parts, order)
    for point in points_of(low, high)[::3]:
        stabbed = [int(rank[part]) for part in order[(low <= point) & (point <= high)]]
        assert stabbed == sorted(stabbed)
        for k, width in ((1, 4), (3, 2), (100, 5)):
            found, n_opened = opened(low, high, float(point), k, width)
            assert [int(rank[order[i]]) for i in found] == stabbed[:k]
            assert n_opened <= (2 * k if len(found) == k else 2 * len(found) + 1)


def test_a_part_just_missed_does_not_hide_a_better_one() -> None:
    # All ends and values are one number to 32 bits: an index cannot tell them apart.
    random = np.random.default_rng(3)
    low: Floats = 1.0 + random.integers(0, 30, 60).astype(np.float64) * 1e-9
    parts = parts_of(low, low + 3e-9, random.random(60), 1, random)
    ids = np.arange(60, dtype=np.int32)
    order = finished(arrange(parts, ids, 1)).part
    rank = np.empty(60, np.int64)
    rank[in_score_order(parts, ids, 0)] = np.arange(60)
    lows, highs = rounded_ends(parts, order)
    for value in np.unique(parts.fact[:, [LO, HI]]):
        below, above = rounded_down(np.array([value]))[0], rounded_up(np.array([value]))[0]
        hit = order[(lows <= above) & (below <= highs)]
        met = (parts.fact[hit, LO] <= value) & (value <= parts.fact[hit, HI])
        for at in np.flatnonzero(met):
            assert (rank[hit[:at]] < rank[hit[at]]).all()


def test_many_small_steps_make_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, ids = random_parts("flowers", 90, 3, 1), np.arange(90, dtype=np.int32)
    at_once, by_score = finished(arrange(parts, ids, 3)), finished(score_order(parts, ids, 3))
    for width in (1, 17):
        monkeypatch.setattr(driver, "SLICE", width)
        in_steps = finished(arrange(parts, ids, 3))
        assert np.array_equal(in_steps.part, at_once.part)
        assert np.array_equal(in_steps.start, at_once.start)
        assert in_steps.n_edges == at_once.n_edges
        assert np.array_equal(finished(score_order(parts, ids, 3)).part, by_score.part)


def test_parts_may_die_and_change_between_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, ids = random_parts("few", 80, 2, 2), np.arange(80, dtype=np.int32)
    expected = finished(arrange(parts, ids, 2))
    monkeypatch.setattr(driver, "SLICE", 20)
    steps = arrange(parts, ids, 2)
    next(steps)
    parts.fact[:, LO], parts.fact[:, HI], parts.fact[:, KEY], parts.label[:], parts.dim[:], ids[:] = 9, -9, 0, 0, 0, 0
    arranged = finished(steps)
    assert np.array_equal(arranged.part, expected.part)
    assert np.array_equal(arranged.start, expected.start)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("n_dims", [1, 3])
def test_hardly_any_parts(n: int, n_dims: int) -> None:
    parts, ids = random_parts("uniform", n, n_dims, 0), np.arange(n, dtype=np.int32)
    by_score, arranged = finished(score_order(parts, ids, n_dims)), finished(arrange(parts, ids, n_dims))
    check_orders(parts, ids, n_dims, by_score, arranged)
    assert arranged.part.dtype == np.int32
    assert arranged.start.dtype == np.int64
    assert isinstance(arranged.n_edges, int)


@pytest.mark.jit_only
@pytest.mark.parametrize("kind", ["uniform", "wide", "flowers", "infinite"])
def test_many_parts(kind: str) -> None:
    parts = random_parts(kind, 40_000, 3, 1)
    ids = np.arange(40_000, dtype=np.int32)
    by_score, arranged = finished(score_order(parts, ids, 3)), finished(arrange(parts, ids, 3))
    assert arranged.n_edges <= 3 * len(ids)
    for dim in range(3):
        expected = in_score_order(parts, ids, dim)
        there = arranged.part[arranged.start[dim] : arranged.start[dim + 1]]
        assert np.array_equal(by_score.part[by_score.start[dim] : by_score.start[dim + 1]], expected)
        assert np.array_equal(np.sort(there), np.sort(expected))
        rank = np.empty(len(ids), np.int64)
        rank[expected] = np.arange(len(expected))
        low, high = parts.fact[there, LO], parts.fact[there, HI]
        for point in np.random.default_rng(dim).choice(low[np.isfinite(low)], 20):
            assert (np.diff(rank[there[(low <= point) & (point <= high)]]) > 0).all()
