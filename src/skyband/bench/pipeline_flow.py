"""A pipeline that runs while it is measured: rows are appended to its source, and it tells what it has delivered."""

import contextlib
import json
import os
import queue
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import psutil
import pyarrow as pa

from skyband.bench.pipeline_course import PipelineCourse, documents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from skyband.pipeline.run import Pipeline

NOUNS = ("subscriptions", "publications")
# A rebuild opens an engine and reads files: what is shorter than this, in seconds, was none.
REBUILT = 0.001
PATIENCE = 600


class Told(NamedTuple):
    """A delivered batch: its number, when, how many rows it had, and what its parts tell of it, by their names.

    `processor` has what each stage has used since the batch before, in seconds.
    """

    number: int
    at: float
    n_rows: int
    n_changes: int
    parts: dict[str, dict[str, Any]]
    processor: Mapping[str, float] = {}

    @property
    def rebuilt_seconds(self) -> float:
        """How long parts took to be rebuilt, one after the other."""
        return float(sum(part["rebuilt_seconds"] for part in self.parts.values()))

    @property
    def n_rebuilt(self) -> int:
        """How many parts were rebuilt."""
        return sum(part["rebuilt_seconds"] > REBUILT for part in self.parts.values())


class Flow(Protocol):
    """A stream that is fed and tells what it delivered, whatever its shape is."""

    def feed(self, noun: str, texts: pa.Array) -> Told:
        """Append rows, and wait until what they changed is delivered."""

    def append(self, noun: str, texts: pa.Array) -> float:
        """Append rows; the time when they were there."""

    def wait(self) -> Told:
        """The next batch that is delivered."""

    def changes(self) -> pa.Table:
        """All changes that were delivered."""

    def kill(self) -> None:
        """Kill the process that holds the first engine."""

    def stop(self) -> None:
        """End the stream."""


class Inlet:
    """The logs that a stream reads, and the queue of what it tells."""

    def __init__(self, folder: Path) -> None:
        from skyband.log import Log

        self.folder = folder
        folder.mkdir(parents=True)
        self.logs = {noun: Log(folder / noun) for noun in NOUNS}
        for log in self.logs.values():
            log.claim()
        self.told: queue.Queue[Told] = queue.Queue()
        self.check: Callable[[], None] = _nothing

    def append(self, noun: str, texts: pa.Array) -> float:
        """Append rows; the time when they were there."""
        self.logs[noun].append(texts)
        return time.perf_counter()

    def wait(self) -> Told:
        """The next batch that is delivered; what ended the stream is raised."""
        return next_told(self.told, self.check)

    def feed(self, noun: str, texts: pa.Array) -> Told:
        """Append rows, and wait until what they changed is delivered."""
        self.append(noun, texts)
        n_rows = 0
        while True:
            told = self.wait()
            n_rows += told.n_rows
            if n_rows >= len(texts):
                return told

    def close(self) -> None:
        """Let go of the logs."""
        for log in self.logs.values():
            log.close()


class Ours:
    """The pipeline itself: `mapInArrow`, with versioned snapshots and a log."""

    def __init__(self, spark: "SparkSession", folder: Path, course: PipelineCourse, n_zones: int, sink: str) -> None:
        self.inlet = Inlet(folder)
        self.feed, self.append, self.wait = self.inlet.feed, self.inlet.append, self.inlet.wait
        # A session has one pipeline; another session of the same Spark has its own.
        self.spark = spark.newSession()
        path = write_configuration(folder, course, n_zones, sink)
        self._prime(course, folder)
        self.pipeline = _open(path, self.spark, self.inlet.told)
        assert self.pipeline.query is not None
        self.inlet.check = partial(check_query, self.pipeline.query)
        for step in course.opening:
            self.feed(step.noun, step.texts)

    def _prime(self, course: PipelineCourse, folder: Path) -> None:
        """Zones are fitted to what the sources hold, which is nothing yet: fit them to the course."""
        from skyband.contract.family import FAMILIES
        from skyband.table import Settings
        from skyband.zoning import fit

        document = json.loads((folder / "pipeline.yaml").read_text(encoding="utf-8"))
        family, settings = FAMILIES[document["family"]], Settings(None, course.window)
        assert family.parse_publications is not None
        subscriptions = family.parse_subscriptions(course.subscriptions, settings).rows
        publications = family.parse_publications(course.publications.slice(0, course.n_live), settings).rows
        zoning = fit(document["family"], subscriptions, publications, document["zones"], settings)
        (folder / "zoning.json").write_text(zoning.to_json(), encoding="utf-8")

    def changes(self) -> pa.Table:
        """All changes that were delivered."""
        from skyband.pipeline.sink import read_changes

        return read_changes(self.inlet.folder / "changes")

    def kill(self) -> None:
        """Kill the process that holds the first zone."""
        from skyband.bench.pipeline_stateful import pid_of

        os.kill(pid_of(self.spark, "zone-0"), 9)

    def stop(self) -> None:
        """End the stream."""
        self.pipeline.stop()
        self.inlet.close()


