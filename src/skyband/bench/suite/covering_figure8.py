"""Figure 8 of the covering paper: speed-up of approximate over exhaustive search in 6 dimensions, by coverage."""

from skyband.bench.covering_speedup import Plan, benchmark

BENCHMARK = benchmark(
    8,
    3,
    {
        "toy": Plan((2,), (0,), 2, 30, 1_000, (0.9, 0.5), 1, longest=(2,)),
        "small": Plan((4, 8), (0, 1, 2), 20, 10_000, 4_000_000, longest=(8,)),
        "full": Plan((4, 8), (0, 1, 2), 50, 10_000, 50_000_000, longest=(8,)),
    },
)
