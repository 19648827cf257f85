"""A state folder that something happened to: every harm is told in a sentence that says what to do. No Spark here."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pytest

from skyband.pipeline.config import Config, make_config
from skyband.pipeline.fit import unfitted
from skyband.pipeline.run import Pipeline
from skyband.pipeline.stage.prepare import prepare_rows
from skyband.pipeline.stage.router import Router
from skyband.pipeline.stage.zone import Zone
from skyband.pipeline.state.folder import FORMAT, Commit, State, StateError, next_batch, read_log, write_log
from skyband.pipeline.state.snapshot import load_router, load_zone, save_router, save_zone, seal
from skyband.pipeline.state.spec import make_shape
from skyband.table.words import Words
from tests.pipeline.streams import Batch, raw, shape_of

LAST = 2
DOCUMENT: dict[str, Any] = {
    "family": "window",
    "dims": 2,
    "window": "30s",
    "state": "state",
    "publications": {"format": "log", "path": "publications"},
    "subscriptions": {"format": "log", "path": "subscriptions"},
}
OFFSETS = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n{"record": 4}\n-'
COMMITTED = 'v1\n{"nextBatchWatermarkMs":0}'


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A configuration whose state has batches 0 to 2, all of them finished."""
    config = make_config(DOCUMENT, tmp_path)
    state = State(config.state)
    state.begin(make_shape(config, unfitted(config)))
    for batch in range(LAST + 1):
        state.commit(Commit(batch, {}, {}, {"changes": 0}))
        write_checkpoint(state, batch)
    state.note_delivered(LAST)
    return config


def write_checkpoint(state: State, batch: int, committed: bool = True) -> None:
    for name, text in (("offsets", OFFSETS), ("commits", COMMITTED))[: 1 + committed]:
        (state.checkpoint / name).mkdir(parents=True, exist_ok=True)
        (state.checkpoint / name / str(batch)).write_text(text)


def refused(config: Config) -> str:
    """The sentence with which a pipeline refuses to go on; it does so before it starts Spark."""
    with pytest.raises(StateError) as caught:
        Pipeline(config)
    sentence = str(caught.value)
    assert re.search(r"Restore|Put these back|name a new|Go on with|run `", sentence), sentence
    return sentence


def test_a_state_that_nothing_happened_to_is_gone_on_from(config: Config) -> None:
    state = State(config.state)
    state.check(config)
    state.check_checkpoint()
    assert next_batch(state.checkpoint) == LAST + 1
    # A batch that was begun, and one that counts here but that Spark has not noted, are done again or delivered again.
    write_checkpoint(state, LAST + 1, committed=False)
    state.check_checkpoint()
    state.commit(Commit(LAST + 1, {}, {}, {"changes": 0}))
    state.check_checkpoint()


HARMS: dict[str, tuple[Callable[[State], object], str]] = {
    "checkpoint removed": (lambda state: shutil.rmtree(state.checkpoint), "missing or empty"),
    "offsets removed": (lambda state: shutil.rmtree(state.checkpoint / "offsets"), "missing or empty"),
    "checkpoint of an older copy": (lambda state: _forget(state, 1, 2), "older than the state"),
    "state of an older copy": (lambda state: _manifest(state, 2).unlink(), "would be lost"),
    "no batch left": (lambda state: _remove(*(_manifest(state, batch) for batch in range(3))), "has no batch"),
    "offsets cut off": (lambda state: (state.checkpoint / "offsets" / "2").write_text("v1\n{"), "offsets/2"),
    "offsets empty": (lambda state: (state.checkpoint / "offsets" / "2").write_text(""), "offsets/2"),
    "offsets not text": (lambda state: (state.checkpoint / "offsets" / "2").write_bytes(b"\xff\x00"), "offsets/2"),
    "commits cut off": (lambda state: (state.checkpoint / "commits" / "2").write_text("v1\n"), "commits/2"),
    "manifest cut off": (lambda state: _manifest(state, 2).write_text('{"batch": 2, '), "000000000002.json"),
    "manifest of something else": (lambda state: _manifest(state, 2).write_text("[1]"), "000000000002.json"),
    "manifest of another batch": (
        lambda state: shutil.copy(_manifest(state, 1), _manifest(state, 2)),
        "it tells of batch 1",
    ),
    "base not a number": (lambda state: (state.folder / "base").write_text("x"), "base cannot be read"),
    "shape removed": (lambda state: state.shape_file.unlink(), "but no pipeline.json"),
    "shape and checkpoint removed": (
        lambda state: _remove(state.shape_file, state.checkpoint),
        "holds batches and delivered of a pipeline",
    ),
    "shape cut off": (lambda state: state.shape_file.write_text("{"), "pipeline.json cannot be read"),
    "shape of an older version": (lambda state: _version(state, FORMAT - 1), f"version {FORMAT - 1}"),
    "shape of a newer version": (lambda state: _version(state, FORMAT + 1), f"version {FORMAT + 1}"),
}


