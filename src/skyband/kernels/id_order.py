"""Labels: integers in the order of ids, so that kernels can break ties without seeing an id."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Int64s


def labels(ids: pa.Array) -> Int64s:
    """An integer for each id, larger for a larger one."""
    if pa.types.is_integer(ids.type):
        return np.array(ids.to_numpy(), np.int64)
    ranks = np.empty(len(ids), np.int64)
    ranks[pc.array_sort_indices(ids).to_numpy()] = np.arange(len(ids))
    return ranks
