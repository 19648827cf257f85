"""Topics of a real Kafka broker as a source: every message once, with its partition and offset."""

from __future__ import annotations

import json
import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from skyband.pipeline.config import BadConfiguration, Endpoint
from skyband.pipeline.kafka import add_kafka
from skyband.pipeline.source.source import read_source
from tests.pipeline.kafka_server import Broker, require_kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark", reason="Spark is not installed.")

Raw = tuple[str, str, int, str, str]


def produce(spark: SparkSession, broker: Broker, topic: str, messages: list[tuple[int, bytes | None]]) -> None:
    """Send messages, each to a partition, in order."""
    add_kafka(spark)
    rows = spark.createDataFrame(messages, "partition int, value binary").coalesce(1)
    rows.write.format("kafka").option("kafka.bootstrap.servers", broker.servers).option("topic", topic).save()


def numbered(start: int, end: int, n_partitions: int) -> list[tuple[int, bytes | None]]:
    """Messages that say their number, dealt out to partitions."""
    return [(number % n_partitions, json.dumps({"n": number}).encode()) for number in range(start, end)]


def collected(frame: DataFrame) -> list[Raw]:
    """The raw rows in their order."""
    assert frame.columns == ["noun", "origin", "offset", "form", "value"]
    return sorted(tuple(row) for row in frame.collect())


def stream(spark: SparkSession, broker: Broker, checkpoint: Path, max_rows: int | None, **more: Any) -> list[list[Raw]]:
    """The rows of each micro-batch until all that is there has been read."""
    batches: list[list[Raw]] = []
    endpoint = Endpoint("kafka", {"servers": broker.servers, **more})
    frame = read_source(spark, "publications", endpoint, stream=True, max_rows=max_rows)
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.foreachBatch(lambda batch, number: batches.append(collected(batch))).start().awaitTermination()
    return batches


def wanted(topic: str, start: int, end: int, n_partitions: int) -> list[Raw]:
    """What `numbered` messages are read as."""
    rows = []
    for number in range(start, end):
        partition, offset = number % n_partitions, number // n_partitions
        rows.append(("publications", f"{topic}/{partition}", offset, "json", json.dumps({"n": number})))
    return sorted(rows)


def test_every_message_is_read_once_also_after_a_restart(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create(spark, "several", 3)
    produce(spark, broker, "several", numbered(0, 60, 3))
    first = stream(spark, broker, tmp_path, 30, topic="several")
    assert len(first) >= 2
    assert all(0 < len(batch) <= 30 for batch in first)
    assert sorted(chain.from_iterable(first)) == wanted("several", 0, 60, 3)
    # Each batch goes on in each partition where the one before ended.
    for partition in range(3):
        offsets = [row[2] for batch in first for row in batch if row[1] == f"several/{partition}"]
        assert offsets == list(range(20))
    assert stream(spark, broker, tmp_path, 30, topic="several") == []
    produce(spark, broker, "several", numbered(60, 90, 3))
    then = stream(spark, broker, tmp_path, None, topic="several")
    assert then == [[row for row in wanted("several", 0, 90, 3) if row[2] >= 20]]


def test_a_batch_that_failed_is_read_again_with_the_same_rows(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    broker.create(spark, "failing", 2)
    produce(spark, broker, "failing", numbered(0, 20, 2))
    seen: list[list[Raw]] = []

    def fail(batch: DataFrame, number: int) -> None:
        seen.append(collected(batch))
        raise RuntimeError("on purpose")

    endpoint = Endpoint("kafka", {"servers": broker.servers, "topic": "failing"})
    frame = read_source(spark, "publications", endpoint, stream=True, max_rows=8)
    query = frame.writeStream.option("checkpointLocation", str(tmp_path)).foreachBatch(fail).start()
    with pytest.raises(Exception, match="on purpose"):
        query.awaitTermination()
    produce(spark, broker, "failing", numbered(20, 40, 2))
    again = stream(spark, broker, tmp_path, 8, topic="failing")
    assert again[0] == seen[0]
    assert sorted(chain.from_iterable(again)) == wanted("failing", 0, 40, 2)


def test_a_batch_query_reads_all_there_is(spark: SparkSession, broker: Broker) -> None:
    broker.create(spark, "whole", 2)
    produce(spark, broker, "whole", numbered(0, 10, 2))
    endpoint = Endpoint("kafka", {"servers": broker.servers, "topic": "whole", "options": {"client.id": "test"}})
    found = collected(read_source(spark, "publications", endpoint, stream=False, max_rows=None))
    assert found == wanted("whole", 0, 10, 2)
    latest = endpoint._replace(options=endpoint.options | {"starting": "latest"})
    with pytest.raises(BadConfiguration, match="cannot start with the latest message"):
        read_source(spark, "publications", latest, stream=False, max_rows=None)


def test_a_stream_may_start_with_what_comes_next(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    broker.create(spark, "next", 1)
    produce(spark, broker, "next", numbered(0, 5, 1))
    assert not any(stream(spark, broker, tmp_path, None, topic="next", starting="latest"))
    produce(spark, broker, "next", numbered(5, 8, 1))
    found = stream(spark, broker, tmp_path, None, topic="next", starting="latest")
    assert found == [wanted("next", 0, 8, 1)[5:]]


def test_messages_that_are_no_text_are_rows_to_reject(spark: SparkSession, broker: Broker) -> None:
    broker.create(spark, "bad", 1)
    produce(spark, broker, "bad", [(0, b'{"a": "\xff"}'), (0, None), (0, '{"ü": 1}'.encode())])
    endpoint = Endpoint("kafka", {"servers": broker.servers, "topic": "bad"})
    not_text, nothing, good = collected(read_source(spark, "subscriptions", endpoint, stream=False, max_rows=None))
    assert not_text[:4] == ("subscriptions", "bad/0", 0, "json")
    with pytest.raises(json.JSONDecodeError):
        json.loads(not_text[4])
    assert (nothing[2], nothing[4]) == (1, "null")
    assert (good[2], good[4]) == (2, '{"ü": 1}')


def test_where_there_is_no_maven_the_tests_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SKYBAND_REQUIRE_KAFKA", raising=False)
    with pytest.raises(pytest.skip.Exception, match="mvn and java not installed"):
        require_kafka()
    monkeypatch.setitem(os.environ, "SKYBAND_REQUIRE_KAFKA", "1")
    with pytest.raises(pytest.fail.Exception, match="mvn and java not installed"):
        require_kafka()
