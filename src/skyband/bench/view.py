"""Columns and figures that the benchmarks of several papers show."""

from collections.abc import Callable

from skyband.bench.benchmark import Column
from skyband.bench.figure import Plot
from skyband.bench.paper import cell_of, value_of
from skyband.bench.row import Row

SUBSCRIPTIONS = Column("subscriptions", lambda row, first: f"{row['parameters']['n_subscriptions']:,}")
X_LABELS = {"n_subscriptions": "subscriptions", "d": "dimensions"}


def given(header: str, name: str) -> Column:
    """A column that shows a parameter."""
    return Column(header, lambda row, first: str(row["parameters"][name]))


def shown(header: str, name: str) -> Column:
    """A column that shows a measure where a row has it."""
    return Column(header, cell_of(name))


def share(header: str, name: str) -> Column:
    """A column that shows a measure as a percentage where a row has it."""

    def cell(row: Row, first: Row) -> str:
        return f"{row['measures'][name]:.1%}" if name in row["measures"] else ""

    return Column(header, cell)


def plot(
    name: str,
    title: str,
    x: str,
    measure: str,
    y_label: str,
    of: Callable[[Row], bool] = lambda row: True,
    series: Callable[[Row], str] = lambda row: str(row["algorithm"]),
) -> Plot:
    """A figure of a measure over a parameter, a line for each algorithm; rows without the measure are left out."""

    def has_measure(row: Row) -> bool:
        return measure in row["measures"] and of(row)

    return Plot(name, title, x, X_LABELS.get(x, x), value_of(measure), y_label, series, has_measure)
