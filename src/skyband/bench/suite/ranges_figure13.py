"""Figure 13 of the ranges paper: the most bytes for one change, and calls for a change, of Unicast and Paint-Sparse."""

from skyband.bench.benchmark import Benchmark
from skyband.bench.painting_view import (
    APPROACH,
    EVENTS,
    MICROSECONDS,
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
from skyband.bench.suite.ranges_figure11 import measure

FIGURE = {"Unicast": (39_998_000,), "Paint-Sparse": (31_752,)}
BOTH = ("Unicast", "Paint-Sparse")


def calls(row: Row) -> float:
    """All calls that the paper counts."""
    return float(sum(row["measures"].get(name, 0.0) for name in ("first_k", "min_y", "snap")))


BENCHMARK = Benchmark(
    name="ranges-figure13",
    summary="Figure 13 of the ranges paper: the most bytes from the server for one change, and calls for a change.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        APPROACH,
        K,
        *beside("most bytes, paper's unit", "bytes_max", by_k(FIGURE, 5_000_000, (20,))),
        relative("ratio", "bytes_max"),
        shown("most bytes as sent", "sent_bytes_max"),
        shown("first_k", "first_k"),
        shown("min_y", "min_y"),
        shown("snap", "snap"),
        MICROSECONDS,
        EVENTS,
    ),
    plots=(
        plot(
            "a",
            "Figure 13(a): the most bytes from the server for one change",
            "n_subscriptions",
            "bytes_max",
            "bytes",
            by_approach_and_k,
            BOTH,
        ),
        plot(
            "b",
            "Figure 13(b): calls for a change",
            "n_subscriptions",
            calls,
            "calls a change",
            by_approach_and_k,
            BOTH,
        ),
    ),
)
