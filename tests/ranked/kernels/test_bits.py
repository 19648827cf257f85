"""The set of bits against a sorted list."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest

from skyband.ranked.kernels.bits import NONE, check_bits, clear_bit, make_bits, members, next_bit, previous_bit, set_bit

SIZES = [0, 1, 63, 64, 65, 4095, 4096, 4097, 300_000]


def around(numbers: list[int], size: int) -> list[int]:
    """Numbers near those of a list, and at both ends."""
    near = {i + by for i in numbers for by in (-1, 0, 1)} | {0, size // 2, size - 1}
    return sorted(i for i in near if 0 <= i < size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n_steps", [5, 60])
def test_neighbours(size: int, n_steps: int) -> None:
    random, bits = np.random.default_rng(size + n_steps), make_bits(size)
    there: set[int] = set()
    for _ in range(n_steps if size else 0):
        i = int(random.integers(size)) if random.random() < 0.7 or not there else int(random.choice(sorted(there)))
        (clear_bit if i in there else set_bit)(bits, i)
        there ^= {i}
    check_bits(bits, size)
    expected = sorted(there)
    assert members(bits).tolist() == expected
    for i in around(expected, size):
        at, behind = bisect_left(expected, i), bisect_right(expected, i)
        assert next_bit(bits, i) == (expected[at] if at < len(expected) else NONE)
        assert previous_bit(bits, i) == (expected[behind - 1] if behind else NONE)
    assert next_bit(bits, size) == NONE
    assert previous_bit(bits, -1) == NONE


def test_setting_and_clearing_twice_is_once() -> None:
    bits = make_bits(5000)
    for i in (0, 63, 4999, 4999):
        set_bit(bits, i)
    check_bits(bits, 5000)
    for i in (63, 63, 4999, 100):
        clear_bit(bits, i)
    check_bits(bits, 5000)
    assert members(bits).tolist() == [0]


def test_full_words() -> None:
    bits = make_bits(256)
    for i in range(256):
        set_bit(bits, i)
    assert [next_bit(bits, i) for i in range(256)] == list(range(256))
    assert [previous_bit(bits, i) for i in range(256)] == list(range(256))
    for i in range(255):
        clear_bit(bits, i)
    assert next_bit(bits, 0) == 255
    assert previous_bit(bits, 254) == NONE
