"""Figure 15 of the top-k/w paper: how far away the k-th publication of a top is, for each k, window and data set."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.paper import (
    SCALES,
    SPEED,
    Group,
    cell_of,
    expected_kth_score,
    parameter,
    ratio_of,
    run,
    setting_of,
    value_of,
    windows_of,
)
from skyband.bench.row import Row, number


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A run for each data set and window, with all k in one engine."""
    scale = SCALES[size]
    groups = [Group(k) for k in scale.ks]
    for data in scale.data:
        for minutes in scale.windows:
            progress(f"{data}, a window of {minutes} minutes")
            yield from run(setting_of(scale, data, minutes), groups, f"{data}, {minutes} min")


def _expected(row: Row, first: Row) -> str:
    given = row["parameters"]
    return number(expected_kth_score(given["k"], given["n_live"])) if given["data"] == "uniform" else ""


def _plot(letter: str, data: str) -> Plot:
    return Plot(
        letter,
        f"Figure 15({letter}): average k-th score, {data} data set",
        "k",
        "k",
        value_of("kth_score"),
        "score of the k-th publication",
        windows_of,
        lambda row: bool(row["parameters"]["data"] == data),
    )


BENCHMARK = Benchmark(
    name="window-figure15",
    summary="Figure 15 of the top-k/w paper: the average k-th score by k, window and data set.",
    measure=measure,
    columns=(
        parameter("data set", "data"),
        parameter("window in minutes", "window"),
        parameter("k", "k"),
        Column("k-th score", cell_of("kth_score")),
        Column("without edges", _expected),
        ratio_of("kth_score"),
        SPEED,
    ),
    plots=(_plot("a", "uniform"), _plot("b", "clustered"), _plot("c", "real")),
)
