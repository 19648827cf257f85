"""The Z curve against the Hilbert curve: what the order of the points does for the exact search by corners.

That search looks at the corners of nodes and at no key, so any order of the points makes a tree for it; their order of
arrival is there for comparison. The queries are those of the benchmark `covering`. Ratios are of the times.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.covering_data import LARGE, Setting, draw, on_curve, queries, sized
from skyband.bench.covering_view import ASKED, ATTRIBUTES, BATCH, DATA, RATIO, SIDES
from skyband.bench.row import Row, measured
from skyband.bench.view import SUBSCRIPTIONS, plot, share, shown
from skyband.covering.kernels.cells import Axes
from skyband.covering.kernels.corners import LOOKED, NONE, find_covers, make_descent
from skyband.covering.kernels.curve import Cells, keys_of, order_of
from skyband.covering.kernels.hilbert import hilbert_keys
from skyband.covering.kernels.sfc import SFCArray
from skyband.covering.kernels.sfcbuild import build
from skyband.kernels.array import Floats, Int64s

ORDERS: dict[str, Callable[[Cells, int], Int64s]] = {
    "Z": lambda cells, bits: order_of(keys_of(cells, bits)),
    "Hilbert": lambda cells, bits: order_of(hilbert_keys(cells, bits)),
    "arrival": lambda cells, bits: np.arange(len(cells)),
}


class Plan(NamedTuple):
    """The data, queries and rounds; and the most subscriptions that are searched in their order of arrival."""

    settings: tuple[Setting, ...]
    n_queries: int
    n_rounds: int
    most: int = 100_000


KINDS = (Setting(0, 2), Setting(0, 4), Setting(0, 8), Setting(0, 4, "clustered"), Setting(0, 4, sides=LARGE))
PLANS: dict[Size, Plan] = {
    "toy": Plan((Setting(60, 2, bits=6),), 6, 1),
    "small": Plan(sized(KINDS, 10_000, 100_000, 1_000_000), 1_000, 41, most=10_000),
    "full": Plan(sized(KINDS, 10_000, 100_000, 1_000_000, 5_000_000), 5_000, 41),
}


class Looking:
    """The search by corners in one array."""

    def __init__(self, array: SFCArray, axes: Axes, points: Floats, asked: Floats) -> None:
        self._given = (array, axes, points, asked)
        self._descent = make_descent()
        self.found = np.empty(len(asked), np.int64)

    def find(self, turn: int) -> None:
        """Find what covers each query."""
        find_covers(*self._given, self._descent, self.found)

    @property
    def n_nodes(self) -> int:
        """How many nodes were looked at in all."""
        return int(self._descent.state[LOOKED])


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """The orders turn and turn about."""
    plan = PLANS[size]
    for setting in plan.settings:
        progress(setting.label)
        data = draw(setting, plan.n_queries)
        roots = on_curve(data)
        asked = queries(data, roots)
        cells, axes = roots.grid.cells(data.points), roots.grid.axes
        looking = dict[str, Looking]()
        for name, order in ORDERS.items():
            if name != "arrival" or setting.n <= plan.most:
                slots = order(cells, setting.bits)
                looking[name] = Looking(build(cells[slots], slots, setting.bits), axes, data.points, asked)
        yield from _rows(setting, looking, len(asked), plan.n_rounds)


def _rows(setting: Setting, looking: dict[str, Looking], n: int, n_rounds: int) -> Iterator[Row]:
    n_nodes = dict[str, float]()
    for name, each in looking.items():
        each.find(0)
        n_nodes[name] = each.n_nodes / n
        if not np.array_equal(each.found == NONE, looking["Z"].found == NONE):
            raise WrongAnswer(f"{setting.label}: the answers along {name} differ.")
    calls: dict[str, Callable[[int], Any]] = {name: each.find for name, each in looking.items()}
    taken = time_in_turn(calls, n_rounds)
    for name, own in taken.items():
        spent = float(np.median(own))
        measures = {
            "nodes": n_nodes[name],
            "fewer": n_nodes[name] / n_nodes["Z"],
            "batch_us": spent / n / 1e3,
            "ratio": spent / float(np.median(taken["Z"])),
            "covered": float((looking["Z"].found != NONE).mean()),
        }
        yield measured(setting.label, name, setting.parameters | {"n_queries": n}, own, n, measures)


def _uniform(row: Row) -> bool:
    return bool(row["parameters"]["data"] == "uniform")


def _series(row: Row) -> str:
    given = row["parameters"]
    return f"{row['algorithm']}, {given['attributes']} attributes, {given['sides']}"


BENCHMARK = Benchmark(
    name="covering-curves",
    summary="The Z curve against the Hilbert curve, for the exact search by corners: nodes looked at, and time.",
    measure=measure,
    columns=(
        SUBSCRIPTIONS,
        Column("order", lambda row, first: row["algorithm"]),
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
        plot("nodes", "Nodes that a query looks at, uniform", "n_subscriptions", "nodes", "nodes", _uniform, _series),
    ),
)
