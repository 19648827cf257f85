"""Figure 11 of the ranges paper: bytes from the server for a change on average, by subscriptions and k."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.painting import DENSE, SPARSE, UNICAST, loosened
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import (
    APPROACH,
    EVENTS,
    MICROSECONDS,
    SCALES,
    SUBSCRIPTIONS,
    K,
    beside,
    by_approach_and_k,
    by_k,
    plot,
    relative,
    shown,
)
from skyband.bench.row import Row

FIGURE = {"Unicast": (316_158,), "Paint-Dense": (3_501,)}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Unicast, Paint-Dense, Paint-Sparse and Paint-Sparse(1) for each number of subscriptions and k."""
    scale, approaches = SCALES[size], (UNICAST, DENSE, SPARSE, loosened(SPARSE, 1.0))
    for m in scale.growth:
        yield from series(scale.setting._replace(n_subscriptions=m), scale.ks, approaches, progress)


def _plot(letter: str, *approaches: str) -> Plot:
    title = f"Figure 11({letter}): bytes from the server for a change, {' and '.join(approaches)}"
    return plot(
        letter, title, "n_subscriptions", "bytes", "bytes a change, paper's unit", by_approach_and_k, approaches
    )


BENCHMARK = Benchmark(
    name="ranges-figure11",
    summary="Figure 11 of the ranges paper: bytes from the server for a change, by the number of subscriptions and k.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        APPROACH,
        K,
        *beside("bytes, paper's unit", "bytes", by_k(FIGURE, 5_000_000, (20,))),
        relative("ratio", "bytes"),
        shown("bytes as sent", "sent_bytes"),
        shown("messages", "messages"),
        MICROSECONDS,
        EVENTS,
    ),
    plots=(
        _plot("a", "Unicast", "Paint-Dense"),
        _plot("b", "Paint-Dense", "Paint-Sparse"),
        _plot("c", "Paint-Sparse", "Paint-Sparse(1)"),
    ),
)
