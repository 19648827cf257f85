"""Figure 13 of the Skype paper: Skype, CIQ with kmax, and ours, by k."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.race import Setting
from skyband.bench.row import Row
from skyband.bench.skype import Scale, sweep_columns, sweep_plots, swept


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every k."""
    return swept(size, "k", _settings, progress)


def _settings(scale: Scale, setting: Setting) -> list[Setting]:
    return [setting._replace(k=k) for k in scale.ks]


BENCHMARK = Benchmark(
    name="geotext-figure13",
    summary="Figure 13 of the Skype paper: the time of arrivals and expiries by k.",
    measure=measure,
    columns=sweep_columns("k", "k"),
    plots=sweep_plots("Figure 13", "k", "k"),
)
