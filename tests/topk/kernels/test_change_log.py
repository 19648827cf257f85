"""Changes summed up against a Counter and a sorted list."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.topk.kernels.change_log import DELIVERIES, N_TALLIES, list_first, sum_up

CHANGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.booleans()), max_size=9)


@given(CHANGES, st.permutations(range(5)))
def test_turns_and_counts(changes: list[tuple[int, int, bool]], turns: list[int]) -> None:
    slots = np.array([slot for slot, _, _ in changes], np.int64)
    ops = np.array([op for _, op, _ in changes], np.int8)
    first = np.array([is_first for _, _, is_first in changes], np.bool_)
    turn, tally = np.empty(len(changes), np.int64), np.zeros(N_TALLIES, np.int64)
    ascends = sum_up(slots, ops, first, np.array(turns), turn, tally)
    assert turn.tolist() == [turns[slot] for slot in slots]
    assert ascends == (sorted(turn.tolist()) == turn.tolist())
    assert tally[:DELIVERIES].tolist() == [Counter(ops.tolist())[op] for op in range(DELIVERIES)]
    assert tally[DELIVERIES] == sum(first.tolist())
    to_turn, to_item = np.full(12, -1), np.full(12, -1)
    end = list_first(turn, slots, first, to_turn, to_item, 2)
    assert to_turn[2:end].tolist() == turn[first].tolist()
    assert to_item[2:end].tolist() == slots[first].tolist()
    assert (to_turn[end:] == -1).all()
