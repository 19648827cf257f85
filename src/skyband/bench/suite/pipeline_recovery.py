"""How long a pipeline takes to go on in a new process, by the number of its subscriptions."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.pipeline_flow import session, why_missing
from skyband.bench.row import Row, ratio, skipped
from skyband.bench.suite.pipeline import BENCHMARK as PIPELINE
from skyband.bench.suite.pipeline import PLANS, begin, recovered
from skyband.bench.view import plot


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A state of each size is made by a pipeline, and then gone on with."""
    plan, missing = PLANS[size], why_missing()
    if missing is not None:
        yield skipped("recovery", "pipeline", plan.given(), missing)
        return
    for n in plan.recovery:
        with TemporaryDirectory(prefix="skyband-bench-") as folder:
            with session() as spark:
                configuration = begin(spark, plan, n, Path(folder) / "pipeline", progress)
            progress(f"recovery of {n:,} subscriptions")
            yield recovered(plan.given(n), configuration) | {"contest": "recovery"}


_SHOWN = {column.header: column for column in PIPELINE.columns}
BENCHMARK = Benchmark(
    name="pipeline-recovery",
    summary="From the start of a new process with state on disk to its first delivered batch, as subscriptions grow.",
    measure=measure,
    columns=(
        _SHOWN["subscriptions"],
        Column("s to the first batch", lambda row, first: f"{row['latencies'][0] / 1e9:.3g}"),
        Column("ratio", ratio),
        _SHOWN["query runs after s"],
        _SHOWN["rebuilt in s"],
    ),
    plots=(plot("rebuilt", "Rebuilding router and zone", "n_subscriptions", "rebuilt_s", "seconds"),),
)
