"""Figure 9 of the covering paper: speed-up of approximate over exhaustive search in 8 dimensions, by coverage."""

from skyband.bench.covering_speedup import Plan, benchmark

BENCHMARK = benchmark(
    9,
    4,
    {
        "toy": Plan((1,), (0, 1), 2, 20, 1_000, (0.9, 0.5), 1, longest=(2,)),
        "small": Plan((2, 4), (0, 1, 2), 10, 10_000, 15_000_000, longest=(8,)),
        "full": Plan((2, 4, 6), (0, 1, 2), 50, 10_000, 50_000_000, longest=(8,)),
    },
)
