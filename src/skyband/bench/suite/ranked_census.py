"""People of a census as events: subscriptions ask for people like one of them, in five dimensions."""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.ranking import contest
from skyband.bench.ranking_data import FILE, about, invented, read
from skyband.bench.ranking_duel import Effort
from skyband.bench.ranking_entrant import EXACT, INDEXES, RELAXED, SCAN, TIERS
from skyband.bench.ranking_view import BATCH, BUILD, BYTES, EVENTS, INDEX, MATCHING, RANDOM, RATIO, SINGLE, SORTED
from skyband.bench.real import find, why_missing
from skyband.bench.row import Row, skipped
from skyband.bench.view import SUBSCRIPTIONS, plot

K = 20


class Plan(NamedTuple):
    """Numbers of subscriptions, and how thoroughly."""

    ns: tuple[int, ...]
    effort: Effort


PLANS: dict[Size, Plan] = {
    # People that are made up, so that what a toy run does is the same everywhere.
    "toy": Plan((40,), Effort(1, 4, 0.01)),
    "small": Plan((10_000, 100_000), Effort(3, 1_000, 0.1)),
    "full": Plan((10_000, 100_000, 1_000_000), Effort(3, 1_000, 0.5)),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions, relaxed and exact."""
    plan, path = PLANS[size], find(FILE)
    if size != "toy" and path is None:
        for n in plan.ns:
            yield skipped(f"{n}", INDEXES[0].label, {"n_subscriptions": n}, why_missing(FILE))
        return
    people = invented(50) if size == "toy" or path is None else read(path)
    for n in plan.ns:
        data = about(people, n, plan.effort.n_events, "people")
        for rule, entrants in ((RELAXED, (*INDEXES, TIERS, SCAN)), (EXACT, (*INDEXES, SCAN))):
            yield from contest(data, rule, entrants, [K], plan.effort, progress)


def _series(row: Row) -> str:
    return f"{row['algorithm']}, {row['parameters']['matching']}"


BENCHMARK = Benchmark(
    name="ranked-census",
    summary="People of a census as events, and subscriptions to people like one of them, relaxed and exact, k = 20.",
    measure=measure,
    columns=(SUBSCRIPTIONS, INDEX, MATCHING, SINGLE, RATIO, BATCH, BUILD, BYTES, SORTED, RANDOM, EVENTS),
    plots=(plot("time", "People as events, k = 20", "n_subscriptions", "single_us", "µs an event", series=_series),),
)
