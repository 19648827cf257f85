"""Figure 9 of the ranked paper: what an event takes by how much subscriptions overlap, in four dimensions."""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.ranking import contest
from skyband.bench.ranking_data import zipfian
from skyband.bench.ranking_duel import Effort
from skyband.bench.ranking_entrant import INDEXES, RELAXED, TIERS
from skyband.bench.ranking_view import BATCH, EVENTS, INDEX, RANDOM, RATIO, SINGLE, SORTED
from skyband.bench.row import Row
from skyband.bench.view import SUBSCRIPTIONS, given, plot

K = 20


class Plan(NamedTuple):
    """Subscriptions, dimensions, skews, and how thoroughly."""

    n: int
    dims: int
    skews: tuple[float, ...]
    effort: Effort


SKEWS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
PLANS: dict[Size, Plan] = {
    "toy": Plan(40, 2, (0.5, 2.0), Effort(1, 4, 0.01)),
    "small": Plan(100_000, 4, SKEWS, Effort(3, 1_000, 0.1)),
    "full": Plan(1_000_000, 4, SKEWS, Effort(3, 1_000, 0.5)),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each skew of lengths; the lower it is, the longer intervals are."""
    plan = PLANS[size]
    for skew in plan.skews:
        data = zipfian(plan.n, plan.dims, plan.effort.n_events, skew)
        yield from contest(data, RELAXED, (*INDEXES, TIERS), [K], plan.effort, progress, {"skew_length": skew})


BENCHMARK = Benchmark(
    name="ranked-figure9",
    summary="Figure 9 of the ranked paper: the time of an event by the skew of lengths, four dimensions, k = 20.",
    measure=measure,
    columns=(given("skew_length", "skew_length"), INDEX, SUBSCRIPTIONS, SINGLE, RATIO, BATCH, SORTED, RANDOM, EVENTS),
    plots=(plot("time", "Figure 9: time by the skew of lengths", "skew_length", "single_us", "µs an event"),),
)
