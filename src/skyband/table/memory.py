"""Tables of what is already in memory: Arrow, pandas, columns and rows of Python values."""

import sys
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.table.argument import is_unicode
from skyband.table.cell import column_of, in_seconds
from skyband.table.reject import MissingColumn, short_name, shorten
from skyband.table.text_file import table_of_rows

if TYPE_CHECKING:
    import pandas as pd


def table_of(source: Any) -> pa.Table:
    """A source that is not a file as an Arrow table."""
    # A DataFrame can only exist where pandas has been imported, so that it need not be imported here.
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        _refuse_twice([str(name) for name in source.columns])
        return _from_columns({str(name): _from_pandas(str(name), source[name]) for name in source.columns})
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__"):
        return _exported(source)
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if not isinstance(source, Iterable) or _is_cell(source):
        raise _no_table(source)
    rows = list(source)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"A list holds rows, which are mappings from columns to values; row {number} is {shorten(row)}."
            )
    _refuse_unnamed(name for row in rows for name in row)
    # A table without columns would have no rows either: what is missing in all of them is said of their ids.
    return table_of_rows([dict(row) for row in rows] if any(rows) else [{"id": None} for _ in rows])


def _exported(source: Any) -> pa.Table:
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError):
        raise _no_table(source) from None


def _no_table(source: Any) -> ValueError:
    return ValueError(
        f"A table cannot be made of a {type(source).__name__}; give Arrow, pandas, rows, columns, or a file."
    )


def _from_mapping(source: Mapping[Any, Any]) -> pa.Table:
    """One row if its id is a single value, and columns otherwise."""
    _refuse_unnamed(source)
    if "id" in source and _is_cell(source["id"]):
        return table_of_rows([dict(source)])
    for name, values in source.items():
        if _is_cell(values):
            if "id" not in source:
                raise MissingColumn(
                    f'A mapping whose {name} is {shorten(values)} is one row, and a row needs an "id" '
                    f"(columns found: {', '.join(map(short_name, source))})."
                )
            raise ValueError(
                f"The column {name} is {shorten(values)} and not a list: a mapping is one row, with a single id, or "
                "columns, each with a value a row."
            )
    return _from_columns(source)


def _is_cell(value: Any) -> bool:
    """Whether a value is that of one row, and not a list with one for each row; the order of a set means nothing."""
    if isinstance(value, str | bytes | bytearray | Mapping | Set | pa.Scalar):
        return True
    return not isinstance(value, Iterable) or (isinstance(value, np.ndarray | np.generic) and value.ndim == 0)


def _refuse_unnamed(names: Iterable[Any]) -> None:
    for name in dict.fromkeys(names):
        if not isinstance(name, str) or not is_unicode(name):
            raise ValueError(f"The name of a column is text, not {shorten(name)}.")


def _refuse_twice(names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f'The data frame has the column "{twice}" {names.count(twice)} times; give it once.')


def _from_pandas(name: str, series: "pd.Series[Any]") -> Any:
    """A pandas column: typed columns as Arrow sees them, objects as Python values with None for missing."""
    if series.dtype != object:
        return _array(name, series)
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


def _array(name: str, values: "npt.NDArray[Any] | pd.Series[Any]") -> pa.Array:
    """A typed array of numpy or pandas as Arrow sees it."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "m":
        values = in_seconds(values)
    try:
        return pa.array(values) if isinstance(values, np.ndarray) else pa.Array.from_pandas(values)
    except (pa.ArrowException, TypeError, ValueError):
        kind = shorten(values.dtype)
        raise ValueError(f"The column {name} is an array of {kind}: it takes numbers, text or times.") from None


def _column(name: str, values: Any) -> tuple[pa.Field, Any]:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        flat = _array(name, np.ascontiguousarray(values).reshape(-1))
        offsets = np.arange(0, values.size + 1, values.shape[1] or 1, dtype=np.int32)
        values = pa.ListArray.from_arrays(offsets[: len(values) + 1], flat)
    elif isinstance(values, np.ndarray) and values.dtype != object:
        values = _array(name, values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return pa.field(name, values.type), values
    return column_of(name, list(values))
