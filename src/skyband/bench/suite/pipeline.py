"""The pipeline: throughput beside the bare engine, latency, cost of state, recovery, start-up, two shapes of match.

Rows with *bare* are an engine in this process that is given the same batches as tables, in turn with the pipelines.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.pipeline_contest import latency, shapes, throughput, zones_of
from skyband.bench.pipeline_course import Course, rate
from skyband.bench.pipeline_flow import Ours, session, why_missing
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio, skipped
from skyband.bench.view import SUBSCRIPTIONS, plot, shown


class Plan(NamedTuple):
    """How much is measured; `batch` of 0 stands for about a second of the bare engine's work."""

    n_subscriptions: int
    n_live: int
    batch: int
    n_batches: int
    zones: tuple[int, ...]
    latency_zones: tuple[int, ...]
    n_latencies: int
    at_low_rate: int
    every: float
    state_rows: tuple[int, ...]
    n_states: int
    recovery: tuple[int, ...]
    shape_zones: tuple[int, ...]
    few: int
    n_starts: int
    shrink: int = 50
    k: int = 20

    def course(self, batch: int, n_batches: int, n_subscriptions: int | None = None) -> Course:
        """A course of this plan."""
        n = self.n_subscriptions if n_subscriptions is None else n_subscriptions
        return Course(n, self.n_live, batch, n_batches, self.shrink, self.k)

    def given(self, n_subscriptions: int | None = None, **more: object) -> dict[str, object]:
        """What a row says of it."""
        n = self.n_subscriptions if n_subscriptions is None else n_subscriptions
        return {"n_subscriptions": n, "n_live": self.n_live, "k": self.k, "shrink": self.shrink, "n_zones": 1} | more


