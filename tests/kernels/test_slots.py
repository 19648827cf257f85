"""Slots against a set of those in use."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.slots import BLOCK, Slots


@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 2), max_size=300)), max_size=8), st.randoms())
def test_slots_are_used_once_and_reused(actions: list[tuple[bool, list[int]]], random: object) -> None:
    slots, used = Slots(), dict[int, int]()
    for give, kinds in actions:
        if give and used:
            back = sorted(used)[: len(kinds)]
            slots.give(np.array(back, np.int64))
            for slot in back:
                del used[slot]
        else:
            taken = slots.take(np.array(kinds, np.int8)).tolist()
            assert len(set(taken)) == len(kinds)
            assert not used.keys() & set(taken)
            used |= dict(zip(taken, kinds, strict=True))
        slots.check()
        assert np.flatnonzero(slots.used).tolist() == sorted(used)
        assert all(slots.kinds[slot // BLOCK] == kind for slot, kind in used.items())


def test_the_lowest_free_slots_come_first() -> None:
    slots = Slots()
    slots.take(np.zeros(10, np.int8))
    slots.give(np.array([3, 7]))
    assert slots.take(np.zeros(3, np.int8)).tolist() == [3, 7, 10]
