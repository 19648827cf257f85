"""The embedded log: what was appended is there, whole batches only, whatever happens to the writer or the disk."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.log import Log, LogInUse, LogTruncated, UnreadableLog
from tests.log.logs import BATCHES, filled, segments, texts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the log of a test lies."""
    return tmp_path / "log"


def test_records_are_numbered_and_read_back(folder: Path) -> None:
    with Log(folder) as log:
        assert log.append(["a", "", "ü€𝄞"]) == 0
        assert log.append([]) == 3
        assert log.append(["line\nbreak", "\0"]) == 3
        assert log.end == 5
    assert texts(Log(folder)) == ["a", "", "ü€𝄞", "line\nbreak", "\0"]


@given(BATCHES, st.integers(1, 3), st.data())
def test_any_range_is_what_was_appended(batches: list[list[str]], blocks: int, data: st.DataObject) -> None:
    everything = list(itertools.chain.from_iterable(batches))
    with tempfile.TemporaryDirectory() as folder:
        with Log(folder, segment_blocks=blocks) as log:
            for batch in batches:
                log.append(batch)
            start = data.draw(st.integers(0, len(everything)))
            end = data.draw(st.integers(start, len(everything)))
            limit = data.draw(st.none() | st.integers(0, 5))
            expected = everything[start:end][:limit]
            assert texts(log, start, end, limit) == expected
        assert texts(Log(folder), start, end, limit) == expected
        assert Log(folder).end == len(everything)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", "a", "b", "y"])[1:3],
        pa.array(["x", "a", "b"], pa.large_string())[1:],
        pa.array(["a", "b"], pa.string_view()),
        pa.chunked_array([["a"], [], ["b"]]),
        pa.chunked_array([["a", "b"]])[0:2],
        ("a", "b"),
    ],
)
def test_texts_come_in_any_shape(folder: Path, values: Any) -> None:
    with Log(folder) as log:
        log.append(values)
        assert texts(log) == ["a", "b"]


@pytest.mark.parametrize(
    "values",
    [["a", None], [1], pa.array([1, 2]), pa.array([b"a"]), ["\ud800"], pa.array([b"\xff"]).view(pa.string())],
)
def test_what_is_not_text_is_refused(folder: Path, values: Any) -> None:
    with Log(folder) as log:
        log.append(["a"])
        with pytest.raises(ValueError, match=r"^The records cannot be appended: .*\.$"):
            log.append(values)
        assert log.append(["b"]) == 1
        assert texts(log) == ["a", "b"]


def test_truncating_removes_whole_segments_only(folder: Path) -> None:
    with Log(folder, segment_blocks=1) as log:
        for batch in (["a", "b"], ["c", "d"], ["e"]):
            log.append(batch)
        log.truncate_before(3)
        assert (log.first, log.end) == (2, 5)
        assert texts(log, 2) == ["c", "d", "e"]
        log.truncate_before(100)
        assert (log.first, log.end) == (4, 5)
        assert log.append(["f"]) == 5
    reader = Log(folder)
    assert (reader.first, reader.end) == (4, 6)
    with pytest.raises(LogTruncated, match="begins at record 4: record 3 was removed"):
        reader.read(3)


def test_a_reader_whose_segment_goes_away_is_told(folder: Path) -> None:
    with Log(folder, segment_blocks=1) as log:
        for batch in (["a"], ["b"], ["c"]):
            log.append(batch)
        batches = Log(folder).batches(0)
        assert next(batches)["value"].to_pylist() == ["a"]
        log.truncate_before(2)
        with pytest.raises(LogTruncated, match="record 1 was removed"):
            next(batches)


@pytest.mark.parametrize(("start", "end"), [(4, None), (0, 4), (3, 4)])
def test_records_beyond_the_end_are_not_just_left_out(folder: Path, start: int, end: int | None) -> None:
    filled(folder, ["a", "b", "c"])
    with pytest.raises(UnreadableLog, match="has 3 records, but records up to 4 were asked for"):
        Log(folder).read(start, end)


def test_there_must_be_a_folder_to_read(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreadableLog, match=r"There is no log .*: the folder does not exist\."):
        _ = Log(folder).end
    (tmp_path / "file").write_text("")
    with pytest.raises(UnreadableLog, match="that is a file"):
        _ = Log(tmp_path / "file").end
    folder.mkdir()
    assert (Log(folder).first, Log(folder).end, Log(folder).last_batch) == (0, 0, -1)
    assert texts(Log(folder)) == []


def test_a_reader_sees_what_is_appended_later(folder: Path) -> None:
    with Log(folder, segment_blocks=2) as log:
        log.append(["0"])
        reader = Log(folder)
        for n in range(1, 8):
            assert reader.end == n
            assert texts(reader) == list(map(str, range(n)))
            log.append([str(n)])


def test_there_is_one_writer_at_a_time(folder: Path) -> None:
    with Log(folder) as log:
        log.append(["a"])
        with pytest.raises(LogInUse, match=f"The log {folder} has another writer"):
            Log(folder).append(["b"])
        assert Log(folder).end == 1
    with Log(folder) as log:
        assert log.append(["b"]) == 1


