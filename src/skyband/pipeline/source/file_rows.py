"""The rows of one Parquet, NDJSON or CSV file as they enter the pipeline, numbered from 1 in the order of the file.

A row that cannot be read, or a file that cannot be read to its end, becomes a row that is no JSON (it begins with the
sign for what cannot be shown, U+FFFD), so that it is rejected with its place and the stream goes on.
"""

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from skyband.kernels.array import Int64s
from skyband.pipeline.source.typed_rows import FORM, PARCEL, plain, to_parcel
from skyband.table.csv_file import read_csv
from skyband.table.json_object import json_objects
from skyband.table.reject import LONGEST_VALUE, UnreadableFile

ROWS_AT_ONCE = 10_000
BYTES_AT_ONCE = 4 * 1024 * 1024
BAD = "\ufffd"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A code point that no text uses, in the place of bytes that are not UTF-8.
NOT_TEXT = "\ufdd0"

SCHEMA = pa.schema([("offset", pa.int64()), ("form", pa.string()), ("value", pa.string())])
# The schema of `skyband.pipeline.state.spec`, without all that comes with it: workers import this module.
RAW = pa.schema([("noun", pa.string()), ("origin", pa.string()), *SCHEMA])
PACKED = pa.schema([*RAW, (PARCEL, pa.binary())])


class _Rows(NamedTuple):
    """Some rows: their numbers and what they say, each by its value or all by one parcel."""

    numbers: Int64s
    values: pa.StringArray
    form: str = "json"
    parcel: bytes | None = None

    def columns(self, packed: bool) -> list[pa.Array]:
        """The raw rows, with a column for parcels where they may come packed."""
        numbers, values = self.numbers, self.values
        if self.parcel is not None:
            numbers, values = numbers[:1], pa.nulls(1, pa.string())
        columns = [pa.array(numbers), pa.repeat(pa.scalar(self.form), len(numbers)), values]
        parcels = pa.repeat(pa.scalar(self.parcel, pa.binary()), len(numbers))
        return [*columns, parcels] if packed else columns


def read_files(
    batches: Iterable[pa.RecordBatch], noun: str, folder: str, format: str, packed: bool = False
) -> Iterator[pa.RecordBatch]:
    """The raw rows of the files that are named by the rows of some batches."""
    schema = PACKED if packed else RAW
    for batch in batches:
        for listed in batch.column(0).to_pylist():
            path = Path(listed.removeprefix("file:"))
            origin = Path(os.path.relpath(path, folder)).as_posix()
            for rows in file_rows(path, format, packed):
                constants = [pa.repeat(pa.scalar(text), rows.num_rows) for text in (noun, origin)]
                yield pa.RecordBatch.from_arrays([*constants, *rows.columns], schema=schema)


