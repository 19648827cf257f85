"""What a sink is: told the schema once, then given staged batches, each of which it keeps exactly once."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet

KEY = ("batch", "row")
ROWS_AT_ONCE = 65_536
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)


class SinkFailed(RuntimeError):
    """A sink could not take a batch; what it was to take stays staged, so that the next run delivers it."""


class Sink(Protocol):
    """Where changes or tops go, batch by batch in ascending order; numbers may be skipped."""

    def open(self, schema: pa.Schema) -> None:
        """Make ready for staged files of this schema; what would prevent delivery is told here."""

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Take the staged Parquet file of a batch; what was taken before is there once."""

    def close(self) -> None:
        """Let go of connections and files."""


class Discard:
    """A sink that forgets what it is given, for measuring everything else."""

    def open(self, schema: pa.Schema) -> None:
        """Do nothing."""

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Staged:
    """The staged file of a batch, found to be whole and of the schema that the sink was opened with."""

    def __init__(self, path: Path, n_rows: int, schema: pa.Schema) -> None:
        file = pa.parquet.ParquetFile(path)
        if file.metadata.num_rows != n_rows:
            raise ValueError(f"{path} holds {file.metadata.num_rows} rows, and {n_rows} were staged.")
        differences = differing(schema, file.schema_arrow)
        if differences:
            raise ValueError(f"{path} is not what the sink was opened for: {'; '.join(differences)}.")
        self.path = path
        self._file = file
        self._schema = schema

    def tables(self) -> Iterator[pa.Table]:
        """Its rows in their order, some at a time."""
        for batch in self._file.iter_batches(ROWS_AT_ONCE):
            yield pa.Table.from_batches([batch]).cast(self._schema)


def differing(wanted: pa.Schema, found: pa.Schema) -> list[str]:
    """In words, how the columns of a schema differ from the wanted ones in name, type or order."""
    told = [
        f"{field.name} is {found.field(field.name).type}, not {field.type}"
        for field in wanted
        if field.name in found.names and found.field(field.name).type != field.type
    ]
    told += [f"{name} is missing" for name in wanted.names if name not in found.names]
    told += [f"{name} is not expected" for name in found.names if name not in wanted.names]
    if not told and wanted.names != found.names:
        told = [f"the columns are in the order {', '.join(found.names)}, not {', '.join(wanted.names)}"]
    return told


@contextlib.contextmanager
def reporting(sink: str, batch: int) -> Iterator[None]:
    """Turn what the operating system refuses while a batch is delivered into `SinkFailed`."""
    try:
        yield
    except OSError as error:
        raise SinkFailed(
            f"{sink} could not take batch {batch} ({reason(error)}); {_advice(error)} and run again: nothing is lost."
        ) from error


def reason(error: OSError) -> str:
    """The operating system's word for what went wrong, without file names."""
    return error.strerror or str(error)


def _advice(error: OSError) -> str:
    if error.errno in _NO_ROOM:
        return "free some space"
    if error.errno in _NO_RIGHT:
        return "make it writable"
    return "put that right"
