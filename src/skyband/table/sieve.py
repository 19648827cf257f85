"""A table on its way to arrays: which rows are still good, and why the others are not."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from skyband.kernels.array import Bools, Int64s
from skyband.table.cell import as_given, decode, mark_of
from skyband.table.reject import MissingColumn, Reject, short_name, shorten

RowsT = TypeVar("RowsT")
ScalarT = TypeVar("ScalarT", bound=np.generic)


_NONE = np.zeros(0, np.int64)


class Parsed(NamedTuple, Generic[RowsT]):
    """The good rows of a table as arrays, their 0-based places in it, and the other rows as rejects.

    `left_out` are the places of rows that are good and are none of these: in publications, those that retract.
    """

    rows: RowsT
    kept: Int64s
    rejects: list[Reject]
    left_out: Int64s = _NONE


class Sieve:
    """Rows of one table, of which each keeps the first fault found in it.

    `what` names the table in messages, for example "window publications".
    """

    def __init__(self, table: pa.Table, what: str) -> None:
        self.table = table
        self.what = what
        self.n_rows: int = table.num_rows
        self.bad: Bools = np.zeros(self.n_rows, np.bool_)
        self._rejects: list[Reject] = []
        self._left_out = _NONE
        # A batch without any row, such as an empty list, need not name its columns.
        self._nameless = table.num_columns == 0 and self.n_rows == 0

    def has(self, name: str) -> bool:
        """Whether the table has that column; a column given twice is an error."""
        n_found: int = self.table.column_names.count(name)
        if n_found > 1:
            raise MissingColumn(f'{self._what()} have the column "{name}" {n_found} times; give it once.')
        return n_found == 1

    def require(self, *names: str) -> None:
        """Raise for the first column that is not there; "point or weights" asks for at least one of them."""
        for name in names:
            if not self._nameless and not any(self.has(choice) for choice in name.split(" or ")):
                wanted = " or ".join(f'"{choice}"' for choice in name.split(" or "))
                found = ", ".join(map(short_name, self.table.column_names)) or "none"
                raise MissingColumn(f"{self._what()} need the column {wanted} (columns found: {found}).")

    def _what(self) -> str:
        return self.what[:1].upper() + self.what[1:]

    def mark(self, name: str) -> str | None:
        """How the cells of a column are written, or None for an ordinary column."""
        return mark_of(self.table.schema.field(name))

    def array(self, name: str) -> pa.Array:
        """A column as one plain Arrow array: chunks joined, encodings undone; all null when it is absent."""
        if not self.has(name):
            return pa.nulls(self.n_rows)
        return _plain(self.table.column(name).combine_chunks())

    def values(self, name: str) -> list[Any]:
        """A column as Python values, cell by cell."""
        mark = self.mark(name)
        values: list[Any] = self.array(name).to_pylist()
        return [decode(value, mark) for value in values] if mark else values

    def reject(self, at: Bools, column: str, reason: str | Callable[[int], str]) -> Bools:
        """Reject the rows of a mask that are still good, for a reason that may depend on the row."""
        for row in np.flatnonzero(at & ~self.bad).tolist():
            why = reason if isinstance(reason, str) else reason(row)
            self._rejects.append(Reject(row + 1, column, self._show(column, row), why))
        self.bad |= at
        return at

    def leave_out(self, at: Bools) -> None:
        """Take the rows of a mask that are still good for something else, and ask no more of them."""
        self._left_out = np.flatnonzero(at & ~self.bad).astype(np.int64)
        self.bad |= at

    def _show(self, column: str, row: int) -> str:
        if not self.has(column):
            return shorten(None)
        scalar, mark = self.table.column(column)[row], self.mark(column)
        try:
            value = scalar.as_py()
        except (ValueError, OverflowError):  # a timestamp that Python's datetime cannot hold
            return f"{getattr(scalar, 'value', 'unprintable')} ({scalar.type})"
        return shorten(as_given(decode(value, mark)) if mark else value)

    def keep(self, values: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """The good rows of an array, contiguous and writable."""
        return np.require(values[~self.bad] if self.bad.any() else values, requirements=["C", "W"])

    def keep_arrow(self, values: pa.Array) -> pa.Array:
        """The good rows of an Arrow array."""
        return values.filter(pa.array(~self.bad)) if self.bad.any() else values

    def done(self, rows: RowsT) -> Parsed[RowsT]:
        """The outcome, with rejects in row order."""
        return Parsed(rows, np.flatnonzero(~self.bad).astype(np.int64), sorted(self._rejects), self._left_out)


def _plain(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array


def any_of(rows: Int64s, at: Bools, n_rows: int) -> Bools:
    """Which rows own at least one marked element; `rows` names the row of each element."""
    found = np.zeros(n_rows, np.bool_)
    if at.any():
        found[rows[at]] = True
    return found