def test_a_batch_appended_twice_is_there_once(folder: Path) -> None:
    for _ in range(2):
        with Log(folder, segment_blocks=1) as log:
            log.append_batch(3, ["a", "b"])
            log.append_batch(3, ["a", "b"])
            log.append_batch(2, ["earlier"])
    with Log(folder, segment_blocks=1) as log:
        assert log.append_batch(7, [])
        assert not log.append_batch(7, ["late"])
        assert log.append_batch(8, ["c"])
        assert log.append(["without a number"]) == 3
        assert not log.append_batch(8, ["c"])
        assert log.last_batch == 8
        with pytest.raises(ValueError, match="A batch has a number from 0 up, not -1"):
            log.append_batch(-1, ["x"])
    assert texts(Log(folder)) == ["a", "b", "c", "without a number"]
    assert Log(folder).last_batch == 8


def test_batches_without_records_never_share_a_segment_name(folder: Path) -> None:
    with Log(folder, segment_blocks=1) as log:
        log.append_batch(0, ["a"])
        for batch in range(1, 6):
            log.append_batch(batch, [])
        log.append_batch(6, ["b"])
    first, second = (path.stat().st_size for path in segments(folder))
    assert second > 5 * 48 + first
    assert texts(Log(folder)) == ["a", "b"]
    assert Log(folder).last_batch == 6


def failing(monkeypatch: pytest.MonkeyPatch, name: str, calls: Iterator[bool]) -> None:
    """Let calls of os.`name` fail with a full disk where the iterator says so."""
    real = getattr(os, name)

    def stand_in(*arguments: Any) -> Any:
        if next(calls, False):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    monkeypatch.setattr(os, name, stand_in)


@pytest.mark.parametrize("blocks", [1, 10])
@pytest.mark.parametrize("name", ["pwrite", "fsync"])
def test_an_append_that_fails_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, blocks: int
) -> None:
    with Log(folder, segment_blocks=blocks) as log:
        log.append(["a"])
        with monkeypatch.context() as patch:
            failing(patch, name, iter([True]))
            with pytest.raises(OSError, match="No space left"):
                log.append(["b"])
        assert Log(folder).end == 1
        assert log.end == 1
        assert log.append(["c"]) == 1
        assert texts(log) == ["a", "c"]
    assert texts(Log(folder)) == ["a", "c"]


def test_what_cannot_even_be_cut_off_is_cut_by_the_next_append(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log(folder) as log:
        log.append(["a"])
        with monkeypatch.context() as patch:
            real = os.pwrite
            patch.setattr(os, "pwrite", lambda file, data, place: real(file, data[:100], place))
            failing(patch, "pwrite", iter([False, True]))
            failing(patch, "ftruncate", itertools.repeat(True))
            with pytest.raises(OSError, match="No space left"):
                log.append(["b" * 100, "c"])
        assert Log(folder).end == 1
        assert log.append(["d"]) == 1
        assert texts(log) == ["a", "d"]
    assert segments(folder)[0].stat().st_size == filled(folder.parent / "other", ["a"], ["d"])[-1]


def test_an_append_is_on_disk_when_it_returns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(file: int) -> None:
        real(file)
        name = os.readlink(f"/proc/self/fd/{file}") if sys.platform == "linux" else "?"
        synced.append(f"{Path(name).name} {os.fstat(file).st_size}" if name.endswith(".log") else Path(name).name)

    with Log(folder, segment_blocks=1) as log:
        log.claim()
        monkeypatch.setattr(os, "fsync", fsync)
        log.append(["a"])
        log.append(["b"])
    if sys.platform == "linux":
        size = segments(folder)[0].stat().st_size
        assert synced == [f"{0:020}.log {size}", "log", f"{1:020}.log {size}", "log"]


WRITER = """
import sys
from skyband.log import Log
log = Log(sys.argv[1], segment_blocks=3)
for batch in range(10**9):
    log.append_batch(batch, [f"{batch}.{i}" for i in range(50)])
    print(batch, flush=True)
"""


def test_a_killed_writer_leaves_whole_batches_and_no_lock(folder: Path) -> None:
    next_batch = 0
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            told = [int(writer.stdout.readline()) for _ in range(7)]
            with pytest.raises(LogInUse):
                Log(folder).append(["x"])
            os.kill(writer.pid, signal.SIGKILL)
            told += [int(line) for line in writer.stdout.read().splitlines()]
        kept = texts(Log(folder))
        n_batches, rest = divmod(len(kept), 50)
        assert rest == 0
        assert n_batches > told[-1]
        assert kept == [f"{batch}.{i}" for batch in range(n_batches) for i in range(50)]
        assert next_batch <= n_batches
        next_batch = n_batches
    with Log(folder) as log:
        assert log.last_batch == next_batch - 1


FULL = """
import resource, signal, sys
from skyband.log import Log
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = Log(sys.argv[1])
log.append(["a" * 1000])
try:
    log.append(["b" * 10_000])
except OSError as error:
    print(type(error).__name__)
print(log.append(["c"]))
"""


def test_a_file_that_may_grow_no_further_keeps_what_it_has(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["OSError", "1"]
    assert texts(Log(folder)) == ["a" * 1000, "c"]
