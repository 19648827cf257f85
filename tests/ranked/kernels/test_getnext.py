"""The one contract: all indexes hand out the same parts in the same order, and a search opens few leaves."""

from typing import Any

import numpy as np
import pytest

from skyband.kernels.array import Int32s
from skyband.kernels.simd import LANES
from skyband.ranked.arrange import arrange, finished, score_order
from skyband.ranked.intervaltree import IntervalForest
from skyband.ranked.irtree import IrForest
from skyband.ranked.kernels.getnext import first_parts
from skyband.ranked.kernels.packed import LEAVES, next_packed, open_packed
from skyband.ranked.kernels.parts import END, HI, LO, Parts
from skyband.ranked.packed import PackedForest
from skyband.ranked.segmenttree import SegmentForest
from tests.ranked.kernels.intervals import (
    CASES,
    ROUND_CASES,
    Case,
    bury,
    disjoint,
    drawn,
    lattice,
    make_parts,
    stabbed,
    values_for,
)


def bulk_ir(parts: Parts, ids: Int32s, n_dims: int) -> IrForest:
    forest = IrForest(n_dims)
    forest.bulk(parts, ids)
    return forest


def packed_by_score(parts: Parts, ids: Int32s, n_dims: int) -> PackedForest:
    return finished(PackedForest.packed(parts, finished(score_order(parts, ids, n_dims))))


def packed_best(parts: Parts, ids: Int32s, n_dims: int) -> PackedForest:
    return finished(PackedForest.packed(parts, finished(arrange(parts, ids, n_dims))))


FORESTS: dict[str, Any] = {
    "sopt": packed_best,
    "r": packed_by_score,
    "ir": bulk_ir,
    "segment": SegmentForest.build,
    "interval": IntervalForest.build,
}


@pytest.mark.parametrize("n", [1, 33, 300])
@pytest.mark.parametrize("case", CASES)
def test_all_indexes_give_the_same_lists(case: Case, n: int) -> None:
    random = np.random.default_rng(n)
    parts = make_parts(case, random, n, 2, n_keys=4)
    ids = random.permutation(len(parts.fact)).astype(np.int32)
    for dim in range(2):
        values = values_for(parts, random)[:: 1 if n < 300 else 6]
        wanted = [stabbed(parts, ids, dim, value) for value in values]
        for name, build in FORESTS.items():
            forest = build(parts, ids, 2)
            forest.check(parts)
            found = np.zeros((len(values), n + 1), np.int32)
            first_parts(forest.tree, parts, dim, np.array(values), np.zeros(forest.width, np.int64), found)
            got = [row[: row.index(END)] for row in found.tolist()]
            assert got == wanted, name


def leaves_for(forest: PackedForest, parts: Parts, value: float, k: int) -> tuple[int, int]:
    """How many leaves a search for the first k parts opens, and how many of these it finds."""
    cursor = np.zeros(forest.width, np.int64)
    open_packed(forest.tree, 0, value, value, cursor)
    n_found = 0
    while n_found < k and (part := next_packed(forest.tree, parts, cursor)) != END:
        n_found += bool(parts.fact[part, LO] <= value <= parts.fact[part, HI])
    return int(cursor[LEAVES]), n_found


@pytest.mark.parametrize("case", [*ROUND_CASES, "scattered"])
@pytest.mark.parametrize("n_keys", [1, 5, 10**6])
def test_a_search_of_the_sopt_r_tree_opens_at_most_2k_leaves(case: Any, n_keys: int) -> None:
    random = np.random.default_rng(n_keys)
    n = 40 * LANES
    # Ends that 32 bits hold: then nothing is just missed, and the theorem is about these very intervals.
    by_case = (
        case
        if case != "scattered"
        else lambda random, n: tuple(np.sort(random.integers(0, 2**20, (2, n)) / 2.0**20, axis=0))
    )
    parts = make_parts(by_case, random, n, 1, n_keys)
    parts.fact[:, : HI + 1] = parts.fact[:, : HI + 1].astype(np.float32)
    forest = packed_best(parts, np.arange(n, dtype=np.int32), 1)
    # A value between two such numbers is taken for both, so values are such numbers, too.
    values = np.unique(np.clip(values_for(parts, random), -1e38, 1e38).astype(np.float32))
    for value in values.tolist()[::7]:
        for k in (1, 2, 7, 50):
            n_leaves, n_found = leaves_for(forest, parts, value, k)
            assert n_leaves <= (2 * k if n_found == k else 2 * n_found + 1), (value, k)


def test_the_scored_r_tree_opens_more() -> None:
    """What the arrangement is for: by score alone, parts that are far from one another share every leaf."""
    random = np.random.default_rng(5)
    n = 40 * LANES
    parts = make_parts(disjoint, random, n, 1, 10**6)
    ids = np.arange(n, dtype=np.int32)
    best, by_score = packed_best(parts, ids, 1), packed_by_score(parts, ids, 1)
    values = parts.fact[:200, LO].tolist()
    opened = [sum(leaves_for(forest, parts, value, 1)[0] for value in values) for forest in (best, by_score)]
    assert opened[0] <= 2 * len(values) < opened[1] / 4


@pytest.mark.jit_only
def test_a_packed_forest_takes_little_memory() -> None:
    parts = make_parts(lattice, np.random.default_rng(2), 20_000, 1, 5)
    forest = packed_best(parts, np.arange(20_000, dtype=np.int32), 1)
    # 12 bytes for a part, and 8 for each leaf of 32 and each node above.
    assert forest.n_bytes <= 20_000 * (12 + 8 / (LANES - 1)) + 4 * 8 * LANES + 100


def test_an_interval_event_meets_all_that_overlap_it_in_order_of_score() -> None:
    random = np.random.default_rng(4)
    parts = make_parts(lattice, random, 200, 1, 6)
    ids = np.arange(200, dtype=np.int32)
    forest = packed_by_score(parts, ids, 1)
    cursor = np.zeros(forest.width, np.int64)
    for low, high in ((0.0, 0.0), (2.5, 4.0), (-5.0, 50.0), (16.5, 99.0)):
        open_packed(forest.tree, 0, low, high, cursor)
        met = parts._replace(fact=parts.fact.copy())
        bury(met, ids[(parts.fact[:, LO] > high) | (parts.fact[:, HI] < low)])
        met.fact[met.fact[:, LO] <= met.fact[:, HI], : HI + 1] = 0.0
        assert drawn(next_packed, forest.tree, parts, cursor) == stabbed(met, ids, 0, 0.0)
