"""Tables of what is already in memory: Arrow, pandas, columns and rows of Python values."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from skyband.model.cell import column_of
from skyband.model.text_file import table_of_rows

if TYPE_CHECKING:
    import pandas as pd


def table_of(source: Any) -> pa.Table:
    """A source that is not a file as an Arrow table."""
    # A DataFrame can only exist where pandas has been imported, so that it need not be imported here.
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _from_columns({str(name): _from_pandas(source[name]) for name in source.columns})
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, Mapping):
        return _from_columns(source)
    if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
        return table_of_rows([dict(row) for row in source])
    raise TypeError(f"A table cannot be made of a {type(source).__name__}; give Arrow, pandas, rows, or a file.")


def _from_pandas(series: "pd.Series[Any]") -> Any:
    """A pandas column: typed columns as Arrow sees them, objects as Python values with None for missing."""
    if series.dtype != object:
        return pa.Array.from_pandas(series)
    # Only a whole cell may be missing: NaN inside a list is for the family to judge.
    missing = np.asarray(series.isna())
    return [None if gone else _listed(value) for gone, value in zip(missing, series, strict=True)]


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _from_columns(columns: Mapping[str, Any]) -> pa.Table:
    fields, arrays = [], []
    for name, values in columns.items():
        field, array = _column(name, values)
        fields.append(field)
        arrays.append(array)
    lengths = {name: len(array) for name, array in zip(columns, arrays, strict=True)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"Columns must have equally many rows: {listed}.")
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _column(name: str, values: Any) -> tuple[pa.Field, Any]:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        flat = pa.array(np.ascontiguousarray(values).reshape(-1))
        offsets = np.arange(0, values.size + 1, values.shape[1] or 1, dtype=np.int32)
        values = pa.ListArray.from_arrays(offsets[: len(values) + 1], flat)
    elif isinstance(values, np.ndarray) and values.dtype != object:
        values = pa.array(values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return pa.field(name, values.type), values
    return column_of(name, list(values))
