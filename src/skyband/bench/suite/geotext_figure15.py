"""Figure 15 of the Skype paper: Skype, CIQ with kmax, and ours, by the size of the window."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.race import Setting
from skyband.bench.row import Row
from skyband.bench.skype import Scale, sweep_columns, sweep_plots, swept


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """From the default window to one five times as large."""
    return swept(size, "n_live", _settings, progress)


def _settings(scale: Scale, setting: Setting) -> list[Setting]:
    return [setting._replace(n_live=n * scale.n_live) for n in scale.multiples]


BENCHMARK = Benchmark(
    name="geotext-figure15",
    summary="Figure 15 of the Skype paper: the time of arrivals and expiries by the size of the window.",
    measure=measure,
    columns=sweep_columns("messages in the window", "n_live"),
    plots=sweep_plots("Figure 15", "messages in the window", "n_live"),
)
