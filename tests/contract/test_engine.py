"""What the contract does for every engine: rejects, snapshots, ids, time."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pytest

import skyband
from skyband.contract import AnyEngine, UnreadableSnapshot, find_engine, register, snapshot
from skyband.contract.snapshot import FORMAT, MANIFEST, UNFINISHED, SnapshotExists
from skyband.window.scan import WindowScan

ASK = {"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}


def _published(**options: Any) -> AnyEngine:
    engine = skyband.open("window", **options)
    engine.subscribe([ASK])
    engine.publish([{"id": 1, "ts": 1, "point": [1.0]}])
    return engine


def _said(**options: Any) -> AnyEngine:
    """An engine that has a model of words."""
    words = skyband.Words.fit([["a"], ["a", "b"]])
    engine = skyband.open("geotext", words=words, **options)
    engine.subscribe([{"id": "ann", "k": 1, "x": 0.0, "y": 0.0, "alpha": 0.5, "text": "a b"}])
    engine.publish([{"id": 1, "ts": 1, "x": 0.5, "y": 0.5, "text": "b"}])
    return engine


def test_a_bad_batch_changes_nothing() -> None:
    engine = _published()
    before = engine.top()
    with pytest.raises(skyband.Rejected, match="publications: row 2, column id, value 1: is live already") as caught:
        engine.publish([{"id": 2, "ts": 5, "point": [9.0]}, {"id": 1, "ts": 6, "point": [9.0]}])
    assert [reject.row for reject in caught.value.rejects] == [2]
    assert engine.now == 1
    assert engine.top() == before


def test_bad_rows_can_be_collected() -> None:
    engine = _published(on_error="collect")
    changes = engine.publish([{"id": 1, "ts": 6, "point": [7.0]}, {"id": 2, "ts": 5, "point": [9.0]}])
    assert changes["publication"].to_pylist() == [1, 2]
    assert [str(reject) for reject in engine.rejects] == ["row 1, column id, value 1: is live already"]
    assert engine.counters["rejected"] == 1
    engine.unsubscribe(["bob", "ann", "ann"])
    assert [reject.reason for reject in engine.rejects[1:]] == ["is not registered", "is given twice"]
    assert engine.n_subscriptions == 0


def test_rows_of_a_file_are_counted_as_the_file_counts_them(tmp_path: Path) -> None:
    lines = '{"id": 1, "ts": 1, "point": [1.0]}\n\nnonsense\n{"id": 1, "ts": 2, "point": [1.0]}\n'
    (tmp_path / "said.ndjson").write_text(lines)
    engine = skyband.open("window", on_error="collect")
    engine.publish(tmp_path / "said.ndjson")
    assert [reject.row for reject in engine.rejects] == [3, 4]
    assert engine.counters["publications"] == 1


def test_ids_keep_their_type() -> None:
    engine = _published()
    with pytest.raises(ValueError, match="one engine takes one kind") as caught:
        engine.publish([{"id": "text", "ts": 2, "point": [1.0]}])
    assert type(caught.value) is ValueError
    assert len(engine.publish([])) == 0
    assert len(engine.subscribe([])) == 0
    with pytest.raises(skyband.Rejected, match="is not registered"):
        engine.top([7])
    with pytest.raises(skyband.Rejected, match=r"value 7: is not registered \(and 1 more row\)"):
        engine.top([7, "ann"])
    assert engine.top(pa.chunked_array([["ann"]]))["publication"].to_pylist() == [1]


def test_time_does_not_go_back() -> None:
    engine = _published()
    assert len(engine.advance(1)) == 0
    with pytest.raises(ValueError, match="Time cannot go back: it is 1 already, and 0 was asked for"):
        engine.advance(0)


def test_a_snapshot_is_restored_by_its_folder_alone(tmp_path: Path) -> None:
    engine = _said(window=skyband.Window.time(5))
    engine.snapshot(tmp_path / "deep" / "state")
    again = skyband.restore(tmp_path / "deep" / "state")
    assert type(again) is type(engine)
    assert again.top() == engine.top()
    assert again.settings == engine.settings
    assert again.counters == engine.counters
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["state"]


def test_a_snapshot_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _published()
    monkeypatch.setattr(type(engine), "_save", lambda self: {"table": "not a table"})
    with pytest.raises(TypeError, match="incorrect type"):
        engine.snapshot(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SnapshotExists, match="exists already"):
        engine.snapshot(tmp_path)


def test_a_snapshot_may_be_bytes() -> None:
    engine = _said(window=skyband.Window.time(5))
    packed = engine.to_bytes()
    again = type(engine).from_bytes(packed, engine.settings)
    assert again.top() == engine.top()
    assert again.counters == engine.counters
    assert again.to_bytes() == packed
    for wrong in (b"", packed[:-1], packed[:20] + b"!" + packed[21:]):
        with pytest.raises(UnreadableSnapshot, match="no snapshot, or are damaged"):
            type(engine).from_bytes(wrong, engine.settings)
    with pytest.raises(UnreadableSnapshot, match="and not of window/oracle"):
        find_engine("window", "oracle").from_bytes(packed, engine.settings)


def test_a_snapshot_that_cannot_be_written_is_a_value_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path, tmp_path / "file", tmp_path / "file" / "state", tmp_path / "file" / "deep" / "state"):
        with pytest.raises(ValueError, match=r"\.$") as caught:
            _published().snapshot(folder)
        assert isinstance(caught.value, OSError)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


KILLED = """
import os, sys, skyband
engine = skyband.open("window", "scan")
type(engine).snapshot.__globals__["snapshot"]._checksum = lambda path: os._exit(9)
engine.subscribe({"id": 1, "k": 1, "score": "sum", "weights": [1.0]})
engine.snapshot(sys.argv[1])
"""


def test_what_a_killed_process_leaves_is_removed(tmp_path: Path) -> None:
    def kill(name: str) -> list[str]:
        assert subprocess.run([sys.executable, "-c", KILLED, tmp_path / name], check=False).returncode == 9
        return sorted(path.name.split(UNFINISHED)[0] for path in tmp_path.iterdir())

    (tmp_path / ".other-snapshot").mkdir()
    assert kill("first") == [".first", ".other-snapshot"]
    assert kill("second") == [".other-snapshot", ".second"]
    _published().snapshot(tmp_path / "state")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other-snapshot", "state"]
    assert len(kill("third")) == 3
    skyband.restore(tmp_path / "state")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other-snapshot", "state"]


def test_a_snapshot_that_is_being_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = _published(), _published()
    checksum = snapshot._checksum
    nested = iter([True])

    def write_meanwhile(path: Path) -> int:
        if next(nested, False):
            other.snapshot(tmp_path / "other")
        return checksum(path)

    monkeypatch.setattr(snapshot, "_checksum", write_meanwhile)
    one.snapshot(tmp_path / "one")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_what_is_no_snapshot_of_this_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSnapshot, match="holds no readable snapshot"):
        skyband.restore(tmp_path)
    _published().snapshot(tmp_path / "state")
    with pytest.raises(UnreadableSnapshot, match=r"is a snapshot of window/auto, not of window/oracle"):
        find_engine("window", "oracle").restore(tmp_path / "state")
    manifest = tmp_path / "state" / MANIFEST
    table = feather.read_table(manifest)
    feather.write_feather(table.set_column(0, "format", pa.array([FORMAT + 1])), manifest)
    with pytest.raises(UnreadableSnapshot, match=f"has format {FORMAT + 1}"):
        skyband.restore(tmp_path / "state")


def test_a_words_model_that_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    class Other:
        def tokens(self, text: str) -> list[str]:
            return text.split()

        def weigh(self, tokens: object) -> tuple[list[str], list[float]]:
            return [], []

    engine = skyband.open("geotext", words=Other())
    with pytest.raises(TypeError, match=r"skyband\.table\.words\.Words only"):
        engine.snapshot(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_engines_are_found_by_family_and_name() -> None:
    with pytest.raises(ValueError, match="no family 'windows'; there are geotext, ranges, ranked, window"):
        skyband.open("windows")
    with pytest.raises(ValueError, match="has no engine 'grid'; it has auto, blocks, cskyband, kmax, oracle, pa"):
        skyband.open("window", "grid")

    class Rival(WindowScan):
        pass

    with pytest.raises(ValueError, match="There is an engine scan for window already"):
        register(Rival)


def test_the_package_names_what_it_has() -> None:
    assert skyband.Window.count(3).size == 3
    with pytest.raises(AttributeError, match="has no attribute 'windows'"):
        skyband.windows  # noqa: B018  # asking is the test


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", None, 1_000_001])
def test_another_k_must_be_one(k: Any) -> None:
    engine = skyband.open("window", "oracle")
    engine.subscribe([{"id": "ann", "k": 2, "score": "sum", "weights": [1.0]}])
    with pytest.raises(ValueError, match="from 1 to 1000000"):
        engine.resize(["ann"], k)


def test_ranked_subscriptions_have_no_k() -> None:
    engine = skyband.open("ranked", "oracle")
    engine.subscribe([{"id": "ann", "lo": [0.0], "hi": [1.0], "weight": [1.0]}])
    with pytest.raises(ValueError, match="have no k of their own"):
        engine.resize(["ann"], 3)


def _damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("harm", [_damage, Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-100])])
def test_a_damaged_snapshot_is_refused(harm: Callable[[Path], object], tmp_path: Path) -> None:
    _said().snapshot(tmp_path / "state")
    names = sorted(path.name for path in (tmp_path / "state").iterdir())
    assert MANIFEST in names
    for name in names:
        shutil.copytree(tmp_path / "state", tmp_path / name)
        harm(tmp_path / name / name)
        with pytest.raises(UnreadableSnapshot, match=r"is damaged|holds no readable snapshot"):
            skyband.restore(tmp_path / name)
    assert skyband.restore(tmp_path / "state").n_subscriptions == 1


def test_a_snapshot_without_checksums_is_restored(tmp_path: Path) -> None:
    _published().snapshot(tmp_path / "state")
    manifest = tmp_path / "state" / MANIFEST
    feather.write_feather(feather.read_table(manifest).drop_columns(["files", "checksum"]), manifest)
    assert skyband.restore(tmp_path / "state").n_subscriptions == 1
