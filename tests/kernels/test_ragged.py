"""Lists of varying length in one array, against plain Python."""

from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.ragged import offsets_of, owners_of, places_of, ranks_of, starts_of

KINDS = (np.int64, np.int32, np.int16)


@given(
    lists=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), max_size=8),
    starts_kind=st.sampled_from(KINDS),
    kind=st.sampled_from(KINDS),
)
def test_like_lists_of_python(lists: list[tuple[int, int]], starts_kind: npt.DTypeLike, kind: npt.DTypeLike) -> None:
    starts, lengths = (np.array([each[i] for each in lists], (starts_kind, kind)[i]) for i in (0, 1))
    sizes = [length for _, length in lists]
    found = {
        "offsets": offsets_of(lengths),
        "starts": starts_of(lengths),
        "owners": owners_of(lengths),
        "ranks": ranks_of(lengths),
        "places": places_of(starts, lengths),
    }
    assert {name: array.tolist() for name, array in found.items()} == {
        "offsets": [0, *accumulate(sizes)],
        "starts": [0, *accumulate(sizes)][:-1],
        "owners": [i for i, length in enumerate(sizes) for _ in range(length)],
        "ranks": [j for length in sizes for j in range(length)],
        "places": [start + j for start, length in lists for j in range(length)],
    }
    assert {array.dtype for array in found.values()} == {np.dtype(np.int64)}


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_nothing_has_no_entries(lengths: list[int]) -> None:
    given = np.array(lengths, np.int64)
    assert offsets_of(given).tolist() == [0] * (len(lengths) + 1)
    assert [len(each(given)) for each in (owners_of, ranks_of)] == [0, 0]
    assert len(places_of(given, given)) == 0


def test_a_mask_has_lists_of_one_or_none() -> None:
    mask = np.array([True, False, True])
    assert offsets_of(mask).tolist() == [0, 1, 1, 2]


def test_short_lengths_do_not_overflow() -> None:
    lengths = np.full(5, 100, np.int8)
    assert offsets_of(lengths).tolist() == [0, 100, 200, 300, 400, 500]
    assert places_of(starts_of(lengths), lengths).tolist() == list(range(500))
