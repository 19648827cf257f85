"""The radix sort against numpy's."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.ranked.kernels.parts import Parts, rounded_down, rounded_up
from skyband.ranked.kernels.radix import (
    DIGITS,
    N_DIGITS,
    Deck,
    check_dealt,
    copy_facts,
    count_digits,
    deal,
    deal_groups,
    make_deck,
    make_facts,
    places,
)

LAST = np.iinfo(np.int64).max


def numbers_of(kind: str, n: int) -> npt.NDArray[np.int64]:
    """Numbers that are hard in some way."""
    random = np.random.default_rng(n)
    if kind == "few":
        return random.integers(-2, 2, n)
    if kind == "extreme":
        return random.choice([-LAST - 1, -LAST, -1, 0, 1, LAST], n)
    if kind == "high":
        return random.integers(-100, 100, n) << 55
    return random.integers(-LAST - 1, LAST, n)


@pytest.mark.parametrize("n", [0, 1, 2, 300])
@pytest.mark.parametrize("kind", ["uniform", "few", "extreme", "high"])
def test_sorts_in_slices(kind: str, n: int) -> None:
    numbers = numbers_of(kind, n)
    deck, spare, counts = make_deck(n), make_deck(n), np.zeros((N_DIGITS, DIGITS), np.int64)
    deck.number[:], deck.item[:] = numbers, np.arange(n)
    for start in range(0, n, 100):
        count_digits(numbers, start, min(start + 100, n), counts)
    for row in range(N_DIGITS):
        place = places(counts, row)
        for start in range(0, n, 70):
            stop = min(start + 70, n)
            deal(deck, row, start, stop, place, spare)
            check_dealt(deck, row, stop, place, spare)
        deck, spare = spare, deck
    assert np.array_equal(deck.item, np.argsort(numbers, kind="stable"))
    assert np.array_equal(deck.number, np.sort(numbers))


def test_deals_by_groups() -> None:
    random = np.random.default_rng(1)
    group = random.integers(0, 5, 200).astype(np.int32) * 2
    deck, dealt = Deck(random.integers(0, 99, 200), random.permutation(200).astype(np.int32)), make_deck(200)
    place = np.cumsum([0, *np.bincount(group, minlength=10)])[:10]
    for start in (0, 90):
        deal_groups(deck, group, start, (90, 200)[start > 0], place, dealt)
    order = np.argsort(group[deck.item], kind="stable")
    assert np.array_equal(dealt.item, deck.item[order])
    assert np.array_equal(dealt.number, deck.number[order])


def test_facts_are_in_the_order_of_the_numbers() -> None:
    low = np.array([-np.inf, -1e150, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.0 + 1e-12, 1e150, np.inf])
    high = np.array([-np.inf, -1e150, 1.0, 0.0, 0.0, -0.0, 1.0, 1.0 + 1e-12, 2.0, 1e150, np.inf])
    labels = np.array([-LAST - 1, -7, 0, 7, LAST])
    n = len(low)
    owner = np.arange(n) % len(labels)
    key = np.abs(low)
    parts = Parts(np.column_stack([low, high, key, owner]), np.arange(n, dtype=np.int32) % 3, key, labels)
    facts, n_in, ids = make_facts(n), np.zeros(4, np.int64), np.arange(n, dtype=np.int32)[::-1].copy()
    copy_facts(parts, ids, facts, n_in)
    # Low and high ends are compared with each other too.
    ends = np.concatenate([rounded_down(low[ids]), rounded_up(high[ids])]).astype(np.float64)
    assert np.array_equal(compared(np.concatenate([facts.low, facts.high])), compared(ends))
    assert np.array_equal(compared(facts.key), -compared(key[ids]))
    assert np.array_equal(compared(facts.label), -compared(labels[owner[ids]]))
    assert n_in.tolist() == [4, 4, 3, 0]
    assert np.array_equal(facts.dim, parts.dim[ids])


def test_a_dead_part_is_a_point() -> None:
    parts = Parts(np.array([[np.inf, -np.inf, 1.0, 0.0]]), np.zeros(1, np.int32), np.ones(1), np.zeros(1, np.int64))
    facts = make_facts(1)
    copy_facts(parts, np.zeros(1, np.int32), facts, np.zeros(1, np.int64))
    assert facts.low == facts.high


def compared(values: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Whether each is greater (1), less (-1) or equal (0) to each."""
    return (values[:, None] > values).astype(np.int8) - (values[:, None] < values).astype(np.int8)
