"""`skyband plot`: a change log over time, in characters and as a picture."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from skyband.cli.chart import columns_of
from skyband.table import write_table
from tests.cli.calling import call, document, failure, files

SVG = "{http://www.w3.org/2000/svg}"


def log(folder: Path, suffix: str = "parquet", **columns: object) -> Path:
    rows = {
        "subscription": ["ann", "ann", "bob", "ann", "ann"],
        "publication": ["<p&1>", "p2", "p2", "<p&1>", "p2"],
        "op": ["enter", "enter", "enter", "leave", "move"],
        "score": [0.5, 0.25, 3.0, 0.5, 0.125],
        "rank": [1, 1, 1, None, 1],
        "at": [0, 10, 10, 30, 40],
        "first": [True, True, True, False, False],
    }
    write_table(pa.table(rows | columns), folder / f"changes.{suffix}")
    return folder / f"changes.{suffix}"


def test_counts_are_columns_of_eighths() -> None:
    assert columns_of(np.array([0, 1, 8, 16]), 2) == ["   █", " ▁██"]
    assert columns_of(np.array([0, 0]), 2) == ["", ""]
    assert columns_of(np.array([1, 100_000]), 1) == ["▁█"]


@pytest.mark.parametrize("suffix", ["parquet", "ndjson", "csv"])
def test_the_chart(suffix: str, tmp_path: Path) -> None:
    done = call("plot", log(tmp_path, suffix))
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Changes over time: 3 enter, 1 leave, 1 move; a column is 1us."
    assert lines[1] == "enter 2 ┤          █"
    assert lines[5] == "      0 ┤█         █"
    assert "Top of ann: the last 2 stays." in lines
    assert f"<p&1>    0.5 ┤{'█' * 31}" in lines
    assert f"p2     0.125 ┤{' ' * 10}{'█' * 31}" in lines


def test_the_document(tmp_path: Path) -> None:
    said = document("plot", log(tmp_path), "--ids", "bob")
    assert (said["n_changes"], said["start"], said["step"], said["out"]) == (5, 0, 1, None)
    assert {op: sum(counts) for op, counts in said["changes"].items()} == {"enter": 3, "leave": 1, "move": 1}
    stay = {"publication": "p2", "score": 3.0, "start": 10, "end": None}
    assert said["tops"] == [{"subscription": "bob", "stays": [stay]}]
    assert document("plot", tmp_path / "changes.parquet", "--limit", 0)["tops"] == []


def test_the_picture(tmp_path: Path) -> None:
    out = tmp_path / "changes.svg"
    assert f"The picture is in {out}." in call("plot", log(tmp_path), "--out", out).stdout
    picture = ElementTree.fromstring(out.read_text(encoding="utf-8"))
    words = [text.text for text in picture.iter(f"{SVG}text")]
    assert "Changes of changes.parquet" in words
    assert "Top of ann" in words
    assert "<p&1>: 0.5" in words
    # Two columns of enters, one of leaves, one of moves, and three stays.
    assert len(list(picture.iter(f"{SVG}rect"))) == 7
    assert "its name must end in .svg." in failure("plot", log(tmp_path), "--out", tmp_path / "c.png", code=2)


def test_dates_are_shown_where_the_log_has_them(tmp_path: Path) -> None:
    at = pa.array([1_714_564_800_000_000 + 60_000_000 * i for i in range(5)], pa.timestamp("us", "UTC"))
    said = call("plot", log(tmp_path, at=at)).stdout
    assert "a column is 5s" in said
    assert "2024-05-01 12:00:00" in said


def test_what_is_no_change_log(tmp_path: Path) -> None:
    words = files(tmp_path)
    assert 'is no change log: it has no column "subscription"' in failure("plot", words[1])
    assert failure("plot", log(tmp_path), "--ids", "eve").endswith("has no changes of a subscription eve.")
    bad = log(tmp_path, "csv", at=["1", "2", "x", "3", "4"])
    assert "row 3, column at" in failure("plot", bad)
    empty = pa.table({name: pa.array([], pa.int64()) for name in ("subscription", "publication", "op", "score", "at")})
    write_table(empty, tmp_path / "empty.parquet")
    assert call("plot", tmp_path / "empty.parquet").stdout.endswith("has no changes.\n")
