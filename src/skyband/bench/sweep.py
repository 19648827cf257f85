"""A sweep over numbers of subscriptions, which stops where the next would take too long or too much memory."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from skyband.bench.benchmark import Progress
from skyband.bench.machine import free_memory
from skyband.bench.row import Row, skipped

# The workload's own tables, the parsed batches and arrays that double as they grow, beside the engine's own bytes.
OVERHEAD = 3.0


class Spent(NamedTuple):
    """What a point of a sweep took: its number of subscriptions, seconds, and bytes of the engine."""

    n: int
    seconds: float
    n_bytes: float


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
    before: list[Spent] = []
    for n in sizes:
        reason = reluctance(n, before, budget, free_memory())
        if reason is not None:
            progress(f"{label}, {n:,} subscriptions: {reason}")
            yield skipped(f"{label}, {n}", algorithm, {"label": label, "n_subscriptions": n}, reason)
            continue
        progress(f"{label}, {n:,} subscriptions")
        start = time.perf_counter()
        rows = measure(n)
        before.append(Spent(n, time.perf_counter() - start, _bytes_of(rows)))
        yield from rows


def _bytes_of(rows: list[Row]) -> float:
    sums = [sum(value for name, value in row["measures"].items() if name.startswith("bytes.")) for row in rows]
    return max(sums, default=0.0)


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
