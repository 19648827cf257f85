"""Files that are wrong as a whole, or odd and right all the same: every format, and every command that reads them."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.blackbox.command import Commands, Done
from tests.blackbox.faults import TABLES
from tests.blackbox.files import read_log, read_rows, write_rows
from tests.blackbox.stream import Stream
from tests.blackbox.test_malformed import check_sentence

pytestmark = pytest.mark.jit_only

POINTS = TABLES["window", "publications"].good
ASKED = TABLES["window", "subscriptions"].good
BOXES = TABLES["covering", "subscriptions"].good
Spoil = Callable[[bytes], bytes]
LONG = 200_000


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """One warm process for all commands of this file."""
    running = Commands(tmp_path_factory.mktemp("printed"))
    folder = tmp_path_factory.mktemp("good")
    for command in COMMANDS:
        running.warm(command, *reading(command, folder, write_rows(folder / "bad.ndjson", good(command))))
    yield running
    running.close()


COMMANDS = ("replay", "top", "cover")


def good(command: str) -> list[dict[str, object]]:
    """Good rows of the file that a command is given."""
    return BOXES if command == "cover" else POINTS


def reading(command: str, folder: Path, path: Path) -> list[object]:
    """A command that reads a file, beside a good one where it needs two."""
    if command == "cover":
        return ["cover", path]
    subscriptions = write_rows(folder / "subscriptions.ndjson", ASKED)
    return [command, "window", "--publications", path, "--subscriptions", subscriptions]


def widened(data: bytes, name: bytes) -> bytes:
    """A CSV file with one more column."""
    lines = data.splitlines()
    return b"\n".join([lines[0] + b"," + name, *(line + b"," for line in lines[1:])]) + b"\n"


def cut(share: float) -> Spoil:
    return lambda data: data[: int(len(data) * share)]


def header_twice(data: bytes) -> bytes:
    return b"\n".join(line + b"," + line.split(b",")[0] for line in data.split(b"\n") if line)


# What is done to the bytes of a good file of a format, so that nothing in it can be used.
HOPELESS: list[tuple[str, str, Spoil]] = [
    *[(f"cut at {share}", "parquet", cut(share)) for share in (0.0, 0.01, 0.3, 0.6, 0.99)],
    ("overwritten", "parquet", lambda data: data[:40] + b"\xff" * 200 + data[240:]),
    ("footer overwritten", "parquet", lambda data: data[:-60] + b"\x00" * 52 + data[-8:]),
    ("text", "parquet", lambda data: b"id,ts\n1,2\n"),
    ("gzip", "parquet", gzip.compress),
    ("empty", "csv", lambda data: b""),
    ("blank lines", "csv", lambda data: b"\n\n\n"),
    ("long quoted header", "csv", lambda data: b'"' + data.replace(b'"', b"") + b"x" * LONG + b'"\n'),
    ("BOM alone", "csv", lambda data: b"\xef\xbb\xbf"),
    ("quote not closed", "csv", lambda data: data + b'9,"9\n'),
    ("duplicate column", "csv", header_twice),
    ("other columns", "csv", lambda data: b"a,b\n1,2\n"),
    ("latin-1", "csv", lambda data: data + b"\xe9,1,1\n"),
    ("UTF-16", "csv", lambda data: data.decode().encode("utf-16")),
    ("NUL bytes alone", "csv", lambda data: b"\x00" * 100),
    ("empty", "ndjson", lambda data: b""),
    ("blank lines", "ndjson", lambda data: b"\n \n\n"),
    ("UTF-16", "ndjson", lambda data: data.decode().encode("utf-16")),
    ("latin-1", "ndjson", lambda data: data + b'{"id": "\xe9"}\n'),
    ("other columns", "ndjson", lambda data: b'{"a": 1}\n'),
    ("empty", "json", lambda data: b""),
    ("no rows", "json", lambda data: b"[]"),
    ("array not closed", "json", lambda data: b"[" + data.split(b"\n")[0] + b","),
    ("deep", "json", lambda data: b"[" * 100_000),
    ("empty", "ndjson.gz", lambda data: b""),
    ("cut", "ndjson.gz", lambda data: gzip.compress(data)[:-12]),
    ("not compressed", "ndjson.gz", lambda data: data),
    ("spoiled", "csv.gz", lambda data: gzip.compress(data)[:20] + b"\x00" * 9 + gzip.compress(data)[29:]),
]  # fmt: skip


def written(folder: Path, command: str, suffix: str, spoil: Spoil) -> Path:
    """A good file, spoiled."""
    plain = {"json": "ndjson", "ndjson.gz": "ndjson", "csv.gz": "csv"}.get(suffix, suffix)
    whole = write_rows(folder / f"whole.{plain}", good(command))
    path = folder / f"bad.{suffix}"
    path.write_bytes(spoil(whole.read_bytes()))
    whole.unlink()
    return path


@pytest.mark.parametrize(("suffix", "spoil"), [each[1:] for each in HOPELESS], ids=[f"{b} {a}" for a, b, _ in HOPELESS])
def test_a_file_that_is_wrong_is_one_sentence(commands: Commands, tmp_path: Path, suffix: str, spoil: Spoil) -> None:
    for command in COMMANDS:
        path = written(tmp_path, command, suffix, spoil)
        words = reading(command, tmp_path, path)
        before = set(tmp_path.iterdir())
        said = check_sentence(commands.run(*words, "--out", tmp_path / "out.parquet"))
        assert path.name in said or "fit no family" in said
        assert set(tmp_path.iterdir()) == before


def line(**more: object) -> bytes:
    return json.dumps({"id": 1001, "ts": 5, "point": [1.0, 1.0], "lo": [0, 0], "hi": [1, 1]} | more).encode() + b"\n"


# What is added to good rows, so that it is one bad row.
BAD_LINES: list[tuple[str, str, bytes]] = [
    ("cut", "ndjson", b'{"id": 1001, "ts'),
    ("not an object", "ndjson", b"[1, 2]\n"),
    ("null", "ndjson", b"null\n"),
    ("two objects", "ndjson", b'{"id": 1001} {"id": 1002}\n'),
    ("NUL bytes", "ndjson", b"\x00\x00\n"),
    ("deep", "ndjson", b'{"id": ' + b"[" * 100_000 + b"\n"),
    ("deep and closed", "ndjson", line(id="X").replace(b'"X"', b"[" * 5000 + b"]" * 5000)),
    ("many digits", "ndjson", line(id="X").replace(b'"X"', b"1" * 5000)),
    ("long id in a list", "ndjson", line(id=["x" * LONG])),
    ("lone surrogate", "ndjson", line(id="X").replace(b'"X"', b'"\\ud800"')),
    ("too few cells", "csv", b"1001\n"),
    ("too many cells", "csv", b"1001,1,1,1,1,1,1\n"),
    ("long cell", "csv", b"1001," + b"9" * LONG + b',"[1, 1]"\n'),
    ("long list", "csv", b'1001,1,"[' + b"1, " * LONG + b'1]"\n'),
    ("deep", "csv", b"1001,1," + b"[" * 100_000 + b"\n"),
    ("NUL bytes", "csv", b'1001,1,"[1, \x001]"\n'),
]  # fmt: skip


def assert_answered(command: str, done: Done, out: Path) -> None:
    """The good rows were answered, as if nothing else had been there."""
    assert done.code == 0, done.describe()
    if command == "cover":
        assert [row["id"] for row in read_rows(out)] == [0]
    else:
        assert read_log(out) == Stream("window", POINTS, ASKED).expected()


@pytest.mark.parametrize(
    ("suffix", "added"), [each[1:] for each in BAD_LINES], ids=[f"{b} {a}" for a, b, _ in BAD_LINES]
)
def test_a_line_that_is_wrong_is_one_reject(commands: Commands, tmp_path: Path, suffix: str, added: bytes) -> None:
    for command in ("replay", "cover"):
        words = reading(command, tmp_path, written(tmp_path, command, suffix, lambda data: data + added))
        before = set(tmp_path.iterdir())
        out, rejects = tmp_path / "out.parquet", tmp_path / "rejects.ndjson"
        assert f"row {len(good(command)) + 1}" in check_sentence(commands.run(*words, "--out", out))
        assert set(tmp_path.iterdir()) == before
        collect = ["--on-error", "collect"] if command == "replay" else []
        assert_answered(command, commands.run(*words, *collect, "--rejects", rejects, "--out", out), out)
        found = read_rows(rejects)
        assert [row["row"] for row in found] == [len(good(command)) + 1]
        assert len(found[0]["value"]) <= 80
        out.unlink()
        rejects.unlink()


# What is done to a good file that leaves it a good one.
HARMLESS: list[tuple[str, str, Spoil]] = [
    ("CRLF", "csv", lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
    ("LF", "csv", lambda data: data.replace(b"\r\n", b"\n")),
    ("CRLF", "ndjson", lambda data: data.replace(b"\n", b"\r\n")),
    ("no last line end", "csv", lambda data: data.rstrip()),
    ("no last line end", "ndjson", lambda data: data.rstrip()),
    ("BOM", "csv", lambda data: b"\xef\xbb\xbf" + data),
    ("BOM", "ndjson", lambda data: b"\xef\xbb\xbf" + data),
    ("long name of an unknown column", "csv", lambda data: widened(data, b"x" * LONG)),
    ("unknown column", "csv", lambda data: widened(data, b"other")),
    ("unknown column", "ndjson", lambda data: data.replace(b'{"id"', b'{"other": {"a": [null]}, "id"')),
    ("long unknown text", "ndjson", lambda data: data.replace(b'{"id"', b'{"other": "' + b"x" * LONG + b'", "id"')),
    ("blank lines", "ndjson", lambda data: data.replace(b"\n", b"\n\n")),
    ("array", "json", lambda data: b"[" + b",".join(data.splitlines()) + b"]"),
    ("lines", "json", lambda data: data),
    ("compressed", "ndjson.gz", gzip.compress),
    ("compressed", "csv.gz", gzip.compress),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "spoil"), [each[1:] for each in HARMLESS], ids=[f"{b} {a}" for a, b, _ in HARMLESS])
def test_an_odd_file_is_read(commands: Commands, tmp_path: Path, suffix: str, spoil: Spoil) -> None:
    out = tmp_path / "out.parquet"
    for command in ("replay", "cover"):
        words = reading(command, tmp_path, written(tmp_path, command, suffix, spoil))
        assert_answered(command, commands.run(*words, "--out", out), out)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson", "json", "csv.gz"])
def test_a_folder_is_no_file(commands: Commands, tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / f"bad.{suffix}"
    folder.mkdir()
    for command in COMMANDS:
        assert folder.name in check_sentence(commands.run(*reading(command, tmp_path, folder)))
        assert "There is no file" in check_sentence(commands.run(*reading(command, tmp_path, folder / f"no.{suffix}")))


ID, TS, POINT = pa.array(range(4)), pa.array([0, 10, 20, 30]), pa.array([row["point"] for row in POINTS])
TIMES = pa.array([0, 10, 20, 30], pa.timestamp("us"))


def parquet(folder: Path, id: pa.Array = ID, ts: pa.Array = TS, point: pa.Array = POINT) -> Path:
    """The good points with some of their columns of other types."""
    pq.write_table(pa.table({"id": id, "ts": ts, "point": point}), folder / "typed.parquet")
    return folder / "typed.parquet"


GOOD_TYPES: dict[str, dict[str, pa.Array]] = {
    "id uint64": {"id": ID.cast(pa.uint64())},
    "id int8": {"id": ID.cast(pa.int8())},
    "id dictionary": {"id": ID.dictionary_encode()},
    "ts zone": {"ts": TIMES.cast(pa.timestamp("us", "Asia/Tokyo"))},
    "ts ns": {"ts": TIMES.cast(pa.timestamp("ns", "UTC"))},
    "ts dictionary": {"ts": TS.dictionary_encode()},
    "ts uint32": {"ts": TS.cast(pa.uint32())},
    "ts whole float": {"ts": TS.cast(pa.float64())},
    "point large_list": {"point": POINT.cast(pa.large_list(pa.float64()))},
    "point fixed_size_list": {"point": POINT.cast(pa.list_(pa.float64(), 2))},
    "point float": {"point": POINT.cast(pa.list_(pa.float32()))},
    "point halffloat": {"point": POINT.cast(pa.list_(pa.float16()))},
    "point integers": {"point": POINT.cast(pa.list_(pa.int16()))},
}


@pytest.mark.parametrize("name", GOOD_TYPES)
def test_other_types_are_read(commands: Commands, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out.parquet"
    words = reading("replay", tmp_path, parquet(tmp_path, **GOOD_TYPES[name]))
    assert_answered("replay", commands.run(*words, "--out", out), out)


STRUCTS = pa.array([{"a": 1}] * 4)
BAD_TYPES: dict[str, dict[str, pa.Array]] = {
    "id float": {"id": ID.cast(pa.float64())},
    "id bool": {"id": ID.cast(pa.bool_())},
    "id struct": {"id": STRUCTS},
    "id null": {"id": pa.nulls(4)},
    "id decimal": {"id": ID.cast(pa.decimal128(20))},
    "id uint64 too large": {"id": pa.array([1, 2, 3, 2**64 - 1], pa.uint64())},
    "id binary": {"id": pa.array([b"a", b"b", b"c", b"\xff"])},
    "ts bool": {"ts": TS.cast(pa.bool_())},
    "ts fraction": {"ts": pa.array([0, 1, 2, 3], pa.timestamp("ns"))},
    "ts time of day": {"ts": pa.array([0, 1, 2, 3], pa.time64("us"))},
    "ts duration": {"ts": pa.array([0, 1, 2, 3], pa.duration("us"))},
    "ts struct": {"ts": STRUCTS},
    "point struct": {"point": STRUCTS},
    "point strings": {"point": pa.array([["1", "2"]] * 4)},
    "point bools": {"point": pa.array([[True, False]] * 4)},
    "point lists of lists": {"point": pa.array([[[1.0]]] * 4)},
    "point structs": {"point": pa.array([[{"a": 1}]] * 4)},
    "point map": {"point": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64()))},
    "point nested nulls": {"point": pa.array([[None, 1.0]] * 4)},
    "point all null": {"point": pa.nulls(4)},
    "point times": {"point": pa.array([[1, 2]] * 4, pa.list_(pa.timestamp("us")))},
}


@pytest.mark.parametrize("name", BAD_TYPES)
def test_types_that_do_not_fit_are_one_sentence(commands: Commands, tmp_path: Path, name: str) -> None:
    words = reading("replay", tmp_path, parquet(tmp_path, **BAD_TYPES[name]))
    before = set(tmp_path.iterdir())
    assert "typed.parquet" in check_sentence(commands.run(*words, "--out", tmp_path / "out.parquet"))
    assert set(tmp_path.iterdir()) == before


def test_parquet_with_two_columns_of_one_name_or_too_few(commands: Commands, tmp_path: Path) -> None:
    path = tmp_path / "typed.parquet"
    table = pa.table({"id": ID, "ts": TS, "point": POINT})
    twice = pa.Table.from_arrays([ID, TS, POINT, TS], names=["id", "ts", "point", "ts"])
    for bad in (twice, table.select(["id"]), table.select([])):
        pq.write_table(bad, path)
        assert path.name in check_sentence(commands.run(*reading("replay", tmp_path, path)))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_no_rows_under_a_header_are_no_answers(commands: Commands, tmp_path: Path, suffix: str) -> None:
    path, out = tmp_path / f"none.{suffix}", tmp_path / "out.parquet"
    for command in ("replay", "cover"):
        if suffix == "csv":
            path.write_text(",".join(good(command)[0]) + "\n")
        else:
            pq.write_table(pa.Table.from_pylist(good(command)).slice(0, 0), path)
        done = commands.run(*reading(command, tmp_path, path), "--out", out)
        assert done.code == 0, done.describe()
        assert read_rows(out) == []
