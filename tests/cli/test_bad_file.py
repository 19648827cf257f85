"""Bad files: one clear sentence, an exit code that is not 0, and no half-written output."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import document, failure, files

Spoil = Callable[[str], str]

SUBSCRIPTION = '{"id":9,"k":1,"score":"sum","weights":[1.0,1.0]'


def appended(line: str) -> Spoil:
    return lambda text: text + line + "\n"


# What is done to which file, and what has to be said of it.
BAD: list[tuple[str, str, Spoil, str]] = [
    ("missing column", "publications", lambda text: text.replace('"point"', '"spot"'),
     'Window publications need the column "point" (columns found: id, ts, spot).'),
    ("missing score", "subscriptions", lambda text: text.replace('"score"', '"scope"'),
     "The columns fit no family; name the family"),
    ("wrong type", "publications", appended('{"id":99,"ts":1,"point":"here"}'),
     "row 41, column point, value 'here': point must be a list of numbers."),
    ("wrong time", "publications", appended('{"id":99,"ts":"noon","point":[1.0,1.0]}'),
     "row 41, column ts, value 'noon'"),
    ("NaN", "publications", appended('{"id":99,"ts":1,"point":[1.0,NaN]}'), "row 41, column point, value [1.0, nan]"),
    ("duplicate subscription", "subscriptions", lambda text: text + text.splitlines()[0] + "\n",
     "row 7, column id, value 0: id is already in row 1."),
    ("k = 0", "subscriptions", appended(SUBSCRIPTION.replace('"k":1', '"k":0') + "}"),
     "row 7, column k, value 0: k must be at least 1."),
    ("negative window", "subscriptions", appended(SUBSCRIPTION + ',"window_n":-3}'),
     "row 7, column window_n, value -3: window_n must be greater than 0."),
    ("unknown score", "subscriptions", appended(SUBSCRIPTION.replace("sum", "best") + "}"), "row 7, column score"),
    ("empty", "publications", lambda text: "", "is empty: there are no publications in it."),
    ("empty too", "subscriptions", lambda text: "\n\n", "is empty: there are no subscriptions in it."),
    ("many digits", "publications", appended('{"id":99,"ts":' + "9" * 5000 + ',"point":[1.0,1.0]}'),
     "the line is not a JSON object (a number in it has too many digits)."),
    ("deep", "publications", appended('{"id":' + "[" * 100_000),
     "the line is not a JSON object (it is nested too deeply)."),
    ("no JSON", "subscriptions", lambda text: text[:-20], "row 6"),
    ("other columns", "subscriptions", lambda text: '{"id":1,"a":2}\n', "The columns fit no family; name the family"),
]  # fmt: skip


@pytest.mark.parametrize(("which", "spoil", "said"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
@pytest.mark.parametrize("command", ["replay", "top"])
def test_bad_rows_and_columns(command: str, which: str, spoil: Spoil, said: str, tmp_path: Path) -> None:
    words = files(tmp_path, "window", "ndjson")
    path = tmp_path / f"{which}.ndjson"
    path.write_text(spoil(path.read_text()))
    message = failure(command, *words, "--out", tmp_path / "out.parquet")
    assert said in message
    assert path.name in message or "fit no family" in message
    assert sorted(each.name for each in tmp_path.iterdir()) == ["publications.ndjson", "subscriptions.ndjson"]


def spoiled(tmp_path: Path, name: str, spoil: Callable[[Path], Any]) -> list[str]:
    words = files(tmp_path)
    bad = tmp_path / name
    spoil(bad)
    words[1] = str(bad)
    return words


def loop(path: Path) -> None:
    path.symlink_to(path)


def half(path: Path) -> None:
    whole = (path.parent / "publications.parquet").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("half.parquet", half, "is not a Parquet file, or not all of it is there."),
        ("empty.parquet", Path.touch, "is not a Parquet file, or not all of it is there."),
        ("empty.csv", Path.touch, "is empty; a CSV file begins with a header"),
        ("none.parquet", lambda path: None, "There is no file "),
        ("none.ndjson", lambda path: None, "There is no file "),
        ("some.txt", Path.touch, "cannot be read: its name must end in"),
        ("loop.parquet", loop, "cannot be opened: it is a link that leads back to itself."),
        ("loop.csv", loop, "cannot be opened: it is a link that leads back to itself."),
        ("folder.parquet", Path.mkdir, "is a folder, not a file."),
        ("folder.csv", Path.mkdir, "is a folder, not a file."),
        ("bytes.csv", lambda path: path.write_bytes(b"id,ts\n\xff,1\n"), "is not UTF-8 text"),
        ("long.csv", lambda path: path.write_text("x" * 200_000), 'need the column "id" (columns found: xxx'),
        (
            "open.csv",
            lambda path: path.write_text('id,ts,point\n1,1,"[1.0]\n'),
            "a quotation mark that is never closed",
        ),
        ("nul.csv", lambda path: path.write_bytes(b"i\0d\0,\0t\0s\0"), "has NUL bytes in its header"),
        ("half.ndjson.gz", lambda path: path.write_bytes(b"\x1f\x8b"), "is not a gzip file, or not all of it"),
    ],
)
def test_bad_files(name: str, spoil: Callable[[Path], Any], said: str, tmp_path: Path) -> None:
    words = spoiled(tmp_path, name, spoil)
    message = failure("replay", "window", *words, "--out", tmp_path / "out.parquet")
    assert said in message
    assert name in message
    left = {each.name for each in tmp_path.iterdir()} - {name}
    assert left == {"publications.parquet", "subscriptions.parquet"}


def test_a_long_cell_is_one_rejected_row(tmp_path: Path) -> None:
    long = "x" * 200_000
    lines = [f"id,ts,point,{long}", '1,1,"[1.0,1.0]",', f"2,2,{long},", '3,3,"[2.0,2.0]",', "\0,4,,"]
    words = spoiled(tmp_path, "long.csv", lambda path: path.write_text("\n".join(lines)))
    rejects = tmp_path / "rejects.ndjson"
    done = document("replay", "window", *words, "--on-error", "collect", "--rejects", rejects)
    assert (done["n_publications"], done["n_rejected"]) == (2, 2)
    told = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [(row["row"], row["column"], row["reason"]) for row in told] == [
        (2, "point", "point must be a list of numbers"),
        (4, "id", "the cell holds a NUL byte"),
    ]


def test_bad_targets_are_found_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("work has started")

    words = files(tmp_path)
    monkeypatch.setattr("skyband.replay.replay", work)
    monkeypatch.setattr("skyband.replay.top", work)
    for name in ("out.txt", "out", "out.csv"):
        assert "its name must end in .parquet" in failure("replay", *words, "--out", tmp_path / name, code=2)
    assert "its name must end in" in failure(
        "replay", *words, "--on-error", "collect", "--rejects", tmp_path / "some.txt", code=2
    )
    (tmp_path / "folder.parquet").mkdir()
    assert failure("replay", *words, "--out", tmp_path / "folder.parquet").endswith("it is a folder.")
    assert "there is no folder" in failure("replay", *words, "--out", tmp_path / "no" / "out.parquet")
    under = tmp_path / "subscriptions.parquet" / "out.parquet"
    assert "there is no folder" in failure("replay", *words, "--out", under)
    assert "there is no folder" in failure("top", *words, "--out", under)
    assert "is given twice" in failure("top", *words, "--out", tmp_path / "subscriptions.parquet", code=2)
