"""Typed rows are judged as the JSON objects that they would be otherwise, and arrive as they are."""

import datetime
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.source.file_rows import PACKED, read_files
from skyband.pipeline.source.typed_rows import from_parcel, plain, to_parcel
from skyband.pipeline.stage.prepare import prepare_packed, prepare_rows
from skyband.pipeline.state.spec import RAW, Shape
from skyband.table.json_object import json_objects
from tests.pipeline.streams import shape_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NUMBERS = st.sampled_from([0.0, -0.0, 1.0, 0.5, -2.0, 1e20, 2.0**60, 1e200, math.nan, math.inf, -math.inf])
INTEGERS = st.sampled_from([0, 1, 2, 3, -1, 7, 127])
TEXTS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "sum",
        "cosine",
        "euclidean",
        "7",
        "2024-01-01",
        "2024-01-01T00:00:00Z",
        "\0",
        'q"\\u',
        "\\ud800",
        "é\n",
    ]
)
TIMES = st.datetimes(datetime.datetime(1001, 1, 1), datetime.datetime(9998, 1, 1))
KINDS: list[tuple[pa.DataType, Any]] = [
    (pa.int64(), st.one_of(INTEGERS, st.integers(-(2**63), 2**63 - 1))),
    (pa.int64(), INTEGERS),
    (pa.int8(), INTEGERS),
    (pa.uint32(), st.integers(0, 2**32 - 1)),
    (pa.float64(), NUMBERS),
    (pa.float32(), NUMBERS.filter(lambda number: abs(number) < 1e30 or math.isinf(number))),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.null(), st.none()),
]
LISTS = [
    *((pa.list_(kind), st.lists(st.one_of(values, st.none()), max_size=3)) for kind, values in KINDS[:-1]),
    (pa.list_(pa.float64()), st.lists(st.sampled_from([0.0, 1.0, 0.6, 0.8]), min_size=2, max_size=2)),
    (pa.list_(pa.float64()), st.lists(st.sampled_from([0.0, 1.0, 0.6, 0.8]), min_size=2, max_size=2)),
    (pa.large_list(pa.float64()), st.lists(NUMBERS, max_size=3)),
    (pa.list_(pa.float64(), 2), st.lists(NUMBERS, min_size=2, max_size=2)),
    (pa.list_(pa.string()), st.lists(TEXTS, max_size=3)),
]
STAMPS = [(pa.timestamp(unit, zone), TIMES) for unit in ("s", "ms", "us") for zone in (None, "UTC", "Asia/Tokyo")]
OTHERS = [
    (pa.decimal128(5, 2), st.decimals(0, 9, places=2)),
    (pa.date32(), st.dates()),
    (pa.timestamp("ns"), st.none()),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.list_(pa.null()), st.lists(st.none())),
    (pa.struct([("a", pa.int64())]), st.fixed_dictionaries({"a": INTEGERS})),
    (pa.list_(pa.list_(pa.int64())), st.lists(st.lists(INTEGERS, max_size=1), max_size=1)),
]
FITTING: dict[str, list[tuple[pa.DataType, Any]]] = {
    "id": [(pa.int64(), INTEGERS), (pa.string(), TEXTS)],
    "ts": [(pa.int64(), INTEGERS), (pa.string(), TEXTS), *STAMPS],
    "op": [
        (pa.string(), st.sampled_from(["subscribe", "unsubscribe", "resize", "advance", "publish", "retract", "fly"]))
    ],
}


