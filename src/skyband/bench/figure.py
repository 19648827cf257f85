"""Figures, drawn from stored rows and from nothing else."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from skyband.bench.row import Row

# Three, so that no two of thirty lines look alike beside ten colours.
STYLES = ("-", "--", ":")
# The points of each series; matplotlib ships types for a part of itself, so that axes are Any here.
Lines = defaultdict[str, list[tuple[Any, float]]]


class Plot(NamedTuple):
    """A line for each series over the numbers of a parameter, on logarithmic axes, or bars from zero over its names.

    `y` and `series` are given a row; rows that `of` turns away are left out. A row without the parameter holds for all
    its numbers and is drawn as a level line.
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
    lines = _lines(plot, rows)
    if any(isinstance(x, str) for points in lines.values() for x, _ in points):
        _draw_bars(axes, lines)
    else:
        _draw_lines(axes, lines)
        axes.set(xscale="log", yscale="log")
    axes.set(xlabel=plot.x_label, ylabel=plot.y_label, title=plot.title)
    axes.grid(visible=True, which="major", alpha=0.3)
    if axes.has_data():
        figure.legend(loc="outside right upper", fontsize="small")
    path = folder / f"{benchmark}-{plot.name}.png"
    figure.savefig(path, dpi=120)
    return path


def _draw_lines(axes: Any, lines: Lines) -> None:
    for i, (name, points) in enumerate(sorted(lines.items())):
        style = {"color": f"C{i % 10}", "linestyle": STYLES[i % len(STYLES)], "label": name}
        placed = sorted(point for point in points if point[0] is not None)
        if placed:
            axes.plot(*zip(*placed, strict=True), marker="o", **style)
        else:
            axes.axhline(points[0][1], **style)


def _draw_bars(axes: Any, lines: Lines) -> None:
    """A group of bars for each name of the parameter, in the order of the rows."""
    names = list(dict.fromkeys(str(x) for points in lines.values() for x, _ in points))
    width = 0.8 / len(lines)
    for i, (series, points) in enumerate(lines.items()):
        at = [names.index(str(x)) + (i + 0.5) * width - 0.4 for x, _ in points]
        axes.bar(at, [y for _, y in points], width, color=f"C{i % 10}", label=series)
    axes.set_xticks(range(len(names)), names)


def _lines(plot: Plot, rows: list[Row]) -> Lines:
    lines: Lines = defaultdict(list)
    for row in rows:
        if plot.of(row):
            lines[plot.series(row)].append((row["parameters"].get(plot.x), plot.y(row)))
    return lines
