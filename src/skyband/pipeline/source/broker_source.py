"""What is published at a broker as a source of Spark, `skyband_broker`: offsets are the cursors of the broker.

Options are those by which a client finds the broker, and `maxRows`, how many rows a micro-batch has at most. A stream
begins with the first publication that is kept. A row has the time that its broker gave it as `ts`. This module needs
PySpark, and is imported by Spark's workers too.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from skyband.pipeline.broker import ACCESS, open_client

NAME = "skyband_broker"
SCHEMA = "origin string, offset bigint, value string"
ARROW = pa.schema([("origin", pa.string()), ("offset", pa.int64()), ("value", pa.string())])
ROWS_PER_BATCH = 1000


class BrokerLost(RuntimeError):
    """A broker does not have what a stream has read of it before, or what comes next."""


class BrokerOffset(NamedTuple):
    """A place among the publications of one broker: whose they are, and the number of the next one."""

    origin: str
    number: int

    @classmethod
    def of(cls, cursor: str) -> "BrokerOffset":
        """The place of a cursor."""
        origin, _, number = cursor.rpartition("/")
        return cls(origin, int(number))

    @property
    def cursor(self) -> str:
        """The cursor of a place."""
        return f"{self.origin}/{self.number}"


class _Between(InputPartition):
    """The publications that one task reads."""

    def __init__(self, start: str, end: str) -> None:
        super().__init__((start, end))
        self.start, self.end = start, end


class BrokerDataSource(DataSource):
    """What Spark is told of a broker; register it with `spark.dataSource.register`."""

    @classmethod
    def name(cls) -> str:
        """The format to ask Spark for."""
        return NAME

    def schema(self) -> str:
        """Whose publication it is, its number there, and the row as JSON."""
        return SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        """Reads the publications that are there now."""
        return BrokerReader(_access(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802  Spark calls it by this name.
        """Reads publications as they come."""
        most = self.options.get("maxRows")
        return BrokerStreamReader(_access(self.options), None if most is None else int(most))


class BrokerReader(DataSourceReader):
    """Reads the publications that are kept when the query is planned."""

    def __init__(self, access: dict[str, str]) -> None:
        self.access = access

    def partitions(self) -> Sequence[InputPartition]:
        """All of them, in one task."""
        first, end = kept(self.access)
        return [_Between(first, end)] if first != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The publications of a task."""
        return _read(self.access, partition)


class BrokerStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads publications as they come; offsets are `{"cursor": that of the next publication}`."""

    def __init__(self, access: dict[str, str], max_rows: int | None) -> None:
        self.access, self.max_rows = access, max_rows
        self.target: BrokerOffset | None = None

    def initialOffset(self) -> dict[str, str]:  # noqa: N802  Spark calls it by this name.
        """The first publication that is kept."""
        return {"cursor": kept(self.access)[0]}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark calls it by this name.
        """As many rows as the option says."""
        return ReadMaxRows(self.max_rows) if self.max_rows else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark calls it by this name.
        """From now on it ends where it ends now."""
        self.target = BrokerOffset.of(kept(self.access)[1])

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: N802  as above
        """How far the next micro-batch goes."""
        begin, end = BrokerOffset.of(start["cursor"]), BrokerOffset.of(kept(self.access)[1])
        if begin.origin != end.origin or begin.number > end.number:
            raise BrokerLost(
                f"The broker at {self.access['address']} will go on with {end.cursor}, and this stream with "
                f"{begin.cursor}: it is another broker, or has lost its folder. Begin with a new state folder."
            )
        # A restarted stream may be beyond where this one was to end.
        last = end.number if self.target is None else max(self.target.number, begin.number)
        most = begin.number + limit.max_rows if isinstance(limit, ReadMaxRows) else last
        return {"cursor": BrokerOffset(begin.origin, min(last, most)).cursor}

    def reportLatestOffset(self) -> dict[str, str]:  # noqa: N802  Spark calls it by this name.
        """Where it ends, for Spark's progress report."""
        return {"cursor": kept(self.access)[1]}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> Sequence[InputPartition]:
        """The publications of a micro-batch, in one task."""
        return [_Between(start["cursor"], end["cursor"])] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The publications of a task."""
        return _read(self.access, partition)


def kept(access: dict[str, str]) -> tuple[str, str]:
    """The cursors of the first publication that a broker keeps, and of the next one to come."""
    with open_client(access) as client:
        told = client.publications(most=0)
    return told.cursor, told.end


def _access(options: Any) -> dict[str, str]:
    if not options.get("address"):
        raise ValueError(f"The format {NAME} needs the option address, where the broker takes clients.")
    return {name: options[name] for name in ACCESS if options.get(name) is not None}


def _read(access: dict[str, str], partition: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, _Between)
    place, end = BrokerOffset.of(partition.start), BrokerOffset.of(partition.end)
    with open_client(access) as client:
        while place.number < end.number:
            told = client.publications(place.cursor, min(ROWS_PER_BATCH, end.number - place.number))
            if not told.rows:
                raise BrokerLost(f"The broker at {access['address']} has no publication {place.number} any more.")
            values = [json.dumps(row.row | {"ts": row.ts}, ensure_ascii=False) for row in told.rows]
            numbers = [row.number for row in told.rows]
            yield pa.RecordBatch.from_arrays(
                [pa.array([place.origin] * len(values), pa.string()), pa.array(numbers), pa.array(values, pa.string())],
                schema=ARROW,
            )
            place = BrokerOffset.of(told.cursor)
