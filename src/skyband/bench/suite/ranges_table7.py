"""Table VII of the ranges paper: searches for objects for a change, with 1.5-dimensional subscriptions."""

from collections.abc import Iterator, Mapping, Sequence

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.painting import DENSE, SPARSE
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, RATIO, SCALES, K, Published, beside, plot, shown
from skyband.bench.row import Row

KS = (1, 2, 5, 10, 15)
M = 400_000
DATA = ("dataset1", "dataset2", "dataset3")
MIN = {
    "dense": (6.35, 11.31, 26.13, 50.48, 74.40),
    "dataset1": (5.68, 9.88, 23.07, 45.85, 68.826),
    "dataset2": (5.40, 8.97, 19.45, 36.97, 54.67),
    "dataset3": (5.51, 9.36, 21.12, 41.13, 61.07),
}
DATASET = Column("data set", lambda row, first: row["parameters"]["data"])


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Paint-Dense and Paint-Sparse on each of the three sets of subscriptions."""
    scale = SCALES[size]
    for data in DATA:
        progress(data)
        ks = [k for k in scale.ks if k <= KS[-1]]
        for row in series(scale.sloped._replace(data=data), ks, (DENSE, SPARSE), progress):
            told = row["measures"]
            told["min"] = told.get("min_x", 0.0) + told.get("min_y", 0.0)
            row["contest"] = f"{data}, {row['contest']}"
            yield row


def published(figures: Mapping[str, Sequence[float]]) -> Published:
    """What the paper has for Paint-Sparse on each set, and for Paint-Dense on any."""

    def find(row: Row) -> float | None:
        given = row["parameters"]
        of = given["data"] if row["algorithm"] == SPARSE.label else "dense"
        is_theirs = given["n_subscriptions"] == M and given["k"] in KS
        return figures[of][KS.index(given["k"])] if is_theirs and of in figures else None

    return find


def on_each(row: Row) -> str:
    """A line for Paint-Sparse on each set, and one for Paint-Dense, whose messages do not depend on it."""
    return f"{SPARSE.label}, {row['parameters']['data']}" if row["algorithm"] == SPARSE.label else DENSE.label


BENCHMARK = Benchmark(
    name="ranges-table7",
    summary="Table VII of the ranges paper: searches for objects for a change, with 1.5-dimensional subscriptions.",
    measure=measure,
    columns=(
        DATASET,
        APPROACH,
        K,
        *beside("min", "min", published(MIN)),
        shown("min_x", "min_x"),
        shown("min_y", "min_y"),
        shown("first_k", "first_k"),
        MICROSECONDS,
        RATIO,
        EVENTS,
    ),
    plots=(plot("calls", "Table VII: searches for objects for a change", "k", "min", "searches a change", on_each),),
)
