"""How much covering the paper's search misses, which the paper leaves open, and what that makes of a routing table.

Queries are drawn like the subscriptions and are all covered. They are asked among all subscriptions, and among the ones
that no other covers, as a broker keeps them. Then a table is made: the subscriptions are placed one by one, in an order
where whatever covers another comes before it, and those that are not found covered stay in it. Since a thin region has
more cubes than can be searched, a search gives up after a number of probes, and placing ends with the time allowed; the
table is then compared with the exact one of as many subscriptions. Where there are too many, only the exact table is
made. Ratios are of the time of a query.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from skyband.bench.covering_data import CoveringData, CoveringSetting, covers, draw, lengths_of, n_probes, on_curve
from skyband.bench.experiment import Progress
from skyband.bench.row import Row, measured
from skyband.bench.runner import WrongAnswer, time_in_turn
from skyband.covering.kernels.corners import NONE
from skyband.covering.kernels.greedy import PAUSED, PROBES, search_greedily, start_hunt
from skyband.covering.roots import Roots
from skyband.covering.search import Corners, Greedy, Search
from skyband.kernels.array import Bools, Floats, Int64s

# So many subscriptions are placed between two looks at the clock.
AT_ONCE = 200


class Limited(Greedy):
    """The paper's search, which gives up after so many probes and has found nothing then."""

    name = "limited"

    def __init__(self, roots: Roots, epsilon: float, most: int) -> None:
        super().__init__(roots, epsilon)
        self.most = most
        self.n_searches = 0
        self.n_given_up = 0

    def find(self, points: Floats) -> Int64s:
        found = np.empty(len(points), np.int64)
        for i, lengths in enumerate(lengths_of(points, self.roots)):
            start_hunt(lengths, self._hunt)
            found[i] = search_greedily(self.roots.curve.array, self._hunt, self.epsilon, self.most)
            self._n_probes += int(self._hunt.tally[PROBES])
        self.n_searches += len(points)
        self.n_given_up += int((found == PAUSED).sum())
        found[found == PAUSED] = NONE
        return found


class Table(NamedTuple):
    """A routing table: for each subscription that was placed, in order, whether it stayed; and the seconds it took."""

    roots: Roots
    stayed: Bools
    seconds: float


def empty(data: CoveringData) -> Roots:
    """All subscriptions as members, and no roots."""
    roots = Roots(data.setting.domains, data.setting.bits)
    roots.store(np.arange(len(data.points)), data.points)
    return roots


def placed(search: Search, slots: Int64s, budget: float) -> Table:
    """Place subscriptions until all are, or so many seconds have passed."""
    start, stayed, done = time.perf_counter(), list[Bools](), 0
    at_once = AT_ONCE if np.isfinite(budget) else len(slots)
    while not done or (done < len(slots) and time.perf_counter() - start < budget):
        stayed.append(search.place(slots[done : done + at_once], demoting=False).parents == NONE)
        done += at_once
    return Table(search.roots, np.concatenate(stayed), time.perf_counter() - start)


def table_measures(table: Table, reference: Table) -> dict[str, float]:
    """The table in multiples of the exact one, which may have had more placed."""
    n, n_stayed = len(table.stayed), float(table.stayed.sum())
    return {
        "roots": n_stayed,
        "longer": n_stayed / float(reference.stayed[:n].sum()),
        "placed": n / len(reference.stayed),
        "place_us": table.seconds / n * 1e6,
    }


class RecallPlan(NamedTuple):
    """The data, how many queries are drawn, the ε, probes of a search, and what may be placed in how many seconds."""

    setting: CoveringSetting
    n_queries: int
    epsilons: tuple[float, ...]
    most: int
    most_placed: int
    budget: float


def recall(hunt: RecallPlan, progress: Progress) -> Iterator[Row]:
    """Exact search, and the paper's for each ε."""
    setting = hunt.setting
    progress(setting.label)
    data = draw(setting, hunt.n_queries)
    everyone = on_curve(data)
    exact = Corners(everyone)
    asked = data.others[exact.find(data.others) != NONE]
    order = empty(data).descending(np.arange(setting.n))
    # Compiled before it is timed.
    for search in (Corners(empty(data)), Limited(empty(data), 0.5, 1)):
        placed(search, order[:2], np.inf)
    reference = placed(Corners(empty(data)), order, np.inf)
    yield _row(setting, exact, exact, Corners(reference.roots), reference, reference, asked)
    for epsilon in hunt.epsilons:
        own = [Limited(roots, epsilon, hunt.most) for roots in (everyone, reference.roots, empty(data))]
        table = placed(own[2], order, hunt.budget) if setting.n <= hunt.most_placed else None
        yield _row(setting, exact, own[0], own[1], table, reference, asked)


def _row(
    setting: CoveringSetting,
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
