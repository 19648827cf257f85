"""Kafka as a sink: every change once and in order, wherever writing was cut off, and the last word on every top."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pytest

from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink import SinkFailed, kafka_topic, open_sink
from skyband.pipeline.sink.kafka_sink import KafkaSink, change_messages, top_messages
from skyband.pipeline.sink.kafka_topic import KafkaTopic
from skyband.table.write import json_rows
from tests.choosing import secondary
from tests.pipeline.kafka_server import Broker
from tests.pipeline.staging import Batch, changes_schema, some_changes, some_tops, stage, tops_after, tops_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOBODY = "127.0.0.1:1"
IMPATIENT = {"max.block.ms": "1500", "request.timeout.ms": "1000", "delivery.timeout.ms": "1500"}


class Bench:
    """A topic of its own, and sinks that write to it."""

    def __init__(self, spark: SparkSession, broker: Broker, folder: Path, topic: str) -> None:
        self.spark = spark
        self.broker = broker
        self.folder = folder
        self.topic = topic

    def sink(self, what: Literal["changes", "tops"] = "changes", options: dict[str, str] | None = None) -> KafkaSink:
        """A sink as a new process would open it."""
        sink = KafkaSink(self.spark, self.broker.servers, self.topic, what, self.folder / "state", options or {})
        sink.open(changes_schema() if what == "changes" else tops_schema())
        return sink

    def texts(self) -> list[tuple[str, str]]:
        """Keys and values of all messages, partition by partition."""
        frame = self.spark.read.format("kafka").option("kafka.bootstrap.servers", self.broker.servers)
        rows = frame.option("subscribe", self.topic).load().orderBy("partition", "offset").collect()
        return [(row.key.decode(), row.value.decode()) for row in rows]

    def messages(self) -> list[tuple[str, Any]]:
        """The same, with values that are JSON."""
        return [(key, json.loads(text)) for key, text in self.texts()]

    def changes(self) -> list[dict[str, Any]]:
        """All changes, in the order of batches and rows."""
        return sorted((value for _, value in self.messages()), key=lambda row: (row["batch"], row["row"]))


@pytest.fixture
def bench(spark: SparkSession, broker: Broker, tmp_path: Path) -> Bench:
    """A topic of its own."""
    return Bench(spark, broker, tmp_path, f"topic-{secrets.token_hex(4)}")


def rows_of(*batches: Batch) -> list[dict[str, Any]]:
    """The rows of batches."""
    return [row for batch in batches for row in batch.table.to_pylist()]


class Cut(Exception):
    """The process ends here."""


def cut_after(sink: KafkaSink, monkeypatch: pytest.MonkeyPatch, rows: list[int]) -> None:
    """Let a sink write just these rows of a batch before its process ends."""
    send = sink._send

    def send_some(table: pa.Table, *rest: Any) -> None:
        if rows:
            send(table.take(rows), *rest)
        raise Cut

    monkeypatch.setattr(sink, "_send", send_some)


def test_changes_are_there_once_and_in_order(bench: Bench, tmp_path: Path) -> None:
    bench.broker.create(bench.spark, bench.topic, 3)
    batches = [some_changes(tmp_path, number, n_rows) for number, n_rows in ((0, 60), (2, 1), (3, 60))]
    sink = bench.sink()
    for batch in batches:
        sink.deliver(*batch.given)
        sink.deliver(*batches[0].given)
        bench.sink().deliver(*batch.given)
    messages = bench.messages()
    assert bench.changes() == rows_of(*batches)
    assert all(key == value["subscription"] for key, value in messages)
    for subscription in {key for key, _ in messages}:
        own = [value for key, value in messages if key == subscription]
        assert own == [row for row in rows_of(*batches) if row["subscription"] == subscription]


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [[19, 3, 11], [], list(range(40))], ids=len)
def test_a_batch_that_was_cut_off_is_finished(
    rows: list[int], bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [some_changes(tmp_path, number, 40) for number in range(3)]
    bench.sink().deliver(*batches[0].given)
    sink = bench.sink()
    cut_after(sink, monkeypatch, rows)
    with pytest.raises(SinkFailed, match=rf"{bench.topic} could not take batch 1 .*nothing is lost\.$"):
        sink.deliver(*batches[1].given)
    assert len(bench.changes()) == 40 + len(rows)
    again = bench.sink()
    with pytest.raises(SinkFailed, match="has begun batch 1, and cannot take batch 2 before its end"):
        again.deliver(*batches[2].given)
    # The second try is cut off too, and what both wrote is seen.
    cut_after(again, monkeypatch, [39])
    with pytest.raises(SinkFailed):
        again.deliver(*batches[1].given)
    last = bench.sink()
    last.deliver(*batches[1].given)
    last.deliver(*batches[2].given)
    assert bench.changes() == rows_of(*batches)


def begin(bench: Bench, batch: Batch, monkeypatch: pytest.MonkeyPatch, rows: list[int]) -> KafkaTopic:
    """Let a sink be cut off after these rows of a batch; gives the topic, to do something to it."""
    sink = bench.sink()
    cut_after(sink, monkeypatch, rows)
    with pytest.raises(SinkFailed):
        sink.deliver(*batch.given)
    return sink._topic


@secondary
def test_a_topic_that_grew_since_it_was_begun(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [some_changes(tmp_path, number, 30) for number in range(2)]
    bench.sink().deliver(*batches[0].given)
    with begin(bench, batches[1], monkeypatch, [0, 1, 2])._admin() as admin:
        more = admin.jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(4)
        admin.client.createPartitions(admin.jvm.java.util.Collections.singletonMap(bench.topic, more)).all().get()
    # Messages of others count for nothing.
    others = [("x", "hello"), ("y", json.dumps({"batch": 0, "row": 7}))]
    frame = bench.spark.createDataFrame(others, "key string, value string").write.format("kafka")
    frame.option("kafka.bootstrap.servers", bench.broker.servers).option("topic", bench.topic).save()
    bench.sink().deliver(*batches[1].given)
    ours = [text for key, text in bench.texts() if key not in ("x", "y")]
    assert sorted(ours) == sorted(json_rows(pa.concat_tables(batch.table for batch in batches)))


@secondary
def test_a_topic_that_forgot_what_was_before(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [some_changes(tmp_path, number, 30) for number in range(2)]
    bench.sink().deliver(*batches[0].given)
    begin(bench, batches[1], monkeypatch, [0, 1, 2])
    until = {"version": 1, "partitions": [{"topic": bench.topic, "partition": 0, "offset": 32}]}
    (tmp_path / "until.json").write_text(json.dumps(until))
    tool = "org.apache.kafka.tools.DeleteRecordsCommand"
    bench.broker.tool(tool, "--offset-json-file", str(tmp_path / "until.json"))
    bench.sink().deliver(*batches[1].given)
    # Rows 0 and 1 are written anew, since nobody can tell that they were there.
    assert bench.changes() == rows_of(batches[1])


@secondary
def test_a_topic_that_was_made_anew(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [some_changes(tmp_path, number, 30) for number in range(2)]
    bench.sink().deliver(*batches[0].given)
    with begin(bench, batches[1], monkeypatch, [5])._admin() as admin:
        admin.client.deleteTopics(admin.jvm.java.util.Collections.singleton(bench.topic)).all().get()
    bench.sink().deliver(*batches[1].given)
    assert bench.changes() == rows_of(batches[1])


@secondary
def test_a_stream_delivers_from_its_own_thread(bench: Bench, tmp_path: Path) -> None:
    batch = some_changes(tmp_path, 0, 5)
    sink = bench.sink()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one row")
    stream = bench.spark.readStream.text(str(tmp_path / "in")).writeStream.trigger(availableNow=True)
    stream = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    stream.foreachBatch(lambda *_: sink.deliver(*batch.given)).start().awaitTermination()
    assert bench.changes() == rows_of(batch)


def test_the_last_message_of_a_subscription_is_its_top(bench: Bench, tmp_path: Path) -> None:
    batches = [some_tops(tmp_path, number) for number in range(4)]
    for batch in batches:
        sink = bench.sink("tops")
        sink.deliver(*batch.given)
        sink.deliver(*batches[0].given)
    messages = bench.messages()
    assert len(messages) == sum(len(set(batch.table["subscription"].to_pylist())) for batch in batches)
    last = dict(messages)
    found = [{"subscription": key, **member} for key in sorted(last, key=str.encode) for member in last[key]]
    assert found == tops_after(batches).to_pylist()
    assert [] in last.values()
    described = bench.broker.tool("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", bench.topic)
    assert "cleanup.policy=compact" in described


@secondary
def test_a_broker_that_is_gone_is_told_and_nothing_is_lost(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = some_changes(tmp_path, 0, 5)
    sink = bench.sink(options=IMPATIENT)
    monkeypatch.setattr(kafka_topic, "PATIENCE_MS", 2000)
    monkeypatch.setitem(sink._topic.settings, "bootstrap.servers", NOBODY)
    with pytest.raises(
        SinkFailed, match=rf"^The kafka sink of changes in topic {bench.topic} could not take batch 0 \("
    ):
        sink.deliver(*batch.given)
    with pytest.raises(ValueError, match="cannot be opened: ") as told:
        KafkaSink(bench.spark, NOBODY, bench.topic, "changes", tmp_path / "other").open(changes_schema())
    assert "Exception" not in str(told.value)
    # The broker goes in the middle: after the topic's end was noted.
    monkeypatch.setitem(sink._topic.settings, "bootstrap.servers", bench.broker.servers)
    ends = sink._topic.ends

    def ends_and_gone() -> dict[int, int]:
        found = ends()
        sink._topic.settings["bootstrap.servers"] = NOBODY
        return found

    monkeypatch.setattr(sink._topic, "ends", ends_and_gone)
    with pytest.raises(SinkFailed, match=r"could not take batch 0 \((?!Job aborted).*\); see that the broker can be"):
        sink.deliver(*batch.given)
    assert bench.changes() == []
    bench.sink().deliver(*batch.given)
    assert bench.changes() == rows_of(batch)


def test_what_the_options_keep_secret_is_not_told(bench: Bench) -> None:
    hidden = "org.example.Module required password=swordfish"
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": hidden}
    with pytest.raises(ValueError, match="cannot be opened: ") as told:
        bench.sink(options=options)
    assert "swordfish" not in str(told.value)
    sink = KafkaSink(bench.spark, NOBODY, "t", "changes", bench.folder, {"ssl.key.password": "swordfish"})
    assert "keep secret" in sink._topic.told(RuntimeError("no swordfish\nhere"))
    assert sink._topic.told(RuntimeError("no\nswordfish")) == "no"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("UnknownReason", "a task that writes to it failed"),
        (
            "org.apache.kafka.errors.TimeoutException: Topic t not present after 1500 ms.",
            "Topic t not present after 1500 ms",
        ),
    ],
)
def test_what_spark_says_of_its_tasks_is_left_out(told: str, expected: str, spark: SparkSession) -> None:
    aborted = (
        "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0 in "
    )
    error = RuntimeError(f"{aborted}stage 0.0 (TID 0) (127.0.0.1 executor driver): {told}\n\tat some.place")
    assert KafkaTopic(spark, NOBODY, "t", {}).told(error) == expected


@secondary
def test_a_batch_is_finished_where_it_was_begun(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [some_changes(tmp_path, number, 40) for number in range(2)]
    begin(bench, batches[0], monkeypatch, [0, 1])
    first, bench.topic = bench.topic, f"{bench.topic}-other"
    with pytest.raises(ValueError, match=rf"Batch 0 was begun in topic {first} and is to be finished there"):
        bench.sink()
    bench.topic = first
    bench.sink().deliver(*batches[0].given)
    assert [value for _, value in bench.messages()] == rows_of(batches[0])
    bench.topic = f"{first}-other"
    bench.sink().deliver(*batches[1].given)
    assert bench.changes() == rows_of(batches[1])


@secondary
def test_the_registry_opens_a_sink_with_further_options(bench: Bench, tmp_path: Path) -> None:
    options = {"servers": bench.broker.servers, "topic": bench.topic, "options": {"linger.ms": 1}}
    schema = changes_schema(text=False, timed=True)
    sink = open_sink(Endpoint("kafka", options), "changes", spark=bench.spark, folder=tmp_path / "state", schema=schema)
    batch = some_changes(tmp_path, 0, 3, schema)
    sink.deliver(*batch.given)
    sink.close()
    expected = [row | {"at": f"{row['at']:%Y-%m-%dT%H:%M:%S.%f}Z"} for row in rows_of(batch)]
    assert bench.messages() == [(str(row["subscription"]), row) for row in expected]


def test_a_task_is_not_repeated_by_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pyspark import TaskContext

    class Second:
        def attemptNumber(self) -> int:  # noqa: N802  # Spark's name
            return 1

    batches = some_changes(tmp_path, 0, 3).table.to_batches()
    assert sum(len(batch) for batch in change_messages(iter(batches))) == 3
    monkeypatch.setattr(TaskContext, "get", staticmethod(Second))
    with pytest.raises(RuntimeError, match="was cut off"):
        next(change_messages(iter(batches)))


def test_tops_that_span_batches_are_one_message(tmp_path: Path) -> None:
    schema = tops_schema(text=False)
    ranks = [1, 2, 3, 4, 5, None]
    scores = [0.5, 0.5, 0.5, 0.5, 0.5, None]
    columns = {"subscription": [7, 7, 7, 7, 7, 8], "rank": ranks, "publication": ranks, "score": scores}
    staged = stage(tmp_path, 0, pa.table(columns, schema=schema))
    [messages] = top_messages(iter(staged.table.to_batches(max_chunksize=2)))
    assert messages["key"].to_pylist() == ["7", "8"]
    assert [len(json.loads(value)) for value in messages["value"].to_pylist()] == [5, 0]
