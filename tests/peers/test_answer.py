"""Equal answers pass, and a planted wrong one is found."""

import numpy as np
import pytest

from bench.peers.answer import Answer, best, matched, ranked, recall, require_same
from skyband.bench.runner import WrongAnswer
from skyband.kernels.array import Floats, Int64s

# Publication i lies at i / 4, and every subscription at 0.
PLACES = np.arange(8) / 4.0


def distance(asker: Int64s, item: Int64s) -> Floats:
    """The score of a pair, from the data."""
    return PLACES[item] + 0.0 * asker


def nearest(*items: int) -> Answer:
    """The answer to subscription 0 and to subscription 1, with these items for each of them."""
    asker, item = np.repeat([0, 1], len(items)), np.tile(np.array(items, np.int64), 2)
    return Answer(asker, item, PLACES[item])


def require(theirs: Answer, ours: Answer, tolerance: float = 1e-9, oldest: int = 0) -> None:
    require_same(theirs, ours, distance, tolerance, oldest, "test")


def test_equal_answers_pass() -> None:
    require(nearest(1, 2), nearest(1, 2))


@pytest.mark.parametrize("wrong", [(1, 3), (2, 1), (1, 1), (1,), (1, 2, 3), ()])
def test_a_planted_wrong_answer_is_found(wrong: tuple[int, ...]) -> None:
    with pytest.raises(WrongAnswer, match=r"test: the answers differ"):
        require(nearest(*wrong), nearest(1, 2))


def test_a_claimed_score_helps_nobody() -> None:
    lying = nearest(1, 3)._replace(score=nearest(1, 2).score)
    with pytest.raises(WrongAnswer, match="0 is answered with 3, and 2 was expected"):
        require(lying, nearest(1, 2))


def test_what_is_as_good_within_the_tolerance_passes() -> None:
    require(nearest(1, 3), nearest(1, 2), tolerance=0.25)
    with pytest.raises(WrongAnswer):
        require(nearest(1, 4), nearest(1, 2), tolerance=0.25)


def test_the_same_item_twice_is_wrong_however_good() -> None:
    with pytest.raises(WrongAnswer):
        require(nearest(2, 2), nearest(1, 2), tolerance=0.25)


def test_what_has_expired_is_wrong_however_good() -> None:
    with pytest.raises(WrongAnswer):
        require(nearest(1, 2), nearest(2, 3), tolerance=0.25, oldest=2)


def test_without_scores_every_item_has_to_be_the_same() -> None:
    ours = matched(np.array([0, 0]), np.array([2, 1]))
    assert ours.item.tolist() == [1, 2]
    require_same(ours, ours, None, 1.0, 0, "test")
    with pytest.raises(WrongAnswer):
        require_same(ours._replace(item=np.array([1, 3])), ours, None, 1.0, 0, "test")


def test_a_score_that_is_no_number_is_wrong() -> None:
    with pytest.raises(WrongAnswer):
        require_same(nearest(1, 3), nearest(1, 2), lambda asker, item: np.full(len(item), np.nan), 9.0, 0, "test")


@pytest.mark.parametrize("ascending", [True, False])
def test_the_best_are_those_of_a_sort(ascending: bool) -> None:
    random = np.random.default_rng(7)
    for n in (0, 1, 40):
        asker, item = random.integers(5, size=n), np.arange(n)
        score = random.integers(4, size=n).astype(np.float64)
        rows = sorted(zip(asker, score if ascending else -score, -item, strict=True))
        expected = [(a, -i) for at, (a, _, i) in enumerate(rows) if sum(other[0] == a for other in rows[:at]) < 3]
        found = best(asker, item, score, 3, ascending=ascending)
        assert list(zip(found.asker, found.item, strict=True)) == expected
        assert ranked(asker, item, score, ascending=ascending).n == n


def test_recall_is_the_share_that_was_found() -> None:
    assert recall(nearest(1, 2), nearest(1, 2)) == 1.0
    assert recall(nearest(1, 7), nearest(1, 2)) == 0.5
    assert recall(nearest(), nearest(1, 2)) == 0.0
