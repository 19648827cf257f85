"""Columns of ids: all integers or all strings, none null, none twice."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Int64s
from skyband.table.scalar import BEYOND, Wrong, cell_by_cell, filled, is_text, null_mask, one_text
from skyband.table.sieve import Sieve

# Leading zeros and plus signs are not integers here: "007" and "7" are two ids.
INTEGER_TEXT = r"^(0|-?[1-9][0-9]*)$"


def ids(sieve: Sieve, name: str) -> pa.Array:
    """A column of ids as an int64 or string array.

    CSV has no types: a column of nothing but integers holds integer ids, any other holds strings. Where types
    are mixed, the first id that could be read decides.
    """
    array = sieve.array(name)
    sieve.reject(null_mask(array), name, f"{name} must not be null")
    mark = None if pa.types.is_null(array.type) else sieve.mark(name)
    if mark == "csv":
        return _from_csv(sieve, name, array)
    if mark == "json":
        return _from_mixed(sieve, name)
    if pa.types.is_integer(array.type):
        values = filled(array, 0)
        if values.dtype == np.uint64:
            sieve.reject(values > np.uint64(2**63 - 1), name, BEYOND.format(name))
        return pa.array(values.astype(np.int64))
    if is_text(array.type):
        return pc.fill_null(pc.cast(array, pa.string()), "")
    sieve.reject(~null_mask(array), name, _wrong_type(name, pa.types.is_floating(array.type)))
    return pa.array([""] * sieve.n_rows, pa.string())


def unique_ids(sieve: Sieve, name: str = "id", between: Bools | None = None) -> pa.Array:
    """A column of ids without those that occurred before; to be read before the other columns.

    The rows of the mask `between` may have any id, and one that was in such a row may occur again.
    """
    array = ids(sieve, name)
    codes = array.dictionary_encode()
    if len(codes.dictionary) == sieve.n_rows:
        return array
    readable = ~sieve.bad
    indices = codes.indices.to_numpy(zero_copy_only=False)
    if between is not None and between.any():
        readable &= ~between
        indices = _lives(indices, between)
    firsts = np.full(int(indices.max()) + 1, sieve.n_rows, np.int64)
    np.minimum.at(firsts, indices[readable], np.flatnonzero(readable))
    again = readable & (firsts[indices] != np.arange(sieve.n_rows))
    sieve.reject(again, name, lambda row: f"{name} is already in row {firsts[indices[row]] + 1}")
    return array


def _lives(indices: Int64s, between: Bools) -> Int64s:
    """A number for each id that is another one after each row of the mask with that id."""
    order = np.argsort(indices, kind="stable")
    begins = np.ones(len(indices), np.bool_)
    begins[1:] = (indices[order][1:] != indices[order][:-1]) | between[order][:-1]
    lives = np.empty(len(indices), np.int64)
    lives[order] = np.cumsum(begins)
    return lives


def _from_csv(sieve: Sieve, name: str, array: pa.Array) -> pa.Array:
    all_integers = pc.all(pc.match_substring_regex(array, INTEGER_TEXT), min_count=1).as_py()
    if not all_integers:
        return pc.fill_null(array, "")
    try:
        return pc.fill_null(pc.cast(array, pa.int64()), 0)
    except pa.ArrowInvalid:
        values, _ = cell_by_cell(sieve, name, lambda cell: _one(name, cell, int), 0)
        return pa.array(values, pa.int64())


def _from_mixed(sieve: Sieve, name: str) -> pa.Array:
    kinds = (type(cell) for cell in sieve.values(name))
    kind = next((kind for kind in kinds if kind in (int, str)), str)
    values, _ = cell_by_cell(sieve, name, lambda cell: _one(name, cell, kind), kind())
    return pa.array(values, pa.int64() if kind is int else pa.string())


def _one(name: str, cell: Any, kind: type[Any]) -> Any:
    if type(cell) not in (int, str):
        raise Wrong(_wrong_type(name, isinstance(cell, float)))
    if type(cell) is not kind:
        first, this = ("an integer", "text") if kind is int else ("text", "an integer")
        raise Wrong(f"{name} is {this} in a column that began with {first}; one column has one type of id")
    if isinstance(cell, str):
        return one_text(name, cell)
    if not -(2**63) <= cell < 2**63:
        raise Wrong(BEYOND.format(name))
    return cell


def _wrong_type(name: str, floating: bool) -> str:
    why = "; a floating-point number may have lost digits" if floating else ""
    return f"{name} must be an integer or text{why}"
