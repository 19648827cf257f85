"""Figure 10 of the Skype paper: how long expiries take with kmax, k-skyband and cSkyband, and with ours."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.race import Entrant
from skyband.bench.row import Row
from skyband.bench.skype import ALL, ARRIVAL, DATA, ENGINE, EXPIRY, LENGTH, SEARCHES, beside_first, on_every, plot_of

# All behind IGPT.
ENTRANTS = (
    Entrant("igpt-cskyband", "skype"),
    Entrant("igpt-kmax", "skype", {"policy": "kmax"}),
    Entrant("igpt-skyband", "skype", {"policy": "skyband"}),
    Entrant("igpt-margin", "skype", {"policy": "margin"}),
)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every policy on every data set."""
    return on_every(size, ENTRANTS, progress, settled=True)


BENCHMARK = Benchmark(
    name="geotext-figure10",
    summary="Figure 10 of the Skype paper: the time of expiries by buffer policy.",
    measure=measure,
    columns=(DATA, ENGINE, ARRIVAL, EXPIRY, beside_first("expiry_us"), ALL, SEARCHES, LENGTH),
    plots=(plot_of("expiry", "Figure 10: expiries by policy", "data", "expiry_us", "µs a message, expiry"),),
)
