"""Copying bytes against a slice, wherever they lie."""

import numpy as np
import pytest

from skyband.kernels.array import Bytes
from skyband.kernels.byte_copy import copy_bytes
from skyband.kernels.compile import kernel


@kernel
def copied(source: Bytes, start: int, n: int, target: Bytes, at: int) -> None:
    """A kernel that Python may call."""
    copy_bytes(source, start, n, target, at)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 23])
def test_bytes_are_copied_to_where_they_should_be(n: int) -> None:
    source = np.arange(1, 41, dtype=np.uint8)
    for start in range(len(source) - n + 1):
        for room in (0, 1, 7, 8):
            target = np.zeros(5 + n + room, np.uint8)
            copied(source, start, n, target, 5)
            assert target[:5].tolist() == [0] * 5
            assert target[5 : 5 + n].tolist() == source[start : start + n].tolist()
