"""Counts that go up and down: how often each place is listed."""

from skyband.kernels.array import Int64s
from skyband.kernels.compile import kernel


@kernel
def count_up(counts: Int64s, places: Int64s) -> None:
    """Count each place that is listed once more."""
    for place in places:
        counts[place] += 1


@kernel
def count_down(counts: Int64s, places: Int64s, ended: Int64s) -> int:
    """Count each place that is listed once less, and write down those that come to 0; returns how many do."""
    n = 0
    for place in places:
        counts[place] -= 1
        if counts[place] == 0:
            ended[n] = place
            n += 1
    return n
