"""Readers: the same data from every kind of source, and one clear sentence for what cannot be read."""

import datetime
import decimal
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pytest

from skyband.contract.reading import read_publications, read_subscriptions
from skyband.table import MissingColumn, Rejected, UnreadableFile, read_table, to_table, write_table

POINTS: dict[str, list[Any]] = {
    "id": ["a", "Ünïcode ☃", "2024-01-01"],
    "ts": [0, 1, 2**62],
    "point": [[0.1, 1e-300], [1e150, -0.0], [3.0, 4.0]],
}
BOXES: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "k": [1, 2, 3],
    "lo": [[-np.inf, 0.0], [0.5, 0.5], [0.0, 0.0]],
    "hi": [[0.0, np.inf], [0.5, 0.5], [1.0, 2.0]],
}
MESSAGES: dict[str, list[Any]] = {
    "id": [5, 6],
    "ts": [1, 2],
    "x": [0.0, 1.0],
    "y": [0.25, 0.75],
    "terms": [["ä, b", 'c"d'], []],
    "weights": [[0.6, 0.8], []],
}
SUFFIXES = ["parquet", "pq", "ndjson", "jsonl", "csv"]


def assert_equal(left: Any, right: Any) -> None:
    """Two parsed NamedTuples hold the same arrays, NaN equal to NaN."""
    assert type(left) is type(right)
    for one, other in zip(left, right, strict=True):
        if isinstance(one, tuple):
            assert_equal(one, other)
        elif isinstance(one, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        else:
            assert one.type == other.type
            assert one.equals(other)


def sources(columns: dict[str, list[Any]], folder: Path) -> list[Any]:
    table = pa.table(columns)
    paths = [folder / f"table.{suffix}" for suffix in SUFFIXES]
    for path in paths:
        write_table(table, path)
    zipped = [folder / "zipped.csv.gz", folder / "zipped.ndjson.gz"]
    for path in zipped:
        path.write_bytes(gzip.compress((folder / f"table{path.suffixes[0]}").read_bytes()))
    lines = ",".join((folder / "table.ndjson").read_text(encoding="utf-8").splitlines())
    (folder / "array.json").write_text(f"[{lines}]", encoding="utf-8")
    memory = [table, columns, table.to_pylist(), pd.DataFrame(columns), table.to_pandas()]
    return [*memory, table.to_batches()[0], *paths, *map(str, zipped), folder / "array.json"]


@pytest.mark.parametrize("family", ["window", "geotext"])
def test_publications_from_every_source_are_equal(family: str, tmp_path: Path) -> None:
    columns = POINTS if family == "window" else MESSAGES
    first, *others = [read_publications(family, source) for source in sources(columns, tmp_path)]
    for other in others:
        assert_equal(other.parsed.rows, first.parsed.rows)


def test_subscriptions_from_every_source_are_equal(tmp_path: Path) -> None:
    first, *others = [read_subscriptions("ranges", source) for source in sources(BOXES, tmp_path)]
    for other in others:
        assert_equal(other.parsed.rows, first.parsed.rows)
        assert_equal(read_subscriptions("ranges", other.table).parsed.rows, first.parsed.rows)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pa.array([1, 2], pa.timestamp("s")), [1_000_000, 2_000_000]),
        (pa.array([1, 2], pa.timestamp("ms", "Asia/Tokyo")), [1_000, 2_000]),
        (pa.array([1000, -2000], pa.timestamp("ns")), [1, -2]),
        (pa.array([datetime.date(1970, 1, 2)] * 2), [86_400_000_000] * 2),
        (["1970-01-01T00:00:01Z", "1970-01-01T01:00:00+01:00"], [1_000_000, 0]),
        (["1970-01-01", "1970-01-01 00:00:00.5"], [0, 500_000]),
        (["1970-01-01T00:00:01Z", 7], [1_000_000, 7]),
        ([np.datetime64("1970-01-01T00:00:01", "us"), 7], [1_000_000, 7]),
        ([np.datetime64("1970-01-02"), np.datetime64("1970-01-01T00:00:01", "ns")], [86_400_000_000, 1_000_000]),
        ([datetime.datetime(1970, 1, 2), np.datetime64("1970-01-02T00:00:00")], [86_400_000_000] * 2),
        (pa.array([1, 2], pa.uint8()), [1, 2]),
        (pd.Series([1.0, 2.0]), [1, 2]),
        (pd.to_datetime(["1970-01-01T00:00:01Z", "1970-01-01"], utc=True, format="ISO8601"), [1_000_000, 0]),
    ],
)
def test_times_become_microseconds(given: Any, expected: list[int]) -> None:
    table = {"id": [1, 2], "ts": given, "point": [[0.0], [1.0]]}
    source = pd.DataFrame(table) if isinstance(given, pd.Series | pd.Index) else table
    assert read_publications("window", source).parsed.rows.ts.tolist() == expected


