"""`skyband cover`: which subscriptions of a file cover which."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skyband.cli import cover as cover_command
from skyband.contract.reading import read_subscriptions
from skyband.covering.oracle import CoverOracle
from skyband.table import read_table, write_table
from tests.cli.calling import call, document, failure, process

SEARCHES = [["corners"], ["jumps"], ["greedy", "--bits", "4"]]

# The first covers the second and the third, which are equal; the fourth stands alone, the last covers all but it.
ROWS: list[dict[str, Any]] = [
    {"id": "wide", "lo": [0, 0], "hi": [9, 9]},
    {"id": "narrow", "lo": [2, 2], "hi": [3, 3]},
    {"id": "equal", "lo": [2, 2], "hi": [3, 3]},
    {"id": "apart", "lo": [8, -5], "hi": [12, 3]},
    {"id": "open", "lo": [None, 0], "hi": [9, None]},
]


def written(folder: Path, rows: list[dict[str, Any]], name: str = "subscriptions.ndjson") -> Path:
    path = folder / name
    write_table(read_subscriptions("covering", rows).table, path)
    return path


def drawn(n: int, seed: int, prefix: str = "s") -> list[dict[str, Any]]:
    """Boxes with ends among a few integers, so that many are equal or share a side."""
    ends = np.sort(np.random.default_rng(seed).integers(0, 8, (n, 2, 2)), axis=2).tolist()
    return [{"id": f"{prefix}{i}", "lo": [a[0], b[0]], "hi": [a[1], b[1]]} for i, (a, b) in enumerate(ends)]


@pytest.mark.parametrize("suffix", ["parquet", "ndjson", "csv"])
@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search[0])
def test_tables_are_the_oracles(search: list[str], suffix: str, tmp_path: Path) -> None:
    rows = drawn(120, 1)
    path, out, relations = written(tmp_path, rows), tmp_path / f"out.{suffix}", tmp_path / f"relations.{suffix}"
    options = ["--domain", "0:7:integer", "--search", *search]
    said = document("cover", path, *options, "--out", out, "--relations", relations)
    oracle = CoverOracle()
    oracle.add(read_subscriptions("covering", rows).parsed.rows)
    expected = oracle.uncovered()
    table = read_subscriptions("covering", out).parsed.rows
    assert table.ids.to_pylist() == expected
    assert (said["n_uncovered"], said["n_covered"]) == (len(expected), 120 - len(expected))
    assert said["uncovered_share"] == len(expected) / 120
    related = read_table(relations).table.to_pylist()
    assert [row["subscription"] for row in related] == [row["id"] for row in rows]
    for row in related:
        above = oracle.covering(row["subscription"])
        assert row["covered_by"] in above if row["covered_by"] else row["subscription"] in expected


def test_what_is_written_covers_the_same(tmp_path: Path) -> None:
    path, out = written(tmp_path, drawn(80, 2)), tmp_path / "out.csv"
    document("cover", path, "--out", out)
    again = document("cover", out, "--against", path)
    assert again["n_covered"] == 0
    assert again["n_asked_covered"] == again["n_asked"] == 80


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search[0])
def test_asking_for_the_rows_of_another_file(search: list[str], tmp_path: Path) -> None:
    path, rows = written(tmp_path, drawn(60, 3)), drawn(150, 4, "q")
    against, relations = written(tmp_path, rows, "queries.parquet"), tmp_path / "relations.parquet"
    options = ["--domain", "0:7:integer", "--search", *search]
    said = document("cover", path, *options, "--against", against, "--relations", relations)
    assert said["rows"] == read_table(relations).table.to_pylist()
    assert said["n_subscriptions"] == 60
    assert said["n_asked_covered"] == sum(row["covered_by"] is not None for row in said["rows"])
    boxes = {row["id"]: row for row in drawn(60, 3)}
    uncovered = [box for box in boxes.values() if any(box["id"] == row["covered_by"] for row in said["rows"])]
    for row, asked in zip(said["rows"], rows, strict=True):
        above = [
            box["id"]
            for box in boxes.values()
            if all(a <= b for a, b in zip(box["lo"], asked["lo"], strict=True))
            and all(a >= b for a, b in zip(box["hi"], asked["hi"], strict=True))
        ]
        assert row["covered_by"] in above if above else row["covered_by"] is None
    assert uncovered


def test_what_is_printed(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    done = call("cover", path, "--out", tmp_path / "out.csv", "--relations", tmp_path / "relations.csv")
    assert done.exit_code == 0, done.output
    lines = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    said = {name: text.strip() for name, text in lines.items()}
    assert said["covered"] == "3"
    assert said["routing table"] == "2, 40.0% of the subscriptions"
    assert said["search"] == "corners"
    assert float(said["nodes per subscription"]) > 0
    assert said["uncovered ones"] == str(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [
        '"apart","[8.0, -5.0]","[12.0, 3.0]"',
        '"open","[-Infinity, 0.0]","[9.0, Infinity]"',
    ]
    greedy = call("cover", path, "--search", "greedy", "--epsilon", 0.1, "--bits", 3)
    assert "greedy, epsilon 0.1" in greedy.stdout
    assert "probes per subscription" in greedy.stdout


def test_many_rows_are_printed_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover_command, "ROWS_SHOWN", 2)
    path = written(tmp_path, ROWS)
    lines = call("cover", path, "--against", path).stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["subscription", "covered", "by"],
        ["wide", "open"],
        ["narrow", "open"],
    ]
    assert lines[3] == "… and 3 more rows; --json or --relations shows them."
    assert "5, of which covered 5" in lines[-4]


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.csv"
    path.write_text("id,lo,hi\n")
    said = document("cover", path, "--against", path, "--out", tmp_path / "out.ndjson")
    assert (said["n_subscriptions"], said["n_asked"], said["rows"]) == (0, 0, [])
    assert said["uncovered_share"] is said["steps_per_subscription"] is said["steps_per_asked"] is None
    assert (tmp_path / "out.ndjson").read_text() == ""
    assert call("cover", path).exit_code == 0
    full = written(tmp_path, ROWS)
    assert document("cover", path, "--against", full)["n_asked_covered"] == 0
    assert document("cover", full, "--against", path)["n_uncovered"] == 2


def test_batches_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, drawn(100, 5))
    whole = document("cover", path, "--out", tmp_path / "whole.csv")
    monkeypatch.setattr(cover_command, "BATCH", 7)
    parts = document("cover", path, "--out", tmp_path / "parts.csv")
    assert whole["n_uncovered"] == parts["n_uncovered"]
    assert (tmp_path / "whole.csv").read_text() == (tmp_path / "parts.csv").read_text()


BAD = (
    '{"id": "nan", "lo": [NaN, 1], "hi": [2, 2]}\n'
    '{"id": "long", "lo": [1, 1, 1], "hi": [2, 2, 2]}\n'
    '{"id": "outside", "lo": [20, 1], "hi": [30, 2]}\n'
    '{"id": "last", "lo": [1, 1], "hi": [1, 1]}\n'
    '{"id": "wide", "lo": [1, 1], "hi": [1, 1]}\n'
)


def test_bad_rows_stop_the_run(tmp_path: Path) -> None:
    path, domain = written(tmp_path, ROWS), ["--domain", "-9:12"]
    good = path.read_text()
    kept = [*domain, "--out", tmp_path / "out.csv", "--relations", tmp_path / "relations.csv"]
    path.write_text(good + BAD)
    said = failure("cover", path, *kept)
    assert said.startswith(f"{path}: row 6, column lo, value [nan, 1.0]: lo must not hold NaN (and 2 more rows)")
    path.write_text(good + BAD.splitlines()[2] + "\n")
    assert "row 6, column lo, value [20.0, 1.0]: lies outside of the domain" in failure("cover", path, *kept)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_bad_rows_are_left_out_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover_command, "BATCH", 2)
    path, against = written(tmp_path, ROWS), written(tmp_path, ROWS[1:3], "queries.ndjson")
    for each in (path, against):
        each.write_text(each.read_text() + BAD)
    words = ["cover", path, "--domain", "-9:12", "--against", against, "--rejects", tmp_path / "rejects.ndjson"]
    done = call(*words)
    assert done.exit_code == 0, done.output
    warnings = done.stderr.splitlines()
    assert warnings[0].startswith(f"Warning: Rows were left out. {path}: row 6, column lo")
    assert warnings[0].endswith("(and 3 more rows).")
    assert warnings[1].startswith(f"Warning: Rows were left out. {against}: row 3, column lo")
    rejects = read_table(tmp_path / "rejects.ndjson").table.to_pylist()
    assert [(row["file"], row["row"], row["column"]) for row in rejects] == [
        ("subscriptions", 6, "lo"),
        ("subscriptions", 7, "lo"),
        ("subscriptions", 8, "lo"),
        ("subscriptions", 10, "id"),
        ("against", 3, "lo"),
        ("against", 4, "lo"),
        ("against", 5, "lo"),
    ]
    said = document(*words)
    assert (said["n_subscriptions"], said["n_rejected"], said["n_asked"]) == (6, 7, 4)


def test_a_batch_may_have_no_good_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover_command, "BATCH", 1)
    path = written(tmp_path, [{"id": 7, "lo": [20], "hi": [30]}, {"id": 8, "lo": [1], "hi": [2]}])
    rejects = ["--domain", "0:9", "--rejects", tmp_path / "rejects.csv"]
    said = document("cover", path, *rejects, "--against", path)
    assert said["rows"] == [{"subscription": 8, "covered_by": 8}]
    none = document("cover", path, "--domain", "50:59", *rejects[2:], "--against", path)
    assert (none["n_subscriptions"], none["n_rejected"], none["rows"]) == (0, 4, [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--domain", "5"], "'5' is not a domain; write LOW:HIGH, or LOW:HIGH:integer."),
        (["--domain", "0:ten"], "'0:ten' is not a domain"),
        (["--domain", "0:9:whole"], "'0:9:whole' is not a domain"),
        (["--domain", "0:9:integer:x"], "'0:9:integer:x' is not a domain"),
        (["--domain", "9:0"], "A domain goes from a lower to a higher number, not from 9 to 0."),
        (["--domain", "0:inf:integer"], "A domain of integers goes from one integer to another."),
        (["--epsilon", "0.1"], "The search corners is exact: epsilon is an option of the greedy search."),
        (["--search", "greedy", "--epsilon", "1"], "1.0 is not in the range 0.0<=x<1.0."),
        (["--search", "greedy", "--epsilon", "nan"], "epsilon is a number of at least 0 and below 1, not nan."),
        (["--search", "luck"], "'luck' is not one of"),
        (["--bits", "33"], "33 is not in the range"),
        (["--out", "out.txt"], "its name must end in .parquet"),
        (["--out", "same.csv", "--relations", "same.csv"], "same.csv is given twice"),
    ],
)
def test_options_that_are_not_understood(words: list[str], said: str, tmp_path: Path) -> None:
    assert said in failure("cover", written(tmp_path, ROWS), *words, code=2)


def test_what_does_not_fit_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    domains = ["--domain", "-99:99"] * 3
    assert failure("cover", path, *domains) == "There are 3 domains, and the subscriptions have 2 attributes."
    many = written(tmp_path, [{"id": 1, "lo": [0] * 9, "hi": [1] * 9}], "many.ndjson")
    assert "with 9 attributes, bits must be 2 to 14." in failure("cover", many, "--bits", 16)
    assert failure("cover", tmp_path / "no.csv") == f"There is no file {tmp_path / 'no.csv'}."
    assert failure("cover", path, "--against", tmp_path / "no.csv").startswith("There is no file")
    (tmp_path / "short.csv").write_text("id,lo\n1,2\n")
    assert 'need the column "hi"' in failure("cover", tmp_path / "short.csv")
    assert "is given twice" in failure("cover", path, "--out", path, code=2)
    assert "there is no folder" in failure("cover", path, "--out", tmp_path / "no" / "out.csv")


def test_domains_for_each_attribute(tmp_path: Path) -> None:
    # From 5.5 on there are the integers 6 and 7, the whole domain from 6 to 7.
    rows = [{"id": 1, "lo": [0.5, 6], "hi": [0.6, 7]}, {"id": 2, "lo": [0.5, 5.5], "hi": [0.6, 9]}]
    path, out = written(tmp_path, rows), tmp_path / "out.ndjson"
    said = document("cover", path, "--domain", "0:1", "--domain", "6:7:integer", "--out", out)
    assert said["n_uncovered"] == 1
    assert read_table(out).table.to_pylist()[0] == {"id": 1, "lo": [0.5, -np.inf], "hi": [0.6, np.inf]}


@pytest.mark.jit_only
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process.")
def test_ctrl_c_ends_a_search_that_takes_for_ever(tmp_path: Path) -> None:
    rows = [{"id": i, "lo": [i + 0.1] * 6, "hi": [i + 0.3] * 6} for i in range(20)]
    path = written(tmp_path, rows)
    run = process("cover", path, "--search", "greedy", "--domain", "0:30", "--out", tmp_path / "out.csv")
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) == 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=120)
    assert run.returncode == 130
    assert said == "Error: Stopped by Ctrl-C; unfinished files were removed.\n"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
