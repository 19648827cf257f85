"""Figures, drawn from stored rows and from nothing else."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from skyband.bench.row import Row

# Three, so that no two of thirty lines look alike beside ten colours.
STYLES = ("-", "--", ":")


class Plot(NamedTuple):
    """A figure with logarithmic axes: a line for each series over the numbers of a parameter.

    `y` and `series` are given a row; rows that `of` turns away are left out.
    """

    name: str
    title: str
    x: str
    x_label: str
    y: Callable[[Row], float]
    y_label: str
    series: Callable[[Row], str]
    of: Callable[[Row], bool] = lambda row: True


class NoMatplotlib(RuntimeError):
    """Figures were asked for where matplotlib is not installed."""


def draw_plot(plot: Plot, benchmark: str, rows: list[Row], folder: Path) -> Path:
    """Draw one figure into a folder, as `benchmark-plot.png`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NoMatplotlib("Figures need matplotlib, which `pip install skyband[plot]` brings.") from None
    figure = Figure(figsize=(9.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for i, (name, points) in enumerate(sorted(_lines(plot, rows).items())):
        x, y = zip(*sorted(points), strict=True)
        axes.plot(x, y, color=f"C{i % 10}", marker="o", linestyle=STYLES[i % len(STYLES)], label=name)
    axes.set(xlabel=plot.x_label, ylabel=plot.y_label, title=plot.title, xscale="log", yscale="log")
    axes.grid(visible=True, which="major", alpha=0.3)
    if axes.has_data():
        figure.legend(loc="outside right upper", fontsize="small")
    path = folder / f"{benchmark}-{plot.name}.png"
    figure.savefig(path, dpi=120)
    return path


def _lines(plot: Plot, rows: list[Row]) -> dict[str, list[tuple[float, float]]]:
    lines: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if plot.of(row):
            lines[plot.series(row)].append((row["parameters"][plot.x], plot.y(row)))
    return lines