@pytest.mark.parametrize(
    ("column", "given", "reason"),
    [
        (
            "ts",
            pa.array([0, 1], pa.timestamp("ns")),
            "ts has a fraction of a microsecond, which would be lost",
        ),
        ("ts", pa.array([0, 2**62], pa.timestamp("s")), "ts is beyond the range of 64-bit microseconds"),
        ("ts", pa.array([0, 2**63], pa.uint64()), "ts is beyond the range of 64-bit integers"),
        ("id", pa.array([0, 2**63], pa.uint64()), "id is beyond the range of 64-bit integers"),
        ("ts", pa.array([None, decimal.Decimal("1")]), "ts must be an integer"),
        (
            "point",
            pa.array([[1.0], [2.0]]).cast(pa.list_(pa.decimal128(5, 2))),
            "point must be a list of numbers",
        ),
        ("point", pa.array([[1], [2**53 + 1]]), "point is an integer too large for a double to hold exactly"),
    ],
)
def test_nothing_is_rounded_or_cut_in_silence(column: str, given: pa.Array, reason: str) -> None:
    table = {"id": [0, 1], "ts": [0, 1], "point": [[0.0], [1.0]]} | {column: given}
    rejects = read_publications("window", pa.table(table), on_error="collect").rejects
    assert (rejects[-1].row, rejects[-1].column, rejects[-1].reason) == (2, column, reason)


@pytest.mark.parametrize(
    "encoded",
    [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"], pa.string_view()),
        pa.chunked_array([["a"], ["b"]]),
        pa.compute.run_end_encode(pa.array(["a", "b"])),
    ],
)
def test_encodings_of_ids_are_undone(encoded: Any) -> None:
    ids = read_publications("window", pa.table({"id": encoded, "ts": [1, 2], "point": [[0.0], [1.0]]})).parsed.rows.ids
    assert ids.equals(pa.array(["a", "b"]))


@pytest.mark.parametrize(
    "points",
    [
        np.array([[0.0, 1.0], [2.0, 3.0]]),
        pa.array([[0, 1], [2, 3]], pa.list_(pa.float32(), 2)),
        pa.array([None, [0, 1], [2, 3]], pa.large_list(pa.int32()))[1:],
        [np.array([0.0, 1.0]), [2, 3]],
        [(0, 1), (2.0, 3)],
    ],
)
def test_points_of_many_shapes(points: Any) -> None:
    rows = read_publications("window", {"id": [1, 2], "ts": [1, 2], "point": points}).parsed.rows
    assert rows.points.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_pandas_missing_values_are_null() -> None:
    frame = pd.DataFrame({"id": ["a", "b", pd.NA], "k": [1.0, np.nan, 2.0], "lo": [0.0] * 3, "hi": [1.0] * 3})
    rejects = read_subscriptions("ranges", frame, on_error="collect").rejects
    assert [(r.row, r.reason) for r in rejects] == [(2, "k must not be null"), (3, "id must not be null")]


def test_nan_inside_a_pandas_list_is_not_null() -> None:
    frame = pd.DataFrame({"id": [1], "lo": [np.array([np.nan])], "hi": [np.array([1.0])]})
    rejects = read_subscriptions("ranked", frame, on_error="collect").rejects
    assert [r.reason for r in rejects] == ["lo must not hold NaN"]


def test_integer_ids_turned_to_floats_by_pandas_are_refused() -> None:
    frame = pd.DataFrame({"id": [1, None], "lo": [0.0] * 2, "hi": [1.0] * 2})
    rejects = read_subscriptions("covering", frame, on_error="collect").rejects
    assert rejects[0].reason == "id must be an integer or text; a floating-point number may have lost digits"


def test_objects_that_json_cannot_name_are_refused_not_guessed() -> None:
    table = {"id": [1, 2, 3], "k": [1, decimal.Decimal(2), {1}], "lo": [0.0] * 3, "hi": [1.0] * 3}
    rejects = read_subscriptions("ranges", table, on_error="collect").rejects
    assert [str(r) for r in rejects] == [
        "row 2, column k, value Decimal('2'): k must be an integer",
        "row 3, column k, value {1}: k must be an integer",
    ]


