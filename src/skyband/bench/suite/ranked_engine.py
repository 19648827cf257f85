"""Scan and scored behind the contract: Arrow tables in and out, events in batches and one by one."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

import skyband
from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import AT_ONCE, pieces, require_equal
from skyband.bench.paper import cell_of
from skyband.bench.ranking_view import INDEX
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio
from skyband.bench.view import SUBSCRIPTIONS, given, plot
from skyband.contract import AnyEngine
from skyband.ranked import workload as ranked

K = 20


class Plan(NamedTuple):
    """Numbers of subscriptions, the most that Scan is asked for, rounds, and events in a batch and one by one."""

    ns: tuple[int, ...]
    scanned: int
    n_rounds: int
    batch: int
    n_alone: int


PLANS: dict[Size, Plan] = {
    "toy": Plan((30, 60), 30, 1, 4, 2),
    "small": Plan((10_000, 100_000, 1_000_000), 100_000, 3, 1_000, 100),
    "full": Plan((10_000, 100_000, 1_000_000), 100_000, 10, 1_000, 1_000),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions, with Scan first where it takes part."""
    plan = PLANS[size]
    for n in plan.ns:
        progress(f"{n:,} subscriptions")
        made = ranked.generate(ranked.Options(n_subscriptions=n, n_publications=(plan.n_rounds + 1) * plan.batch))
        engines = _engines(made.subscriptions, n <= plan.scanned)
        for granularity, size_each in (("batch", plan.batch), ("event", 1)):
            yield from _contest(plan, engines, made.publications, granularity, size_each)


def _engines(subscriptions: pa.Table, scanned: bool) -> dict[str, AnyEngine]:
    engines: dict[str, AnyEngine] = {
        name: skyband.open("ranked", name, k=K) for name in (("scan",) if scanned else ()) + ("scored",)
    }
    for engine in engines.values():
        for piece in pieces(subscriptions.drop_columns(["k"]), AT_ONCE):
            engine.subscribe(piece)
    return engines


def _contest(plan: Plan, engines: dict[str, AnyEngine], events: pa.Table, granularity: str, size: int) -> Iterator[Row]:
    n_events = plan.batch if size > 1 else plan.n_alone
    # Time does not go back, but the same events may be published again.
    events = events.set_column(events.column_names.index("ts"), "ts", pa.array([0] * len(events)))
    batches = [list(pieces(events.slice(i * plan.batch, n_events), size)) for i in range(plan.n_rounds + 1)]
    answers = [engine.publish(batches[0][0]) for engine in engines.values()]
    for answer in answers[1:]:
        require_equal(answer, answers[0], f"{granularity}, {engines['scored'].n_subscriptions} subscriptions")
    calls: dict[str, Callable[[int], object]] = {
        name: partial(_publish, engine, batches) for name, engine in engines.items()
    }
    taken = time_in_turn(calls, plan.n_rounds)
    for name, engine in engines.items():
        n = engine.n_subscriptions
        parameters: dict[str, Any] = {"n_subscriptions": n, "k": K, "granularity": granularity}
        measures = {"bytes": sum(engine.memory().values()) / n}
        row = measured(f"{n}, {granularity}", name, parameters, taken[name], n_events, measures)
        row["measures"]["us"] = ns_per_operation(row) / 1e3
        yield row


def _publish(engine: AnyEngine, batches: list[list[pa.Table]], turn: int) -> None:
    for piece in batches[turn]:
        engine.publish(piece)


def _series(row: Row) -> str:
    return f"{row['algorithm']}, {row['parameters']['granularity']}"


BENCHMARK = Benchmark(
    name="ranked-engine",
    summary="Scan and scored behind the contract, in batches of 1,000 events and one by one, k = 20.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        INDEX._replace(header="engine"),
        given("granularity", "granularity"),
        Column("µs an event", cell_of("us")),
        Column("ratio", ratio),
        Column("events a second", lambda row, first: number(1e9 / ns_per_operation(row))),
        Column("bytes a subscription", cell_of("bytes")),
    ),
    plots=(plot("time", "Events, tables in and out", "n_subscriptions", "us", "µs an event", series=_series),),
)
