"""Figure 20 of the ranges paper: how many of 100 servers a search passes, by k."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.painting import DENSE
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, RATIO, SCALES, K, plot, shown
from skyband.bench.row import Row

N_SERVERS = 100
SHARED = DENSE._replace(label=f"{N_SERVERS} servers", servers=N_SERVERS)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """One server and many for each k; Paint-Dense asks for objects only, so that a few subscriptions are enough."""
    scale = SCALES[size]
    setting = scale.setting._replace(
        n_objects=10 * scale.setting.n_objects, n_subscriptions=min(1_000, scale.setting.n_subscriptions)
    )
    one = DENSE._replace(label="1 server")
    for row in series(setting, scale.ks, (one, SHARED), progress):
        told = row["measures"]
        told["length"] = told["visited"] / (told["first_k"] + told["min_y"])
        yield row


BENCHMARK = Benchmark(
    name="ranges-figure20",
    summary="Figure 20 of the ranges paper: servers that are asked for a search, by k, with 100 servers.",
    measure=measure,
    columns=(
        K,
        APPROACH,
        Column("objects", lambda row, first: f"{row['parameters']['n_objects']:,}"),
        shown("servers asked a search", "length"),
        shown("servers asked a change", "visited"),
        shown("first_k", "first_k"),
        shown("min_y", "min_y"),
        MICROSECONDS,
        RATIO,
        EVENTS,
    ),
    plots=(plot("length", "Figure 20: servers asked for a search", "k", "length", "servers"),),
)
