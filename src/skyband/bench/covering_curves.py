"""What curves make of regions: their order of the points for a search, their runs of a square, and standard cubes.

The exact search by corners looks at the corners of nodes and at no key, so any order of the points makes a tree for it;
their order of arrival is there for comparison. The queries are those of the benchmark `covering`. Ratios are of times.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from skyband.bench.covering_data import CoveringSetting, draw, on_curve, queries
from skyband.bench.experiment import Progress
from skyband.bench.row import Row, measured
from skyband.bench.runner import Taken, WrongAnswer, race, time_in_turn
from skyband.covering.kernels.cells import Axes
from skyband.covering.kernels.corners import LOOKED, NONE, find_covers, make_descent
from skyband.covering.kernels.cubes import n_cubes, rectangles, runs
from skyband.covering.kernels.curve import Cells, Words, keys_of, order_of
from skyband.covering.kernels.hilbert import hilbert_keys
from skyband.covering.kernels.sfc import SFCArray
from skyband.covering.kernels.sfcbuild import build
from skyband.kernels.array import Floats, Int64s

CURVES: dict[str, Callable[[Cells, int], Words]] = {"Z": keys_of, "Hilbert": hilbert_keys}
ORDERS: dict[str, Callable[[Cells, int], Int64s]] = {
    "Z": lambda cells, bits: order_of(keys_of(cells, bits)),
    "Hilbert": lambda cells, bits: order_of(hilbert_keys(cells, bits)),
    "arrival": lambda cells, bits: np.arange(len(cells)),
}
# The region of Figures 5 and 6, and what Figure 6 has for its cubes of side 1, in any order.
LENGTHS, LENGTH_BITS = (7, 5), 3
OF_SIDE_1 = {(0, 2), (1, 0), (2, 0), (0, 0)}


class Orders(NamedTuple):
    """The data, queries and rounds; and the most subscriptions that are searched in their order of arrival."""

    setting: CoveringSetting
    n_queries: int
    n_rounds: int
    most: int = 100_000


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


def compare_orders(orders: Orders, progress: Progress) -> Iterator[Row]:
    """The orders turn and turn about."""
    setting = orders.setting
    progress(setting.label)
    data = draw(setting, orders.n_queries)
    roots = on_curve(data)
    asked = queries(data, roots)
    cells, axes = roots.grid.cells(data.points), roots.grid.axes
    looking = dict[str, Looking]()
    for name, order in ORDERS.items():
        if name != "arrival" or setting.n <= orders.most:
            slots = order(cells, setting.bits)
            looking[name] = Looking(build(cells[slots], slots, setting.bits), axes, data.points, asked)
    yield from _rows(setting, looking, len(asked), orders.n_rounds)


def _rows(setting: CoveringSetting, looking: dict[str, Looking], n: int, n_rounds: int) -> list[Row]:
    n_nodes = dict[str, float]()
    for name, each in looking.items():
        each.find(0)
        n_nodes[name] = each.n_nodes / n
        if not np.array_equal(each.found == NONE, looking["Z"].found == NONE):
            raise WrongAnswer(f"{setting.label}: the answers along {name} differ.")

    def measures(name: str, taken: Taken) -> dict[str, float]:
        spent = float(np.median(taken[name]))
        return {
            "nodes": n_nodes[name],
            "fewer": n_nodes[name] / n_nodes["Z"],
            "batch_us": spent / n / 1e3,
            "ratio": spent / float(np.median(taken["Z"])),
            "covered": float((looking["Z"].found != NONE).mean()),
        }

    calls = {name: each.find for name, each in looking.items()}
    return race(setting.label, calls, n_rounds, n, setting.parameters | {"n_queries": n}, measures)


class Square(NamedTuple):
    """A square at the universe's highest corner, as the regions of queries are, and the bits of the universe."""

    side: int
    bits: int


def count_runs(square: Square, progress: Progress) -> Iterator[Row]:
    """The runs of both curves, from the keys of all cells; those of the Z curve are as many as its cubes join to."""
    side, bits = square
    progress(f"{side} x {side}")
    stretch = np.arange((1 << bits) - side, 1 << bits)
    cells = np.stack(np.meshgrid(stretch, stretch), axis=2).reshape(-1, 2)
    cubes, n_runs = sum(n_cubes(np.array([side, side]))), dict[str, int]()
    for curve, keys in CURVES.items():
        taken = time_in_turn({curve: partial(_runs, keys, cells, bits)}, 1)[curve]
        lengths = _runs(keys, cells, bits, 0)
        n_runs[curve] = len(lengths)
        if curve == "Z" and len(lengths) != runs(np.array([side, side]), bits):
            raise WrongAnswer(f"{side} x {side}: cubes do not join to the runs that the cells have.")
        measures = {
            "runs": float(len(lengths)),
            "ratio": len(lengths) / n_runs["Z"],
            "largest": lengths.max() / len(cells),
        }
        measures |= {"cubes": float(cubes), "joined": len(lengths) / cubes} if curve == "Z" else {}
        yield measured(f"{side}", curve, {"side": side, "bits": bits}, taken, len(cells), measures)


def _runs(keys: Callable[[Cells, int], Words], cells: Cells, bits: int, turn: int) -> Int64s:
    """How many cells each run has; keys fit into one word."""
    along = np.sort(keys(cells, bits)[:, 0])
    ends = np.flatnonzero(np.diff(along) != 1) + 1
    return np.diff(np.concatenate([[0], ends, [len(along)]]))


def divide_region(lengths: tuple[int, ...], progress: Progress) -> Iterator[Row]:
    """The region, and then the rectangles of each D_i, largest cubes first; ratios are of the cells."""
    sides = np.array(lengths)
    numbers = n_cubes(sides)
    found = {i: rectangles(sides, LENGTH_BITS, i) for i in reversed(range(len(numbers)))}
    if set(found[0]) != OF_SIDE_1:
        raise WrongAnswer(f"The rectangles of D_0 are {found[0]}.")
    contest = _shape(lengths)
    progress(contest)
    taken = time_in_turn({"all": lambda turn: [rectangles(sides, LENGTH_BITS, i) for i in found]}, 3)["all"]
    n_rectangles = sum(map(len, found.values()))

    def row(name: str, given: dict[str, str], n: int, n_cells: int) -> Row:
        measures = {"cubes": float(n), "cells": float(n_cells), "ratio": n_cells / prod(lengths)}
        return measured(contest, name, given, taken, n_rectangles, measures)

    yield row("region", {"shape": contest, "r": "", "paper": ""}, sum(numbers), prod(lengths))
    for i, vectors in found.items():
        for r in vectors:
            n = prod(1 << (place - i) for place in r)
            shape = _shape(tuple(1 << place for place in r))
            yield row(f"D_{i}", {"shape": shape, "r": str(r), "paper": "yes" if i == 0 else ""}, n, n << (i * len(r)))


def _shape(lengths: tuple[int, ...]) -> str:
    return " x ".join(map(str, lengths))
