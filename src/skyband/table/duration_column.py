"""Columns of durations, as microseconds: integers, durations of Arrow, and texts such as 10m."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.table.cell import DURATION
from skyband.table.duration import parse_with_unit
from skyband.table.instant import from_ticks
from skyband.table.scalar import BEYOND, Column, Wrong, cell_by_cell, integers, is_text, null_mask, one_integer
from skyband.table.sieve import Sieve


def durations(sieve: Sieve, name: str) -> Column:
    """A column of durations; a number alone is microseconds, but not one that is written as text."""
    array = sieve.array(name)
    if pa.types.is_duration(array.type):
        return Column(from_ticks(sieve, name, array, BEYOND.format(name)), null_mask(array))
    if not is_text(array.type) or _are_digits(sieve, name, array):
        return integers(sieve, name)
    values, null = cell_by_cell(sieve, name, lambda cell: _one(name, cell), 0)
    return Column(np.array(values, np.int64), null)


def _are_digits(sieve: Sieve, name: str, array: pa.Array) -> bool:
    """Whether the cells of a CSV file are numbers, which can be read all at once."""
    return sieve.mark(name) == "csv" and bool(pc.all(pc.match_substring_regex(array, r"^-?[0-9]{1,18}$")).as_py())


def _one(name: str, cell: Any) -> int:
    if isinstance(cell, dict) and list(cell) == [DURATION]:
        cell = cell[DURATION]
    if not isinstance(cell, str):
        return one_integer(name, cell)
    try:
        us = parse_with_unit(cell)
    except ValueError:
        raise Wrong(f"{name} must be an integer of microseconds or a duration such as 10m") from None
    if us >= 2**63:
        raise Wrong(BEYOND.format(name))
    return us
