"""The number at a rank, without sorting."""

from typing import Any

import numpy.typing as npt

from skyband.kernels.compile import kernel


@kernel
def nth(values: npt.NDArray[Any], n: int, rank: int) -> Any:
    """The value that `rank` others of the first n come before; these change places."""
    low, high, seed = 0, n - 1, n
    while low < high:
        # A pivot drawn at random, so that no order of the values is a bad one.
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        pivot = values[low + (seed * (high - low + 1) >> 31)]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[rank]
