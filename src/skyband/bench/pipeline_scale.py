"""What each stage of a pipeline uses of processors as zones and subscriptions grow, and the throughput that follows.

Seconds of processors hardly depend on how many cores a machine has, or on what else runs there, so that they say what a
larger machine would do. The stages of a micro-batch come one after the other. What one task or the driver does keeps
one core busy. Zones share the cores, but none of them is quicker than its own work; what Java does is shared too.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from skyband.bench.experiment import Progress
from skyband.bench.pipeline_contest import zones_of
from skyband.bench.pipeline_course import PipelineCourse
from skyband.bench.pipeline_flow import Ours, Told, session, why_missing
from skyband.bench.row import Row, measured, skipped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What one task or the driver does, and what cores share.
ALONE = ("source", "prepare", "route", "merge", "deliver")
MATCH, JAVA = "match", "jvm"
CORES = (1, 2, 4, 8, 16)


class ScalePlan(NamedTuple):
    """Numbers of subscriptions and of zones, each with each, and the batches that are published to them."""

    n_subscriptions: tuple[int, ...]
    zones: tuple[int, ...]
    n_live: int
    batch: int
    n_batches: int
    shrink: int = 50
    k: int = 20

    def given(self, n: int, n_zones: int) -> dict[str, object]:
        """What a row says of it."""
        return {
            "n_subscriptions": n,
            "n_zones": n_zones,
            "n_live": self.n_live,
            "batch": self.batch,
            "k": self.k,
            "shrink": self.shrink,
        }


def scale(plan: ScalePlan, progress: Progress) -> Iterator[Row]:
    """A row for each number of subscriptions and of zones; a batch that warms up is not counted."""
    missing = why_missing()
    if missing is not None:
        yield skipped("scale", "pipeline", plan.given(plan.n_subscriptions[0], plan.zones[0]), missing)
        return
    with TemporaryDirectory(prefix="skyband-bench-") as folder, session() as spark:
        for n in plan.n_subscriptions:
            course = PipelineCourse(n, plan.n_live, plan.batch, plan.n_batches, plan.shrink, plan.k)
            for n_zones in plan.zones:
                progress(f"{n:,} subscriptions, {zones_of(n_zones)}")
                yield _row(spark, Path(folder) / f"{n}-{n_zones}", course, n_zones, plan.given(n, n_zones))


def _row(spark: "SparkSession", folder: Path, course: PipelineCourse, n_zones: int, given: dict[str, object]) -> Row:
    flow = Ours(spark, folder, course, n_zones, "discard")
    latencies, told = [], list[Told]()
    try:
        for texts in course.batch_texts:
            start = time.perf_counter_ns()
            told.append(flow.feed("publications", texts))
            latencies.append(time.perf_counter_ns() - start)
    finally:
        flow.stop()
    measures = work_of(told[1:])
    return measured(
        f"{len(course.subscriptions):,} subscriptions", zones_of(n_zones), given, latencies[1:], course.batch, measures
    )


def work_of(told: list[Told]) -> dict[str, float]:
    """Microseconds of processors a row by stage, of the slowest zone, and the rows a second that so many cores take."""
    n_rows = sum(each.n_rows for each in told)
    stages = {stage: 1e6 * sum(each.processor[stage] for each in told) / n_rows for stage in (*ALONE, MATCH, JAVA)}
    zones = [name for name in told[0].parts if name != "router"]
    slowest = 1e6 * max(sum(each.parts[zone]["processor"][MATCH] for each in told) for zone in zones) / n_rows
    copies = sum(each.parts["router"]["copies"] for each in told) / n_rows
    rates = {f"rate.{n}": throughput_of(stages, slowest, n) for n in CORES}
    return {f"us.{stage}": each for stage, each in stages.items()} | {"us.zone": slowest, "copies": copies} | rates


def throughput_of(stages: Mapping[str, float], slowest: float, n_cores: int) -> float:
    """Rows a second, if stages and the slowest zone take so many microseconds of a processor for each row."""
    alone = sum(stages[stage] for stage in ALONE)
    return 1e6 / (alone + max(slowest, stages[MATCH] / n_cores) + stages[JAVA] / n_cores)
