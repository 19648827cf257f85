"""The experiments of the pipeline: throughput beside the bare engine, latency, state, recovery, shapes, and scale.

Rows with *bare* are an engine in this process that is given the same batches as tables, in turn with the pipelines.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from skyband.bench.experiment import AnyExperiment, Experiment, Progress, Size, whole
from skyband.bench.pipeline_contest import latency, shapes, throughput, zones_of
from skyband.bench.pipeline_cost import state_rows
from skyband.bench.pipeline_course import PipelineCourse, rate
from skyband.bench.pipeline_flow import session, why_missing
from skyband.bench.pipeline_scale import ALONE, CORES, JAVA, MATCH, ScalePlan, scale
from skyband.bench.row import Row, ns_per_operation, number, skipped
from skyband.bench.view import RATIO, SUBSCRIPTIONS, algorithm, computed, described, each_second, plot, shown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class PipelinePlan(NamedTuple):
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

    def course(self, batch: int, n_batches: int, n_subscriptions: int | None = None) -> PipelineCourse:
        """A course of this plan."""
        n = self.n_subscriptions if n_subscriptions is None else n_subscriptions
        return PipelineCourse(n, self.n_live, batch, n_batches, self.shrink, self.k)

    def given(self, n_subscriptions: int | None = None, **more: object) -> dict[str, object]:
        """What a row says of it."""
        n = self.n_subscriptions if n_subscriptions is None else n_subscriptions
        return {"n_subscriptions": n, "n_live": self.n_live, "k": self.k, "shrink": self.shrink, "n_zones": 1} | more


PLANS: dict[Size, PipelinePlan] = {
    "toy": PipelinePlan(
        n_subscriptions=20, n_live=30, batch=10, n_batches=2, zones=(1,), latency_zones=(1,), n_latencies=2,
        at_low_rate=3, every=0.05, state_rows=(5,), n_states=2, recovery=(20,), shape_zones=(1,), few=10, n_starts=0,
        shrink=10_000, k=3,
    ),
    "small": PipelinePlan(
        n_subscriptions=10_000, n_live=20_000, batch=0, n_batches=6, zones=(1, 2, 4), latency_zones=(1,),
        n_latencies=30, at_low_rate=50, every=0.5, state_rows=(10, 100, 1000), n_states=6, recovery=(10_000, 100_000),
        shape_zones=(1, 2), few=10, n_starts=3,
    ),
    "full": PipelinePlan(
        n_subscriptions=100_000, n_live=50_000, batch=0, n_batches=11, zones=(1, 2, 4), latency_zones=(1, 2, 4),
        n_latencies=100, at_low_rate=50, every=0.5, state_rows=(10, 100, 1000, 10_000), n_states=11,
        recovery=(10_000, 100_000, 1_000_000), shape_zones=(1, 2), few=10, n_starts=5,
    ),
}  # fmt: skip


def everything(plan: PipelinePlan, progress: Progress) -> Iterator[Row]:
    """Everything that a plan asks for, with one Spark session; recovery comes last, with sessions of its own."""
    # Imported here, since it is run as a module of its own, which imports all benchmarks.
    from skyband.bench.pipeline_process import recovered, startup_rows

    missing = why_missing()
    if missing is not None:
        yield skipped("throughput", "pipeline", plan.given(), missing)
        return
    with TemporaryDirectory(prefix="skyband-bench-") as folder:
        batch = plan.batch or _second(plan, progress)
        with session() as spark:
            yield from _streams(spark, plan, batch, Path(folder), progress)
            states = [_begin(spark, plan, n, Path(folder) / f"recovery-{n}", progress) for n in plan.recovery]
        yield from _costs(plan, Path(folder), progress)
        for n, configuration in zip(plan.recovery, states, strict=True):
            progress(f"recovery of {n:,} subscriptions")
            yield recovered(plan.given(n), configuration)
        if plan.n_starts:
            yield from startup_rows(plan.n_starts, {"n_subscriptions": 0}, progress)


def _second(plan: PipelinePlan, progress: Progress) -> int:
    """As many publications as the bare engine takes in about a second, to two digits."""
    progress("how many publications are a second of work")
    found = rate(plan.n_subscriptions, plan.n_live, 1000, plan.shrink, plan.k)
    return max(100, int(float(f"{min(found, plan.n_live / 2):.1g}")))


def _streams(spark: "SparkSession", plan: PipelinePlan, batch: int, folder: Path, progress: Progress) -> Iterator[Row]:
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


def _costs(plan: PipelinePlan, folder: Path, progress: Progress) -> Iterator[Row]:
    for n in plan.state_rows:
        progress(f"cost of state, {n:,} rows a batch")
        place = folder / f"state-{n}"
        place.mkdir()
        yield from state_rows(plan.course(n, plan.n_states), place, plan.given(batch=n))


def _begin(spark: "SparkSession", plan: PipelinePlan, n: int, folder: Path, progress: Progress) -> Path:
    from skyband.bench.pipeline_process import begin

    progress(f"state to recover, {n:,} subscriptions")
    return begin(spark, plan.course(plan.at_low_rate, 3, n), folder)


def recovery(plan: PipelinePlan, progress: Progress) -> Iterator[Row]:
    """A state of each size is made by a pipeline, and then gone on with in a new process."""
    from skyband.bench.pipeline_process import recovered

    missing = why_missing()
    if missing is not None:
        yield skipped("recovery", "pipeline", plan.given(), missing)
        return
    for n in plan.recovery:
        with TemporaryDirectory(prefix="skyband-bench-") as folder:
            with session() as spark:
                configuration = _begin(spark, plan, n, Path(folder) / "pipeline", progress)
            progress(f"recovery of {n:,} subscriptions")
            yield recovered(plan.given(n), configuration) | {"contest": "recovery"}


class Load(NamedTuple):
    """Subscriptions, live publications, batches of about a second of the bare engine's work, and numbers of zones."""

    n_subscriptions: int
    n_live: int
    n_batches: int
    zones: tuple[int, ...]
    shrink: int = 50
    k: int = 20


