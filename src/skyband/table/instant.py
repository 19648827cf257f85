"""Columns of times, as microseconds since 1970 in UTC."""

import datetime
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Int64s
from skyband.table.argument import is_integer
from skyband.table.cell import INSTANT
from skyband.table.reject import shorten
from skyband.table.scalar import Column, Wrong, cell_by_cell, filled, integers, is_text, null_mask, one_integer
from skyband.table.sieve import Sieve

# Times and windows stay below this, so that no difference of two of them leaves 64 bits.
FARTHEST = 2**61
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
FINER_THAN_MICROSECONDS = re.compile(r"[.,]\d{6}\d*[1-9]")
PER_MICROSECOND = {"s": 1_000_000, "ms": 1_000, "us": 1}


Instant = int | datetime.datetime | np.datetime64


def one_instant(given: Any) -> int:
    """A time that is given alone, in microseconds: an integer or a datetime, as in a column of times."""
    if is_integer(given):
        return int(given)
    us = _from_datetime(given) if isinstance(given, datetime.datetime | np.datetime64) else None
    if us is None:
        raise ValueError(f"The time is an integer of microseconds, or a datetime without less, not {shorten(given)}.")
    return us


def _from_datetime(given: Any) -> int | None:
    """Microseconds, or None for what is no time and what is finer."""
    if given != given or getattr(given, "nanosecond", 0):
        return None
    if isinstance(given, np.datetime64):
        us = given.astype("datetime64[us]")
        return int(us.astype(np.int64)) if us == given else None
    moment = given if given.tzinfo else given.replace(tzinfo=datetime.UTC)
    return int((moment - EPOCH) // MICROSECOND)


def times(sieve: Sieve, name: str) -> Column:
    """A column of instants: integers are microseconds, times without a zone are UTC."""
    array = sieve.array(name)
    if pa.types.is_date(array.type):
        array = pc.cast(array, pa.timestamp("ms"))
    if pa.types.is_timestamp(array.type):
        beyond = f"{name} is beyond the range of 64-bit microseconds"
        return Column(from_ticks(sieve, name, array, beyond), null_mask(array))
    if not is_text(array.type):
        return integers(sieve, name)
    column = _from_digits(array) if sieve.mark(name) == "csv" else None
    if column is None and sieve.mark(name) != "json":
        column = _from_iso(array)
    if column is not None:
        return column
    values, null = cell_by_cell(sieve, name, lambda cell: _one(name, cell), 0)
    return Column(np.array(values, np.int64), null)


def instants(sieve: Sieve, name: str = "ts") -> Int64s:
    """A column of instants, none of them null."""
    column = times(sieve, name)
    sieve.reject(column.null, name, f"{name} must not be null")
    return column.values


def from_ticks(sieve: Sieve, name: str, array: pa.Array, beyond: str) -> Int64s:
    """The microseconds of timestamps or durations of any unit; `beyond` is why one that is too large is rejected."""
    ticks = filled(pc.cast(array, pa.int64()), 0)
    if array.type.unit == "ns":
        sieve.reject(ticks % 1000 != 0, name, f"{name} has a fraction of a microsecond, which would be lost")
        return ticks // 1000
    factor = PER_MICROSECOND[array.type.unit]
    limit = (2**63 - 1) // factor
    at = sieve.reject((ticks > limit) | (ticks < -limit), name, beyond)
    return np.where(at, 0, ticks) * factor


def _from_iso(array: pa.Array) -> Column | None:
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            cast = pc.cast(pc.cast(array, kind), pa.int64())
            return Column(filled(cast, 0), null_mask(array))
        except pa.ArrowInvalid:
            continue
    return None


def _from_digits(array: pa.Array) -> Column | None:
    if not pc.all(pc.match_substring_regex(array, r"^-?[0-9]{1,18}$")).as_py():
        return None
    return Column(filled(pc.cast(array, pa.int64()), 0), null_mask(array))


def _one(name: str, cell: Any) -> int:
    if isinstance(cell, dict) and list(cell) == [INSTANT]:
        cell = cell[INSTANT]
    if not isinstance(cell, str):
        return one_integer(name, cell)
    try:
        moment = datetime.datetime.fromisoformat(cell.strip())
    except ValueError:
        raise Wrong(f"{name} must be an integer of microseconds or an ISO 8601 time") from None
    # Python's parser drops digits after the sixth without a word.
    if FINER_THAN_MICROSECONDS.search(cell):
        raise Wrong(f"{name} has a fraction of a microsecond, which would be lost")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - EPOCH) // MICROSECOND
