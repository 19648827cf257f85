"""The geotext engines with millions of subscriptions: what a message costs, and how that grows from one to five.

Scan is left out: it would take hours to fill its window. Its cost for a pair does not depend on how many there are; the
benchmark `geotext` measures it.

Engines are compared in one heat where the memory holds them all. Otherwise ours takes turns with each of the others in
a heat of its own: then only ratios compare, and what ours took beside each is shown.
"""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.machine import free_memory
from skyband.bench.places import Corpus
from skyband.bench.race import Entrant, Setting, contest, left_out
from skyband.bench.row import Row
from skyband.bench.skype import (
    ALL,
    ARRIVAL,
    CIQ,
    ENGINE,
    EXPIRY,
    INDEX_EACH,
    LENGTH,
    OURS,
    SEARCHES,
    SKYPE,
    SUBSCRIPTIONS,
    beside_first,
    plot_of,
    shown,
)

# Measured with a million: rows, questions, index and ids.
BYTES_EACH = 2500


class Plan(NamedTuple):
    """Who takes part with how many subscriptions, and how much is measured."""

    sizes: tuple[tuple[int, tuple[Entrant, ...]], ...]
    n_live: int
    n_warm: int
    n_rounds: int
    batch: int = 1000
    shrink: int = 1
    k: int = 20


EVERYBODY = (OURS, SKYPE, CIQ)
PLANS: dict[Size, Plan] = {
    "toy": Plan(((20, EVERYBODY), (40, (OURS,))), n_live=30, n_warm=10, n_rounds=2, batch=10, shrink=10_000, k=3),
    "small": Plan(((1_000_000, EVERYBODY), (5_000_000, (OURS,))), n_live=200_000, n_warm=5_000, n_rounds=5),
    "full": Plan(((1_000_000, EVERYBODY), (5_000_000, EVERYBODY)), n_live=1_000_000, n_warm=50_000, n_rounds=20),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions."""
    plan = PLANS[size]
    for n, entrants in plan.sizes:
        corpus, label = Corpus("tweets", plan.shrink), f"{n:,} subscriptions"
        setting = Setting(corpus, n, plan.n_live, plan.n_warm, plan.batch, plan.n_rounds, plan.k)
        at_once = heat(len(entrants), n * BYTES_EACH, free_memory())
        if at_once is None:
            needed = min(len(entrants), 2) * n * BYTES_EACH
            reason = f"Skipped: {needed / 1e9:.0f} GB would be needed, and {free_memory() / 1e9:.0f} GB are free."
            yield from left_out(setting, entrants, label, reason)
        else:
            yield from contest(setting, entrants, at_once, label, progress)


def heat(n_entrants: int, bytes_each: int, free: float) -> int | None:
    """How many engines take part in a heat: all, or the first and one other, or None where not even these fit."""
    for n in (n_entrants, min(n_entrants, 2)):
        if n * bytes_each <= free:
            # A contest of one engine alone is a heat of it and nobody.
            return max(n, 2)
    return None


BENCHMARK = Benchmark(
    name="geotext-million",
    summary="Ours, Skype and CIQ with millions of subscriptions by place and words.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        ENGINE,
        ARRIVAL,
        EXPIRY,
        ALL,
        beside_first("all_us"),
        shown("all, of ours beside it", "first.all_us"),
        shown("candidates a message", "candidates"),
        shown("changes a message", "changes"),
        SEARCHES,
        INDEX_EACH,
        LENGTH,
    ),
    plots=(
        plot_of("time", "Millions of subscriptions", "n_subscriptions", "all_us", "µs a message, arrival and expiry"),
    ),
)
