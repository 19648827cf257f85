"""Reception: how many subscriptions each of many messages reaches."""

from skyband.kernels.boxsearch import count_inside
from skyband.kernels.boxtree import Trees
from skyband.kernels.compile import kernel
from skyband.kernels.message import Floats, Int64s


@kernel
def count_each(subscriptions: Trees, group: int, low: Floats, high: Floats, out: Int64s) -> None:
    """The number of subscriptions of a group in each of these closed boxes."""
    for i in range(len(out)):
        out[i] = count_inside(subscriptions, group, low[i], high[i])
