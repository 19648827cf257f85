"""The map of numbers against a dictionary, with numbers that collide."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.number_map import NumberMap

# Small ones, the ends of what there is, and such as differ in their high bits only.
NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.integers(-7, 7).map(lambda i: i << 60),
    st.sampled_from([2**63 - 1, -(2**63), 2**32, -(2**32), 2**31]),
)


@given(data=st.data())
def test_equals_a_dictionary(data: st.DataObject) -> None:
    built, twin, free = NumberMap(), dict[int, int](), set(range(64))
    for batch in data.draw(st.lists(st.lists(NUMBERS, unique=True, max_size=9), max_size=9)):
        if data.draw(st.booleans()):
            gone = [number for number in batch if number in twin]
            built.remove(np.array([twin[number] for number in gone], np.int64))
            free |= {twin.pop(number) for number in gone}
        else:
            new = [number for number in batch if number not in twin]
            slots = sorted(free)[: len(new)]
            free -= set(slots)
            built.add(np.array(new, np.int64), np.array(slots, np.int64))
            twin |= dict(zip(new, slots, strict=True))
        built.check()
        assert built.size == len(twin)
        assert built.find(np.array(batch, np.int64)).tolist() == [twin.get(number, -1) for number in batch]
        assert built.numbers(np.array(list(twin.values()), np.int64)).tolist() == list(twin)


def test_places_of_removed_numbers_are_used_again() -> None:
    built, once = NumberMap(), NumberMap()
    once.add(np.arange(1000) * 2**40, np.arange(1000))
    for turn in range(30):
        numbers = np.arange(1000) * 2**40 + turn
        built.add(numbers, np.arange(1000))
        assert built.find(numbers - 1).tolist() == [-1] * 1000
        built.check()
        built.remove(np.arange(1000))
    assert built.n_bytes <= 2 * once.n_bytes


def test_slots_can_be_renumbered() -> None:
    built = NumberMap()
    built.add(np.array([7, 8, 9]), np.arange(3))
    built.remove(np.array([0]))
    built.shift(1)
    built.check()
    assert built.find(np.array([7, 8, 9])).tolist() == [-1, 0, 1]


def test_few_bytes_are_taken_for_a_number() -> None:
    built = NumberMap()
    built.add(np.arange(100_000) * 3, np.arange(100_000))
    assert built.n_bytes < 22 * 100_000
