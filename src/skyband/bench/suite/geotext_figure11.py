"""Figure 11 of the Skype paper: Skype beside CIQ with kmax, and ours, in time and in memory, for each data set."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.row import Row
from skyband.bench.skype import (
    ALL,
    ARRIVAL,
    CIQ,
    DATA,
    ENGINE,
    EXPIRY,
    INDEX,
    LENGTH,
    MEMORY,
    OURS,
    SKYPE,
    beside_first,
    on_every,
    plot_of,
    total_bytes,
)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """The three on every data set."""
    return on_every(size, (SKYPE, CIQ, OURS), progress)


BENCHMARK = Benchmark(
    name="geotext-figure11",
    summary="Figure 11 of the Skype paper: time of arrivals and expiries, and memory, for each data set.",
    measure=measure,
    columns=(DATA, ENGINE, ARRIVAL, EXPIRY, ALL, beside_first("all_us"), INDEX, MEMORY, LENGTH),
    plots=(
        plot_of("a-arrival", "Figure 11(a): arrivals", "data", "arrival_us", "µs a message, arrival"),
        plot_of("a-expiry", "Figure 11(a): expiries", "data", "expiry_us", "µs a message, expiry"),
        plot_of("b", "Figure 11(b): memory", "data", lambda row: total_bytes(row) / 1e6, "MB in all"),
    ),
)
