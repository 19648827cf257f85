"""Following: the changes of publications that come bit by bit are those of the whole file."""

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from skyband import Rejected
from skyband.replay import Plan, follow, growing_file
from skyband.replay.growing import file_bytes, readings, stream_bytes
from skyband.table import Reading, Reject, UnreadableFile, read_table
from skyband.table.write import json_rows
from tests.replay.small import FAMILIES, Kept, oracle_changes, small

NEVER = bool
ASKED = [{"id": "ann", "k": 1, "score": "euclidean", "point": [0.0], "window_n": 5}]


def lines_of(family: str) -> list[bytes]:
    return [line.encode() + b"\n" for line in json_rows(small(family).publications)]


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("family", FAMILIES)
def test_bits_of_lines_lead_to_the_changes_of_the_file(family: str) -> None:
    kept, work = Kept(), small(family)
    batches = readings(cut(b"".join(lines_of(family)), 37), 1, NEVER)
    plan = Plan(family=family, granularity="publication")
    summary = follow(batches, work.subscriptions, plan, name="stream", writer=kept)
    assert summary is not None
    assert kept.rows == oracle_changes(work, "publication", 1)
    assert summary.n_publications == len(work.publications)


def test_lines_are_numbered_from_the_first() -> None:
    chunks = [b'\xef\xbb\xbf{"a": 1}\n\n{"a"', b': 2}\nbad\n{"a": 3}\n\xff\n', b'{"a": 4}']
    found = list(readings(iter(chunks), 3, NEVER))
    assert [read.table.to_pylist() for read in found] == [[{"a": 1}], [{"a": 2}, {"a": 3}], []]
    assert [read.row_numbers.tolist() for read in found] == [[1], [3, 5], []]
    assert [(reject.row, reject.reason) for read in found for reject in read.rejects] == [
        (4, "the line is not a JSON object (Expecting value: line 1 column 1 (char 0))"),
        (6, "the line is not UTF-8"),
    ]


def said(*rows: Any) -> Iterator[Reading]:
    """A batch for each row."""
    return readings((json.dumps(row).encode() + b"\n" for row in rows), 10, NEVER)


def test_bad_rows_are_collected_with_their_lines() -> None:
    rows = [
        "nonsense",
        {"id": None, "ts": 1, "point": [1.0]},
        {"id": 1, "ts": 1, "point": [1.0]},
        {"id": "x", "ts": 2, "point": [0.5]},
        {"id": 2, "ts": 3},
        {"id": 1, "ts": 4, "point": [0.5]},
        {"id": 3, "ts": 5, "point": [0.5, 0.5]},
        {"id": 4, "ts": 6, "point": [0.25]},
    ]
    told: list[tuple[str, Reject]] = []
    kept = Kept()
    summary = follow(
        said(*rows), ASKED, Plan(on_error="collect"), name="stream", writer=kept,
        refused=lambda noun, rejects: told.extend((noun, reject) for reject in rejects),
    )  # fmt: skip
    assert summary is not None
    assert [(row["publication"], row["op"]) for row in kept.rows] == [(1, "enter"), (1, "leave"), (4, "enter")]
    assert {noun for noun, _ in told} == {"publications"}
    assert [(reject.row, reject.column) for _, reject in told] == [
        (1, ""),
        (2, "id"),
        (4, "id"),
        (5, "point"),
        (6, "id"),
        (7, "point"),
    ]
    assert (summary.n_rejected, summary.n_publications) == (6, 2)
    assert told[2][1].reason == "id is text in a column that began with an integer; one column has one type of id"


@pytest.mark.parametrize("rows", [["nonsense"], [{"id": 1, "ts": 1, "point": [1.0]}, {"id": 2, "ts": None}]])
def test_a_bad_row_stops_a_run_that_does_not_collect(rows: list[Any]) -> None:
    with pytest.raises(Rejected, match=f"^stream: row {len(rows)}, "):
        follow(said(*rows), ASKED, Plan(), name="stream", writer=Kept())


