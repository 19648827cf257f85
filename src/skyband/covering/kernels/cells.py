"""From ranges of numbers to cells: an order-preserving grid, and rounding that may lose a covering but never makes one.

For each attribute a map g from numbers to cells never falls: it is linear between knots. An attribute of integers has a
cell for each one where there is room; any other has the lowest and the highest cell for the infinities alone.
A box is the point (-lo, hi, ...); its coordinate for lo is the opposite of g(lo), that for hi is g(hi).

As g never falls, s > q follows from g(s) > g(q). So whoever asks for what covers q rounds up to the next cell, unless g
tells all values of the attribute apart: a stored point with no smaller cell anywhere covers q then. A search that looks
at the exact numbers afterwards asks for the cells themselves, which leave out nothing that covers.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import Cells


class Axes(NamedTuple):
    """By attribute the knots, ascending, and the cells at them; halves, since differences may be beyond all numbers.

    `slope` is in cells per half; `tells_apart` says that no two values of the attribute share a cell.
    """

    half: Floats
    cell: Int64s
    slope: Floats
    tells_apart: Bools
    top: Int64s


@inlined
def cell_of(axes: Axes, attribute: int, value: float) -> int:
    """The cell of a number that is no NaN."""
    if value == -np.inf:
        return 0
    if value == np.inf:
        return int(axes.top[0])
    half, knots, cells = value * 0.5, axes.half[attribute], axes.cell[attribute]
    last = len(knots) - 1
    if half <= knots[0]:
        return int(cells[0])
    if half >= knots[last]:
        return int(cells[last])
    at, beyond = 0, last
    while beyond - at > 1:
        middle = (at + beyond) >> 1
        if half < knots[middle]:
            beyond = middle
        else:
            at = middle
    steps = int((half - knots[at]) * axes.slope[attribute, at])
    return min(int(cells[at]) + steps, int(cells[at + 1]) - 1)


@inlined
def write_point(axes: Axes, point: Floats, rounding: int, cells: Cells) -> None:
    """Write the cells of a point (-lo, hi, ...), moved by `rounding` wherever a cell may hold other numbers too.

    A rounding of 1 is for what has to be covered, -1 for what has to cover, and 0 for what is stored.
    """
    top = int(axes.top[0])
    for j in range(len(point)):
        attribute, value = j >> 1, point[j]
        cell = cell_of(axes, attribute, value) if j & 1 else top - cell_of(axes, attribute, -value)
        if abs(value) != np.inf and not axes.tells_apart[attribute]:
            cell += rounding
        cells[j] = cell


@kernel
def write_points(axes: Axes, points: Floats, rounding: int, cells: Cells) -> None:
    """The same for many points."""
    for i in range(len(points)):
        write_point(axes, points[i], rounding, cells[i])
