"""What range subscriptions can be reached by: the boxes around their ranges."""

import numpy as np

from skyband.kernels.array import Bools, Floats
from skyband.ranges.rows import Publications, Subscriptions
from skyband.zoning.group import FOR_EVER, Groups, scaled
from skyband.zoning.reach import reached


def members(rows: Subscriptions) -> Groups:
    """Each subscription as a group, whose box is its range. Values may rise again, so no top rules anything out."""
    n = len(rows.k)
    any_score = np.zeros(n)
    return Groups(np.zeros(n, np.int64), rows.lo, rows.hi, any_score, any_score.copy(), np.full(n, FOR_EVER))


def features(groups: Groups) -> Floats:
    """What tells groups apart: where they begin and end."""
    return scaled(np.column_stack([groups.low, groups.high]))


def admits(groups: Groups, rows: Publications, now: int) -> Bools:
    """The events that put an object into a box; a deletion puts it nowhere."""
    is_there = np.flatnonzero(~rows.deleted)

    def test(group: int, need: float, columns: Floats) -> Bools:
        inside = np.ones(columns.shape[1], np.bool_)
        for i, values in enumerate(columns):
            inside &= (values >= groups.low[group, i]) & (values <= groups.high[group, i])
        return inside

    admitted = np.zeros(len(rows.ts), np.bool_)
    admitted[is_there] = reached(np.ascontiguousarray(rows.x[is_there].T), groups, now, test)
    return admitted
