"""Writing: whole or not at all."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from skyband.table import read_table, write_table


@pytest.mark.parametrize("suffix", ["parquet", "ndjson", "csv"])
def test_a_failed_write_leaves_what_was_there(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"t.{suffix}"
    write_table(pa.table({"a": [1]}), path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("The disk is full.")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"The disk is full\."):
        write_table(pa.table({"a": [2]}), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"its name must end in \.parquet, \.pq, \.ndjson, \.jsonl, \.csv\."):
        write_table(pa.table({"a": [1]}), tmp_path / "t.xlsx")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_table(pa.table({"a": [1]}), tmp_path / "nowhere" / "t.csv")


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
def test_times_are_written_as_iso_in_utc(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{suffix}"
    write_table(pa.table({"ts": pa.array([0], pa.timestamp("us", "Asia/Tokyo"))}), path)
    assert read_table(path).table.column("ts").to_pylist() == ["1970-01-01T00:00:00.000000Z"]
