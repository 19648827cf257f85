"""Figure 15 of the ranges paper: what knowing the subscriptions saves, by workload, and what calmer changes save."""

from collections.abc import Iterator

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.painting import DENSE, SPARSE, Setting
from skyband.bench.painting_trial import series
from skyband.bench.painting_view import APPROACH, EVENTS, MICROSECONDS, SCALES, SUBSCRIPTIONS, K, Scale, shown
from skyband.bench.row import Row

# The paper does not say which two values of c it has.
VOLATILITIES = (0.1, 1.0)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Both algorithms on every workload, and with changes that are Gaussian."""
    scale = SCALES[size]
    for setting in _workloads(scale):
        progress(_about(setting))
        yield from _named("a", setting, series(setting, [scale.k], (DENSE, SPARSE), progress))
    for volatility in VOLATILITIES:
        setting = scale.setting._replace(change="gaussian", volatility=volatility)
        progress(_about(setting))
        yield from _named("b", setting, series(setting, scale.ks, (DENSE, SPARSE), progress))


def _workloads(scale: Scale) -> Iterator[Setting]:
    for m in scale.figure15:
        setting = scale.setting._replace(n_subscriptions=m, n_objects=scale.n_few)
        yield setting
        yield setting._replace(data="clustered")
        for data in ("correlated", "anti-correlated"):
            yield setting._replace(objects="clustered", data=data)


def _about(setting: Setting) -> str:
    if setting.change == "gaussian":
        return f"{setting.data}, c = {setting.volatility:g}"
    return setting.data


def _named(part: str, setting: Setting, rows: Iterator[Row]) -> Iterator[Row]:
    """Rows that say which part of the figure they are for; Paint-Dense is first in a contest."""
    first: Row = {}
    for row in rows:
        row["contest"] = f"{_about(setting)}, {row['contest']}"
        first = first if first and first["contest"] == row["contest"] else row
        row["parameters"] |= {"part": part, "workload": _about(setting)}
        row["measures"]["share"] = row["measures"]["messages"] / first["measures"]["messages"]
        yield row


BENCHMARK = Benchmark(
    name="ranges-figure15",
    summary="Figure 15 of the ranges paper: messages of Paint-Sparse beside Paint-Dense by workload; Gaussian changes.",
    measure=measure,
    columns=(
        Column("workload", lambda row, first: row["parameters"]["workload"]),
        APPROACH,
        SUBSCRIPTIONS,
        Column("objects", lambda row, first: f"{row['parameters']['n_objects']:,}"),
        K,
        shown("messages", "messages"),
        shown("ratio", "share"),
        shown("bytes, paper's unit", "bytes"),
        shown("bytes as sent", "sent_bytes"),
        shown("exposed objects", "exposed"),
        MICROSECONDS,
        EVENTS,
    ),
    plots=(
        Plot(
            "a",
            "Figure 15(a): messages of Paint-Sparse in multiples of those of Paint-Dense",
            "workload",
            "workload",
            lambda row: float(row["measures"]["share"]),
            "Paint-Sparse / Paint-Dense",
            lambda row: f"{row['parameters']['n_subscriptions']:,} subscriptions",
            lambda row: bool(row["parameters"]["part"] == "a" and row["algorithm"] == SPARSE.label),
        ),
        Plot(
            "b",
            "Figure 15(b): bytes from the server for a change that is Gaussian",
            "k",
            "k",
            lambda row: float(row["measures"]["bytes"]),
            "bytes a change",
            lambda row: f"{row['algorithm']}, c = {row['parameters']['volatility']:g}",
            lambda row: bool(row["parameters"]["part"] == "b"),
        ),
    ),
)
