"""The column `op` of publications: whether a row publishes something, or retracts what was published under its id."""

from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Bools, Int64s
from skyband.table.identity import ids, unique_ids
from skyband.table.instant import instants, times
from skyband.table.scalar import null_mask, texts
from skyband.table.sieve import Sieve


class Operation(StrEnum):
    """What a row of publications does; null is the first."""

    PUBLISH = "publish"
    RETRACT = "retract"


def retracting(sieve: Sieve) -> Bools:
    """The rows that retract; those that do neither are rejected."""
    if not sieve.has("op"):
        return np.zeros(sieve.n_rows, np.bool_)
    ops = texts(sieve, "op")
    known = null_mask(ops) | _is_in(ops, list(Operation))
    sieve.reject(~known, "op", f"op must be {' or '.join(Operation)}")
    return _is_in(ops, [Operation.RETRACT])


def _is_in(ops: pa.Array, choices: list[Operation]) -> Bools:
    found: Bools = pc.is_in(ops, value_set=pa.array([str(choice) for choice in choices])).to_numpy(zero_copy_only=False)
    return found


def published(sieve: Sieve) -> tuple[pa.Array, Int64s]:
    """The ids and the times of publications; to be read before the other columns, of which retractions need none.

    An id may come again if it was retracted in between. Rows that retract are checked here, and then left out.
    """
    retracts = retracting(sieve)
    found = unique_ids(sieve, between=retracts)
    if not retracts.any():
        return found, instants(sieve)
    column = times(sieve, "ts")
    sieve.reject(column.null & ~retracts, "ts", "ts must not be null")
    sieve.leave_out(retracts)
    return found, column.values


def without_retractions(table: pa.Table) -> pa.Table:
    """The rows of publications that do not retract."""
    if "op" not in table.column_names:
        return table
    retracts = retracting(Sieve(table, "publications"))
    return table.filter(pa.array(~retracts)) if retracts.any() else table


def retracted(table: pa.Table, rows: Int64s) -> tuple[pa.Array, Int64s, Bools]:
    """The ids of rows that retract and were found good, their times, and which of them have one."""
    sieve = Sieve(table, "publications")
    found, column = ids(sieve, "id"), times(sieve, "ts")
    return found.take(pa.array(rows)), column.values[rows], ~column.null[rows]