def under_load(load: Load, progress: Progress) -> Iterator[Row]:
    """The throughput of the engine alone and of pipelines, for each number of zones."""
    n, n_live, n_batches, zones, shrink, k = load
    given = {"n_subscriptions": n, "n_live": n_live, "k": k, "shrink": shrink}
    missing = why_missing()
    if missing is not None:
        yield skipped("throughput", "pipeline", given, missing)
        return
    progress("how many publications are a second of work")
    found = rate(n, n_live, max(n_live // 20, 10), shrink, k)
    batch = max(10, int(float(f"{min(found, n_live / 2):.1g}")))
    with TemporaryDirectory(prefix="skyband-bench-") as folder, session() as spark:
        for n_zones in zones:
            progress(f"throughput, {zones_of(n_zones)}, batches of {batch:,}")
            course = PipelineCourse(n, n_live, batch, n_batches, shrink, k)
            yield from throughput(spark, Path(folder) / str(n_zones), course, n_zones, given | {"batch": batch})


READY, REBUILT = shown("query runs after s", "ready_s"), shown("rebuilt in s", "rebuilt_s")


def _first_batch(row: Row) -> str:
    return f"{row['latencies'][0] / 1e9:.3g}" if row["latencies"] else ""


def _each(row: Row) -> str:
    return number(each_second(row)) if row["contest"].startswith(("throughput", "shapes")) else ""


THROUGHPUT = (
    described("contest", lambda row: str(row["contest"])),
    algorithm("who"),
    SUBSCRIPTIONS,
    computed("ms a batch", lambda row: ns_per_operation(row) * row["n_operations"] / 1e6),
    RATIO,
    described("publications a second", _each),
    shown("of bare, by core", "per_core"),
    shown("processor µs each", "cpu_us"),
    shown("copies", "copies"),
)
BY_CORE = plot("core", "Pipeline beside the bare engine", "n_zones", "per_core", "throughput of bare, by core")

EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="pipeline",
        summary="The pipeline beside the bare engine: "
        "throughput, latency, state, recovery, and the two shapes of match.",
        scales=PLANS,
        sweep=whole,
        measure=everything,
        columns=(
            *THROUGHPUT,
            shown("p99 ms", "p99_ms"),
            shown("bytes", "bytes"),
            shown("due snapshots, ms", "due_ms"),
            shown("rebuilds", "rebuilds"),
            shown("s after a kill", "killed_s"),
            READY,
            REBUILT,
        ),
        plots=(BY_CORE,),
    ),
    Experiment(
        name="pipeline-recovery",
        summary="From the start of a new process with state on disk to its first delivered batch, "
        "as subscriptions grow.",
        scales=PLANS,
        sweep=whole,
        measure=recovery,
        columns=(
            SUBSCRIPTIONS,
            described("s to the first batch", _first_batch),
            RATIO,
            READY,
            REBUILT,
        ),
        plots=(plot("rebuilt", "Rebuilding router and zone", "n_subscriptions", "rebuilt_s", "seconds"),),
    ),
    Experiment(
        name="pipeline-throughput",
        summary="The pipeline beside the bare engine with 100,000 subscriptions and micro-batches of about a second.",
        scales={
            "toy": Load(20, 30, 2, (1,), shrink=10_000),
            "small": Load(100_000, 20_000, 6, (1, 2)),
            "full": Load(100_000, 50_000, 16, (1, 2, 4)),
        },
        sweep=whole,
        measure=under_load,
        columns=THROUGHPUT,
        plots=(BY_CORE,),
    ),
    Experiment(
        name="pipeline-scale",
        summary="What each stage of the pipeline uses of processors as zones and subscriptions grow, "
        "and the throughput that follows for so many cores.",
        scales={
            "toy": ScalePlan((20,), (1, 2), n_live=30, batch=10, n_batches=3, shrink=10_000, k=3),
            "small": ScalePlan((10_000, 100_000), (1, 2, 4, 8), n_live=20_000, batch=2000, n_batches=6),
            "full": ScalePlan((10_000, 100_000, 1_000_000), (1, 2, 4, 8), n_live=50_000, batch=5000, n_batches=11),
        },
        sweep=whole,
        measure=scale,
        columns=(
            SUBSCRIPTIONS,
            algorithm("zones"),
            computed("ms a batch", lambda row: ns_per_operation(row) * row["n_operations"] / 1e6),
            RATIO,
            *(shown(f"{stage} µs", f"us.{stage}") for stage in (*ALONE, MATCH, JAVA)),
            shown("slowest zone µs", "us.zone"),
            shown("copies", "copies"),
            *(shown(f"rows/s, {n} {'core' if n == 1 else 'cores'}", f"rate.{n}") for n in CORES),
        ),
        plots=(plot("cores", "Rows a second that follow for 8 cores", "n_zones", "rate.8", "rows a second"),),
    ),
)
