"""Figure 2 of the covering paper: how many runs of a curve a square is, along the Z curve and the Hilbert curve.

Squares share the universe's highest corner, as the regions of queries do. The runs of both curves are counted from the
keys of all cells; those of the Z curve must be as many as its standard cubes join to. Ratios are of the runs.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.covering_view import RATIO
from skyband.bench.painting_view import beside
from skyband.bench.row import Row, measured
from skyband.bench.view import given, plot, share, shown
from skyband.covering.kernels.cubes import n_cubes, runs
from skyband.covering.kernels.curve import Cells, Words, keys_of
from skyband.covering.kernels.hilbert import hilbert_keys
from skyband.kernels.array import Int64s


class Plan(NamedTuple):
    """The squares by their sides, and the bits of the universe."""

    sides: tuple[int, ...]
    bits: int


FIGURE = Plan(tuple(range(255, 261)), 9)
PLANS: dict[Size, Plan] = {"toy": Plan((15, 16, 17), 5), "small": FIGURE, "full": FIGURE}
PAPER = {("Z", 256): 1.0, ("Z", 257): 385.0}
CURVES: dict[str, Callable[[Cells, int], Words]] = {"Z": keys_of, "Hilbert": hilbert_keys}


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Both curves for each square."""
    sides, bits = PLANS[size]
    for side in sides:
        progress(f"{side} x {side}")
        stretch = np.arange((1 << bits) - side, 1 << bits)
        cells = np.stack(np.meshgrid(stretch, stretch), axis=2).reshape(-1, 2)
        cubes, n_runs = sum(n_cubes(np.array([side, side]))), dict[str, int]()
        for curve, keys in CURVES.items():
            taken = time_in_turn({curve: partial(_count, keys, cells, bits)}, 1)[curve]
            lengths = _count(keys, cells, bits, 0)
            n_runs[curve] = len(lengths)
            if curve == "Z" and len(lengths) != runs(np.array([side, side]), bits):
                raise WrongAnswer(f"{side} x {side}: cubes do not join to the runs that the cells have.")
            measures = {
                "runs": float(len(lengths)),
                "ratio": len(lengths) / n_runs["Z"],
                "largest": lengths.max() / len(cells),
            }
            measures |= {"cubes": float(cubes), "joined": len(lengths) / cubes} if curve == "Z" else {}
            given = {"side": side, "bits": bits}
            yield measured(f"{side}", curve, given, taken, len(cells), measures)


def _count(keys: Callable[[Cells, int], Words], cells: Cells, bits: int, turn: int) -> Int64s:
    """How many cells each run has; keys fit into one word."""
    along = np.sort(keys(cells, bits)[:, 0])
    ends = np.flatnonzero(np.diff(along) != 1) + 1
    return np.diff(np.concatenate([[0], ends, [len(along)]]))


def _paper(row: Row) -> float | None:
    return PAPER.get((row["algorithm"], row["parameters"]["side"]))


BENCHMARK = Benchmark(
    name="covering-figure2",
    summary="Figure 2 of the covering paper: runs of a curve for squares about as large as a standard cube.",
    measure=measure,
    columns=(
        given("side", "side"),
        Column("curve", lambda row, first: row["algorithm"]),
        *beside("runs", "runs", _paper),
        RATIO,
        shown("standard cubes", "cubes"),
        shown("runs / cubes", "joined"),
        share("largest run", "largest"),
    ),
    plots=(plot("runs", "Figure 2: runs of a square", "side", "runs", "runs"),),
)
