"""What goes wrong around a pipeline: it goes on, or it says what is wrong and goes on once that is mended."""

import json
import os
import resource
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

from skyband.bench.pipeline_stateful import pid_of
from skyband.log import Log
from skyband.pipeline.config import Config
from skyband.pipeline.run import Pipeline, PipelineFailed
from skyband.pipeline.runner import LOST, MOST_LOST, Runner
from skyband.pipeline.sink import SinkFailed, read_changes
from skyband.pipeline.state.folder import State, StateError
from tests.choosing import secondary
from tests.pipeline.crash import config_of, outcome, stream, truth, write_stream
from tests.pipeline.streams import Batch, raw

pytestmark = pytest.mark.spark
SEED = 5
DONE = 3
BATCHES = stream(SEED, DONE + 2)
# Spark reads files by itself, and starts a Python for each log; a micro-batch is one file of each noun.
FILES = {
    noun: {"format": "ndjson", "path": f"{noun}-files", "max_files": 1} for noun in ("publications", "subscriptions")
}


def write_files(folder: Path, batches: Sequence[Batch], first: int = 0) -> None:
    """Put batches, numbered from the first, where a pipeline reads a file of each noun at a time."""
    for number, batch in enumerate(batches, first):
        for noun, rows in (("subscriptions", batch.commands), ("publications", batch.publications)):
            path = folder / f"{noun}-files" / str(number)
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            # They are read in the order of their times.
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def run(spark: SparkSession, config: Config) -> Pipeline:
    """Run a pipeline until it has read everything; what ends it early is raised."""
    pipeline = Pipeline(config, spark)
    pipeline.start(until_idle=True)
    pipeline.wait()
    return pipeline


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that has done three batches and was stopped, with a copy of it beside."""
    folder = tmp_path_factory.mktemp("begun") / "pipeline"
    folder.mkdir()
    write_files(folder, BATCHES[:DONE])
    run(spark, config_of(folder, **FILES))
    assert outcome(folder) == truth(folder, BATCHES[:DONE])
    shutil.copytree(folder, folder.with_name("copy"))
    return folder


@pytest.fixture
def folder(begun: Path) -> Path:
    """The pipeline as it was, in the same place, with two more batches to do."""
    shutil.rmtree(begun)
    shutil.copytree(begun.with_name("copy"), begun)
    write_files(begun, BATCHES[DONE:], DONE)
    return begun


def test_a_batch_that_spark_did_not_note_is_not_told_twice(spark: SparkSession, folder: Path) -> None:
    # As if killed after our commit and before Spark's.
    (folder / "state" / "checkpoint" / "commits" / str(DONE - 1)).unlink()
    run(spark, config_of(folder, **FILES))
    assert outcome(folder) == truth(folder, BATCHES)


@secondary
def test_a_batch_that_does_not_count_is_done_again(spark: SparkSession, folder: Path) -> None:
    # As if killed before our commit, when the log was there already, and a part had left a snapshot.
    state, last = State(folder / "state"), DONE - 1
    (state.folder / "batches" / f"{last:012d}.json").unlink()
    (state.checkpoint / "commits" / str(last)).unlink()
    state.note_delivered(last - 1)
    (folder / "changes" / f"{last:012d}.parquet").unlink()
    state.log(last).write_bytes(b"cut o")
    state.snapshot("zone-0", last).mkdir(parents=True)
    run(spark, config_of(folder, **FILES))
    assert outcome(folder) == truth(folder, BATCHES)


def test_a_sink_that_fails_is_given_the_batch_again(spark: SparkSession, folder: Path) -> None:
    # A folder where the file should be: whoever runs this, it cannot be replaced by a file.
    blocked = folder / "changes" / f"{DONE:012d}.parquet"
    blocked.mkdir()
    with pytest.raises(SinkFailed, match=rf"parquet sink .* could not take batch {DONE} .* nothing is lost"):
        run(spark, config_of(folder, **FILES))
    state = State(folder / "state")
    assert (state.delivered, state.is_committed(DONE), state.is_committed(DONE + 1)) == (DONE - 1, True, False)
    blocked.rmdir()
    run(spark, config_of(folder, **FILES))
    assert outcome(folder) == truth(folder, BATCHES)


@contextmanager
def room_for(n_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size: to a writer it is like a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@secondary
def test_a_full_disk_at_the_sink_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path, BATCHES)
    config = config_of(tmp_path, **FILES, changes={"format": "ndjson", "path": "changes"}, tops=[])
    pipeline = Pipeline(config, spark)
    pipeline.start(until_idle=True)
    # What is staged is compressed and fits; as JSON it does not.
    with room_for(20_000), pytest.raises(SinkFailed, match=r"could not take batch \d .*free some space and run again"):
        pipeline.wait()
    run(spark, config)
    assert read_changes(tmp_path / "changes", keyed=True).to_pylist() == truth(tmp_path, BATCHES).changes


@secondary
def test_a_full_disk_at_the_state_loses_nothing(spark: SparkSession, folder: Path) -> None:
    pipeline = Pipeline(config_of(folder, **FILES), spark)
    pipeline.start(until_idle=True)
    with room_for(500), pytest.raises(PipelineFailed, match=r"state in .* cannot be written .* nothing is lost"):
        pipeline.wait()
    run(spark, config_of(folder, **FILES))
    assert outcome(folder) == truth(folder, BATCHES)


@secondary
def test_a_log_that_cannot_be_read_ends_the_run(spark: SparkSession, folder: Path) -> None:
    path = State(folder / "state").log(1)
    kept = path.read_bytes()
    path.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(StateError, match=r"The log .*1\.arrow cannot be read.*Restore the state folder"):
        run(spark, config_of(folder, **FILES))
    assert State(folder / "state").last() == State(folder / "state").read(DONE - 1)
    path.write_bytes(kept)
    run(spark, config_of(folder, **FILES))
    assert outcome(folder) == truth(folder, BATCHES)


def test_a_log_is_read_again_and_one_that_lost_rows_ends_the_run(spark: SparkSession, tmp_path: Path) -> None:
    write_stream(tmp_path, BATCHES[:2])
    run(spark, config_of(tmp_path))
    # As if killed before our second commit.
    state = State(tmp_path / "state")
    (state.folder / "batches" / f"{1:012d}.json").unlink()
    (state.checkpoint / "commits" / "1").unlink()
    state.note_delivered(0)
    (tmp_path / "changes" / f"{1:012d}.parquet").unlink()
    write_stream(tmp_path, BATCHES[2:3])
    run(spark, config_of(tmp_path))
    assert outcome(tmp_path) == truth(tmp_path, BATCHES[:3])
    shutil.rmtree(tmp_path / "publications")
    with Log(tmp_path / "publications") as log:
        log.append(["{}"])
    with pytest.raises(PipelineFailed, match="it was replaced by another one, or has lost records"):
        run(spark, config_of(tmp_path))


class Forgetful(Runner):
    """A runner whose routed rows are lost before the zones have read them, so many times."""

    n_losses = 0

    def _match(self, routed: DataFrame, batch: int, saving: str | None) -> pa.Table:
        if self.n_losses:
            self.n_losses -= 1
            for kept in self.spark.sparkContext._jsc.getPersistentRDDs().values():
                kept.unpersist(True)
        return super()._match(routed, batch, saving)


@secondary
def test_rows_that_are_lost_with_an_executor_are_routed_again(spark: SparkSession, folder: Path) -> None:
    config = config_of(folder, **FILES)
    state = State(config.state)
    runner = Forgetful(spark, config, state, state.shape())
    runner.n_losses = MOST_LOST
    runner.run(spark.createDataFrame(raw(BATCHES[DONE])), DONE)
    assert runner.n_losses == 0
    runner.n_losses = MOST_LOST + 1
    with pytest.raises(Exception, match=LOST[0]):
        runner.run(spark.createDataFrame(raw(BATCHES[DONE + 1])), DONE + 1)
    runner.close()
    assert not state.is_committed(DONE + 1)
    runner = Forgetful(spark, config, state, state.shape())
    runner.run(spark.createDataFrame(raw(BATCHES[DONE + 1])), DONE + 1)
    with pytest.raises(StateError, match="would be lost"):
        runner.run(spark.createDataFrame(raw(BATCHES[0])), DONE + 3)
    runner.close()
    assert outcome(folder) == truth(folder, BATCHES)


class Deadly(Runner):
    """A runner that kills a worker while it waits for rows."""

    victim: str | None = None

    def _route(self, raw: DataFrame, batch: int, saving: str | None) -> DataFrame:
        return super()._route(self._killing(raw) if self.victim == "router" else raw, batch, saving)

    def _match(self, routed: DataFrame, batch: int, saving: str | None) -> pa.Table:
        return super()._match(self._killing(routed) if self.victim else routed, batch, saving)

    def _killing(self, rows: DataFrame) -> DataFrame:
        assert self.victim is not None
        pid, self.victim = pid_of(self.spark, self.victim), None

        def kill(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # Once for each partition.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            yield from batches

        return rows.mapInArrow(kill, rows.schema)


@pytest.mark.few(1)
@pytest.mark.parametrize("who", ["router", "zone-0"])
def test_a_worker_that_is_killed_is_replaced(spark: SparkSession, folder: Path, who: str) -> None:
    config = config_of(folder, **FILES)
    state = State(config.state)
    runner = Deadly(spark, config, state, state.shape())
    for batch in (DONE, DONE + 1):
        runner.victim = who
        runner.run(spark.createDataFrame(raw(BATCHES[batch])), batch)
        assert runner.victim is None
    runner.close()
    assert outcome(folder) == truth(folder, BATCHES)


HUGE = "x" * 200_000
# What is wrong with a row, and how the reason begins.
POISONED_PUBLICATIONS: dict[str, tuple[str, str]] = {
    "not JSON": ("{", ""),
    "nothing": ("", ""),
    "a list": ("[1, 2]", ""),
    "a number": ("7", ""),
    "null": ("null", ""),
    "no id": ('{"ts": 1, "point": [0, 0]}', "id: "),
    "no point": ('{"id": "a", "ts": 1}', "point: "),
    "no time": ('{"id": "b", "point": [0, 0]}', "ts: "),
    "text for a time": ('{"id": "c", "ts": "soon", "point": [0, 0]}', "ts: "),
    "text for a number": ('{"id": "d", "ts": 1, "point": ["x", 0]}', "point: "),
    "too few numbers": ('{"id": "e", "ts": 1, "point": [0]}', "point: "),
    "NaN": ('{"id": "f", "ts": 1, "point": [NaN, 0]}', "point: "),
    "infinity": ('{"id": "g", "ts": 1, "point": [Infinity, 0]}', "point: "),
    "a time beyond all": ('{"id": "h", "ts": 1e300, "point": [0, 0]}', "ts: "),
    "an object for an id": ('{"id": {"a": 1}, "ts": 1, "point": [0, 0]}', "id: "),
    "huge and wrong": (json.dumps({"id": HUGE, "ts": "never", "point": [0, 0]}), "ts: "),
    "not Unicode": ('{"id": "\\ud800", "ts": 1, "point": [0, 0]}', ""),
    "nested beyond all": ('{"id": ' + "[" * 20_000 + "]" * 20_000 + "}", ""),
    "a line break": ('{"id": "i",\n"ts": "x", "point": [0, 0]}', "ts: "),
}
POISONED_SUBSCRIPTIONS: dict[str, tuple[str, str]] = {
    "unknown op": ('{"op": "destroy", "id": "good"}', "op: "),
    "an op that is a number": ('{"op": 3, "id": "good"}', "op: "),
    "no k": ('{"id": "a", "score": "euclidean", "point": [0, 0]}', "k: "),
    "unknown score": ('{"id": "b", "k": 1, "score": "beauty", "point": [0, 0]}', "score: "),
    "window too wide": ('{"id": "c", "k": 1, "score": "euclidean", "point": [0, 0], "window_us": 31000000}', "window"),
    "window of another kind": ('{"id": "d", "k": 1, "score": "euclidean", "point": [0, 0], "window_n": 3}', "window"),
    "id twice": ('{"id": "good", "k": 1, "score": "euclidean", "point": [0, 0]}', "id: is already registered"),
    "nobody to withdraw": ('{"op": "unsubscribe", "id": "nobody"}', "id: is not registered"),
    "nobody to resize": ('{"op": "resize", "id": "nobody", "k": 2}', "id: is not registered"),
    "resize to nothing": ('{"op": "resize", "id": "good", "k": 0}', "k: "),
    "advance to no time": ('{"op": "advance"}', "ts: "),
}


def test_poison_goes_to_the_dead_letters(spark: SparkSession, tmp_path: Path) -> None:
    good = {"op": "subscribe", "id": "good", "k": 2, "score": "euclidean", "point": [0, 0]}
    said = [{"id": name, "ts": 1_000_000, "point": [0, 1]} for name in ("é", "e\u0301", "猫", "😀" * 50, HUGE[:5000])]
    bad = [text for text, _ in POISONED_PUBLICATIONS.values()]
    twice = json.dumps(said[0])
    with Log(tmp_path / "subscriptions") as log:
        log.append([json.dumps(good), *(text for text, _ in POISONED_SUBSCRIPTIONS.values())])
    with Log(tmp_path / "publications") as log:
        log.append([json.dumps(said[0]), *bad, twice, *map(json.dumps, said[1:])])
    pipeline = run(spark, config_of(tmp_path))
    assert outcome(tmp_path).changes == truth(tmp_path, [Batch([good], said)]).changes != []
    letters = letters_of(pipeline.state)
    wanted = [("subscriptions", place + 1, *row) for place, row in enumerate(POISONED_SUBSCRIPTIONS.values())]
    wanted += [("publications", place + 1, *row) for place, row in enumerate(POISONED_PUBLICATIONS.values())]
    wanted.append(("publications", len(bad) + 1, twice, "id: is in this batch already"))
    assert [(row["noun"], row["offset"]) for row in letters] == [row[:2] for row in wanted]
    for letter, (_, _, text, reason) in zip(letters, wanted, strict=True):
        assert letter["reason"].startswith(reason), letter
        assert letter["reason"], letter
        assert same(letter["row"], text), letter
    report = pipeline.state.read(0).report["parts"]["router"]
    assert (report["dead"], report["commands"], report["publications"]) == (len(wanted), 1, len(said))


def letters_of(state: State) -> list[dict[str, Any]]:
    """All dead letters, in the order of their rows."""
    tables = [pa.parquet.read_table(path) for path in sorted((state.folder / "dead").glob("*.parquet"))]
    rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist()
    return sorted(rows, key=lambda row: (row["batch"], row["noun"] != "subscriptions", row["offset"]))


def same(row: str, text: str) -> bool:
    """Whether a dead letter has the row: as it came, or, if it could be read, as JSON that says the same."""
    if row == text:
        return True
    kept, came = json.loads(row), json.loads(text)
    return {name: kept[name] for name in came if name in kept} == {name: came[name] for name in came if name in kept}
