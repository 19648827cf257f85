"""What ranked subscriptions can be reached by: the intervals of their parts, dimension by dimension.

An event that meets no part reaches nobody, in relaxed and in exact matching. One that meets a part of a subscription
may reach it, so that it does not matter whose part it is, and parts that overlap are as good as one.
"""

import numpy as np

from skyband.kernels.array import Bools, Floats
from skyband.ranked.rows import Publications, Subscriptions
from skyband.zoning.group import FOR_EVER, Groups, scaled
from skyband.zoning.reach import reached


def is_reached_by_all(rows: Subscriptions) -> bool:
    """Whether every event may reach one: it has no parts, or one without ends."""
    return bool((np.diff(rows.offsets) == 0).any() or (np.isinf(rows.lo) & np.isinf(rows.hi)).any())


def members(rows: Subscriptions) -> Groups:
    """Each part as a group; its kind is the dimension."""
    n = len(rows.dim)
    any_score = np.zeros(n)
    return Groups(
        rows.dim.astype(np.int64), rows.lo[:, None], rows.hi[:, None], any_score, any_score.copy(), np.full(n, FOR_EVER)
    )


def features(groups: Groups) -> Floats:
    """What tells groups apart: where they begin and end; dimensions are kinds of groups."""
    return scaled(np.column_stack([groups.low, groups.high]))


def admits(groups: Groups, rows: Publications, now: int) -> Bools:
    """The events that have a value, or a part of an interval, in common with a group."""

    n_dims = rows.points.shape[1]

    def test(group: int, need: float, columns: Floats) -> Bools:
        dim = int(groups.kind[group])
        if dim >= n_dims:
            return np.zeros(columns.shape[1], np.bool_)
        # A missing dimension is NaN, of which every comparison is false.
        meets: Bools = (groups.low[group, 0] <= columns[n_dims + dim]) & (columns[dim] <= groups.high[group, 0])
        return meets

    return reached(np.ascontiguousarray(np.hstack([rows.points, rows.upper]).T), groups, now, test)
