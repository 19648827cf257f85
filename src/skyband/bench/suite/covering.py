"""The experiments of the covering paper, and those that it leaves open: searches, curves, and what is not found.

Half of the queries of the searches are drawn like the subscriptions, and half are boxes that just fail to be covered,
which are the hardest. Exact searches answer all of them; the paper's answers those that it can answer with so many
probes. Ratios are to `corners` on the same queries, in batches.
"""

from collections.abc import Iterator

from skyband.bench.covering_contest import CoveringEffort, compare
from skyband.bench.covering_curves import LENGTHS, Orders, Square, compare_orders, count_runs, divide_region
from skyband.bench.covering_data import LARGE, SMALL, CoveringSetting, sized
from skyband.bench.covering_recall import RecallPlan, recall
from skyband.bench.covering_speedup import RegionCase, SpeedupPlan, speed_up
from skyband.bench.experiment import AnyExperiment, Experiment, Progress, Size
from skyband.bench.row import Row
from skyband.bench.view import (
    DATA,
    SUBSCRIPTIONS,
    algorithm,
    beside,
    computed,
    described,
    given,
    plot,
    share,
    shown,
    where,
)

SEARCH, ATTRIBUTES, SIDES = algorithm("search"), given("attributes"), given("sides")
ABOUT = (SUBSCRIPTIONS, SEARCH, ATTRIBUTES, DATA, SIDES)
RATIO = shown("ratio", "ratio")
BATCH = shown("µs in a batch", "batch_us")
ASKED = computed("queries asked", lambda row: row["n_operations"])

# Few bits where the paper's search takes part: with 16 of them most regions have more cubes than can be searched.
FOUR = (CoveringSetting(0, 2), CoveringSetting(0, 4), CoveringSetting(0, 8), CoveringSetting(0, 4, "clustered"))
SEARCHED = (*FOUR, CoveringSetting(0, 4, "zipfian"), CoveringSetting(0, 4, sides=LARGE))
ORDERED = (*FOUR, CoveringSetting(0, 4, sides=LARGE))
RECALLED = sized(
    (
        CoveringSetting(0, 2, bits=8),
        CoveringSetting(0, 2, "clustered", bits=8),
        CoveringSetting(0, 2, "zipfian", bits=8),
        CoveringSetting(0, 2, sides=LARGE, bits=8),
        CoveringSetting(0, 4, bits=6),
    ),
    *(1_000, 10_000, 100_000, 1_000_000),
)
SQUARES = tuple(Square(side, 9) for side in range(255, 261))
RUNS = {("Z", 256): 1.0, ("Z", 257): 385.0}
# By dimensions and coverage, for any aspect ratio (section 6).
SPEED_UPS = {(4, 0.7): 500.0, (4, 0.9): 20.0, (8, 0.75): 3.0}


def _compare(point: tuple[CoveringSetting, CoveringEffort], progress: Progress) -> Iterator[Row]:
    setting, effort = point
    return compare(setting, effort, progress)


def _usual(row: Row) -> bool:
    """Uniform data with four attributes and small sides; at size toy what there is."""
    small = f"{SMALL[0]:g} to {SMALL[1]:g}"
    return row["size"] == "toy" or where(attributes=4, data="uniform", sides=small)(row)


def _held(row: Row) -> str:
    found = row["parameters"]
    return f"{found['held']}, {found['held_side']} of {1 << found['bits']}"


def _order(row: Row) -> str:
    found = row["parameters"]
    return f"{row['algorithm']}, {found['attributes']} attributes, {found['sides']}"


def _recalled(row: Row) -> str:
    found = row["parameters"]
    return f"{found['n_subscriptions']:,} {found['data']}, {found['attributes']} attributes, {found['sides']}"


def _region(row: Row) -> str:
    return f"aspect ratio {row['parameters']['aspect']}, {row['parameters']['held']} side held"


