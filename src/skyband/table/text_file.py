"""Reading NDJSON and JSON: what pyarrow reads at once, and line by line what it cannot."""

import io
import json
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from skyband.kernels.array import Int64s
from skyband.table.cell import column_of
from skyband.table.reject import Reject, UnreadableFile, shorten
from skyband.table.scalar import EXACT

ID_COLUMNS = ("id", "object")
# Nothing that is read here is nested so deeply, and what is nested thousands of times ends the process in pyarrow.
DEEPEST = 100


class Reading(NamedTuple):
    """A table as read, the rows that could not be, and the 1-based row in the source of each that could."""

    table: pa.Table
    rejects: list[Reject]
    row_numbers: Int64s


def read_ndjson(data: bytes) -> Reading:
    """A file of one JSON object per line; rows are numbered by line."""
    lines = data.split(b"\n")
    numbers = np.array([i for i, line in enumerate(lines, 1) if line and not line.isspace()], np.int64)
    table = None if any(_crashes_arrow(line) for line in lines) else _parse_json(data)
    if table is not None and table.num_rows == len(numbers) and not _doubtful(table):
        return Reading(table, [], numbers)
    return _line_by_line([(int(number), lines[number - 1]) for number in numbers])


def _crashes_arrow(line: bytes) -> bool:
    """Whether a line may be one that ends the process in pyarrow: not an object, such as null, or nested too deeply."""
    if line[:1] != b"{" and line.lstrip()[:1] not in (b"{", b""):
        return True
    return len(line) > 2 * DEEPEST and line.count(b"[") + line.count(b"{") > DEEPEST


def _parse_json(data: bytes) -> pa.Table | None:
    try:
        table = pa.json.read_json(io.BytesIO(data))
        schema = pa.schema([pa.field(field.name, _untimed(field.type)) for field in table.schema])
        if schema == table.schema and _is_sound(table):
            return table
        options = pa.json.ParseOptions(explicit_schema=schema)
        table = pa.json.read_json(io.BytesIO(data), parse_options=options)
        return table if _is_sound(table) else None
    except (pa.ArrowException, UnicodeDecodeError, RecursionError):
        return None


def _is_sound(table: pa.Table) -> bool:
    """Whether the lists are as long as they claim: pyarrow loses count where the first of a column begins with null."""
    try:
        table.validate()
    except pa.ArrowInvalid:
        return False
    return True


def _untimed(kind: pa.DataType) -> pa.DataType:
    """The type with strings where pyarrow saw times: an id "2024-01-01" must stay as it was written."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    return pa.list_(_untimed(kind.value_type)) if pa.types.is_list(kind) else kind


def _doubtful(table: pa.Table) -> bool:
    """Whether integers may have been turned into doubles and lost digits on the way."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        flat = column.combine_chunks()
        while pa.types.is_list(flat.type):
            flat = flat.flatten()
        if pa.types.is_struct(flat.type):
            return True
        if pa.types.is_floating(flat.type):
            largest = pc.max(pc.abs(flat)).as_py()
            if name in ID_COLUMNS or (largest is not None and largest >= EXACT):
                return True
    return False


def _line_by_line(lines: list[tuple[int, bytes]]) -> Reading:
    rejects: list[Reject] = []
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, line in lines:
        try:
            rows.append(_object(line))
            numbers.append(number)
        except (ValueError, RecursionError) as error:
            text = line.decode(errors="replace").strip()
            rejects.append(Reject(number, "", shorten(text), f"the line is not a JSON object ({_reason(error)})"))
    return Reading(table_of_rows(rows), rejects, np.array(numbers, np.int64))


def _reason(error: Exception) -> str:
    """What is wrong with a text that is no JSON of ours, without the words that Python has for its own limits."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if type(error) is ValueError and "integer string conversion" in str(error):
        return "a number in it has too many digits"
    return str(error)


def _object(line: bytes) -> dict[str, Any]:
    value = json.loads(line, object_pairs_hook=_unrepeated)
    if not isinstance(value, dict):
        raise ValueError("it holds another kind of value")
    if len(line) > 2 * DEEPEST and _depth(value) > DEEPEST:
        raise ValueError("it is nested too deeply")
    return value


def _depth(value: Any) -> int:
    """How many objects and lists are within one another."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [each for outer in level for each in (outer.values() if isinstance(outer, dict) else outer)]
    return depth


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("it names a column twice")
    return names


def read_json_array(data: bytes, name: str) -> Reading:
    """A file that holds one JSON array of objects; rows are numbered by element."""
    try:
        rows = json.loads(data, object_pairs_hook=_unrepeated)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile(f"{name} is not a JSON array of objects: {_reason(error)}.") from None
    good = [(number, row) for number, row in enumerate(rows, 1) if isinstance(row, dict)]
    rejects = [
        Reject(number, "", shorten(row), "the element is not a JSON object")
        for number, row in enumerate(rows, 1)
        if not isinstance(row, dict)
    ]
    numbers = np.array([number for number, _ in good], np.int64)
    return Reading(table_of_rows([row for _, row in good]), rejects, numbers)


def table_of_rows(rows: list[dict[str, Any]]) -> pa.Table:
    """A table of mappings; the columns are all the names met, in that order."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [column_of(name, [row.get(name) for row in rows]) for name in names]
    schema = pa.schema([field for field, _ in columns])
    return pa.Table.from_arrays([array for _, array in columns], schema=schema)
