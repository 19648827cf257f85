"""Parts: what rows of the ranked family ask of single dimensions, laid end to end in the order of dimensions.

A dense row speaks of every dimension in turn. A sparse one names its dimensions in `dims`, in any order. What is open
on both sides and weighs nothing is not asked about, and is no part.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int32s, Int64s
from skyband.kernels.ragged import offsets_of, owners_of, ranks_of
from skyband.table.settings import Settings
from skyband.table.sieve import Sieve, any_of
from skyband.table.vector import Lists, all_finite, dimensions, no_nulls, vectors

UNKNOWN_DIMS = (
    "dims can be read once the number of dimensions is known: set it in the settings, or give a row without dims "
    "or a publication first"
)


class Flat(NamedTuple):
    """What rows say of dimensions: those of row i are `dim[offsets[i]:offsets[i + 1]]`, ascending, and so the rest.

    NaN in `lo`, `hi` or `weight` is what the row does not say.
    """

    offsets: Int64s
    dim: Int32s
    lo: Floats
    hi: Floats
    weight: Floats

    @property
    def rows(self) -> Int64s:
        """The row of each entry."""
        return owners_of(np.diff(self.offsets))


class Columns(NamedTuple):
    """The columns of a table that speak of dimensions."""

    lo: Lists
    hi: Lists
    weights: Lists
    listed: Lists


def columns(sieve: Sieve, lo: Lists, hi: Lists) -> Columns:
    """The columns `weights` and `dims` beside `lo` and `hi`, each checked by itself and against the others."""
    weights, listed = vectors(sieve, "weights"), vectors(sieve, "dims")
    no_nulls(sieve, "weights", weights)
    all_finite(sieve, "weights", weights)
    negative = any_of(weights.rows, weights.values < 0, sieve.n_rows)
    sieve.reject(negative, "weights", "weights must not be negative")
    uneven = ~weights.null & ~lo.null & (weights.lengths != lo.lengths)
    sieve.reject(uneven, "weights", "weights must hold as many numbers as lo and hi")
    _check_listed(sieve, listed)
    # -0.0 and 0.0 are one weight; their sums, least and greatest shall not depend on which it was.
    found = Columns(lo, hi, weights._replace(values=weights.values + 0.0), listed)
    uneven = ~listed.null & (listed.lengths != _lengths(found))
    sieve.reject(uneven, "dims", "dims must hold as many numbers as lo, hi and weights")
    return found


def _check_listed(sieve: Sieve, listed: Lists) -> None:
    no_nulls(sieve, "dims", listed)
    values = listed.values
    wrong = ~((values >= 0) & (values < 2**31) & (np.floor(values) == values))
    sieve.reject(any_of(listed.rows, wrong, sieve.n_rows), "dims", "dims must hold integers from 0 up")
    order = np.lexsort((values, listed.rows))
    rows, values = listed.rows[order], values[order]
    again = np.zeros(len(values), np.bool_)
    again[1:] = (rows[1:] == rows[:-1]) & (values[1:] == values[:-1])
    sieve.reject(any_of(rows, again, sieve.n_rows), "dims", "dims must not hold the same dimension twice")


def _lengths(found: Columns) -> Int64s:
    return np.where(found.lo.null, found.weights.lengths, found.lo.lengths)


def known_dims(sieve: Sieve, settings: Settings, found: Columns) -> int:
    """How many dimensions there are; rows that do not fit are rejected. Dense rows decide where the settings do not."""
    sparse = ~found.listed.null
    dense = {name: getattr(found, name) for name in ("lo", "hi", "weights")}
    dense = {name: lists._replace(null=lists.null | sparse) for name, lists in dense.items()}
    dims = dimensions(sieve, settings, dense)
    if dims == 0:
        sieve.reject(sparse, "dims", UNKNOWN_DIMS)
    beyond = any_of(found.listed.rows, found.listed.values >= dims, sieve.n_rows)
    sieve.reject(beyond, "dims", partial(_beyond, dims))
    return dims


def _beyond(dims: int, row: int) -> str:
    return f"dims must hold integers below {dims}, the number of dimensions"


def flatten(sieve: Sieve, found: Columns) -> Flat:
    """What the good rows say, end to end."""
    good = ~sieve.bad
    lengths = _lengths(found)[good]
    offsets, rows, dim = offsets_of(lengths), owners_of(lengths), ranks_of(lengths)
    sparse = ~found.listed.null[good][rows]
    dim[sparse] = _kept(found.listed, good)
    flat = Flat(offsets, dim.astype(np.int32), *(_spread(lists, good, rows) for lists in found[:3]))
    if not sparse.any():
        return flat
    order = np.lexsort((dim, rows))
    return Flat(offsets, flat.dim[order], flat.lo[order], flat.hi[order], flat.weight[order])


def _kept(lists: Lists, good: Bools) -> Floats:
    kept: Floats = lists.values[good[lists.rows]]
    return kept


def _spread(lists: Lists, good: Bools, rows: Int64s) -> Floats:
    """The numbers of the good rows, NaN for rows that have none."""
    numbers = np.full(len(rows), np.nan)
    numbers[~lists.null[good][rows]] = _kept(lists, good)
    return numbers


def bounded(lo: Floats, hi: Floats) -> Bools:
    """Which intervals are not open on both sides."""
    return np.asarray((lo > -np.inf) | (hi < np.inf))


def only_parts(flat: Flat) -> Flat:
    """Without what is not asked about; a weight that is not given is 1 where a side is closed, and 0 where none is."""
    closed = bounded(flat.lo, flat.hi)
    weight = np.where(np.isnan(flat.weight), closed, flat.weight)
    kept = closed | (weight > 0.0)
    lengths = np.bincount(flat.rows[kept], minlength=len(flat.offsets) - 1)
    return Flat(offsets_of(lengths), flat.dim[kept], flat.lo[kept], flat.hi[kept], weight[kept])