def speed_up_figure(
    figure: int, plans: dict[Size, SpeedupPlan]
) -> Experiment[SpeedupPlan, tuple[SpeedupPlan, RegionCase]]:
    """Figures 7 to 9: speed-up of approximate over exhaustive search by coverage."""
    dims = 2 * plans["full"].attributes

    def largest(row: Row) -> bool:
        sides = plans[row["size"]].sides if row["parameters"]["held"] == "shortest" else plans[row["size"]].longest
        return "coverage" in row["parameters"] and row["parameters"]["held_side"] == max(sides)

    def measure(point: tuple[SpeedupPlan, RegionCase], progress: Progress) -> Iterator[Row]:
        return speed_up(*point, progress)

    return Experiment(
        name=f"covering-figure{figure}",
        summary=f"Figure {figure} of the covering paper: speed-up of approximate search in {dims} dimensions.",
        scales=plans,
        sweep=lambda plan: ((plan, case) for case in plan.cases()),
        measure=measure,
        columns=(
            described("side held", _held),
            SEARCH,
            given("aspect ratio", "aspect"),
            RATIO,
            *beside("speed-up", "ratio", _paper_speed_up)[1:],
            shown("1 / coverage", "inverse"),
            shown("speed-up in probes", "fewer"),
            shown("probes, nodes or leaves", "steps"),
            shown("µs a query", "us"),
            ASKED,
        ),
        plots=tuple(
            plot(name, f"Figure {figure}: {name}, d = {dims}", "coverage", y, label, of=largest, series=_region)
            for name, y, label in (("speed-up", "ratio", "speed-up"), ("time", "us", "µs a query"))
        ),
    )


