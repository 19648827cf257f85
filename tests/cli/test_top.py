"""`skyband top`: who has what at an instant."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from skyband.replay import top
from skyband.table import read_table
from tests.cli.calling import call, document, failure, files
from tests.replay.small import small


@pytest.mark.parametrize("family", ["window", "geotext", "ranges"])
def test_rows_are_the_librarys(family: str, tmp_path: Path) -> None:
    words, work = files(tmp_path, family), small(family)
    expected = top(work.publications, work.subscriptions).table.to_pylist()
    said = document("top", family, *words)
    assert said["rows"] == expected != []
    assert said["n_rows"] == len(expected)
    assert said["at"] == work.publications["ts"].to_pylist()[-1]
    document("top", *words, "--out", tmp_path / "tops.ndjson")
    assert read_table(tmp_path / "tops.ndjson").table.to_pylist() == expected


def test_an_instant_ids_and_a_limit(tmp_path: Path) -> None:
    words = files(tmp_path)
    ts = small("window").publications["ts"].to_pylist()
    said = document("top", *words, "--at", ts[4], "--ids", "3, 1", "--limit", 4)
    assert (said["at"], said["n_rows"], len(said["rows"])) == (ts[4], 6, 4)
    assert [row["subscription"] for row in said["rows"]] == [3, 3, 3, 1]
    assert document("top", *words, "--at", "1969-12-31")["rows"] == []
    done = call("top", *words, "--limit", 2)
    assert done.stdout.splitlines()[0].split() == ["subscription", "rank", "publication", "score"]
    assert done.stdout.splitlines()[3] == "… and 16 more rows; --limit, --json or --out shows them."
    assert "neither an integer" in failure("top", *words, "--at", "noon", code=2)
    assert failure("top", *words, "--ids", "3,99").endswith("subscriptions.parquet has no subscription 99.")
    assert "are integers, and 'x' is not." in failure("top", *words, "--ids", "x")


def test_times_are_told_as_times(tmp_path: Path) -> None:
    words, table = files(tmp_path), small("window").publications
    timed = table.set_column(1, "ts", table["ts"].cast("timestamp[us]"))
    pq.write_table(timed, tmp_path / "publications.parquet")
    said = document("top", *words, "--at", "1970-01-01T00:00:01Z", "--engine", "oracle")
    assert said["at"] == "1970-01-01T00:00:01Z"


def test_ranked_has_no_answer(tmp_path: Path) -> None:
    assert "no standing answer" in failure("top", *files(tmp_path, "ranked"))


def test_rows_may_be_left_out(tmp_path: Path) -> None:
    words = files(tmp_path, "window", "ndjson")
    with (tmp_path / "subscriptions.ndjson").open("a") as file:
        file.write('{"id": 7, "k": 0}\n')
    done = call("top", *words, "--on-error", "collect", "--engine", "oracle")
    assert done.exit_code == 0
    assert done.stderr == "Warning: 1 row was left out; skyband replay with --rejects tells which.\n"


def test_a_forgotten_window_is_told(tmp_path: Path) -> None:
    words = files(tmp_path, "window", "ndjson")
    lines = (tmp_path / "subscriptions.ndjson").read_text()
    (tmp_path / "subscriptions.ndjson").write_text(lines.replace('"window_n":12', '"other":12'))
    assert "Nothing expires" in call("top", *words, "--engine", "oracle").stdout


def test_options_of_the_engine_itself(tmp_path: Path) -> None:
    words = [*files(tmp_path), "--engine", "scan"]
    rows = document("top", *words, "--option", "reserve=1,0")["rows"]
    assert rows == document("top", *words)["rows"]
    assert failure("top", *words, "--option", "reserve=1") == (
        "reserve is a pair of integers, how many times k and how many more, not [1]."
    )
