"""Arrays that grow keep what they hold, and are not copied at every step."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from skyband.kernels.growth import (
    BY_A_QUARTER,
    BY_AN_EIGHTH,
    DOUBLE,
    LINE,
    blank,
    grown,
    grown_all,
    length_for,
    resized,
    resized_all,
)


class Pair(NamedTuple):
    numbers: Any
    points: Any


def pair() -> Pair:
    return Pair(np.array([1, 2, 3], np.int32), np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.int32, np.float64])
@pytest.mark.parametrize("shape", [0, 1, 100, (3, 5, 64), (0, 64), (7, 0)])
@pytest.mark.parametrize("fill", [0, 1])
def test_new_arrays_begin_with_a_cache_line(kind: Any, shape: Any, fill: int) -> None:
    array, plain = blank(shape, fill, kind), np.full(shape, fill, kind)
    assert array.dtype == plain.dtype
    assert np.array_equal(array, plain)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.ctypes.data % LINE == 0 or array.size == 0
    grew = grown(array, 200) if array.ndim == 1 else resized(array, 9)
    assert grew.ctypes.data % LINE == 0 or grew.size == 0


def test_grown_keeps_what_there_is() -> None:
    table = np.arange(6.0).reshape(2, 3)
    wider = grown(table, 5, axis=1)
    assert wider.shape == (2, 6)
    assert wider[:, :3].tolist() == table.tolist()
    assert wider[:, 3:].sum() == 0
    assert grown(table, 2) is table


@pytest.mark.parametrize(("share", "least"), [(DOUBLE, 200), (BY_A_QUARTER, 125), (BY_AN_EIGHTH, 112)])
def test_a_copy_has_places_to_spare(share: int, least: int) -> None:
    assert len(grown(np.zeros(100), 101, share=share)) == length_for(101, 100, share) == least
    assert len(grown(np.zeros(100), 500, share=share)) == 500
    assert len(grown(np.zeros(0), 7, share=share)) == 7


@pytest.mark.parametrize("share", [DOUBLE, BY_A_QUARTER, BY_AN_EIGHTH])
def test_what_grows_step_by_step_is_seldom_copied(share: int) -> None:
    array, n_copied = np.zeros(0), 0
    for length in range(1, 5000):
        longer = grown(array, length, share=share)
        n_copied += len(array) if longer is not array else 0
        array = longer
    assert n_copied <= (share + 2) * 5000


def test_new_places_are_filled() -> None:
    assert grown(np.array([5], np.int8), 3, fill=-1).tolist() == [5, -1, -1]
    assert resized(np.array([5.0]), 2, -np.inf).tolist() == [5.0, -np.inf]
    assert resized(np.array([True]), 2).tolist() == [True, False]


def test_a_resized_copy_is_as_long_as_was_said() -> None:
    table = np.arange(6, dtype=np.uint8).reshape(3, 2)
    for length in (0, 2, 3, 4):
        copy = resized(table, length)
        assert (copy.shape, copy.dtype) == ((length, 2), table.dtype)
        assert copy[:3].tolist() == table[:length].tolist()
        assert not np.shares_memory(copy, table)
    assert resized(table, 1, axis=1).tolist() == [[0], [2], [4]]


def test_all_arrays_of_a_record_grow() -> None:
    longer = grown_all(pair(), 4)
    assert (len(longer.numbers), len(longer.points), longer.numbers.dtype) == (6, 6, np.int32)
    given = pair()
    some = grown_all(given, 4, ("points",), BY_A_QUARTER)
    assert some.numbers is given.numbers
    assert some.points.tolist() == [*given.points.tolist(), [0.0, 0.0]]
    assert [len(array) for array in resized_all(given, 2)] == [2, 2]
    assert [len(array) for array in resized_all(given, 2, ["numbers"])] == [2, 3]
