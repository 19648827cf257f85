"""Figure 12 of the ranges paper: bytes from the server for a change on average, by approach and by ε."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.painting import DENSE, SPARSE, UNICAST, loosened
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, SCALES, K, plot, relative, shown
from skyband.bench.row import Row
from skyband.bench.suite.ranges_table2 import EPSILONS

LOOSE = tuple(loosened(DENSE, epsilon) for epsilon in EPSILONS)
APPROACHES = (UNICAST, DENSE, SPARSE, *LOOSE, loosened(SPARSE, 1.0))
VARIOUS = ("Unicast", "Paint-Dense", "Paint-Sparse", "Paint-Dense(1)", "Paint-Sparse(1)")


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """All approaches with a server, and Paint-Dense with every ε."""
    yield from series(SCALES[size].setting, SCALES[size].ks, APPROACHES, progress)


BENCHMARK = Benchmark(
    name="ranges-figure12",
    summary="Figure 12 of the ranges paper: bytes from the server for a change, by approach and by ε.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        shown("bytes, paper's unit", "bytes"),
        shown("bytes as sent", "sent_bytes"),
        relative("ratio", "bytes"),
        shown("messages", "messages"),
        shown("most bytes, paper's unit", "bytes_max"),
        MICROSECONDS,
        EVENTS,
    ),
    plots=(
        plot("a", "Figure 12(a): bytes from the server for a change", "k", "bytes", "bytes a change", of=VARIOUS),
        plot(
            "b",
            "Figure 12(b): bytes from the server for a change, Paint-Dense(ε)",
            "k",
            "bytes",
            "bytes a change",
            of=[DENSE.label, *(approach.label for approach in LOOSE)],
        ),
    ),
)
