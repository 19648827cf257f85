"""What sinks remember is kept apart for any two places, also when earlier versions kept it together. No Spark here."""

import json
import zlib
from pathlib import Path
from typing import Any, ClassVar

import pytest

from skyband.pipeline import runner as runner_module
from skyband.pipeline.config import BadConfiguration, Config, Endpoint, make_config
from skyband.pipeline.fit import unfitted
from skyband.pipeline.runner import Runner
from skyband.pipeline.sink.kafka_progress import TopicProgress, note, read_progress
from skyband.pipeline.state.folder import Commit, State
from skyband.pipeline.state.progress import sink_folders
from skyband.pipeline.state.spec import make_shape

DOCUMENT: dict[str, Any] = {
    "family": "window",
    "dims": 2,
    "state": "state",
    "publications": {"format": "log", "path": "publications"},
    "subscriptions": {"format": "log", "path": "subscriptions"},
}
EAST: dict[str, Any] = {"format": "kafka", "servers": "east:9092", "topic": "changes"}
WEST: dict[str, Any] = EAST | {"servers": "west:9092"}
TABLE: dict[str, Any] = {"format": "postgres", "dsn": "postgresql://ann:secret@one/x", "table": "changes"}
FILES: dict[str, Any] = {"format": "parquet", "path": "/out", "compact_every": 5}


def endpoint_of(given: dict[str, Any]) -> Endpoint:
    return Endpoint(given["format"], {name: value for name, value in given.items() if name != "format"})


def begun(folder: Path, *changes: dict[str, Any]) -> tuple[Config, State]:
    """A pipeline with these sinks whose batch 0 is delivered, and whose batch 1 is committed."""
    config = make_config(DOCUMENT | {"changes": list(changes)}, folder)
    state = State(config.state)
    state.begin(make_shape(config, unfitted(config)))
    for batch in (0, 1):
        state.commit(Commit(batch, {"parts": {}}, {}, {"changes": 1}))
    state.note_delivered(0)
    return config, state


class Cluster:
    """A sink that notes its progress as that of Kafka does, and may be cut off."""

    taken: ClassVar[dict[str, list[int]]] = {}
    dead: ClassVar[set[str]] = set()

    def __init__(self, endpoint: Endpoint, what: str, *, folder: Path, **_: Any) -> None:
        self._servers, self._private = endpoint.options["servers"], folder

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        last = read_progress(self._private)
        if last is not None and batch <= last.batch and last.done:
            return
        if self._servers in self.dead:
            raise KeyboardInterrupt
        self.taken.setdefault(self._servers, []).append(batch)
        note(self._private, TopicProgress("changes", batch))

    def close(self) -> None:
        """Do nothing."""


def deliver(config: Config, state: State) -> None:
    runner = Runner(None, config, state, state.shape())  # type: ignore[arg-type]  # no sink here needs Spark
    try:
        for batch in (0, 1):
            if state.delivered < batch:
                runner.deliver(state.read(batch))
    finally:
        runner.close()


