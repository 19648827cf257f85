"""The memory of deliveries against a set of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.topk.kernels.deliveries import EMPTY, Memory, check_memory, make_memory, recalls, remember, renewed

Pair = tuple[int, int]

numbers = st.integers(0, 5) | st.sampled_from([2**11, 2**16, 2**20, 3 * 2**20, 2**32])


def pairs_of(memory: Memory) -> set[Pair]:
    taken = memory.turn != EMPTY
    return set(zip(memory.turn[taken].tolist(), memory.item[taken].tolist(), strict=True))


def filled(pairs: set[Pair], capacity: int) -> Memory:
    memory = make_memory(capacity)
    for turn, item in pairs:
        remember(memory, turn, item)
    return memory


@given(st.lists(st.tuples(st.booleans(), numbers, numbers), max_size=60))
def test_recalls_what_a_set_holds(actions: list[tuple[bool, int, int]]) -> None:
    memory, pairs = make_memory(len(actions)), set[Pair]()
    for is_new, turn, item in actions:
        if is_new:
            remember(memory, turn, item)
            pairs.add((turn, item))
        assert recalls(memory, turn, item) == ((turn, item) in pairs)
        assert not recalls(memory, turn, item + 7)
        check_memory(memory)
    assert pairs_of(memory) == pairs


@given(st.sets(st.tuples(numbers, numbers), max_size=40), st.sets(numbers), numbers, st.integers(0, 20))
def test_a_renewed_memory_keeps_what_may_matter(pairs: set[Pair], turns: set[int], first: int, room: int) -> None:
    memory = filled(pairs, 40)
    after = renewed(memory, room, first, np.array(sorted(turns), np.int64))
    check_memory(after)
    kept = {(turn, item) for turn, item in pairs if turn in turns and item >= first}
    assert pairs_of(after) == kept
    assert all(recalls(after, *pair) == (pair in kept) for pair in pairs)
    assert pairs_of(memory) == pairs
    for i in range(room):
        remember(after, 10, i)
    check_memory(after)
    assert int(after.used[0]) == len(kept) + room


@pytest.mark.parametrize("capacity", [0, 1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 100])
def test_there_is_room_for_as_many_as_wanted(capacity: int) -> None:
    memory = make_memory(capacity)
    n_places = len(memory.turn)
    assert n_places & (n_places - 1) == 0
    for i in range(capacity):
        remember(memory, i % 3, i)
        remember(memory, i % 3, i)
    check_memory(memory)
    assert int(memory.used[0]) == capacity
    assert not recalls(memory, 3, 0)


def test_an_empty_memory_recalls_nothing() -> None:
    memory = make_memory(0)
    check_memory(memory)
    assert not recalls(memory, 0, 0)
    # What a place that is empty holds as its item must not matter.
    remember(memory, 1, 1)
    assert not recalls(memory, 0, 0)
    assert pairs_of(renewed(memory, 0, 0, np.zeros(0, np.int64))) == set()


@pytest.mark.parametrize("stride", [1, 64, 1024, 2**20, 2**29])
def test_pairs_at_regular_distances(stride: int) -> None:
    """Numbers that have their low bits in common still find their places, among many others."""
    pairs = {(turn, stride * item) for turn in range(4) for item in range(8)}
    pairs |= {(stride * turn, item) for turn in range(8) for item in range(4)}
    memory = filled(pairs, len(pairs))
    check_memory(memory)
    assert pairs_of(memory) == pairs
    assert not any(recalls(memory, turn + 9, item + 9) for turn, item in pairs)


def test_generations_of_pairs() -> None:
    random = np.random.default_rng(3)
    memory, pairs = make_memory(16), set[Pair]()
    for first in range(0, 400, 20):
        if 2 * (int(memory.used[0]) + 20) >= len(memory.turn):
            turns = np.flatnonzero(random.random(12) < 0.8)
            memory = renewed(memory, 40, first - 60, turns)
            pairs = {pair for pair in pairs if pair[0] in turns and pair[1] >= first - 60}
        for turn, item in random.integers((0, first), (12, first + 20), (20, 2)).tolist():
            remember(memory, turn, item)
            pairs.add((turn, item))
        check_memory(memory)
        assert pairs_of(memory) == pairs