PLANS: dict[Size, Plan] = {
    "toy": Plan(
        n_subscriptions=20, n_live=30, batch=10, n_batches=2, zones=(1,), latency_zones=(1,), n_latencies=2,
        at_low_rate=3, every=0.05, state_rows=(5,), n_states=2, recovery=(20,), shape_zones=(1,), few=10, n_starts=0,
        shrink=10_000, k=3,
    ),
    "small": Plan(
        n_subscriptions=10_000, n_live=20_000, batch=0, n_batches=6, zones=(1, 2, 4), latency_zones=(1,),
        n_latencies=30, at_low_rate=50, every=0.5, state_rows=(10, 100, 1000), n_states=6, recovery=(10_000, 100_000),
        shape_zones=(1, 2), few=10, n_starts=3,
    ),
    "full": Plan(
        n_subscriptions=100_000, n_live=50_000, batch=0, n_batches=11, zones=(1, 2, 4), latency_zones=(1, 2, 4),
        n_latencies=100, at_low_rate=50, every=0.5, state_rows=(10, 100, 1000, 10_000), n_states=11,
        recovery=(10_000, 100_000, 1_000_000), shape_zones=(1, 2), few=10, n_starts=5,
    ),
}  # fmt: skip


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Everything that a plan asks for, with one Spark session; recovery comes last, with sessions of its own."""
    plan, missing = PLANS[size], why_missing()
    if missing is not None:
        yield skipped("throughput", "pipeline", plan.given(), missing)
        return
    with TemporaryDirectory(prefix="skyband-bench-") as folder:
        batch = plan.batch or _second(plan, progress)
        with session() as spark:
            yield from _streams(spark, plan, batch, Path(folder), progress)
            states = [begin(spark, plan, n, Path(folder) / f"recovery-{n}", progress) for n in plan.recovery]
        yield from _costs(plan, Path(folder), progress)
        for n, configuration in zip(plan.recovery, states, strict=True):
            progress(f"recovery of {n:,} subscriptions")
            yield recovered(plan.given(n), configuration)
        if plan.n_starts:
            from skyband.bench.pipeline_startup import startup_rows

            yield from startup_rows(plan.n_starts, {"n_subscriptions": 0}, progress)


def _second(plan: Plan, progress: Progress) -> int:
    """As many publications as the bare engine takes in about a second, to two digits."""
    progress("how many publications are a second of work")
    found = rate(plan.n_subscriptions, plan.n_live, 1000, plan.shrink, plan.k)
    return max(100, int(float(f"{min(found, plan.n_live / 2):.1g}")))


def _streams(spark: object, plan: Plan, batch: int, folder: Path, progress: Progress) -> Iterator[Row]:
    from pyspark.sql import SparkSession

    assert isinstance(spark, SparkSession)
    for n_zones in plan.zones:
        progress(f"throughput, {zones_of(n_zones)}, batches of {batch:,}")
        course = plan.course(batch, plan.n_batches)
        yield from throughput(spark, folder / f"throughput-{n_zones}", course, n_zones, plan.given(batch=batch))
    for n_zones in plan.latency_zones:
        progress(f"latency, {zones_of(n_zones)}")
        course = plan.course(plan.at_low_rate, plan.n_latencies + 1)
        given = plan.given(batch=plan.at_low_rate, every=plan.every)
        yield from latency(spark, folder / f"latency-{n_zones}", course, n_zones, plan.every, given)
    for n_zones in plan.shape_zones:
        progress(f"shapes of match, {zones_of(n_zones)}")
        courses = {f"{n:,} rows": plan.course(n, plan.n_batches) for n in (plan.few, batch)}
        yield from shapes(spark, folder / f"shapes-{n_zones}", courses, n_zones, plan.given())


def _costs(plan: Plan, folder: Path, progress: Progress) -> Iterator[Row]:
    from skyband.bench.pipeline_cost import state_rows

    for n in plan.state_rows:
        progress(f"cost of state, {n:,} rows a batch")
        place = folder / f"state-{n}"
        place.mkdir()
        yield from state_rows(plan.course(n, plan.n_states), place, plan.given(batch=n))


def begin(spark: object, plan: Plan, n_subscriptions: int, folder: Path, progress: Progress) -> Path:
    """The configuration of a pipeline that has state, and a batch to go on with."""
    from pyspark.sql import SparkSession

    assert isinstance(spark, SparkSession)
    progress(f"state to recover, {n_subscriptions:,} subscriptions")
    course = plan.course(plan.at_low_rate, 3, n_subscriptions)
    flow = Ours(spark, folder, course, 1, "parquet")
    for texts in course.batch_texts[:2]:
        flow.feed("publications", texts)
    flow.pipeline.stop()
    flow.append("publications", course.batch_texts[2])
    flow.inlet.close()
    return folder / "pipeline.yaml"


def recovered(given: dict[str, object], configuration: Path) -> Row:
    """A row with how long a new process takes to go on with a pipeline."""
    from skyband.bench.pipeline_recovery import recover

    found = recover(configuration)
    measures = {"ready_s": found["ready_s"], "rebuilt_s": sum(found["parts"].values())}
    measures |= {f"rebuilt_s.{who}": seconds for who, seconds in found["parts"].items()}
    return measured(
        f"recovery, {given['n_subscriptions']:,}", "new process", given, [int(found["delivered_s"] * 1e9)], 1, measures
    )


def _each(row: Row, first: Row) -> str:
    return number(1e9 / ns_per_operation(row)) if row["contest"].startswith(("throughput", "shapes")) else ""


def _median(row: Row, first: Row) -> str:
    return number(ns_per_operation(row) * row["n_operations"] / 1e6)


BENCHMARK = Benchmark(
    name="pipeline",
    summary="The pipeline beside the bare engine: throughput, latency, state, recovery, and the two shapes of match.",
    measure=measure,
    columns=(
        Column("contest", lambda row, first: row["contest"]),
        Column("who", lambda row, first: row["algorithm"]),
        SUBSCRIPTIONS,
        Column("ms a batch", _median),
        Column("ratio", ratio),
        Column("publications a second", _each),
        shown("of bare, by core", "per_core"),
        shown("processor µs each", "cpu_us"),
        shown("copies", "copies"),
        shown("p99 ms", "p99_ms"),
        shown("bytes", "bytes"),
        shown("due snapshots, ms", "due_ms"),
        shown("rebuilds", "rebuilds"),
        shown("s after a kill", "killed_s"),
        shown("query runs after s", "ready_s"),
        shown("rebuilt in s", "rebuilt_s"),
    ),
    plots=(
        plot(
            "core",
            "Pipeline beside the bare engine",
            "n_zones",
            "per_core",
            "throughput of bare, by core",
        ),
    ),
)