@pytest.mark.parametrize(
    "given",
    [
        datetime.timedelta(days=1),
        datetime.datetime(2024, 5, 6, 7, 8),
        decimal.Decimal("1.5"),
        [decimal.Decimal("1.5"), 2.0],
        [{"of": decimal.Decimal(1)}],
        {"microseconds": "many"},
        {"of": 1, "and": 2},
    ],
)
def test_rejects_show_what_was_given(given: object) -> None:
    rows = [{"id": i, "k": k, "lo": 0.0, "hi": 1.0} for i, k in enumerate([3, given])]
    (reject,) = read_subscriptions("ranges", rows, on_error="collect").rejects
    assert reject.value == repr(given)


def test_ndjson_rejects_broken_lines_by_line_number(tmp_path: Path) -> None:
    path = tmp_path / "p.ndjson"
    good = '{"id": %d, "ts": 1, "point": [1]}'
    lines = [good % 1, "", '{"id": 2, "ts"', "[3]", good % 4, '{"id": 5, "id": 5}', good % 6, good % 1, "  "]
    path.write_text("\n".join(lines))
    rows = read_publications("window", path, on_error="collect")
    assert [(r.row, r.column) for r in rows.rejects] == [(3, ""), (4, ""), (6, ""), (8, "id")]
    assert rows.rejects[1].reason == "the line is not a JSON object (it holds another kind of value)"
    assert rows.rejects[2].reason == "the line is not a JSON object (it names a column twice)"
    assert rows.parsed.rows.ids.to_pylist() == [1, 4, 6]
    with pytest.raises(Rejected, match=r"p\.ndjson: row 3, value .* \(and 3 more rows\)\.$"):
        read_publications("window", path)
    with pytest.raises(Rejected, match=r"\(and 2 more rows\)\.$"):
        to_table(path)


