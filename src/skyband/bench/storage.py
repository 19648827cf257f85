"""Raw rows on disk: one Parquet file for each run of a benchmark, there whole or not at all."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skyband.bench.row import Row
from skyband.table.write import replacing

# Machine, versions and parameters differ from benchmark to benchmark and are kept as JSON text.
_JSON = ("machine", "versions", "parameters")
SCHEMA = pa.schema(
    [
        ("benchmark", pa.string()),
        ("size", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("commit", pa.string()),
        ("machine", pa.string()),
        ("versions", pa.string()),
        ("contest", pa.string()),
        ("algorithm", pa.string()),
        ("parameters", pa.string()),
        ("latencies", pa.list_(pa.int64())),
        ("n_operations", pa.int64()),
        ("measures", pa.map_(pa.string(), pa.float64())),
        ("skipped", pa.string()),
    ]
)


def store(rows: Sequence[Row], folder: str | Path) -> Path:
    """Write the rows of one run to a new file in a folder, made if need be; returns the file."""
    if not rows:
        raise ValueError("There are no rows to store.")
    names = {row["benchmark"] for row in rows}
    if len(names) > 1:
        raise ValueError(f"A file holds one benchmark, and these rows are of {', '.join(sorted(names))}.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = _new_path(folder, f"{names.pop()}-{rows[0]['at']:%Y%m%dT%H%M%SZ}")
    write_rows(rows, path)
    return path


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows to a file, whole or not at all."""
    table = pa.Table.from_pylist([_packed(row) for row in rows], schema=SCHEMA)
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_rows(path: Path) -> list[Row]:
    """The rows of one file."""
    return rows_of(pq.read_table(path, schema=SCHEMA))


def _new_path(folder: Path, stem: str) -> Path:
    path, n = folder / f"{stem}.parquet", 1
    while path.exists():
        n += 1
        path = folder / f"{stem}-{n}.parquet"
    return path


def _packed(row: Row) -> dict[str, Any]:
    texts = {name: json.dumps(row[name], sort_keys=True) for name in _JSON}
    return row | texts | {"measures": list(row["measures"].items())}


def load(folder: str | Path) -> pa.Table:
    """Every stored row of a folder, the oldest run first."""
    tables = [pq.read_table(path, schema=SCHEMA) for path in sorted(Path(folder).glob("*.parquet"))]
    return pa.concat_tables([SCHEMA.empty_table(), *tables]).sort_by("at")


def rows_of(table: pa.Table) -> list[Row]:
    """Stored rows as a run returned them."""
    return [_unpacked(row) for row in table.to_pylist()]


def _unpacked(row: dict[str, Any]) -> Row:
    parsed = {name: json.loads(row[name]) for name in _JSON}
    return row | parsed | {"measures": dict(row["measures"])}


def latest(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of the newest run of each benchmark."""
    newest: dict[str, Any] = {}
    for row in rows:
        newest[row["benchmark"]] = max(row["at"], newest.get(row["benchmark"], row["at"]))
    return {name: [row for row in rows if (row["benchmark"], row["at"]) == (name, at)] for name, at in newest.items()}
