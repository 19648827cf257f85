"""The largest number beside that of Python."""

import numpy as np
import pytest

from skyband.kernels.extreme import largest


@pytest.mark.parametrize("numbers", [[3], [-(2**63)], [1, 5, 2], [-4, -7], [2**62, 2**63 - 1]])
def test_the_largest_of_one_and_of_many(numbers: list[int]) -> None:
    assert largest(np.array(numbers, np.int64)) == max(numbers)
