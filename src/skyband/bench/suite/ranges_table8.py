"""Table VIII of the ranges paper: searches for subscriptions for a change, with 1.5-dimensional subscriptions."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, RATIO, K, beside, plot, shown
from skyband.bench.suite.ranges_table7 import DATASET, measure, on_each, published

SNAP = {
    "dataset1": (4.55, 13.86, 88.43, 473.43, 1361.90),
    "dataset2": (4.08, 10.92, 51.44, 213.40, 561.45),
    "dataset3": (4.29, 12.28, 70.69, 360.45, 1022.86),
}

BENCHMARK = Benchmark(
    name="ranges-table8",
    summary="Table VIII of the ranges paper: searches for subscriptions for a change, with 1.5-dimensional ones.",
    measure=measure,
    columns=(
        DATASET,
        APPROACH,
        K,
        *beside("snap", "snap", published(SNAP)),
        shown("emptiness tests", "empty"),
        shown("snaps for the reach", "reach"),
        shown("messages", "messages"),
        MICROSECONDS,
        RATIO,
        EVENTS,
    ),
    plots=(
        plot(
            "calls",
            "Table VIII: searches for subscriptions for a change",
            "k",
            "snap",
            "searches a change",
            on_each,
            ["Paint-Sparse"],
        ),
    ),
)
