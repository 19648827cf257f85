"""Columns of durations, as microseconds: integers, durations of Arrow, and texts such as 10m."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Int64s
from skyband.table.duration import parse_with_unit
from skyband.table.instant import PER_MICROSECOND
from skyband.table.scalar import BEYOND, Column, Wrong, cell_by_cell, filled, integers, is_text, null_mask, one_integer
from skyband.table.sieve import Sieve


def durations(sieve: Sieve, name: str) -> Column:
    """A column of durations; a number alone is microseconds, but not one that is written as text."""
    array = sieve.array(name)
    if pa.types.is_duration(array.type):
        return Column(_from_durations(sieve, name, array), null_mask(array))
    if not is_text(array.type) or _are_digits(sieve, name, array):
        return integers(sieve, name)
    values, null = cell_by_cell(sieve, name, lambda cell: _one(name, cell), 0)
    return Column(np.array(values, np.int64), null)


def _are_digits(sieve: Sieve, name: str, array: pa.Array) -> bool:
    """Whether the cells of a CSV file are numbers, which can be read all at once."""
    return sieve.mark(name) == "csv" and bool(pc.all(pc.match_substring_regex(array, r"^-?[0-9]{1,18}$")).as_py())


def _from_durations(sieve: Sieve, name: str, array: pa.Array) -> Int64s:
    ticks = filled(pc.cast(array, pa.int64()), 0)
    if array.type.unit == "ns":
        sieve.reject(ticks % 1000 != 0, name, f"{name} has a fraction of a microsecond, which would be lost")
        return ticks // 1000
    factor = PER_MICROSECOND[array.type.unit]
    limit = (2**63 - 1) // factor
    at = sieve.reject((ticks > limit) | (ticks < -limit), name, BEYOND.format(name))
    return np.where(at, 0, ticks) * factor


def _one(name: str, cell: Any) -> int:
    if not isinstance(cell, str):
        return one_integer(name, cell)
    try:
        us = parse_with_unit(cell)
    except ValueError:
        raise Wrong(f"{name} must be an integer of microseconds or a duration such as 10m") from None
    if us >= 2**63:
        raise Wrong(BEYOND.format(name))
    return us
