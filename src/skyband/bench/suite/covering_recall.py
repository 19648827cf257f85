"""How much covering the paper's search misses, which the paper leaves open, and what that makes of a routing table.

Queries are drawn like the subscriptions and are all covered. They are asked among all subscriptions, and among the ones
that no other covers, as a broker keeps them. Then a table is made: the subscriptions are placed one by one, in an order
where whatever covers another comes before it, and those that are not found covered stay in it. Since a thin region has
more cubes than can be searched, a search gives up after a number of probes, and placing ends with the time allowed; the
table is then compared with the exact one of as many subscriptions. Where there are too many, only the exact table is
made. Ratios are of the time of a query.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from skyband.bench.benchmark import Benchmark, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.covering_cost import Limited, lengths_of, n_probes
from skyband.bench.covering_data import LARGE, Setting, covers, draw, on_curve, sized
from skyband.bench.covering_table import Table, empty, placed, table_measures
from skyband.bench.covering_view import ABOUT, ASKED, RATIO
from skyband.bench.row import Row, measured
from skyband.bench.view import plot, share, shown
from skyband.covering.kernels.corners import NONE
from skyband.covering.search import Corners, Search
from skyband.kernels.array import Bools, Floats, Int64s


class Plan(NamedTuple):
    """The data, how many queries are drawn, the ε, probes of a search, and what may be placed in how many seconds."""

    settings: tuple[Setting, ...]
    n_queries: int
    epsilons: tuple[float, ...]
    most: int
    most_placed: int
    budget: float


# Coordinates of few bits: with 16 of them most regions have more cubes than can be searched.
BITS = 8
KINDS = (
    Setting(0, 2, bits=BITS),
    Setting(0, 2, "clustered", bits=BITS),
    Setting(0, 2, "zipfian", bits=BITS),
    Setting(0, 2, sides=LARGE, bits=BITS),
    Setting(0, 4, bits=6),
)
ALL = sized(KINDS, 1_000, 10_000, 100_000, 1_000_000)
PLANS: dict[Size, Plan] = {
    "toy": Plan((Setting(40, 2, sides=LARGE, bits=5),), 8, (0.5, 0.1), 50, 40, 1.0),
    "small": Plan(ALL, 200, (0.5, 0.3, 0.1, 0.05), 200_000, 10_000, 15.0),
    "full": Plan(ALL, 1_000, (0.5, 0.3, 0.2, 0.1, 0.05, 0.01), 200_000, 1_000_000, 100.0),
}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Exact search, and the paper's for each ε."""
    plan = PLANS[size]
    for setting in plan.settings:
        progress(setting.label)
        data = draw(setting, plan.n_queries)
        everyone = on_curve(data)
        exact = Corners(everyone)
        asked = data.others[exact.find(data.others) != NONE]
        order = empty(data).descending(np.arange(setting.n))
        # Compiled before it is timed.
        for search in (Corners(empty(data)), Limited(empty(data), 0.5, 1)):
            placed(search, order[:2], np.inf)
        reference = placed(Corners(empty(data)), order, np.inf)
        yield _row(setting, exact, exact, Corners(reference.roots), reference, reference, asked)
        for epsilon in plan.epsilons:
            own = [Limited(roots, epsilon, plan.most) for roots in (everyone, reference.roots, empty(data))]
            table = placed(own[2], order, plan.budget) if setting.n <= plan.most_placed else None
            yield _row(setting, exact, own[0], own[1], table, reference, asked)


def _row(
    setting: Setting,
    exact: Search,
    search: Search,
    among_roots: Search,
    table: Table | None,
    reference: Table,
    asked: Floats,
) -> Row:
    before = search.cost
    found = _found(search, asked)
    measures = {"recall": float(found.mean()), "recall_roots": float(_found(among_roots, asked).mean())}
    measures["steps"] = (search.cost - before) / len(asked)
    name, parameters = "corners", setting.parameters | {"n_queries": len(asked)}
    if isinstance(search, Limited):
        measures["given_up"] = search.n_given_up / search.n_searches
        measures |= _within(search, asked, found)
        name, parameters = f"greedy {1 - search.epsilon:.0%}", parameters | {"epsilon": search.epsilon}
    # The exact search takes microseconds for all queries, the other seconds.
    firsts = time_in_turn({"first": partial(_find, exact, asked)}, 15)["first"]
    taken = firsts if search is exact else time_in_turn({"own": partial(_find, search, asked)}, 1, n_warm=0)["own"]
    measures["us"] = float(np.median(taken)) / len(asked) / 1e3
    measures["ratio"] = float(np.median(taken) / np.median(firsts))
    if table is not None:
        measures |= table_measures(table, reference)
    return measured(setting.label, name, parameters, taken, len(asked), measures)


def _found(search: Search, asked: Floats) -> Bools:
    """For which queries, all of them covered, a covering subscription is found."""
    found = search.find(asked)
    if not covers(search.roots.points, found, asked)[found != NONE].all():
        raise WrongAnswer("What was found does not cover the query.")
    return np.asarray(found != NONE)


def _within(search: Limited, asked: Floats, found: Bools) -> dict[str, float]:
    """The share of queries for which the search gives up in no case, and what it finds of these."""
    coverage = 1.0 - search.epsilon
    within = np.array([n_probes(sides, coverage) <= search.most for sides in lengths_of(asked, search.roots)])
    return {"within": float(within.mean())} | ({"recall_within": float(found[within].mean())} if within.any() else {})


def _find(search: Search, asked: Floats, turn: int) -> Int64s:
    return search.find(asked)


def _series(row: Row) -> str:
    given = row["parameters"]
    return f"{given['n_subscriptions']:,} {given['data']}, {given['attributes']} attributes, {given['sides']}"


BENCHMARK = Benchmark(
    name="covering-recall",
    summary="How much covering the paper's search misses, and how much longer its routing tables are, by coverage.",
    measure=measure,
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
            lambda row: "epsilon" in row["parameters"],
            _series,
        ),
    ),
)
