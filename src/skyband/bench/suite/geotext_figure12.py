"""Figure 12 of the Skype paper: Skype, CIQ with kmax, and ours, by the number of keywords of a subscription."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.race import Setting
from skyband.bench.row import Row
from skyband.bench.skype import Scale, sweep_columns, sweep_plots, swept


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Subscriptions that all have as many keywords, from one to five."""
    return swept(size, "n_keywords", _settings, progress)


def _settings(scale: Scale, setting: Setting) -> list[Setting]:
    return [setting._replace(n_keywords=n) for n in scale.keywords]


BENCHMARK = Benchmark(
    name="geotext-figure12",
    summary="Figure 12 of the Skype paper: the time of arrivals and expiries by the number of keywords.",
    measure=measure,
    columns=sweep_columns("keywords", "n_keywords"),
    plots=sweep_plots("Figure 12", "keywords", "n_keywords"),
)
