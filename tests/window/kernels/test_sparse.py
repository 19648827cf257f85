"""Kernels for sparse vectors: tails, bounds, scores, pools that run out of room, checks that notice damage."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.kernels.array import Floats
from skyband.topk.kernels.candidate import make_candidates
from skyband.topk.kernels.score import COSINE, Contents, score_pair
from skyband.window.kernels.sparse import (
    CROWDED,
    LEVELS,
    LISTED,
    SAFE,
    SLOT,
    SparseLists,
    adjust,
    check_index,
    copy_lists,
    enlist,
    leave,
    make_lists,
    make_reading,
    match,
    plan,
    slack_of,
)
from skyband.window.sparse import SparseIndex

DIMS = 30


def norms_of(vectors: Floats) -> Floats:
    total = np.zeros(len(vectors))
    for column in vectors.T:
        total += column * column
    return np.sqrt(total)


def contents_of(points: Floats) -> Contents:
    nothing = np.zeros(0, np.int64)
    point = np.ascontiguousarray(points.T)
    return Contents(point, norms_of(points), nothing, nothing, nothing, nothing, np.zeros(0), 1.0)


def some_vectors(random: np.random.Generator, n: int, share: float = 0.15) -> Floats:
    vectors = random.normal(size=(n, DIMS)) * (random.random((n, DIMS)) < share)
    vectors[:, 0] += 0.1
    return vectors


def index_of(vectors: Floats, gate: float) -> SparseLists:
    n, index = len(vectors), SparseIndex(DIMS)
    index.add(np.arange(n), np.full(n, COSINE, np.int8), vectors, vectors, norms_of(vectors), np.full(n, gate))
    return index._index


def rank_of(index: SparseLists) -> npt.NDArray[np.int64]:
    return np.argsort(index.order.dims)


def test_slack_covers_a_worst_sum() -> None:
    assert slack_of(1) == 1e-12
    # Equal terms of 1/n: every addition rounds, and the error grows with their number.
    for n in (10, 1000, 100_000):
        total = np.add.accumulate(np.full(n, 1.0 / n))[-1]
        assert abs(total - 1.0) < 0.5 * slack_of(n)


def test_tails_are_norms_in_the_global_order() -> None:
    vectors = some_vectors(np.random.default_rng(1), 20)
    index = index_of(vectors, -0.5)
    rank = rank_of(index)
    for slot, vector in enumerate(vectors):
        start, n = index.vectors.start[slot], index.vectors.n_entries[slot]
        ordered = sorted(np.flatnonzero(vector).tolist(), key=lambda j: rank[j])
        unit = vector[ordered] / np.linalg.norm(vector)
        tails = [np.linalg.norm(unit[k:]) for k in range(n)]
        assert index.vectors.tail[start : start + n] == pytest.approx(tails, rel=1e-14)


def test_rare_dimensions_come_first() -> None:
    index = index_of(some_vectors(np.random.default_rng(2), 40), -0.5)
    counts = index.order.seen[index.order.dims]
    assert (np.diff(counts) >= 0).all()
    assert index.order.dims[-1] == 0
    assert index.order.share[0] == 1.0


def test_what_is_listed_is_what_can_be_reached() -> None:
    vectors = some_vectors(np.random.default_rng(3), 60)
    index = index_of(vectors, -0.6)
    rank, homes, lists = rank_of(index), index.homes, index.lists
    postings = {(int(lists.who[at, SLOT]), of) for of in range(DIMS * LEVELS) for at in _postings(index, of)}
    listed = np.flatnonzero(homes.home == LISTED)
    assert len(listed) > 40
    for slot in listed.tolist():
        ordered = sorted(np.flatnonzero(vectors[slot]).tolist(), key=lambda j: rank[j])
        unit, bar = vectors[slot][ordered] / np.linalg.norm(vectors[slot]), homes.bar[slot]
        tails = [np.linalg.norm(unit[k:]) for k in range(len(unit))]
        expected = [(ordered[k], tail) for k, tail in enumerate(tails) if tail >= bar]
        own = sorted(of for owner, of in postings if owner == slot)
        assert own == sorted(j * LEVELS + min(LEVELS - 1, int(bar / tail * LEVELS)) for j, tail in expected)
        assert sum(index.order.share[j] for j, _ in expected) <= CROWDED


def _postings(index: SparseLists, of: int) -> range:
    return range(index.lists.start[of], index.lists.start[of] + index.lists.length[of])


def test_scores_equal_score_pair() -> None:
    random = np.random.default_rng(4)
    vectors, points = some_vectors(random, 30), some_vectors(random, 20, share=0.4)
    points[0], vectors[0] = 0.0, 0.0
    points[1], points[2] = -vectors[3], 1e-155 * points[2]
    vectors[4] *= -1e-150
    contents, into = contents_of(points), make_candidates(600)
    assert match(index_of(vectors, np.inf), contents, 0, 20, make_reading(DIMS, 30), into) == 20
    assert into.length[0] == into.counts[0] == 600
    for slot, p, directed in zip(into.slot.tolist(), into.publication.tolist(), into.directed.tolist(), strict=True):
        norm, point_norm = norms_of(vectors[slot : slot + 1])[0], contents.norm[p]
        wanted = score_pair(COSINE, vectors[slot], vectors[slot], norm, points[p], point_norm)
        assert np.float64(directed).tobytes() == np.float64(wanted).tobytes()


def test_a_publication_without_room_leaves_no_trace() -> None:
    random = np.random.default_rng(5)
    vectors, points = some_vectors(random, 10), some_vectors(random, 4)
    index, contents, reading = index_of(vectors, np.inf), contents_of(points), make_reading(DIMS, 10)
    seen = index.order.seen.copy()
    into = make_candidates(29)
    assert match(index, contents, 0, 4, reading, into) == 2
    assert (into.length[0], into.counts[0]) == (20, 20)
    assert (index.order.seen == seen + (points[:2] != 0.0).sum(axis=0)).all()
    assert not reading.dense.any()
    into = make_candidates(20)
    assert match(index, contents, 2, 4, reading, into) == 4
    assert into.publication.tolist() == [2] * 10 + [3] * 10


def test_small_publications_meet_everybody() -> None:
    vectors = some_vectors(np.random.default_rng(6), 12)
    points = np.zeros((2, DIMS))
    points[:, 0] = SAFE / 2.0, 2.0 * SAFE
    into = make_candidates(24)
    match(index_of(vectors, -2.0), contents_of(points), 0, 1, make_reading(DIMS, 12), into)
    assert into.counts[0] == 12
    match(index_of(vectors, -2.0), contents_of(points), 1, 2, make_reading(DIMS, 12), into)
    assert into.counts[0] == 12


def test_a_full_pool_stops_listing() -> None:
    index = index_of(some_vectors(np.random.default_rng(7), 20), -np.inf)
    check_index(index)
    slots, moved = np.arange(20), np.zeros(20, np.int64)
    assert adjust(slots, np.full(20, -0.7), index, moved) == 20
    leave(moved, index)
    plan(moved, index)
    full = index._replace(lists=make_lists(np.zeros(DIMS * LEVELS, np.int64), 3))
    assert enlist(moved, 0, full) == 0
    assert full.lists.end[0] == full.lists.length.sum() == 0
    lists = make_lists(np.zeros(DIMS * LEVELS, np.int64), 40)
    done = enlist(moved, 0, index._replace(lists=lists))
    assert 0 < done < 20
    longer = make_lists(lists.capacity.copy(), 2000)
    copy_lists(lists, longer)
    index = index._replace(lists=longer)
    assert enlist(moved, done, index) == 20
    check_index(index)


def test_a_slot_that_is_named_twice_leaves_once() -> None:
    index = index_of(some_vectors(np.random.default_rng(7), 5), -0.5)
    moved = np.zeros(4, np.int64)
    assert adjust(np.array([1, 3, 1, 2]), np.array([-0.9, -0.51, np.inf, 0.0]), index, moved) == 2
    assert moved.tolist()[:2] == [1, 2]
    assert index.homes.gate[1] == np.inf


def _swap_postings(index: SparseLists) -> None:
    of = int(np.argmax(index.lists.length))
    at = index.lists.start[of]
    index.lists.who[[at, at + 1]] = index.lists.who[[at + 1, at]]


def _move_gate(index: SparseLists) -> None:
    index.homes.gate[3] = -0.99


def _lose_posting(index: SparseLists) -> None:
    index.lists.length[np.argmax(index.lists.length)] -= 1


def _take_seat(index: SparseLists) -> None:
    index.n_everywhere[0] += 1


def _change_order(index: SparseLists) -> None:
    index.order.dims[:] = index.order.dims[::-1].copy()


@pytest.mark.parametrize("damage", [_swap_postings, _move_gate, _lose_posting, _take_seat, _change_order])
def test_the_check_notices_damage(damage) -> None:  # type: ignore[no-untyped-def]  # one of the functions above
    index = index_of(some_vectors(np.random.default_rng(8), 40), -0.6)
    check_index(index)
    damage(index)
    with pytest.raises(AssertionError):
        check_index(index)
