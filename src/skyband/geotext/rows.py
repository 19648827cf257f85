"""The geotext family: messages at places, and subscriptions to the k nearest in place and words."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.geotext.word_weights import Weighed, plainly_weighed, weighed
from skyband.kernels.array import Floats, Int64s
from skyband.table.identity import unique_ids
from skyband.table.operation import published
from skyband.table.plain import PlainRows, Row
from skyband.table.scalar import finite, numbers
from skyband.table.settings import Settings, Windows
from skyband.table.sieve import Parsed, Sieve
from skyband.table.subscription import LARGEST_K, WINDOW_COLUMNS, keep_windows, ks, plain_windows, thresholds, windows

_PLACE = [("x", pa.float64()), ("y", pa.float64())]
_WORDS = [("terms", pa.list_(pa.string())), ("weights", pa.list_(pa.float64())), ("text", pa.string())]
_WORD_COLUMNS = frozenset(name for name, _ in _WORDS)

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
    ts: Int64s
    xy: Floats
    offsets: Int64s
    terms: Any
    weights: Floats

    @staticmethod
    def ragged() -> tuple[str, ...]:
        """The fields that `offsets` cuts into rows."""
        return ("terms", "weights")


class Subscriptions(NamedTuple):
    """Subscriptions to the k best messages of a window, near in place by `alpha` and in words by the rest.

    Words lie as in `Publications`; `threshold` is NaN when not Boolean.
    """

    ids: Any
    k: Int64s
    xy: Floats
    alpha: Floats
    offsets: Int64s
    terms: Any
    weights: Floats
    window: Windows
    threshold: Floats

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
    ids, ts = published(sieve)
    xy = _places(sieve, settings)
    words = weighed(sieve, settings.words, subscriptions=False)
    kept = words.keep(sieve)
    return sieve.done(Publications(sieve.keep_arrow(ids), sieve.keep(ts), sieve.keep(xy), *kept))


def read_publications(rows: list[Row], settings: Settings) -> Publications:
    """Few plain messages as `parse_publications` reads them, or `Doubtful`."""
    plain = PlainRows(rows, frozenset({"id", "ts", "x", "y"}), _WORD_COLUMNS)
    xy, words = _plain_places(plain, settings), plainly_weighed(plain, settings.words, subscriptions=False)
    return Publications(plain.ids(), plain.times(), xy, *words)


def read_subscriptions(rows: list[Row], settings: Settings) -> Subscriptions:
    """Few plain subscriptions as `parse_subscriptions` reads them, or `Doubtful`."""
    plain = PlainRows(rows, frozenset({"id", "k", "x", "y", "alpha"}), _WORD_COLUMNS | WINDOW_COLUMNS)
    xy, words = _plain_places(plain, settings), plainly_weighed(plain, settings.words, subscriptions=True)
    k, alpha, window = plain.integers("k", 1, LARGEST_K), plain.numbers("alpha", 0, 1), plain_windows(plain, settings)
    return Subscriptions(plain.ids(), k, xy, alpha, *words, window, np.full(len(plain), np.nan))


def _plain_places(plain: PlainRows, settings: Settings) -> Floats:
    bounds = settings.bounds
    return plain.pairs({"x": (bounds.x_min, bounds.x_max), "y": (bounds.y_min, bounds.y_max)})


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


def _places(sieve: Sieve, settings: Settings) -> Floats:
    xy = np.empty((sieve.n_rows, 2))
    bounds = settings.bounds
    limits = {"x": (bounds.x_min, bounds.x_max), "y": (bounds.y_min, bounds.y_max)}
    for column, (name, (low, high)) in enumerate(limits.items()):
        values = finite(sieve, name, numbers(sieve, name))
        inside = (values >= low) & (values <= high)
        sieve.reject(~inside, name, f"{name} must lie within the bounds, {low:g} to {high:g}")
        xy[:, column] = values
    return xy


def _alphas(sieve: Sieve) -> Floats:
    column = numbers(sieve, "alpha")
    sieve.reject(column.null, "alpha", "alpha must not be null")
    inside = (column.values >= 0) & (column.values <= 1)
    sieve.reject(~inside, "alpha", "alpha must be a number from 0 to 1")
    return column.values
