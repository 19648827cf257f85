"""Range subscriptions are divided by the ends of their ranges, and reached by what is in boxes around these."""

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.ranges.kernels.message import points_of
from skyband.ranges.rows import Publications, Subscriptions
from skyband.table import Settings
from skyband.zoning.division import Coordinates, Division, Wanted
from skyband.zoning.group import FOR_EVER, Groups, grouped, scaled, united
from skyband.zoning.load import chunks, some_of
from skyband.zoning.reach import reached


class RangesDivision(Division):
    """Zones in the space of subscriptions, see `skyband.ranges.kernels.message`."""

    kind = "range"

    def coordinates(self, rows: Subscriptions, scale: Floats) -> Coordinates:
        """A range is a point of the subscription space."""
        names = (f"{side}[{i}]" for i in range(rows.lo.shape[1]) for side in ("lo", "hi"))
        return Coordinates(points_of(rows.lo, rows.hi), tuple(names))

    def reached(self, rows: Subscriptions, publications: Publications) -> Floats:
        """How many events lie in each range."""
        sample, share = some_of(publications.x[~np.isnan(publications.x).any(axis=1)])
        found = np.zeros(len(rows.ids))
        for part in chunks(len(found), len(sample) * max(rows.lo.shape[1], 1)):
            inside = (rows.lo[part, None] <= sample) & (sample <= rows.hi[part, None])
            found[part] = inside.all(axis=2).sum(axis=1)
        return found / share

    def wanted(self, rows: Subscriptions, settings: Settings, worst: Floats, until: Int64s) -> Wanted | None:
        """What is in a range."""
        return self.wanted_by(members(rows))

    def grouped(self, members: Groups, most: int) -> Groups:
        """Groups of those that ask for like ranges; in one dimension, of their unions."""
        members = united(members) if members.low.shape[1] == 1 else members
        return grouped(members, features(members), most).groups

    def admits(self, wanted: Wanted, publications: Publications, now: int) -> Bools:
        """The events that put an object into a box."""
        return admits(wanted.groups, publications, now)


DIVISION = RangesDivision()


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
