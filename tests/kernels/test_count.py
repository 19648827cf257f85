"""Counts against those of a Counter."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.count import count_down, count_up

PLACES = st.lists(st.integers(0, 6), max_size=12)


@given(PLACES)
def test_counts_are_those_of_a_counter(more: list[int]) -> None:
    counts, wanted = np.zeros(7, np.int64), Counter(more)
    count_up(counts, np.array(more, np.int64))
    assert counts.tolist() == [wanted[place] for place in range(7)]
    less = more[::2]
    ended = np.full(len(less), -1, np.int64)
    n = count_down(counts, np.array(less, np.int64), ended)
    wanted.subtract(less)
    assert counts.tolist() == [wanted[place] for place in range(7)]
    assert sorted(ended[:n].tolist()) == sorted(place for place in set(less) if wanted[place] == 0)
    assert (ended[n:] == -1).all()
