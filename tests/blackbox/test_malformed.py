"""Malformed files: one clear sentence and nothing left behind; where rows are collected, the good ones are answered."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.blackbox.command import Commands, Done
from tests.blackbox.faults import GOOD_IN_CSV, TABLES, Table
from tests.blackbox.files import read_log, read_rows, write_rows
from tests.blackbox.stream import Stream

pytestmark = pytest.mark.jit_only

Files = dict[str, Path]
# A row as the JSON text of each of its cells.
Texts = dict[str, str]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """One warm process for all commands of this file."""
    running = Commands(tmp_path_factory.mktemp("printed"))
    folder = tmp_path_factory.mktemp("good")
    for family in ("window", "geotext", "ranges", "ranked", "covering"):
        running.warm(family, *words(family, good_files(folder, family)), "--json")
    yield running
    running.close()


def good_files(folder: Path, family: str, suffix: str = "ndjson") -> Files:
    """The files of a family, all rows of which are good."""
    tables = {which: table for (of, which), table in TABLES.items() if of == family}
    return {which: write_rows(folder / f"{which}.{suffix}", table.good) for which, table in tables.items()}


def words(family: str, files: Files) -> list[object]:
    """The command that reads these files."""
    if family == "covering":
        return ["cover", files["subscriptions"]]
    return ["replay", family, *(word for which, path in files.items() for word in (f"--{which}", path))]


def check_sentence(done: Done, code: int = 1) -> str:
    """The command failed with one clear sentence."""
    assert done.code == code, done.describe()
    lines = done.err.strip().splitlines()
    assert len(lines) == 1, done.describe()
    assert lines[0].startswith("Error: "), done.describe()
    assert lines[0].endswith("."), done.describe()
    assert "nforeseen" not in done.err, done.describe()
    assert "Traceback" not in done.err, done.describe()
    return lines[0]


def faults(table: Table, suffix: str) -> list[tuple[str, str, Texts]]:
    """Column, cell and row of every bad row of a table."""
    found: list[tuple[str, str, Texts]] = []
    for column, cells in table.bad.items():
        for text in cells:
            if suffix == "csv" and text in GOOD_IN_CSV.get(column, ()):
                continue
            row = table.good[0] | {"id": 1000 + len(found)}
            texts = {name: text if name == column else json.dumps(value) for name, value in row.items()}
            found.append((column, text, texts))
    return found


def cell(text: str) -> str:
    """A JSON text as a CSV cell."""
    if text == "null":
        return ""
    return json.loads(text) if text.startswith('"') else text


def write_texts(path: Path, rows: list[Texts]) -> Path:
    """Write rows whose cells may be anything."""
    if path.suffix == ".csv":
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows([[cell(text) for text in row.values()] for row in rows])
        path.write_text(file.getvalue())
    else:
        lines = ["{" + ", ".join(f'"{name}": {text}' for name, text in row.items()) + "}" for row in rows]
        path.write_text("\n".join(lines) + "\n")
    return path


def good_texts(table: Table) -> list[Texts]:
    return [{name: json.dumps(value) for name, value in row.items()} for row in table.good]


CELLS = [
    (*key, column, cells[i % len(cells)])
    for key, table in TABLES.items()
    for i, (column, cells) in enumerate(table.bad.items())
]
ALL_CELLS = [(*key, column, text) for key, table in TABLES.items() for column, text, _ in faults(table, "ndjson")]
# Where two columns disagree, either may be named.
PAIRS = {"lo": "hi", "hi": "lo", "terms": "weights", "weights": "terms"}


@pytest.mark.parametrize("suffix", ["ndjson", "csv"])
@pytest.mark.parametrize(("family", "which"), TABLES)
def test_bad_rows_are_collected(commands: Commands, tmp_path: Path, family: str, which: str, suffix: str) -> None:
    table = TABLES[family, which]
    bad = faults(table, suffix)
    files = good_files(tmp_path, family, suffix)
    write_texts(files[which], [*good_texts(table)[:2], *(row for _, _, row in bad), *good_texts(table)[2:]])
    rejects, log = tmp_path / "rejects.ndjson", tmp_path / "log.ndjson"
    done = commands.run(*words(family, files), *collecting(family, rejects), "--out", log, "--json")
    assert done.document()["n_rejected"] == len(bad)
    found = {row["row"]: row["column"] for row in read_rows(rejects)}
    for i, (column, text, _) in enumerate(bad, 3):
        assert found.pop(i, None) in (column, PAIRS.get(column, column)), f"row {i}, {column} {text}"
    assert not found
    assert_good_rows_answered(family, log)


def collecting(family: str, rejects: Path) -> list[object]:
    """The options that leave bad rows out and write them to a file."""
    return [*([] if family == "covering" else ["--on-error", "collect"]), "--rejects", rejects]


def assert_good_rows_answered(family: str, log: Path) -> None:
    if family == "covering":
        assert [row["id"] for row in read_rows(log)] == [0]
        return
    stream = Stream(family, TABLES[family, "publications"].good, TABLES[family, "subscriptions"].good)
    assert read_log(log) == stream.expected()


def check_cell(commands: Commands, folder: Path, key: tuple[str, str], column: str, text: str) -> None:
    """A bad cell stops the command with a sentence that says where it is."""
    table = TABLES[key]
    row = next(texts for name, bad, texts in faults(table, "ndjson") if (name, bad) == (column, text))
    files = good_files(folder, key[0])
    write_texts(files[key[1]], [*good_texts(table), row])
    before = set(folder.iterdir())
    said = check_sentence(commands.run(*words(key[0], files), "--out", folder / "log.parquet"))
    places = {f"row {len(table.good) + 1}, column {name}" for name in (column, PAIRS.get(column, column))}
    assert any(place in said for place in places), said
    assert files[key[1]].name in said
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(("family", "which", "column", "text"), CELLS)
def test_a_bad_row_is_one_sentence(
    commands: Commands, tmp_path: Path, family: str, which: str, column: str, text: str
) -> None:
    check_cell(commands, tmp_path, (family, which), column, text)


@pytest.mark.soak
def test_every_bad_row_is_one_sentence(commands: Commands, tmp_path: Path) -> None:
    for family, which, column, text in ALL_CELLS:
        check_cell(commands, tmp_path, (family, which), column, text)
