"""`skyband replay --follow`: changes as publications come, from a file that grows or from standard input."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from skyband.cli import main
from skyband.replay import growing_file
from skyband.table import read_table
from tests.cli.calling import failure, files, process
from tests.replay.small import oracle_changes, small

ASKED = '{"id": "ann", "k": 1, "score": "euclidean", "point": [0.0], "window_n": 5}\n'


def piped(text: str, *words: object) -> Result:
    """Run a command in this process with a text on standard input."""
    return CliRunner().invoke(main, [str(word) for word in words], input=text, prog_name="skyband")


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    (tmp_path / "asked.ndjson").write_text(ASKED)
    return tmp_path / "asked.ndjson"


@pytest.mark.parametrize("family", ["window", "ranked"])
def test_changes_are_those_of_a_replay(family: str, tmp_path: Path) -> None:
    words = files(tmp_path, family, "ndjson")
    text = Path(words[1]).read_text()
    words[1] = "-"
    words += ["--batch", "9", "--granularity", "publication", "--json"]
    done = piped(text, "replay", *words)
    assert done.exit_code == 0, done.stderr
    *rows, last = map(json.loads, done.stdout.splitlines())
    assert rows == oracle_changes(small(family), "publication", 9)
    assert last["summary"]["n_publications"] == len(small(family).publications)
    out = tmp_path / "changes.parquet"
    assert "publications per second" in piped(text, "replay", *words[:-1], "--out", out).stdout
    assert read_table(out).table.to_pylist() == rows


def test_lines_for_people_and_rejects(asked: Path, tmp_path: Path) -> None:
    words = ["replay", "--publications", "-", "--subscriptions", asked]
    text = '{"id": 1, "ts": 5, "point": [0.5]}\nnonsense\n{"id": 2, "ts": 6, "point": [0.25]}'
    rejects = tmp_path / "rejects.ndjson"
    done = piped(text, *words, "--batch", 1, "--on-error", "collect", "--rejects", rejects)
    assert done.exit_code == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["subscription", "publication", "op", "score", "rank", "at", "first"],
        ["ann", "1", "enter", "0.5", "1", "5", "true"],
        ["ann", "1", "leave", "0.5", "6", "false"],
        ["ann", "2", "enter", "0.25", "1", "6", "true"],
    ]
    assert done.stderr.splitlines()[0] == "2 publications led to 3 changes."
    assert done.stderr.splitlines()[1].startswith("Warning: 1 row was left out; the first: publications, row 2, ")
    assert [row["row"] for row in read_table(rejects).table.to_pylist()] == [2]
    stopped = piped(text, *words)
    assert stopped.exit_code == 1
    assert stopped.stderr.startswith("Error: standard input: row 2, value 'nonsense': ")
    assert piped("", *words).stderr == "Nothing was published.\n"
    assert json.loads(piped("", *words, "--json").stdout) == {"summary": None}


def test_what_cannot_be_followed(asked: Path, tmp_path: Path) -> None:
    words = ["replay", "--subscriptions", asked, "--follow", "--publications"]
    assert "its name must end in .ndjson or .jsonl." in failure(*words, tmp_path / "some.parquet", code=2)
    assert "--follow needs --runner local" in failure(*words, "-", "--runner", "spark", code=2)
    assert "There is no file" in failure(*words, tmp_path / "none.ndjson")


GOOD = '{"id": 1, "ts": 5, "point": [0.5]}\n'
FAILING: dict[str, tuple[str, tuple[str, ...]]] = {
    "no subscriptions": (GOOD, ("--subscriptions", "typo.ndjson")),
    "an option": ("", ("--option", "foo=1")),
    "an engine": ("", ("--engine", "nosuch")),
    "a setting": ("", ("--bounds", "geographic")),
    "a bad line": ("nonsense\n" + GOOD, ("--on-error", "raise")),
    "the same id twice": (GOOD + GOOD, ("--on-error", "raise")),
    "nothing": ("", ()),
}


@pytest.mark.parametrize("suffix", ["ndjson", "parquet"])
@pytest.mark.parametrize("why", FAILING)
def test_files_stay_as_they_were_until_the_first_answer(why: str, suffix: str, asked: Path, tmp_path: Path) -> None:
    text, wrong = FAILING[why]
    words: list[object] = ["replay", "--publications", "-", "--subscriptions", asked, *wrong]
    if "--on-error" not in wrong:
        words += ["--on-error", "collect", "--rejects", tmp_path / f"rejects.{suffix}"]
    files = [tmp_path / f"{name}.{suffix}" for name in ("keep", *(["rejects"] if "--rejects" in words else []))]
    for before in (None, "what was there\n"):
        if before is not None:
            for path in files:
                path.write_text(before)
        done = piped(text, *words, "--out", files[0])
        assert done.exit_code == (0 if why == "nothing" else 1), done.stderr
        assert sorted(tmp_path.iterdir()) == sorted([asked, *(files if before else [])])
        assert before is None or [path.read_text() for path in files] == [before] * len(files)


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
def test_files_begin_anew_with_the_first_answer(suffix: str, asked: Path, tmp_path: Path) -> None:
    out, rejects = tmp_path / "keep.ndjson", tmp_path / f"rejects.{suffix}"
    for path in (out, rejects):
        path.write_text("what was there\n" * 100)
    words = ["replay", "--publications", "-", "--subscriptions", asked, "--out", out]
    words += ["--on-error", "collect", "--rejects", rejects]
    assert piped("nonsense\n", *words).exit_code == 0
    assert out.read_text().count("\n") == 100
    assert [str(row["row"]) for row in read_table(rejects).table.to_pylist()] == ["1"]
    assert piped(GOOD, *words).exit_code == 0
    assert [row["publication"] for row in read_table(out).table.to_pylist()] == [1]
    assert "nonsense" not in rejects.read_text()
    assert rejects.read_text().count("\n") == (1 if suffix == "csv" else 0)


def grown(path: Path, n_lines: int) -> list[str]:
    """The lines of a file, once there are so many."""
    for _ in range(600):
        if path.exists() and path.read_text().count("\n") >= n_lines:
            break
        time.sleep(0.1)
    return path.read_text().splitlines()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals for one process.")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_growing_file_until_somebody_ends_it(name: str, asked: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "said.ndjson", tmp_path / "changes.ndjson"
    path.write_text('{"id": 1, "ts": 5, "point": [0.5]}\n{"id": 2, "ts": 6,')
    words = ["--publications", path, "--subscriptions", asked, "--follow", "--out", out, "--engine", "oracle"]
    run = process("replay", *words)
    assert len(grown(out, 1)) == 1
    with path.open("a") as file:
        file.write(' "point": [0.25]}\n{"id": 3')
    assert [json.loads(line)["publication"] for line in grown(out, 3)] == [1, 1, 2]
    run.send_signal(getattr(signal, name))
    said, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (0, "")
    assert "publications              2" in said


def test_a_second_follower_is_refused(asked: Path, tmp_path: Path) -> None:
    path = tmp_path / "changes.ndjson"
    words = ["replay", "--follow", "--subscriptions", asked, "--publications", "-"]
    for option in ("--out", "--rejects"):
        with growing_file(path) as writer:
            writer.begin(small("window").publications.schema)
            writer.write(small("window").publications.slice(0, 1))
            why = failure(*words, option, path, *(["--on-error", "collect"] if option == "--rejects" else []))
            assert why == f"{path} cannot be written: it is being written already."
        assert path.read_text().count("\n") == 1


def test_a_pipe_that_stays_open(asked: Path) -> None:
    words = ["--publications", "-", "--subscriptions", asked, "--json", "--engine", "oracle"]
    run = process("replay", *words, stdin=subprocess.PIPE)
    assert run.stdin is not None
    assert run.stdout is not None
    run.stdin.write('{"id": 1, "ts": 5, "point": [0.5]}\n')
    run.stdin.flush()
    assert json.loads(run.stdout.readline())["publication"] == 1
    run.stdin.write('{"id": 2, "ts": 6, "point": [0.25]}')
    said, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (0, "")
    assert [json.loads(line).get("op") for line in said.splitlines()] == ["leave", "enter", None]
