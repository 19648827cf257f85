"""Lists of varying length that lie in one array."""

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Int64s


def places_of(starts: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> Int64s:
    """Where the entries of lists lie that begin at `starts` and have `counts` entries each, list after list."""
    ends = np.cumsum(counts, dtype=np.int64)
    places: Int64s = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
    return places
