"""A queue of bounds: a binary heap in an array with a row for each entry, the least bound first.

Invariant: no bound is less than that of its parent, at `(i - 1) // 2`.
"""

from skyband.kernels.array import Floats
from skyband.kernels.compile import inlined

# Columns.
BOUND = 0
ENTRY = 1


@inlined
def push(queue: Floats, n: int, bound: float, entry: float) -> int:
    """Put an entry into a queue of n; returns how many it has."""
    i = n
    while i > 0:
        parent = (i - 1) >> 1
        if queue[parent, BOUND] <= bound:
            break
        queue[i, BOUND], queue[i, ENTRY] = queue[parent, BOUND], queue[parent, ENTRY]
        i = parent
    queue[i, BOUND], queue[i, ENTRY] = bound, entry
    return n + 1


@inlined
def drop_first(queue: Floats, n: int) -> int:
    """Take the entry with the least bound out of a queue of n; returns how many are left."""
    n -= 1
    bound, entry = queue[n, BOUND], queue[n, ENTRY]
    i, child = 0, 1
    while child < n:
        if child + 1 < n and queue[child + 1, BOUND] < queue[child, BOUND]:
            child += 1
        if bound <= queue[child, BOUND]:
            break
        queue[i, BOUND], queue[i, ENTRY] = queue[child, BOUND], queue[child, ENTRY]
        i, child = child, 2 * child + 1
    queue[i, BOUND], queue[i, ENTRY] = bound, entry
    return n
