"""Regions of the subscription space: the boxes that a broker is responsible for, or that a link leads to."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats
from skyband.overlay.part import ZonePart, median_cut, middle_cut


class Region(NamedTuple):
    """Boxes, a row each, that do not overlap; half-open, as zones are, and the outermost have no end."""

    low: Floats
    high: Floats

    @property
    def n_boxes(self) -> int:
        """How many there are."""
        return len(self.low)

    def meets(self, low: Floats, high: Floats) -> Bools:
        """Which of these closed boxes have a point in the region."""
        reaches = (self.low[np.newaxis] <= high[:, np.newaxis]) & (low[:, np.newaxis] < self.high[np.newaxis])
        leads: Bools = np.asarray(np.all(reaches, axis=2))
        found: Bools = np.asarray(np.any(leads, axis=1))
        return found

    def holds(self, points: Floats) -> Bools:
        """Which of these points lie in the region."""
        return self.meets(points, points)

    def and_also(self, other: "Region") -> "Region":
        """This region and another one."""
        return Region(np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high]))

    def divided(self, points: Floats, turn: int) -> "tuple[Region, Region] | None":
        """The region in two, so that each has about half of these points; None where no number lies between.

        A region of several boxes gives one of them away. One box is cut at the median of its points, in the dimension
        whose turn it is or the next that tells them apart, and anywhere if none does.
        """
        if self.n_boxes > 1:
            return self._shared(points)
        part = ZonePart(self.low[0].copy(), self.high[0].copy(), turn % self.low.shape[1], 0, None, 0)
        cut = median_cut(points, np.arange(len(points)), part.turn) or middle_cut(part)
        if cut is None:
            return None
        part.split(*cut, (0, 1))
        below, above = part.halves
        return one_box(below.low, below.high), one_box(above.low, above.high)

    def _shared(self, points: Floats) -> "tuple[Region, Region]":
        counts = [int(one_box(*box).holds(points).sum()) for box in zip(*self, strict=True)]
        given = int(np.argmin(np.abs(2 * np.array(counts) - len(points))))
        is_given = np.arange(self.n_boxes) == given
        return Region(self.low[~is_given], self.high[~is_given]), Region(self.low[is_given], self.high[is_given])


def one_box(low: Floats, high: Floats) -> Region:
    """The region of one box."""
    return Region(low[np.newaxis], high[np.newaxis])


def no_region(n_sides: int) -> Region:
    """Nothing of a space with so many dimensions."""
    return Region(np.zeros((0, n_sides)), np.zeros((0, n_sides)))


def united_regions(regions: Sequence[Region]) -> Region:
    """All boxes of some regions, of which there is at least one."""
    return Region(
        np.concatenate([region.low for region in regions]), np.concatenate([region.high for region in regions])
    )
