"""The order by digits against numpy's stable sort."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.order import BITS, DIGITS, is_ascending, is_strictly_ascending, order_by

SIZES = [0, 1, 2, 3, 64, 1000, DIGITS - 1, DIGITS, DIGITS + 1, 5000]
# On both sides of where another pass begins.
LARGEST = [0, 1, DIGITS - 1, DIGITS, 2 ** (2 * BITS) - 1, 2 ** (2 * BITS), 2**40, 2**62]


def check(keys: npt.NDArray[np.int64]) -> None:
    before = keys.copy()
    order = order_by(keys)
    assert order.dtype == np.int64
    assert np.array_equal(order, np.argsort(keys, kind="stable"))
    assert np.array_equal(keys, before)


@pytest.mark.parametrize("n", SIZES)
def test_equals_a_stable_sort(n: int) -> None:
    random = np.random.default_rng(n)
    for largest in LARGEST:
        check(random.integers(0, largest, n, endpoint=True))


@pytest.mark.parametrize("n", SIZES)
def test_sorted_reversed_and_equal_keys(n: int) -> None:
    rising = np.arange(n, dtype=np.int64)
    for keys in (rising, rising[::-1].copy(), 2**30 * rising[::-1], np.full(n, 2**40), rising // 7, -rising // 7 + n):
        check(keys)


@pytest.mark.parametrize("n", [2, 100, 5000])
def test_one_key_out_of_place(n: int) -> None:
    for at, key in ((0, 2**40), (n - 1, 0), (n // 2, 2**40), (n // 2, 0)):
        keys = np.arange(1, n + 1, dtype=np.int64)
        keys[at] = key
        check(keys)


@pytest.mark.parametrize("shift", [0, BITS - 1, BITS, 2 * BITS - 1, 33, 40])
def test_keys_that_differ_in_one_bit(shift: int) -> None:
    bits = np.random.default_rng(shift).integers(0, 2, 300)
    check(bits << shift)
    check((bits << shift) | (2**40 - 1) & ~(1 << shift))


@given(st.lists(st.integers(0, 2**40) | st.integers(0, 3)))
def test_any_keys(keys: list[int]) -> None:
    check(np.array(keys, np.int64))


@given(st.lists(st.integers(0, 3), max_size=4))
def test_what_is_in_order(keys: list[int]) -> None:
    assert is_ascending(np.array(keys, np.int64)) == (keys == sorted(keys))
    assert is_strictly_ascending(np.array(keys, np.int64)) == (keys == sorted(set(keys)))
