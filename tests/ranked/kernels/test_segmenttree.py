"""Segment trees against a look at every part."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.ranked import segmenttree
from skyband.ranked.kernels.parts import CRAMPED, END, Parts
from skyband.ranked.kernels.segmenttree import next_segment, open_segment
from skyband.ranked.segmenttree import SegmentForest
from tests.ranked.kernels.intervals import CASES, Case, bury, drawn, lattice, make_parts, nested, stabbed, values_for


def assert_right(parts: Parts, ids: npt.NDArray[np.int32], n_dims: int, random: np.random.Generator) -> None:
    forest = SegmentForest.build(parts, ids, n_dims)
    forest.check(parts)
    assert forest.n == len(ids)
    assert forest.n_bytes == SegmentForest.estimate(parts, ids, n_dims)
    cursor = np.full(forest.width, -99, np.int64)
    for dim in range(n_dims):
        for value in values_for(parts, random):
            assert open_segment(forest.tree, dim, value, value, cursor) == 0
            assert drawn(next_segment, forest.tree, parts, cursor) == stabbed(parts, ids, dim, value), (dim, value)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("case", CASES)
def test_gives_what_a_value_meets_in_order(case: Case, n: int) -> None:
    random = np.random.default_rng(n)
    parts = make_parts(case, random, n, 1, n_keys=5)
    assert_right(parts, random.permutation(n).astype(np.int32), 1, random)


@pytest.mark.parametrize("n_keys", [1, 1000])
def test_every_dimension_has_a_tree_of_its_own(n_keys: int) -> None:
    random = np.random.default_rng(n_keys)
    parts = make_parts(lattice, random, 40, 3, n_keys)
    ids = random.permutation(len(parts.fact))[:60].astype(np.int32)
    assert_right(parts, ids[parts.dim[ids] != 1], 4, random)


def test_without_parts_there_is_nothing() -> None:
    parts = make_parts(lattice, np.random.default_rng(0), 5, 1, 5)
    forest = SegmentForest.build(parts, np.empty(0, np.int32), 2)
    forest.check(parts)
    cursor = np.zeros(forest.width, np.int64)
    for dim in range(3):
        assert open_segment(forest.tree, dim, 1.0, 1.0, cursor) == 0
        assert next_segment(forest.tree, parts, cursor) == END
    assert SegmentForest.estimate(parts, np.empty(0, np.int32)) == 8 + 4


def test_the_dead_are_left_out_and_may_be_returned_later() -> None:
    random = np.random.default_rng(3)
    parts = make_parts(lattice, random, 40, 1, 5)
    ids = random.permutation(40).astype(np.int32)
    bury(parts, ids[:5])
    forest = SegmentForest.build(parts, ids, 1)
    before = parts._replace(fact=parts.fact.copy())
    bury(parts, ids[5:15])
    forest.check(parts)
    assert forest.n == 35
    cursor = np.zeros(forest.width, np.int64)
    for value in values_for(before, random):
        open_segment(forest.tree, 0, value, value, cursor)
        assert drawn(next_segment, forest.tree, parts, cursor) == stabbed(before, ids, 0, value)


def test_a_cursor_can_be_too_short() -> None:
    parts = make_parts(nested, np.random.default_rng(0), 40, 1, 5)
    tree = SegmentForest.build(parts, np.arange(40, dtype=np.int32), 1).tree
    cursor = np.zeros(4, np.int64)
    assert open_segment(tree, 0, 0.5, 0.5, cursor) == CRAMPED
    assert next_segment(tree, parts, cursor) == END


def test_refuses_what_its_offsets_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenttree, "MOST_PIECES", 3)
    parts = make_parts(nested, np.random.default_rng(0), 40, 1, 5)
    with pytest.raises(MemoryError, match="it can have 3 at most"):
        SegmentForest.build(parts, np.arange(40, dtype=np.int32), 1)
