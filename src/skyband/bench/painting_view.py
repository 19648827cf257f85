"""What tables and figures of the ranges paper's evaluation show, with the paper's own numbers beside ours."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from skyband.bench.benchmark import Column, Size
from skyband.bench.figure import Plot
from skyband.bench.painting import Setting
from skyband.bench.paper import cell_of, value_of
from skyband.bench.row import Row, ns_per_operation, number

KS = (1, 2, 5, 10, 15, 20)
# Unless a table says otherwise (section V).
M = 2_000_000


class Scale(NamedTuple):
    """How much of section V is taken, by default all.

    `setting` is the default one, and `ms` the numbers of subscriptions of the race; those of figures that show growth,
    of Table IV and of Figure 15, which has `n_few` objects, are their own. `n_exact` changes are replayed where
    Paint-Dense alone is enough, `n_calls` where calls are counted, `n_carried` through a network; `n_batch` are in a
    batch. `sloped` is the setting of appendix D, whose k go to 15.
    """

    setting: Setting = Setting(M, 20_000, batch=50, patience=15.0)
    ks: tuple[int, ...] = KS
    ms: tuple[int, ...] = (200_000, 2_000_000, 5_000_000)
    growth: tuple[int, ...] = (200_000, 1_000_000, 2_000_000, 5_000_000)
    table4: tuple[int, ...] = (200_000, 800_000, 4_000_000, 10_000_000)
    figure15: tuple[int, ...] = (200_000, 2_000_000, 10_000_000)
    n_few: int = 1_000
    k: int = 10
    n_exact: int = 50_000
    n_calls: int = 50_000
    n_carried: int = 10_000
    n_batch: int = 50_000
    sloped: Setting = Setting(400_000, 10_000, dims=2, batch=50)
    n_zones: int = 1_000
    n_nodes: int = 20_000


SCALES: dict[Size, Scale] = {
    "toy": Scale(
        setting=Setting(40, 8, n_objects=12, n_warm=2, batch=4),
        ks=(1, 3),
        ms=(20, 40),
        growth=(20, 40),
        table4=(20, 40),
        figure15=(40,),
        n_few=12,
        k=3,
        n_exact=12,
        n_calls=8,
        n_carried=8,
        n_batch=16,
        sloped=Setting(40, 8, n_objects=12, dims=2, n_warm=2, batch=4),
        n_zones=5,
        n_nodes=30,
    ),
    "small": Scale(
        setting=Setting(M, 5_000, n_warm=10, batch=50),
        ms=(200_000, 2_000_000),
        growth=(200_000, 1_000_000, 2_000_000),
        table4=(200_000, 800_000, 4_000_000),
        figure15=(200_000, 2_000_000),
        n_calls=20_000,
        n_carried=5_000,
        sloped=Setting(400_000, 2_000, dims=2, n_warm=10, batch=50),
    ),
    "full": Scale(),
}


APPROACH = Column("approach", lambda row, first: row["algorithm"])
K = Column("k", lambda row, first: str(row["parameters"]["k"]))
SUBSCRIPTIONS = Column("subscriptions", lambda row, first: f"{row['parameters']['n_subscriptions']:,}")
EVENTS = Column("changes counted", lambda row, first: number(row["measures"]["events"]))
TIMED = Column("changes timed", lambda row, first: number(row["measures"]["timed"]))
SPEED = Column("changes a second", lambda row, first: number(1e9 / ns_per_operation(row)))
MICROSECONDS = Column("µs a change", lambda row, first: number(row["measures"]["us"]))
RATIO = Column("ratio", lambda row, first: f"{row['measures']['ratio_us']:.3g}")


def shown(header: str, name: str) -> Column:
    """A column that shows a measure where a row has it, with its standard error if that is known."""
    return Column(header, cell_of(name))


def relative(header: str, name: str) -> Column:
    """A column that shows a measure in multiples of the first row of the contest."""

    def cell(row: Row, first: Row) -> str:
        own, other = row["measures"].get(name), first["measures"].get(name)
        return f"{own / other:.3g}" if own is not None and other else ""

    return Column(header, cell)


Published = Callable[[Row], float | None]


def by_k(figures: Mapping[str, Sequence[float]], m: int = M, ks: Sequence[int] = KS) -> Published:
    """What the paper has for an approach at each k and this many subscriptions."""

    def find(row: Row) -> float | None:
        given = row["parameters"]
        if row["algorithm"] not in figures or given["n_subscriptions"] != m or given["k"] not in ks:
            return None
        return figures[row["algorithm"]][ks.index(given["k"])]

    return find


def beside(header: str, name: str, published: Published) -> tuple[Column, Column, Column]:
    """A measure, the paper's figure, and ours in multiples of that."""

    def theirs(row: Row, first: Row) -> str:
        figure = published(row)
        return "" if figure is None else f"{figure:,g}"

    def compared(row: Row, first: Row) -> str:
        own, figure = row["measures"].get(name), published(row)
        return f"{own / figure:.3f}" if own is not None and figure else ""

    return shown(header, name), Column(f"{header}, paper", theirs), Column(f"{header}, ours / paper", compared)


def plot(
    name: str,
    title: str,
    x: str,
    measure: str | Callable[[Row], float],
    y_label: str,
    series: Callable[[Row], str] = lambda row: str(row["algorithm"]),
    of: Sequence[str] = (),
) -> Plot:
    """A figure over a parameter, of some approaches or of all."""
    x_label = {"n_subscriptions": "subscriptions", "data": "workload"}.get(x, x)
    y = value_of(measure) if isinstance(measure, str) else measure
    return Plot(name, title, x, x_label, y, y_label, series, lambda row: not of or row["algorithm"] in of)


def by_approach_and_k(row: Row) -> str:
    """A line for each approach and k, named so that they sort by k."""
    return f"{row['algorithm']}, k = {row['parameters']['k']:>2}"
