"""Rows on disk come back as they were."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from skyband.bench import load, rows_of, store
from skyband.bench.__main__ import main
from skyband.bench.row import Row, measured, skipped
from skyband.bench.storage import latest

AT = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


def a_row(name: str = "scan", at: datetime = AT) -> Row:
    origin = {"benchmark": name, "size": "toy", "at": at, "commit": "abc", "machine": {"cores": 2}, "versions": {}}
    return origin | measured("c", "scan", {"n": 3, "data": "uniform"}, [5, 7], 2, {"scored": 1.5})


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [a_row(), a_row() | skipped("c", "oracle", {"n": 4}, "Skipped: too long.")]
    path = store(rows, tmp_path / "new" / "folder")
    assert path.name == "scan-20240506T070809Z.parquet"
    assert rows_of(load(path.parent)) == rows


def test_two_runs_in_one_second_are_two_files(tmp_path: Path) -> None:
    paths = [store([a_row()], tmp_path) for _ in range(3)]
    assert len(set(paths)) == 3
    assert len(load(tmp_path)) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)


def test_an_empty_folder_has_no_rows(tmp_path: Path) -> None:
    assert len(load(tmp_path)) == 0


def test_a_file_holds_one_benchmark_and_at_least_one_row(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no rows"):
        store([], tmp_path)
    with pytest.raises(ValueError, match="kernels, scan"):
        store([a_row(), a_row("kernels")], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_latest_run_of_each_benchmark_is_found() -> None:
    later = AT.replace(hour=8)
    rows = [a_row(), a_row(at=later), a_row("kernels"), a_row(at=later)]
    found = latest(rows)
    assert [row["at"] for row in found["scan"]] == [later, later]
    assert found["kernels"] == [rows[2]]


def test_the_figures_of_a_folder_are_drawn_by_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("sys.argv", ["bench", str(tmp_path), str(tmp_path / "figures")])
    assert main() == 1
    assert "no stored rows" in capsys.readouterr().err
    row = a_row("parse")
    store([row | {"parameters": {"n": 10}}], tmp_path)
    assert main() == 0
    assert [Path(line).name for line in capsys.readouterr().out.split()] == ["parse-rate.png", "tables.md"]
    assert "| scan | 10 |" in (tmp_path / "figures" / "tables.md").read_text()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main() == 1
    assert "skyband[plot]" in capsys.readouterr().err
