"""Columns of lists: vectors of numbers and lists of words, flat with offsets."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.ragged import offsets_of, owners_of
from skyband.table.cell import lists_at_once
from skyband.table.scalar import (
    LARGEST,
    Wrong,
    cell_by_cell,
    filled,
    is_number,
    is_text,
    null_mask,
    one_number,
    one_text,
)
from skyband.table.scalar import numbers as scalar_numbers
from skyband.table.settings import Settings
from skyband.table.sieve import Sieve, any_of

NO_LIST = pa.binary()


class Lists(NamedTuple):
    """Lists of numbers or words: row i is `values[offsets[i]:offsets[i + 1]]`, empty where the row is null.

    `holes` marks null elements, which are NaN or "" in `values`.
    """

    offsets: Int64s
    values: Any
    holes: Bools
    null: Bools

    @property
    def lengths(self) -> Int64s:
        """How many elements each row has."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Int64s:
        """The row of each element."""
        return owners_of(self.lengths)


def vectors(sieve: Sieve, name: str, scalars: bool = False) -> Lists:
    """A column of lists of doubles; with `scalars`, a number stands for a list of one."""
    must = "must be a number or a list of numbers" if scalars else "must be a list of numbers"
    array = _array(sieve, name, pa.float64())
    if pa.types.is_null(array.type):
        return _nothing(sieve.n_rows, np.zeros(0, np.float64))
    if not sieve.mark(name) or pa.types.is_list(array.type):
        lists = _cast(array, lambda kind: is_number(kind), pa.float64())
        if lists is not None:
            return lists._replace(values=filled(lists.values, np.nan))
        if scalars and is_number(array.type):
            return _singletons(sieve, name)
        if not is_number(_element(array)):
            sieve.reject(~null_mask(array), name, f"{name} {must}")
            return _nothing(sieve.n_rows, np.zeros(0, np.float64))._replace(null=null_mask(array))
    if scalars and sieve.mark(name) == "csv" and not pc.any(pc.starts_with(array, "[")).as_py():
        return _singletons(sieve, name)
    nothing: list[float | None] = []
    cells, null = cell_by_cell(sieve, name, lambda cell: _one_vector(name, cell, must, scalars), nothing)
    flat = [np.nan if x is None else x for cell in cells for x in cell]
    return _joined(cells, null, np.array(flat, np.float64))


def words(sieve: Sieve, name: str) -> Lists:
    """A column of lists of strings."""
    array = _array(sieve, name, pa.string())
    if pa.types.is_null(array.type):
        return _nothing(sieve.n_rows, pa.array([], pa.string()))
    if not sieve.mark(name) or pa.types.is_list(array.type):
        lists = _cast(array, is_text, pa.string())
        if lists is not None:
            return lists._replace(values=pc.fill_null(lists.values, ""))
        sieve.reject(~null_mask(array), name, f"{name} must be a list of words")
        return _nothing(sieve.n_rows, pa.array([], pa.string()))._replace(null=null_mask(array))
    nothing: list[str | None] = []
    cells, null = cell_by_cell(sieve, name, lambda cell: _one_list(name, cell), nothing)
    flat = ["" if word is None else word for cell in cells for word in cell]
    return _joined(cells, null, pa.array(flat, pa.string()))


def _array(sieve: Sieve, name: str, element: pa.DataType) -> pa.Array:
    array = sieve.array(name)
    if pa.types.is_null(array.type) or sieve.mark(name) != "csv":
        return array
    lists = lists_at_once(array, element)
    return array if lists is None else lists


def _cast(array: pa.Array, accepts: Callable[[pa.DataType], bool], kind: pa.DataType) -> Lists | None:
    """A list column cast as a whole, or None when its type or a value does not allow it."""
    inner = _element(array)
    if not (accepts(inner) or pa.types.is_null(inner)):
        return None
    lengths = filled(pc.list_value_length(array), 0)
    try:
        values = pc.cast(pc.list_flatten(array), kind)
    except pa.ArrowInvalid:
        return None
    return Lists(offsets_of(lengths), values, null_mask(values), null_mask(array))


