"""All approaches of the ranges paper side by side, for every k and growing numbers of subscriptions."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.painting import DENSE, RELAX, SPARSE, UNICAST, loosened
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import (
    APPROACH,
    EVENTS,
    MICROSECONDS,
    RATIO,
    SCALES,
    SPEED,
    SUBSCRIPTIONS,
    TIMED,
    K,
    relative,
    shown,
)
from skyband.bench.paper import value_of
from skyband.bench.row import Row

APPROACHES = (UNICAST, DENSE, SPARSE, loosened(DENSE, 1.0), loosened(SPARSE, 1.0), RELAX)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions and k, with Unicast first."""
    scale = SCALES[size]
    for m in scale.ms:
        yield from series(scale.setting._replace(n_subscriptions=m), scale.ks, APPROACHES, progress)


def _plot(name: str, measure: str, what: str) -> Plot:
    """By approach for the largest k, which is 3 at size toy."""
    return Plot(
        name,
        f"At the server: {what}, k = 20",
        "n_subscriptions",
        "subscriptions",
        value_of(measure),
        what,
        lambda row: str(row["algorithm"]),
        lambda row: measure in row["measures"] and row["parameters"]["k"] in (3, 20),
    )


BENCHMARK = Benchmark(
    name="ranges",
    summary="All approaches of the ranges paper side by side: time, messages, bytes and calls, by subscriptions and k.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        APPROACH,
        K,
        SPEED,
        MICROSECONDS,
        RATIO,
        shown("messages", "messages"),
        shown("bytes, paper's unit", "bytes"),
        shown("bytes as sent", "sent_bytes"),
        relative("ratio of bytes", "bytes"),
        shown("most bytes, paper's unit", "bytes_max"),
        shown("first_k", "first_k"),
        shown("min_y", "min_y"),
        shown("snap", "snap"),
        shown("affected", "affected"),
        shown("received", "received"),
        EVENTS,
        TIMED,
    ),
    plots=(_plot("time", "us", "µs a change"), _plot("bytes", "bytes", "bytes a change, paper's unit")),
)