@pytest.mark.parametrize("first", [[None, 0.5], [None], [None, None, 1.5], []])
def test_ndjson_lists_may_begin_with_null(first: list[float | None], tmp_path: Path) -> None:
    path = tmp_path / "s.ndjson"
    rows = [{"id": 1, "lo": first}, {"id": 2, "lo": [1.0, None]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert read_table(path).table.to_pylist() == rows


def test_ndjson_keeps_digits_and_texts_as_written(tmp_path: Path) -> None:
    path = tmp_path / "p.ndjson"
    path.write_text(
        '{"id": "2024-01-01", "ts": 9007199254740993, "point": [NaN]}\n'
        '{"id": "2024-01-02", "ts": 9223372036854775808, "point": [1]}\n'
        '{"id": "2024-01-03", "ts": 9007199254740993, "point": [1]}\n'
        '{"id": 4.5, "ts": 1, "point": [Infinity]}\n'
    )
    rows = read_publications("window", path, on_error="collect")
    assert [(r.row, r.column) for r in rows.rejects] == [(1, "point"), (2, "ts"), (4, "id")]
    assert rows.parsed.rows.ids.to_pylist() == ["2024-01-03"]
    assert rows.parsed.rows.ts.tolist() == [9007199254740993]
    assert rows.table.schema.field("ts").type == pa.int64()


def test_csv_rows_of_the_wrong_width_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text('id,k,lo,hi\n1,1,0,1\n2,1,0\n3,0,0,1\n4,1,"[0]",1.5\n5,x,0,1\n6,1,0,1,9\n7,1,-inf,Infinity\n')
    rows = read_subscriptions("ranges", path, on_error="collect")
    assert [str(r) for r in rows.rejects] == [
        "row 2, value '2,1,0': the row has 3 cells where the header has 4",
        "row 3, column k, value 0: k must be at least 1",
        "row 5, column k, value 'x': k must be an integer",
        "row 6, value '6,1,0,1,9': the row has 5 cells where the header has 4",
    ]
    assert rows.parsed.rows.ids.equals(pa.array([1, 4, 7]))
    assert rows.parsed.rows.hi.tolist() == [[1.0], [1.5], [np.inf]]
    assert rows.table.schema.field("k").type == pa.int64()


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ("1 2", [1, 2]),
        ("1 x", ["1", "x"]),
        ("01 2", ["01", "2"]),
        ("0x10 2", ["0x10", "2"]),
        ("-1 9223372036854775807", [-1, 2**63 - 1]),
    ],
)
def test_csv_ids_are_integers_only_if_all_are(ids: str, expected: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,lo,hi\n" + "".join(f"{i},0,1\n" for i in ids.split()))
    assert read_subscriptions("covering", path).parsed.rows.ids.to_pylist() == expected


def test_csv_numbers_are_not_python_literals(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,k,lo,hi\n1,0x10,0,1\n2,1_0,0,1\n3,٣,0,1\n4,+3,.5,1e3\n5,99999999999999999999,0,1\n")
    rows = read_subscriptions("ranges", path, on_error="collect")
    assert [r.row for r in rows.rejects] == [1, 2, 3, 5]
    assert rows.rejects[3].reason == "k is beyond the range of 64-bit integers"
    assert rows.parsed.rows.k.tolist() == [3]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_single_row_and_no_rows(suffix: str, tmp_path: Path) -> None:
    table = pa.table(BOXES)
    for n_rows in (0, 1):
        write_table(table.slice(0, n_rows), tmp_path / f"t.{suffix}")
        assert len(read_subscriptions("ranges", tmp_path / f"t.{suffix}").parsed.rows.ids) == n_rows


def bad_file(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("p.parquet", b"", "{} is not a Parquet file, or not all of it is there."),
        ("p.parquet", b"PAR1 and so on", "{} is not a Parquet file, or not all of it is there."),
        ("p.csv", b"", "{} is empty; a CSV file begins with a header that names its columns."),
        ("p.csv", b"\n\n", "{} is empty; a CSV file begins with a header that names its columns."),
        ("p.csv", b"id,id\n1,2\n", '{} has two columns named "id".'),
        ("p.csv", b'id,ts\n1,"2\n', "{} has a quotation mark that is never closed."),
        ("p.csv", b"id\n\xff\n", "{} is not UTF-8 text (byte 4 cannot be read)."),
        ("p.ndjson", b'{"id": "\xff"}', "{} is not UTF-8 text (byte 9 cannot be read)."),
        ("p.csv.gz", b"id\n1\n", "{} is not a gzip file, or not all of it is there."),
        ("p.csv.gz", gzip.compress(b"id\n1\n", mtime=0)[:-4], "{} is not a gzip file, or not all of it is there."),
        (
            "p.txt",
            b"",
            "{} cannot be read: its name must end in .parquet, .pq, .ndjson, .jsonl, .json, .csv, "
            ".ndjson.gz, .jsonl.gz, .json.gz or .csv.gz.",
        ),
    ],
)
def test_unreadable_files_say_why(name: str, data: bytes, sentence: str, tmp_path: Path) -> None:
    path = bad_file(tmp_path, name, data)
    with pytest.raises(UnreadableFile) as caught:
        read_table(path)
    assert str(caught.value) == sentence.format(path)


def test_truncated_parquet(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    write_table(pa.table(POINTS), path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UnreadableFile, match="is not a Parquet file, or not all of it is there"):
        read_publications("window", path)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson"])
def test_files_that_are_not_there(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"^There is no file .*p\."):
        read_table(tmp_path / f"p.{suffix}")
    folder = tmp_path / f"folder.{suffix}"
    folder.mkdir()
    with pytest.raises(UnreadableFile, match=r"is a folder, not a file\.$"):
        read_table(folder)


def test_a_file_without_a_column_is_both_errors(tmp_path: Path) -> None:
    path = bad_file(tmp_path, "s.csv", b"id,lo,hi\n1,0,1\n")
    with pytest.raises(UnreadableFile) as caught:
        read_subscriptions("ranges", path)
    assert str(caught.value) == f'{path}: Ranges subscriptions need the column "k" (columns found: id, lo, hi).'
    assert isinstance(caught.value, MissingColumn)


def test_an_empty_ndjson_file_has_no_rows(tmp_path: Path) -> None:
    assert read_publications("window", bad_file(tmp_path, "p.ndjson", b"")).table.num_rows == 0


def test_json_arrays_number_their_elements(tmp_path: Path) -> None:
    path = bad_file(tmp_path, "s.json", b'[{"id": 1, "lo": 0, "hi": 1}, 7, {"id": 2, "lo": 3, "hi": 1}]')
    rejects = read_subscriptions("covering", path, on_error="collect").rejects
    assert [(r.row, r.value) for r in rejects] == [(2, "7"), (3, "3")]
    with pytest.raises(UnreadableFile, match="is not a JSON array of objects"):
        read_table(bad_file(tmp_path, "s.json", b'[{"id": 1}'))


def test_sources_that_make_no_table() -> None:
    with pytest.raises(
        ValueError, match=r"A table cannot be made of a int; give Arrow, pandas, rows, columns, or a file\."
    ):
        read_table(3)
    with pytest.raises(ValueError, match=r"Columns must have equally many rows: a has 1, b has 2\."):
        read_table({"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match=r"A list holds rows, which are mappings from columns to values; row 2 is 7\."):
        read_table([{"id": 1}, 7])
    with pytest.raises(MissingColumn) as caught:
        read_table({"ts": 1, "point": [1.0]})
    sentence = 'A mapping whose ts is 1 is one row, and a row needs an "id" (columns found: ts, point).'
    assert str(caught.value) == sentence
    for name in (None, 3, b"x", "\ud800"):
        for source in ({"id": 1, name: 4}, {"id": [1], name: [4]}, [{"id": 1}, {name: 4}]):
            with pytest.raises(ValueError, match=f"The name of a column is text, not {re.escape(repr(name))}"):
                read_table(source)


@pytest.mark.parametrize("rows", [[{}], [{}, {}]])
def test_empty_rows_lack_every_column(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(MissingColumn, match=r'Window publications need the column "ts" \(columns found: id\)'):
        read_publications("window", rows)
    assert not len(read_table([]).table)


def test_the_memory_source_is_named_by_its_noun() -> None:
    with pytest.raises(Rejected, match=r"^subscriptions: row 1, column k, value 0: k must be at least 1\.$"):
        read_subscriptions("ranges", [{"id": 1, "k": 0, "lo": 0, "hi": 1}])


@pytest.mark.parametrize("name", ["id", "k", "score", "point", "threshold", "window_n"])
@pytest.mark.parametrize(
    "kind", [pa.timestamp("s"), pa.binary(), pa.bool_(), pa.list_(pa.timestamp("ns")), pa.decimal128(9, 2)]
)
def test_columns_of_a_type_that_never_fits_are_rejected_row_by_row(name: str, kind: pa.DataType) -> None:
    values = {pa.bool_(): True, pa.binary(): b"\xff", pa.decimal128(9, 2): decimal.Decimal(1)}
    value = values.get(kind, [2**62 + 1] if pa.types.is_list(kind) else 2**62)
    columns = {
        "id": [1],
        "k": [1],
        "score": ["cosine"],
        "point": [[1.0]],
        "threshold": [None],
        "window_n": [None],
    }
    table = pa.table(columns | {name: pa.array([value], kind)})
    rejects = read_subscriptions("window", table, on_error="collect").rejects
    assert [(r.row, r.column) for r in rejects] == [(1, name)]
    assert " must be " in rejects[0].reason


def test_a_column_given_twice_is_an_error() -> None:
    table = pa.Table.from_arrays([pa.array([1])] * 4, ["id", "lo", "hi", "id"])
    with pytest.raises(MissingColumn, match=r'Covering subscriptions have the column "id" 2 times; give it once\.'):
        read_subscriptions("covering", table)


def test_csv_cells_that_cannot_be_read_at_once(tmp_path: Path) -> None:
    cells = [
        "[1, 2]",
        "[1e3, NaN]",
        "[9007199254740993, 1]",
        "[1,,2]",
        '["a", "b"]',
        "[1, 2",
        "[]",
        "[null, 1]",
    ]
    lines = [f'{row},1,"{cell.replace(chr(34), chr(34) * 2)}"' for row, cell in enumerate(cells, 1)]
    path = bad_file(tmp_path, "p.csv", "\n".join(["id,ts,point", *lines]).encode())
    rows = read_publications("window", path, on_error="collect")
    assert [reject.row for reject in rows.rejects] == [2, 3, 4, 5, 6, 7, 8]
    assert rows.parsed.rows.points.tolist() == [[1.0, 2.0]]


def test_csv_ids_beyond_64_bits_are_rejected(tmp_path: Path) -> None:
    path = bad_file(tmp_path, "s.csv", b"id,lo,hi\n1,0,1\n9223372036854775808,0,1\n")
    rejects = read_subscriptions("covering", path, on_error="collect").rejects
    assert [(r.row, r.reason) for r in rejects] == [(2, "id is beyond the range of 64-bit integers")]


def test_csv_words_with_escapes(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    write_table(pa.table(MESSAGES | {"terms": [["a\nb", "\\"], None], "weights": [[0.6, 0.8], None]}), path)
    assert read_publications("geotext", path).parsed.rows.terms.to_pylist() == ["a\nb", "\\"]
