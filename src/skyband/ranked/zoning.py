"""Ranked subscriptions are divided by their narrowest part, and reached by what meets any part.

An event that meets no part reaches nobody, in relaxed and in exact matching. One that meets a part of a subscription
may reach it, so that it does not matter whose part it is, and parts that overlap are as good as one.
"""

import math

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.ranked.rows import Publications, Subscriptions
from skyband.table import Settings
from skyband.zoning.division import Coordinates, Division, Wanted
from skyband.zoning.group import FOR_EVER, Groups, grouped, scaled, united
from skyband.zoning.reach import reached
from skyband.zoning.tree import CutTree, divide

# The dimension of a subscription that has no part with an end.
OPEN = -1.0

# A coordinate that is not measured but told.
DIMENSION = "dimension"


class RankedDivision(Division):
    """Zones by dimension, and within it by the middle of a part."""

    kind = "dimension"
    may_fail = True

    def scale(self, rows: Subscriptions) -> Floats:
        """How far apart the finite ends of parts lie in each dimension; 1 where they do not."""
        n_dims = int(rows.dim.max()) + 1 if len(rows.dim) else 0
        ends = np.concatenate([rows.lo, rows.hi])
        dims = np.concatenate([rows.dim, rows.dim])
        is_finite = np.isfinite(ends)
        low, high = np.full(n_dims, np.inf), np.full(n_dims, -np.inf)
        np.minimum.at(low, dims[is_finite], ends[is_finite])
        np.maximum.at(high, dims[is_finite], ends[is_finite])
        apart = high > low
        scale = np.ones(n_dims)
        scale[apart] = high[apart] / 2 - low[apart] / 2
        return scale

    def coordinates(self, rows: Subscriptions, scale: Floats) -> Coordinates:
        """The dimension of the part that is narrowest beside the extent of its dimension, and the middle of it."""
        n_rows = len(rows.offsets) - 1
        points = np.zeros((n_rows, 2))
        points[:, 0] = OPEN
        owner = np.repeat(np.arange(n_rows), np.diff(rows.offsets))
        # Those without an end are not looked at below.
        with np.errstate(invalid="ignore"):
            width = rows.hi / 2 - rows.lo / 2
        extent = np.ones(len(width))
        is_known = rows.dim < len(scale)
        extent[is_known] = scale[rows.dim[is_known]]
        closed = np.flatnonzero(np.isfinite(rows.lo) | np.isfinite(rows.hi))
        order = closed[np.lexsort((rows.dim[closed], width[closed] / extent[closed], owner[closed]))]
        owners, firsts = np.unique(owner[order], return_index=True)
        chosen = order[firsts]
        points[owners, 0] = rows.dim[chosen]
        points[owners, 1] = _middles(rows.lo[chosen], rows.hi[chosen])
        return Coordinates(points, (DIMENSION, "middle"))

    def divide(self, rows: Subscriptions, points: Floats, loads: Floats, n_zones: int) -> CutTree:
        """One dimension after the other: the second coordinate is in another unit in each of them."""
        return divide(points, loads, n_zones, by_turns=False)

    def reached(self, rows: Subscriptions, publications: Publications) -> Floats:
        """How many parts of each subscription the events meet."""
        met = np.zeros(len(rows.dim))
        for dim in np.unique(rows.dim).tolist():
            parts = np.flatnonzero(rows.dim == dim)
            values = publications.points
            there = ~np.isnan(values[:, dim]) if dim < values.shape[1] else np.zeros(0, np.bool_)
            low, high = (
                np.sort(side[: len(there), dim][there]) if there.any() else np.zeros(0) for side in publications[2:4]
            )
            met[parts] = np.searchsorted(low, rows.hi[parts], "right") - np.searchsorted(high, rows.lo[parts], "left")
        met[np.isinf(rows.lo) & np.isinf(rows.hi)] = len(publications.ids)
        owner = np.repeat(np.arange(len(rows.ids)), np.diff(rows.offsets))
        return np.bincount(owner, met, len(rows.ids)).astype(np.float64)

    def side(self, name: str, least: float, most: float) -> str:
        """Dimensions are told as whole numbers."""
        if name != DIMENSION:
            return super().side(name, least, most)
        # The middle of two dimensions is not one of them, and the upper end does not belong to a cell.
        last = "" if most == np.inf else f" to {math.ceil(most) - 1}"
        return f"dimensions {max(math.ceil(max(least, OPEN)), 0)}{last or ' and above'}"

    def wanted(self, rows: Subscriptions, settings: Settings, worst: Floats, until: Int64s) -> Wanted | None:
        """What meets a part; everything where one has no ends, or a subscription has none."""
        return None if is_reached_by_all(rows) else self.wanted_by(members(rows))

    def grouped(self, members: Groups, most: int) -> Groups:
        """Groups of the unions of parts."""
        members = united(members) if members.low.shape[1] == 1 else members
        return grouped(members, features(members), most).groups

    def admits(self, wanted: Wanted, publications: Publications, now: int) -> Bools:
        """The events that meet a group."""
        return admits(wanted.groups, publications, now)


DIVISION = RankedDivision()


def _middles(lo: Floats, hi: Floats) -> Floats:
    """The middles of intervals, or the end of those that have one end only."""
    lo, hi = np.where(np.isfinite(lo), lo, hi), np.where(np.isfinite(hi), hi, lo)
    middles: Floats = lo / 2 + hi / 2
    return middles


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
