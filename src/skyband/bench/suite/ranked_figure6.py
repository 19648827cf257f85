"""Figure 6 of the ranked paper: what an event takes by the number of getnext calls, in one dimension."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.paper import cell_of
from skyband.bench.ranking import too_large
from skyband.bench.ranking_data import Data, zipfian
from skyband.bench.ranking_duel import tree_of
from skyband.bench.ranking_entrant import INDEXES, RELAXED, Built, build
from skyband.bench.ranking_view import EVENTS, INDEX, RATIO
from skyband.bench.row import Row, measured, skipped
from skyband.bench.view import SUBSCRIPTIONS, given, plot
from skyband.ranked.kernels.getnext import first_parts
from skyband.ranked.matcher import Matcher


class Plan(NamedTuple):
    """How many intervals, the most getnext calls, how many of them a round may make in all, and rounds."""

    n: int
    most: int
    n_calls: int
    n_rounds: int
    n_events: int = 5_000


PLANS: dict[Size, Plan] = {
    "toy": Plan(80, 4, 20, 1, 5),
    "small": Plan(1_000_000, 1 << 14, 200_000, 3),
    "full": Plan(1_000_000, 1 << 14, 1_000_000, 7),
}


class Asking:
    """The search for the first parts of values in one index; `found` is what it found last."""

    def __init__(self, built: Built, n_events: int, n_calls: int) -> None:
        assert isinstance(built.matcher, Matcher)
        self._tree, width = tree_of(built.matcher)
        self._parts = built.matcher.parts
        self._cursor = np.zeros(width, np.int64)
        self.found = np.zeros((n_events, n_calls), np.int32)

    def ask(self, values: np.ndarray, turn: int) -> int:
        """How many parts were found in all."""
        return int(first_parts(self._tree, self._parts, 0, values, self._cursor, self.found))


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """All indexes turn and turn about, for each number of calls."""
    plan = PLANS[size]
    data = zipfian(plan.n, 1, plan.n_events)
    built: dict[str, Built] = {}
    left_out: dict[str, str] = {}
    for entrant in INDEXES:
        progress(f"{plan.n:,} intervals, {entrant.label}")
        reason = too_large(built[INDEXES[0].label].matcher, entrant) if built else None
        if reason is None:
            built[entrant.label] = build(entrant, RELAXED, data)
        else:
            left_out[entrant.label] = reason
    for power in range(plan.most.bit_length()):
        progress(f"{1 << power:,} calls")
        yield from _rows(plan, data, built, 1 << power)
    for label, reason in left_out.items():
        yield skipped("1", label, {"n_subscriptions": plan.n, "calls": ""}, reason)


def _rows(plan: Plan, data: Data, built: dict[str, Built], n_calls: int) -> Iterator[Row]:
    n_events = int(np.clip(plan.n_calls // n_calls, 1, len(data.points)))
    values = np.ascontiguousarray(data.points[:n_events, 0])
    asked = {label: Asking(each, n_events, n_calls) for label, each in built.items()}
    n_found = {label: each.ask(values, 0) for label, each in asked.items()}
    first = INDEXES[0].label
    for label, each in asked.items():
        if not np.array_equal(each.found, asked[first].found):
            raise WrongAnswer(f"{n_calls} calls: the answers of {label} differ.")
    calls: dict[str, Callable[[int], object]] = {label: partial(each.ask, values) for label, each in asked.items()}
    taken = time_in_turn(calls, plan.n_rounds)
    parameters = {"n_subscriptions": plan.n, "calls": n_calls}
    for label, own in taken.items():
        spent = float(np.median(own))
        measures = {
            "us": spent / n_events / 1e3,
            "ns": spent / max(n_found[label], 1),
            "found": n_found[label] / n_events,
            "ratio": spent / float(np.median(taken[first])),
        }
        yield measured(f"{n_calls}", label, parameters, own, n_events, measures)


BENCHMARK = Benchmark(
    name="ranked-figure6",
    summary="Figure 6 of the ranked paper: the time of an event by the number of getnext calls, in one dimension.",
    measure=measure,
    columns=(
        given("getnext calls", "calls"),
        INDEX,
        SUBSCRIPTIONS,
        Column("µs an event", cell_of("us")),
        Column("ns an interval", cell_of("ns")),
        RATIO,
        Column("found", cell_of("found")),
        EVENTS,
    ),
    plots=(plot("time", "Figure 6: time by the number of getnext calls", "calls", "us", "µs an event"),),
)