@st.composite
def batches(draw: st.DrawFn) -> tuple[Shape, str, pa.RecordBatch]:
    family, noun = draw(st.sampled_from(["window", "geotext", "ranges", "ranked"])), draw(st.sampled_from(NOUNS))
    shape = shape_of(family, 1)
    schema = getattr(shape, noun)()
    names = [*schema.names, "extra", *(["op"] if noun == "subscriptions" else [])]
    n, columns = draw(st.integers(1, 5)), {}
    for name in names:
        # Most columns are what the family wants.
        kinds = [*KINDS, *LISTS]
        if name in FITTING and draw(st.integers(0, 5)):
            kinds = FITTING[name]
        elif name in schema.names and draw(st.integers(0, 2)):
            kinds = [each for each in kinds if each[0] == schema.field(name).type] or kinds
        kind, values = draw(st.sampled_from(kinds))
        if draw(st.integers(0, 9)):
            cells = st.one_of(values, values, values, st.none())
            columns[name] = pa.array(draw(st.lists(cells, min_size=n, max_size=n)), kind)
    return shape, noun, pa.RecordBatch.from_pydict(columns or {"id": pa.nulls(n)})


NOUNS = ("publications", "subscriptions")


def as_text(noun: str, batch: pa.RecordBatch, first: int) -> pa.Table:
    """Raw rows with a JSON object each."""
    n = batch.num_rows
    names = [pa.repeat(pa.scalar(text), n) for text in (noun, "o")]
    columns = [*names, pa.array(np.arange(first, first + n)), pa.repeat(pa.scalar("json"), n), json_objects(batch)]
    return pa.Table.from_arrays(columns, schema=RAW)


def as_parcel(noun: str, batch: pa.RecordBatch, first: int) -> pa.Table:
    """One raw row for all."""
    row = {"noun": noun, "origin": "o", "offset": first, "form": "arrow", "value": None, "parcel": to_parcel(batch)}
    return pa.Table.from_pylist([row], schema=PACKED)


@given(batches())
def test_typed_rows_are_judged_as_their_json(case: tuple[Shape, str, pa.RecordBatch]) -> None:
    shape, noun, batch = case
    wanted = prepare_rows(as_text(noun, batch, 11), shape)
    sent = plain(batch)
    if sent is None:
        return
    (found,) = prepare_packed(as_parcel(noun, sent, 11), shape)
    # NaN equals nothing, and is written alike.
    assert str(found.to_pylist()) == str(wanted.to_pylist())


@pytest.mark.parametrize("kind", [kind for kind, _ in [*KINDS, *LISTS]], ids=str)
def test_numbers_text_and_lists_travel_typed(kind: pa.DataType) -> None:
    assert plain(pa.RecordBatch.from_pydict({"extra": pa.nulls(1, kind)})) is not None


@pytest.mark.parametrize("kind", [kind for kind, _ in [*OTHERS, *STAMPS]], ids=str)
def test_other_types_travel_as_text(kind: pa.DataType) -> None:
    assert plain(pa.RecordBatch.from_pydict({"extra": pa.nulls(1, kind)})) is None


@pytest.mark.parametrize(
    "batch",
    [
        pa.RecordBatch.from_pydict({"ts": pa.array([2**60], pa.timestamp("us"))}),
        pa.RecordBatch.from_pydict({"ts": pa.array([2**62], pa.timestamp("s"))}),
        pa.RecordBatch.from_pydict({"ts": pa.array([1], pa.timestamp("ns"))}),
        pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"]),
        pa.RecordBatch.from_arrays([pa.array([b"\xff"]).cast(pa.binary()).view(pa.string())], names=["id"]),
        pa.RecordBatch.from_arrays([], names=[]),
    ],
    ids=["far", "farther", "finer", "twice", "not UTF-8", "nothing"],
)
def test_what_text_says_otherwise_travels_as_text(batch: pa.RecordBatch) -> None:
    assert plain(batch) is None


def test_a_file_is_packed_in_parts_that_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.pipeline.source.file_rows.ROWS_AT_ONCE", 3)
    rows = [{"id": i, "ts": i, "point": [0.5, float(i)]} for i in range(7)] + [{"id": 7, "ts": None, "point": [1.0]}]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "f.parquet")
    listed = pa.RecordBatch.from_pydict({"path": [f"file:{tmp_path}/f.parquet"]})
    found = list(read_files([listed], "publications", str(tmp_path), "parquet", packed=True))
    assert [batch.schema for batch in found] == [PACKED] * 3
    table = pa.Table.from_batches(found)
    assert table["offset"].to_pylist() == [1, 4, 7]
    assert set(table["form"].to_pylist()) == {"arrow"}
    assert table["value"].null_count == 3
    assert [row for parcel in table["parcel"] for row in from_parcel(parcel).to_pylist()] == rows
    shape = shape_of("window", 1)
    prepared = pa.concat_tables(prepare_packed(table, shape))
    text = pa.Table.from_batches(read_files([listed], "publications", str(tmp_path), "parquet"))
    assert prepared.equals(prepare_rows(text, shape))
    assert prepared["offset"].to_pylist() == list(range(1, 9))
    assert prepared["row"].to_pylist()[7] == '{"id":7,"point":[1.0]}'


