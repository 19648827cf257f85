"""How long the rows of a Scan should be: the work that rows of different lengths lead to."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

import skyband
from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.figure import Plot
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio
from skyband.contract import AnyEngine
from skyband.window import workload as window

RESERVES = ((1, 0), (1, 8), (2, 0), (2, 8), (3, 8), (4, 8))
# Subscriptions, length of the window, publications.
SIZES: dict[Size, tuple[int, int, int]] = {
    "toy": (4, 20, 120),
    "small": (256, 2000, 12_000),
    "full": (10_000, 2000, 12_000),
}
ROUNDS: dict[Size, int] = {"toy": 1, "small": 3, "full": 3}
BATCH, K = 500, 9


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """The same stream through rows of every length."""
    n, n_live, n_publications = SIZES[size]
    options = window.Options(n_subscriptions=n, n_publications=n_publications, window_n=n_live, k=K, seed=1)
    made = window.generate(options)
    runs = {_name(reserve): partial(_run, reserve, made.subscriptions, made.publications) for reserve in RESERVES}
    progress(f"{n:,} subscriptions, rows of {len(RESERVES)} lengths")
    engines = {name: run(0) for name, run in runs.items()}
    first = next(iter(engines.values())).top()
    if not all(engine.top().equals(first) for engine in engines.values()):
        raise WrongAnswer("Rows of different lengths lead to different tops.")
    taken = time_in_turn(runs, ROUNDS[size])
    for name, engine in engines.items():
        measures = {
            "refilled": float(engine.counters["refilled"] - n),
            "scored": engine.counters["scored"] / (n * n_publications),
            "bytes": engine.memory()["rows"] / n,
        }
        parameters: dict[str, Any] = {"n": n, "n_live": n_live, "k": K, "length": _length(name)}
        yield measured(f"{n} subscriptions", name, parameters, taken[name], n_publications, measures)


def _name(reserve: tuple[int, int]) -> str:
    times, more = reserve
    return ("k" if times == 1 else f"{times}k") + (f" + {more}" if more else "")


def _length(name: str) -> int:
    times, more = RESERVES[[_name(reserve) for reserve in RESERVES].index(name)]
    return times * K + more


def _run(reserve: tuple[int, int], subscriptions: pa.Table, publications: pa.Table, turn: int) -> AnyEngine:
    engine = skyband.open("window", window=skyband.Window.count(1), reserve=reserve)
    engine.subscribe(subscriptions)
    for start in range(0, len(publications), BATCH):
        engine.publish(publications.slice(start, BATCH))
    return engine


BENCHMARK = Benchmark(
    name="reserve",
    summary="The rows of Scan at different lengths: searches from scratch, scores, memory and time.",
    measure=measure,
    columns=(
        Column("candidates in a row", lambda row, first: row["algorithm"]),
        Column("subscriptions", lambda row, first: f"{row['parameters']['n']:,}"),
        Column("refills after the first", lambda row, first: f"{row['measures']['refilled']:,.0f}"),
        Column("scores for a pair", lambda row, first: f"{row['measures']['scored']:.2f}"),
        Column("bytes each", lambda row, first: number(row["measures"]["bytes"])),
        Column("ns a publication", lambda row, first: number(ns_per_operation(row))),
        Column("ratio", ratio),
    ),
    plots=(
        Plot(
            "time",
            "Scan: time for a publication by the length of rows",
            "length",
            "candidates in a row",
            ns_per_operation,
            "ns a publication",
            lambda row: str(row["contest"]),
        ),
    ),
)
