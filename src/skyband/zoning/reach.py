"""What the families share in finding out whom a publication can reach.

**Rounding.** Addition, division, square root, and multiplication by a number that is not negative are monotone also as
computers round them. So a bound that is computed from the sides of a box by the very operations that define the score,
in the same order, holds to the last bit. That is so for distances and weighted sums. Other bounds take sums in another
order, and grant `SLACK`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.zoning.group import FOR_EVER, Groups

# Far above what rounding does to scores of magnitude 1, and far below what tells publications apart.
SLACK = 1e-9
WORTH_LEAVING_OUT = 0.2


class Needs(NamedTuple):
    """How good a publication must be for each subscription: for ever, and through a time."""

    need: Floats
    worst: Floats
    until: Int64s


def needs(threshold: Floats, ascending: Bools, worst: Floats, until: Int64s) -> Needs:
    """The needs of subscriptions by their thresholds and by the worst of their tops, NaN where there is none.

    A Boolean subscription is not full: a match that is more recent enters, however it scores.
    """
    is_boolean = ~np.isnan(threshold)
    sign = np.where(ascending, -1.0, 1.0)
    for_ever = np.where(is_boolean, sign * threshold, -np.inf)
    is_full = ~np.isnan(worst) & ~is_boolean
    return Needs(for_ever, np.where(is_full, sign * worst, for_ever), np.where(is_full, until, FOR_EVER))


def reached(columns: Floats, groups: Groups, now: int, test: Callable[[int, float, Floats], Bools]) -> Bools:
    """Which publications, each a column, pass the test of any group, given its need; the least is asked first."""
    needed = groups.needs(now)
    left = np.arange(columns.shape[1])
    passed = np.zeros(len(left), np.bool_)
    result = np.ones(len(left), np.bool_)
    for group in np.argsort(needed, kind="stable").tolist():
        passed |= test(group, float(needed[group]), columns)
        # To leave out those that have passed takes time as well.
        if np.count_nonzero(passed) > len(passed) * WORTH_LEAVING_OUT:
            left, columns = left[~passed], columns[:, ~passed]
            passed = np.zeros(len(left), np.bool_)
        if not len(left):
            break
    result[left[~passed]] = False
    return result
