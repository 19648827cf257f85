"""Points of the unit box in Gaussian clusters, drawn again until they lie inside."""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats
from skyband.workload.zipf import Zipf


class Clusters(NamedTuple):
    """Centres, how often each is chosen, and the standard deviation in every dimension."""

    centres: Floats
    sizes: Zipf
    spread: float

    def draw(self, stream: np.random.Generator, size: int) -> Floats:
        """This many points of [0, 1] in every dimension."""
        chosen = self.centres[self.sizes.draw(stream, size).astype(np.int64)]
        points = chosen + self.spread * stream.standard_normal(chosen.shape)
        while len(outside := np.argwhere((points < 0.0) | (points > 1.0))):
            rows, dims = outside.T
            points[rows, dims] = chosen[rows, dims] + self.spread * stream.standard_normal(len(rows))
        return points


def clusters(stream: np.random.Generator, n_clusters: int, dims: int, spread: float, skew: float) -> Clusters:
    """Clusters with random centres; a skew of 0 gives them equal sizes."""
    return Clusters(stream.random((n_clusters, dims)), Zipf(n_clusters, skew), spread)
