"""The experiments of the ranked paper, and those with many dimensions, a census, and the engine behind the contract.

Ratios are to the SOPT-R-tree, or to the first entrant. What is dynamic has had a tenth of its subscriptions replaced.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from skyband.bench.experiment import AnyExperiment, Experiment, Size
from skyband.bench.ranked_contest import Contest, RankedEffort, run_contest
from skyband.bench.ranked_data import FILE, about, boxes, invented, read, short, sparse, zipfian
from skyband.bench.ranked_entrant import (
    ANCHOR,
    BUDGETED,
    CELLS,
    CELLS_DYNAMIC,
    DESCENT,
    DESCENT_DYNAMIC,
    DYNAMIC,
    EXACT,
    INDEXES,
    IR,
    RELAXED,
    SCAN,
    SOPT,
    TIERS,
    TIERS_DYNAMIC,
    TOTAL,
    IndexEntrant,
)
from skyband.bench.ranked_index import Calls, RankedPlan, compare_engines, time_calls, weigh
from skyband.bench.real import find, why_missing
from skyband.bench.row import Row
from skyband.bench.runner import short_of_memory
from skyband.bench.view import (
    DATA,
    RATIO,
    SUBSCRIPTIONS,
    D,
    K,
    Plot,
    ViewColumn,
    algorithm,
    beside,
    by_parameter,
    computed,
    each_second,
    given,
    line,
    multiple,
    plot,
    relative,
    shown,
)
from skyband.ranked.kernels.fitting import Rule
from skyband.ranked.matcher import MOST_DIMS

# Two indexes, the pool of each, the data, and what building takes for a while.
BYTES_A_PART = 600
# With more parts than this, in several dimensions only tiers are beside the SOPT-R-tree.
MANY = 4_000_000
N_ASKED, USUAL_K = 3, 20
NS = (100_000, 200_000, 500_000, 1_000_000)
# Megabytes. The paper leaves the SOPT-R-tree out, since it is an R-tree.
MEGABYTES = {
    "Interval": (0.92, 1.7, 4.2, 8.3),
    "R": (1.2, 2.4, 6.0, 12.0),
    "SOPT-R": (1.2, 2.4, 6.0, 12.0),
    "Segment": (40.0, 89.0, 214.0, 429.0),
    "IR": (1.76, 3.43, 8.35, 16.5),
}


class RankedSweep(NamedTuple):
    """Numbers of subscriptions and of dimensions, ks, how thoroughly, skews of lengths, and whether people are real."""

    ns: tuple[int, ...]
    dims: tuple[int, ...]
    ks: tuple[int, ...]
    effort: RankedEffort
    skews: tuple[float, ...] = ()
    real: bool = False


class RankedPoints(NamedTuple):
    """Numbers of subscriptions with the dimensions that each is measured in, ks, and how thoroughly."""

    points: tuple[tuple[int, tuple[int, ...]], ...]
    ks: tuple[int, ...]
    effort: RankedEffort


TOY, SMALL, FULL = RankedEffort(1, 4, 0.01), RankedEffort(3, 1_000, 0.1), RankedEffort(3, 1_000, 0.5)
ALL_DIMS = (1, 2, 3, 4, 8)
BY_DIMS: dict[Size, RankedSweep] = {
    "toy": RankedSweep((60,), (1, 2), (3,), TOY),
    "small": RankedSweep((100_000,), ALL_DIMS, (USUAL_K,), SMALL),
    "full": RankedSweep((1_000_000,), ALL_DIMS, (USUAL_K,), FULL),
}
SKEWS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
PEOPLE: dict[Size, RankedSweep] = {
    # People that are made up, so that what a toy run does is the same everywhere.
    "toy": RankedSweep((40,), (5,), (USUAL_K,), TOY),
    "small": RankedSweep((10_000, 100_000), (5,), (USUAL_K,), SMALL, real=True),
    "full": RankedSweep((10_000, 100_000, 1_000_000), (5,), (USUAL_K,), FULL, real=True),
}

INDEX = algorithm("index")
SINGLE, BATCH = shown("µs an event", "single_us"), shown("µs in a batch", "batch_us")
TIMES, BATCH_TIMES = multiple("ratio", "ratio"), multiple("ratio in a batch", "ratio_batch")
BUILD, BYTES = shown("s to build", "build_s"), shown("bytes an interval", "bytes")
SORTED, RANDOM = shown("sorted accesses", "sorted"), shown("random accesses", "random")
EVENTS = computed("events timed", lambda row: row["n_operations"])
MATCHING = given("matching")


def _all_sizes(plan: RankedPoints) -> Iterator[Contest]:
    """Relaxed matching with Table 1's defaults, and in one dimension short intervals."""
    for n, all_dims in plan.points:
        for dims in all_dims:
            reason = short_of_memory(n * dims * BYTES_A_PART)
            match = ((RELAXED, _sized_entrants(n, dims)),)
            data = partial(zipfian, n, dims, plan.effort.n_events)
            if reason is None:
                yield Contest(data, match, plan.ks, plan.effort)
            else:
                said = {"data": "Zipfian", "n_subscriptions": n, "d": dims, "k": ""}
                yield Contest(data, match, plan.ks, plan.effort, said, reason, f"{n}, {dims}")
        match = ((RELAXED, _sized_entrants(n, 1)),)
        yield Contest(partial(short, n, plan.effort.n_events), match, plan.ks, plan.effort)


