"""Figure 17 of the top-k/w paper: what a subscription is delivered by k and window, and by threshold."""

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
    windows_of,
)
from skyband.bench.row import Row, number


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A run for each data set and window with all k in one engine, and one for each data set with all thresholds."""
    scale = SCALES[size]
    tops, within = [Group(k) for k in scale.ks], [Group(threshold=threshold) for threshold in scale.thresholds]
    for data in scale.data:
        for minutes in scale.windows:
            progress(f"top-k/w, {data}, a window of {minutes} minutes")
            yield from run(setting_of(scale, data, minutes), tops, f"top-k/w, {data}, {minutes} min")
    for data in scale.data:
        progress(f"Boolean, {data}")
        yield from run(setting_of(scale, data, scale.window), within, f"Boolean, {data}")


def _expected(row: Row, first: Row) -> str:
    given = row["parameters"]
    if "k" not in given:
        return ""
    return number(expected_deliveries(given["k"], given["n_live"], given["n_publications"]))


def _window(row: Row, first: Row) -> str:
    return str(row["parameters"]["window"]) if row["algorithm"] == "top-k/w" else ""


BENCHMARK = Benchmark(
    name="window-figure17",
    summary="Figure 17 of the top-k/w paper: deliveries by k and window, and by threshold, for each data set.",
    measure=measure,
    columns=(
        Column("model", lambda row, first: row["algorithm"]),
        parameter("data set", "data"),
        Column("window in minutes", _window),
        parameter("k", "k"),
        parameter("threshold", "threshold"),
        Column("deliveries", cell_of("deliveries")),
        Column("expected", _expected),
        ratio_of("deliveries"),
        Column("in a window, once one is full", cell_of("deliveries_window")),
        SPEED,
    ),
    plots=(
        Plot(
            "a",
            "Figure 17(a): matching publications for a top-k/w subscription",
            "k",
            "k",
            value_of("deliveries"),
            "publications delivered",
            lambda row: f"{row['parameters']['data']}, {windows_of(row)}",
            lambda row: bool(row["algorithm"] == "top-k/w"),
        ),
        Plot(
            "b",
            "Figure 17(b): matching publications for a Boolean subscription",
            "threshold",
            "threshold",
            value_of("deliveries"),
            "publications delivered",
            lambda row: str(row["parameters"]["data"]),
            lambda row: bool(row["algorithm"] == "Boolean"),
        ),
    ),
)
