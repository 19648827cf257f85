"""The set of deliveries against a set of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.topk.kernels.deliveries import (
    EMPTY,
    DeliverySet,
    check_delivery_set,
    make_delivery_set,
    recalls,
    remember,
    renewed,
)

Pair = tuple[int, int]

numbers = st.integers(0, 5) | st.sampled_from([2**11, 2**16, 2**20, 3 * 2**20, 2**32])


def pairs_of(deliveries: DeliverySet) -> set[Pair]:
    taken = deliveries.turn != EMPTY
    return set(zip(deliveries.turn[taken].tolist(), deliveries.item[taken].tolist(), strict=True))


def filled(pairs: set[Pair], capacity: int) -> DeliverySet:
    deliveries = make_delivery_set(capacity)
    for turn, item in pairs:
        remember(deliveries, turn, item)
    return deliveries


@given(st.lists(st.tuples(st.booleans(), numbers, numbers), max_size=60))
def test_recalls_what_a_set_holds(actions: list[tuple[bool, int, int]]) -> None:
    deliveries, pairs = make_delivery_set(len(actions)), set[Pair]()
    for is_new, turn, item in actions:
        if is_new:
            remember(deliveries, turn, item)
            pairs.add((turn, item))
        assert recalls(deliveries, turn, item) == ((turn, item) in pairs)
        assert not recalls(deliveries, turn, item + 7)
        check_delivery_set(deliveries)
    assert pairs_of(deliveries) == pairs


@given(st.sets(st.tuples(numbers, numbers), max_size=40), st.sets(numbers), numbers, st.integers(0, 20))
def test_a_renewed_memory_keeps_what_may_matter(pairs: set[Pair], turns: set[int], first: int, room: int) -> None:
    deliveries = filled(pairs, 40)
    after = renewed(deliveries, room, first, np.array(sorted(turns), np.int64))
    check_delivery_set(after)
    kept = {(turn, item) for turn, item in pairs if turn in turns and item >= first}
    assert pairs_of(after) == kept
    assert all(recalls(after, *pair) == (pair in kept) for pair in pairs)
    assert pairs_of(deliveries) == pairs
    for i in range(room):
        remember(after, 10, i)
    check_delivery_set(after)
    assert int(after.used[0]) == len(kept) + room


@pytest.mark.parametrize("capacity", [0, 1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 100])
def test_there_is_room_for_as_many_as_wanted(capacity: int) -> None:
    deliveries = make_delivery_set(capacity)
    n_places = len(deliveries.turn)
    assert n_places & (n_places - 1) == 0
    for i in range(capacity):
        remember(deliveries, i % 3, i)
        remember(deliveries, i % 3, i)
    check_delivery_set(deliveries)
    assert int(deliveries.used[0]) == capacity
    assert not recalls(deliveries, 3, 0)


def test_an_empty_memory_recalls_nothing() -> None:
    deliveries = make_delivery_set(0)
    check_delivery_set(deliveries)
    assert not recalls(deliveries, 0, 0)
    # What a place that is empty holds as its item must not matter.
    remember(deliveries, 1, 1)
    assert not recalls(deliveries, 0, 0)
    assert pairs_of(renewed(deliveries, 0, 0, np.zeros(0, np.int64))) == set()


@pytest.mark.parametrize("stride", [1, 64, 1024, 2**20, 2**29])
def test_pairs_at_regular_distances(stride: int) -> None:
    """Numbers that have their low bits in common still find their places, among many others."""
    pairs = {(turn, stride * item) for turn in range(4) for item in range(8)}
    pairs |= {(stride * turn, item) for turn in range(8) for item in range(4)}
    deliveries = filled(pairs, len(pairs))
    check_delivery_set(deliveries)
    assert pairs_of(deliveries) == pairs
    assert not any(recalls(deliveries, turn + 9, item + 9) for turn, item in pairs)


def test_generations_of_pairs() -> None:
    random = np.random.default_rng(3)
    deliveries, pairs = make_delivery_set(16), set[Pair]()
    for first in range(0, 400, 20):
        if 2 * (int(deliveries.used[0]) + 20) >= len(deliveries.turn):
            turns = np.flatnonzero(random.random(12) < 0.8)
            deliveries = renewed(deliveries, 40, first - 60, turns)
            pairs = {pair for pair in pairs if pair[0] in turns and pair[1] >= first - 60}
        for turn, item in random.integers((0, first), (12, first + 20), (20, 2)).tolist():
            remember(deliveries, turn, item)
            pairs.add((turn, item))
        check_delivery_set(deliveries)
        assert pairs_of(deliveries) == pairs
