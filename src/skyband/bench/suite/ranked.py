"""All scored interval indexes side by side: what an event, an update, a build and an interval cost.

Relaxed matching with Table 1's defaults, and in one dimension short intervals; ratios are to the SOPT-R-tree. In
several dimensions there are tiers as well. What is dynamic has had a tenth of its subscriptions replaced.
"""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.machine import free_memory
from skyband.bench.paper import cell_of
from skyband.bench.ranking import contest
from skyband.bench.ranking_data import short, zipfian
from skyband.bench.ranking_duel import Effort
from skyband.bench.ranking_entrant import BUDGETED, DYNAMIC, INDEXES, RELAXED, SOPT, TIERS, TIERS_DYNAMIC, Entrant
from skyband.bench.ranking_view import (
    BATCH,
    BUILD,
    BYTES,
    DATA,
    EVENTS,
    INDEX,
    RANDOM,
    RATIO,
    RATIO_BATCH,
    SINGLE,
    SORTED,
    D,
    K,
)
from skyband.bench.row import Row, skipped
from skyband.bench.view import SUBSCRIPTIONS, plot

# Two indexes, the pool of each, the data, and what building takes for a while.
BYTES_A_PART = 600
# With more parts than this, in several dimensions only tiers are beside the SOPT-R-tree.
MANY = 4_000_000


class Plan(NamedTuple):
    """Numbers of subscriptions with the dimensions that each is measured in, and how thoroughly."""

    points: tuple[tuple[int, tuple[int, ...]], ...]
    ks: tuple[int, ...]
    effort: Effort


PLANS: dict[Size, Plan] = {
    "toy": Plan(((60, (1, 2)),), (1, 5), Effort(1, 4, 0.01, updating=1.0)),
    "small": Plan(
        ((10_000, (1, 2, 4, 8)), (100_000, (1, 2, 4)), (1_000_000, (1,))),
        (1, 20),
        Effort(3, 5_000, 0.03, updating=3.0, allowance=10.0),
    ),
    "full": Plan(
        ((10_000, (1, 2, 4, 8)), (100_000, (1, 2, 4, 8)), (1_000_000, (1, 2, 4, 8)), (5_000_000, (1, 2))),
        (1, 10, 20, 100),
        Effort(3, 10_000, 0.04, updating=5.0, allowance=30.0),
    ),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions, of dimensions and k."""
    plan = PLANS[size]
    for n, all_dims in plan.points:
        for dims in all_dims:
            needed = n * dims * BYTES_A_PART
            if needed > free_memory():
                reason = f"Skipped: {needed / 1e9:.0f} GB would be needed, and {free_memory() / 1e9:.0f} GB are free."
                parameters = {"data": "Zipfian", "n_subscriptions": n, "d": dims, "k": ""}
                yield skipped(f"{n}, {dims}", INDEXES[0].label, parameters, reason)
                continue
            data = zipfian(n, dims, plan.effort.n_events)
            yield from contest(data, RELAXED, _entrants(n, dims), plan.ks, plan.effort, progress)
        data = short(n, plan.effort.n_events)
        yield from contest(data, RELAXED, _entrants(n, 1), plan.ks, plan.effort, progress)


def _entrants(n: int, dims: int) -> tuple[Entrant, ...]:
    if dims == 1:
        return (*INDEXES, BUDGETED, DYNAMIC)
    return (*(INDEXES if n * dims <= MANY else (SOPT,)), TIERS, TIERS_DYNAMIC)


def _line(row: Row) -> bool:
    """The largest k but one in one dimension, which is 1 at size toy."""
    given = row["parameters"]
    return given["data"] == "Zipfian" and given["d"] == 1 and given["k"] in (1, 20)


def _series(row: Row) -> str:
    return f"{row['algorithm']}, k = {row['parameters']['k']}"


BENCHMARK = Benchmark(
    name="ranked",
    summary="All scored interval indexes side by side: time, build, bytes and updates, by subscriptions, d and k.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        INDEX,
        DATA,
        D,
        K,
        SINGLE,
        RATIO,
        BATCH,
        RATIO_BATCH,
        BUILD,
        BYTES,
        Column("updates a second", cell_of("updates")),
        Column("updates timed", cell_of("updated")),
        Column("merges", cell_of("merges")),
        Column("leaves", cell_of("leaves")),
        SORTED,
        RANDOM,
        EVENTS,
    ),
    plots=(plot("time", "One dimension, relaxed", "n_subscriptions", "single_us", "µs an event", _line, _series),),
)
