"""Exact matching: subscriptions found by one of their parts, by all of them as in the paper, and by brute force."""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.ranking import contest
from skyband.bench.ranking_data import zipfian
from skyband.bench.ranking_duel import Effort
from skyband.bench.ranking_entrant import EXACT, SCAN, Entrant
from skyband.bench.ranking_view import BATCH, BYTES, EVENTS, INDEX, RANDOM, RATIO, SINGLE, SORTED, D, K
from skyband.bench.row import Row
from skyband.bench.view import SUBSCRIPTIONS, plot

ENTRANTS = (Entrant("anchor", "sopt"), Entrant("intersect", "sopt", exact="intersect"), SCAN)


class Plan(NamedTuple):
    """Numbers of subscriptions and of dimensions, k, and how thoroughly."""

    ns: tuple[int, ...]
    dims: tuple[int, ...]
    ks: tuple[int, ...]
    effort: Effort


PLANS: dict[Size, Plan] = {
    "toy": Plan((50,), (1, 2), (3,), Effort(1, 4, 0.01)),
    "small": Plan((10_000, 100_000), (1, 2, 4, 8), (1, 20), Effort(3, 1_000, 0.1)),
    "full": Plan((10_000, 100_000, 1_000_000), (1, 2, 4, 8), (1, 20, 100), Effort(3, 1_000, 0.2)),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions, of dimensions and k."""
    plan = PLANS[size]
    for n in plan.ns:
        for dims in plan.dims:
            data = zipfian(n, dims, plan.effort.n_events)
            yield from contest(data, EXACT, ENTRANTS, plan.ks, plan.effort, progress)


def _largest(row: Row) -> bool:
    return row["parameters"]["k"] in (3, 20) and row["parameters"]["n_subscriptions"] in (50, 100_000)


BENCHMARK = Benchmark(
    name="ranked-exact",
    summary="Exact matching by one part of each subscription, by all of them, and by brute force, by dimensions.",
    measure=measure,
    columns=(SUBSCRIPTIONS, INDEX, D, K, SINGLE, RATIO, BATCH, BYTES, SORTED, RANDOM, EVENTS),
    plots=(plot("time", "Exact matching, 100,000 subscriptions, k = 20", "d", "single_us", "µs an event", _largest),),
)
