"""Stored messages by word and place, against lists of who says what."""

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.topk.kernels.score import Contents
from skyband.topk.kernels.term_store import (
    AXIS_BITS,
    CELLS,
    CODES_WANTED,
    COUNT,
    LARGEST,
    LAST_CELL,
    LOW,
    MESSAGE,
    MIDDLE,
    SAID,
    SIZE_BITS,
    START,
    STEPS,
    TERMS_DONE,
    USED,
    USED_NODES,
    WEIGHT,
    TermTrees,
    bucket_of,
    cell_of,
    check_trees,
    forget,
    insert,
    make_trees,
    repack,
    room_of,
)

UNIT = (0.0, 0.0, 1.0, 1.0)
NOTHING = np.zeros(0, np.int64)


def _contents(points: Floats, bags: list[list[int]], rng: np.random.Generator) -> Contents:
    """Messages with these terms, and weights of unit length."""
    counts = np.array([len(bag) for bag in bags], np.int64)
    weights = [part / np.linalg.norm(part) for part in (rng.uniform(0.1, 1.0, len(bag)) for bag in bags)]
    terms = np.array([term for bag in bags for term in bag], np.int64)
    return Contents(
        np.ascontiguousarray(points.T),
        np.zeros(len(bags)),
        np.full(len(bags), -1),
        np.cumsum(counts) - counts,
        counts,
        terms,
        np.concatenate([np.zeros(0), *weights]),
        1.0,
    )


def _bags(rng: np.random.Generator, n: int, n_words: int, most: int) -> list[list[int]]:
    return [rng.permutation(n_words)[: rng.integers(0, most + 1)].tolist() for _ in range(n)]


