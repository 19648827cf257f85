"""The rows of files: numbered in order, read as they are, and never the end of the stream."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.source import file_rows as subject
from skyband.pipeline.source.file_rows import BAD, SCHEMA, file_rows

Row = tuple[int, str, str]


def rows(path: Path, format: str) -> list[Row]:
    """Number, form and value of every row, in the order of the numbers."""
    batches = list(file_rows(path, format))
    assert all(batch.schema == SCHEMA and batch.num_rows for batch in batches)
    table = pa.Table.from_batches(batches, SCHEMA)
    found = sorted(tuple(row.values()) for row in table.to_pylist())
    assert len({row[0] for row in found}) == len(found)
    return found


def written(path: Path, content: bytes) -> Path:
    """The path, once it holds this."""
    path.write_bytes(content)
    return path


def test_lines_are_numbered_and_empty_ones_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "f", b'{"a": 1}\r\n\n  \t\n{"b":  "\xc3\xbc"} \nnot json\n{"last": 2}')
    assert rows(path, "ndjson") == [
        (1, "json", '{"a": 1}'),
        (4, "json", '{"b":  "ü"} '),
        (5, "json", "not json"),
        (6, "json", '{"last": 2}'),
    ]


@pytest.mark.parametrize("name", ["f.ndjson.gz", "no suffix"])
def test_lines_may_be_packed(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, gzip.compress(b'\xef\xbb\xbf{"a":1}\n{"a":2}\n'))
    assert rows(path, "ndjson") == [(1, "json", '{"a":1}'), (2, "json", '{"a":2}')]


@pytest.mark.parametrize("format", ["ndjson", "parquet", "csv"])
def test_a_file_of_many_chunks_keeps_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    monkeypatch.setattr(subject, "BYTES_AT_ONCE", 100)
    monkeypatch.setattr(subject, "ROWS_AT_ONCE", 7)
    path, wanted = tmp_path / "f", [{"n": n} for n in range(100)]
    if format == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(wanted), path, row_group_size=13)
    elif format == "csv":
        path.write_text("n\n" + "".join(f"{row['n']}\n" for row in wanted))
        wanted = [{"n": str(row["n"])} for row in wanted]  # type: ignore[dict-item]  # cells are text
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in wanted))
    found = rows(path, format)
    assert [number for number, _, _ in found] == list(range(1, 101))
    assert [json.loads(value) for _, _, value in found] == wanted
    assert sum(1 for _ in file_rows(path, format)) >= 100 / 20


@given(st.lists(st.binary(max_size=6).filter(lambda line: b"\n" not in line), max_size=6))
def test_any_bytes_give_a_row_for_each_line_that_says_something(lines: list[bytes]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        content = b'{"first": 0}\n' + b"\n".join(lines)
        found = rows(written(Path(folder) / "f", content), "ndjson")
    told = {number: value for number, _, value in found}
    for number, line in enumerate(lines, 2):
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            assert told[number].startswith(BAD)
            with pytest.raises(json.JSONDecodeError):
                json.loads(told[number])
            continue
        assert told.get(number, "") == (text if line.strip(b" \t\n\r\v\f") else "")


def test_cells_are_text_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    content = b'id,x,"the, text"\n007,1.50,"line 1\nline ""2"""\n,,\n8,,""\n'
    assert rows(written(tmp_path / "f", content), "csv") == [
        (1, "cells", '{"id":"007","x":"1.50","the, text":"line 1\\nline \\"2\\""}'),
        (2, "cells", "{}"),
        (3, "cells", '{"id":"8","the, text":""}'),
    ]


def test_rows_that_do_not_fit_the_header_or_are_no_text_are_bad(tmp_path: Path) -> None:
    content = b"id,x\n1,2\n1,2,3\n\xff,4\n5,\xc3\xbc\n"
    found = rows(written(tmp_path / "f", content), "csv")
    assert found[0] == (1, "cells", '{"id":"1","x":"2"}')
    assert found[3] == (4, "cells", '{"id":"5","x":"ü"}')
    assert found[1][:2] == (2, "json")
    assert found[1][2] == f"{BAD} the row has 3 cells where the header has 2: '1,2,3'"
    assert found[2] == (3, "json", f'{BAD} the row is not UTF-8: {{"id":"{BAD}","x":"4"}}')


def test_parquet_rows_are_objects(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array(["a", None], pa.large_string()),
            "ts": pa.array([1, None], pa.timestamp("us", "UTC")),
            "point": [[0.1, 1.0], []],
        }
    )
    pa.parquet.write_table(table, tmp_path / "f")
    assert rows(tmp_path / "f", "parquet") == [
        (1, "json", '{"id":"a","ts":"1970-01-01T00:00:00.000001Z","point":[0.1,1.0]}'),
        (2, "json", '{"point":[]}'),
    ]


def _truncated_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(b'{"a":1}\n' * 5)[:-12])


def _broken_gzip(path: Path) -> None:
    packed = bytearray(gzip.compress(b'{"a":1}\n' * 5))
    packed[-6] ^= 1
    path.write_bytes(bytes(packed))


def _truncated_parquet(path: Path) -> None:
    pa.parquet.write_table(pa.table({"a": [1, 2]}), path)
    path.write_bytes(path.read_bytes()[:-3])


def _broken_parquet(path: Path) -> None:
    pa.parquet.write_table(pa.table({"a": list(range(1000))}), path, compression="snappy", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:40] = b"\xff" * 36
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("format", "write"),
    [
        ("ndjson", _truncated_gzip),
        ("ndjson", _broken_gzip),
        ("csv", _truncated_gzip),
        ("csv", lambda path: path.write_bytes(b"")),
        ("csv", lambda path: path.write_bytes(b"a,a\n1,2\n")),
        ("csv", lambda path: path.write_bytes(b'a,b\n1,"2\n')),
        ("parquet", _truncated_parquet),
        ("parquet", _broken_parquet),
        ("parquet", lambda path: path.write_bytes(b"")),
        ("parquet", lambda path: path.write_bytes(b"this is no parquet")),
    ],
)
def test_a_broken_file_is_a_bad_row_the_same_each_time(tmp_path: Path, format: str, write: Any) -> None:
    path = tmp_path / "f"
    write(path)
    found = rows(path, format)
    assert found[-1][2].startswith(f"{BAD} the file cannot be read after row {found[-1][0] - 1}: ")
    assert rows(path, format) == found


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    for format in ("ndjson", "csv", "parquet"):
        with pytest.raises(FileNotFoundError):
            rows(tmp_path / "gone", format)


def test_files_without_rows_have_none(tmp_path: Path) -> None:
    assert rows(written(tmp_path / "f", b""), "ndjson") == []
    assert rows(written(tmp_path / "f", b"a,b\n"), "csv") == []
    pa.parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "f")
    assert rows(tmp_path / "f", "parquet") == []
