"""Reception: how many subscriptions each of many messages reaches."""

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import kernel
from skyband.ranges.kernels.boxsearch import count_inside
from skyband.ranges.kernels.boxtree import Trees


@kernel
def count_each(subscriptions: Trees, group: int, low: Floats, high: Floats, out: Int64s) -> None:
    """The number of subscriptions of a group in each of these closed boxes."""
    for i in range(len(out)):
        out[i] = count_inside(subscriptions, group, low[i], high[i])
