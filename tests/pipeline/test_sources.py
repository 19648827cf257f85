"""Sources: every format as the same raw rows, in the same order however often they are read."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from skyband.log import Log
from skyband.pipeline.config import BadConfiguration, Endpoint
from skyband.pipeline.source.file_rows import RAW
from skyband.pipeline.source.sampling import TYPICAL, bytes_per_row
from skyband.pipeline.source.source import GENERATED_SAMPLE, SOURCES, check_source, jars_of, read_source
from skyband.pipeline.state import spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Raw = tuple[str, str, int, str, str]
GENERATOR = {"family": "window", "seed": 5, "dims": 2, "gap_us": 10}


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """An empty folder."""
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def put(path: Path, content: bytes | pa.Table, at: int) -> None:
    """A file of the folder with this time of modification."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        pa.parquet.write_table(content, path)
    os.utime(path, (1_700_000_000 + at, 1_700_000_000 + at))


def lines(start: int, end: int) -> bytes:
    """NDJSON lines with a number each."""
    return "".join(f'{{"n":{number}}}\n' for number in range(start, end)).encode()


def collected(frame: DataFrame) -> list[Raw]:
    """The raw rows in their order."""
    assert frame.columns == ["noun", "origin", "offset", "form", "value"]
    return sorted(tuple(row) for row in frame.collect())


def read(spark: SparkSession, format: str, **options: Any) -> list[Raw]:
    """All rows of a source, asked for at once."""
    endpoint = Endpoint(format, options)
    return collected(read_source(spark, "publications", endpoint, stream=False, max_rows=None))


def stream(
    spark: SparkSession, checkpoint: Path, format: str, *, max_rows: int | None = None, **options: Any
) -> list[list[Raw]]:
    """The rows of each micro-batch until all that is there has been read."""
    batches: list[list[Raw]] = []
    frame = read_source(spark, "subscriptions", Endpoint(format, options), stream=True, max_rows=max_rows)
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.foreachBatch(lambda batch, number: batches.append(collected(batch))).start()
    query.awaitTermination()
    return batches


def values(rows: list[Raw]) -> list[Any]:
    """What the rows say."""
    return [json.loads(row[4]) for row in rows]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["a.ndjson", "b c%20ü'#?+.ndjson", "packed.ndjson.gz"])
def test_a_file_is_named_and_its_lines_are_numbered(spark: SparkSession, inbox: Path, name: str) -> None:
    content = b'{"a":1}\n\n{"b":"\xff"}\n{"c":3}'
    put(inbox / name, gzip.compress(content) if name.endswith("gz") else content, 0)
    (inbox / "_hidden").write_bytes(b"{}")
    (inbox / ".hidden").write_bytes(b"{}")
    first, second, third = read(spark, "ndjson", path=str(inbox))
    assert first == ("publications", name, 1, "json", '{"a":1}')
    assert second[:4] == ("publications", name, 3, "json")
    with pytest.raises(json.JSONDecodeError):
        json.loads(second[4])
    assert third == ("publications", name, 4, "json", '{"c":3}')


@pytest.mark.spark
def test_each_file_is_read_once_in_order_of_time(spark: SparkSession, inbox: Path, tmp_path: Path) -> None:
    for name, at in (("b", 3), ("a", 1), ("c", 2)):
        put(inbox / name, lines(at * 10, at * 10 + 5), at)
    first = stream(spark, tmp_path / "checkpoint", "ndjson", path=str(inbox), max_files=2)
    assert [[(row[1], row[2]) for row in batch] for batch in first] == [
        [(name, offset) for name in ("a", "c") for offset in range(1, 6)],
        [("b", offset) for offset in range(1, 6)],
    ]
    assert stream(spark, tmp_path / "checkpoint", "ndjson", path=str(inbox)) == []
    # A file that is put there late is read too, however old it is.
    put(inbox / "late", lines(90, 91), -10_000_000)
    assert stream(spark, tmp_path / "checkpoint", "ndjson", path=str(inbox)) == [
        [("subscriptions", "late", 1, "json", '{"n":90}')]
    ]


