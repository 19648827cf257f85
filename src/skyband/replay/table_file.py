"""Files that grow table by table and appear whole at their path, or not at all."""

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from skyband.table.write import json_rows, replacing

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".csv": "csv",
}
# Batches may hold a handful of rows each; a Parquet file of such row groups would be slow to read.
ROWS_AT_ONCE = 65_536


class TableWriter(Protocol):
    """Writes the tables of one run as they come, given their schema first.

    A writer is no sink of a pipeline: it knows no batches, and what it has written is lost with its run.
    """

    def begin(self, schema: pa.Schema) -> None:
        """Take the schema of every table that will follow."""

    def write(self, table: pa.Table) -> None:
        """Take the next rows."""


class SummaryOnly:
    """A writer for those who want the summary only."""

    def begin(self, schema: pa.Schema) -> None:
        """Do nothing."""

    def write(self, table: pa.Table) -> None:
        """Do nothing."""


class TableFile:
    """A writer of Parquet, NDJSON or CSV to an open file."""

    def __init__(self, file: BinaryIO, format: str) -> None:
        self.n_rows = 0
        self.has_begun = False
        self._file = file
        self._format = format
        self._schema: pa.Schema | None = None
        self._writer: Any = None
        self._waiting: list[pa.Table] = []
        self._n_waiting = 0

    def begin(self, schema: pa.Schema) -> None:
        """Take the schema of every table that will follow."""
        self._schema = schema
        self.has_begun = True
        if self._format == "parquet":
            self._writer = pa.parquet.ParquetWriter(self._file, schema, compression="zstd")
        elif self._format == "csv":
            self._writer = pa.csv.CSVWriter(self._file, _flat(schema.empty_table()).schema)
        self._file.flush()

    def write(self, table: pa.Table) -> None:
        """Take the next rows."""
        if not len(table):
            return
        self.n_rows += len(table)
        self._waiting.append(table)
        self._n_waiting += len(table)
        if self._n_waiting >= ROWS_AT_ONCE:
            self._flush()

    def finish(self) -> None:
        """Write what is waiting and the end of the file."""
        self._flush()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def abandon(self) -> None:
        """Let go of the file after a failure."""
        with contextlib.suppress(Exception):
            if self._writer is not None:
                self._writer.close()
        self._writer = None

    def _flush(self) -> None:
        if self._waiting:
            table = pa.concat_tables(self._waiting)
            self._waiting, self._n_waiting = [], 0
            if self._format == "ndjson":
                self._file.writelines(line.encode() + b"\n" for line in json_rows(table))
            else:
                self._writer.write_table(_flat(table) if self._format == "csv" else table)


class GrowingFile:
    """A writer of NDJSON to a file that others read meanwhile: every table is there as soon as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.has_begun = False
        self._file = file

    def begin(self, schema: pa.Schema) -> None:
        """Give up what the file held before; an NDJSON file has no header."""
        self.has_begun = True
        # What is no file of its own, such as a pipe, has nothing to give up.
        if _is_regular(self._file.fileno()):
            self._file.truncate(0)

    def write(self, table: pa.Table) -> None:
        """Write the next rows."""
        self._file.writelines(line.encode() + b"\n" for line in json_rows(table))
        self._file.flush()


@contextlib.contextmanager
def growing_file(path: Path) -> Iterator[GrowingFile]:
    """An NDJSON file that is written in place, and stays as far as it has come; meanwhile nobody else may grow it.

    Until it is begun it stays as it was; if it never is, and was not there before, it is not there afterwards.
    """
    was_there = path.exists()
    try:
        file = os.fdopen(_held(path), "wb")
    except BlockingIOError:
        raise ValueError(f"{path} cannot be written: it is being written already.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None
    with file:
        writer = GrowingFile(file)
        try:
            yield writer
        finally:
            if not (writer.has_begun or was_there):
                _remove_empty(path, file.fileno())


def _held(path: Path) -> int:
    """Open a file and lock it for as long as it is open; what it held before stays."""
    while True:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            # What is no file of its own may have several writers.
            if not _is_regular(number):
                return number
            _lock(number)
            if _is_at(path, number):
                return number
        except BaseException:
            os.close(number)
            raise
        # Whoever had it locked has removed it meanwhile.
        os.close(number)


def _is_regular(number: int) -> bool:
    return stat.S_ISREG(os.fstat(number).st_mode)


def _is_at(path: Path, number: int) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(number), path.stat())
    except FileNotFoundError:
        return False


def _remove_empty(path: Path, number: int) -> None:
    """Remove an open file in which there is nothing, while it is locked; a link to it stays."""
    if _is_at(path, number) and _is_regular(number) and not os.fstat(number).st_size:
        with contextlib.suppress(OSError):  # such as Windows, which removes no open file
            os.unlink(os.path.realpath(path))


def _lock(number: int) -> None:
    """Lock an open file, or raise a BlockingIOError; where nothing can be locked, do without."""
    try:
        import fcntl
    except ImportError:  # Windows has none
        return
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # some network file systems have no locks
        return


@contextlib.contextmanager
def table_file(path: Path) -> Iterator[TableFile]:
    """A file to write tables to, of the format that its suffix names.

    It is written beside its path and takes its place when the block ends well, if it was begun. What would prevent that
    is found here, before any work.
    """
    format = format_of(path)
    if path.is_dir():
        raise ValueError(f"{path} cannot be written: it is a folder.")
    with replacing(path) as temporary:
        with _opened(path, temporary) as file:
            writer = TableFile(file, format)
            try:
                yield writer
                writer.finish()
            finally:
                writer.abandon()
        if not writer.has_begun:
            temporary.unlink()


def format_of(path: Path, formats: tuple[str, ...] = ("parquet", "ndjson", "csv")) -> str:
    """The format of a path by its suffix; a ValueError lists the suffixes there are."""
    format = FORMATS.get(path.suffix.lower())
    if format not in formats:
        suffixes = [suffix for suffix, its_format in FORMATS.items() if its_format in formats]
        listed = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise ValueError(f"{path} cannot be written: its name must end in {listed}.")
    return format


def _opened(path: Path, temporary: Path) -> BinaryIO:
    try:
        return temporary.open("wb")
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}.") from None


def _flat(table: pa.Table) -> pa.Table:
    """The table with lists as JSON text, since a CSV cell holds one value."""
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            cells = [None if cell is None else json.dumps(cell) for cell in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(cells, pa.string()))
    return table
