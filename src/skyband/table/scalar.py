"""Columns of single values: ids, integers, numbers, texts and times.

Each reader casts a whole Arrow column when its type allows, and looks at single cells only when it does not.
Readers reject what has the wrong type; what a value may be is for the families to say.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.table.argument import is_unicode
from skyband.table.sieve import Sieve

T = TypeVar("T")

LARGEST = 1e150
EXACT = 2**53
BEYOND = "{} is beyond the range of 64-bit integers"


class Wrong(Exception):
    """A cell cannot be read; the message is the reason."""


class Column(NamedTuple):
    """One value for each row, and which rows have none."""

    values: NDArray[Any]
    null: Bools


def null_mask(array: pa.Array) -> Bools:
    """Which entries of an Arrow array are null."""
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def filled(array: pa.Array, fill: Any) -> NDArray[Any]:
    """An Arrow array of a primitive type as numpy, with a value in place of nulls."""
    values = pc.fill_null(array, fill) if array.null_count else array
    return np.asarray(values.to_numpy(zero_copy_only=False))


def cell_by_cell(sieve: Sieve, name: str, convert: Callable[[Any], T], fill: T) -> tuple[list[T], Bools]:
    """Read a column one cell at a time; a cell that cannot be read rejects its row and leaves `fill`."""
    values, wrong = [fill] * sieve.n_rows, {}
    null = np.zeros(sieve.n_rows, np.bool_)
    for row, cell in enumerate(sieve.values(name)):
        if cell is None:
            null[row] = True
            continue
        try:
            values[row] = convert(cell)
        except Wrong as error:
            wrong[row] = str(error)
    at = np.zeros(sieve.n_rows, np.bool_)
    at[list(wrong)] = True
    sieve.reject(at, name, lambda row: wrong[row])
    return values, null


def integers(sieve: Sieve, name: str) -> Column:
    """A column of 64-bit integers; whole floating-point numbers count as integers, null leaves 0."""
    array = sieve.array(name)
    kind = array.type
    if pa.types.is_null(kind):
        return Column(np.zeros(sieve.n_rows, np.int64), np.ones(sieve.n_rows, np.bool_))
    if sieve.mark(name):
        return _marked_integers(sieve, name, array)
    null = null_mask(array)
    if pa.types.is_integer(kind):
        return Column(_from_integers(sieve, name, array), null)
    if pa.types.is_floating(kind):
        return Column(_from_floats(sieve, name, filled(array, 0.0).astype(np.float64)), null)
    sieve.reject(~null, name, f"{name} must be an integer")
    return Column(np.zeros(sieve.n_rows, np.int64), null)


def _from_integers(sieve: Sieve, name: str, array: pa.Array) -> Int64s:
    values = filled(array, 0)
    if values.dtype == np.uint64:
        sieve.reject(values > np.uint64(2**63 - 1), name, BEYOND.format(name))
    return values.astype(np.int64)


def _from_floats(sieve: Sieve, name: str, values: Floats) -> Int64s:
    whole = np.isfinite(values) & (np.floor(values) == values)
    sieve.reject(~whole, name, f"{name} must be an integer")
    sieve.reject(np.abs(values) > EXACT, name, f"{name} is a floating-point number too large to be exact")
    return np.where(whole & (np.abs(values) <= EXACT), values, 0.0).astype(np.int64)


def _marked_integers(sieve: Sieve, name: str, array: pa.Array) -> Column:
    if sieve.mark(name) == "csv" and pc.all(pc.match_substring_regex(array, r"^-?[0-9]{1,18}$")).as_py():
        return Column(filled(pc.cast(array, pa.int64()), 0), null_mask(array))
    values, null = cell_by_cell(sieve, name, lambda cell: one_integer(name, cell), 0)
    return Column(np.array(values, np.int64), null)


def one_integer(name: str, cell: Any) -> int:
    """The integer of a cell."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise Wrong(f"{name} must be an integer")
    if isinstance(cell, float):
        if not cell.is_integer():
            raise Wrong(f"{name} must be an integer")
        if abs(cell) > EXACT:
            raise Wrong(f"{name} is a floating-point number too large to be exact")
    if not -(2**63) <= cell < 2**63:
        raise Wrong(BEYOND.format(name))
    return int(cell)


def numbers(sieve: Sieve, name: str) -> Column:
    """A column of doubles, infinities and NaN included; null leaves NaN."""
    array = sieve.array(name)
    if pa.types.is_null(array.type):
        return Column(np.full(sieve.n_rows, np.nan), np.ones(sieve.n_rows, np.bool_))
    if not sieve.mark(name) and not is_number(array.type):
        null = null_mask(array)
        sieve.reject(~null, name, f"{name} must be a number")
        return Column(np.full(sieve.n_rows, np.nan), null)
    if sieve.mark(name) != "json":
        try:
            return Column(filled(pc.cast(array, pa.float64()), np.nan), null_mask(array))
        except pa.ArrowInvalid:
            pass
    values, null = cell_by_cell(sieve, name, lambda cell: one_number(name, cell), np.nan)
    return Column(np.array(values, np.float64), null)


def is_number(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds integers or binary floating-point numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def one_number(name: str, cell: Any, must: str = "must be a number") -> float:
    """The double of a cell; an integer that a double cannot hold exactly is refused."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise Wrong(f"{name} {must}")
    try:
        value = float(cell)
    except OverflowError:
        value = np.inf
    if isinstance(cell, int) and (np.isinf(value) or int(value) != cell):
        raise Wrong(f"{name} is an integer too large for a double to hold exactly")
    return value


def texts(sieve: Sieve, name: str) -> pa.Array:
    """A column of strings."""
    array = sieve.array(name)
    if pa.types.is_null(array.type) or (is_text(array.type) and sieve.mark(name) != "json"):
        return pc.cast(array, pa.string())
    if not sieve.mark(name):
        sieve.reject(~null_mask(array), name, f"{name} must be text")
        return pa.nulls(sieve.n_rows, pa.string())
    values, null = cell_by_cell(sieve, name, lambda cell: one_text(name, cell), "")
    return pa.array(values, pa.string(), mask=null)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def one_text(name: str, cell: Any) -> str:
    """The string of a cell."""
    if not isinstance(cell, str):
        raise Wrong(f"{name} must be text")
    if not is_unicode(cell):
        raise Wrong(f"{name} is not valid Unicode text")
    return cell


def finite(sieve: Sieve, name: str, column: Column) -> Floats:
    """The numbers of a column, none of them null, NaN, infinite or so large that a score could overflow."""
    sieve.reject(column.null, name, f"{name} must not be null")
    at = ~column.null & ~(np.abs(column.values) <= LARGEST)
    sieve.reject(at, name, f"{name} must be a finite number of magnitude at most 1e150")
    return column.values
