"""Figure 9 of the Skype paper: CIQ and IGPT with the same buffers, and ours: arrivals, and the size of the index."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.race import Entrant
from skyband.bench.row import Row
from skyband.bench.skype import ARRIVAL, DATA, ENGINE, INDEX, OURS, beside_first, on_every, plot_of, shown

ENTRANTS = (Entrant("igpt", "skype"), Entrant("ciq", "ciq", {"policy": "cskyband"}), OURS)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """The three on every data set."""
    return on_every(size, ENTRANTS, progress)


def _index_mb(row: Row) -> float:
    return float(row["measures"]["bytes.index"]) / 1e6


BENCHMARK = Benchmark(
    name="geotext-figure9",
    summary="Figure 9 of the Skype paper: the time of arrivals and the size of the subscription index, CIQ and IGPT.",
    measure=measure,
    columns=(
        DATA,
        ENGINE,
        ARRIVAL,
        beside_first("arrival_us"),
        INDEX,
        shown("pairs verified a message", "index.verified"),
        shown("candidates", "index.accepted"),
    ),
    plots=(
        plot_of("a", "Figure 9(a): arrivals", "data", "arrival_us", "µs a message, arrival"),
        plot_of("b", "Figure 9(b): size of the subscription index", "data", _index_mb, "MB"),
    ),
)
