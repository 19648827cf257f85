"""Writing rows to files in every format, and reading the files that commands write."""

import csv
import datetime
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.blackbox.oracle import Change, Row

FORMATS = ("ndjson", "csv", "parquet")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def columns(rows: Sequence[Row]) -> list[str]:
    """The names of all columns, in the order in which they come."""
    return list(dict.fromkeys(name for row in rows for name in row))


def cell(value: Any) -> str:
    """A value as a CSV cell."""
    if value is None:
        return ""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(value)


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    """Write rows to a file of the format that its name ends in."""
    if path.suffix == ".parquet":
        names = columns(rows)
        pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns(rows))
            writer.writerows([[cell(row.get(name)) for name in columns(rows)] for row in rows])
    else:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_rows(path: Path) -> list[Row]:
    """The rows of a file of the format that its name ends in."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def microseconds(value: Any) -> Any:
    """A time as an integer, however it was written."""
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(microseconds=1)
    return value


def read_log(path: Path) -> list[Change]:
    """A change log as tuples in the order of its columns, or the answers of ranked."""
    rows = read_rows(path)
    return [tuple(microseconds(row[name]) if name == "at" else row[name] for name in row) for row in rows]
