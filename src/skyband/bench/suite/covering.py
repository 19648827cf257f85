"""Is a subscription covered by one that is there? All searches side by side.

Half of the queries are drawn like the subscriptions, and half are boxes that just fail to be covered, which are the
hardest. Exact searches answer all of them; the paper's answers those that it can answer with so many probes. The search
by corners goes along the Hilbert curve, all others along the Z curve. A curve, whose costs are those of the searches
that use it, has had some subscriptions inserted and removed. Ratios are to `corners` on the same queries, in batches.
"""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.covering_contest import Effort, compare
from skyband.bench.covering_data import LARGE, SMALL, Setting, sized
from skyband.bench.covering_view import ABOUT, ASKED, BATCH, RATIO, SINGLE, STEPS
from skyband.bench.machine import free_memory
from skyband.bench.row import Row, skipped
from skyband.bench.view import plot, share, shown

# The points as numbers, the tables they came from, the cells and keys while the curve is laid, and the curve, for a
# number of 8 bytes of each.
COPIES = 10


class Plan(NamedTuple):
    """What is measured, and how thoroughly."""

    settings: tuple[Setting, ...]
    effort: Effort


KINDS = (
    Setting(0, 2),
    Setting(0, 4),
    Setting(0, 8),
    Setting(0, 4, "clustered"),
    Setting(0, 4, "zipfian"),
    Setting(0, 4, sides=LARGE),
)
PLANS: dict[Size, Plan] = {
    "toy": Plan((Setting(60, 2, sides=LARGE, bits=5),), Effort(12, 1, 4, 0.01, 200, 400, (0.7, 0.5))),
    "small": Plan(sized(KINDS, 10_000, 100_000, 1_000_000), Effort(1_000, 3, 1_000, 0.3, 1_000_000, 4_000_000)),
    "full": Plan(
        sized(KINDS, 10_000, 100_000, 1_000_000, 5_000_000), Effort(2_000, 5, 2_000, 1.0, 10_000_000, 20_000_000)
    ),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each number of subscriptions and kind of data."""
    plan = PLANS[size]
    for setting in plan.settings:
        needed = setting.n * 2 * setting.attributes * 8 * COPIES
        if needed > free_memory():
            reason = f"Skipped: {needed / 1e9:.0f} GB would be needed, and {free_memory() / 1e9:.0f} GB are free."
            yield skipped(setting.label, "corners", setting.parameters, reason)
        else:
            yield from compare(setting, plan.effort, progress)


def _usual(row: Row) -> bool:
    """Uniform data with four attributes and small sides; at size toy what there is."""
    given = row["parameters"]
    if row["size"] == "toy":
        return True
    small = f"{SMALL[0]:g} to {SMALL[1]:g}"
    return (given["attributes"], given["data"], given["sides"]) == (4, "uniform", small)


BENCHMARK = Benchmark(
    name="covering",
    summary="Searches for a covering subscription side by side: time, steps, updates, build and bytes.",
    measure=measure,
    columns=(
        *ABOUT,
        STEPS,
        BATCH,
        RATIO,
        SINGLE,
        shown("ratio singly", "ratio_single"),
        ASKED,
        share("covered", "covered"),
        share("found covered", "found"),
        shown("inserts a second", "inserts"),
        shown("removals a second", "removals"),
        shown("s to build", "build_s"),
        shown("bytes a subscription", "bytes"),
    ),
    plots=(
        plot("time", "A query in a batch, 4 attributes", "n_subscriptions", "batch_us", "µs a query", _usual),
        plot("steps", "Probes, nodes, leaves or rows, 4 attributes", "n_subscriptions", "steps", "steps", _usual),
    ),
)
