"""What it costs a subscription to keep the best n of its window, and the n that costs least.

A cost-based k-skyband keeps, of the live publications that are at least as good as a threshold, those with fewer than k
dominators. A low threshold lets more publications in, which have to be kept in order; a high one leaves fewer than k of
them sooner, and then the window has to be searched. The model of the Skype paper (equations 11 to 16) weighs the two:
`n` is the expected number of live publications at least as good as the threshold, `size` the number in the window, and
costs are per update, an arrival or an expiry, in the unit of one buffer entry touched.

Times `size`, the cost no longer depends on `size`:

    n k ln(n / k)  +  search_cost n / ((n - k + 1) (3n - k + 2))

The first part is convex in n. The second is 1 / (2k - 1) times (k - 1) / (n - k + 1) - (k - 2) / (3n - k + 2), and
convex too, because what is taken away bends less than a third as much. So a descent ends at the one minimum there is.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Floats, Int64s

# The steps of the descent, from 2**40 down to 1: enough until a search costs some 10**24 entries.
STRIDES = tuple(1 << exponent for exponent in range(40, -1, -1))


def maintenance(k: int, n: float, size: float) -> float:
    """Buffer entries touched per update (equation 11): the share of updates that reach the buffer, times its length.

    The length k ln(n / k) is the paper's, and 0 at n = k; the k-skyband of n in random order is longer by about k.
    """
    _check(k, n, size)
    return n / size * k * math.log(n / k)


def updates_until_search(k: int, n: float, size: float) -> float:
    """Expected updates until fewer than k of the n are left (equation 15).

    Exact for a random walk from n that goes up or down by one with probability n / (2 size) each, ends at k - 1, and
    stays where it is when it would rise above 2n. A window is such a walk only roughly: what came a window ago leaves
    now, which draws the number back to n. Simulated windows of 500 with k = 9 were searched after 0.3 of the updates
    that this says for n = 9, after 0.4 for n = 12, as it says for n = 16, and after 4 times as many for n = 20.
    """
    _check(k, n, size)
    spare = n - k + 1
    return (2 * spare * n + spare * (spare + 1)) / (n / size)


def cost(k: int, n: float, size: float, search_cost: float) -> float:
    """Maintenance, and searches of `search_cost` each as often as they come, per update (equation 16)."""
    return maintenance(k, n, size) + search_cost / updates_until_search(k, n, size)


@lru_cache(maxsize=4096)
def best_n(k: int, search_cost: float) -> int:
    """The n from k on that costs least, and the least such n."""
    return int(best_ns([k], search_cost)[0])


def best_ns(ks: npt.ArrayLike, search_cost: npt.ArrayLike) -> Int64s:
    """`best_n` for each k, at one search cost or at one for each k.

    The paper steps n up while the cost falls. Here the steps are powers of two, largest first, and one is taken where
    the cost still falls at its end: being convex, it then falls all the way.
    """
    k, price = np.broadcast_arrays(np.asarray(ks, np.float64), np.asarray(search_cost, np.float64))
    if (k < 1).any():
        raise ValueError("The number k of publications in a top must be at least 1.")
    if not ((price >= 0.0) & (price < np.inf)).all():
        raise ValueError("The cost of a search must be finite and not negative.")
    n = k.copy()
    for stride in STRIDES:
        ahead = n + stride
        n = np.where(_window_cost(k, ahead, price) < _window_cost(k, ahead - 1.0, price), ahead, n)
    return n.astype(np.int64)


def _window_cost(k: Floats, n: Floats, search_cost: Floats) -> Floats:
    """The cost of as many updates as the window is long."""
    return n * k * np.log(n / k) + search_cost * n / ((n - k + 1.0) * (3.0 * n - k + 2.0))


def _check(k: int, n: float, size: float) -> None:
    if not 1 <= k <= n <= size:
        raise ValueError(f"There must be 1 <= k <= n <= size, not k = {k}, n = {n} and size = {size}.")