def test_nothing_came() -> None:
    assert follow(said(), ASKED, Plan(), name="stream", writer=Kept()) is None
    assert follow(said("x"), ASKED, Plan(on_error="collect"), name="stream", writer=Kept()) is None


def test_words_are_counted_in_the_first_batch() -> None:
    asked = [{"id": "ann", "k": 1, "x": 0.5, "y": 0.5, "alpha": 0.5, "text": "jazz"}]
    rows = [{"id": i, "ts": i, "x": 0.5, "y": 0.5, "text": "jazz tonight"} for i in range(2)]
    summary = follow(said(*rows), asked, Plan(), name="stream", writer=Kept())
    assert summary is not None
    assert summary.notes[0] == (
        "Weights that were not given are tf-idf, with the document frequencies of the first batch."
    )


def test_a_file_is_followed_while_it_grows(tmp_path: Path) -> None:
    path, asked = tmp_path / "grows.ndjson", threading.Event()
    path.write_bytes(b"first\nsec")
    found = b""
    for some in file_bytes(path, asked.is_set):
        found += some
        if found == b"first\nsec":
            with path.open("ab") as file:
                file.write(b"ond\n")
        else:
            asked.set()
    assert found == b"first\nsecond\n"
    followed = file_bytes(path, NEVER)
    next(followed)
    path.write_bytes(b"")
    with pytest.raises(UnreadableFile, match=r"has become shorter while it was followed\.$"):
        next(followed)
    with pytest.raises(UnreadableFile, match=r"^There is no file"):
        next(file_bytes(tmp_path / "none.ndjson", NEVER))


def test_a_stream_ends_or_is_left() -> None:
    chunks = iter([b"a\nb", b"c", b""])
    assert list(stream_bytes(lambda: next(chunks), NEVER)) == [b"a\nb", b"c", b"\n"]
    asked = threading.Event()
    threading.Timer(0.3, asked.set).start()
    waits = threading.Event()

    def wait() -> bytes:
        waits.wait(10)
        return b""

    began = time.monotonic()
    assert list(stream_bytes(wait, asked.is_set)) == []
    waits.set()
    assert time.monotonic() - began < 5


def test_who_asks_to_stop_is_heard_between_batches() -> None:
    asked = threading.Event()
    found = readings(iter([b'{"a": 1}\n{"a": 2}\n{"a": 3}\n']), 1, asked.is_set)
    next(found)
    asked.set()
    assert list(found) == []


def test_a_growing_file_can_be_read_at_any_time(tmp_path: Path) -> None:
    path, kept = tmp_path / "changes.ndjson", small("window").publications
    with growing_file(path) as writer:
        writer.begin(kept.schema)
        for start in (0, 1):
            writer.write(kept.slice(start, 1))
            assert len(read_table(path).table) == start + 1


def test_a_growing_file_has_one_writer(tmp_path: Path) -> None:
    path, kept = tmp_path / "changes.ndjson", small("window").publications
    path.write_text("what was there before\n" * 100)
    with growing_file(path) as writer:
        assert path.read_text().count("\n") == 100
        writer.begin(kept.schema)
        writer.write(kept.slice(0, 1))
        with pytest.raises(ValueError, match=r"changes\.ndjson cannot be written: it is being written already\.$"):
            growing_file(path).__enter__()
        writer.write(kept.slice(1, 1))
    assert len(read_table(path).table) == 2
    with growing_file(path) as writer:
        writer.begin(kept.schema)
        assert path.read_bytes() == b""
    with pytest.raises(ValueError, match=r"cannot be written: No such file or directory\.$"):
        growing_file(tmp_path / "none" / "changes.ndjson").__enter__()


def test_a_file_that_is_never_begun_stays_as_it_was(tmp_path: Path) -> None:
    there, new, link = (tmp_path / f"{name}.ndjson" for name in ("there", "new", "link"))
    there.write_text("before")
    link.symlink_to("linked.ndjson")
    for path in (there, new, link):
        with growing_file(path), pytest.raises(ValueError, match="being written already"):
            growing_file(path).__enter__()
        with pytest.raises(KeyboardInterrupt), growing_file(path):
            raise KeyboardInterrupt
    assert there.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [link, there]


