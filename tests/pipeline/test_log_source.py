"""The embedded log as a source of Spark."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from skyband.log import Log, LogTruncated, UnreadableLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark", reason="Spark is not installed.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of 1000 records in several segments."""
    with Log(tmp_path / "log", segment_blocks=4) as log:
        for start in range(0, 1000, 50):
            log.append([f"text {number}" for number in range(start, start + 50)])
    return tmp_path / "log"


@pytest.fixture
def registered(spark: SparkSession) -> SparkSession:
    """The session, which knows the format."""
    from skyband.pipeline.source.log_source import LogDataSource

    spark.dataSource.register(LogDataSource)
    return spark


def stream(spark: SparkSession, folder: Path, checkpoint: Path, **options: Any) -> list[list[int]]:
    """The records of each micro-batch until all that is there has been read."""
    batches: list[list[int]] = []

    def take(batch: DataFrame, number: int) -> None:
        rows = batch.collect()
        assert all(row.value == f"text {row.offset}" for row in rows)
        batches.append(sorted(row.offset for row in rows))

    reader = spark.readStream.format("skyband_log").options(path=str(folder), **options)
    writer = reader.load().writeStream.option("checkpointLocation", str(checkpoint))
    query = writer.foreachBatch(take).trigger(availableNow=True).start()
    query.awaitTermination()
    return batches


def test_a_batch_query_reads_what_is_there(registered: SparkSession, folder: Path) -> None:
    read = registered.read.format("skyband_log").option("path", str(folder)).load()
    assert read.schema.simpleString() == "struct<offset:bigint,value:string>"
    assert sorted(map(tuple, read.collect())) == [(number, f"text {number}") for number in range(1000)]


def test_a_stream_takes_a_bounded_part_each_time_and_goes_on_after_a_restart(
    registered: SparkSession, folder: Path, tmp_path: Path
) -> None:
    first = stream(registered, folder, tmp_path / "checkpoint", maxRows=300)
    assert first == [[*range(300)], [*range(300, 600)], [*range(600, 900)], [*range(900, 1000)]]
    assert stream(registered, folder, tmp_path / "checkpoint") == []
    with Log(folder) as log:
        log.append([f"text {number}" for number in range(1000, 1500)])
    assert stream(registered, folder, tmp_path / "checkpoint") == [[*range(1000, 1500)]]


def test_a_new_stream_of_a_truncated_log_begins_with_what_is_kept(
    registered: SparkSession, folder: Path, tmp_path: Path
) -> None:
    with Log(folder) as log:
        log.truncate_before(500)
    assert stream(registered, folder, tmp_path / "checkpoint") == [[*range(400, 1000)]]


def test_a_stream_whose_next_records_were_removed_fails(registered: SparkSession, folder: Path, tmp_path: Path) -> None:
    stream(registered, folder, tmp_path / "checkpoint", maxRows=1000)
    with Log(folder, segment_blocks=1) as log:
        for number in range(1000, 1003):
            log.append([f"text {number}"])
        log.truncate_before(1002)
    with pytest.raises(Exception, match="begins at record 1002: record 1000 was removed"):
        stream(registered, folder, tmp_path / "checkpoint")


def test_tasks_cover_every_record_once() -> None:
    from skyband.pipeline.source.log_source import MOST_TASKS, ROWS_PER_TASK, ranges

    assert ranges(7, 7) == []
    for n_rows in (1, ROWS_PER_TASK, ROWS_PER_TASK + 1, 3 * ROWS_PER_TASK, 10**9 + 7):
        parts = ranges(5, 5 + n_rows)
        assert parts[0].start == 5
        assert parts[-1].end == 5 + n_rows
        assert all(before.end == after.start for before, after in itertools.pairwise(parts))
        assert len(parts) == min(-(-n_rows // ROWS_PER_TASK), MOST_TASKS)


def test_a_log_that_lost_records_is_an_error(folder: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

    from skyband.pipeline.source.log_source import LogStreamReader, _Options

    reader = LogStreamReader(_Options(str(folder), None))
    assert reader.latestOffset({"record": 990}, ReadMaxRows(5)) == {"record": 995}
    with pytest.raises(UnreadableLog, match="has 1000 records, but 1001 were read from it before"):
        reader.latestOffset({"record": 1001}, ReadAllAvailable())
    with Log(folder) as log:
        log.truncate_before(1000)
    with pytest.raises(LogTruncated, match="record 0 was removed"):
        reader.partitions({"record": 0}, {"record": 1000})


@pytest.mark.parametrize(
    ("options", "message"),
    [({}, "needs the option path"), ({"path": "x", "maxRows": "0"}, "is a number from 1 up, not '0'")],
)
def test_options_are_checked(registered: SparkSession, options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        registered.read.format("skyband_log").options(**options).load().count()
    with pytest.raises(Exception, match=message):
        registered.readStream.format("skyband_log").options(**options).load().writeStream.format(
            "noop"
        ).start().awaitTermination()
