"""Changes as files: a folder with one Parquet, NDJSON or CSV file a batch, named by the batch."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from skyband.pipeline.sink.folder import Claim, claim_folder, linked, placing, read_claim, run_of
from skyband.pipeline.sink.sink import KEY, Staged, reporting
from skyband.replay.table_file import TableFile

FORMATS = ("parquet", "ndjson", "csv")


class ChangeFiles:
    """A sink that writes a file a batch; delivering a batch again replaces its file by the same."""

    def __init__(self, folder: Path, format: str, private: Path) -> None:
        self._folder = folder
        self._format = format
        self._private = private
        self._schema: pa.Schema | None = None

    def open(self, schema: pa.Schema) -> None:
        """Make the folder, or see that it is the one of earlier batches."""
        claim_folder(self._folder, Claim(run_of(self._private), self._format, schema))
        self._schema = schema

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Write the file of a batch."""
        source = Staged(staged, n_rows, self._schema)
        target = self._folder / f"{batch:012d}.{self._format}"
        with reporting(f"The {self._format} sink at {self._folder}", batch):
            if self._format == "parquet" and linked(staged, target):
                return
            with placing(target) as file:
                if self._format == "parquet":
                    with staged.open("rb") as whole:
                        shutil.copyfileobj(whole, file)
                else:
                    self._write(source, file)

    def close(self) -> None:
        """Do nothing: nothing is kept open between batches."""

    def _write(self, source: Staged, file: BinaryIO) -> None:
        writer = TableFile(file, self._format)
        try:
            writer.begin(self._schema)
            for table in source.tables():
                writer.write(table)
            writer.finish()
        finally:
            writer.abandon()


def read_changes(folder: str | Path, keyed: bool = False) -> pa.Table:
    """All changes in a folder, in their order; with `keyed`, also the batch of each and its row there."""
    claim = read_claim(Path(folder))
    if claim is None or claim.format not in FORMATS:
        raise ValueError(f"{folder} is not a folder of changes.")
    read = _READERS[claim.format]
    paths = sorted(Path(folder).glob(f"[0-9]*.{claim.format}"))
    tables = [read(path, claim.schema) for path in paths]
    whole = pa.concat_tables([claim.schema.empty_table(), *tables])
    return whole if keyed else whole.drop_columns(list(KEY))


def _read_parquet(path: Path, schema: pa.Schema) -> pa.Table:
    return pa.parquet.ParquetFile(path).read().cast(schema)


def _read_ndjson(path: Path, schema: pa.Schema) -> pa.Table:
    with path.open(encoding="utf-8", newline="\n") as file:
        rows = [json.loads(line) for line in file]
    return pa.table(
        [_timed([row[field.name] for row in rows], field.type) for field in schema],
        schema=schema,
    )


def _timed(cells: list[object], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pc.cast(pa.array(cells, pa.string()), kind)
    return pa.array(cells, kind)


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    table = pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types={field.name: field.type for field in schema},
            null_values=[""],
        ),
    )
    return table.cast(schema)


_READERS: dict[str, Callable[[Path, pa.Schema], pa.Table]] = {
    "parquet": _read_parquet,
    "ndjson": _read_ndjson,
    "csv": _read_csv,
}
