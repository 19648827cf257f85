"""Parcels: tables on their way between stages, packed into one binary column.

Spark keeps rows in a format of its own, and would turn every row into it and back between any two Python functions.
A parcel passes through it as it is, so that rows cost it nothing, however many there are and whatever they hold.
"""

from collections.abc import Iterator

import pyarrow as pa

# `zone` is whom a parcel is for, or from.
PARCELS = pa.schema([("zone", pa.int32()), ("parcel", pa.binary())])


def packed(zone: int, table: pa.Table) -> pa.RecordBatch:
    """A row with the table in it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    columns = [pa.array([zone], pa.int32()), pa.array([sink.getvalue().to_pybytes()], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=PARCELS)


def unpacked(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of all parcels, in the order they come."""
    tables = [
        pa.ipc.open_stream(parcel.as_buffer()).read_all()
        for batch in batches
        for parcel in batch.column(batch.schema.get_field_index("parcel"))
    ]
    return pa.concat_tables([schema.empty_table(), *tables])
