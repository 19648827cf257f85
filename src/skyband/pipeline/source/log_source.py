"""The embedded log as a source of Spark, `skyband_log`: in a stream its offsets are the numbers of the records.

Options: `path`, the folder of the log; `maxRows`, how many records a micro-batch has at most; `spent`, whether a column
tells what reading takes, see `skyband.pipeline.processor`. A stream begins with the first record that is kept. This
module needs PySpark, and is imported by Spark's workers too.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from skyband.log import Log, UnreadableLog
from skyband.pipeline.processor import SPENT, telling, used

NAME = "skyband_log"
SCHEMA = "offset bigint, value string"
# Below this many records a second task costs more than it saves.
ROWS_PER_TASK = 50_000
MOST_TASKS = 16
# Spark takes batches of about this size best, whatever the blocks of the log are.
ROWS_PER_BATCH = 10_000


class _Options(NamedTuple):
    """The options of a reader, checked."""

    path: str
    max_rows: int | None
    spent: bool = False


class _Range(InputPartition):
    """The records that one task reads."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))
        self.start = start
        self.end = end
        # What the process that planned it has used.
        self.spent = 0.0


class LogDataSource(DataSource):
    """What Spark is told of the log; register it with `spark.dataSource.register`."""

    @classmethod
    def name(cls) -> str:
        """The format to ask Spark for."""
        return NAME

    def schema(self) -> str:
        """The number and the text of each record."""
        return f"{SCHEMA}, {SPENT} bigint" if _options(self.options).spent else SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        """Reads the records that are there now."""
        return LogReader(_options(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802  Spark calls it by this name.
        """Reads records as they come."""
        return LogStreamReader(_options(self.options))


class LogReader(DataSourceReader):
    """Reads the records that are there when the query is planned."""

    def __init__(self, options: _Options) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        """The records, cut into tasks."""
        log = Log(self.options.path)
        return ranges(log.first, log.end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one task."""
        return _read(self.options, partition)


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads records as they come; offsets are `{"record": number of the next record}`."""

    def __init__(self, options: _Options) -> None:
        self.options = options
        self.log = Log(options.path)
        self.target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark calls it by this name.
        """The first record that is kept."""
        return {"record": self.log.first}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark calls it by this name.
        """As many rows as the option says."""
        return ReadMaxRows(self.options.max_rows) if self.options.max_rows else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark calls it by this name.
        """From now on the log ends where it ends now."""
        self.target = self.log.end

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802  as above
        """How far the next micro-batch goes."""
        end = self.log.end
        if start["record"] > end:
            raise UnreadableLog(
                f"The log {self.options.path} has {end} records, but {start['record']} were read from it before:"
                " it was replaced by another one, or has lost records."
            )
        # A restarted stream may be beyond where this one was to end.
        end = end if self.target is None else max(self.target, start["record"])
        return {"record": min(end, start["record"] + limit.max_rows) if isinstance(limit, ReadMaxRows) else end}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802  Spark calls it by this name.
        """Where the log ends, for Spark's progress report."""
        return {"record": self.log.end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The records of a micro-batch, cut into tasks; an error if some of them are no longer there."""
        self.log.batches(start["record"], end["record"])
        found = ranges(start["record"], end["record"])
        for first in found[:1]:
            first.spent = used()
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one task."""
        return _read(self.options, partition)


def ranges(start: int, end: int) -> list[_Range]:
    """The records from start to before end in parts of about equal size, few enough to be worth a task each."""
    n_tasks = min(-(-(end - start) // ROWS_PER_TASK), MOST_TASKS)
    bounds = [start + (end - start) * task // max(n_tasks, 1) for task in range(n_tasks + 1)]
    return [_Range(low, high) for low, high in itertools.pairwise(bounds)]


def _options(given: Any) -> _Options:
    if not given.get("path"):
        raise ValueError(f"The format {NAME} needs the option path, the folder of the log.")
    most = given.get("maxRows")
    if most is not None and (not most.isdecimal() or int(most) < 1):
        raise ValueError(f"The option maxRows of the format {NAME} is a number from 1 up, not {most!r}.")
    return _Options(given["path"], None if most is None else int(most), given.get("spent") == "true")


def _read(options: _Options, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, _Range)
    batches = _batches(options.path, partition)
    return telling(batches, partition.spent) if options.spent else batches


def _batches(path: str, partition: _Range) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for batch in Log(path).batches(partition.start, partition.end):
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting >= ROWS_PER_BATCH:
            yield from _joined(waiting)
            waiting, n_waiting = [], 0
    yield from _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches() if batches else []
    return joined
