"""How rows should travel between brokers: as JSON, a frame each, or as Arrow batches with the schema sent once.

Prints microseconds of processor time and bytes for each row, both sides together, by how many rows go at once.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from skyband.broker.wire.body import FrameFamily
from skyband.broker.wire.envelope import pack_envelope, unpack_envelope, unpack_parcel
from skyband.contract import FAMILIES
from skyband.overlay.broker.frame import DELIVERING, FLOW, Envelope, Publication, PublicationFrame, fields_size
from skyband.table import Settings

FAMILY = FrameFamily(FAMILIES["window"].routing, Settings(dims=2), ("berlin", "oslo"))
COLUMNS = {"origin": pa.int32(), "number": pa.int64(), "id": pa.string(), "ts": pa.int64()}
SCHEMA = pa.schema(COLUMNS | {"point": pa.list_(pa.float64())})
ROWS = 512
REPEATS = 3


def rows() -> list[dict[str, Any]]:
    """Publications as clients send them."""
    return [{"id": f"berlin/{i}", "ts": 10**15 + i, "point": [i / 7, i / 11]} for i in range(ROWS)]


def as_json(batch: list[dict[str, Any]]) -> int:
    """Every row in a frame of its own, packed and read as brokers do; answers with the bytes."""
    packed = []
    for i, row in enumerate(batch, 1):
        spoken = FAMILY.routing.spoken(row, FAMILY.settings)
        frame = PublicationFrame(Publication(0, i, spoken, row, fields_size(row)), DELIVERING)
        packed.append(pack_envelope(1, Envelope(0, 1, 1, FLOW, i, frame, (1, 2, 3), 4)).packed)
    for each in packed:
        unpack_envelope(unpack_parcel(each), FAMILY)
    return sum(map(len, packed))


def as_arrow(batch: list[dict[str, Any]]) -> int:
    """All rows in one batch without its schema, read back into rows and publications."""
    for row in batch:
        FAMILY.routing.spoken(row, FAMILY.settings)
    table = pa.RecordBatch.from_pylist([row | {"origin": 0, "number": i} for i, row in enumerate(batch, 1)], SCHEMA)
    buffer = table.serialize()
    for row in pa.ipc.read_record_batch(buffer, SCHEMA).to_pylist():
        mine = {name: row[name] for name in ("id", "ts", "point")}
        fields_size(mine)
        FAMILY.routing.spoken(mine, FAMILY.settings)
    return int(buffer.size)


def cost(send: Callable[[list[dict[str, Any]]], int], n: int) -> dict[str, float]:
    """What a row costs, n at a time: the least of several runs."""
    given, best, n_bytes = rows(), float("inf"), 0
    for _ in range(REPEATS):
        began, n_bytes = time.process_time(), 0
        for start in range(0, ROWS, n):
            n_bytes += send(given[start : start + n])
        best = min(best, time.process_time() - began)
    return {"us_per_row": round(best / ROWS * 1e6, 2), "bytes_per_row": round(n_bytes / ROWS, 1)}


if __name__ == "__main__":
    for n in (1, 16, 256):
        print(json.dumps({"rows": n, "json": cost(as_json, n), "arrow": cost(as_arrow, n)}))
