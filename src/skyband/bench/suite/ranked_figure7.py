"""Figure 7 of the ranked paper: what an event takes by the number of dimensions."""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.ranking import contest
from skyband.bench.ranking_data import zipfian
from skyband.bench.ranking_duel import Effort
from skyband.bench.ranking_entrant import INDEXES, RELAXED, SCAN, TIERS
from skyband.bench.ranking_view import BATCH, EVENTS, INDEX, RANDOM, RATIO, SINGLE, SORTED, D, K
from skyband.bench.row import Row
from skyband.bench.view import SUBSCRIPTIONS, plot


class Plan(NamedTuple):
    """Subscriptions, numbers of dimensions, how many are asked for, and how thoroughly."""

    n: int
    dims: tuple[int, ...]
    k: int
    effort: Effort


PLANS: dict[Size, Plan] = {
    "toy": Plan(60, (1, 2), 3, Effort(1, 4, 0.01)),
    "small": Plan(100_000, (1, 2, 3, 4, 8), 20, Effort(3, 1_000, 0.1)),
    "full": Plan(1_000_000, (1, 2, 3, 4, 8), 20, Effort(3, 1_000, 0.5)),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of dimensions."""
    plan = PLANS[size]
    for dims in plan.dims:
        data = zipfian(plan.n, dims, plan.effort.n_events)
        # Tiers, which are for several dimensions, and brute force are not in the paper's figure.
        entrants = (*INDEXES, TIERS, SCAN) if dims > 1 else (*INDEXES, SCAN)
        yield from contest(data, RELAXED, entrants, [plan.k], plan.effort, progress)


BENCHMARK = Benchmark(
    name="ranked-figure7",
    summary="Figure 7 of the ranked paper: the time of an event by the number of dimensions, relaxed matching.",
    measure=measure,
    columns=(D, INDEX, SUBSCRIPTIONS, K, SINGLE, RATIO, BATCH, SORTED, RANDOM, EVENTS),
    plots=(plot("time", "Figure 7: time by the number of dimensions", "d", "single_us", "µs an event"),),
)
