"""Contests of pipelines: beside a bare engine, at a low rate, and beside the other shape of match."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pyarrow as pa

from skyband.bench.pipeline_course import Bare, PipelineCourse
from skyband.bench.pipeline_flow import Flow, Ours, Told, cpu_seconds
from skyband.bench.row import Row, measured
from skyband.bench.runner import Call, WrongAnswer, time_in_turn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SINKS = ("discard", "parquet")
Parameters = dict[str, Any]


def throughput(
    spark: "SparkSession", folder: Path, course: PipelineCourse, n_zones: int, given: Parameters
) -> Iterator[Row]:
    """A row for the engine alone and one for a pipeline with each sink; all take the same batches in turn."""
    with ExitStack() as stack:
        bare = Bare(course)
        flows: dict[str, Flow] = {}
        for sink in SINKS:
            flows[sink] = Ours(spark, folder / sink, course, n_zones, sink)
            stack.callback(flows[sink].stop)
        race = Race(course, bare, flows)
        taken = race.run()
        require_same(bare.changes(), flows["parquet"].changes(), f"the pipeline with {zones_of(n_zones)}")
    label = f"throughput, {zones_of(n_zones)}"
    cores = min(n_zones, psutil.cpu_count() or 1)
    for name, latencies in taken.items():
        measures = {"cpu_us": race.cpu[name] / course.batch / (course.n_batches - 1) * 1e6}
        if name != "bare":
            measures |= {"per_core": float(np.median(taken["bare"]) / np.median(latencies)) / cores}
            measures |= {"rebuilds": float(race.n_rebuilt[name]), "copies": race.copies(name)}
        yield measured(label, name, given | {"n_zones": n_zones}, latencies, course.batch, measures)


class Race:
    """Streams and perhaps an engine that take the batches of a course in turn; the first batch warms up."""

    def __init__(self, course: PipelineCourse, bare: Bare | None, flows: dict[str, Flow]) -> None:
        self.course, self.bare, self.flows = course, bare, flows
        self.told: dict[str, list[Told]] = {name: [] for name in flows}
        self.n_changes: dict[int, int] = {}
        self.cpu = dict.fromkeys(["bare", *flows], 0.0)
        self._before = 0.0

    def run(self) -> dict[str, list[int]]:
        """The nanoseconds of every batch."""
        calls: dict[str, Call] = {"bare": self._publish} if self.bare is not None else {}
        calls |= {name: partial(self._feed, name) for name in self.flows}
        self._before = cpu_seconds()
        return time_in_turn(calls, self.course.n_batches - 1, after=self._note)

    def _publish(self, turn: int) -> int:
        assert self.bare is not None
        return len(self.bare.feed(self.course.batches[turn]))

    def _feed(self, name: str, turn: int) -> int:
        self.told[name].append(self.flows[name].feed("publications", self.course.batch_texts[turn]))
        return self.told[name][-1].n_changes

    def _note(self, name: str, turn: int, answer: object) -> None:
        now = cpu_seconds()
        self.cpu[name] += now - self._before if turn else 0.0
        self._before = cpu_seconds()
        assert isinstance(answer, int)
        if self.n_changes.setdefault(turn, answer) != answer:
            raise WrongAnswer(f"Batch {turn} has {answer} changes with {name}, not {self.n_changes[turn]}.")

    @property
    def n_rebuilt(self) -> dict[str, int]:
        """How many parts were rebuilt after the first batch."""
        return {name: sum(each.n_rebuilt for each in told[1:]) for name, told in self.told.items()}

    def copies(self, name: str) -> float:
        """To how many zones a publication went."""
        told = [each.parts["router"] for each in self.told[name]]
        return float(sum(router["copies"] for router in told) / sum(router["publications"] for router in told))


def latency(
    spark: "SparkSession", folder: Path, course: PipelineCourse, n_zones: int, every: float, given: Parameters
) -> Iterator[Row]:
    """A row with how long it takes from the append of a batch until its changes are delivered, at a steady low rate."""
    flow = Ours(spark, folder, course, n_zones, "parquet")
    try:
        flow.feed("publications", course.batch_texts[0])
        appended, told = [], list[Told]()
        began = time.perf_counter()
        for number, texts in enumerate(course.batch_texts[1:]):
            time.sleep(max(0.0, began + number * every - time.perf_counter()))
            appended.append(flow.append("publications", texts))
        while sum(each.n_rows for each in told) < course.batch * (course.n_batches - 1):
            told.append(flow.wait())
    finally:
        flow.stop()
    reached = np.cumsum([each.n_rows for each in told])
    wanted = course.batch * np.arange(1, len(appended) + 1)
    delivered = np.array([each.at for each in told])[np.searchsorted(reached, wanted)]
    latencies = np.maximum(1, (delivered - np.array(appended)) * 1e9).astype(np.int64).tolist()
    measures = {
        "p50_ms": float(np.percentile(latencies, 50)) / 1e6,
        "p99_ms": float(np.percentile(latencies, 99)) / 1e6,
    }
    yield measured(f"latency, {zones_of(n_zones)}", "parquet", given | {"n_zones": n_zones}, latencies, 1, measures)


def shapes(
    spark: "SparkSession", folder: Path, courses: dict[str, PipelineCourse], n_zones: int, given: Parameters
) -> Iterator[Row]:
    """Rows for both shapes of match, by course: they take the same batches in turn, then lose a worker each."""
    from skyband.bench.pipeline_stateful import Stateful

    for what, course in courses.items():
        with ExitStack() as stack:
            ours = Ours(spark, folder / what / "ours", course, n_zones, "parquet")
            stack.callback(ours.stop)
            zoning = (folder / what / "ours" / "zoning.json").read_text(encoding="utf-8")
            stateful = Stateful(spark, folder / what / "stateful", course, n_zones, zoning)
            stack.callback(stateful.stop)
            flows: dict[str, Flow] = {"mapInArrow": ours, "transformWithState": stateful}
            race = Race(course, None, flows)
            taken = race.run()
            killed = {name: _after_kill(flow, course) for name, flow in flows.items()}
            require_same(ours.changes(), stateful.changes(), "transformWithState")
        for name, latencies in taken.items():
            measures = {"rebuilds": float(race.n_rebuilt[name])} | killed[name]
            measures |= {"cpu_us": race.cpu[name] / course.batch / (course.n_batches - 1) * 1e6}
            yield measured(
                f"shapes, {what}, {zones_of(n_zones)}",
                name,
                given | {"n_zones": n_zones, "batch": course.batch},
                latencies,
                course.batch,
                measures,
            )


def _after_kill(flow: Flow, course: PipelineCourse) -> dict[str, float]:
    """How long the batch after the death of a worker takes, and the rebuilding in it.

    What is published are the last messages again, with new ids and the time of the last one.
    """
    flow.kill()
    start = time.perf_counter()
    told = flow.feed("publications", _again(course))
    return {"killed_s": time.perf_counter() - start, "rebuilt_s": told.rebuilt_seconds}


def _again(course: PipelineCourse) -> pa.Array:
    from skyband.table.write import json_rows

    last = course.batches[-1].rows
    ids = pa.array(np.arange(len(last)) + len(course.publications))
    times = pa.array(np.full(len(last), course.publications["ts"][-1].as_py()))
    again = last.set_column(last.column_names.index("id"), "id", ids)
    return pa.array(json_rows(again.set_column(again.column_names.index("ts"), "ts", times)), pa.string())


def require_same(wanted: pa.Table, found: pa.Table, who: str) -> None:
    """Raise if the changes differ in anything."""
    if not found.cast(wanted.schema).equals(wanted):
        raise WrongAnswer(f"What {who} has delivered differs: {len(found)} changes, {len(wanted)} were expected.")


def zones_of(n: int) -> str:
    """So many zones, in words."""
    return "1 zone" if n == 1 else f"{n} zones"
