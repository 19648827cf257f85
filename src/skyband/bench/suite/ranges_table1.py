"""Table I of the ranges paper: how many subscriptions receive a message for a change, by k."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.painting import DENSE, Crowd, make_world, plant
from skyband.bench.painting_trial import contest
from skyband.bench.painting_view import APPROACH, EVENTS, SCALES, SPEED, K, beside, by_k, plot, relative, shown
from skyband.bench.row import Row

TABLE = {"Paint-Dense": (444.141, 939.76, 2211.14, 4190.21, 6082.94, 7904.26)}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Paint-Dense stands for every exact approach: the same are affected, and it takes the least time."""
    scale = SCALES[size]
    setting = scale.setting._replace(n_events=scale.n_exact)
    progress(f"{setting.n_subscriptions:,} subscriptions: building")
    world = make_world(setting)
    tree = plant(world)
    for k in scale.ks:
        progress(f"{setting.n_subscriptions:,} subscriptions, k = {k}")
        yield from contest(world, Crowd(tree, k), [DENSE], setting, f"{setting.n_subscriptions:,} subscriptions")


BENCHMARK = Benchmark(
    name="ranges-table1",
    summary="Table I of the ranges paper: subscriptions that a change affects, and messages that they receive, by k.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        *beside("affected", "affected", by_k(TABLE)),
        relative("ratio", "affected"),
        shown("most affected", "affected_max"),
        shown("messages received", "received"),
        EVENTS,
        SPEED,
    ),
    plots=(plot("affected", "Table I: subscriptions affected by a change", "k", "affected", "affected a change"),),
)
