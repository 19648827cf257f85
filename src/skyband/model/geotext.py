"""The geotext family: messages at places, and subscriptions to the k nearest in place and words."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skyband.model.identity import unique_ids
from skyband.model.instant import instants
from skyband.model.scalar import finite, numbers
from skyband.model.settings import Settings, Windows
from skyband.model.sieve import Parsed, Sieve
from skyband.model.subscription import keep_windows, ks, thresholds, windows
from skyband.model.weighing import Weighed, weighed

_PLACE = [("x", pa.float64()), ("y", pa.float64())]
_WORDS = [("terms", pa.list_(pa.string())), ("weights", pa.list_(pa.float64())), ("text", pa.string())]

PUBLICATIONS = pa.schema([("id", pa.string()), ("ts", pa.int64()), *_PLACE, *_WORDS])
SUBSCRIPTIONS = pa.schema(
    [
        ("id", pa.string()),
        ("k", pa.int64()),
        *_PLACE,
        *_WORDS,
        ("alpha", pa.float64()),
        ("window_us", pa.int64()),
        ("window_n", pa.int64()),
        ("threshold", pa.float64()),
    ]
)


class Publications(NamedTuple):
    """Messages; the words of row i are `terms[offsets[i]:offsets[i + 1]]`, and so are their weights."""

    ids: Any
    ts: NDArray[np.int64]
    xy: NDArray[np.float64]
    offsets: NDArray[np.int64]
    terms: Any
    weights: NDArray[np.float64]

    @staticmethod
    def ragged() -> tuple[str, ...]:
        """The fields that `offsets` cuts into rows."""
        return ("terms", "weights")


class Subscriptions(NamedTuple):
    """Subscriptions to the k best messages of a window, near in place by `alpha` and in words by the rest.

    Words lie as in `Publications`; `threshold` is NaN when not Boolean.
    """

    ids: Any
    k: NDArray[np.int64]
    xy: NDArray[np.float64]
    alpha: NDArray[np.float64]
    offsets: NDArray[np.int64]
    terms: Any
    weights: NDArray[np.float64]
    window: Windows
    threshold: NDArray[np.float64]

    @staticmethod
    def ragged() -> tuple[str, ...]:
        """The fields that `offsets` cuts into rows."""
        return ("terms", "weights")


def parse_publications(table: pa.Table, settings: Settings) -> Parsed[Publications]:
    """The messages of a table with the columns of `PUBLICATIONS`.

    Where weights are absent they come from the words model, over `terms` if given and `text` otherwise.
    """
    sieve = Sieve(table, "geotext publications")
    sieve.require("id", "ts", "x", "y", "terms or text")
    ids = unique_ids(sieve)
    ts = instants(sieve)
    xy = _places(sieve, settings)
    words = weighed(sieve, settings.words, subscriptions=False)
    kept = words.keep(sieve)
    return sieve.done(Publications(sieve.keep_arrow(ids), sieve.keep(ts), sieve.keep(xy), *kept))


def parse_subscriptions(table: pa.Table, settings: Settings) -> Parsed[Subscriptions]:
    """The subscriptions of a table with the columns of `SUBSCRIPTIONS`.

    Where weights are absent they come from the words model, or are equal when there is none.
    """
    sieve = Sieve(table, "geotext subscriptions")
    sieve.require("id", "k or threshold", "x", "y", "terms or text", "alpha")
    ids = unique_ids(sieve)
    threshold = thresholds(sieve)
    k = ks(sieve, ~np.isnan(threshold))
    xy = _places(sieve, settings)
    alpha = _alphas(sieve)
    window = windows(sieve, settings)
    words: Weighed = weighed(sieve, settings.words, subscriptions=True)
    keep = sieve.keep
    rows = Subscriptions(
        sieve.keep_arrow(ids),
        keep(k),
        keep(xy),
        keep(alpha),
        *words.keep(sieve),
        keep_windows(sieve, window),
        keep(threshold),
    )
    return sieve.done(rows)


def _places(sieve: Sieve, settings: Settings) -> NDArray[np.float64]:
    xy = np.empty((sieve.n_rows, 2))
    bounds = settings.bounds
    limits = {"x": (bounds.x_min, bounds.x_max), "y": (bounds.y_min, bounds.y_max)}
    for column, (name, (low, high)) in enumerate(limits.items()):
        values = finite(sieve, name, numbers(sieve, name))
        inside = (values >= low) & (values <= high)
        sieve.reject(~inside, name, f"{name} must lie within the bounds, {low:g} to {high:g}")
        xy[:, column] = values
    return xy


def _alphas(sieve: Sieve) -> NDArray[np.float64]:
    column = numbers(sieve, "alpha")
    sieve.reject(column.null, "alpha", "alpha must not be null")
    inside = (column.values >= 0) & (column.values <= 1)
    sieve.reject(~inside, "alpha", "alpha must be a number from 0 to 1")
    return column.values
