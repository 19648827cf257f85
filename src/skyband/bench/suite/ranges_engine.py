"""Scan and paint behind the contract, with the lists of every subscriber: what a change costs all in all."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

import skyband
from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import AT_ONCE, WrongAnswer
from skyband.bench.figure import Plot
from skyband.bench.paper import cell_of, parameter
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio
from skyband.contract import AnyEngine
from skyband.ranges import workload as ranges

K = 10
N_LOOKED_AT = 100


class Scale(NamedTuple):
    """Numbers of subscriptions, the most that Scan is asked for, objects, and rounds of changes."""

    sizes: tuple[int, ...]
    scanned: int
    n_objects: int
    n_rounds: int
    batch: int


SCALES: dict[Size, Scale] = {
    "toy": Scale((30, 60), 30, 20, 2, 4),
    "small": Scale((10_000, 100_000, 1_000_000), 100_000, 10_000, 10, 100),
    "full": Scale((10_000, 100_000, 1_000_000, 2_000_000), 100_000, 10_000, 20, 100),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions."""
    for n in SCALES[size].sizes:
        progress(f"{n:,} subscriptions")
        yield from _contest(SCALES[size], n)


def _contest(scale: Scale, n: int) -> Iterator[Row]:
    n_events = (scale.n_rounds + 1) * scale.batch
    options = ranges.Options(n_objects=scale.n_objects, n_events=n_events, n_subscriptions=n, k=K)
    stream, subscriptions = list(ranges.stream(options, scale.batch)), ranges.subscriptions(options)
    n_before = scale.n_objects // scale.batch
    engines = {name: skyband.open("ranges", name) for name in (("scan",) if n <= scale.scanned else ()) + ("paint",)}
    for engine in engines.values():
        _prepare(engine, stream[:n_before], subscriptions)
    told = dict.fromkeys(engines, 0)

    def count(name: str, turn: int, changes: object) -> None:
        assert isinstance(changes, pa.Table)
        told[name] += len(changes) if turn > 0 else 0

    calls = {name: lambda turn, e=engine: e.publish(stream[n_before + turn]) for name, engine in engines.items()}
    taken = time_in_turn(calls, scale.n_rounds, n_warm=1, after=count)
    looked_at = subscriptions["id"].slice(0, N_LOOKED_AT).combine_chunks()
    if any(not engine.top(looked_at).equals(engines["paint"].top(looked_at)) for engine in engines.values()):
        raise WrongAnswer("Scan and paint end in different tops.")
    for name, engine in engines.items():
        own = taken[name]
        changed = told[name] / (scale.n_rounds * scale.batch)
        measures = {"changes": changed, "bytes": sum(engine.memory().values()) / n}
        measures["ns_a_change"] = sum(own) / scale.n_rounds / scale.batch / max(changed, 1e-9)
        given = {"n_subscriptions": n, "k": K, "n_objects": scale.n_objects, "batch": scale.batch}
        yield measured(f"{n} subscriptions", name, given, own, scale.batch, measures)


def _prepare(engine: AnyEngine, objects: list[pa.Table], subscriptions: pa.Table) -> None:
    for batch in objects:
        engine.publish(batch)
    for at in range(0, len(subscriptions), AT_ONCE):
        engine.subscribe(subscriptions.slice(at, AT_ONCE))


BENCHMARK = Benchmark(
    name="ranges-engine",
    summary="Scan and paint behind the contract, with every subscriber's list, in batches of 100 changes, k = 10.",
    measure=measure,
    columns=(
        parameter("subscriptions", "n_subscriptions"),
        Column("engine", lambda row, first: row["algorithm"]),
        Column("µs a change of an object", lambda row, first: number(ns_per_operation(row) / 1e3)),
        Column("ratio", ratio),
        Column("changes of answers", cell_of("changes")),
        Column("ns a change of an answer", cell_of("ns_a_change")),
        Column("bytes a subscription", cell_of("bytes")),
    ),
    plots=(
        Plot(
            "time",
            "A change of an object, with the lists of all it concerns",
            "n_subscriptions",
            "subscriptions",
            lambda row: ns_per_operation(row) / 1e3,
            "µs",
            lambda row: str(row["algorithm"]),
            lambda row: True,
        ),
    ),
)
