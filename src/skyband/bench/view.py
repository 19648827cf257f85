"""What is shown of rows: columns of tables, and figures, which are drawn from stored rows and from nothing else.

A row's parameters say what was measured, its measures what was found. The first row of a contest is what others are
compared with.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skyband.bench.row import Row, ns_per_operation, number, ratio

Value = Callable[[Row], float]
Test = Callable[[Row], bool]
Name = Callable[[Row], str]
Published = Callable[[Row], float | None]

X_LABELS = {
    "n_subscriptions": "subscriptions",
    "n_live": "messages in the window",
    "d": "dimensions",
    "data": "data set",
}


# Three, so that no two of thirty lines look alike beside ten colours.
STYLES = ("-", "--", ":")
# The points of each series; matplotlib ships types for a part of itself, so that axes are Any here.
Lines = defaultdict[str, list[tuple[Any, float]]]


class ViewColumn(NamedTuple):
    """A column of the printed table: its header, and the text for a row and the first row of its contest."""

    header: str
    cell: Callable[[Row, Row], str]


def cells_of(columns: Sequence[ViewColumn], rows: list[Row]) -> list[list[str]]:
    """The texts of rows, and a note for each: the reason of one that was skipped."""
    first: dict[str, Row] = {}
    for row in rows:
        if row["skipped"] is None:
            first.setdefault(row["contest"], row)
    return [_cells(columns, row, first.get(row["contest"], row)) for row in rows]


def _cells(columns: Sequence[ViewColumn], row: Row, first: Row) -> list[str]:
    if row["skipped"] is None:
        return [column.cell(row, first) for column in columns] + [""]
    # The first two columns say what a row is about; the rest would be measured.
    named = [column.cell(row, first) for column in columns[:2]]
    return named + [""] * (len(columns) - 2) + [row["skipped"]]


def algorithm(header: str) -> ViewColumn:
    """A column that says whose row it is."""
    return ViewColumn(header, lambda row, first: str(row["algorithm"]))


def given(header: str, name: str = "") -> ViewColumn:
    """A column that shows a parameter, named like it unless said otherwise, where a row has it."""
    return ViewColumn(header, lambda row, first: str(row["parameters"].get(name or header, "")))


def count_given(header: str, name: str) -> ViewColumn:
    """A column that shows a parameter that is a whole number, with commas."""
    return ViewColumn(header, lambda row, first: f"{row['parameters'][name]:,}")


def shown(header: str, name: str) -> ViewColumn:
    """A column that shows a measure where a row has it, with its standard error where that is known."""

    def cell(row: Row, first: Row) -> str:
        if name not in row["measures"]:
            return ""
        error = row["measures"].get(f"{name}_error")
        return number(row["measures"][name]) + (f" ± {error:.2g}" if error is not None else "")

    return ViewColumn(header, cell)


def whole_number(header: str, name: str) -> ViewColumn:
    """A column that shows a measure as a whole number, with commas."""
    return ViewColumn(header, lambda row, first: f"{row['measures'][name]:,.0f}")


def multiple(header: str, name: str) -> ViewColumn:
    """A column that shows a measure that is a multiple of something, to three digits."""
    return ViewColumn(header, lambda row, first: f"{row['measures'][name]:.3g}")


def share(header: str, name: str) -> ViewColumn:
    """A column that shows a measure as a percentage where a row has it."""
    return ViewColumn(header, lambda row, first: f"{row['measures'][name]:.1%}" if name in row["measures"] else "")


def computed(header: str, value: Value) -> ViewColumn:
    """A column that shows a number that is computed from a row."""
    return ViewColumn(header, lambda row, first: number(value(row)))


def described(header: str, text: Name) -> ViewColumn:
    """A column that shows a text that is made of a row."""
    return ViewColumn(header, lambda row, first: text(row))


def relative(header: str, name: str) -> ViewColumn:
    """A column that shows a measure in multiples of that of the first row of the contest."""

    def cell(row: Row, first: Row) -> str:
        return _quotient(row["measures"].get(name), first["measures"].get(name))

    return ViewColumn(header, cell)


def quotient(header: str, name: str, other: str) -> ViewColumn:
    """A column that shows a measure in multiples of another one of the same row."""
    return ViewColumn(header, lambda row, first: _quotient(row["measures"].get(name), row["measures"].get(other)))


def _quotient(own: float | None, other: float | None) -> str:
    return f"{own / other:.3g}" if own is not None and other else ""


def beside(header: str, name: str, published: Published) -> tuple[ViewColumn, ViewColumn, ViewColumn]:
    """A measure, the paper's figure, and ours in multiples of that."""

    def theirs(row: Row, first: Row) -> str:
        figure = published(row)
        return "" if figure is None else f"{figure:,g}"

    def compared(row: Row, first: Row) -> str:
        own, figure = row["measures"].get(name), published(row)
        return f"{own / figure:.3f}" if own is not None and figure else ""

    return shown(header, name), ViewColumn(f"{header}, paper", theirs), ViewColumn(f"{header}, ours / paper", compared)


def by_parameter(
    figures: Mapping[str, Sequence[float]], name: str, values: Sequence[int], **fixed: object
) -> Published:
    """What a paper has for an algorithm at each value of a parameter, where other parameters are as in the paper."""

    def find(row: Row) -> float | None:
        found = row["parameters"]
        if row["algorithm"] not in figures or found[name] not in values:
            return None
        if any(found[other] != value for other, value in fixed.items()):
            return None
        return figures[row["algorithm"]][values.index(found[name])]

    return find


SUBSCRIPTIONS = count_given("subscriptions", "n_subscriptions")
K, D, DATA = given("k"), given("d"), given("data")
RATIO = ViewColumn("ratio", ratio)


def each_second(row: Row) -> float:
    """How many operations there are in a second."""
    return 1e9 / ns_per_operation(row)


def measure_of(name: str) -> Value:
    """What gives a row's measure."""
    return lambda row: float(row["measures"][name])


def name_of(row: Row) -> str:
    """A line for each algorithm."""
    return str(row["algorithm"])


def line(*parts: str) -> Name:
    """A line for each algorithm and each value of some parameters."""
    return lambda row: ", ".join([row["algorithm"], *(str(row["parameters"][part]) for part in parts)])


def only(*algorithms: str) -> Test:
    """Rows of these algorithms."""
    return lambda row: row["algorithm"] in algorithms


def where(**wanted: object) -> Test:
    """Rows whose parameters have these values."""
    return lambda row: all(row["parameters"].get(name) == value for name, value in wanted.items())


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


def plot(
    name: str,
    title: str,
    x: str,
    y: str | Value,
    y_label: str,
    *,
    series: Name = name_of,
    of: Test = lambda row: True,
    x_label: str = "",
) -> Plot:
    """A figure of a measure, or of what is computed, over a parameter; rows without the measure are left out."""

    def belongs(row: Row) -> bool:
        return (not isinstance(y, str) or y in row["measures"]) and of(row)

    value = measure_of(y) if isinstance(y, str) else y
    return Plot(name, title, x, x_label or X_LABELS.get(x, x), value, y_label, series, belongs)


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
