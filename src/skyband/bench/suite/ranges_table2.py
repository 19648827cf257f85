"""Table II of the ranges paper: how many messages too many subscriptions receive under approximate approaches."""

from collections.abc import Iterator, Mapping, Sequence

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.painting import RELAX, SPARSE, loosened
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, SCALES, K, beside, by_k, relative, shown
from skyband.bench.row import Row

EPSILONS = (0.125, 0.25, 0.5, 1.0)
TABLE = {
    "Paint-Sparse(0.125)": (0, 0, 0, 0.015, 0.0234, 0.034),
    "Paint-Sparse(0.25)": (0, 0, 0.027, 0.061, 0.070, 0.080),
    "Paint-Sparse(0.5)": (0, 0, 0.11, 0.14, 0.16, 0.17),
    "Paint-Sparse(1)": (0, 0.16, 0.29, 0.30, 0.32, 0.34),
    "CN-Relax": (1440.2, 680.14, 288.49, 151.76, 104.23, 79.98),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Paint-Sparse first, which is exact, then the others on the same changes."""
    scale = SCALES[size]
    approaches = (SPARSE, *(loosened(SPARSE, epsilon) for epsilon in EPSILONS), RELAX)
    setting = scale.setting._replace(n_events=scale.n_calls)
    yield from with_redundancy(series(setting, scale.ks, approaches, progress))


def with_redundancy(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows with what is received too much, in multiples of what the first row of the contest has.

    As in the paper, CN-Relax is held against the messages that tell the changed object, since it sends no others.
    """
    exact: Row = {}
    for row in rows:
        exact = exact if exact and exact["contest"] == row["contest"] else row
        for name, counted in (("redundancy", "received"), ("redundancy_changed", "affected")):
            if exact["measures"].get(counted):
                row["measures"][name] = row["measures"][counted] / exact["measures"][counted] - 1.0
        yield row


def redundancy(table: Mapping[str, Sequence[float]], m: int) -> tuple[Column, ...]:
    """Columns for it."""
    return (*beside("redundancy", "redundancy_changed", by_k(table, m)), shown("of all messages", "redundancy"))


BENCHMARK = Benchmark(
    name="ranges-table2",
    summary="Table II of the ranges paper: redundancy in the messages that subscriptions receive, by k and ε.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        *redundancy(TABLE, 2_000_000),
        shown("messages received", "received"),
        relative("ratio", "received"),
        shown("messages sent", "messages"),
        MICROSECONDS,
        EVENTS,
    ),
    plots=(),
)
