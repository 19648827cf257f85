"""Readers: from Arrow, pandas, Python rows and columns, Parquet, NDJSON and CSV to tables."""

import errno
import gzip
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from skyband.kernels.array import Int64s
from skyband.table.argument import is_unicode
from skyband.table.csv_file import read_csv
from skyband.table.memory import table_of
from skyband.table.reject import Rejected, UnreadableFile
from skyband.table.text_file import Reading, read_json_array, read_ndjson
from skyband.table.write import write_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Reading",
    "Source",
    "read_table",
    "to_table",
    "write_table",
]

Source: TypeAlias = (
    "pa.Table | pa.RecordBatch | pd.DataFrame | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]"
    " | str | os.PathLike[str]"
)

SUFFIXES = ".parquet, .pq, .ndjson, .jsonl, .json, .csv, .ndjson.gz, .jsonl.gz, .json.gz or .csv.gz"


def to_table(source: "Source") -> pa.Table:
    """A source as an Arrow table; a row that cannot be read raises `Rejected`.

    Cells of a CSV file, and columns that mix types, stay marked text until a family parses them.
    """
    reading = read_table(source)
    if reading.rejects:
        raise Rejected(reading.rejects, source_name(source) or "rows")
    return reading.table


def read_table(source: "Source") -> Reading:
    """A source as an Arrow table, beside the rows that could not even be read."""
    if isinstance(source, str | os.PathLike):
        return _read_file(_path(source))
    return _whole(table_of(source))


def _path(source: "str | os.PathLike[str]") -> Path:
    name: object = os.fspath(source)
    if isinstance(name, str) and "\0" not in name and is_unicode(name):
        return Path(name)
    raise UnreadableFile(f"{name!r} is not the name of a file.")


def source_name(source: "Source") -> str | None:
    """The name of the file that a source is, None for what is in memory."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


def _whole(table: pa.Table) -> Reading:
    return Reading(table, [], _count(table.num_rows))


def _count(n_rows: int) -> Int64s:
    return np.arange(1, n_rows + 1, dtype=np.int64)


def _read_file(path: Path) -> Reading:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    kind = suffixes[0] if suffixes[-1:] == [".gz"] and len(suffixes) == 2 else (suffixes[-1:] or [""])[0]
    if kind in (".parquet", ".pq") and suffixes[-1] != ".gz":
        return _whole(_read_parquet(path))
    if kind not in (".ndjson", ".jsonl", ".json", ".csv"):
        raise UnreadableFile(f"{path} cannot be read: its name must end in {SUFFIXES}.")
    data = _read_text(path, zipped=suffixes[-1] == ".gz")
    if kind == ".csv":
        return read_csv(data, str(path))
    if kind == ".json" and data.lstrip().startswith(b"["):
        return read_json_array(data, str(path))
    return read_ndjson(data)


def _read_parquet(path: Path) -> pa.Table:
    try:
        with pa.parquet.ParquetFile(path) as file:
            return file.read()
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError) or error.errno == errno.ELOOP or path.is_dir():
            raise _not_opened(path, error) from None
        raise UnreadableFile(f"{path} is damaged: {error}.") from None
    except pa.ArrowException:
        raise UnreadableFile(f"{path} is not a Parquet file, or not all of it is there.") from None


def _read_text(path: Path, zipped: bool) -> bytes:
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if zipped else data
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise UnreadableFile(f"{path} is not a gzip file, or not all of it is there.") from None
    except OSError as error:
        raise _not_opened(path, error) from None
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path} is not UTF-8 text (byte {error.start + 1} cannot be read).") from None
    return data.removeprefix(b"\xef\xbb\xbf")


def _not_opened(path: Path, error: OSError) -> UnreadableFile:
    if isinstance(error, FileNotFoundError):
        return UnreadableFile(f"There is no file {path}.")
    if error.errno == errno.ELOOP:
        return UnreadableFile(f"{path} cannot be opened: it is a link that leads back to itself.")
    if path.is_dir():
        return UnreadableFile(f"{path} is a folder, not a file.")
    return UnreadableFile(f"{path} cannot be opened: {error.strerror}.")
