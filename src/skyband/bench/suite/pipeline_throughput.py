"""The pipeline beside the bare engine with many subscriptions and micro-batches of about a second of its work."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.pipeline_contest import throughput, zones_of
from skyband.bench.pipeline_course import Course, rate
from skyband.bench.pipeline_flow import session, why_missing
from skyband.bench.row import Row, skipped
from skyband.bench.suite import pipeline

# By size: subscriptions, live publications, batches, and numbers of zones.
PLANS: dict[Size, tuple[int, int, int, tuple[int, ...]]] = {
    "toy": (20, 30, 2, (1,)),
    "small": (100_000, 20_000, 6, (1, 2)),
    "full": (100_000, 50_000, 16, (1, 2, 4)),
}
K, SHRINK = 20, 50


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """The throughput of the engine alone and of pipelines, for each number of zones."""
    n_subscriptions, n_live, n_batches, zones = PLANS[size]
    shrink = 10_000 if size == "toy" else SHRINK
    given = {"n_subscriptions": n_subscriptions, "n_live": n_live, "k": K, "shrink": shrink}
    missing = why_missing()
    if missing is not None:
        yield skipped("throughput", "pipeline", given, missing)
        return
    progress("how many publications are a second of work")
    found = rate(n_subscriptions, n_live, max(n_live // 20, 10), shrink, K)
    batch = max(10, int(float(f"{min(found, n_live / 2):.1g}")))
    with TemporaryDirectory(prefix="skyband-bench-") as folder, session() as spark:
        for n_zones in zones:
            progress(f"throughput, {zones_of(n_zones)}, batches of {batch:,}")
            course = Course(n_subscriptions, n_live, batch, n_batches, shrink, K)
            place = Path(folder) / str(n_zones)
            yield from throughput(spark, place, course, n_zones, given | {"batch": batch})


BENCHMARK = Benchmark(
    name="pipeline-throughput",
    summary="The pipeline beside the bare engine with 100,000 subscriptions and micro-batches of about a second.",
    measure=measure,
    columns=pipeline.BENCHMARK.columns[:9],
    plots=pipeline.BENCHMARK.plots,
)
