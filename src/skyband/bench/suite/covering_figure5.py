"""Figures 5 and 6 of the covering paper: the rectangles that standard cubes of one size make up, for the region 7 x 5.

Ratios are of the cells: those of a rectangle to those of the region.
"""

from collections.abc import Iterator
from math import prod

import numpy as np

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.covering_view import RATIO
from skyband.bench.row import Row, measured
from skyband.bench.view import given, plot, shown
from skyband.covering.kernels.cubes import n_cubes, rectangles

LENGTHS = (7, 5)
BITS = 3
# What Figure 6 has for the cubes of side 1, in any order.
PAPER = {(0, 2), (1, 0), (2, 0), (0, 0)}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """The region, and then the rectangles of each D_i, largest cubes first."""
    sides = np.array(LENGTHS)
    numbers = n_cubes(sides)
    found = {i: rectangles(sides, BITS, i) for i in reversed(range(len(numbers)))}
    if set(found[0]) != PAPER:
        raise WrongAnswer(f"The rectangles of D_0 are {found[0]}.")
    contest = " x ".join(map(str, LENGTHS))
    progress(contest)
    taken = time_in_turn({"all": lambda turn: [rectangles(sides, BITS, i) for i in found]}, 3)["all"]
    n_all, n_rectangles = sum(numbers), sum(map(len, found.values()))
    yield measured(contest, "region", _shape(LENGTHS), taken, n_rectangles, _measures(n_all, prod(LENGTHS)))
    for i, vectors in found.items():
        for r in vectors:
            n = prod(1 << (place - i) for place in r)
            given = _shape(tuple(1 << place for place in r)) | {"r": str(r), "paper": "yes" if i == 0 else ""}
            yield measured(contest, f"D_{i}", given, taken, n_rectangles, _measures(n, n << (i * len(r))))


def _shape(lengths: tuple[int, ...]) -> dict[str, str]:
    return {"shape": " x ".join(map(str, lengths)), "r": "", "paper": ""}


def _measures(n: int, n_cells: int) -> dict[str, float]:
    return {"cubes": float(n), "cells": float(n_cells), "ratio": n_cells / prod(LENGTHS)}


BENCHMARK = Benchmark(
    name="covering-figure5",
    summary="Figures 5 and 6 of the covering paper: the rectangles of the region 7 x 5, by the size of their cubes.",
    measure=measure,
    columns=(
        Column("part", lambda row, first: row["algorithm"]),
        given("rectangle", "shape"),
        given("r", "r"),
        given("in Figure 6", "paper"),
        shown("cubes", "cubes"),
        shown("cells", "cells"),
        RATIO,
    ),
    plots=(plot("cells", "Figure 5: cells by rectangle", "shape", "cells", "cells"),),
)