def test_a_file_that_somebody_else_has_made_meanwhile_stays(tmp_path: Path) -> None:
    path, other = tmp_path / "changes.ndjson", tmp_path / "other.ndjson"
    other.write_text("")
    with growing_file(path):
        other.replace(path)
    assert path.exists()
    path.unlink()
    with growing_file(path):
        path.unlink()
    assert not path.exists()


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    path, lock, kept = tmp_path / "changes.ndjson", fcntl.flock, small("window").publications

    def remove_and_lock(*given: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        path.unlink()
        lock(*given)

    monkeypatch.setattr(fcntl, "flock", remove_and_lock)
    with growing_file(path) as writer:
        writer.begin(kept.schema)
        writer.write(kept.slice(0, 1))
    assert len(read_table(path).table) == 1


def test_what_is_wrong_without_publications_is_told_before_any_is_asked_for() -> None:
    def unasked(turn: int) -> Reading:
        raise AssertionError

    texts = [{"id": "ann", "k": 1, "x": 0.5, "y": 0.5, "alpha": 2.0, "text": "jazz"}]
    box = [{"id": "ann", "lo": [0.0], "hi": [1.0], "weights": [1.0], "dims": [0]}]
    wrong: list[tuple[Any, Plan, str]] = [
        (ASKED, Plan(engine="nosuch"), "has no engine 'nosuch'"),
        (ASKED, Plan(engine_options={"foo": "1"}), "has no option 'foo'"),
        (ASKED, Plan(k=3), "k and matching are options"),
        (ASKED, Plan(bounds="geographic"), "no bounds"),
        ([{**ASKED[0], "k": 0}], Plan(), "column k, value 0"),
        (texts, Plan(), "column alpha, value 2.0"),
        (box, Plan(family="ranked", engine="nosuch"), "has no engine 'nosuch'"),
        (pa.table({"id": ["ann"], "k": [1]}), Plan(family="window"), "score"),
    ]
    for asked, plan, why in wrong:
        with pytest.raises(ValueError, match=why):
            follow(map(unasked, [1]), asked, plan, name="stream", writer=Kept())


def test_subscriptions_without_a_good_line_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "asked.ndjson"
    path.write_text("nonsense\n")
    with pytest.raises(Rejected, match=r"asked\.ndjson: row 1, "):
        follow(said(), path, Plan(on_error="collect"), name="stream", writer=Kept())


def test_a_first_batch_that_fails_begins_nothing() -> None:
    class Unbegun:
        def begin(self, schema: pa.Schema) -> None:
            raise AssertionError

        def write(self, table: pa.Table) -> None:
            raise AssertionError

    gone, rows = {"id": 1, "op": "retract"}, [{"id": id, "ts": ts, "point": [1.0]} for id, ts in ((1, 1), (2, 2**62))]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    batches = [*said(gone), *readings(iter([lines]), 10, NEVER)]
    with pytest.raises(Rejected, match="lies beyond"):
        follow(iter(batches), ASKED, Plan(batch=1), name="stream", writer=Unbegun())


def test_files_without_locks_grow_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*given: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    kept = small("window").publications
    with growing_file(tmp_path / "one.ndjson") as writer:
        writer.begin(kept.schema)
        writer.write(kept.slice(0, 1))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with growing_file(tmp_path / "one.ndjson") as writer:
        writer.begin(kept.schema)
        writer.write(kept.slice(0, 2))
    assert len(read_table(tmp_path / "one.ndjson").table) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="There are no named pipes.")
def test_a_named_pipe_grows(tmp_path: Path) -> None:
    path, found = tmp_path / "pipe.ndjson", list[str]()
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_text()), daemon=True)
    reader.start()
    with growing_file(path) as writer:
        writer.begin(small("window").publications.schema)
        writer.write(small("window").publications.slice(0, 1))
    reader.join(10)
    assert found[0].count("\n") == 1
