"""What a subscription costs the engine of its zone: one, and as much again for each time the sample reaches it.

How often that is: for *geotext*, how often the sample says one of its words; for *window*, how many of the sample would
enter a top of k one after the other, or match a Boolean one; for *ranges*, how many events lie in its range; for
*ranked*, how many of its parts the events meet.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from skyband.geotext import rows as geotext
from skyband.kernels.array import Floats, Int64s
from skyband.ranges import rows as ranges
from skyband.ranked import rows as ranked
from skyband.topk.score import FORMS
from skyband.window import rows as window
from skyband.zoning.digest import digests_of_words

# Publications beyond these are left out where each is held against each subscription.
MOST_COMPARED = 1_000
_CHUNK = 1_000_000


def loads(family: str, subscriptions: Any, publications: Any) -> Floats:
    """The load of each subscription by a sample of publications."""
    if len(publications.ids) == 0:
        return np.ones(len(subscriptions.ids))
    found: dict[str, Callable[[Any, Any], Floats]] = {
        "geotext": of_geotext,
        "window": of_window,
        "ranges": of_ranges,
        "ranked": of_ranked,
    }
    return 1.0 + found[family](subscriptions, publications)


def of_geotext(rows: geotext.Subscriptions, publications: geotext.Publications) -> Floats:
    """How often the messages say the words of each subscription."""
    said, counts = np.unique(digests_of_words(publications.terms), return_counts=True)
    asked = digests_of_words(rows.terms)
    if not len(said):
        return np.zeros(len(rows.ids))
    at = np.minimum(np.searchsorted(said, asked), len(said) - 1)
    owner = np.repeat(np.arange(len(rows.ids)), np.diff(rows.offsets))
    return np.bincount(owner, np.where(said[at] == asked, counts[at], 0), len(rows.ids)).astype(np.float64)


def of_window(rows: window.Subscriptions, publications: window.Publications) -> Floats:
    """How many points enter each top, or match where it is Boolean.

    Of n points in no particular order, k (1 + ln(n / k)) enter a top of k on their way.
    """
    n_points = len(publications.ids)
    k = np.minimum(rows.k, n_points).astype(np.float64)
    entered = k * (1.0 + np.log(n_points / k))
    boolean = np.flatnonzero(~np.isnan(rows.threshold))
    entered[boolean] = _matches(rows, boolean, publications)
    return entered


def _matches(rows: window.Subscriptions, chosen: Int64s, publications: window.Publications) -> Floats:
    sample, share = _sample(publications.points)
    scores = rows.score[chosen]
    found = np.zeros(len(chosen))
    for part in _chunks(len(chosen), len(sample) * max(sample.shape[1], 1)):
        points, weights = rows.points[chosen[part], None], rows.weights[chosen[part], None]
        limit, kind = rows.threshold[chosen[part], None], scores[part, None]
        reached = [form.reaches(form.of_all(points, weights, sample), limit) for form in FORMS.values()]
        found[part] = np.select([kind == score for score in FORMS], reached).sum(axis=1)
    return found / share


def of_ranges(rows: ranges.Subscriptions, publications: ranges.Publications) -> Floats:
    """How many events lie in each range."""
    sample, share = _sample(publications.x[~np.isnan(publications.x).any(axis=1)])
    found = np.zeros(len(rows.ids))
    for part in _chunks(len(found), len(sample) * max(rows.lo.shape[1], 1)):
        inside = (rows.lo[part, None] <= sample) & (sample <= rows.hi[part, None])
        found[part] = inside.all(axis=2).sum(axis=1)
    return found / share


def of_ranked(rows: ranked.Subscriptions, publications: ranked.Publications) -> Floats:
    """How many parts of each subscription the events meet."""
    met = np.zeros(len(rows.dim))
    for dim in np.unique(rows.dim).tolist():
        parts = np.flatnonzero(rows.dim == dim)
        there = ~np.isnan(publications.points[:, dim]) if dim < publications.points.shape[1] else np.zeros(0, np.bool_)
        low, high = (
            np.sort(side[: len(there), dim][there]) if there.any() else np.zeros(0) for side in publications[2:4]
        )
        met[parts] = np.searchsorted(low, rows.hi[parts], "right") - np.searchsorted(high, rows.lo[parts], "left")
    met[np.isinf(rows.lo) & np.isinf(rows.hi)] = len(publications.ids)
    owner = np.repeat(np.arange(len(rows.ids)), np.diff(rows.offsets))
    return np.bincount(owner, met, len(rows.ids)).astype(np.float64)


def _sample(points: Floats) -> tuple[Floats, float]:
    """Some of the points, evenly chosen, and which share of them that is."""
    if len(points) <= MOST_COMPARED:
        return points, 1.0
    return points[np.arange(MOST_COMPARED) * len(points) // MOST_COMPARED], MOST_COMPARED / len(points)


def _chunks(n_rows: int, cost: int) -> list[slice]:
    """Slices of the rows, none of which takes much memory at so many numbers a row."""
    size = max(_CHUNK // max(cost, 1), 1)
    return [slice(start, start + size) for start in range(0, n_rows, size)]