def _trees(n_codes: int, most: int, bounds: tuple[float, float, float, float] = UNIT, room: int = 5000) -> TermTrees:
    return make_trees(bounds, most)._replace(
        words=np.zeros((n_codes, 4), np.int32),
        nodes=np.zeros((room, 4), np.int32),
        cells=np.zeros((room // 4, 3), np.int64),
        entries=np.zeros((room, 2), np.int64),
    )


def _by_word(bags: list[list[int]], first: int, base: int = 0) -> dict[int, list[int]]:
    """The numbers of the messages from `first` on, by word."""
    found: dict[int, list[int]] = {}
    for i in range(first, len(bags)):
        for term in bags[i]:
            found.setdefault(term, []).append(base + i)
    return found


@pytest.mark.parametrize("most", [2, 4, 16])
@pytest.mark.parametrize("n_words", [1, 6, 60])
def test_a_window_that_moves(n_words: int, most: int) -> None:
    rng = np.random.default_rng([n_words, most])
    bags = _bags(rng, 240, n_words, 4)
    contents = _contents(rng.random((240, 2)) ** 3, bags, rng)
    trees = _trees(n_words, most)
    oldest = hi = 0
    while hi < 240:
        end = min(240, hi + int(rng.integers(0, 30)))
        assert insert(trees, contents, 0, hi, end) == end
        hi = end
        assert check_trees(trees, oldest) == _by_word(bags[:hi], oldest)
        until = int(rng.integers(max(oldest, hi - 90), hi + 1))
        forget(trees, contents, 0, oldest, until)
        oldest = until
        assert check_trees(trees, oldest) == _by_word(bags[:hi], oldest)
    forget(trees, contents, 0, oldest, 240)
    assert check_trees(trees, 240) == {}
    assert not trees.words[:, COUNT].any()


@pytest.mark.parametrize("base", [0, 2**31 - 30, 2**32 - 30, 2**40])
def test_numbers_are_kept_modulo_a_power_of_two(base: int) -> None:
    rng = np.random.default_rng(1)
    bags = _bags(rng, 60, 3, 3)
    contents = _contents(rng.random((60, 2)), bags, rng)
    trees = _trees(3, 4)
    assert insert(trees, contents, base, 0, 60) == 60
    assert check_trees(trees, base) == _by_word(bags, 0, base)
    for lo in range(0, 60, 6):
        forget(trees, contents, base, lo, lo + 6)
        assert check_trees(trees, base + lo + 6) == _by_word(bags, lo + 6, base)


def test_a_crowd_at_one_place_is_one_leaf() -> None:
    rng = np.random.default_rng(2)
    bags = [[0]] * 100
    contents = _contents(np.full((100, 2), 0.3), bags, rng)
    trees = _trees(1, 8)
    assert insert(trees, contents, 0, 0, 100) == 100
    assert check_trees(trees, 0) == {0: list(range(100))}
    leaves = trees.nodes[(trees.nodes[:, COUNT] > 0) & (trees.nodes[:, START] >= 0)]
    assert leaves[:, COUNT].tolist() == [100]
    assert room_of(int(leaves[0, LARGEST])) == 128
    assert trees.state[USED_NODES] == 4 + 4 * AXIS_BITS
    forget(trees, contents, 0, 0, 99)
    assert check_trees(trees, 99) == {0: [99]}
    assert trees.words[0, START] >= 0


def test_what_an_entry_says() -> None:
    """Weights are rounded up; the sketch has the largest level of the words in each bucket."""
    rng = np.random.default_rng(3)
    bags = _bags(rng, 50, 80, 12)
    points = rng.random((50, 2))
    contents = _contents(points, bags, rng)
    trees = _trees(80, 64)
    assert insert(trees, contents, 0, 0, 50) == 50
    for code, numbers in check_trees(trees, 0).items():
        row = trees.words[code]
        for entry, number in zip(trees.entries[row[START] : row[START] + row[COUNT]], numbers, strict=True):
            terms = contents.terms[contents.term_start[number] :][: contents.term_count[number]]
            weights = contents.term_weights[contents.term_start[number] :][: contents.term_count[number]]
            weight = float(weights[terms == code][0])
            assert weight <= (entry[SAID] & WEIGHT) / STEPS <= weight + 1.0 / STEPS
            x, y = (points[number] * CELLS).astype(np.int64)
            assert (entry[MESSAGE] >> AXIS_BITS & LAST_CELL, entry[MESSAGE] & LAST_CELL) == (x, y)
            levels = 1 + (weights > LOW) + (weights > MIDDLE)
            for other in range(80):
                same = np.array([bucket_of(int(term)) == bucket_of(other) for term in terms])
                assert entry[SAID] >> bucket_of(other) & 3 == levels[same].max(initial=0)


@pytest.mark.parametrize("bounds", [(-1e150, -1e150, 1e150, 1e150), (0.0, 0.0, 1e-300, 1e-300), (5.0, 5.0, 5.0, 6.0)])
def test_bounds_of_any_size(bounds: tuple[float, float, float, float]) -> None:
    rng = np.random.default_rng(4)
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    points = np.concatenate([low + rng.random((40, 2)) * (high - low), [low, high], [2 * high, low - high]])
    bags = [[0, 1]] * len(points)
    contents = _contents(points, bags, rng)
    trees = _trees(2, 4, bounds)
    assert insert(trees, contents, 0, 0, len(points)) == len(points)
    assert check_trees(trees, 0) == _by_word(bags, 0)
    forget(trees, contents, 0, 0, len(points))
    assert check_trees(trees, len(points)) == {}


def test_cells_are_cut_off_at_the_bounds() -> None:
    assert cell_of(0.5, 0.0, 1.0) == CELLS / 2
    assert [cell_of(x, 0.0, 1.0) for x in (-3.0, 0.0, 1.0, 7.0)] == [0.0, 0.0, CELLS, CELLS]
    assert cell_of(3.0, 3.0, 0.0) == 0.0


def test_without_room_it_goes_on_where_it_stopped() -> None:
    """Whatever runs out, the invariants hold, and nothing is lost or there twice afterwards."""
    rng = np.random.default_rng(5)
    bags = [rng.permutation(9)[:5].tolist() for _ in range(80)]
    contents = _contents(rng.random((80, 2)), bags, rng)
    trees = make_trees(UNIT, 4)
    trees = trees._replace(entries=np.zeros((0, 2), np.int64))
    at, n_stops = 0, 0
    while (at := insert(trees, contents, 0, at, 80)) < 80:
        n_stops += 1
        done = int(trees.state[TERMS_DONE])
        expected = _by_word([*bags[:at], bags[at][:done]], 0)
        assert check_trees(trees, 0) == expected
        if trees.state[CODES_WANTED] > len(trees.words):
            words = np.zeros((int(trees.state[CODES_WANTED]), 4), np.int32)
            words[: len(trees.words)] = trees.words
            trees = trees._replace(words=words)
        elif n_stops % 2:
            trees = trees._replace(entries=np.concatenate([trees.entries, np.zeros((9, 2), np.int64)]))
        else:
            nodes = np.concatenate([trees.nodes, np.zeros((4, 4), np.int32)])
            trees = trees._replace(nodes=nodes, cells=np.concatenate([trees.cells, np.zeros((1, 3), np.int64)]))
    assert n_stops > 20
    assert check_trees(trees, 0) == _by_word(bags, 0)


def test_a_full_pool_puts_merging_off() -> None:
    rng = np.random.default_rng(6)
    bags = [[0]] * 64
    contents = _contents(rng.random((64, 2)), bags, rng)
    trees = _trees(1, 16)
    assert insert(trees, contents, 0, 0, 64) == 64
    trees.free[:] = -1
    full = trees._replace(entries=trees.entries[: trees.state[USED]].copy())
    # Stretches were lost on purpose, so that only rows can be checked.
    for oldest in range(1, 65):
        forget(full, contents, 0, oldest - 1, oldest)
        assert full.words[0, COUNT] == 64 - oldest
    assert full.words[0].tolist() == [0, 0, 0, 0]


def test_repacked_pools_are_without_gaps() -> None:
    rng = np.random.default_rng(7)
    bags = _bags(rng, 150, 12, 6)
    contents = _contents(rng.random((150, 2)), bags, rng)
    trees = _trees(12, 8)
    assert insert(trees, contents, 0, 0, 150) == 150
    forget(trees, contents, 0, 0, 90)
    into = np.zeros_like(trees.entries)
    used = repack(trees.nodes, trees.entries, into, repack(trees.words, trees.entries, into, 0))
    assert used < trees.state[USED]
    trees.state[USED] = used
    trees.free[:] = -1
    trees = trees._replace(entries=into)
    assert check_trees(trees, 90) == _by_word(bags, 90)


def test_the_largest_weight_is_exact_with_ties() -> None:
    rng = np.random.default_rng(8)
    contents = _contents(rng.random((90, 2)), [[0]] * 30 + [[0, 1]] * 60, rng)
    trees = _trees(2, 8)
    assert insert(trees, contents, 0, 0, 90) == 90
    assert trees.words[0, LARGEST] >> SIZE_BITS == STEPS + 1
    forget(trees, contents, 0, 0, 30)
    check_trees(trees, 30)
    assert trees.words[0, LARGEST] >> SIZE_BITS < STEPS


@pytest.mark.parametrize("most", [0, 1, 3, 12])
def test_leaves_hold_a_power_of_two(most: int) -> None:
    with pytest.raises(AssertionError):
        make_trees(UNIT, most)
