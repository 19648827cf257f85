"""What subscriptions of several families share: k, thresholds, windows and boxes."""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.table.duration_column import durations
from skyband.table.plain import Doubtful, PlainRows
from skyband.table.scalar import LARGEST, integers, numbers
from skyband.table.settings import Settings, WindowKind, Windows
from skyband.table.sieve import Sieve, any_of
from skyband.table.vector import Lists, dense, dimensions, no_nulls, vectors

LARGEST_K = 1_000_000
WINDOW_COLUMNS = frozenset({"window_us", "window_n"})


class BoxColumns(NamedTuple):
    """One closed range for each row and dimension."""

    lo: Floats
    hi: Floats


def thresholds(sieve: Sieve) -> Floats:
    """The `threshold` of Boolean subscriptions, NaN for the others."""
    column = numbers(sieve, "threshold")
    at = ~column.null & ~(np.abs(column.values) <= LARGEST)
    sieve.reject(at, "threshold", "threshold must be a finite number of magnitude at most 1e150")
    return column.values


def ks(sieve: Sieve, boolean: Bools | None = None) -> Int64s:
    """The column `k`; where a subscription is Boolean it may be null, and is then 1."""
    column = integers(sieve, "k")
    optional = np.zeros(sieve.n_rows, np.bool_) if boolean is None else boolean
    hint = "" if boolean is None else " without a threshold"
    sieve.reject(column.null & ~optional, "k", f"k must not be null{hint}")
    sieve.reject(~column.null & (column.values < 1), "k", "k must be at least 1")
    sieve.reject(column.values > LARGEST_K, "k", f"k must be at most {LARGEST_K}")
    return np.where(column.null, 1, column.values)


def default_windows(settings: Settings, n: int) -> Windows:
    """The window of the settings, n times."""
    if n == 1:
        # numpy takes thrice as long to fill an array as to make one of a list.
        return Windows(np.array([settings.window.kind], np.int8), np.array([settings.window.size], np.int64))
    return Windows(np.full(n, settings.window.kind, np.int8), np.full(n, settings.window.size, np.int64))


def windows(sieve: Sieve, settings: Settings) -> Windows:
    """The columns `window_us` and `window_n`; a subscription with neither has the window of the settings."""
    kind, size = default_windows(settings, sieve.n_rows)
    given = np.zeros(sieve.n_rows, np.bool_)
    for name, its_kind in (("window_us", WindowKind.TIME), ("window_n", WindowKind.COUNT)):
        column = durations(sieve, name) if its_kind == WindowKind.TIME else integers(sieve, name)
        sieve.reject(~column.null & (column.values <= 0), name, f"{name} must be greater than 0")
        sieve.reject(~column.null & given, name, "window_us and window_n must not both be given")
        given |= ~column.null
        kind[~column.null] = its_kind
        size[~column.null] = column.values[~column.null]
    return Windows(kind, size)


def plain_windows(plain: PlainRows, settings: Settings) -> Windows:
    """The windows of few plain rows as `windows` reads them, or `Doubtful`."""
    kind, size = default_windows(settings, len(plain))
    if plain.has("window_us") and plain.has("window_n"):
        raise Doubtful
    for name, its_kind in (("window_us", WindowKind.TIME), ("window_n", WindowKind.COUNT)):
        if plain.has(name):
            kind[:], size[:] = its_kind, plain.integers(name, low=1)
    return Windows(kind, size)


def keep_windows(sieve: Sieve, windows: Windows) -> Windows:
    """The windows of the good rows."""
    return Windows(sieve.keep(windows.kind), sieve.keep(windows.size))


def boxes(sieve: Sieve, scalars: bool, nulls_open: bool, required: bool = True) -> tuple[Lists, Lists]:
    """The columns `lo` and `hi`, checked; with `nulls_open` a null leaves its side of a dimension open.

    Where they are not `required`, a row may have neither.
    """
    lo, hi = (_side(sieve, name, scalars, nulls_open) for name in ("lo", "hi"))
    if required:
        for name, lists in (("lo", lo), ("hi", hi)):
            sieve.reject(lists.null, name, f"{name} must not be null")
    sieve.reject(lo.null & ~hi.null, "lo", "lo and hi must be given together")
    sieve.reject(~lo.null & hi.null, "hi", "lo and hi must be given together")
    uneven = ~lo.null & ~hi.null & (lo.lengths != hi.lengths)
    sieve.reject(uneven, "hi", lambda row: f"lo has {lo.lengths[row]} numbers and hi has {hi.lengths[row]}")
    compared = ~sieve.bad
    n_rows = sieve.n_rows
    above = any_of(
        lo.rows[compared[lo.rows]],
        lo.values[compared[lo.rows]] > hi.values[compared[hi.rows]],
        n_rows,
    )
    sieve.reject(above, "lo", "lo must not be greater than hi in any dimension")
    return lo, hi


def _side(sieve: Sieve, name: str, scalars: bool, nulls_open: bool) -> Lists:
    lists = vectors(sieve, name, scalars)
    if not nulls_open:
        no_nulls(sieve, name, lists)
    nan = np.isnan(lists.values) & ~lists.holes
    sieve.reject(any_of(lists.rows, nan, sieve.n_rows), name, f"{name} must not hold NaN")
    opening = -np.inf if name == "lo" else np.inf
    return lists._replace(values=np.where(lists.holes, opening, lists.values))


def keep_boxes(sieve: Sieve, settings: Settings, lo: Lists, hi: Lists) -> BoxColumns:
    """The boxes of the rows that are good once the dimensions have been compared."""
    dims = dimensions(sieve, settings, {"lo": lo, "hi": hi})
    return BoxColumns(dense(sieve, lo, dims, np.nan), dense(sieve, hi, dims, np.nan))