@pytest.mark.spark
def test_a_batch_takes_about_as_many_rows_as_it_may(spark: SparkSession, inbox: Path, tmp_path: Path) -> None:
    for at in range(6):
        put(inbox / f"{at}", lines(100, 200), at)
    batches = stream(spark, tmp_path / "checkpoint", "ndjson", path=str(inbox), max_rows=250)
    assert [len(batch) for batch in batches] == [200, 200, 200]
    batches = stream(spark, tmp_path / "other", "ndjson", path=str(inbox), max_rows=10)
    assert [len(batch) for batch in batches] == [100] * 6


@pytest.mark.spark
def test_a_file_larger_than_a_split_keeps_its_order(spark: SparkSession, inbox: Path) -> None:
    size = spark.conf.get("spark.sql.files.maxPartitionBytes")
    put(inbox / "large", lines(0, 30_000), 0)
    try:
        spark.conf.set("spark.sql.files.maxPartitionBytes", "10000")
        rows = read(spark, "ndjson", path=str(inbox))
    finally:
        assert size is not None
        spark.conf.set("spark.sql.files.maxPartitionBytes", size)
    assert [row[2] for row in rows] == list(range(1, 30_001))
    assert values(rows) == [{"n": number} for number in range(30_000)]


@pytest.mark.spark
def test_csv_files_have_cells(spark: SparkSession, inbox: Path) -> None:
    put(inbox / "a.csv", b"id,x\n1,\n2,3\n", 0)
    put(inbox / "b.csv", b"x,id\n4,5\n", 0)
    put(inbox / "c.txt", b"not this\n", 0)
    assert [row[1:] for row in read(spark, "csv", path=str(inbox), glob="*.csv")] == [
        ("a.csv", 1, "cells", '{"id":"1"}'),
        ("a.csv", 2, "cells", '{"id":"2","x":"3"}'),
        ("b.csv", 1, "cells", '{"x":"4","id":"5"}'),
    ]


@pytest.mark.spark
def test_parquet_files_may_differ_in_their_columns(spark: SparkSession, inbox: Path, tmp_path: Path) -> None:
    put(inbox / "a", pa.table({"id": [1], "x": pa.array([0.5], pa.float32())}), 0)
    put(inbox / "b", pa.table({"id": pa.array([2], pa.int32()), "x": [0.1], "tags": [["t", None]]}), 1)
    put(inbox / "c", b"this is no Parquet file", 2)
    good = [{"id": 1, "x": 0.5}, {"id": 2, "x": 0.1, "tags": ["t", None]}]
    *found, broken = read(spark, "parquet", path=str(inbox))
    assert values(found) == good
    assert broken[1:3] == ("c", 1)
    assert "cannot be read" in broken[4]
    batches = stream(spark, tmp_path / "checkpoint", "parquet", path=str(inbox), max_files=1)
    assert [len(batch) for batch in batches] == [1, 1, 1]
    assert values(batches[0] + batches[1]) == good


@pytest.mark.spark
def test_a_log_is_read_by_its_numbers(spark: SparkSession, tmp_path: Path) -> None:
    with Log(tmp_path / "log") as log:
        log.append([f'{{"n":{number}}}' for number in range(10)])
    rows = [("log", number, "json", f'{{"n":{number}}}') for number in range(10)]
    path = str(tmp_path / "log")
    assert [row[1:] for row in read(spark, "log", path=path)] == rows
    batches = stream(spark, tmp_path / "checkpoint", "log", path=path, max_rows=6)
    assert [[row[1:] for row in batch] for batch in batches] == [rows[:6], rows[6:]]


@pytest.mark.spark
def test_made_up_rows_are_the_same_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    from skyband.pipeline.source.generated import make_maker, make_rows

    wanted = make_rows(make_maker(GENERATOR), "subscriptions", np.arange(200)).to_pylist()
    options: dict[str, Any] = {"rows_per_batch": 100, "generator": GENERATOR}
    first = stream(spark, tmp_path / "checkpoint", "rate", **options)
    again = stream(spark, tmp_path / "other", "rate", **options)
    then = stream(spark, tmp_path / "checkpoint", "rate", **options)
    assert first == again == [[("subscriptions", "rate", n, "json", wanted[n]) for n in range(100)]]
    assert then == [[("subscriptions", "rate", n, "json", wanted[n]) for n in range(100, 200)]]
    assert len(read(spark, "rate", **options)) == GENERATED_SAMPLE
    assert len(read(spark, "rate", rows=7, **options)) == 7


