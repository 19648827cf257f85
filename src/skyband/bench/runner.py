"""Side by side: answers compared before anything is timed, calls in turn, and a sweep that knows when to stop.

A sweep over numbers of subscriptions stops where the next would take too long or too much memory.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.bench.experiment import Progress
from skyband.bench.machine import free_memory
from skyband.bench.row import Row, measured, skipped

Call = Callable[[int], object]
Taken = Mapping[str, list[int]]

# Enough subscriptions at once that a call costs little, few enough that what it tells stays small.
AT_ONCE = 50_000
# The workload's own tables, the parsed batches and arrays that double as they grow, beside the engine's own bytes.
OVERHEAD = 3.0


class WrongAnswer(AssertionError):
    """An engine answered otherwise than what it is compared with; nothing is timed then."""


def require_equal(answer: pa.Table, expected: pa.Table, what: str) -> None:
    """Raise `WrongAnswer` unless two answers are equal tables."""
    if not answer.equals(expected):
        raise WrongAnswer(f"{what}: the answers differ ({len(answer)} rows, and {len(expected)} were expected).")


def pieces(table: pa.Table, size: int) -> Iterator[pa.Table]:
    """The table in slices of at most `size` rows."""
    return (table.slice(start, size) for start in range(0, len(table), size))


@contextmanager
def no_collection() -> Iterator[None]:
    """Garbage collected before, and not meanwhile."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def time_in_turn(
    calls: Mapping[str, Callable[[int], object]],
    n_rounds: int,
    n_warm: int = 1,
    after: Callable[[str, int, object], None] = lambda name, turn, answer: None,
) -> dict[str, list[int]]:
    """The nanoseconds of each call in each round, without the first `n_warm` rounds.

    A call is given the number of its round, warm-up included. `after` sees its answer with the clock stopped.
    """
    taken: dict[str, list[int]] = {name: [] for name in calls}
    with no_collection():
        for turn in range(n_warm + n_rounds):
            for name, call in calls.items():
                start = time.perf_counter_ns()
                answer = call(turn)
                spent = time.perf_counter_ns() - start
                if turn >= n_warm:
                    taken[name].append(spent)
                after(name, turn, answer)
    return taken


def race(
    contest: str,
    calls: Mapping[str, Call],
    n_rounds: int,
    n_operations: int,
    parameters: dict[str, Any],
    measures: Callable[[str, Taken], dict[str, float]] = lambda name, taken: {},
    *,
    n_warm: int = 1,
    after: Callable[[str, int, object], None] = lambda name, turn, answer: None,
) -> list[Row]:
    """A row for each call, all of them timed in turn; `measures` gives what else is known of one by its name."""
    taken = time_in_turn(calls, n_rounds, n_warm, after)
    return [measured(contest, name, parameters, taken[name], n_operations, measures(name, taken)) for name in calls]


def short_of_memory(n_bytes: float) -> str | None:
    """Why something that takes so many bytes is not measured, as a sentence; None if it is."""
    free = free_memory()
    if n_bytes <= free:
        return None
    return f"Skipped: {n_bytes / 1e9:.0f} GB would be needed, and {free / 1e9:.0f} GB are free."


class Spent(NamedTuple):
    """What a point of a sweep took: its number of subscriptions, seconds, and bytes of the engine."""

    n: int
    seconds: float
    n_bytes: float


class Spending:
    """What the points of a sweep took so far, for as long as a budget in seconds lasts for each."""

    def __init__(self, budget: float = math.inf) -> None:
        self._budget = budget
        self._before: list[Spent] = []

    def reluctance(self, n: int) -> str | None:
        """Why the next size is not measured, as a sentence; None if it is."""
        return reluctance(n, self._before, self._budget, free_memory())

    def note(self, n: int, seconds: float, n_bytes: float) -> None:
        """Remember what a size took."""
        self._before.append(Spent(n, seconds, n_bytes))


def sweep(
    label: str,
    algorithm: str,
    sizes: Sequence[int],
    budget: float,
    measure: Callable[[int], list[Row]],
    progress: Progress,
) -> Iterator[Row]:
    """The rows of each size, or a row that says why it was skipped.

    The first two sizes are always measured; what a later one costs is judged from the line through the two before it,
    since much of what a small size takes does not grow with it.
    """
    spending = Spending(budget)
    for n in sizes:
        reason = spending.reluctance(n)
        if reason is not None:
            progress(f"{label}, {n:,} subscriptions: {reason}")
            yield skipped(f"{label}, {n}", algorithm, {"label": label, "n_subscriptions": n}, reason)
            continue
        progress(f"{label}, {n:,} subscriptions")
        start = time.perf_counter()
        rows = measure(n)
        spending.note(n, time.perf_counter() - start, max(map(total_bytes, rows), default=0.0))
        yield from rows


def total_bytes(row: Row) -> float:
    """Everything that an engine says it keeps."""
    return float(sum(n for name, n in row["measures"].items() if name.startswith("bytes.")))


def reluctance(n: int, before: Sequence[Spent], budget: float, free: float) -> str | None:
    """Why a size is not measured, as a sentence; None if it is."""
    if len(before) < 2:
        return None
    earlier, last = before[-2:]
    steps = (n - last.n) / (last.n - earlier.n)
    seconds = last.seconds + steps * max(0.0, last.seconds - earlier.seconds)
    n_bytes = OVERHEAD * (last.n_bytes + steps * max(0.0, last.n_bytes - earlier.n_bytes))
    if seconds > budget:
        return f"Skipped: it would take about {seconds:,.0f} s, and {budget:,.0f} s are allowed."
    if n_bytes > free:
        return f"Skipped: it would need about {n_bytes / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free."
    return None
