"""Figure 14 of the Skype paper: Skype, CIQ with kmax, and ours, by the number of subscriptions."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.race import Setting
from skyband.bench.row import Row
from skyband.bench.skype import Scale, sweep_columns, sweep_plots, swept


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """From the default number of subscriptions to five times as many."""
    return swept(size, "n_subscriptions", _settings, progress)


def _settings(scale: Scale, setting: Setting) -> list[Setting]:
    return [setting._replace(n_subscriptions=n * scale.n_subscriptions) for n in scale.multiples]


BENCHMARK = Benchmark(
    name="geotext-figure14",
    summary="Figure 14 of the Skype paper: the time of arrivals and expiries by the number of subscriptions.",
    measure=measure,
    columns=sweep_columns("subscriptions", "n_subscriptions"),
    plots=sweep_plots("Figure 14", "subscriptions", "n_subscriptions"),
)
