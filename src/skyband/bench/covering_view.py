"""What tables and figures of the covering benchmarks show."""

from collections.abc import Callable

from skyband.bench.benchmark import Column
from skyband.bench.figure import Plot
from skyband.bench.paper import cell_of, value_of
from skyband.bench.ranking_view import given
from skyband.bench.row import Row, number

SEARCH = Column("search", lambda row, first: row["algorithm"])
SUBSCRIPTIONS = Column("subscriptions", lambda row, first: f"{row['parameters']['n_subscriptions']:,}")
ATTRIBUTES, DATA, SIDES = given("attributes", "attributes"), given("data", "data"), given("sides", "sides")
RATIO = Column("ratio", cell_of("ratio"))
ASKED = Column("queries asked", lambda row, first: number(row["n_operations"]))


def shown(header: str, name: str) -> Column:
    """A column that shows a measure where a row has it."""
    return Column(header, cell_of(name))


def share(header: str, name: str) -> Column:
    """A column that shows a measure as a percentage where a row has it."""

    def cell(row: Row, first: Row) -> str:
        return f"{row['measures'][name]:.1%}" if name in row["measures"] else ""

    return Column(header, cell)


STEPS = shown("probes, nodes, leaves or rows", "steps")
BATCH = shown("µs in a batch", "batch_us")
SINGLE = shown("µs a query", "single_us")


def plot(
    name: str,
    title: str,
    x: str,
    measure: str,
    y_label: str,
    of: Callable[[Row], bool] = lambda row: True,
    series: Callable[[Row], str] = lambda row: str(row["algorithm"]),
) -> Plot:
    """A figure of a measure over a parameter, a line for each search; rows without the measure are left out."""
    x_label = {"n_subscriptions": "subscriptions"}.get(x, x)
    return Plot(
        name, title, x, x_label, value_of(measure), y_label, series, lambda row: measure in row["measures"] and of(row)
    )
