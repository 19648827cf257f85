"""Typed rows on their way into the pipeline: many rows of a typed file as one raw row, which is an Arrow stream.

Such a raw row has the form `arrow`, the number of its first row as offset, no value, and its rows as `parcel`. They are
judged like the JSON objects that they would be otherwise, so that only types are sent whose JSON says the same.
"""

import datetime

import pyarrow as pa
import pyarrow.compute as pc

FORM = "arrow"
PARCEL = "parcel"

# Times that ISO 8601 writes with four digits for the year.
_EARLIEST = pa.scalar(datetime.datetime(1000, 1, 1, tzinfo=datetime.UTC))
_LATEST = pa.scalar(datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC))


def plain(batch: pa.RecordBatch) -> pa.RecordBatch | None:
    """The rows with numbers, text, lists of them, and `ts` as times; None where something else is among the columns."""
    names = batch.schema.names
    if not names or len(set(names)) < len(names):
        return None
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        return None
    columns = [_plain(name, column) for name, column in zip(names, batch.columns, strict=True)]
    if any(column is None for column in columns):
        return None
    return pa.RecordBatch.from_arrays(columns, names=names)


def _plain(name: str, column: pa.Array) -> pa.Array | None:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column if name == "ts" and _is_written_in_full(column) else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        element = _scalar(kind.value_type)
        # Lists of nothing but nulls come to harm in a cast.
        wanted = None if element in (None, pa.null()) else pa.list_(element)
    else:
        wanted = _scalar(kind)
    return None if wanted is None else pc.cast(column, wanted)


def _scalar(kind: pa.DataType) -> pa.DataType | None:
    """The type that values of a type are sent with, None if they are not."""
    if pa.types.is_large_string(kind):
        return pa.string()
    fits = pa.types.is_integer(kind) and kind != pa.uint64()
    return kind if fits or kind in (pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.null()) else None


def _is_written_in_full(times: pa.TimestampArray) -> bool:
    if times.type.unit == "ns" or times.null_count == len(times):
        return False
    try:
        ends = pc.min_max(pc.cast(times, pa.timestamp("us", "UTC")))
    except pa.ArrowInvalid:
        return False
    return bool(pc.and_(pc.greater(ends["min"], _EARLIEST), pc.less(ends["max"], _LATEST)).as_py())


def to_parcel(batch: pa.RecordBatch) -> bytes:
    """The rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def from_parcel(parcel: pa.BinaryScalar) -> pa.Table:
    """The rows of an Arrow stream."""
    return pa.ipc.open_stream(parcel.as_buffer()).read_all()
