"""Signatures against three lines of numpy."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.geotext.messages import signatures
from skyband.kernels.ragged import offsets_of


@given(st.lists(st.lists(st.integers(0, 2**31), max_size=5), max_size=5))
def test_each_list_has_the_bits_of_its_terms(lists: list[list[int]]) -> None:
    codes = np.array([code for each in lists for code in each], np.int64)
    bits = np.left_shift(np.int64(1), (codes * 2654435761 >> 7) % 63)
    offsets = offsets_of(np.array([len(each) for each in lists], np.int64))
    wanted = [int(np.bitwise_or.reduce(bits[start:end])) for start, end in pairwise(offsets)]
    assert signatures(codes, offsets).tolist() == wanted
