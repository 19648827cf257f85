"""Figure 26 of the ranges paper: bytes from the server with 1.5-dimensional subscriptions, on average and at most."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, K, plot, relative, shown
from skyband.bench.suite.ranges_table7 import DATASET, measure, on_each

BENCHMARK = Benchmark(
    name="ranges-figure26",
    summary="Figure 26 of the ranges paper: bytes from the server for a change, with 1.5-dimensional subscriptions.",
    measure=measure,
    columns=(
        DATASET,
        APPROACH,
        K,
        shown("bytes, as if in the paper's unit", "bytes"),
        shown("bytes as sent", "sent_bytes"),
        relative("ratio", "bytes"),
        shown("most bytes, as if in the paper's unit", "bytes_max"),
        shown("messages", "messages"),
        shown("affected", "affected"),
        shown("received", "received"),
        MICROSECONDS,
        EVENTS,
    ),
    plots=(
        plot("a", "Figure 26(a): bytes from the server for a change", "k", "bytes", "bytes a change", on_each),
        plot("b", "Figure 26(b): the most bytes from the server for one change", "k", "bytes_max", "bytes", on_each),
    ),
)
