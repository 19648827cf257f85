"""The evaluation of the Skype paper (section 7): its sizes and algorithms, and what tables and figures show."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from skyband.bench.benchmark import Column, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.machine import free_memory
from skyband.bench.places import REAL, Corpus
from skyband.bench.race import Entrant, Setting, contest, left_out
from skyband.bench.row import Row, number
from skyband.bench.sweep import Spent, reluctance
from skyband.geotext.workload import CORPORA

MADE = tuple(CORPORA)
SKYPE = Entrant("skype", "skype")
CIQ = Entrant("ciq-kmax", "ciq")
OURS = Entrant("blocks", "blocks")


class Scale(NamedTuple):
    """How much of section 7.1 is taken, by default all; `data` is for Figures 7 to 11, `two` for those after them.

    `shrink` divides vocabularies: with fewer messages in a window, words have to be fewer for as many of them to match.
    `at_once` engines are in memory at a time. Before policies are compared, `n_settled` messages pass in place of
    `n_warm`: rows of kmax start with 60 messages, and one and a half windows later had 44, none of them run short.
    """

    n_subscriptions: int = 1_000_000
    n_live: int = 1_000_000
    n_warm: int = 200_000
    n_settled: int = 1_000_000
    batch: int = 1000
    n_rounds: int = 100
    shrink: int = 1
    k: int = 20
    at_once: int = 3
    data: tuple[str, ...] = MADE + REAL
    two: tuple[str, ...] = ("tweets", "places")
    ks: tuple[int, ...] = (10, 20, 30, 40, 50, 60)
    groups: tuple[int, ...] = (5, 10, 20, 40)
    keywords: tuple[int, ...] = (1, 2, 3, 4, 5)
    multiples: tuple[int, ...] = (1, 2, 3, 4, 5)

    def setting(self, data: str, settled: bool = False) -> Setting:
        """The defaults on a data set."""
        corpus, n_warm = Corpus(data, self.shrink), self.n_settled if settled else self.n_warm
        return Setting(corpus, self.n_subscriptions, self.n_live, n_warm, self.batch, self.n_rounds, self.k)


SCALES: dict[Size, Scale] = {
    # Without real data, so that what a toy run does is the same everywhere.
    "toy": Scale(
        n_subscriptions=24, n_live=40, n_warm=20, n_settled=40, batch=10, n_rounds=2, shrink=10_000, k=3, at_once=2,
        data=("tweets", "places"), ks=(2, 4), groups=(2, 10), keywords=(1, 3), multiples=(1, 2),
    ),
    # A fiftieth of subscriptions, messages and words.
    "small": Scale(
        n_subscriptions=20_000, n_live=20_000, n_warm=20_000, n_settled=100_000, n_rounds=10, shrink=50, at_once=16
    ),
    "full": Scale(),
}  # fmt: skip


def on_every(size: Size, entrants: Sequence[Entrant], progress: Progress, settled: bool = False) -> Iterator[Row]:
    """A contest on every data set."""
    scale = SCALES[size]
    for data in scale.data:
        yield from contest(scale.setting(data, settled), entrants, scale.at_once, data, progress)


def swept(
    size: Size, x: str, settings: Callable[[Scale, Setting], Sequence[Setting]], progress: Progress
) -> Iterator[Row]:
    """Skype, CIQ with kmax and ours on two data sets, in settings that differ in a parameter, which grows.

    Where the line through the two before it puts a setting over the free memory, rows say so.
    """
    scale, entrants = SCALES[size], (SKYPE, CIQ, OURS)
    for data in scale.two:
        before: list[Spent] = []
        for setting in settings(scale, scale.setting(data)):
            n = int(setting.parameters[x])
            label = f"{data}, {x} = {n:,}"
            reason = reluctance(n, before, math.inf, free_memory())
            if reason is not None:
                yield from left_out(setting, entrants, label, reason)
                continue
            rows = list(contest(setting, entrants, scale.at_once, label, progress))
            before.append(Spent(n, 0.0, max(total_bytes(row) for row in rows)))
            yield from rows


def total_bytes(row: Row) -> float:
    """The subscription index, the rows and the messages: everything that an engine says it keeps."""
    return float(sum(n for name, n in row["measures"].items() if name.startswith("bytes.")))


def index_each(row: Row) -> float:
    """Bytes of index for a subscription; Scan has none."""
    return float(row["measures"].get("bytes.index", 0.0)) / float(row["parameters"]["n_subscriptions"])


def value_of(name: str) -> Callable[[Row], float]:
    """What gives a row's measure, for a plot."""
    return lambda row: float(row["measures"][name])


def shown(header: str, name: str) -> Column:
    """A column that shows a measure, where a row has it."""
    return Column(header, lambda row, first: number(row["measures"][name]) if name in row["measures"] else "")


def beside_first(name: str) -> Column:
    """A column that shows a time in multiples of what the first engine took beside this one."""

    def cell(row: Row, first: Row) -> str:
        own, others = row["measures"].get(name), row["measures"].get(f"first.{name}")
        return f"{own / others:.3g}" if own is not None and others else ""

    return Column("ratio", cell)


def plot_of(name: str, title: str, x: str, measure: str | Callable[[Row], float], y_label: str, data: str = "") -> Plot:
    """A figure with a line, or bars, for each algorithm; of one data set only if one is named."""
    y = value_of(measure) if isinstance(measure, str) else measure
    return Plot(
        name,
        title,
        x,
        {"data": "data set", "n_live": "messages in the window", "n_subscriptions": "subscriptions"}.get(x, x),
        y,
        y_label,
        lambda row: str(row["algorithm"]),
        lambda row: data in ("", row["parameters"]["data"]),
    )


DATA = Column("data set", lambda row, first: row["parameters"]["data"])
ENGINE = Column("algorithm", lambda row, first: row["algorithm"])
ARRIVAL = shown("µs a message: arrival", "arrival_us")
EXPIRY = shown("expiry", "expiry_us")
ALL = shown("all", "all_us")
LENGTH = shown("messages in a row", "row_length")
FULL = Column("full tops", lambda row, first: f"{row['measures']['full']:.0%}")
SUBSCRIPTIONS = Column("subscriptions", lambda row, first: f"{row['parameters']['n_subscriptions']:,}")
INDEX_EACH = Column("bytes of index for a subscription", lambda row, first: number(index_each(row)))
INDEX = Column("MB of index", lambda row, first: number(row["measures"]["bytes.index"] / 1e6))
MEMORY = Column("MB in all", lambda row, first: number(total_bytes(row) / 1e6))
SEARCHES = shown("searches a message", "reevaluated")


def sweep_columns(header: str, x: str) -> tuple[Column, ...]:
    """The columns of a sweep over a parameter."""
    parameter = Column(header, lambda row, first: f"{row['parameters'][x]:,}")
    named = Column("data set", lambda row, first: f"{row['parameters']['data']}, {row['algorithm']}")
    return parameter, named, ARRIVAL, EXPIRY, ALL, beside_first("all_us"), SEARCHES, LENGTH, MEMORY


def sweep_plots(figure: str, header: str, x: str) -> tuple[Plot, ...]:
    """Arrivals and expiries by a parameter, for each data set that is swept."""
    return tuple(
        plot_of(f"{data}-{part}", f"{figure}: {part}, {data}", x, f"{part}_us", f"µs a message, {part}", data)._replace(
            x_label=header
        )
        for data in Scale().two
        for part in ("arrival", "expiry")
    )
