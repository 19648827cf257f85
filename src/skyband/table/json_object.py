"""Rows of Arrow columns as JSON objects, a column at a time.

Values are written as Python writes them: doubles keep every digit, infinities and NaN are Infinity and NaN. Times are
ISO 8601 in UTC with all their digits. A null is left out of its object, or written where `nulls` says so.
"""

import contextlib
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.ragged import offsets_of
from skyband.table.cell import encode

ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_TEXTS = (pa.string(), pa.large_string(), pa.string_view())


def json_objects(batch: pa.RecordBatch | pa.Table, nulls: bool = False) -> pa.StringArray:
    """One JSON object for each row."""
    columns = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in batch.columns]
    return _objects(batch.schema.names, columns, batch.num_rows, nulls)


def json_values(array: pa.Array, nulls: bool = False) -> pa.StringArray:
    """The JSON text of each value, null where the value is null."""
    kind = array.type
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_dictionary(kind):
        return json_values(array.dictionary_decode(), nulls)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return pc.cast(array, pa.string())
    if pa.types.is_floating(kind):
        return _doubles(pc.cast(array, pa.float64()))
    if kind in _TEXTS:
        return _quoted(pc.cast(array, pa.string()))
    if pa.types.is_timestamp(kind):
        return _joined('"', _instants(array), '"')
    if pa.types.is_date(kind):
        return _joined('"', pc.cast(array, pa.string()), '"')
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(array, nulls)
    if pa.types.is_struct(kind):
        fields = [pc.struct_field(array, [place]) for place in range(kind.num_fields)]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        return _where_present(array, _objects(names, fields, len(array), nulls))
    return _one_by_one(array)


def _objects(names: list[str], columns: list[pa.Array], n_rows: int, nulls: bool) -> pa.StringArray:
    parts = [
        _field(name, json_values(column, nulls), nulls)
        for name, column in zip(names, columns, strict=True)
        if nulls or column.null_count < n_rows
    ]
    if not parts:
        return pa.array(["{}"] * n_rows, pa.string())
    return _joined("{", pc.ascii_ltrim(_joined(*parts), ","), "}")


def _field(name: str, values: pa.StringArray, nulls: bool) -> pa.StringArray:
    begin = f",{ENCODER.encode(name)}:"
    return _joined(begin, pc.fill_null(values, "null")) if nulls else pc.fill_null(_joined(begin, values), "")


def _joined(*parts: Any) -> pa.StringArray:
    return pc.binary_join_element_wise(*parts, "")


def _doubles(array: pa.DoubleArray) -> pa.StringArray:
    text = pc.cast(array, pa.string())
    values = array.to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        far = np.isfinite(values) & (values != 0) & ~((np.abs(values) >= 1e-4) & (np.abs(values) < 1e10))
    if far.any():
        # Arrow begins to write exponents elsewhere than Python.
        text = pc.replace_with_mask(text, pa.array(far), pa.array([repr(x) for x in values[far].tolist()], pa.string()))
    # The patterns take ten times as long as the cast; NaN equals nothing, and stands for null here too.
    if not (array.null_count or np.any(values == np.rint(values)) or np.any(values != values)):
        return text
    # A double without a fraction is to stay a double for whoever reads it.
    text = pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    text = pc.replace_substring_regex(text, r"^-?nan$", "NaN")
    return pc.replace_substring(text, "inf", "Infinity")


def _quoted(array: pa.StringArray) -> pa.StringArray:
    text = pc.replace_substring(pc.replace_substring(array, "\\", "\\\\"), '"', '\\"')
    if pc.any(pc.match_substring_regex(text, r"[\x00-\x1f]")).as_py():
        for code in range(32):
            text = pc.replace_substring(text, chr(code), ENCODER.encode(chr(code))[1:-1])
    return _joined('"', text, '"')


def _instants(array: pa.TimestampArray) -> pa.StringArray:
    if array.type.unit == "ns":
        # A fraction of a microsecond stays, for whoever reads the row to refuse.
        with contextlib.suppress(pa.ArrowInvalid):
            array = pc.cast(array, pa.timestamp("us", array.type.tz))
    in_utc = pc.cast(array, pa.timestamp(array.type.unit, "UTC"))
    return pc.replace_substring(pc.cast(in_utc, pa.string()), " ", "T")


def _lists(array: pa.Array, nulls: bool) -> pa.StringArray:
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = offsets_of(lengths).astype(np.int32)
    elements = pc.fill_null(json_values(array.flatten(), nulls), "null")
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, elements), ",")
    return _where_present(array, _joined("[", joined, "]"))


def _where_present(array: pa.Array, texts: pa.StringArray) -> pa.StringArray:
    return pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.string())) if array.null_count else texts


def _one_by_one(array: pa.Array) -> pa.StringArray:
    """Types that few files have: binary that is text is text, and the rest as its Python value is written."""
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        with contextlib.suppress(pa.ArrowInvalid):
            return _quoted(pc.cast(array, pa.string()))
    return pa.array([None if value is None else encode(value) for value in array.to_pylist()], pa.string())
