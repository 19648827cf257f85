"""Sinks that write files: whole, once, and in the right order, whatever interrupts them."""

import contextlib
import errno
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink import Sink, SinkFailed, open_sink, read_changes, read_tops, top_files
from tests.pipeline.staging import (
    Batch,
    changes_schema,
    some_changes,
    some_tops,
    stage,
    tops_after,
    tops_schema,
)

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ["parquet", "ndjson", "csv"]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder for staged files."""
    folder = tmp_path / "staged"
    folder.mkdir()
    return folder


def open_changes(tmp_path: Path, format: str, schema: pa.Schema | None = None, state: str = "state") -> Sink:
    """The sink of changes in the folder `out`."""
    endpoint = Endpoint(format, {"path": str(tmp_path / "out")})
    schema = changes_schema() if schema is None else schema
    return open_sink(endpoint, "changes", spark=None, folder=tmp_path / state, schema=schema)


def open_tops(tmp_path: Path, compact_every: int = 3, schema: pa.Schema | None = None) -> Sink:
    """The sink of tops in the folder `out`."""
    endpoint = Endpoint("parquet", {"path": str(tmp_path / "out"), "compact_every": compact_every})
    schema = tops_schema() if schema is None else schema
    return open_sink(endpoint, "tops", spark=None, folder=tmp_path / "state", schema=schema)


def refuse(*paths: Any) -> None:
    """What a link to another file system comes to."""
    raise OSError(errno.EXDEV, "another file system")


def visible(folder: Path) -> dict[str, bytes]:
    """The files that other programs see in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "schema",
    [changes_schema(), changes_schema(text=False), changes_schema(timed=True), changes_schema("ranked")],
    ids=["text", "integers", "timed", "ranked"],
)
def test_changes_are_read_as_they_were_given(format: str, schema: pa.Schema, tmp_path: Path, scratch: Path) -> None:
    batches = [some_changes(scratch, number, n_rows, schema) for number, n_rows in ((0, 40), (9, 1), (10, 25))]
    sink = open_changes(tmp_path, format, schema)
    for batch in batches:
        sink.deliver(*batch.given)
    sink.close()
    whole = pa.concat_tables(batch.table for batch in batches)
    assert read_changes(tmp_path / "out", keyed=True).equals(whole)
    assert read_changes(tmp_path / "out").equals(whole.drop_columns(["batch", "row"]))
    assert sorted(visible(tmp_path / "out")) == [f"{number:012d}.{format}" for number in (0, 9, 10)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_without_batches_reads_as_no_changes(format: str, tmp_path: Path) -> None:
    open_changes(tmp_path, format)
    assert read_changes(tmp_path / "out", keyed=True).equals(changes_schema().empty_table())
    with pytest.raises(ValueError, match="is not a folder of changes"):
        read_changes(tmp_path)
    with pytest.raises(ValueError, match="is not a folder of tops"):
        read_tops(tmp_path / "out")


@pytest.mark.parametrize("format", FORMATS)
def test_a_batch_delivered_again_is_there_once(format: str, tmp_path: Path, scratch: Path) -> None:
    batches = [some_changes(scratch, number, 10) for number in range(3)]
    sink = open_changes(tmp_path, format)
    for batch in batches:
        sink.deliver(*batch.given)
    before = visible(tmp_path / "out")
    again = open_changes(tmp_path, format)
    for batch in batches[1:]:
        again.deliver(*batch.given)
    assert visible(tmp_path / "out") == before


@pytest.mark.parametrize("format", FORMATS)
def test_scores_that_are_not_numbers_are_kept(format: str, tmp_path: Path, scratch: Path) -> None:
    row = {**some_changes(scratch, 0, 1).table.to_pylist()[0], "score": math.nan}
    batch = stage(scratch, 0, pa.Table.from_pylist([row], schema=changes_schema()))
    open_changes(tmp_path, format).deliver(*batch.given)
    [found] = read_changes(tmp_path / "out", keyed=True).to_pylist()
    assert math.isnan(found.pop("score"))
    assert found == {name: value for name, value in row.items() if name != "score"}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="Open files cannot be looked up here.")
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_is_on_disk_before_it_has_its_name(
    format: str, tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", refuse)
    sink = open_changes(tmp_path, format)
    batch = some_changes(scratch, 0, 10)
    calls, fsync, replace = [], os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        calls.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def note_replace(source: Path, target: Path) -> None:
        calls.append((str(source), str(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    sink.deliver(*batch.given)
    [(_, temporary), (source, target), (_, folder)] = calls
    assert temporary == source
    assert target == str(tmp_path / "out" / f"000000000000.{format}")
    assert folder == str(tmp_path / "out")


KILLED = """
import os, signal, sys
from pathlib import Path
from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink import open_sink
from tests.pipeline.staging import changes_schema

folder, format, when = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
endpoint = Endpoint(format, {"path": str(folder / "out")})
sink = open_sink(endpoint, "changes", spark=None, folder=folder / "state", schema=changes_schema())
replace = os.replace

def die(*paths):
    if when == "after":
        replace(*paths)
    os.kill(os.getpid(), signal.SIGKILL)

os.replace = die
sink.deliver(1, folder / "staged" / "staged-1.parquet", 500)
"""


def run_child(script: str, *arguments: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script that may import the tests, with a limit to the size of the files that it writes."""

    def set_limit() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-B", "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=set_limit,
        timeout=120,
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_writer_killed_at_the_rename_leaves_all_or_nothing(
    format: str, when: str, tmp_path: Path, scratch: Path
) -> None:
    batches = [some_changes(scratch, 0, 10), some_changes(scratch, 1, 500)]
    open_changes(tmp_path, format).deliver(*batches[0].given)
    done = run_child(KILLED, str(tmp_path), format, when)
    assert done.returncode == -signal.SIGKILL, done.stderr
    there = batches[: 1 if when == "before" else 2]
    assert read_changes(tmp_path / "out", keyed=True).equals(pa.concat_tables(batch.table for batch in there))
    assert len(list((tmp_path / "out").glob(".*.tmp"))) == (1 if when == "before" else 0)
    sink = open_changes(tmp_path, format)
    assert list((tmp_path / "out").glob(".*.tmp")) == []
    sink.deliver(*batches[1].given)
    assert read_changes(tmp_path / "out", keyed=True).equals(pa.concat_tables(batch.table for batch in batches))


FULL = """
import os, sys
from pathlib import Path
from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink import SinkFailed, open_sink
from tests.pipeline.staging import changes_schema, tops_schema
from tests.pipeline.test_sinks_files import refuse

os.link = refuse
folder, format, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
schema = changes_schema() if what == "changes" else tops_schema()
endpoint = Endpoint(format, {"path": str(folder / "out")})
sink = open_sink(endpoint, what, spark=None, folder=folder / "state", schema=schema)
try:
    sink.deliver(7, folder / "staged" / "staged-7.parquet", int(sys.argv[4]))
except SinkFailed as error:
    print(error)
"""


def deliver_without_room(tmp_path: Path, format: str, what: str, batch: Batch) -> None:
    """Deliver batch 7 in a process whose files may not grow beyond some bytes, and see what it says."""
    done = run_child(FULL, str(tmp_path), format, what, str(batch.n_rows), limit=20_000)
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path / 'out'} could not take batch 7 (File too large); free some space and run again" in done.stdout
    assert done.stdout.endswith("nothing is lost.\n")
    assert list((tmp_path / "out").glob(".*.tmp")) == []


@pytest.mark.parametrize("format", FORMATS)
def test_no_room_for_changes_is_told_and_loses_nothing(format: str, tmp_path: Path, scratch: Path) -> None:
    few, many = some_changes(scratch, 6, 3), some_changes(scratch, 7, 5000)
    open_changes(tmp_path, format).deliver(*few.given)
    deliver_without_room(tmp_path, format, "changes", many)
    assert read_changes(tmp_path / "out", keyed=True).equals(few.table)
    open_changes(tmp_path, format).deliver(*many.given)
    assert read_changes(tmp_path / "out", keyed=True).equals(pa.concat_tables([few.table, many.table]))


def test_no_room_for_tops_is_told_and_loses_nothing(tmp_path: Path, scratch: Path) -> None:
    few = some_tops(scratch, 6)
    members = {"subscription": range(9000), "rank": [1] * 9000, "publication": range(9000), "score": [0.5] * 9000}
    many = stage(scratch, 7, pa.table(members).cast(tops_schema()))
    open_tops(tmp_path).deliver(*few.given)
    deliver_without_room(tmp_path, "parquet", "tops", many)
    assert read_tops(tmp_path / "out").equals(tops_after([few]))
    open_tops(tmp_path).deliver(*many.given)
    assert read_tops(tmp_path / "out").equals(tops_after([few, many]))


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_that_is_gone_is_told(format: str, tmp_path: Path, scratch: Path) -> None:
    batch = some_changes(scratch, 3, 2)
    sink = open_changes(tmp_path, format)
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    (tmp_path / "out").write_text("a file")
    with pytest.raises(SinkFailed, match=rf"^The {format} sink at .*out could not take batch 3 .*nothing is lost\.$"):
        sink.deliver(*batch.given)
    with pytest.raises(ValueError, match=r"The folder .*out cannot be written: File exists\."):
        open_changes(tmp_path, format)


def test_folders_of_others_are_refused(tmp_path: Path, scratch: Path) -> None:
    open_changes(tmp_path, "csv").deliver(*some_changes(scratch, 0, 2).given)
    with pytest.raises(ValueError, match="holds csv, not ndjson; choose another folder"):
        open_changes(tmp_path, "ndjson")
    with pytest.raises(ValueError, match="at is int64, not timestamp"):
        open_changes(tmp_path, "csv", changes_schema(timed=True))
    with pytest.raises(ValueError, match="first is not expected"):
        open_changes(tmp_path, "csv", changes_schema("ranked"))
    with pytest.raises(ValueError, match="written by a run with another state folder"):
        open_changes(tmp_path, "csv", state="another")
    (tmp_path / "out" / ".skyband.json").unlink()
    with pytest.raises(ValueError, match=r"holds 000000000000\.csv, which no sink wrote"):
        open_changes(tmp_path, "csv")


@pytest.mark.parametrize("knows_links", [True, False])
def test_parquet_is_linked_where_that_can_be_done(
    knows_links: bool, tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not knows_links:
        monkeypatch.setattr(os, "link", refuse)
    sink, batch = open_changes(tmp_path, "parquet"), some_changes(scratch, 0, 5)
    for _ in range(2):
        sink.deliver(*batch.given)
        assert batch.path.stat().st_nlink == (2 if knows_links else 1)
        assert list(visible(tmp_path / "out")) == ["000000000000.parquet"]
    batch.path.unlink()
    assert read_changes(tmp_path / "out", keyed=True).equals(batch.table)


def test_staged_files_that_do_not_fit_are_refused(tmp_path: Path, scratch: Path) -> None:
    sink = open_changes(tmp_path, "parquet")
    batch = some_changes(scratch, 0, 5)
    with pytest.raises(ValueError, match="holds 5 rows, and 6 were staged"):
        sink.deliver(0, batch.path, 6)
    other = some_changes(scratch, 1, 5, changes_schema(text=False))
    with pytest.raises(ValueError, match="subscription is int64, not string; publication is int64, not string"):
        sink.deliver(*other.given)
    swapped = stage(scratch, 2, batch.table.select(list(reversed(batch.table.column_names))))
    with pytest.raises(ValueError, match="the columns are in the order first, at"):
        sink.deliver(*swapped.given)
    assert visible(tmp_path / "out") == {}


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("compact_every", [1, 3, 100])
def test_tops_are_those_after_the_last_batch(text: bool, compact_every: int, tmp_path: Path, scratch: Path) -> None:
    schema = tops_schema(text)
    batches = [some_tops(scratch, number, schema) for number in range(0, 24, 2)]
    for place, batch in enumerate(batches):
        sink = open_tops(tmp_path, compact_every, schema)
        sink.deliver(*batch.given)
        sink.deliver(*batches[place // 2].given)
        assert read_tops(tmp_path / "out").equals(tops_after(batches[: place + 1], schema))
        assert len(visible(tmp_path / "out")) <= compact_every


@given(data=st.data())
def test_tops_survive_a_failure_at_any_step(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("tops")
    scratch = tmp_path / "staged"
    scratch.mkdir()
    batches = [some_tops(scratch, number) for number in range(5)]
    open_tops(tmp_path, 2)
    for place, batch in enumerate(batches):
        fails_at = data.draw(st.integers(0, 8))
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(SinkFailed, ValueError):
            fail_at(patch, fails_at)
            open_tops(tmp_path, 2).deliver(*batch.given)
        seen = read_tops(tmp_path / "out")
        assert seen.equals(tops_after(batches[:place])) or seen.equals(tops_after(batches[: place + 1]))
        open_tops(tmp_path, 2).deliver(*batch.given)
        assert read_tops(tmp_path / "out").equals(tops_after(batches[: place + 1]))
    last = some_tops(scratch, 5)
    open_tops(tmp_path, 2).deliver(*last.given)
    assert read_tops(tmp_path / "out").equals(tops_after([*batches, last]))
    assert len(visible(tmp_path / "out")) <= 2


def fail_at(patch: pytest.MonkeyPatch, step: int) -> None:
    """Let the n-th of the calls that change a folder fail, and every one after it."""
    n_calls = 0

    def failing(name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def call(*arguments: object, **keywords: object) -> object:
            nonlocal n_calls
            n_calls += 1
            if n_calls > step:
                raise OSError(28, os.strerror(28))
            return real(*arguments, **keywords)

        return call

    for name in ("replace", "fsync"):
        patch.setattr(os, name, failing(name))


def test_a_reader_begins_anew_when_a_compaction_overtakes_it(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [some_tops(scratch, number) for number in range(4)]
    sink = open_tops(tmp_path, 3)
    for batch in batches[:3]:
        sink.deliver(*batch.given)
    read_list = top_files._read_list

    def overtaken(folder: Path) -> top_files.Listed:
        listed = read_list(folder)
        sink.deliver(*batches[3].given)
        return listed

    monkeypatch.setattr(top_files, "_read_list", overtaken)
    assert read_tops(tmp_path / "out").equals(tops_after(batches))
    assert sorted(visible(tmp_path / "out")) == ["base-000000000003.parquet"]
    (tmp_path / "out" / "base-000000000003.parquet").unlink()
    with pytest.raises(ValueError, match="a file that its list names is missing"):
        read_tops(tmp_path / "out")


def test_files_on_no_list_go_when_tops_are_opened(tmp_path: Path, scratch: Path) -> None:
    batch = some_tops(scratch, 0)
    open_tops(tmp_path).deliver(*batch.given)
    (tmp_path / "out" / "delta-000000000001.parquet").write_bytes(b"torn")
    open_tops(tmp_path)
    assert sorted(visible(tmp_path / "out")) == ["delta-000000000000.parquet"]
    assert read_tops(tmp_path / "out").equals(tops_after([batch]))
