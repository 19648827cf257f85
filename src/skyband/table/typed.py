"""The good rows of a table with proper types in place of marked cells."""

from typing import Any

import numpy as np
import pyarrow as pa

from skyband.table.cell import mark_of
from skyband.table.duration_column import durations
from skyband.table.instant import times
from skyband.table.scalar import integers, numbers, texts
from skyband.table.sieve import Parsed, Sieve
from skyband.table.vector import Lists, vectors, words


def typed(table: pa.Table, parsed: Parsed[Any], schema: pa.Schema) -> pa.Table:
    """The rows that were kept; marked columns that the family knows get its types, others stay as text."""
    if len(parsed.kept) < table.num_rows:
        table = table.take(pa.array(parsed.kept))
    ids = {"id": "ids", "object": "objects"}
    sieve = Sieve(table, "rows")
    for place, field in enumerate(table.schema):
        if mark_of(field) is None:
            continue
        column = table.column(place)
        if field.name in ids and hasattr(parsed.rows, ids[field.name]):
            column = getattr(parsed.rows, ids[field.name])
        elif field.name in schema.names:
            column = _column(sieve, field.name, schema.field(field.name).type)
        table = table.set_column(place, pa.field(field.name, column.type), column)
    return table


def restated(table: pa.Table, rows: Any, schema: pa.Schema) -> pa.Table:
    """Good rows with just the columns and types of a schema; ids, times and weights are those of the arrays."""
    sieve = Sieve(table, "rows")
    known = {"id": "ids", "object": "objects", "ts": "ts"}
    columns = []
    for field in schema:
        if field.name in known and known[field.name] in rows._fields:
            found = getattr(rows, known[field.name])
            column = found.cast(field.type) if isinstance(found, pa.Array) else pa.array(found, field.type)
        elif field.name in ("terms", "weights") and "terms" in rows._fields:
            offsets = pa.array(rows.offsets, pa.int32())
            column = pa.ListArray.from_arrays(offsets, pa.array(getattr(rows, field.name)))
        else:
            column = _column(sieve, field.name, field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _column(sieve: Sieve, name: str, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return texts(sieve, name)
    if pa.types.is_list(kind):
        is_words = pa.types.is_string(kind.value_type)
        return _lists(words(sieve, name) if is_words else vectors(sieve, name, scalars=True))
    own = {"ts": times, "window_us": durations}
    column = own.get(name, integers if pa.types.is_integer(kind) else numbers)(sieve, name)
    return pa.array(column.values, kind, mask=column.null)


def _lists(lists: Lists) -> pa.Array:
    values = pa.array(lists.values, mask=lists.holes) if isinstance(lists.values, np.ndarray) else lists.values
    offsets = pa.array(lists.offsets.astype(np.int32), mask=np.append(lists.null, False))
    return pa.ListArray.from_arrays(offsets, values)
