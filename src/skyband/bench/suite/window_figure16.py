"""Figure 16 of the top-k/w paper: what a subscription is delivered when publications come more and less often."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.paper import (
    SCALES,
    SPEED,
    Group,
    cell_of,
    expected_deliveries,
    parameter,
    ratio_of,
    run,
    setting_of,
    value_of,
)
from skyband.bench.row import Row, number


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A run of the same length of time for each λ, with both kinds of subscriptions in one engine."""
    scale = SCALES[size]
    groups = [Group(k=scale.k), Group(threshold=scale.threshold)]
    for rate in scale.rates:
        progress(f"{rate:,} publications a minute")
        yield from run(setting_of(scale, "uniform", scale.window, rate), groups, f"{rate} a minute")


def _expected(row: Row, first: Row) -> str:
    given = row["parameters"]
    if "k" not in given:
        return ""
    return number(expected_deliveries(given["k"], given["n_live"], given["n_publications"]))


def _asked(row: Row, first: Row) -> str:
    given = row["parameters"]
    return f"k = {given['k']}" if "k" in given else f"within {given['threshold']}"


BENCHMARK = Benchmark(
    name="window-figure16",
    summary="Figure 16 of the top-k/w paper: deliveries to a top-k/w and to a Boolean subscription by intensity.",
    measure=measure,
    columns=(
        parameter("publications a minute", "rate"),
        Column("model", lambda row, first: row["algorithm"]),
        Column("asks for", _asked),
        parameter("publications", "n_publications"),
        Column("deliveries", cell_of("deliveries")),
        Column("expected", _expected),
        ratio_of("deliveries"),
        Column("in a window, once one is full", cell_of("deliveries_window")),
        SPEED,
    ),
    plots=(
        Plot(
            "deliveries",
            "Figure 16: matching publications for a subscription",
            "rate",
            "publications a minute",
            value_of("deliveries"),
            "publications delivered",
            lambda row: str(row["algorithm"]),
        ),
    ),
)