def _sized_entrants(n: int, dims: int) -> tuple[IndexEntrant, ...]:
    if dims == 1:
        return (*INDEXES, BUDGETED, DYNAMIC)
    return (*(INDEXES if n * dims <= MANY else (SOPT,)), TIERS, TIERS_DYNAMIC)


def _zipfian(
    plan: RankedSweep, rule: Rule, entrants: Callable[[int], tuple[IndexEntrant, ...]], skew: float | None = None
) -> Iterator[Contest]:
    """A contest for each number of subscriptions and of dimensions, which tell the entrants."""
    more = {} if skew is None else {"skew_length": skew}
    for n in plan.ns:
        for dims in plan.dims:
            data = partial(zipfian, n, dims, plan.effort.n_events, **more)
            yield Contest(data, ((rule, entrants(dims)),), plan.ks, plan.effort, more)


def _by_dims(plan: RankedSweep) -> Iterator[Contest]:
    """Tiers, which are for several dimensions, and brute force are not in the paper's figure."""
    return _zipfian(plan, RELAXED, lambda dims: (*INDEXES, TIERS, SCAN) if dims > 1 else (*INDEXES, SCAN))


def _by_skew(plan: RankedSweep) -> Iterator[Contest]:
    """The lower the skew of lengths is, the longer intervals are."""
    for skew in plan.skews:
        yield from _zipfian(plan, RELAXED, lambda dims: (*INDEXES, TIERS), skew)


def _exact(plan: RankedSweep) -> Iterator[Contest]:
    """By one part of each subscription, by all of them as in the paper, by cells, and by brute force."""
    entrants = (ANCHOR, IndexEntrant("intersect", "sopt", exact="intersect"), CELLS, SCAN)
    return _zipfian(plan, EXACT, lambda dims: entrants)


def _boxes(plan: RankedSweep) -> Iterator[Contest]:
    """Boxes of which events meet few: by one part of each, by cells, as built and after changes, and by brute force."""
    for n in plan.ns:
        for dims in plan.dims:
            data = partial(boxes, n, dims, plan.effort.n_events)
            yield Contest(data, ((EXACT, (ANCHOR, CELLS, CELLS_DYNAMIC, SCAN)),), plan.ks, plan.effort)


def _sparse(plan: RankedSweep) -> Iterator[Contest]:
    """Tens to hundreds of dimensions of which a subscription asks about three, relaxed and exact."""
    for n in plan.ns:
        for dims in plan.dims:
            many = (SOPT, IR, TOTAL, DESCENT, DESCENT_DYNAMIC, SCAN)
            relaxed = many if dims > MOST_DIMS else (*many, TIERS)
            exact = (SOPT, IR, SCAN) if dims > MOST_DIMS else (SOPT, IR, CELLS, SCAN)
            matches = ((RELAXED, relaxed), (EXACT, exact))
            data = partial(sparse, n, dims, N_ASKED, plan.effort.n_events)
            yield Contest(data, matches, plan.ks, plan.effort)


def _census(plan: RankedSweep) -> Iterator[Contest]:
    """Subscriptions ask for people like one of them, relaxed and exact."""
    path = find(FILE)
    matches = ((RELAXED, (*INDEXES, TIERS, SCAN)), (EXACT, (*INDEXES, SCAN)))
    people = read(path) if plan.real and path is not None else invented(50)
    for n in plan.ns:
        data = partial(about, people, n, plan.effort.n_events, "people")
        if plan.real and path is None:
            yield Contest(data, matches, plan.ks, plan.effort, {"n_subscriptions": n}, why_missing(FILE), f"{n}")
        else:
            yield Contest(data, matches, plan.ks, plan.effort)


def _one_dimension(row: Row) -> bool:
    """The largest k but one in one dimension, which is 1 at size toy."""
    found = row["parameters"]
    return found["data"] == "Zipfian" and found["d"] == 1 and found["k"] in (1, 20)


