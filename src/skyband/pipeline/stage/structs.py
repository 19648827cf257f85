"""Columns of structs: joined to one array, and unfolded to the columns of a table."""

from typing import Any

import pyarrow as pa


def whole(column: Any) -> pa.Array:
    """A column as one array."""
    joined = column.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)


def unfolded(rows: pa.Array) -> pa.Table:
    """The fields of structs as the columns of a table."""
    return pa.Table.from_arrays(rows.flatten(), names=[field.name for field in rows.type])