def file_rows(path: Path, format: str, packed: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of a file in batches of `SCHEMA`; only what the operating system refuses is an error.

    Where they may come `packed`, there is a column for parcels too, see `skyband.pipeline.source.typed_rows`.
    """
    schema = pa.schema([*SCHEMA, (PARCEL, pa.binary())]) if packed else SCHEMA
    last, reader = 0, _typed_parquet if packed and format == "parquet" else READERS[format]
    try:
        for rows in reader(path):
            if len(rows.numbers):
                last = int(rows.numbers[-1])
                yield pa.RecordBatch.from_arrays(rows.columns(packed), schema=schema)
    except (pa.ArrowException, EOFError, zlib.error, UnreadableFile, OSError) as error:
        # What is wrong with the content has no error number, and is the same however often it is read.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        told = bad(f"the file cannot be read after row {last}: {' '.join(str(error).split())}")
        rest = _Rows(np.array([last + 1]), pa.array([told]))
        yield pa.RecordBatch.from_arrays(rest.columns(packed), schema=schema)


def bad(text: str) -> str:
    """What cannot be read as a value that is rejected."""
    return BAD + " " + text


def _parquet(path: Path) -> Iterator[_Rows]:
    first = 1
    with pa.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS_AT_ONCE):
            yield _Rows(np.arange(first, first + batch.num_rows), json_objects(batch))
            first += batch.num_rows


def _typed_parquet(path: Path) -> Iterator[_Rows]:
    first = 1
    with pa.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS_AT_ONCE):
            numbers, rows = np.arange(first, first + batch.num_rows), plain(batch)
            if rows is None:
                yield _Rows(numbers, json_objects(batch))
            else:
                yield _Rows(numbers, pa.nulls(0, pa.string()), FORM, to_parcel(rows))
            first += batch.num_rows


def _ndjson(path: Path) -> Iterator[_Rows]:
    first = 1
    with _opened(path) as file:
        while lines := file.readlines(BYTES_AT_ONCE):
            if first == 1:
                lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
            numbers = np.arange(first, first + len(lines))
            texts = pc.utf8_rtrim(_decoded(lines), "\r\n")
            filled = pc.not_equal(pc.ascii_trim_whitespace(texts), "")
            kept = numbers[filled.to_numpy(zero_copy_only=False)]
            yield from _in_parts(_Rows(kept, texts.filter(filled)))
            first += len(lines)


def _decoded(lines: list[bytes]) -> pa.StringArray:
    try:
        return pc.cast(pa.array(lines, pa.binary()), pa.string())
    except pa.ArrowInvalid:
        return pa.array([_decoded_line(line) for line in lines], pa.string())


def _decoded_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        return bad(f"{error.reason} at byte {error.start}: {line.decode(errors='replace').rstrip()}")


def _csv(path: Path) -> Iterator[_Rows]:
    with _opened(path) as file:
        data = _with_bad_bytes_marked(file.read())
    reading = read_csv(data, path.name)
    table = reading.table
    values, numbers = json_objects(table), reading.row_numbers
    unreadable = {reject.row: bad(f"{reject.reason}: {reject.value}") for reject in reading.rejects}
    if NOT_TEXT.encode() in data:
        spoilt = pc.match_substring(values, NOT_TEXT).to_numpy(zero_copy_only=False)
        shown = pc.replace_substring(values.filter(pa.array(spoilt)), NOT_TEXT, BAD).to_pylist()
        unreadable |= {
            int(number): bad(f"the row is not UTF-8: {text[:LONGEST_VALUE]}")
            for number, text in zip(numbers[spoilt], shown, strict=True)
        }
        values, numbers = values.filter(pa.array(~spoilt)), numbers[~spoilt]
    yield from _in_parts(_Rows(numbers, values, "cells"))
    # These come last, which is no harm: rows are ordered by their numbers.
    yield _Rows(
        np.array(sorted(unreadable), np.int64), pa.array([unreadable[row] for row in sorted(unreadable)], pa.string())
    )


def _with_bad_bytes_marked(data: bytes) -> bytes:
    try:
        data.decode()
        return data
    except UnicodeDecodeError:
        text = data.decode(errors="surrogateescape")
        return text.translate(dict.fromkeys(range(0xDC80, 0xDD00), NOT_TEXT)).encode()


def _in_parts(rows: _Rows) -> Iterator[_Rows]:
    for start in range(0, len(rows.numbers), ROWS_AT_ONCE):
        numbers = rows.numbers[start : start + ROWS_AT_ONCE]
        yield rows._replace(numbers=numbers, values=rows.values.slice(start, ROWS_AT_ONCE))


def _opened(path: Path) -> BinaryIO:
    """The file, unpacked if it is packed by gzip."""
    file = path.open("rb")
    if file.peek(2)[:2] == b"\x1f\x8b":
        file.close()
        return cast(BinaryIO, gzip.open(path, "rb"))
    return cast(BinaryIO, file)


READERS: dict[str, Callable[[Path], Iterator[_Rows]]] = {"parquet": _parquet, "ndjson": _ndjson, "csv": _csv}
