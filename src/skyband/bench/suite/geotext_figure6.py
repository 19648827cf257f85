"""Figure 6 of the Skype paper: how long kmax and k-skyband take and how much they keep, by how they are tuned."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.paper import parameter
from skyband.bench.race import Entrant, contest
from skyband.bench.row import Row
from skyband.bench.skype import ALL, ARRIVAL, DATA, ENGINE, EXPIRY, LENGTH, SCALES, SEARCHES, beside_first, value_of

# kmax in multiples of k: 20 to 120 at k = 20.
MULTIPLES = (1, 2, 3, 4, 5, 6)
RATIOS = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """cSkyband under its defaults first, then every kmax and every θ, all behind IGPT."""
    scale = SCALES[size]
    setting = scale.setting("tweets", settled=True)
    entrants = [Entrant("cskyband", "skype")]
    entrants += [
        Entrant("kmax", "skype", {"policy": "kmax", "kmax": float(n)}, {"kmax": n * scale.k}) for n in MULTIPLES
    ]
    entrants += [Entrant("skyband", "skype", {"policy": "skyband", "ratio": ratio}) for ratio in RATIOS]
    yield from contest(setting, entrants, scale.at_once, "tweets", progress)


def _tuned(row: Row, first: Row) -> str:
    given = row["parameters"]
    return f"kmax = {given['kmax']}" if "kmax" in given else f"θ = {given['ratio']} kScore" if "ratio" in given else ""


def _plot(letter: str, policy: str, x: str, x_label: str, name: str, measure: str, what: str) -> Plot:
    return Plot(
        f"{letter}-{name}",
        f"Figure 6({letter}): {what}, {policy}",
        x,
        x_label,
        value_of(measure),
        what,
        lambda row: str(row["algorithm"]),
        lambda row: row["algorithm"] in (policy, "cskyband"),
    )


BENCHMARK = Benchmark(
    name="geotext-figure6",
    summary="Figure 6 of the Skype paper: time and buffer size by kmax and by the threshold of k-skyband.",
    measure=measure,
    columns=(
        DATA,
        ENGINE,
        Column("tuned to", _tuned),
        ARRIVAL,
        EXPIRY,
        ALL,
        beside_first("all_us"),
        LENGTH,
        SEARCHES,
        parameter("subscriptions", "n_subscriptions"),
        parameter("window", "n_live"),
    ),
    plots=tuple(
        _plot(letter, policy, x, x_label, name, measured, what)
        for letter, policy, x, x_label in (
            ("a", "kmax", "kmax", "kmax"),
            ("b", "skyband", "ratio", "θ in multiples of kScore"),
        )
        for name, measured, what in (
            ("time", "all_us", "µs a message"),
            ("buffer", "row_length", "messages in a row"),
        )
    ),
)
