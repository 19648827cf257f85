"""Table VI of the ranges paper: calls to the indexes for a change, on a trace of stocks."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.painting_stocks import M, measure
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, RATIO, K, beside, by_k, plot, shown

MIN_Y = {
    "Paint-Sparse": (0.5, 0.5, 0.51, 0.54, 0.57, 0.61),
    "Unicast": (176.01, 409.44, 1050.48, 2278.27, 3510.16, 4614.24),
}
SNAP = {"Paint-Sparse": (1, 2, 5.05, 10.35, 16.02, 22.18)}

BENCHMARK = Benchmark(
    name="ranges-table6",
    summary="Table VI of the ranges paper: calls to the indexes for a change, on stocks.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        shown("first_k", "first_k"),
        *beside("min_y", "min_y", by_k(MIN_Y, M)),
        *beside("snap", "snap", by_k(SNAP, M)),
        MICROSECONDS,
        RATIO,
        shown("bytes from the server, paper's unit", "bytes"),
        shown("bytes from the server as sent", "sent_bytes"),
        EVENTS,
    ),
    plots=(
        plot(
            "calls",
            "Table VI: calls of min_y for a change",
            "k",
            "min_y",
            "calls a change",
            of=("Unicast", "Paint-Dense", "Paint-Sparse", "Paint-Sparse(1)"),
        ),
    ),
)
