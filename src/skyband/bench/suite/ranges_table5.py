"""Table V of the ranges paper: how many messages too many subscriptions receive, on a trace of stocks."""

from collections.abc import Iterator

from skyband.bench import painting_stocks
from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.painting_view import APPROACH, EVENTS, K, relative, shown
from skyband.bench.row import Row
from skyband.bench.suite.ranges_table2 import redundancy, with_redundancy

TABLE = {
    "Paint-Sparse(1)": (0, 0.19, 0.25, 0.35, 0.39, 0.38),
    "CN-Relax": (706.51, 361.22, 147.13, 72.67, 48.38, 36.11),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Paint-Sparse first, which is exact, then the others on the same changes."""
    yield from with_redundancy(painting_stocks.measure(size, progress))


BENCHMARK = Benchmark(
    name="ranges-table5",
    summary="Table V of the ranges paper: redundancy in the messages that subscriptions receive, on stocks.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        *redundancy(TABLE, painting_stocks.M),
        shown("affected", "affected"),
        shown("messages received", "received"),
        relative("ratio", "received"),
        EVENTS,
    ),
    plots=(),
)
