"""Table 2 of the ranked paper: how much memory each index takes for a dimension, by the number of intervals."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.painting_view import beside
from skyband.bench.paper import ratio_of
from skyband.bench.ranking import too_large
from skyband.bench.ranking_data import zipfian
from skyband.bench.ranking_entrant import INDEXES, RELAXED, build, warm
from skyband.bench.ranking_view import BUILD, BYTES, INDEX
from skyband.bench.row import Row, measured, skipped
from skyband.bench.view import SUBSCRIPTIONS, plot

NS = (100_000, 200_000, 500_000, 1_000_000)
SIZES: dict[Size, tuple[int, ...]] = {"toy": (60, 120), "small": NS, "full": NS}
# Megabytes. The paper leaves the SOPT-R-tree out, since it is an R-tree.
PAPER = {
    "Interval": (0.92, 1.7, 4.2, 8.3),
    "R": (1.2, 2.4, 6.0, 12.0),
    "SOPT-R": (1.2, 2.4, 6.0, 12.0),
    "Segment": (40.0, 89.0, 214.0, 429.0),
    "IR": (1.76, 3.43, 8.35, 16.5),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """All indexes of one dimension with Table 1's defaults."""
    for n in SIZES[size]:
        data = zipfian(n, 1, 1)
        parameters = {"n_subscriptions": n}
        first = build(INDEXES[0], RELAXED, data)
        for entrant in INDEXES:
            progress(f"{n:,} intervals, {entrant.label}")
            reason = too_large(first.matcher, entrant)
            if reason is not None:
                yield skipped(f"{n}", entrant.label, parameters, reason)
                continue
            warm(entrant, RELAXED, data)
            built = build(entrant, RELAXED, data)
            measures = {"mb": built.n_bytes * n / 1e6, "bytes": built.n_bytes, "build_s": built.seconds}
            yield measured(f"{n}", entrant.label, parameters, [int(built.seconds * 1e9)], n, measures)


def _paper(row: Row) -> float | None:
    n = row["parameters"]["n_subscriptions"]
    return PAPER[row["algorithm"]][NS.index(n)] if n in NS else None


BENCHMARK = Benchmark(
    name="ranked-table2",
    summary="Table 2 of the ranked paper: memory of the indexes of a dimension, by the number of intervals.",
    measure=measure,
    columns=(SUBSCRIPTIONS, INDEX, *beside("MB", "mb", _paper), ratio_of("mb"), BYTES, BUILD),
    plots=(plot("memory", "Table 2: memory of a dimension", "n_subscriptions", "mb", "MB"),),
)
