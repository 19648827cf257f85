"""Figure 17 of the ranges paper: traffic in the broker network for a change, on a trace of stocks."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.painting_stocks import APPROACHES, measure
from skyband.bench.painting_traffic import TRAFFIC, traffic_plots
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, K, shown

BENCHMARK = Benchmark(
    name="ranges-figure17",
    summary="Figure 17 of the ranges paper: overlay and IP traffic in the broker network for a change, on stocks.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        *TRAFFIC,
        shown("messages", "messages"),
        shown("bytes from the server", "bytes"),
        MICROSECONDS,
        EVENTS,
    ),
    plots=traffic_plots("Figure 17", [approach.label for approach in APPROACHES]),
)
