"""History through the same stages as the stream, in one pass; the stream can go on from the state it leaves."""

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name that Spark's own documentation uses)

from skyband.pipeline import history
from skyband.pipeline.config import Config, check_config
from skyband.pipeline.fit import find_zoning
from skyband.pipeline.history import Stretch
from skyband.pipeline.processor import MERGE, Account
from skyband.pipeline.run import session_for
from skyband.pipeline.runner import Runner
from skyband.pipeline.source.source import read_source
from skyband.pipeline.stage import frames as stages
from skyband.pipeline.stage.merge import merged
from skyband.pipeline.stage.zone import answer_schema
from skyband.pipeline.state.folder import ROUTER, Commit, State, StateError, write_parquet
from skyband.pipeline.state.spec import Shape, make_shape

Progress = Callable[[int, int], None]

# So many rows are brought into order and handed on at a time.
ROWS_AT_ONCE = 500_000


def backfill(
    config: Config, spark: SparkSession | None = None, *, batch: int = 1000, progress: Progress | None = None
) -> dict[str, Any]:
    """Run everything that the sources hold through the pipeline, in batches of so many publications.

    The state folder must be new, or that of a backfill that did not end. Returns what it came to.
    """
    check_config(config)
    if batch < 1:
        raise ValueError(f"A batch has at least 1 publication, not {batch}.")
    spark = spark or session_for(config)
    state = State(config.state)
    if state.exists() and state.last() is not None and not state.has_backfill_to_deliver():
        raise StateError(f"{state.folder} has gone on already: a backfill begins with a new state folder.")
    began = time.perf_counter()
    shape = _shape(spark, config, state)
    if state.last() is None:
        raw = [
            read_source(spark, noun, endpoint, stream=False, max_rows=None, packed=True)
            for noun, endpoint in (("subscriptions", config.subscriptions), ("publications", config.publications))
        ]
        prepared = stages.prepare(raw[0].unionByName(raw[1], allowMissingColumns=True), shape, str(state.folder))
        run_history(spark, state, shape, prepared, batch, None, bool(config.tops), progress, began)
    commit = state.last()
    assert commit is not None
    runner = Runner(spark, config, state, shape)
    try:
        _deliver(runner, commit)
    finally:
        runner.close()
    return {"batches": commit.batch + 1, "seconds": time.perf_counter() - began, **commit.report}


def _shape(spark: SparkSession, config: Config, state: State) -> Shape:
    if state.exists():
        return state.check(config)
    shape = make_shape(config, find_zoning(spark, config))
    state.begin(shape)
    return shape


def run_history(
    spark: SparkSession,
    state: State,
    shape: Shape,
    prepared: DataFrame,
    size: int,
    until: int | None,
    tops: bool,
    progress: Progress | None,
    began: float,
) -> Commit:
    """Both jobs of the history, staged and committed."""
    folder, account = state.staged(0), Account(spark)
    account.begin()
    for leftover in (folder, state.folder / "snapshots"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder.mkdir(parents=True)
    stretch = Stretch(str(state.folder), ROUTER, size, until, tops=tops)
    total = prepared.where(F.col("noun") == "publications").count() if progress is not None else 0
    with _watching(folder, total, progress):
        routed = _routed(prepared, shape, stretch).localCheckpoint(eager=True)
        report = json.loads((folder / f"{ROUTER}.json").read_text(encoding="utf-8"))
        answers = _matched(routed, shape, stretch._replace(last=report["last"]))
        keys = ["batch", "step", "turn", "pos"]
        answers.orderBy(*keys).write.mode("overwrite").parquet(str(folder / "history"))
        routed.unpersist()
    parts = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    n_rows = sum(pa.parquet.read_metadata(path).num_rows for path in (folder / "history").glob("*.parquet"))
    last = report["last"]
    if report["dead"]:
        shutil.copyfile(folder / "dead.parquet", state.dead(last))
    snapshots = dict.fromkeys(parts, last)
    account.lap(MERGE)
    account.add(parts.values())
    counted = {"at": time.time(), "seconds": time.perf_counter() - began, "changes": n_rows, "parts": parts}
    counted["processor"] = account.take()
    commit = Commit(last, counted, snapshots, {"history": n_rows})
    state.set_base(last + 1)
    state.commit(commit)
    return commit


def _routed(prepared: DataFrame, shape: Shape, stretch: Stretch) -> DataFrame:
    """The rows of all batches, in order, from one task."""
    rank = F.when(F.col("noun") == "subscriptions", 0).otherwise(1)
    ordered = prepared.repartition(1).sortWithinPartitions(rank, "origin", "offset")
    with stages.own_worker(prepared.sparkSession.sparkContext, ROUTER):
        return ordered.mapInArrow(partial(history.route_history, stretch=stretch), stages.spark_schema(shape.routed()))


def _matched(routed: DataFrame, shape: Shape, stretch: Stretch) -> DataFrame:
    schema, parts = stages.spark_schema(answer_schema(shape)), []
    for zone in range(shape.n_zones):
        own = stretch._replace(who=f"zone-{zone}")
        with stages.own_worker(routed.sparkSession.sparkContext, own.who):
            rows = routed.where(F.col("zone") == zone)
            parts.append(rows.mapInArrow(partial(history.match_history, stretch=own), schema))
    return reduce(DataFrame.unionAll, parts)


def changes_of(folder: Path, shape: Shape) -> Iterator[pa.Table]:
    """The answers that a backfill staged, in order, some whole batches at a time, with their batches and rows."""
    rest = answer_schema(shape).empty_table()
    for path in sorted((folder / "history").glob("*.parquet")):
        for part in pa.parquet.ParquetFile(path).iter_batches(ROWS_AT_ONCE):
            rest = pa.concat_tables([rest, pa.Table.from_batches([part]).cast(rest.schema)])
            if len(rest) >= ROWS_AT_ONCE:
                numbers = rest["batch"].to_numpy()
                whole = int((numbers < numbers[-1]).sum())
                if whole:
                    yield merged(rest.slice(0, whole), shape)
                    rest = rest.slice(whole)
    if len(rest):
        yield merged(rest, shape)


def _deliver(runner: Runner, commit: Commit) -> None:
    """Give the sinks the history, and then the tops as they are at its end."""
    state, folder = runner.state, runner.state.staged(0)
    if state.delivered >= commit.batch:
        return
    for number, table in enumerate(changes_of(folder, runner.shape)):
        path = folder / f"part-{number}.parquet"
        write_parquet(path, table)
        runner.give("changes", table["batch"][-1].as_py(), path, len(table))
    if runner.config.tops:
        runner.give("tops", commit.batch, folder / "tops.parquet", runner.stage_tops(folder, folder))
    state.note_delivered(commit.batch)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _watching(folder: Path, total: int, progress: Progress | None) -> Iterator[None]:
    """Report how many publications the router has gone through, while the block runs."""
    if progress is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            with suppress(OSError, ValueError):
                done = int((folder / f"{ROUTER}.progress").read_text(encoding="utf-8"))
                progress(min(done, total), total)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    progress(total, total)


def temporary_state() -> "tempfile.TemporaryDirectory[str]":
    """A folder for a state that nobody needs afterwards."""
    return tempfile.TemporaryDirectory(prefix="skyband-")
