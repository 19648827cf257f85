"""The grid of a cover set: which values an attribute may have, and the cells that ranges of them become."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skyband.covering.kernels.cells import Axes, write_points
from skyband.covering.kernels.curve import MOST_DIMS, MOST_KEY_BITS
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.simd import Cells
from skyband.table import shorten
from skyband.table.argument import check_flag

DEFAULT_BITS = 16
MOST_BITS = 32
# An attribute of integers has a cell for each, up to numbers that floats tell apart.
MOST_INTEGERS = 2**53
# Knots of a fitted attribute: cells are spread evenly over the values that a sample has between two of them.
N_KNOTS = 64
SAMPLE = 100_000
# Knots as close as numbers can be would make it infinite, and no distance times infinity is no number.
STEEPEST = 1e300


class Domain(NamedTuple):
    """The values that an attribute of a message may have: from `low` to `high`, all numbers or the integers alone."""

    low: float = -np.inf
    high: float = np.inf
    integer: bool = False


WHOLE = Domain()


class CoverGrid:
    """Cells for boxes of some attributes. Where a domain is open, what a sample shows makes the grid, and holds all."""

    def __init__(self, domains: Sequence[Domain], bits: int, sample: Floats) -> None:
        self.domains = tuple(domains)
        self.bits = bits
        self.top = (1 << bits) - 1
        axes = [self._axis(domain, sample[:, 2 * j : 2 * j + 2]) for j, domain in enumerate(domains)]
        n_knots = max(len(knots) for knots, _, _ in axes)
        shape = (len(axes), n_knots)
        half, cell, slope = np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape)
        for j, (knots, cells, _) in enumerate(axes):
            n = len(knots)
            half[j, :n], cell[j, :n], half[j, n:], cell[j, n:] = knots, cells, knots[-1], cells[-1]
            with np.errstate(divide="ignore", over="ignore"):
                slope[j, : n - 1] = np.minimum(np.diff(cells) / np.diff(knots), STEEPEST)
        tells_apart = np.array([apart for _, _, apart in axes])
        self.axes = Axes(half, cell, slope, tells_apart, np.array([self.top]))

    def _axis(self, domain: Domain, sample: Floats) -> tuple[Floats, Int64s, bool]:
        """The halves of the knots of an attribute, their cells, and whether no two values share a cell."""
        if domain.integer and domain.high - domain.low <= self.top:
            return np.array([domain.low, domain.high]) * 0.5, np.array([0, int(domain.high - domain.low)]), True
        if np.isfinite(domain.low) and np.isfinite(domain.high):
            knots = np.array([domain.low, domain.high]) * 0.5
        else:
            knots = _fitted(sample, min(N_KNOTS, self.top - 1))
        return knots, 1 + np.arange(len(knots)) * (self.top - 2) // (len(knots) - 1), False

    def cells(self, points: Floats, rounding: int = 0) -> Cells:
        """The cells of points (-lo, hi, ...), stored ones by default; see `skyband.covering.kernels.cells`."""
        kind: Any = np.uint16 if self.bits <= 16 else np.uint32
        cells = np.zeros(points.shape, kind)
        write_points(self.axes, np.require(points, np.float64, ["C", "W"]), rounding, cells)
        return cells

    @property
    def n_bytes(self) -> int:
        """The size in bytes."""
        return sum(array.nbytes for array in self.axes)


def _fitted(sample: Floats, most: int) -> Floats:
    """Halves of knots that have about as many values of a sample between them."""
    halves = sample[:: max(1, len(sample) // SAMPLE)] * [-0.5, 0.5]
    halves = halves[np.isfinite(halves)]
    if not len(halves):
        return np.array([0.0, 1.0])
    knots = np.unique(np.quantile(halves, np.linspace(0.0, 1.0, most), method="nearest"))
    return knots if len(knots) > 1 else np.append(knots, knots[0] + max(abs(knots[0]), 1.0))


def check_bits(dims: int, bits: int | None) -> int:
    """The bits of a coordinate for so many dimensions; a ValueError says what is possible."""
    if dims > MOST_DIMS:
        raise ValueError(f"Covering takes up to {MOST_DIMS // 2} attributes, not {dims // 2}.")
    most = min(MOST_BITS, MOST_KEY_BITS // dims)
    if bits is None:
        return min(DEFAULT_BITS, most)
    if not 2 <= bits <= most:
        raise ValueError(
            f"Keys have at most {MOST_KEY_BITS} bits: with {dims // 2} attributes, bits must be 2 to {most}."
        )
    return bits


def check_domain(domain: Domain) -> Domain:
    """The domain with its ends as numbers; a ValueError says what is wrong with it."""
    try:
        low, high = float(domain.low), float(domain.high)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"A domain goes from a lower to a higher number, not {shorten(tuple(domain))}.") from None
    if not low < high:
        raise ValueError(f"A domain goes from a lower to a higher number, not from {low:g} to {high:g}.")
    integer = check_flag("integer of a domain", domain.integer)
    if integer:
        if not (np.isfinite(low) and np.isfinite(high)) or low != int(low) or high != int(high):
            raise ValueError("A domain of integers goes from one integer to another.")
        if max(abs(low), abs(high)) > MOST_INTEGERS:
            raise ValueError("A domain of integers reaches up to 2**53 on both sides.")
    return Domain(low, high, integer)


def to_points(domains: Sequence[Domain], lo: Floats, hi: Floats) -> Floats:
    """The points (-lo, hi, ...) of boxes; a range is left open where it reaches an end of its domain."""
    points = np.empty((len(lo), 2 * lo.shape[1]))
    points[:, 0::2], points[:, 1::2] = -lo, hi
    for j, domain in enumerate(domains):
        if domain.integer:
            points[:, 2 * j : 2 * j + 2] = np.floor(points[:, 2 * j : 2 * j + 2])
        points[points[:, 2 * j] >= -domain.low, 2 * j] = np.inf
        points[points[:, 2 * j + 1] >= domain.high, 2 * j + 1] = np.inf
    # No zero is negative, so that equal numbers are equal bits.
    return points + 0.0


def match_nothing(domains: Sequence[Domain], lo: Floats, hi: Floats) -> Bools:
    """Which boxes no message can lie in: a range between two integers, or outside of its domain."""
    empty = np.zeros(len(lo), np.bool_)
    for j, domain in enumerate(domains):
        low, high = (np.ceil(lo[:, j]), np.floor(hi[:, j])) if domain.integer else (lo[:, j], hi[:, j])
        empty |= (low > high) | (low > domain.high) | (high < domain.low)
    return empty
