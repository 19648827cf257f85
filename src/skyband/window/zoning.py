"""What window subscriptions can be reached by: boxes around their centres, weights or directions."""

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.topk.score import FORMS, Score, scores
from skyband.window.rows import Publications, Subscriptions
from skyband.zoning.group import Groups
from skyband.zoning.reach import SLACK, needs, reached

# The squares of shorter vectors may vanish, and with them all that is known about their angles.
SHORT = 1e-100


def members(rows: Subscriptions, worst: Floats, until: Int64s) -> Groups:
    """Each subscription as a group; its columns are its point, as a direction for cosine, and its weights."""
    its = needs(rows.threshold, np.isin(rows.score, scores(lambda form: form.ascending)), worst, until)
    points, is_short = rows.points.copy(), np.zeros(len(rows.k), np.bool_)
    is_cosine = np.isin(rows.score, scores(lambda form: form.by_angle))
    points[is_cosine], is_short[is_cosine] = _directions(rows.points[is_cosine])
    need, worst = (np.where(is_short, -np.inf, column) for column in (its.need, its.worst))
    columns = np.column_stack([points, rows.weights])
    return Groups(rows.score.astype(np.int64), columns, columns.copy(), need, worst, its.until)


def features(groups: Groups) -> Floats:
    """What tells groups apart, on the scale of their scores."""
    middle = groups.low / 2 + groups.high / 2
    centre, weights = np.hsplit(middle, 2)
    # A weight matters as much as centres lie apart, and that as much as it weighs.
    by_weight = weights * np.ptp(centre, axis=0) if len(centre) else weights
    need = np.where(groups.worst > -np.inf, groups.worst, 0.0)
    return np.column_stack([centre * weights, by_weight, need])


def admits(groups: Groups, rows: Publications, now: int) -> Bools:
    """The points that no box rules out."""
    n_dims = rows.points.shape[1]
    columns = rows.points.T
    if np.isin(groups.kind, scores(lambda form: form.by_angle)).any():
        directions, is_short = _directions(rows.points)
        columns = np.vstack([columns, directions.T, is_short])

    def test(group: int, need: float, columns: Floats) -> Bools:
        if need == -np.inf:
            return np.ones(columns.shape[1], np.bool_)
        (low, weights), high, kind = np.split(groups.low[group], 2), groups.high[group], groups.kind[group]
        form = FORMS[Score(kind)]
        if not form.by_angle:
            return form.best(low, high, weights, columns[:n_dims]) >= need
        best = form.best(low, high, weights, columns[n_dims : 2 * n_dims])
        is_possible: Bools = (columns[-1] == 1.0) | (best >= need - SLACK)
        return is_possible

    return reached(np.ascontiguousarray(columns), groups, now, test)


def _directions(vectors: Floats) -> tuple[Floats, Bools]:
    """Vectors made of length 1, and which ones are too short for that."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1))
    is_short = ~(lengths >= SHORT)
    return vectors / np.where(is_short, 1.0, lengths)[:, None], is_short
