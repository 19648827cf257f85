"""Figure 14 of the ranges paper: traffic in the broker network for a change, by overlay and by IP links."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.painting import DENSE, RELAX, SPARSE, UNICAST, loosened, make_world
from skyband.bench.painting_traffic import TRAFFIC, carried, traffic_plots
from skyband.bench.painting_view import SCALES
from skyband.bench.row import Row

APPROACHES = (UNICAST, DENSE, SPARSE, loosened(SPARSE, 1.0), RELAX)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every approach for each k, in a network of 1,000 brokers among 20,000 nodes."""
    scale = SCALES[size]
    setting = scale.setting._replace(n_events=scale.n_carried)
    progress(f"{setting.n_subscriptions:,} subscriptions")
    yield from carried(make_world(setting), setting, scale, APPROACHES, progress)


BENCHMARK = Benchmark(
    name="ranges-figure14",
    summary="Figure 14 of the ranges paper: overlay and IP traffic in the broker network for a change, by k.",
    measure=measure,
    columns=TRAFFIC,
    plots=traffic_plots("Figure 14", [approach.label for approach in APPROACHES]),
)