def _paper_speed_up(row: Row) -> float | None:
    return SPEED_UPS.get((row["parameters"]["dims"], row["parameters"].get("coverage", 1.0)))


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="covering",
        summary="Searches for a covering subscription side by side: time, steps, updates, build and bytes.",
        scales={
            "toy": [
                (CoveringSetting(60, 2, sides=LARGE, bits=5), CoveringEffort(12, 1, 4, 0.01, 200, 400, (0.7, 0.5)))
            ],
            "small": [
                (each, CoveringEffort(1_000, 3, 1_000, 0.3, 1_000_000, 4_000_000))
                for each in sized(SEARCHED, 10_000, 100_000, 1_000_000)
            ],
            "full": [
                (each, CoveringEffort(2_000, 5, 2_000, 1.0, 10_000_000, 20_000_000))
                for each in sized(SEARCHED, 10_000, 100_000, 1_000_000, 5_000_000)
            ],
        },
        sweep=iter,
        measure=_compare,
        columns=(
            *ABOUT,
            shown("probes, nodes, leaves or rows", "steps"),
            BATCH,
            RATIO,
            shown("µs a query", "single_us"),
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
            plot("time", "A query in a batch, 4 attributes", "n_subscriptions", "batch_us", "µs a query", of=_usual),
            plot(
                "steps", "Probes, nodes, leaves or rows, 4 attributes", "n_subscriptions", "steps", "steps", of=_usual
            ),
        ),
    ),
    Experiment(
        name="covering-curves",
        summary="The Z curve against the Hilbert curve, for the exact search by corners: nodes looked at, and time.",
        scales={
            "toy": [Orders(CoveringSetting(60, 2, bits=6), 6, 1)],
            "small": [Orders(each, 1_000, 41, most=10_000) for each in sized(ORDERED, 10_000, 100_000, 1_000_000)],
            "full": [Orders(each, 5_000, 41) for each in sized(ORDERED, 10_000, 100_000, 1_000_000, 5_000_000)],
        },
        sweep=iter,
        measure=compare_orders,
        columns=(
            SUBSCRIPTIONS,
            algorithm("order"),
            ATTRIBUTES,
            DATA,
            SIDES,
            shown("nodes a query", "nodes"),
            shown("nodes, in multiples of Z", "fewer"),
            BATCH,
            RATIO,
            share("covered", "covered"),
            ASKED,
        ),
        plots=(
            plot(
                "nodes",
                "Nodes that a query looks at, uniform",
                "n_subscriptions",
                "nodes",
                "nodes",
                of=where(data="uniform"),
                series=_order,
            ),
        ),
    ),
    Experiment(
        name="covering-figure2",
        summary="Figure 2 of the covering paper: runs of a curve for squares about as large as a standard cube.",
        scales={"toy": [Square(side, 5) for side in (15, 16, 17)], "small": SQUARES, "full": SQUARES},
        sweep=iter,
        measure=count_runs,
        columns=(
            given("side"),
            algorithm("curve"),
            *beside("runs", "runs", lambda row: RUNS.get((row["algorithm"], row["parameters"]["side"]))),
            RATIO,
            shown("standard cubes", "cubes"),
            shown("runs / cubes", "joined"),
            share("largest run", "largest"),
        ),
        plots=(plot("runs", "Figure 2: runs of a square", "side", "runs", "runs"),),
    ),
    Experiment(
        name="covering-figure5",
        summary="Figures 5 and 6 of the covering paper: "
        "the rectangles of the region 7 x 5, by the size of their cubes.",
        scales=dict.fromkeys(("toy", "small", "full"), (LENGTHS,)),
        sweep=iter,
        measure=divide_region,
        columns=(
            algorithm("part"),
            given("rectangle", "shape"),
            given("r"),
            given("in Figure 6", "paper"),
            shown("cubes", "cubes"),
            shown("cells", "cells"),
            RATIO,
        ),
        plots=(plot("cells", "Figure 5: cells by rectangle", "shape", "cells", "cells"),),
    ),
    speed_up_figure(
        7,
        {
            "toy": SpeedupPlan(2, (2,), (0, 1), 3, 30, 1_000, (0.9, 0.5), 1, longest=(2,)),
            "small": SpeedupPlan(2, (16, 32, 64), (0, 1, 2), 20, 10_000, 3_000_000, longest=(64,)),
            "full": SpeedupPlan(2, (16, 32, 64), (0, 1, 2), 50, 10_000, 20_000_000, longest=(64,)),
        },
    ),
    speed_up_figure(
        8,
        {
            "toy": SpeedupPlan(3, (2,), (0,), 2, 30, 1_000, (0.9, 0.5), 1, longest=(2,)),
            "small": SpeedupPlan(3, (4, 8), (0, 1, 2), 20, 10_000, 4_000_000, longest=(8,)),
            "full": SpeedupPlan(3, (4, 8), (0, 1, 2), 50, 10_000, 50_000_000, longest=(8,)),
        },
    ),
    speed_up_figure(
        9,
        {
            "toy": SpeedupPlan(4, (1,), (0, 1), 2, 20, 1_000, (0.9, 0.5), 1, longest=(2,)),
            "small": SpeedupPlan(4, (2, 4), (0, 1, 2), 10, 10_000, 15_000_000, longest=(8,)),
            "full": SpeedupPlan(4, (2, 4, 6), (0, 1, 2), 50, 10_000, 50_000_000, longest=(8,)),
        },
    ),
    Experiment(
        name="covering-recall",
        summary="How much covering the paper's search misses, and how much longer its routing tables are, by coverage.",
        scales={
            "toy": [RecallPlan(CoveringSetting(40, 2, sides=LARGE, bits=5), 8, (0.5, 0.1), 50, 40, 1.0)],
            "small": [RecallPlan(each, 200, (0.5, 0.3, 0.1, 0.05), 200_000, 10_000, 15.0) for each in RECALLED],
            "full": [
                RecallPlan(each, 1_000, (0.5, 0.3, 0.2, 0.1, 0.05, 0.01), 200_000, 1_000_000, 100.0)
                for each in RECALLED
            ],
        },
        sweep=iter,
        measure=recall,
        columns=(
            *ABOUT,
            share("found", "recall"),
            share("found among roots", "recall_roots"),
            share("gave up", "given_up"),
            share("never give up", "within"),
            share("found of these", "recall_within"),
            shown("nodes or probes", "steps"),
            shown("µs a query", "us"),
            RATIO,
            ASKED,
            share("placed", "placed"),
            shown("in the table", "roots"),
            shown("of exact table", "longer"),
            shown("µs to place one", "place_us"),
        ),
        plots=(
            plot(
                "found",
                "Covering that is found among the roots",
                "epsilon",
                "recall_roots",
                "share",
                of=lambda row: "epsilon" in row["parameters"],
                series=_recalled,
            ),
        ),
    ),
)
