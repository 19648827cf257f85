"""What tables and figures of the ranked paper's evaluation show."""

from collections.abc import Callable

from skyband.bench.benchmark import Column
from skyband.bench.figure import Plot
from skyband.bench.paper import cell_of, value_of
from skyband.bench.row import Row, number

INDEX = Column("index", lambda row, first: row["algorithm"])
SUBSCRIPTIONS = Column("subscriptions", lambda row, first: f"{row['parameters']['n_subscriptions']:,}")
SINGLE = Column("µs an event", cell_of("single_us"))
BATCH = Column("µs in a batch", cell_of("batch_us"))
RATIO = Column("ratio", lambda row, first: f"{row['measures']['ratio']:.3g}")
RATIO_BATCH = Column("ratio in a batch", lambda row, first: f"{row['measures']['ratio_batch']:.3g}")
BUILD = Column("s to build", cell_of("build_s"))
BYTES = Column("bytes an interval", cell_of("bytes"))
SORTED = Column("sorted accesses", cell_of("sorted"))
RANDOM = Column("random accesses", cell_of("random"))
EVENTS = Column("events timed", lambda row, first: number(row["n_operations"]))


def given(header: str, name: str) -> Column:
    """A column that shows a parameter."""
    return Column(header, lambda row, first: str(row["parameters"][name]))


D, K, DATA, MATCHING = given("d", "d"), given("k", "k"), given("data", "data"), given("matching", "matching")


def plot(
    name: str,
    title: str,
    x: str,
    measure: str,
    y_label: str,
    of: Callable[[Row], bool] = lambda row: True,
    series: Callable[[Row], str] = lambda row: str(row["algorithm"]),
) -> Plot:
    """A figure of a measure over a parameter, a line for each index."""
    x_label = {"n_subscriptions": "subscriptions", "d": "dimensions"}.get(x, x)
    return Plot(name, title, x, x_label, value_of(measure), y_label, series, of)
