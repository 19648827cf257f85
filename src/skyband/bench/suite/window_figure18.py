"""Figure 18 of the top-k/w paper: how often PA and SASF move a threshold, and how often that changes the cells."""

from collections.abc import Callable, Iterator
from typing import Any

import skyband
from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.figure import Plot
from skyband.bench.paper import SCALES, SPEED, Group, Scale, cell_of, parameter, ratio_of, setting_of, windows_of
from skyband.bench.row import Row, measured, number

SIGMA = 1e-3
COUNTERS = ("threshold_updates", "cell_updates")
# SASF searches its buffer so often that 400 subscriptions would take hours: fewer are run, and counts are scaled up.
N_SUBSCRIPTIONS: dict[Size, int] = {"toy": 4, "small": 10, "full": 40}
N_SHOWN = 400
# Short batches: whenever the threshold of SASF rises, it looks through the rest of the batch again.
BATCH: dict[Size, int] = {"toy": 20, "small": 100, "full": 100}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """PA and SASF side by side for each k and window."""
    scale = SCALES[size]._replace(n_subscriptions=N_SUBSCRIPTIONS[size], batch=BATCH[size])
    for k in scale.ks:
        for minutes in scale.windows:
            progress(f"k = {k}, a window of {minutes} minutes")
            yield from _measure_one(scale, k, minutes)


def _measure_one(scale: Scale, k: int, minutes: int) -> Iterator[Row]:
    setting, group = setting_of(scale, "uniform", minutes), Group(k)
    # The exact one first: ratios are to it.
    options: dict[str, dict[str, Any]] = {"sasf": {"b": scale.b}, "pa": {"sigma": SIGMA}}
    engines = {
        name: skyband.open("window", name, granularity="publication", index="grid", **own)
        for name, own in options.items()
    }
    for engine in engines.values():
        engine.subscribe(setting.subscriptions([group]))
    batches = setting.publications()
    calls = {name: lambda turn, engine=engine: engine.publish(batches[turn]) for name, engine in engines.items()}
    taken = time_in_turn(calls, len(batches), n_warm=0)
    for name, engine in engines.items():
        counted = {counter: float(engine.counters.get(counter, 0)) for counter in COUNTERS}
        measures = counted | {"deliveries": engine.counters["delivery"] / setting.n_subscriptions}
        parameters = setting.parameters(group, name) | {"index": "grid"} | options[name]
        yield measured(f"k = {k}, {minutes} min", name, parameters, taken[name], setting.batch, measures)


def _scaled(counter: str) -> Callable[[Row], float]:
    """A counter as if there were as many subscriptions as in the paper."""
    return lambda row: float(row["measures"][counter]) * N_SHOWN / int(row["parameters"]["n_subscriptions"])


def _cell(counter: str) -> Callable[[Row, Row], str]:
    return lambda row, first: number(_scaled(counter)(row))


def _plot(letter: str, algorithm: str, counter: str, what: str) -> Plot:
    return Plot(
        letter,
        f"Figure 18({letter}): {what}, {algorithm.upper()}",
        "k",
        "k",
        _scaled(counter),
        f"{what} for {N_SHOWN} subscriptions",
        windows_of,
        lambda row: bool(row["algorithm"] == algorithm),
    )


BENCHMARK = Benchmark(
    name="window-figure18",
    summary="Figure 18 of the top-k/w paper: threshold and cell updates of PA and SASF, for 400 subscriptions.",
    measure=measure,
    columns=(
        parameter("k", "k"),
        parameter("window in minutes", "window"),
        Column("algorithm", lambda row, first: row["algorithm"].upper()),
        Column("threshold updates", _cell("threshold_updates")),
        ratio_of("threshold_updates"),
        Column("cell updates", _cell("cell_updates")),
        Column("deliveries", cell_of("deliveries")),
        SPEED,
    ),
    plots=(
        _plot("a", "pa", "threshold_updates", "threshold updates"),
        _plot("b", "sasf", "threshold_updates", "threshold updates"),
        _plot("c", "pa", "cell_updates", "cell updates"),
        _plot("d", "sasf", "cell_updates", "cell updates"),
    ),
)
