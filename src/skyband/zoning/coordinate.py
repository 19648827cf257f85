"""Where subscriptions lie: the coordinates by which each family is divided into zones."""

from typing import Any, NamedTuple

import numpy as np

from skyband.geotext import rows as geotext
from skyband.kernels.array import Bools, Floats
from skyband.ranges import rows as ranges
from skyband.ranges.kernels.message import points_of
from skyband.ranked import rows as ranked
from skyband.topk.score import scores
from skyband.window import rows as window

# A subscription of the ranked family that has no part with an end.
OPEN = -1.0

# Coordinates that are not measured but told.
WITHOUT_CENTRE = "without a centre"
DIMENSION = "dimension"


class Coordinates(NamedTuple):
    """One row of finite numbers for each subscription, and what the columns are called."""

    points: Floats
    names: tuple[str, ...]


def coordinates(family: str, rows: Any, scale: Floats) -> Coordinates:
    """The coordinates of subscriptions; `scale` is the extent of each dimension, for the ranked family alone."""
    if family == "geotext":
        return of_geotext(rows)
    if family == "window":
        return of_window(rows)
    return of_ranges(rows) if family == "ranges" else of_ranked(rows, scale)


def of_geotext(rows: geotext.Subscriptions) -> Coordinates:
    """Messages are asked for at a place."""
    return Coordinates(np.ascontiguousarray(rows.xy), ("x", "y"))


def of_window(rows: window.Subscriptions) -> Coordinates:
    """Distances have a centre; the first column is 1 for sum and cosine, which have none."""
    points = np.column_stack([is_placeless(rows), rows.points])
    return Coordinates(points, (WITHOUT_CENTRE, *(f"point[{i}]" for i in range(rows.points.shape[1]))))


def is_placeless(rows: window.Subscriptions) -> Bools:
    """Whether a score is no distance from a point."""
    return np.isin(rows.score, scores(lambda form: not form.has_place))


def of_ranges(rows: ranges.Subscriptions) -> Coordinates:
    """A range is a point of the subscription space, see `skyband.ranges.kernels.message`."""
    names = (f"{side}[{i}]" for i in range(rows.lo.shape[1]) for side in ("lo", "hi"))
    return Coordinates(points_of(rows.lo, rows.hi), tuple(names))


def of_ranked(rows: ranked.Subscriptions, scale: Floats) -> Coordinates:
    """The dimension of the narrowest part in proportion to the extent of its dimension, and the middle of that part."""
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


def _middles(lo: Floats, hi: Floats) -> Floats:
    """The middles of intervals, or the end of those that have one end only."""
    lo, hi = np.where(np.isfinite(lo), lo, hi), np.where(np.isfinite(hi), hi, lo)
    middles: Floats = lo / 2 + hi / 2
    return middles


def extents(rows: ranked.Subscriptions) -> Floats:
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
