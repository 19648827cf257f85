"""What is wrong with which row: rejects, and the errors that carry them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import pyarrow as pa

OnError = Literal["raise", "collect"]

LONGEST_VALUE = 80


class Reject(NamedTuple):
    """One row that cannot be used, and why.

    Rows count from 1, the first row of data (in NDJSON, the line number). The column is empty when the row as
    a whole could not be read.
    """

    row: int
    column: str
    value: str
    reason: str

    def __str__(self) -> str:
        place = f"row {self.row}, column {self.column}" if self.column else f"row {self.row}"
        return f"{place}, value {self.value}: {self.reason}"


class Rejected(ValueError):
    """Rows were rejected and the caller asked to be told by an exception; all of them are in `rejects`."""

    def __init__(self, rejects: Sequence[Reject], what: str) -> None:
        self.rejects = list(rejects)
        self.what = what
        super().__init__(_sentence(self.rejects, what))

    def __reduce__(self) -> tuple[type["Rejected"], tuple[list[Reject], str]]:
        return Rejected, (self.rejects, self.what)


class UnreadableFile(ValueError):
    """A file as a whole cannot be used: it is not there, not of its format, or lacks a column."""


class MissingColumn(ValueError):
    """A column that the family needs is not in the table."""


def shorten(value: object) -> str:
    """The repr of a value, cut to a length that fits a message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python writes, or what is nested too deeply
        text = f"<a value of type {type(value).__name__} that is too large to show>"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def short_name(name: str) -> str:
    """The name of a column, on one line and cut to a length that fits a message."""
    plain = name if name.isprintable() else repr(name)[1:-1]
    return plain if len(plain) <= LONGEST_VALUE else plain[: LONGEST_VALUE - 3] + "..."


def rejects_table(rejects: Sequence[Reject]) -> pa.Table:
    """The rejects as an Arrow table, one row each."""
    schema = pa.schema([("row", pa.int64()), ("column", pa.string()), ("value", pa.string()), ("reason", pa.string())])
    columns = list(zip(*rejects, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _sentence(rejects: list[Reject], what: str) -> str:
    if not rejects:
        return f"{what}: no row was rejected."
    n_more = len(rejects) - 1
    more = f" (and {n_more} more {'row' if n_more == 1 else 'rows'})" if n_more else ""
    return f"{what}: {rejects[0]}{more}."
