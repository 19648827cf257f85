"""The Zipfian data generator of the ranked paper: points in a few regions, densest in the middle of each.

The unit box is cut into cells. Within a region the cells are ranked by their distance from its middle,
measured in shares of its sides, and rank r has a Zipfian probability. The cells up to rank r then fill a
box of r cells about the middle, so a cell is drawn without listing them: a rank gives the size of that
box, and the cell lies on its surface.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.workload.zipf import Zipf


class DataRegions(NamedTuple):
    """Regions by their first cell and number of cells in each dimension."""

    first: Int64s
    sides: Int64s
    n_cells: int
    sizes: Zipf
    skew_within: float

    def draw(self, random: np.random.Generator, n_rows: int) -> Floats:
        """Points of the unit box, uniform within their cells."""
        chosen = self.sizes.draw(random, n_rows).astype(np.int64)
        cells = np.empty((n_rows, self.sides.shape[1]))
        for region in range(len(self.sides)):
            rows = np.flatnonzero(chosen == region)
            cells[rows] = self._cells(random, region, len(rows))
        return np.asarray((cells + random.random(cells.shape)) / self.n_cells)

    def _cells(self, random: np.random.Generator, region: int, n_rows: int) -> Floats:
        """Cells of one region."""
        first, sides = self.first[region], self.sides[region].astype(np.float64)
        n_cells = float(np.prod(sides))
        ranks = Zipf(n_cells, self.skew_within).draw(random, n_rows) + random.random(n_rows)
        scale = (ranks / n_cells) ** (1.0 / len(sides))
        offsets = _surface(random, n_rows, len(sides)) * scale[:, None] * sides / 2.0
        return np.asarray(first + np.clip(np.floor(sides / 2.0 + offsets), 0.0, sides - 1.0))


def regions(
    random: np.random.Generator,
    shares: Floats,
    n_cells: int,
    dims: int,
    skew_across: float,
    skew_within: float,
) -> DataRegions:
    """Random regions with these shares of all cells, as nearly as whole cells allow."""
    # A share is split into one factor for each dimension, at most 1, by random parts of its logarithm.
    parts = random.standard_exponential((len(shares), dims))
    parts = parts / np.cumsum(parts, axis=1)[:, -1:]
    sides = np.maximum(np.rint(n_cells * shares[:, None] ** parts), 1.0).astype(np.int64)
    first = np.floor(random.random(sides.shape) * (n_cells - sides + 1)).astype(np.int64)
    return DataRegions(first, sides, n_cells, Zipf(len(shares), skew_across), skew_within)


def _surface(random: np.random.Generator, n_rows: int, dims: int) -> Floats:
    """Uniform points on the surface of the box [-1, 1] in every dimension."""
    points = random.random((n_rows, dims)) * 2.0 - 1.0
    face = random.integers(0, dims, n_rows)
    points[np.arange(n_rows), face] = np.where(random.random(n_rows) < 0.5, -1.0, 1.0)
    return points
