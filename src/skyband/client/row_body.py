"""Rows as the body of a request: tables as they are, and rows of Python as Arrow where there are many of them.

A server reads a thousand rows of Arrow in a hundredth of the time that JSON takes. Rows that do not make a table, such
as one with a text where others have a number, go as JSON, so that the server can say which row is wrong.
"""

import datetime
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.ipc

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
# Below this a table costs more than it saves.
FEWEST_FOR_ARROW = 100

ManyRows: TypeAlias = "Mapping[str, Any] | Iterable[Mapping[str, Any]] | pa.Table | pa.RecordBatch"


class RowBody(NamedTuple):
    """A body, its media type, and how many rows it has."""

    content: bytes
    media_type: str
    n_rows: int


def row_bodies(rows: ManyRows, most: int) -> Iterator[RowBody]:
    """The rows in bodies of so many at most; one mapping is one row, and what yields rows is read as it is sent."""
    if most < 1:
        raise ValueError(f"batch_rows must be at least 1, not {most}.")
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        for start in range(0, rows.num_rows, most):
            yield _as_arrow(rows.slice(start, most))
        return
    left = iter([rows] if isinstance(rows, Mapping) else rows)
    while batch := list(islice(left, most)):
        yield row_body(batch)


def row_body(rows: list[Mapping[str, Any]]) -> RowBody:
    """Rows of Python as one body."""
    table = _as_table(rows) if len(rows) >= FEWEST_FOR_ARROW else None
    if table is not None:
        return _as_arrow(table)
    text = json.dumps([dict(row) for row in rows], default=_plain, ensure_ascii=False)
    return RowBody(text.encode(), JSON, len(rows))


def _as_table(rows: list[Mapping[str, Any]]) -> pa.Table | None:
    """The rows as a table with all columns that any of them has, None where they make none."""
    names = dict.fromkeys(name for row in rows for name in row)
    try:
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _as_arrow(table: pa.Table) -> RowBody:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return RowBody(sink.getvalue(), ARROW, table.num_rows)


def _plain(value: object) -> Any:
    """What JSON has no word for, as it is written in a row."""
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A row holds {value!r:.80}, which cannot be sent: numbers, texts, lists and times can.")
