"""Table IV of the ranges paper: calls to the indexes for a change, by the number of subscriptions."""

from collections.abc import Iterator, Mapping, Sequence

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.painting import DENSE, SPARSE, UNICAST
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import (
    APPROACH,
    EVENTS,
    MICROSECONDS,
    RATIO,
    SCALES,
    SUBSCRIPTIONS,
    K,
    beside,
    plot,
    shown,
)
from skyband.bench.row import Row

MS = (200_000, 800_000, 4_000_000, 10_000_000)
MIN_Y = {"Paint-Sparse": (3.52, 4.84, 5.94188, 6.26988), "Unicast": (545.23, 2181.49, 10906.4, 27267.5)}
SNAP = {"Paint-Sparse": (29.87, 37.34, 42.0509, 42.86982)}
# Whatever the number: the paper counts a snap for each tile of Paint-Dense, which is a message.
DENSE_MIN_Y, DENSE_TILES = 6.60, 43.36


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Unicast, Paint-Dense and Paint-Sparse for each number of subscriptions."""
    scale = SCALES[size]
    setting = scale.setting._replace(n_events=scale.n_calls)
    for m in scale.table4:
        yield from series(setting._replace(n_subscriptions=m), [scale.k], (UNICAST, DENSE, SPARSE), progress)


def _min_y(row: Row) -> float | None:
    if row["parameters"]["k"] != 10:
        return None
    return DENSE_MIN_Y if row["algorithm"] == DENSE.label else _by_m(row, MIN_Y)


def _by_m(row: Row, figures: Mapping[str, Sequence[float]]) -> float | None:
    m = row["parameters"]["n_subscriptions"]
    return figures[row["algorithm"]][MS.index(m)] if row["algorithm"] in figures and m in MS else None


def _tiles(row: Row, first: Row) -> str:
    return f"{DENSE_TILES}" if row["algorithm"] == DENSE.label and row["parameters"]["k"] == 10 else ""


BENCHMARK = Benchmark(
    name="ranges-table4",
    summary="Table IV of the ranges paper: calls to the indexes for a change, by the number of subscriptions.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        APPROACH,
        K,
        shown("first_k", "first_k"),
        *beside("min_y", "min_y", _min_y),
        *beside("snap", "snap", lambda row: _by_m(row, SNAP) if row["parameters"]["k"] == 10 else None),
        shown("messages", "messages"),
        Column("tiles, paper", _tiles),
        MICROSECONDS,
        RATIO,
        EVENTS,
    ),
    plots=(
        plot("calls", "Table IV: calls of min_y for a change, k = 10", "n_subscriptions", "min_y", "calls a change"),
    ),
)
