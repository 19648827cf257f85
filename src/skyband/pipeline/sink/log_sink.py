"""Changes in an embedded log, which another pipeline or program can follow."""

from pathlib import Path

import pyarrow as pa

from skyband.log import Log
from skyband.pipeline.sink.folder import Claim, claim_folder, run_of
from skyband.pipeline.sink.sink import Staged, reporting
from skyband.table.write import json_rows


class LogSink:
    """A sink that appends each change to a log as a JSON object; a batch is one block, which is there once."""

    def __init__(self, folder: Path, private: Path) -> None:
        self._log = Log(folder)
        self._private = private
        self._schema = pa.schema([])

    def open(self, schema: pa.Schema) -> None:
        """Make the log, or go on with the one of earlier batches, as its only writer."""
        claim_folder(self._log.folder, Claim(run_of(self._private), "log", schema))
        self._log.claim()
        self._schema = schema

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Append the changes of a batch, unless they are there."""
        source = Staged(staged, n_rows, self._schema)
        with reporting(f"The log sink at {self._log.folder}", batch):
            self._log.append_batch(batch, [line for table in source.tables() for line in json_rows(table)])

    def close(self) -> None:
        """Let another process write."""
        self._log.close()
