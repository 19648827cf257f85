"""Changes laid out against a Counter and sorted lists."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.topk.change_log import blank_columns
from skyband.topk.kernels.buffer import make_told, tell
from skyband.topk.kernels.change_log import (
    DELIVERIES,
    IN_ORDER,
    IN_TURN,
    MIXED,
    N_TALLIES,
    lay_out,
    lay_out_by,
    list_first,
)

CHANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 2), st.booleans()), max_size=9)
TIMES = np.array([7, 8, 9])


@given(CHANGES, st.permutations(range(5)), st.booleans())
def test_order_and_counts(changes: list[tuple[int, int, int, bool]], turns: list[int], by_step: bool) -> None:
    if by_step:
        changes = sorted(changes, key=lambda change: (change[0], turns[change[1]]))
    found, into, tally = make_told(12), blank_columns(len(changes)), np.zeros(N_TALLIES, np.int64)
    for i, (step, slot, op, first) in enumerate(changes):
        tell(found, step, slot, 50 + i, op, i / 2, i, first)
    sorted_by = lay_out(found, TIMES, np.array(turns), into, tally)
    keys = [(step, turns[slot]) for step, slot, _, _ in changes]
    turn = [key[1] for key in keys]
    assert sorted_by == (IN_ORDER if keys == sorted(keys) else IN_TURN if turn == sorted(turn) else MIXED)
    n_of = Counter(op for _, _, op, _ in changes)
    assert tally.tolist() == [*(n_of[op] for op in range(DELIVERIES)), sum(first for *_, first in changes)]
    order = np.random.default_rng(1).permutation(len(changes))
    for places in (np.arange(len(changes)), order):
        wanted = [
            (slot, 50 + i, op, i / 2, i, 7 + step, first, turns[slot])
            for i in places.tolist()
            for step, slot, op, first in [changes[i]]
        ]
        assert list(zip(*(column.tolist() for column in into), strict=True)) == wanted
        lay_out_by(order, found, TIMES, np.array(turns), into)


@given(st.lists(st.booleans(), max_size=9))
def test_lists_of_what_is_first(flags: list[bool]) -> None:
    first, turn = np.array(flags, np.bool_), np.arange(len(flags))
    to_turn, to_item = np.full(12, -1), np.full(12, -1)
    end = list_first(turn, 10 + turn, first, to_turn, to_item, 2)
    assert to_turn[2:end].tolist() == turn[first].tolist()
    assert to_item[2:end].tolist() == (10 + turn[first]).tolist()
    assert (to_turn[end:] == -1).all()
