"""Cells whose type Arrow cannot know: CSV text, and columns that mix types, kept as marked text.

A marked column is a string column whose field metadata says how its cells are written, so that a table of
such columns can be filtered, sliced and concatenated like any other until its columns are decoded.
"""

import contextlib
import datetime
import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from skyband.table.duration import microseconds
from skyband.table.reject import shorten

Mark = Literal["csv", "json"]

MARK = b"skyband.cell"
# What a duration beside values of other types becomes: an object, so that it is taken for nothing but a duration.
DURATION = "microseconds"
# And a time or a date, which is no text: as an id it is refused, whatever lies beside it.
INSTANT = "datetime"
# What no column takes: how Python writes it, for whoever is told that it is wrong.
WRITTEN = "skyband.written"

# Units of numpy's durations that Arrow does not know, in seconds.
_SECONDS = {"m": 60, "h": 3600, "D": 86_400, "W": 604_800}


def marked(name: str, mark: Mark) -> pa.Field:
    """A string field whose cells are written as `mark` says."""
    return pa.field(name, pa.string(), metadata={MARK: mark.encode()})


def mark_of(field: pa.Field) -> str | None:
    """How the cells of a field are written, or None for an ordinary column."""
    mark = (field.metadata or {}).get(MARK)
    return mark.decode() if mark else None


def column_of(name: str, values: Sequence[Any]) -> tuple[pa.Field, pa.Array]:
    """A column of Python values: typed when they agree, marked JSON when they do not."""
    if _agree(values):
        try:
            array = pa.array([in_seconds(value) if type(value) is np.timedelta64 else value for value in values])
            return pa.field(name, array.type), array
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass
    cells = [None if value is None else encode(value) for value in values]
    return marked(name, "json"), pa.array(cells, pa.string())


def in_seconds(durations: Any) -> Any:
    """Durations of numpy, one or an array, in a unit that Arrow knows; what is too long stays too long."""
    unit, n_units = np.datetime_data(durations.dtype)
    if unit not in _SECONDS:
        return durations
    factor = n_units * _SECONDS[unit]
    limit = (2**63 - 1) // factor
    ticks = np.clip(durations.astype(np.int64), -limit, limit) * factor
    seconds = np.where(np.isnat(durations), np.timedelta64("NaT", "s"), ticks.astype("m8[s]"))
    return seconds if seconds.ndim else seconds[()]


def _agree(values: Sequence[Any]) -> bool:
    # Arrow turns True beside 1.5 into 1.0 and text beside bytes into bytes: decide before it does.
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) > 1 or not kinds <= {list, tuple}:
        return len(kinds) <= 1 and not kinds & {dict, set, frozenset}
    elements = set(map(type, itertools.chain.from_iterable(v for v in values if v is not None)))
    elements -= {type(None)}
    # No column takes lists of lists, and Arrow follows one that is endless until the process dies.
    return (len(elements) <= 1 and not elements & {list, tuple, dict, set}) or elements == {int, float}


def encode(value: Any) -> str:
    """A Python value as JSON; what JSON has no word for becomes an object, which no rule accepts."""
    try:
        return json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return json.dumps({WRITTEN: shorten(value)})


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufU":
        return value.tolist()
    # The missing time of pandas is a datetime that equals nothing.
    if isinstance(value, datetime.date) and value == value:
        return {INSTANT: value.isoformat()}
    if isinstance(value, np.datetime64) and value == value:
        return {INSTANT: str(value)}
    if isinstance(value, datetime.timedelta | np.timedelta64):
        with contextlib.suppress(ValueError):
            return {DURATION: microseconds(value)}
    return {WRITTEN: shorten(value)}


class _Written:
    """Something that is shown as a text says."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def as_given(value: Any) -> Any:
    """What is shown for a decoded value: the value that was given, where JSON has no word for it."""
    if isinstance(value, list):
        return [as_given(element) for element in value]
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((name, held),) = value.items()
    with contextlib.suppress(OverflowError, TypeError, ValueError):
        if name == DURATION:
            return datetime.timedelta(microseconds=held)
        if name == INSTANT:
            return datetime.datetime.fromisoformat(held)
    return _Written(held) if name == WRITTEN else {name: as_given(held)}


def decode(cell: str | None, mark: str) -> Any:
    """The Python value of a cell; CSV text that is neither a number nor a JSON array stays text."""
    if cell is None:
        return None
    return json.loads(cell) if mark == "json" else _from_csv(cell)


def _from_csv(cell: str) -> Any:
    text = cell.strip()
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return cell
    # Python reads no integer of more digits than this, and a number would say that it is infinite.
    if not text.isascii() or "_" in text or (len(text) > sys.get_int_max_str_digits() and text.lstrip("+-").isdigit()):
        return cell
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return cell


# Nothing in these patterns can end a list early, so cells that match can be read as one JSON document.
_NUMBERS = r"^\[(?:[-+0-9.eE, ]|null)*\]$"
_STRINGS = r'^\[(?:[, ]|null|"[^"\\\x00-\x1f]*")*\]$'


def lists_at_once(cells: pa.Array, element: pa.DataType) -> pa.Array | None:
    """CSV cells that hold JSON arrays as one list column, or None when they must be looked at one by one."""
    pattern = _STRINGS if pa.types.is_string(element) else _NUMBERS
    if not pc.all(pc.match_substring_regex(cells, pattern)).as_py():
        return None
    lines = pc.binary_join_element_wise('{"v":', pc.fill_null(cells, "null"), "}\n", "")
    schema = pa.schema([("v", pa.list_(element))])
    try:
        read = pa.json.read_json(
            pa.BufferReader("".join(lines.to_pylist()).encode()),
            parse_options=pa.json.ParseOptions(explicit_schema=schema),
        )
    except pa.ArrowInvalid:
        return None
    array = read.column("v").combine_chunks()
    return array if len(array) == len(cells) and not _rounded(array) else None


def _rounded(array: pa.Array) -> bool:
    """Whether a number is so large that an integer may have lost digits."""
    flat = array.flatten()
    if not pa.types.is_floating(flat.type):
        return False
    largest = pc.max(pc.abs(flat)).as_py()
    return largest is not None and largest >= 2**53
