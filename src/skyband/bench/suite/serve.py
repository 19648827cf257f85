"""The experiment of the server: how soon listeners are told, and how fast publications are taken."""

from skyband.bench.experiment import AnyExperiment, Experiment, whole
from skyband.bench.row import Row, number
from skyband.bench.served import ServedPlan, served_rows
from skyband.bench.view import RATIO, algorithm, described, shown


def _about(row: Row) -> str:
    return str(row["contest"])


def _rate(row: Row) -> str:
    rate = row["measures"].get("rows_per_s")
    return "" if rate is None else number(rate)


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="serve",
        summary="A server over loopback: from publication to event with many listeners, and publications by format.",
        scales={
            "toy": ServedPlan((3,), (20,), 5, 50, 4, 2, 20),
            "small": ServedPlan((100, 1000), (10_000,), 200, 1000, 50, 4, 1000),
            "full": ServedPlan((100, 1000, 10_000), (10_000, 100_000), 500, 1000, 200, 8, 10_000),
        },
        sweep=whole,
        measure=served_rows,
        columns=(
            described("what", _about),
            algorithm("by"),
            shown("p50 ms", "p50_ms"),
            shown("p99 ms", "p99_ms"),
            shown("bytes per connection", "connection_bytes"),
            shown("events per second of processor", "events_per_cpu_s"),
            described("publications per second", _rate),
            RATIO,
        ),
    ),
)
