"""`skyband show`: the rows of any file that a command reads or writes."""

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from skyband.table import write_table
from tests.cli.calling import call, document, failure

CHANGES = pa.table(
    {
        "subscription": [3, 17, 3],
        "publication": ["a", "b", "a"],
        "op": ["enter", "enter", "leave"],
        "score": [0.5, 1.5, 0.5],
        "rank": pa.array([1, 1, None], pa.int32()),
        "at": [1000, 2000, 3000],
        "first": [True, True, False],
    }
)
ROWS = CHANGES.to_pylist()
TEXT = """\
subscription  publication  op     score  rank    at  first
           3  a            enter    0.5     1  1000  true
          17  b            enter    1.5     1  2000  true
           3  a            leave    0.5        3000  false
"""


@pytest.mark.parametrize("suffix", ["parquet", "ndjson", "csv"])
def test_rows_are_the_same_in_every_format(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"changes.{suffix}"
    write_table(CHANGES, file)
    assert call("show", file).stdout == TEXT
    said = document("show", file)
    # CSV has no truth values.
    told = ROWS if suffix != "csv" else [row | {"first": str(row["first"]).lower()} for row in ROWS]
    assert said["rows"] == told
    assert (said["n_rows"], said["columns"]) == (3, CHANGES.column_names)


def test_some_rows_and_columns(tmp_path: Path) -> None:
    file = tmp_path / "changes.ndjson"
    write_table(CHANGES, file)
    done = call("show", file, "--limit", 1, "--last", "--columns", "at, op")
    assert done.stdout.splitlines() == [
        "  at  op",
        "3000  leave",
        "… and 2 more rows; --limit, --last or --json shows them.",
    ]
    assert [row["at"] for row in document("show", file, "--ids", "3,99")["rows"]] == [1000, 3000]
    assert "has no column 'colour' (columns found: subscription, " in failure("show", file, "--columns", "colour")
    assert "There is no file" in failure("show", tmp_path / "none.parquet")


def test_times_lists_and_lines_that_cannot_be_read(tmp_path: Path) -> None:
    moment = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
    write_table(pa.table({"ts": [moment], "point": [[0.5, 1.0]], "day": [moment.date()]}), tmp_path / "rows.parquet")
    assert call("show", tmp_path / "rows.parquet").stdout.splitlines()[1].split("  ") == [
        "2024-05-01T12:00:00Z",
        "[0.5, 1.0]",
        "2024-05-01",
    ]
    (tmp_path / "rows.ndjson").write_text('{"id": 1}\nnonsense\n{"id": "x"}\n')
    done = call("show", tmp_path / "rows.ndjson")
    assert done.stdout.split() == ["id", "1", "x"]
    assert done.stderr.startswith("Warning: 1 row could not be read; the first: row 2, value 'nonsense': ")
    (tmp_path / "nothing.ndjson").write_text("")
    assert call("show", tmp_path / "nothing.ndjson").stdout == "There are no rows.\n"