def write_configuration(folder: Path, course: PipelineCourse, n_zones: int, sink: str) -> Path:
    """Write the configuration of a pipeline over the logs of a folder; JSON is YAML."""
    to = {"format": "discard"} if sink == "discard" else {"format": sink, "path": "changes"}
    document = documents(course, {noun: noun for noun in NOUNS}, n_zones, to) | {"zoning": "zoning.json"}
    path = folder / "pipeline.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def next_told(told: queue.Queue[Told], check: Callable[[], None]) -> Told:
    """The next batch that is delivered; now and then it is checked that the stream still runs."""
    for _ in range(PATIENCE):
        try:
            return told.get(timeout=1.0)
        except queue.Empty:
            check()
    raise TimeoutError(f"The stream has delivered nothing for {PATIENCE} seconds.")


def check_query(query: "StreamingQuery") -> None:
    """Raise what ended a query."""
    if not query.isActive:
        query.awaitTermination(1)
        raise RuntimeError("The stream has ended.")


def _nothing() -> None:
    """A stream that has not begun cannot have ended."""


def _open(path: Path, spark: "SparkSession | None", told: queue.Queue[Told]) -> "Pipeline":
    """Start the pipeline of a configuration; every batch that it delivers is put into the queue."""
    from skyband.pipeline.config import load_config
    from skyband.pipeline.run import Pipeline
    from skyband.pipeline.state.folder import Commit

    def listen(commit: Commit) -> None:
        parts = commit.report["parts"]
        n_rows = parts["router"]["commands"] + parts["router"]["publications"]
        report = commit.report
        told.put(Told(commit.batch, time.perf_counter(), n_rows, report["changes"], parts, report["processor"]))

    pipeline = Pipeline(load_config(path), spark)
    pipeline.listen(listen)
    pipeline.start()
    return pipeline


def reopen(path: Path) -> tuple[float, Told]:
    """Start the pipeline of a configuration with a session of its own; when it had one, and what it delivers first.

    Spark may do the last batch again that was done before: that one is committed, and does not count.
    """
    from skyband.pipeline.config import load_config
    from skyband.pipeline.state.folder import State

    before = State(load_config(path).state).last()
    told: queue.Queue[Told] = queue.Queue()
    pipeline = _open(path, None, told)
    ready = time.perf_counter()
    try:
        assert pipeline.query is not None
        while True:
            first = next_told(told, partial(check_query, pipeline.query))
            if before is None or first.number > before.batch:
                return ready, first
    finally:
        pipeline.stop()
        pipeline.spark.stop()


def why_missing() -> str | None:
    """Why no pipeline can be measured, as a sentence; None if one can."""
    missing = [name for name in ("pyspark", "pandas", "yaml") if find_spec(name) is None]
    return (
        f"Skipped: {', '.join(missing)} cannot be imported; `pip install skyband[spark]` brings it."
        if missing
        else None
    )


@contextlib.contextmanager
def session() -> Iterator["SparkSession"]:
    """The Spark session that there is, or a new one that is stopped in the end."""
    from pyspark.sql import SparkSession

    from skyband.pipeline.session import open_session

    active = SparkSession.getActiveSession()
    spark = active or open_session(name="bench")
    try:
        yield spark
    finally:
        if active is None:
            spark.stop()


def cpu_seconds() -> float:
    """The processor time of this process and all that it started: Spark, and its workers."""
    own = psutil.Process()
    total = 0.0
    for process in [own, *own.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total
