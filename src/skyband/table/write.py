"""Writing tables, whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from skyband.table.json_object import ENCODER, json_objects

ROWS_AT_ONCE = 10_000
SUFFIXES = (".parquet", ".pq", ".ndjson", ".jsonl", ".csv")


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table as Parquet, NDJSON or CSV by the suffix of the path, in place of what was there.

    In NDJSON, infinities and NaN are written as Infinity and NaN; in CSV, lists are written as JSON arrays.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{target} cannot be written: its name must end in {', '.join(SUFFIXES)}.")
    with replacing(target) as temporary:
        if suffix in (".parquet", ".pq"):
            pa.parquet.write_table(table, temporary, compression="zstd")
        elif suffix == ".csv":
            pa.csv.write_csv(_flat(_untimed(table)), temporary)
        else:
            _write_ndjson(table, temporary)


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path beside the target, which takes its place if the block ends well and goes if not.

    If the block has removed it again, the target stays as it was.
    """
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}.")
    temporary = target.parent / f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        yield temporary
        if temporary.exists():
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def json_rows(table: pa.Table) -> Iterator[str]:
    """Each row as a JSON object on one line, times as ISO 8601 text in UTC, infinities and NaN as Infinity and NaN."""
    for batch in _untimed(table).to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from json_objects(batch, nulls=True).to_pylist()


def _write_ndjson(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in json_rows(table))


def _untimed(table: pa.Table) -> pa.Table:
    """The table with times as ISO 8601 text in UTC."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            in_utc = pc.cast(table.column(place), pa.timestamp(field.type.unit, "UTC"))
            text = pc.replace_substring(pc.cast(in_utc, pa.string()), " ", "T")
            table = table.set_column(place, field.name, text)
    return table


def _flat(table: pa.Table) -> pa.Table:
    """The table with lists as JSON text, since a CSV cell holds one value."""
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            cells = [_json_cell(value) for value in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(cells, pa.string()))
    return table


def _json_cell(value: Any) -> str | None:
    return None if value is None else ENCODER.encode(value)
