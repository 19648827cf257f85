"""Window subscriptions are divided by their centres, and reached by what is near enough to boxes around these.

Where a score has weights or a direction in place of a centre, that takes its place.
"""

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.earth import EARTH_RADIUS
from skyband.kernels.sphere import unit_vectors
from skyband.table import Settings
from skyband.topk.score import FORMS, Score, scores
from skyband.window.rows import Publications, Subscriptions
from skyband.zoning.division import Coordinates, Division, Wanted, is_by_count
from skyband.zoning.group import Groups, grouped
from skyband.zoning.load import chunks, some_of
from skyband.zoning.reach import SLACK, needs, reached
from skyband.zoning.tree import CutTree, divide_apart

# A coordinate that is not measured but told.
WITHOUT_CENTRE = "without a centre"

# The squares of shorter vectors may vanish, and with them all that is known about their angles.
SHORT = 1e-100
# Coordinates on the sphere.
SPHERE = 3


class WindowDivision(Division):
    """Zones by centre, with zones of their own for scores that have none."""

    kind = "point"

    def coordinates(self, rows: Subscriptions, scale: Floats) -> Coordinates:
        """Distances have a centre; the first column is 1 for sum and cosine, which have none."""
        points = np.column_stack([is_placeless(rows), rows.points])
        return Coordinates(points, (WITHOUT_CENTRE, *(f"point[{i}]" for i in range(rows.points.shape[1]))))

    def divide(self, rows: Subscriptions, points: Floats, loads: Floats, n_zones: int) -> CutTree:
        """Those without a centre are set apart."""
        return divide_apart(points, loads, is_placeless(rows), n_zones)

    def reached(self, rows: Subscriptions, publications: Publications) -> Floats:
        """How many points enter each top, or match where it is Boolean.

        Of n points in no particular order, k (1 + ln(n / k)) enter a top of k on their way.
        """
        n_points = len(publications.ids)
        k = np.minimum(rows.k, n_points).astype(np.float64)
        entered = k * (1.0 + np.log(n_points / k))
        boolean = np.flatnonzero(~np.isnan(rows.threshold))
        entered[boolean] = _matches(rows, boolean, publications)
        return entered

    def side(self, name: str, least: float, most: float) -> str:
        """The coordinate that is told is told in words."""
        if name == WITHOUT_CENTRE:
            return "distances" if least == -np.inf else "sums and cosines"
        return super().side(name, least, most)

    def wanted(self, rows: Subscriptions, settings: Settings, worst: Floats, until: Int64s) -> Wanted | None:
        """What is as good as their tops or thresholds demand; everything where publications are counted."""
        return None if is_by_count(rows, settings) else self.wanted_by(members(rows, worst, until))

    def grouped(self, members: Groups, most: int) -> Groups:
        """Groups of those that ask for like points."""
        return grouped(members, features(members), most).groups

    def admits(self, wanted: Wanted, publications: Publications, now: int) -> Bools:
        """The points that no box rules out."""
        return admits(wanted.groups, publications, now)


DIVISION = WindowDivision()


def is_placeless(rows: Subscriptions) -> Bools:
    """Whether a score is no distance from a point."""
    return np.isin(rows.score, scores(lambda form: not form.has_place))


def _matches(rows: Subscriptions, chosen: Int64s, publications: Publications) -> Floats:
    sample, share = some_of(publications.points)
    kinds = rows.score[chosen]
    found = np.zeros(len(chosen))
    for part in chunks(len(chosen), len(sample) * max(sample.shape[1], 1)):
        points, weights = rows.points[chosen[part], None], rows.weights[chosen[part], None]
        limit, kind = rows.threshold[chosen[part], None], kinds[part, None]
        reaches = [form.reaches(form.of_all(points, weights, sample), limit) for form in FORMS.values()]
        found[part] = np.select([kind == score for score in FORMS], reaches).sum(axis=1)
    return found / share


def members(rows: Subscriptions, worst: Floats, until: Int64s) -> Groups:
    """Each subscription as a group; its columns are its point, as a direction for cosine, and its weights.

    Of a place on Earth, which has no weights, they are its coordinates on the sphere in the first three.
    """
    its = needs(rows.threshold, np.isin(rows.score, scores(lambda form: form.ascending)), worst, until)
    points, is_short = rows.points.copy(), np.zeros(len(rows.k), np.bool_)
    is_cosine = np.isin(rows.score, scores(lambda form: form.by_angle))
    points[is_cosine], is_short[is_cosine] = _directions(rows.points[is_cosine])
    need, worst = (np.where(is_short, -np.inf, column) for column in (its.need, its.worst))
    columns = np.column_stack([points, rows.weights])
    is_globe = np.isin(rows.score, scores(lambda form: form.on_sphere))
    if is_globe.any():
        columns[is_globe, :SPHERE] = unit_vectors(rows.points[is_globe]).T
    return Groups(rows.score.astype(np.int64), columns, columns.copy(), need, worst, its.until)


def features(groups: Groups) -> Floats:
    """What tells groups apart, on the scale of their scores."""
    middle = groups.low / 2 + groups.high / 2
    centre, weights = np.hsplit(middle, 2)
    # A weight matters as much as centres lie apart, and that as much as it weighs.
    by_weight = weights * np.ptp(centre, axis=0) if len(centre) else weights
    need = np.where(groups.worst > -np.inf, groups.worst, 0.0)
    found = np.column_stack([centre * weights, by_weight, need])
    is_globe = np.isin(groups.kind, scores(lambda form: form.on_sphere))
    if is_globe.any():
        found[is_globe, :-1] = EARTH_RADIUS * middle[is_globe]
    return found


def admits(groups: Groups, rows: Publications, now: int) -> Bools:
    """The points that no box rules out."""
    n_dims = rows.points.shape[1]
    forms = {kind: FORMS[Score(kind)] for kind in np.unique(groups.kind).tolist()}
    parts = [rows.points.T]
    if any(form.by_angle for form in forms.values()):
        directions, is_short = _directions(rows.points)
        parts += [directions.T, is_short[None].astype(np.float64)]
    if any(form.on_sphere for form in forms.values()):
        parts.append(unit_vectors(rows.points))

    def test(group: int, need: float, columns: Floats) -> Bools:
        if need == -np.inf:
            return np.ones(columns.shape[1], np.bool_)
        (low, weights), high, form = np.split(groups.low[group], 2), groups.high[group], forms[groups.kind[group]]
        if form.on_sphere:
            return form.best(groups.low[group, :SPHERE], high[:SPHERE], weights, columns[-SPHERE:]) >= need
        if not form.by_angle:
            return form.best(low, high, weights, columns[:n_dims]) >= need
        best = form.best(low, high, weights, columns[n_dims : 2 * n_dims])
        is_possible: Bools = (columns[2 * n_dims] == 1.0) | (best >= need - SLACK)
        return is_possible

    return reached(np.ascontiguousarray(np.vstack(parts)), groups, now, test)


def _directions(vectors: Floats) -> tuple[Floats, Bools]:
    """Vectors made of length 1, and which ones are too short for that."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1))
    is_short = ~(lengths >= SHORT)
    return vectors / np.where(is_short, 1.0, lengths)[:, None], is_short
