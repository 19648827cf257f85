"""What was delivered to whom, against a set of pairs."""

import numpy as np
import pytest

from skyband.topk.earlier_deliveries import EarlierDeliveries


def pairs(earlier: EarlierDeliveries) -> set[tuple[int, int]]:
    turns, items = earlier.pairs()
    return set(zip(turns.tolist(), items.tolist(), strict=True))


def test_before_anything_is_retracted_everything_is_new() -> None:
    earlier = EarlierDeliveries()
    assert earlier.take(np.array([1, 2]), np.array([5, 5])).all()
    assert (earlier.size, pairs(earlier)) == (2, {(1, 5), (2, 5)})
    earlier.recall()
    earlier.recall()
    assert pairs(earlier) == {(1, 5), (2, 5)}
    assert earlier.take(np.array([1, 1, 3]), np.array([5, 6, 5])).tolist() == [False, True, True]


@pytest.mark.parametrize("recalls_from", [0, 7, 40])
def test_against_a_set(recalls_from: int) -> None:
    random = np.random.default_rng(recalls_from)
    earlier, wanted = EarlierDeliveries(), set[tuple[int, int]]()
    for turn in range(60):
        if turn == recalls_from:
            earlier.recall()
        given = {(int(a), int(b)) for a, b in random.integers(0, 40, (random.integers(0, 80), 2))}
        new = sorted(given - wanted if turn < recalls_from else given)
        columns = np.array(new, np.int64).reshape(-1, 2)
        fresh = earlier.take(columns[:, 0].copy(), columns[:, 1].copy())
        assert fresh.tolist() == [pair not in wanted for pair in new]
        wanted |= set(new)
        if turn % 7 == 3:
            earlier.forget(np.array([3, turn % 40]))
            wanted = {pair for pair in wanted if pair[0] not in (3, turn % 40)}
        if turn % 11 == 5:
            earlier.sift(turn % 20, np.arange(30))
            wanted = {pair for pair in wanted if pair[1] >= turn % 20 and pair[0] < 30}
        earlier.check()
        assert pairs(earlier) == wanted


def test_sifting_is_due_when_there_is_half_as_much_again() -> None:
    earlier = EarlierDeliveries()
    items = np.arange(2000)
    earlier.take(items, items)
    assert earlier.is_due
    earlier.sift(500, items)
    assert (earlier.size, earlier.is_due) == (1500, False)
    earlier.take(items[:800], items[:800] + 5000)
    assert earlier.is_due
    assert earlier.n_bytes >= 16 * earlier.size


@pytest.mark.parametrize("recalls", [False, True])
def test_noting_what_is_first(recalls: bool) -> None:
    earlier = EarlierDeliveries()
    earlier.take(np.array([1, 2]), np.array([5, 5]))
    if recalls:
        earlier.recall()
    turns, items = (np.array([1, 2, 3, 4]), np.array([5, 6, 6, 6])) if recalls else (np.arange(3, 7), np.full(4, 6))
    first = np.array([True, True, False, True])
    assert earlier.note(turns, items, first, 3) == (2 if recalls else 3)
    assert first.tolist() == [not recalls, True, False, True]
    noted = zip(turns.tolist(), items.tolist(), (True, True, False, True), strict=True)
    assert pairs(earlier) == {(1, 5), (2, 5), *((turn, item) for turn, item, is_first in noted if is_first)}