def _manifest(state: State, batch: int) -> Path:
    return state.folder / "batches" / f"{batch:012d}.json"


def _remove(*paths: Path) -> None:
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _forget(state: State, *batches: int) -> None:
    for batch in batches:
        for name in ("offsets", "commits"):
            (state.checkpoint / name / str(batch)).unlink()


def _version(state: State, version: int) -> None:
    plain = json.loads(state.shape_file.read_text(encoding="utf-8"))
    state.shape_file.write_text(json.dumps(plain | {"format": version}))


@pytest.mark.parametrize("harm", HARMS)
def test_harm_is_told_before_anything_runs(config: Config, harm: str) -> None:
    do, words = HARMS[harm]
    do(State(config.state))
    assert words in refused(config)


def test_a_corrupt_note_of_what_was_delivered_is_told(config: Config) -> None:
    state = State(config.state)
    (state.folder / "delivered").write_text("")
    with pytest.raises(StateError, match="delivered cannot be read"):
        _ = state.delivered


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"engine": "blocks"}, 'engine was "auto" and is now "blocks"'),
        ({"family": "ranges", "window": None, "dims": 1}, 'family was "window" and is now "ranges"'),
        ({"window": "31s"}, "window was [1, 30000000] and is now [1, 31000000]"),
        ({"window": {"count": 5}}, "window was"),
        ({"ids": "integers"}, "ids was"),
        ({"dims": 3}, "dims was 2 and is now 3"),
        ({"granularity": "publication"}, 'granularity was "batch"'),
        ({"bounds": [0, 0, 2, 2]}, "bounds was"),
    ],
)
def test_a_configuration_that_no_longer_fits_is_told(
    config: Config, tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    assert words in refused(make_config(DOCUMENT | changed, tmp_path))


def test_whoever_names_no_engine_goes_on_with_that_of_the_state(tmp_path: Path) -> None:
    before = make_config(DOCUMENT | {"engine": "scan"}, tmp_path)
    state = State(before.state)
    state.begin(make_shape(before, unfitted(before)))
    assert state.check(make_config(DOCUMENT, tmp_path)).engine == "scan"


def test_another_number_of_zones_is_told(config: Config, tmp_path: Path) -> None:
    assert "zones was 1 and is now 2" in refused(make_config(DOCUMENT | {"zones": 2}, tmp_path))


def test_words_that_changed_are_told(tmp_path: Path) -> None:
    Words(4, {"jazz": 2}).save(tmp_path / "words.json")
    document = {name: value for name, value in DOCUMENT.items() if name != "dims"} | {"family": "geotext"}
    config = make_config(document | {"words": "words.json"}, tmp_path)
    State(config.state).begin(make_shape(config, unfitted(config)))
    Words(5, {"jazz": 2}).save(tmp_path / "words.json")
    assert "words was" in refused(config)


def test_a_pipeline_is_begun_once(config: Config) -> None:
    state = State(config.state)
    with pytest.raises(StateError, match="already"):
        state.begin(state.shape())


def _parts(folder: Path) -> tuple[Router, Zone]:
    """A router and a zone that went through a batch, and its log."""
    shape = shape_of("window", 1, window="time")
    router, zone = Router(shape), Zone(shape, 0)
    commands = [{"id": f"s{i}", "k": 2, "score": "euclidean", "point": [i, 0]} for i in range(3)]
    publications = [{"id": f"p{i}", "ts": i, "point": [0, i]} for i in range(3)]
    rows = router.route(0, prepare_rows(raw(Batch(commands, publications)), shape)).rows
    zone.apply(0, rows)
    write_log(folder / "log.arrow", rows)
    save_router(router, folder / "router")
    save_zone(zone, folder / "zone")
    return router, zone


def test_parts_are_saved_and_loaded(tmp_path: Path) -> None:
    router, zone = _parts(tmp_path)
    assert load_router(router.shape, tmp_path / "router").n_subscriptions == 3
    restored = load_zone(zone.shape, 0, tmp_path / "zone", 0)
    assert restored.engine.top().to_pylist() == zone.engine.top().to_pylist() != []
    # What a run that was killed left in the place of a snapshot is not taken for it.
    (tmp_path / "router" / "members.arrow").write_bytes(b"")
    save_router(router, tmp_path / "router")
    (tmp_path / "zone" / "turns.arrow").write_bytes(b"")
    save_zone(zone, tmp_path / "zone")
    assert load_router(router.shape, tmp_path / "router").n_subscriptions == 3
    assert load_zone(zone.shape, 0, tmp_path / "zone", 0).n_subscriptions == 3


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


PART_HARMS: dict[str, Callable[[Path], object]] = {
    "log/cut off": lambda folder: _cut(folder / "log.arrow"),
    "log/empty": lambda folder: (folder / "log.arrow").write_bytes(b""),
    "log/removed": lambda folder: (folder / "log.arrow").unlink(),
    "router/cut off": lambda folder: _cut(folder / "router" / "members.arrow"),
    "router/a table removed": lambda folder: (folder / "router" / "clock.arrow").unlink(),
    "router/emptied": lambda folder: feather.write_feather(
        feather.read_table(folder / "router" / "clock.arrow").slice(0, 0), folder / "router" / "clock.arrow"
    ),
    "router/removed": lambda folder: shutil.rmtree(folder / "router"),
    "zone/cut off": lambda folder: _cut(folder / "zone" / "turns.arrow"),
    "zone/a table removed": lambda folder: (folder / "zone" / "turns.arrow").unlink(),
    "zone/engine removed": lambda folder: shutil.rmtree(folder / "zone" / "engine"),
    "zone/engine cut off": lambda folder: _cut(folder / "zone" / "engine" / "manifest.arrow"),
    "zone/engine of another format": lambda folder: _other_format(folder / "zone" / "engine" / "manifest.arrow"),
    "zone/removed": lambda folder: shutil.rmtree(folder / "zone"),
}


def _other_format(path: Path) -> None:
    table = feather.read_table(path, memory_map=False)
    place = table.column_names.index("format")
    feather.write_feather(table.set_column(place, "format", pa.array([99])), path, compression="uncompressed")
    seal(path.parents[1])


@pytest.mark.parametrize("harm", PART_HARMS)
def test_a_part_that_cannot_be_rebuilt_is_told(tmp_path: Path, harm: str) -> None:
    router, zone = _parts(tmp_path)
    PART_HARMS[harm](tmp_path)
    read: dict[str, Callable[[], object]] = {
        "log": lambda: read_log(tmp_path / "log.arrow"),
        "router": lambda: load_router(router.shape, tmp_path / "router"),
        "zone": lambda: load_zone(zone.shape, 0, tmp_path / "zone", 0),
    }
    with pytest.raises(StateError, match=r"Restore the state folder|Go on with the Skyband"):
        read[harm.split("/")[0]]()


def test_every_file_of_a_snapshot_is_missed(tmp_path: Path) -> None:
    _, zone = _parts(tmp_path)
    for path in sorted(path for path in (tmp_path / "zone").rglob("*") if path.is_file()):
        kept = path.read_bytes()
        # One bit that is not as it was is enough.
        for harmed in (None, kept[: len(kept) // 2], kept[:-1] + bytes([kept[-1] ^ 1])):
            path.unlink() if harmed is None else path.write_bytes(harmed)
            with pytest.raises(StateError, match="Restore the state folder"):
                load_zone(zone.shape, 0, tmp_path / "zone", 0)
        path.write_bytes(kept)
    assert load_zone(zone.shape, 0, tmp_path / "zone", 0).n_subscriptions == 3


def test_two_runs_do_not_go_on_at_once(config: Config) -> None:
    state = State(config.state)
    held = state.claim()
    with pytest.raises(StateError, match="end that one first"):
        state.claim()
    os.close(held)
    os.close(state.claim())


def test_paths_hold_in_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An executor runs in another folder than the driver.
    monkeypatch.chdir(tmp_path)
    config = make_config(DOCUMENT, ".")
    assert config.state == State("state").folder == tmp_path / "state"
    assert config.publications.options["path"] == str(tmp_path / "publications")


def test_a_backfill_is_delivered_before_the_stream_goes_on(config: Config) -> None:
    State(config.state).commit(Commit(LAST + 1, {}, {}, {"history": 5}))
    assert "has not been delivered to all sinks: run `skyband pipeline backfill` again" in refused(config)
