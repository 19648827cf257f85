"""Parcels: tables on their way between stages, packed into one binary column.

Spark keeps rows in a format of its own, and would turn every row into it and back between any two Python functions.
A parcel passes through it as it is, so that rows cost it nothing, however many there are and whatever they hold.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa

# `zone` is whom a parcel is for, or from.
PARCELS = pa.schema([("zone", pa.int32()), ("parcel", pa.binary())])
# Beside its columns a parcel has what making it took.
SPENT = b"spent"


def packed(zone: int, table: pa.Table, spent: Mapping[str, float] = {}) -> pa.RecordBatch:
    """A row with the table in it, and with what making it took of processors, by stage."""
    table = table.replace_schema_metadata({SPENT: json.dumps(spent)} if spent else None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    columns = [pa.array([zone], pa.int32()), pa.array([sink.getvalue().to_pybytes()], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=PARCELS)


def unpacked(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of all parcels, in the order they come."""
    return unpacked_with_costs(batches, schema)[0]


def unpacked_with_costs(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> tuple[pa.Table, dict[str, float]]:
    """The rows of all parcels, in the order they come, and what making them took of processors, by stage."""
    tables, spent = [schema.empty_table()], Counter[str]()
    for batch in batches:
        for parcel in batch.column(batch.schema.get_field_index("parcel")):
            table = pa.ipc.open_stream(parcel.as_buffer()).read_all()
            spent.update(json.loads((table.schema.metadata or {}).get(SPENT, "{}")))
            tables.append(table.replace_schema_metadata(None))
    return pa.concat_tables(tables), dict(spent)
