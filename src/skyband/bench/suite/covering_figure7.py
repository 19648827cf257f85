"""Figure 7 of the covering paper: speed-up of approximate over exhaustive search in 4 dimensions, by coverage."""

from skyband.bench.covering_speedup import Plan, benchmark

BENCHMARK = benchmark(
    7,
    2,
    {
        "toy": Plan((2,), (0, 1), 3, 30, 1_000, (0.9, 0.5), 1, longest=(2,)),
        "small": Plan((16, 32, 64), (0, 1, 2), 20, 10_000, 3_000_000, longest=(64,)),
        "full": Plan((16, 32, 64), (0, 1, 2), 50, 10_000, 20_000_000, longest=(64,)),
    },
)