def _element(array: pa.Array) -> pa.DataType:
    """The type of the elements of a list column; a type that no reader accepts for any other column."""
    is_list = hasattr(array.type, "value_type") and not pa.types.is_map(array.type)
    return array.type.value_type if is_list else NO_LIST


def _nothing(n_rows: int, values: Any) -> Lists:
    return Lists(np.zeros(n_rows + 1, np.int64), values, np.zeros(0, np.bool_), np.ones(n_rows, np.bool_))


def _singletons(sieve: Sieve, name: str) -> Lists:
    column = scalar_numbers(sieve, name)
    values = column.values[~column.null]
    return Lists(offsets_of(~column.null), values, np.zeros(len(values), np.bool_), column.null)


def _joined(cells: list[list[Any]], null: Bools, values: Any) -> Lists:
    holes = [element is None for cell in cells for element in cell]
    lengths = np.array([len(cell) for cell in cells], np.int64)
    return Lists(offsets_of(lengths), values, np.array(holes, np.bool_), null)


def _one_vector(name: str, cell: Any, must: str, scalars: bool) -> list[float | None]:
    if scalars and not isinstance(cell, list):
        return [one_number(name, cell, must)]
    if not isinstance(cell, list):
        raise Wrong(f"{name} {must}")
    return [None if element is None else one_number(name, element, must) for element in cell]


def _one_list(name: str, cell: Any) -> list[str | None]:
    if not isinstance(cell, list) or not all(word is None or isinstance(word, str) for word in cell):
        raise Wrong(f"{name} must be a list of words")
    return [None if word is None else one_text(name, word) for word in cell]


def no_nulls(sieve: Sieve, name: str, lists: Lists) -> None:
    """Reject lists that hold a null."""
    sieve.reject(any_of(lists.rows, lists.holes, sieve.n_rows), name, f"{name} must not hold nulls")


def all_finite(sieve: Sieve, name: str, lists: Lists, nulls: bool = False) -> None:
    """Reject vectors with a number that is infinite, NaN or so large that a score could overflow."""
    at = ~(np.abs(lists.values) <= LARGEST)
    if nulls:
        at &= ~np.isnan(lists.values)
    reason = f"{name} must hold finite numbers of magnitude at most 1e150"
    sieve.reject(any_of(lists.rows, at, sieve.n_rows), name, reason)


def dimensions(sieve: Sieve, settings: Settings, vectors: dict[str, Lists]) -> int:
    """How many numbers each vector has; vectors of another length are rejected, null rows are left alone.

    Call it after every other rule: without a setting, the first row that is still good decides.
    """
    for name, lists in vectors.items():
        sieve.reject(~lists.null & (lists.lengths == 0), name, f"{name} must hold at least one number")
    dims = settings.dims
    if dims is None:
        present = [np.where(lists.null | sieve.bad, 0, lists.lengths) for lists in vectors.values()]
        longest = np.max(present, axis=0, initial=0)
        dims = int(longest[np.argmax(longest > 0)]) if longest.any() else 0
    for name, lists in vectors.items():
        at = ~lists.null & (lists.lengths != dims)
        sieve.reject(at, name, partial(_expected, name, lists.lengths, dims))
    return dims if settings.dims is not None or not sieve.bad.all() else 0


def _expected(name: str, lengths: Int64s, dims: int, row: int) -> str:
    n_found = lengths[row]
    found = "1 number" if n_found == 1 else f"{n_found} numbers"
    return f"{name} has {found} where {dims} {'is' if dims == 1 else 'are'} expected"


def dense(sieve: Sieve, lists: Lists, dims: int, fill: float) -> Floats:
    """The good rows as a matrix of `dims` columns, null rows filled with `fill`."""
    good = np.flatnonzero(~sieve.bad)
    if len(good) == sieve.n_rows and len(lists.values) == sieve.n_rows * dims and not lists.null.any():
        return np.require(lists.values.reshape(sieve.n_rows, dims), requirements=["C", "W"])
    matrix = np.full((len(good), dims), fill)
    filled_rows = ~lists.null[good]
    starts = lists.offsets[good[filled_rows]]
    matrix[filled_rows] = lists.values[starts[:, None] + np.arange(dims)]
    return matrix