def test_the_second_cluster_gets_its_batch_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "open_sink", Cluster)
    monkeypatch.setattr(Cluster, "taken", {})
    monkeypatch.setattr(Cluster, "dead", {"west:9092"})
    config, state = begun(tmp_path, EAST, WEST)
    with pytest.raises(KeyboardInterrupt):
        deliver(config, state)
    assert Cluster.taken == {"east:9092": [1]}
    monkeypatch.setattr(Cluster, "dead", set())
    deliver(config, state)
    assert Cluster.taken == {"east:9092": [1], "west:9092": [1]}
    assert state.delivered == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (EAST, WEST),
        (EAST, EAST | {"topic": "others"}),
        (EAST, EAST | {"servers": "east:9093"}),
        (TABLE, TABLE | {"dsn": "postgresql://ann:secret@two/x"}),
        (TABLE, TABLE | {"dsn": "postgresql://ann:secret@one:5433/x"}),
        (TABLE, TABLE | {"dsn": "postgresql://ann:secret@one/y"}),
        (TABLE, TABLE | {"schema": "other"}),
        (FILES, FILES | {"path": "/out2"}),
        (FILES, FILES | {"format": "csv"}),
    ],
)
def test_other_places_have_other_names(one: dict[str, Any], other: dict[str, Any], tmp_path: Path) -> None:
    assert endpoint_of(one).place() != endpoint_of(other).place()
    make_config(DOCUMENT | {"changes": [one, other]}, tmp_path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (EAST, dict(reversed(EAST.items()))),
        (EAST | {"servers": "a:1,b:2"}, EAST | {"servers": "B:2, a:1"}),
        (EAST, EAST | {"options": {"sasl.jaas.config": "secret"}}),
        (TABLE, TABLE | {"dsn": "host=one port=5432 dbname=x user=ann password=another"}),
        (FILES, FILES | {"compact_every": 6, "path": "/in/../out"}),
    ],
)
def test_a_place_is_given_once(one: dict[str, Any], other: dict[str, Any], tmp_path: Path) -> None:
    assert endpoint_of(one).place() == endpoint_of(other).place()
    with pytest.raises(BadConfiguration, match=r"^changes: two sinks lead to the same place \(") as raised:
        make_config(DOCUMENT | {"changes": [one, other]}, tmp_path)
    assert "secret" not in str(raised.value)
    assert str(raised.value).endswith(": give it once.")


def old_folder(state: State, given: dict[str, Any]) -> Path:
    """The folder in which versions up to 0.1.0 kept what a sink remembers."""
    name = f"changes-{zlib.crc32(endpoint_of(given).describe().encode()):08x}"
    folder = state.folder / "sinks" / name
    folder.mkdir()
    return folder


def test_what_an_earlier_version_noted_is_gone_on_with(tmp_path: Path) -> None:
    config, state = begun(tmp_path, EAST, TABLE)
    half = TopicProgress("changes", 1, False, {0: 7})
    note(old_folder(state, EAST), half)
    (old_folder(state, TABLE) / "run").write_text("a1")
    east, table = sink_folders(state, "changes", config.changes)
    assert read_progress(east) == half
    assert (table / "run").read_text() == "a1"
    assert sorted(each.name for each in (state.folder / "sinks").iterdir()) == sorted([east.name, table.name])
    assert sink_folders(state, "changes", config.changes) == [east, table]
    assert read_progress(east) == half


@pytest.mark.parametrize("noted", [TopicProgress("changes", 1), TopicProgress("changes", 1, False, {0: 7})])
def test_a_batch_that_one_of_two_may_lack_is_looked_for_in_both(noted: TopicProgress, tmp_path: Path) -> None:
    config, state = begun(tmp_path, EAST, WEST)
    note(old_folder(state, EAST), noted)
    for folder in sink_folders(state, "changes", config.changes):
        assert read_progress(folder) == TopicProgress("changes", 1, False, {})


def test_what_both_have_is_not_looked_for(tmp_path: Path) -> None:
    config, state = begun(tmp_path, EAST, WEST)
    note(old_folder(state, EAST), TopicProgress("changes", 0))
    for folder in sink_folders(state, "changes", config.changes):
        assert read_progress(folder) == TopicProgress("changes", 0)


def test_two_tables_of_one_name_go_on_as_the_same_run(tmp_path: Path) -> None:
    config, state = begun(tmp_path, TABLE, TABLE | {"dsn": "postgresql://ann:secret@two/x"})
    (old_folder(state, TABLE) / "run").write_text("a1")
    folders = sink_folders(state, "changes", config.changes)
    assert len(set(folders)) == 2
    assert [(folder / "run").read_text() for folder in folders] == ["a1", "a1"]


def test_the_file_of_a_topic_is_the_one_of_earlier_versions(tmp_path: Path) -> None:
    note(tmp_path, TopicProgress("t", 3, False, {0: 5}))
    found = json.loads((tmp_path / "kafka.json").read_text())
    assert found == {"topic": "t", "batch": 3, "done": False, "offsets": {"0": 5}}
    assert read_progress(tmp_path / "nowhere") is None
