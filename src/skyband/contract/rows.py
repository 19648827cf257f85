"""Batches as NamedTuples of arrays: choosing rows, and the way to an Arrow table and back.

In a batch every field has one entry a row. Where there are `offsets`, the row type names the fields that they cut into
rows, which are lists laid end to end. A field with a default is about the batch as a whole, and is not written.
"""

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.array import Int64s
from skyband.kernels.id_list import IdList
from skyband.kernels.ragged import offsets_of, places_of
from skyband.table import Windows


class Batch(Protocol):
    """Rows of any kind: a NamedTuple of arrays, with an id for each row."""

    @property
    def ids(self) -> Any:
        """The ids, an Arrow array."""


# A NamedTuple, which is no type that a variable can be bound by.
RowsT = TypeVar("RowsT")


def take(rows: RowsT, chosen: Int64s) -> RowsT:
    """The chosen rows, in the given order."""
    kind: Any = type(rows)
    fields: dict[str, Any] = kind._asdict(rows)
    ragged = _ragged(kind)
    apart = (*ragged, "offsets", *kind._field_defaults)
    taken = {name: _take(field, chosen) for name, field in fields.items() if name not in apart}
    taken |= {name: fields[name] for name in kind._field_defaults}
    if "offsets" in fields:
        lengths = np.diff(fields["offsets"])[chosen]
        taken["offsets"] = offsets_of(lengths)
        places = places_of(fields["offsets"][:-1][chosen], lengths)
        taken.update({name: _take(fields[name], places) for name in ragged})
    chosen_rows: RowsT = kind._make(taken[name] for name in kind._fields)
    return chosen_rows


def _ragged(kind: Any) -> tuple[str, ...]:
    named: tuple[str, ...] = kind.ragged() if "offsets" in kind._fields else ()
    return named


def _take(field: Any, chosen: Int64s) -> Any:
    if isinstance(field, pa.Array):
        return field.take(pa.array(chosen))
    if isinstance(field, IdList):
        return field.take(chosen)
    if isinstance(field, Windows):
        return Windows(field.kind[chosen], field.size[chosen])
    return np.ascontiguousarray(field[chosen])


def pack(rows: Any) -> pa.Table:
    """The batch as an Arrow table that `unpack` reads."""
    fields = {name: field for name, field in rows._asdict().items() if name not in rows._field_defaults}
    ragged = _ragged(type(rows))
    columns: dict[str, pa.Array] = {}
    for name, field in fields.items():
        if isinstance(field, Windows):
            columns |= {f"{name}.kind": pa.array(field.kind), f"{name}.size": pa.array(field.size)}
        elif name in ragged:
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
    row_type: Any = kind
    fields: dict[str, Any] = dict(row_type._field_defaults)
    for name in (name for name in row_type._fields if name not in fields):
        if f"{name}.kind" in table.column_names:
            fields[name] = Windows(_numbers(table, f"{name}.kind"), _numbers(table, f"{name}.size"))
        elif name == "offsets":
            lists = _whole(table, _ragged(row_type)[0])
            fields[name] = np.asarray(lists.offsets).astype(np.int64) - lists.offsets[0].as_py()
        elif pa.types.is_large_list(table.schema.field(name).type):
            flat = _whole(table, name).flatten()
            fields[name] = flat if pa.types.is_string(flat.type) else np.array(flat)
        elif name in ("ids", "objects") or pa.types.is_string(table.schema.field(name).type):
            fields[name] = _whole(table, name)
        else:
            fields[name] = _numbers(table, name)
    rows: RowsT = row_type._make(fields[name] for name in row_type._fields)
    return rows


def _whole(table: pa.Table, name: str) -> Any:
    column = table[name].combine_chunks()
    return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)


def _numbers(table: pa.Table, name: str) -> npt.NDArray[Any]:
    column = _whole(table, name)
    if pa.types.is_fixed_size_list(column.type):
        return np.array(column.flatten()).reshape(len(column), column.type.list_size)
    return np.array(column.to_numpy(zero_copy_only=False))
