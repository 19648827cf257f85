"""Table III of the ranges paper: calls to the indexes for a change, by k."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.painting import DENSE, SPARSE, UNICAST
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, RATIO, SCALES, K, beside, by_k, plot, shown
from skyband.bench.row import Row

MIN_Y = {
    "Paint-Dense": (1.12, 1.73, 3.57, 6.60, 9.63, 12.63),
    "Paint-Sparse": (0.72744, 1.08988, 2.59596, 5.5568, 8.57692, 11.58048),
    "Unicast": (444.141, 1086.44, 2846.1, 5453.64, 8032.39, 10587.4),
}
SNAP = {"Paint-Sparse": (1.2284, 2.95254, 12.06538, 40.69192, 84.65234, 143.20416)}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Unicast, Paint-Dense and Paint-Sparse for each k."""
    scale = SCALES[size]
    setting = scale.setting._replace(n_events=scale.n_calls)
    yield from series(setting, scale.ks, (UNICAST, DENSE, SPARSE), progress)


BENCHMARK = Benchmark(
    name="ranges-table3",
    summary="Table III of the ranges paper: calls to the indexes for a change, by k.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        shown("first_k", "first_k"),
        *beside("min_y", "min_y", by_k(MIN_Y)),
        *beside("snap", "snap", by_k(SNAP)),
        shown("emptiness tests", "empty"),
        shown("snaps for the reach", "reach"),
        MICROSECONDS,
        RATIO,
        EVENTS,
    ),
    plots=(plot("calls", "Table III: calls of min_y for a change", "k", "min_y", "calls a change"),),
)
