"""Tens to hundreds of dimensions of which a subscription asks about three: SOPT-R, what is ours, and brute force."""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.ranking import contest
from skyband.bench.ranking_data import sparse
from skyband.bench.ranking_duel import Effort
from skyband.bench.ranking_entrant import EXACT, IR, RELAXED, SCAN, SOPT, TIERS, TOTAL, Entrant
from skyband.bench.ranking_view import BATCH, BYTES, EVENTS, INDEX, MATCHING, RANDOM, RATIO, SINGLE, SORTED, D
from skyband.bench.row import Row
from skyband.bench.view import SUBSCRIPTIONS, plot
from skyband.ranked.kernels.fitting import Rule
from skyband.ranked.matcher import MOST_DIMS

N_ASKED, K = 3, 20


class Plan(NamedTuple):
    """Numbers of subscriptions and of dimensions, and how thoroughly."""

    ns: tuple[int, ...]
    dims: tuple[int, ...]
    effort: Effort


DIMS = (10, 100, 300)
PLANS: dict[Size, Plan] = {
    "toy": Plan((40,), (4, 20), Effort(1, 4, 0.01)),
    "small": Plan((10_000, 100_000), DIMS, Effort(3, 1_000, 0.1)),
    "full": Plan((10_000, 100_000, 1_000_000), DIMS, Effort(3, 1_000, 0.5)),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions and of dimensions, relaxed and exact."""
    plan = PLANS[size]
    for n in plan.ns:
        for dims in plan.dims:
            data = sparse(n, dims, N_ASKED, plan.effort.n_events)
            for rule in (RELAXED, EXACT):
                yield from contest(data, rule, _entrants(rule, dims), [K], plan.effort, progress)


def _entrants(rule: Rule, dims: int) -> tuple[Entrant, ...]:
    if rule.exact:
        return SOPT, IR, SCAN
    return (SOPT, IR, TOTAL, SCAN) if dims > MOST_DIMS else (SOPT, IR, TOTAL, TIERS, SCAN)


def _series(row: Row) -> str:
    given = row["parameters"]
    return f"{row['algorithm']}, {given['matching']}, {given['n_subscriptions']:,}"


BENCHMARK = Benchmark(
    name="ranked-sparse",
    summary="Many dimensions of which a subscription asks about three, relaxed and exact, beside brute force, k = 20.",
    measure=measure,
    columns=(SUBSCRIPTIONS, INDEX, D, MATCHING, SINGLE, RATIO, BATCH, BYTES, SORTED, RANDOM, EVENTS),
    plots=(plot("time", "Three of many dimensions, k = 20", "d", "single_us", "µs an event", series=_series),),
)
