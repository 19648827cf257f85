"""Batches as NamedTuples of arrays: choosing rows, and the way to an Arrow table and back.

In a batch every field has one entry a row; only `terms` and `weights` beside `offsets` are lists laid end to end.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.model import Windows

RowsT = TypeVar("RowsT", bound=NamedTuple)

_FLAT = ("terms", "weights")


def take(rows: RowsT, chosen: npt.NDArray[np.int64]) -> RowsT:
    """The chosen rows, in the given order."""
    fields: dict[str, Any] = rows._asdict()
    taken = {name: _take(field, chosen) for name, field in fields.items() if not _is_flat(name, fields)}
    if "offsets" in fields:
        lengths = np.diff(fields["offsets"])[chosen]
        taken["offsets"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        inside = np.arange(int(lengths.sum())) - np.repeat(taken["offsets"][:-1], lengths)
        places = np.repeat(fields["offsets"][:-1][chosen], lengths) + inside
        taken.update({name: _take(fields[name], places) for name in _FLAT})
    return type(rows)._make(taken[name] for name in rows._fields)


def _is_flat(name: str, fields: dict[str, Any]) -> bool:
    return "offsets" in fields and name in (*_FLAT, "offsets")


def _take(field: Any, chosen: npt.NDArray[np.int64]) -> Any:
    if isinstance(field, pa.Array):
        return field.take(pa.array(chosen))
    if isinstance(field, Windows):
        return Windows(field.kind[chosen], field.size[chosen])
    return np.ascontiguousarray(field[chosen])


def pack(rows: NamedTuple) -> pa.Table:
    """The batch as an Arrow table that `unpack` reads."""
    fields = rows._asdict()
    columns: dict[str, pa.Array] = {}
    for name, field in fields.items():
        if isinstance(field, Windows):
            columns |= {"window.kind": pa.array(field.kind), "window.size": pa.array(field.size)}
        elif "offsets" in fields and name in _FLAT:
            flat = field if isinstance(field, pa.Array) else pa.array(field)
            columns[name] = pa.LargeListArray.from_arrays(pa.array(fields["offsets"]), flat)
        elif name != "offsets":
            columns[name] = _column(field)
    return pa.table(columns)


def _column(field: Any) -> pa.Array:
    if isinstance(field, pa.Array):
        return field
    if field.ndim == 1:
        return pa.array(field)
    return pa.FixedSizeListArray.from_arrays(pa.array(field.reshape(-1)), field.shape[1])


def unpack(kind: type[RowsT], table: pa.Table) -> RowsT:
    """The batch that `pack` wrote."""
    fields: dict[str, Any] = {}
    for name in kind._fields:
        if name == "window":
            fields[name] = Windows(_numbers(table, "window.kind"), _numbers(table, "window.size"))
        elif name == "offsets":
            lists = _whole(table, "terms")
            fields[name] = np.asarray(lists.offsets).astype(np.int64) - lists.offsets[0].as_py()
        elif pa.types.is_large_list(table.schema.field(name).type):
            flat = _whole(table, name).flatten()
            fields[name] = flat if pa.types.is_string(flat.type) else np.array(flat)
        elif name in ("ids", "objects"):
            fields[name] = _whole(table, name)
        else:
            fields[name] = _numbers(table, name)
    return kind._make(fields[name] for name in kind._fields)


def _whole(table: pa.Table, name: str) -> Any:
    column = table[name].combine_chunks()
    return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)


def _numbers(table: pa.Table, name: str) -> npt.NDArray[Any]:
    column = _whole(table, name)
    if pa.types.is_fixed_size_list(column.type):
        return np.array(column.flatten()).reshape(len(column), column.type.list_size)
    return np.array(column.to_numpy(zero_copy_only=False))