@pytest.mark.spark
def test_made_up_rows_come_by_the_second(spark: SparkSession) -> None:
    endpoint = Endpoint("rate", {"rows_per_second": 50, "generator": GENERATOR})
    frame = read_source(spark, "publications", endpoint, stream=True, max_rows=None)
    query = frame.writeStream.format("memory").queryName("by_the_second").start()
    try:
        while not (rows := collected(spark.table("by_the_second"))):
            assert not query.awaitTermination(1)
    finally:
        query.stop()
    assert [row[2] for row in rows] == list(range(len(rows)))


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        ("avro", {}, "there is no format 'avro'; there are parquet, ndjson, csv, log, kafka, broker, rate."),
        ("csv", {}, "the format csv needs the option path, the folder that files are put into"),
        ("csv", {"path": "PATH/gone"}, "there is no folder PATH/gone; make it, or correct the path."),
        ("log", {"path": "PATH/gone"}, "there is no folder PATH/gone; make it, or correct the path."),
        ("csv", {"path": "PATH", "paht": 1}, "the format csv has no option 'paht'; its options are path, glob, max_"),
        ("csv", {"path": 3}, "the option path of csv must be text, not 3."),
        ("csv", {"path": "PATH", "max_files": 0}, "the option max_files of csv must be an integer from 1 up, not 0."),
        ("csv", {"path": "PATH", "max_files": True}, "the option max_files of csv must be an integer from"),
        ("kafka", {"servers": "s:1"}, "the format kafka needs the option topic, the name of the topic"),
        ("kafka", {"servers": "s:1", "topic": "t", "starting": "x"}, "starting is earliest or latest, not 'x'."),
        ("kafka", {"servers": "s:1", "topic": "t", "options": "x"}, "the option options of kafka must be a map"),
        ("rate", {"generator": GENERATOR}, "the format rate needs one of rows_per_second and rows_per_batch."),
        ("rate", {"rows_per_second": 1, "generator": {"family": "x"}}, "generator.family is one of geotext, window"),
    ],
)
def test_wrong_endpoints_are_refused_before_anything_runs(
    inbox: Path, format: str, options: dict[str, Any], message: str
) -> None:
    def placed(value: Any) -> Any:
        return value.replace("PATH", str(inbox)) if isinstance(value, str) else value

    endpoint = Endpoint(format, {name: placed(value) for name, value in options.items()})
    with pytest.raises(BadConfiguration, match=re.escape(f"publications: {placed(message)}")):
        check_source("publications", endpoint)
    with pytest.raises(BadConfiguration):
        read_source(None, "publications", endpoint, stream=True, max_rows=None)  # type: ignore[arg-type]  # not reached


def test_every_source_says_what_it_is_and_takes() -> None:
    for name, kind in SOURCES.items():
        assert kind.name == name
        assert kind.description.endswith(".")
        assert all(option.description for option in kind.options.values())


def test_raw_rows_are_those_that_the_next_stage_takes() -> None:
    assert RAW == spec.RAW


def test_only_kafka_needs_jars() -> None:
    assert jars_of([Endpoint("csv", {}), Endpoint("log", {})]) == []
    given = {"spark.jars": "folder/spark-sql-kafka-0-10_2.13-9.9.9.jar"}
    assert jars_of([Endpoint("kafka", {})], given) == []


def test_the_size_of_a_row_is_judged_by_a_few_files(inbox: Path) -> None:
    assert bytes_per_row(inbox, "ndjson") == TYPICAL
    (inbox / "empty").write_bytes(b"")
    assert bytes_per_row(inbox, "ndjson") == TYPICAL
    (inbox / "a.txt").write_bytes(b"123456789\n" * 100_000)
    assert bytes_per_row(inbox, "ndjson") == pytest.approx(10, rel=0.01)
    packed = gzip.compress(b"123456789\n" * 100_000)
    (inbox / "b.gz").write_bytes(packed)
    assert bytes_per_row(inbox, "csv", "*.gz") == pytest.approx(len(packed) / 100_000, rel=0.01)
    pa.parquet.write_table(pa.table({"a": list(range(1000))}), inbox / "c.parquet")
    size = (inbox / "c.parquet").stat().st_size
    assert bytes_per_row(inbox, "parquet", "*.parquet") == size / 1000
    assert bytes_per_row(inbox, "parquet", "a.*") == TYPICAL
