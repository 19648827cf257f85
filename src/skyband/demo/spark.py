"""The day through the pipeline on Spark: every step is appended to its logs, and taken as one micro-batch.

This module needs PySpark. Everything lies in one folder: the configuration, the logs that the pipeline reads, its
state, and the changes and tops that it delivers.
"""

import queue
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import yaml
from pyspark.sql import SparkSession

from skyband.contract.family import FAMILIES
from skyband.demo.city import bounds
from skyband.demo.day import MIDNIGHT, MINUTE
from skyband.demo.runner import ENGINE, FAMILY, PipelineTraffic, StepAnswer
from skyband.demo.scene import Scene, steps
from skyband.demo.subscriber import TWO_HOURS
from skyband.log import Log
from skyband.pipeline.config import Config, load_config
from skyband.pipeline.run import Pipeline, PipelineFailed
from skyband.pipeline.session import open_session
from skyband.pipeline.sink import read_tops
from skyband.pipeline.state.folder import Commit
from skyband.table import Settings, Window
from skyband.table.json_object import ENCODER
from skyband.table.write import json_rows
from skyband.zoning import Zoning, fit

ZONES = 2
# Of how many messages the load of a zone is judged.
SAMPLE = 5_000
CONFIG = "pipeline.yaml"
HEADING = "# Written by `skyband demo`, which replaces this folder when it runs again.\n"
# How long to wait for a micro-batch before looking whether the stream still runs.
LOOK_SECONDS = 0.5

# Java's quick compiler alone: the better one takes longer to get going than a demo runs.
SHORT_LIVED = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}


class Starting:
    """A Spark session that starts in the background, or one that is there already."""

    def __init__(self, session: SparkSession | None = None) -> None:
        self._is_own = session is None
        self._began = time.perf_counter()
        self._started: queue.SimpleQueue[SparkSession | BaseException] = queue.SimpleQueue()
        if session is not None:
            self._started.put(session)
        else:
            threading.Thread(target=self._start, name="skyband-spark", daemon=True).start()
        self._session: SparkSession | None = None
        self.seconds = 0.0

    def _start(self) -> None:
        try:
            session = open_session(name="skyband demo", options=SHORT_LIVED)
            self.seconds = time.perf_counter() - self._began
            self._started.put(session)
        except BaseException as error:
            self._started.put(error)

    def session(self) -> SparkSession:
        """The session once it is there; what kept it from starting is raised."""
        if self._session is None:
            started = self._started.get()
            if isinstance(started, BaseException):
                raise started
            self._session = started
        return self._session

    def stop(self) -> None:
        """End the session, unless somebody else started it; one that is still starting ends with this process."""
        if self._is_own and self._session is not None:
            self._session.stop()


class OnSpark:
    """Runs the day in the pipeline; `start_seconds` is the time that Spark took to start."""

    def __init__(self, config: Config, spark: SparkSession, start_seconds: float = 0.0) -> None:
        began = time.perf_counter()
        self._config = config
        self._spark = spark
        self._asked, self._said = (_log(config, noun) for noun in ("subscriptions", "publications"))
        self._commits: queue.SimpleQueue[Commit] = queue.SimpleQueue()
        # The stream waits behind this after each micro-batch until the rows of the next are in both logs.
        self._gate = threading.Semaphore(0)
        self._is_closing = False
        self._pipeline = Pipeline(config, spark)
        self._pipeline.listen(self._delivered)
        self._traffic = PipelineTraffic(0, config.zones, 0, 0, 0, 0.0, start_seconds + time.perf_counter() - began)

    def step(self, minute: int, publications: pa.Table) -> StepAnswer:
        """Let time pass to a minute of the day, and publish what was said from then on."""
        self._said.append(list(json_rows(publications)))
        return self.end(minute)

    def end(self, minute: int) -> StepAnswer:
        """Let time pass to the minute at which the day is over."""
        self._asked.append([ENCODER.encode({"op": "advance", "ts": MIDNIGHT + minute * MINUTE})])
        if self._pipeline.query is None:
            self._pipeline.start()
        else:
            self._gate.release()
        return self._answer(self._next_commit())

    def _delivered(self, commit: Commit) -> None:
        """In the thread of the stream: tell of a micro-batch, and hold the next one back."""
        self._commits.put(commit)
        if not self._is_closing:
            self._gate.acquire()

    def _next_commit(self) -> Commit:
        while True:
            try:
                return self._commits.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                if self._pipeline.query is not None and not self._pipeline.query.isActive:
                    self._pipeline.wait()
                    raise PipelineFailed("The stream ended before the day did.") from None

    def _answer(self, commit: Commit) -> StepAnswer:
        router = commit.report["parts"]["router"]
        before = self._traffic
        self._traffic = before._replace(
            batches=before.batches + 1,
            publications=before.publications + router["publications"],
            copies=before.copies + router["copies"],
            dead=before.dead + router["dead"],
            seconds=before.seconds + commit.report["seconds"],
        )
        return StepAnswer(self._changes(commit), commit.report["seconds"], counters_of(commit), self._traffic)

    def _changes(self, commit: Commit) -> pa.Table:
        """The changes that were delivered for a micro-batch, which has no file where there are none."""
        schema = self._pipeline.shape.answers()
        if not commit.staged["changes"]:
            return schema.empty_table()
        path = Path(self._config.changes[0].options["path"]) / f"{commit.batch:012d}.parquet"
        return pa.parquet.ParquetFile(path).read(columns=schema.names).cast(schema)

    def tops(self) -> pa.Table:
        """The tops as they were delivered."""
        return read_tops(self._config.tops[0].options["path"])

    def bytes_used(self) -> int | None:
        """Nothing: the engines are in other processes."""
        return None

    def close(self) -> None:
        """End the stream after the micro-batch that is running."""
        self._is_closing = True
        self._gate.release()
        self._pipeline.stop()
        self._asked.close()
        self._said.close()