def _largest(row: Row) -> bool:
    return row["parameters"]["k"] in (3, 20) and row["parameters"]["n_subscriptions"] in (50, 100_000)


def _sparse_line(row: Row) -> str:
    found = row["parameters"]
    return f"{row['algorithm']}, {found['matching']}, {found['n_subscriptions']:,}"


def _entry(
    name: str,
    summary: str,
    scales: dict[Size, RankedSweep],
    sweep: Callable[[RankedSweep], Iterable[Contest]],
    columns: tuple[ViewColumn, ...],
    *plots: Plot,
) -> AnyExperiment:
    return Experiment(f"ranked-{name}", summary, scales, sweep, run_contest, columns, plots)


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="ranked",
        summary="All scored interval indexes side by side: time, build, bytes and updates, by subscriptions, d and k.",
        scales={
            "toy": RankedPoints(((60, (1, 2)),), (1, 5), TOY._replace(updating=1.0)),
            "small": RankedPoints(
                ((10_000, (1, 2, 4, 8)), (100_000, (1, 2, 4)), (1_000_000, (1,))),
                (1, 20),
                RankedEffort(3, 5_000, 0.03, updating=3.0, allowance=10.0),
            ),
            "full": RankedPoints(
                ((10_000, (1, 2, 4, 8)), (100_000, (1, 2, 4, 8)), (1_000_000, (1, 2, 4, 8)), (5_000_000, (1, 2))),
                (1, 10, 20, 100),
                RankedEffort(3, 10_000, 0.04, updating=5.0, allowance=30.0),
            ),
        },
        sweep=_all_sizes,
        measure=run_contest,
        columns=(
            SUBSCRIPTIONS, INDEX, DATA, D, K, SINGLE, TIMES, BATCH, BATCH_TIMES, BUILD, BYTES,
            shown("updates a second", "updates"), shown("updates timed", "updated"), shown("merges", "merges"),
            shown("leaves", "leaves"), SORTED, RANDOM, EVENTS,
        ),
        plots=(
            plot(
                "time",
                "One dimension, relaxed",
                "n_subscriptions",
                "single_us",
                "µs an event",
                of=_one_dimension,
                series=lambda row: f"{row['algorithm']}, k = {row['parameters']['k']}",
            ),
        ),
    ),
    _entry(
        "exact",
        "Exact matching by one part of each subscription, by all of them, by cells, and by brute force, by dimensions.",
        {
            "toy": RankedSweep((50,), (1, 2), (3,), TOY),
            "small": RankedSweep((10_000, 100_000), (1, 2, 4, 8), (1, 20), SMALL),
            "full": RankedSweep((10_000, 100_000, 1_000_000), (1, 2, 4, 8), (1, 20, 100), SMALL._replace(patience=0.2)),
        },
        _exact,
        (SUBSCRIPTIONS, INDEX, D, K, SINGLE, TIMES, BATCH, BYTES, SORTED, RANDOM, EVENTS),
        plot("time", "Exact matching, 100,000 subscriptions, k = 20", "d", "single_us", "µs an event", of=_largest),
    ),
    _entry(
        "boxes",
        "Exact matching of boxes of which an event meets about 84, by one part of each and by cells; k = 1,000 is all.",
        {
            "toy": RankedSweep((50,), (2, 4), (3, 1_000), TOY),
            "small": RankedSweep((100_000,), (2, 4, 10), (USUAL_K, 1_000), SMALL._replace(updating=3.0)),
            "full": RankedSweep(
                (100_000, 1_000_000), (2, 4, 10), (USUAL_K, 1_000), SMALL._replace(patience=0.2, updating=5.0)
            ),
        },
        _boxes,
        (
            SUBSCRIPTIONS, INDEX, D, K, SINGLE, TIMES, BATCH, BATCH_TIMES, SORTED, RANDOM, BUILD, BYTES,
            shown("updates a second", "updates"), EVENTS,
        ),
        plot("looked", "Subscriptions looked at, 100,000 boxes, k = 20", "d", "random", "subscriptions", of=_largest),
    ),
    _entry(
        "sparse",
        "Many dimensions of which a subscription asks about three, relaxed and exact, beside brute force, k = 20.",
        {
            "toy": RankedSweep((40,), (4, 20), (USUAL_K,), TOY),
            "small": RankedSweep((10_000, 100_000), (10, 100, 300), (USUAL_K,), SMALL),
            "full": RankedSweep((10_000, 100_000, 1_000_000), (10, 100, 300), (USUAL_K,), FULL),
        },
        _sparse,
        (SUBSCRIPTIONS, INDEX, D, MATCHING, SINGLE, TIMES, BATCH, BYTES, SORTED, RANDOM, EVENTS),
        plot("time", "Three of many dimensions, k = 20", "d", "single_us", "µs an event", series=_sparse_line),
    ),
    _entry(
        "census",
        "People of a census as events, and subscriptions to people like one of them, relaxed and exact, k = 20.",
        PEOPLE,
        _census,
        (SUBSCRIPTIONS, INDEX, MATCHING, SINGLE, TIMES, BATCH, BUILD, BYTES, SORTED, RANDOM, EVENTS),
        plot(
            "time",
            "People as events, k = 20",
            "n_subscriptions",
            "single_us",
            "µs an event",
            series=line("matching"),
        ),
    ),
    _entry(
        "figure7",
        "Figure 7 of the ranked paper: the time of an event by the number of dimensions, relaxed matching.",
        BY_DIMS,
        _by_dims,
        (D, INDEX, SUBSCRIPTIONS, K, SINGLE, TIMES, BATCH, SORTED, RANDOM, EVENTS),
        plot("time", "Figure 7: time by the number of dimensions", "d", "single_us", "µs an event"),
    ),
    _entry(
        "figure8",
        "Figure 8 of the ranked paper: the time of an event in multiples of the SOPT-R-tree's, by dimensions.",
        BY_DIMS,
        _by_dims,
        (D, INDEX, SUBSCRIPTIONS, K, TIMES, BATCH_TIMES),
        plot("ratio", "Figure 8: time beside SOPT-R, by dimensions", "d", "ratio", "multiples of SOPT-R"),
    ),
    _entry(
        "figure9",
        "Figure 9 of the ranked paper: the time of an event by the skew of lengths, four dimensions, k = 20.",
        {
            "toy": RankedSweep((40,), (2,), (USUAL_K,), TOY, (0.5, 2.0)),
            "small": RankedSweep((100_000,), (4,), (USUAL_K,), SMALL, SKEWS),
            "full": RankedSweep((1_000_000,), (4,), (USUAL_K,), FULL, SKEWS),
        },
        _by_skew,
        (given("skew_length"), INDEX, SUBSCRIPTIONS, SINGLE, TIMES, BATCH, SORTED, RANDOM, EVENTS),
        plot("time", "Figure 9: time by the skew of lengths", "skew_length", "single_us", "µs an event"),
    ),
    Experiment(
        name="ranked-figure6",
        summary="Figure 6 of the ranked paper: the time of an event by the number of getnext calls, in one dimension.",
        scales={
            "toy": (Calls(80, 4, 20, 1, 5),),
            "small": (Calls(1_000_000, 1 << 14, 200_000, 3),),
            "full": (Calls(1_000_000, 1 << 14, 1_000_000, 7),),
        },
        sweep=iter,
        measure=time_calls,
        columns=(
            given("getnext calls", "calls"), INDEX, SUBSCRIPTIONS, shown("µs an event", "us"),
            shown("ns an interval", "ns"), TIMES, shown("found", "found"), EVENTS,
        ),
        plots=(plot("time", "Figure 6: time by the number of getnext calls", "calls", "us", "µs an event"),),
    ),
    Experiment(
        name="ranked-table2",
        summary="Table 2 of the ranked paper: memory of the indexes of a dimension, by the number of intervals.",
        scales={"toy": (60, 120), "small": NS, "full": NS},
        sweep=iter,
        measure=weigh,
        columns=(
            SUBSCRIPTIONS, INDEX, *beside("MB", "mb", by_parameter(MEGABYTES, "n_subscriptions", NS)),
            relative("ratio", "mb"), BYTES, BUILD,
        ),
        plots=(plot("memory", "Table 2: memory of a dimension", "n_subscriptions", "mb", "MB"),),
    ),
    Experiment(
        name="ranked-engine",
        summary="Scan and scored behind the contract, in batches of 1,000 events and one by one, k = 20.",
        scales={
            "toy": [RankedPlan(n, n <= 30, 1, 4, 2) for n in (30, 60)],
            "small": [RankedPlan(n, n <= 100_000, 3, 1_000, 100) for n in (10_000, 100_000, 1_000_000)],
            "full": [RankedPlan(n, n <= 100_000, 10, 1_000, 1_000) for n in (10_000, 100_000, 1_000_000)],
        },
        sweep=iter,
        measure=compare_engines,
        columns=(
            SUBSCRIPTIONS, algorithm("engine"), given("granularity"), shown("µs an event", "us"), RATIO,
            computed("events a second", each_second), shown("bytes a subscription", "bytes"),
        ),
        plots=(
            plot(
                "time",
                "Events, tables in and out",
                "n_subscriptions",
                "us",
                "µs an event",
                series=line("granularity"),
            ),
        ),
    ),
)  # fmt: skip
