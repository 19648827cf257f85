"""Figure 17 of the ranges paper: traffic in the broker network for a change, on a trace of stocks."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.painting_stocks import APPROACHES, measure
from skyband.bench.painting_traffic import TRAFFIC, traffic_plots

BENCHMARK = Benchmark(
    name="ranges-figure17",
    summary="Figure 17 of the ranges paper: overlay and IP traffic in the broker network for a change, on stocks.",
    measure=measure,
    columns=TRAFFIC,
    plots=traffic_plots("Figure 17", [approach.label for approach in APPROACHES]),
)
