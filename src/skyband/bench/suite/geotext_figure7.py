"""Figure 7 of the Skype paper: how long arrivals take Skype by the number of groups that α is divided into."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.paper import parameter
from skyband.bench.race import Entrant
from skyband.bench.row import Row
from skyband.bench.skype import ARRIVAL, DATA, SCALES, beside_first, on_every, shown, value_of

DEFAULT = 10


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every number of groups on every data set; the default first, which ratios are to."""
    numbers = [DEFAULT, *(n for n in SCALES[size].groups if n != DEFAULT)]
    entrants = [Entrant(f"{n} groups", "skype", {"groups": n}) for n in numbers]
    return on_every(size, entrants, progress)


BENCHMARK = Benchmark(
    name="geotext-figure7",
    summary="Figure 7 of the Skype paper: the time of arrivals by the number of α-partition groups.",
    measure=measure,
    columns=(
        DATA,
        parameter("groups", "groups"),
        ARRIVAL,
        beside_first("arrival_us"),
        shown("groups skipped a message", "index.groups"),
        shown("entries visited", "index.entries"),
        shown("pairs verified", "index.verified"),
        shown("candidates", "index.accepted"),
    ),
    plots=(
        Plot(
            "arrival",
            "Figure 7: arrivals by the number of groups",
            "groups",
            "groups",
            value_of("arrival_us"),
            "µs a message, arrival",
            lambda row: str(row["parameters"]["data"]),
        ),
    ),
)
