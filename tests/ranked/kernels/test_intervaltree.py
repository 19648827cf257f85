"""Interval trees against a look at every part, whose ends are rounded outward."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.ranked.intervaltree import IntervalForest
from skyband.ranked.kernels.intervaltree import CENTRE, CHUNK, n_levels, next_interval, open_interval
from skyband.ranked.kernels.parts import CRAMPED, END, HI, LO, Parts, rounded_down, rounded_up
from tests.ranked.kernels.intervals import (
    CASES,
    Case,
    bury,
    disjoint,
    drawn,
    equal,
    lattice,
    make_parts,
    nested,
    scattered,
    stabbed,
    values_for,
)


def rounded(parts: Parts) -> Parts:
    """The same parts with the ends that the tree holds."""
    fact = parts.fact.copy()
    fact[:, LO], fact[:, HI] = rounded_down(fact[:, LO]), rounded_up(fact[:, HI])
    return parts._replace(fact=fact)


def assert_gives(
    forest: IntervalForest, parts: Parts, ids: npt.NDArray[np.int32], dim: int, values: list[float]
) -> None:
    cursor = np.full(forest.width, -99, np.int64)
    outward = rounded(parts)
    for value in values:
        assert open_interval(forest.tree, dim, value, value, cursor) == 0
        found = drawn(next_interval, forest.tree, parts, cursor)
        assert found == stabbed(outward, ids, dim, value), (dim, value)
        exact = [part for part in found if parts.fact[part, LO] <= value <= parts.fact[part, HI]]
        assert exact == stabbed(parts, ids, dim, value), (dim, value)


def assert_right(parts: Parts, ids: npt.NDArray[np.int32], n_dims: int, random: np.random.Generator) -> None:
    forest = IntervalForest.build(parts, ids, n_dims)
    forest.check(parts)
    assert forest.n == len(ids)
    for dim in range(n_dims):
        assert_gives(forest, parts, ids, dim, values_for(parts, random))


@pytest.mark.parametrize("n", [1, 2, 16, 17, 150])
@pytest.mark.parametrize("case", CASES)
def test_gives_what_a_value_meets_in_order(case: Case, n: int) -> None:
    random = np.random.default_rng(n)
    parts = make_parts(case, random, n, 1, n_keys=5)
    assert_right(parts, random.permutation(n).astype(np.int32), 1, random)


@pytest.mark.parametrize("n_keys", [1, 1000])
def test_every_dimension_has_a_tree_of_its_own(n_keys: int) -> None:
    random = np.random.default_rng(n_keys)
    parts = make_parts(scattered, random, 70, 3, n_keys)
    ids = random.permutation(len(parts.fact))[:120].astype(np.int32)
    assert_right(parts, ids[parts.dim[ids] != 1], 4, random)


def test_without_parts_there_is_nothing() -> None:
    parts = make_parts(lattice, np.random.default_rng(0), 5, 1, 5)
    forest = IntervalForest.build(parts, np.empty(0, np.int32), 2)
    forest.check(parts)
    cursor = np.zeros(forest.width, np.int64)
    for dim in range(3):
        assert open_interval(forest.tree, dim, 1.0, 1.0, cursor) == 0
        assert next_interval(forest.tree, parts, cursor) == END


def test_passes_over_more_than_a_chunk() -> None:
    parts = make_parts(nested, np.random.default_rng(0), 5 * CHUNK, 1, 5)
    ids = np.arange(5 * CHUNK, dtype=np.int32)
    forest = IntervalForest.build(parts, ids, 1)
    assert_gives(forest, parts, ids, 0, [-5.0 * CHUNK, 5.0 * CHUNK, 5 * CHUNK - 3.5, 4.0 * CHUNK, 0.0])


def test_a_bucket_may_hold_nothing_that_is_met() -> None:
    parts = make_parts(disjoint, np.random.default_rng(0), 5, 1, 5)
    ids = np.arange(5, dtype=np.int32)
    assert_gives(IntervalForest.build(parts, ids, 1), parts, ids, 0, [1.5, 3.5, 4.0])


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_the_dead_are_left_out_and_may_be_returned_later(share: float) -> None:
    random = np.random.default_rng(int(share * 20))
    parts = make_parts(lattice, random, 150, 1, n_keys=4)
    ids = random.permutation(150).astype(np.int32)
    n_dead = int(share * 75)
    bury(parts, ids[:n_dead])
    forest = IntervalForest.build(parts, ids, 1)
    before = parts._replace(fact=parts.fact.copy())
    bury(parts, ids[n_dead : 2 * n_dead])
    forest.check(parts)
    assert forest.n == 150 - n_dead
    cursor = np.zeros(forest.width, np.int64)
    for value in values_for(before, random):
        open_interval(forest.tree, 0, value, value, cursor)
        assert drawn(next_interval, forest.tree, parts, cursor) == stabbed(before, ids, 0, value)


def test_a_cursor_can_be_too_short() -> None:
    random = np.random.default_rng(0)
    parts = make_parts(scattered, random, 150, 1, 5)
    tree = IntervalForest.build(parts, np.arange(150, dtype=np.int32), 1).tree
    value, cursor = float(tree.extent[0, CENTRE]) + 0.02, np.zeros(4, np.int64)
    assert open_interval(tree, 0, value, value, cursor) == CRAMPED
    assert next_interval(tree, parts, cursor) == END


@pytest.mark.parametrize("case", [disjoint, nested, equal])
def test_stays_small_and_flat(case: Case) -> None:
    n = 3000
    parts = make_parts(case, np.random.default_rng(1), n, 1, 5)
    forest = IntervalForest.build(parts, np.arange(n, dtype=np.int32), 1)
    forest.check(parts)
    assert forest.n_bytes <= 17 * n
    assert n_levels(n) == 9
    assert forest.width == 2 + 3 * 9