def counters_of(commit: Commit) -> dict[str, int]:
    """The counters of all zones together."""
    total: dict[str, int] = {}
    for who, part in commit.report["parts"].items():
        for name, count in part["counters"].items() if who != "router" else ():
            total[name] = total.get(name, 0) + count
    return total


@contextmanager
def on_spark(scene: Scene, folder: Path, starting: Starting) -> Iterator[OnSpark]:
    """The day in a pipeline of its own in a folder, with the subscriptions in its log; stopped in the end."""
    config = lay_out(scene, folder)
    with Log(config.subscriptions.options["path"]) as log:
        log.append(list(json_rows(scene.subscriptions)))
    runner = OnSpark(config, starting.session(), starting.seconds)
    try:
        yield runner
    finally:
        runner.close()


def lay_out(scene: Scene, folder: Path) -> Config:
    """Write the configuration of a pipeline for this day to a folder, in place of an earlier day's."""
    check_folder(folder)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "family": FAMILY,
        "engine": ENGINE,
        "window": f"{TWO_HOURS}us",
        "bounds": list(bounds()),
        "ids": "integers",
        "zones": ZONES,
        "zoning": "zoning.json",
        # A step is one micro-batch, however many messages it has.
        "batch": max(len(scene.subscriptions) + 1, *(end - begin for _, begin, end in steps(scene.messages))),
        "trigger": 0,
        "publications": {"format": "log", "path": "log/publications"},
        "subscriptions": {"format": "log", "path": "log/subscriptions"},
        "changes": {"format": "parquet", "path": "changes"},
        "tops": {"format": "parquet", "path": "tops"},
        "state": "state",
    }
    (folder / CONFIG).write_text(HEADING + yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    (folder / document["zoning"]).write_text(fit_zones(scene).to_json(), encoding="utf-8")
    return load_config(folder / CONFIG)


def check_folder(folder: Path) -> None:
    """Raise where there is something that is not the pipeline of an earlier day, which may be replaced."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        config = folder / CONFIG
        if not config.is_file() or not config.read_bytes().startswith(HEADING.encode()):
            raise ValueError(f"{folder} was not written by the demo: choose another folder for the demo's files.")


def fit_zones(scene: Scene) -> Zoning:
    """The city divided among the zones, by where the subscribers live and how often their words are said."""
    settings, family = Settings(window=Window.time(TWO_HOURS), bounds=bounds()), FAMILIES[FAMILY]
    assert family.parse_publications is not None
    n_messages = len(scene.publications)
    sample = scene.publications.take(pa.array(range(0, n_messages, -(-n_messages // SAMPLE))))
    subscriptions = family.parse_subscriptions(scene.subscriptions, settings).rows
    return fit(FAMILY, subscriptions, family.parse_publications(sample, settings).rows, ZONES, settings)


def _log(config: Config, noun: str) -> Log:
    endpoint = config.subscriptions if noun == "subscriptions" else config.publications
    log = Log(endpoint.options["path"])
    log.claim()
    return log