def test_a_damaged_file_ends_with_a_row_that_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(b"PAR1 nothing PAR1")
    listed = pa.RecordBatch.from_pydict({"path": [str(tmp_path / "f.parquet")]})
    (found,) = read_files([listed], "publications", str(tmp_path), "parquet", packed=True)
    (wanted,) = read_files([listed], "publications", str(tmp_path), "parquet")
    assert found.drop_columns(["parcel"]).equals(wanted)
    shape = shape_of("window", 1)
    assert next(prepare_packed(pa.Table.from_batches([found]), shape)).equals(
        prepare_rows(pa.Table.from_batches([wanted]), shape)
    )


@pytest.mark.spark
def test_spark_carries_typed_rows_beside_text(spark: "SparkSession", tmp_path: Path) -> None:
    from skyband.pipeline.config import Endpoint
    from skyband.pipeline.source.source import read_source
    from skyband.pipeline.stage.frames import prepare
    from skyband.pipeline.state.folder import State

    shape, folder = shape_of("window", 1), str(tmp_path / "state")
    State(folder).begin(shape)
    rows = [{"id": f"p{i}", "ts": i, "point": [0.5, float(i)] if i % 50 else [1.0]} for i in range(25_000)]
    (tmp_path / "said").mkdir()
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "said" / "a.parquet")
    pa.parquet.write_table(pa.table({"id": ["d"], "ts": [datetime.date(2024, 1, 1)]}), tmp_path / "said" / "b.parquet")
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked" / "a.ndjson").write_text('{"id":"s","k":1,"score":"sum","weights":[1.0,2.0]}\nnothing\n')

    def read(stream: bool, packed: bool) -> "DataFrame":
        asked, said = (
            read_source(
                spark,
                noun,
                Endpoint(format, {"path": str(tmp_path / path)}),
                stream=stream,
                max_rows=None,
                packed=packed,
            )
            for noun, format, path in (("subscriptions", "ndjson", "asked"), ("publications", "parquet", "said"))
        )
        return prepare(asked.unionByName(said, allowMissingColumns=True), shape, folder)

    order = [(name, "ascending") for name in ("noun", "origin", "offset")]
    wanted = read(stream=False, packed=False).toArrow().sort_by(order)
    assert len(wanted) == 25_003
    assert wanted["reason"].null_count == 25_003 - 502
    assert read(stream=False, packed=True).toArrow().sort_by(order).equals(wanted)

    def go_on(packed: bool) -> pa.Table:
        found: list[pa.Table] = [wanted.slice(0, 0)]
        writer = read(stream=True, packed=packed).writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer = writer.foreachBatch(lambda batch, number: found.append(batch.toArrow())).trigger(availableNow=True)
        writer.start().awaitTermination()
        return pa.concat_tables(found).sort_by(order)

    # A stream that was begun with text goes on with typed rows, and reads no file twice.
    assert go_on(packed=False).equals(wanted)
    pa.parquet.write_table(pa.Table.from_pylist(rows[:3]), tmp_path / "said" / "c.parquet")
    more = go_on(packed=True)
    assert list(zip(more["origin"].to_pylist(), more["offset"].to_pylist(), strict=True)) == [
        ("c.parquet", 1),
        ("c.parquet", 2),
        ("c.parquet", 3),
    ]
    assert [reason is None for reason in more["reason"].to_pylist()] == [False, True, True]
