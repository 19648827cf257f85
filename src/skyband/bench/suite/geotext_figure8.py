"""Figure 8 of the Skype paper: IGPT beside IPT, which prunes no groups, and, beyond it, without each pruning alone."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.race import Entrant
from skyband.bench.row import Row
from skyband.bench.skype import ARRIVAL, DATA, ENGINE, beside_first, on_every, plot_of, shown

PRUNINGS = ("cells", "groups", "termination", "prefix", "max_weight", "inner", "outer", "unseen")
OF_GROUPS = ("groups", "termination")


def _without(label: str, *left_out: str) -> Entrant:
    return Entrant(label, "skype", {"prunings": [name for name in PRUNINGS if name not in left_out]})


ENTRANTS = (
    _without("igpt"),
    _without("ipt", *OF_GROUPS),
    *(_without(f"without {name}", name) for name in PRUNINGS),
)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """All of them on every data set."""
    return on_every(size, ENTRANTS, progress)


BENCHMARK = Benchmark(
    name="geotext-figure8",
    summary="Figure 8 of the Skype paper: the time of arrivals with all prunings, with individual ones, and less one.",
    measure=measure,
    columns=(
        DATA,
        ENGINE,
        ARRIVAL,
        beside_first("arrival_us"),
        shown("entries visited a message", "index.entries"),
        shown("pairs verified", "index.verified"),
        shown("candidates", "index.accepted"),
        shown("cells pruned", "index.cells"),
        shown("groups skipped", "index.groups"),
    ),
    plots=(plot_of("arrival", "Figure 8: effect of prunings", "data", "arrival_us", "µs a message, arrival"),),
)
