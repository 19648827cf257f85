"""Paint-Dense and Paint-Sparse as the objects grow: how much longer searches among more of them take."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.painting import DENSE, SPARSE
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, RATIO, SCALES, K, plot, shown
from skyband.bench.row import Row

N_OBJECTS: dict[Size, tuple[int, ...]] = {
    "toy": (12, 40),
    "small": (10_000, 100_000, 1_000_000),
    "full": (10_000, 100_000, 1_000_000),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Both for each number of objects, with the fewest subscriptions of the race."""
    scale = SCALES[size]
    for n in N_OBJECTS[size]:
        progress(f"{n:,} objects")
        setting = scale.setting._replace(n_objects=n, n_subscriptions=scale.ms[0])
        yield from series(setting, (scale.k,), (DENSE, SPARSE), progress)


BENCHMARK = Benchmark(
    name="ranges-growth",
    summary="Paint-Dense and Paint-Sparse by the number of objects, with 200,000 subscriptions to the 10 best.",
    measure=measure,
    columns=(
        Column("objects", lambda row, first: f"{row['parameters']['n_objects']:,}"),
        APPROACH,
        K,
        MICROSECONDS,
        RATIO,
        shown("messages", "messages"),
        shown("first_k", "first_k"),
        shown("min_y", "min_y"),
        shown("snap", "snap"),
        EVENTS,
    ),
    plots=(plot("time", "Time for a change by objects", "n_objects", "us", "µs a change"),),
)
