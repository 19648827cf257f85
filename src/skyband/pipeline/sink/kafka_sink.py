"""Changes and tops in Kafka, through Spark's connector.

Kafka takes messages one by one, so a batch can be cut off in the middle. Before a batch of changes is written, the sink
notes how far the topic goes. If that batch is never noted as done, the next run looks at what came after that, and
writes only the rows that are not there. This is exact for one writer, as long as the topic still holds those messages.
A message of tops holds a whole top, so that writing one twice does no harm.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet

from skyband.pipeline.kafka import add_kafka
from skyband.pipeline.sink.kafka_progress import TopicProgress, note, read_progress
from skyband.pipeline.sink.kafka_topic import KafkaTopic, Offsets
from skyband.pipeline.sink.sink import SinkFailed, Staged
from skyband.table.json_object import ENCODER
from skyband.table.write import json_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MESSAGE = pa.schema([("key", pa.string()), ("value", pa.string())])
MESSAGES_AT_ONCE = 10_000


class KafkaSink:
    """A sink that writes a message a change, or a message a changed top, with the subscription as its key."""

    def __init__(
        self,
        spark: SparkSession,
        servers: str,
        topic: str,
        what: Literal["changes", "tops"],
        private: Path,
        options: Mapping[str, str] = {},
    ) -> None:
        self._spark = spark
        self._topic = KafkaTopic(spark, servers, topic, options)
        self._what = what
        self._private = private
        self._schema = pa.schema([])
        self._progress = TopicProgress(topic)

    def open(self, schema: pa.Schema) -> None:
        """See that the broker answers, and make the topic if it is not there."""
        self._schema = schema
        self._private.mkdir(parents=True, exist_ok=True)
        self._progress = self._read_progress()
        add_kafka(self._spark)
        self._topic.load_clients()
        try:
            self._topic.make(compacted=self._what == "tops")
        except Exception as error:
            raise ValueError(
                f"The kafka sink of {self._what} in topic {self._topic.name} cannot be opened: "
                f"{self._topic.told(error)}."
            ) from None

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Write the messages of a batch, except those that are there."""
        last = self._progress
        if batch < last.batch or (batch == last.batch and last.done):
            return
        if not last.done and batch != last.batch:
            raise SinkFailed(
                f"{self._name} has begun batch {last.batch}, and cannot take batch {batch} before its end."
            )
        rows = pa.concat_tables(Staged(staged, n_rows, self._schema).tables())
        self._topic.load_clients()
        try:
            if self._what == "tops":
                self._send(rows)
            else:
                self._send_once(batch, rows)
            self._note(TopicProgress(self._topic.name, batch))
        except Exception as error:
            raise SinkFailed(
                f"{self._name} could not take batch {batch} ({self._topic.told(error)}); see that the broker can be "
                "reached and has room and run again: nothing is lost."
            ) from None

    def close(self) -> None:
        """Do nothing: Spark keeps and closes the producers."""

    @property
    def _name(self) -> str:
        return f"The kafka sink of {self._what} in topic {self._topic.name}"

    def _read_progress(self) -> TopicProgress:
        found = read_progress(self._private)
        if found is None or found.topic == self._topic.name:
            return found or TopicProgress(self._topic.name)
        if not found.done:
            raise ValueError(
                f"Batch {found.batch} was begun in topic {found.topic} and is to be finished there, not in "
                f"{self._topic.name}: run once more with that topic before you choose another."
            )
        return TopicProgress(self._topic.name)

    def _note(self, progress: TopicProgress) -> None:
        note(self._private, progress)
        self._progress = progress

    def _send_once(self, batch: int, rows: pa.Table) -> None:
        if self._progress.done:
            self._note(TopicProgress(self._topic.name, batch, False, self._topic.ends()))
            self._send(rows)
        else:
            self._send(rows, self._written(batch))

    def _send(self, rows: pa.Table, written: DataFrame | None = None) -> None:
        frame = self._spark.createDataFrame(rows)
        if written is not None:
            frame = frame.join(written, "row", "left_anti").select(*rows.column_names)
        # One task, so that the messages of a subscription have the order of its changes.
        order = ("subscription", "rank") if self._what == "tops" else ("row",)
        encode = top_messages if self._what == "tops" else change_messages
        messages = frame.coalesce(1).sortWithinPartitions(*order).mapInArrow(encode, "key string, value string")
        messages.write.format("kafka").options(**self._options()).option("topic", self._topic.name).save()

    def _written(self, batch: int) -> DataFrame:
        """The rows of a batch that are in the topic since it was begun."""
        from pyspark.sql import functions

        begins, ends = self._topic.begins(), self._topic.ends()
        # Since then the topic may have got partitions, lost old messages, or been made anew.
        starts = {
            partition: min(max(self._progress.offsets.get(partition, 0), begins[partition]), end)
            for partition, end in ends.items()
        }
        reader = self._spark.read.format("kafka").options(**self._options()).option("subscribe", self._topic.name)
        reader = reader.option("startingOffsets", _as_json(self._topic.name, starts))
        reader = reader.option("endingOffsets", _as_json(self._topic.name, ends))
        place = functions.from_json(functions.col("value").cast("string"), "batch bigint, row bigint")
        found = reader.load().select(place.alias("place")).where(functions.col("place.batch") == batch)
        return found.select("place.row").distinct()

    def _options(self) -> dict[str, str]:
        return {f"kafka.{name}": value for name, value in self._topic.settings.items()}


def change_messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A message for each change, with the row as JSON."""
    _refuse_second_attempt()
    for batch in batches:
        table = pa.Table.from_batches([batch])
        keys = [str(subscription) for subscription in table["subscription"].to_pylist()]
        yield pa.record_batch([pa.array(keys, pa.string()), pa.array(json_rows(table), pa.string())], schema=MESSAGE)


def top_messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A message for each top, with its rows as a JSON list; they come by subscription and rank."""
    rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
    tops = itertools.groupby(rows, key=lambda row: row["subscription"])
    messages = ({"key": str(subscription), "value": _top_json(members)} for subscription, members in tops)
    while some := list(itertools.islice(messages, MESSAGES_AT_ONCE)):
        yield pa.RecordBatch.from_pylist(some, schema=MESSAGE)


def _top_json(rows: Iterator[dict[str, Any]]) -> str:
    members = ({name: row[name] for name in ("rank", "publication", "score")} for row in rows)
    return ENCODER.encode([member for member in members if member["rank"] is not None])


def _refuse_second_attempt() -> None:
    """Fail where Spark repeats a task by itself: only the sink knows what the first attempt has written."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        raise RuntimeError("A task that writes to Kafka was cut off.")


def _as_json(topic: str, offsets: Offsets) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})
