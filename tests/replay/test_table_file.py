"""Files that appear whole or not at all."""

from pathlib import Path

import pyarrow as pa
import pytest

from skyband.replay import table_file
from skyband.replay.table_file import ROWS_AT_ONCE, format_of
from skyband.table import read_table

TABLE = pa.table({"id": [1, 2], "point": [[1.0, None], None], "name": ["a", 'b"c']})


@pytest.mark.parametrize("suffix", ["parquet", "pq", "ndjson", "jsonl", "csv"])
def test_what_is_written_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"some.{suffix}"
    with table_file(path) as file:
        file.begin(TABLE.schema)
        for start in (0, 1, 2):
            file.write(TABLE.slice(start, 1))
        assert not path.exists()
    assert file.n_rows == 2
    found = read_table(path).table.to_pylist()
    if suffix == "csv":
        assert [row["point"] for row in found] == ["[1.0, null]", None]
    else:
        assert found == TABLE.to_pylist()
    assert [path] == list(tmp_path.iterdir())


def write_and_raise(path: Path, error: type[BaseException]) -> None:
    with table_file(path) as file:
        file.begin(TABLE.schema)
        file.write(TABLE)
        raise error


@pytest.mark.parametrize("suffix", ["parquet", "ndjson", "csv"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_failure_leaves_what_was_there(suffix: str, error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / f"some.{suffix}"
    path.write_text("before")
    with pytest.raises(error):
        write_and_raise(path, error)
    assert [path] == list(tmp_path.iterdir())
    assert path.read_text() == "before"


@pytest.mark.parametrize("suffix", ["parquet", "ndjson", "csv"])
def test_a_file_that_is_never_begun_stays_as_it_was(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"some.{suffix}"
    with table_file(path):
        pass
    assert list(tmp_path.iterdir()) == []
    path.write_text("before")
    with table_file(path):
        pass
    assert [path] == list(tmp_path.iterdir())
    assert path.read_text() == "before"


def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    many = pa.table({"id": range(ROWS_AT_ONCE)})
    with table_file(tmp_path / "some.ndjson") as file:
        file.begin(many.schema)
        file.write(many)
        [temporary] = tmp_path.iterdir()
        assert temporary.stat().st_size > ROWS_AT_ONCE


def test_times_are_written_in_utc(tmp_path: Path) -> None:
    instant = pa.table({"at": pa.array([1], pa.timestamp("us", "UTC"))})
    with table_file(tmp_path / "some.ndjson") as file:
        file.begin(instant.schema)
        file.write(instant)
    assert (tmp_path / "some.ndjson").read_text() == '{"at":"1970-01-01T00:00:00.000001Z"}\n'


def test_what_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"its name must end in \.parquet, \.pq, \.ndjson or \.jsonl\."):
        format_of(tmp_path / "changes.csv", ("parquet", "ndjson"))
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(ValueError, match="it is a folder"), table_file(tmp_path / "folder.parquet"):
        pass
    with pytest.raises(FileNotFoundError, match="there is no folder"), table_file(tmp_path / "no" / "some.csv"):
        pass


def test_an_unwritable_folder_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "a temporary name")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ValueError, match=r"some\.csv cannot be written: Permission denied\."):
        table_file(tmp_path / "some.csv").__enter__()
    assert list(tmp_path.iterdir()) == []
