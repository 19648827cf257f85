"""Tables from arrays: columns of ids, lists and coordinates, and streams of tables in batches of one size."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.workload.option import Seeded


class Workload(NamedTuple):
    """The subscriptions and publications of one family and the options they were made with.

    For covering, `publications` holds the query subscriptions.
    """

    family: str
    subscriptions: pa.Table
    publications: pa.Table
    parameters: dict[str, object]


def workload(family: str, options: Seeded, subscriptions: pa.Table, publications: pa.Table) -> Workload:
    """A workload whose parameters are its options."""
    return Workload(family, subscriptions, publications, asdict(options))


def ids(options: Seeded, letter: str, numbers: Int64s) -> pa.Array:
    """These numbers as ids: themselves, or as strings after a letter that says what they number."""
    column = pa.array(numbers, pa.int64())
    if options.ids == "integer":
        return column
    return pc.binary_join_element_wise(letter, column.cast(pa.string()), "")


def lists(rows: Floats, missing: Bools | None = None) -> pa.Array:
    """The rows of a matrix as lists of doubles, null where `missing` says so."""
    n_rows, width = rows.shape
    flat = pa.array(rows.ravel(), mask=None if missing is None else missing.ravel())
    return pa.ListArray.from_arrays(np.arange(n_rows + 1, dtype=np.int32) * np.int32(width), flat)


def integer_lists(rows: Int64s) -> pa.Array:
    """The rows of a matrix as lists of integers."""
    n_rows, width = rows.shape
    return pa.ListArray.from_arrays(np.arange(n_rows + 1, dtype=np.int32) * np.int32(width), pa.array(rows.ravel()))


def coordinates(rows: Floats) -> pa.Array:
    """One dimension as a column of doubles, more as a column of lists."""
    return pa.array(rows[:, 0]) if rows.shape[1] == 1 else lists(rows)


def where(present: Bools, column: pa.Array) -> pa.Array:
    """The column with nulls in the rows that are not present."""
    return pc.if_else(pa.array(present), column, pa.scalar(None, column.type))


def repeated(value: int, n_rows: int) -> pa.Array:
    """A column of one integer."""
    return pa.array(np.full(n_rows, value, dtype=np.int64))


def batches(tables: Iterable[pa.Table], batch: int) -> Iterator[pa.Table]:
    """The rows of these tables in tables of `batch` rows, the last one shorter; none for no rows."""
    if batch < 1:
        raise ValueError(f"batch must be at least 1, not {batch}.")
    waiting: list[pa.Table] = []
    n_waiting = 0
    for table in tables:
        waiting.append(table)
        n_waiting += table.num_rows
        if n_waiting >= batch:
            whole = pa.concat_tables(waiting)
            full = n_waiting - n_waiting % batch
            yield from (whole.slice(start, batch) for start in range(0, full, batch))
            waiting, n_waiting = [whole.slice(full)], n_waiting - full
    if n_waiting:
        yield pa.concat_tables(waiting)
