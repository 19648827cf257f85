"""Where the objects and the ranges of the range top-k paper lie (section V, "Workloads", and appendix D).

Clustered objects lie about ten centres that cut [0, 1] into eleven segments of length w. Clustered
subscriptions are a mixture of ten Gaussians over the space of ranges, cut to lo <= hi and rounded to a
grid of 10,000 by 10,000; the exponent of the norm, which the paper's text has lost, is taken to be 2.
"""

from typing import Literal

import numpy as np

from skyband.kernels.array import Floats

Kind = Literal["uniform", "clustered", "correlated", "anti-correlated", "dataset1", "dataset2", "dataset3"]

N_CLUSTERS = 10
SEGMENT = 1.0 / (N_CLUSTERS + 1)
CENTRES: Floats = np.arange(1, N_CLUSTERS + 1, dtype=np.float64) * SEGMENT
GRID = 10_000
SHARES = {"dataset2": 10, "dataset3": 100}
"""A range of the first dimension covers this part of the objects: 1,000 and 100 of the paper's 10,000."""


def place_objects(random: np.random.Generator, n_rows: int, dims: int, kind: str) -> Floats:
    """The first places of the objects; every cluster gets an equal share of them in each dimension."""
    if kind == "uniform":
        return random.random((n_rows, dims))
    shares = [random.permutation(np.arange(n_rows) % N_CLUSTERS) for _ in range(dims)]
    return _near(random, CENTRES[np.column_stack(shares)])


def replace_objects(random: np.random.Generator, n_rows: int, dims: int, kind: str) -> Floats:
    """Later places, from the same distribution."""
    if kind == "uniform":
        return random.random((n_rows, dims))
    return _near(random, CENTRES[random.integers(0, N_CLUSTERS, (n_rows, dims))])


def draw_boxes(
    random: np.random.Generator, n_rows: int, kind: Kind, places: Floats, width: float
) -> tuple[Floats, Floats]:
    """Least and greatest corners of the subscriptions' ranges."""
    dims = places.shape[1]
    if kind == "clustered":
        return _clustered(random, n_rows, dims, width / 4.0)
    if kind in ("correlated", "anti-correlated"):
        # Midway between two centres; the last centre has no next one.
        centres = CENTRES if kind == "correlated" else CENTRES[:-1] + SEGMENT / 2.0
        chosen = centres[random.integers(0, len(centres), (n_rows, dims))]
        return _ordered(_near(random, chosen), _near(random, chosen))
    low, high = _ordered(random.random((n_rows, dims)), random.random((n_rows, dims)))
    return (low, high) if kind == "uniform" else _half_open(random, low, high, kind, places)


def _near(random: np.random.Generator, centres: Floats) -> Floats:
    return np.asarray(centres + random.standard_normal(centres.shape) * (SEGMENT / 8.0))


def _ordered(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    return np.minimum(one, other), np.maximum(one, other)


def _clustered(random: np.random.Generator, n_rows: int, dims: int, spread: float) -> tuple[Floats, Floats]:
    """Ranges about ten random ranges.

    One that falls outside is drawn again with its cluster, so that a cluster at the border gets fewer, as
    in the paper's normalised sum.
    """
    low_centres, high_centres = _ordered(random.random((N_CLUSTERS, dims)), random.random((N_CLUSTERS, dims)))
    low, high = np.empty((n_rows, dims)), np.empty((n_rows, dims))
    missing = np.arange(n_rows)
    while len(missing):
        chosen = random.integers(0, N_CLUSTERS, len(missing))
        shape = (len(missing), dims)
        low[missing] = _on_grid(low_centres[chosen] + spread * random.standard_normal(shape))
        high[missing] = _on_grid(high_centres[chosen] + spread * random.standard_normal(shape))
        inside = (low[missing] >= 0.0) & (low[missing] <= high[missing]) & (high[missing] <= 1.0)
        missing = missing[~inside.all(axis=1)]
    return low, high


def _on_grid(values: Floats) -> Floats:
    return np.asarray(np.rint(values * (GRID - 1)) / (GRID - 1))


def _half_open(
    random: np.random.Generator, low: Floats, high: Floats, kind: Kind, places: Floats
) -> tuple[Floats, Floats]:
    """The three sets of appendix D: a range of the first dimension, an upper bound in the second."""
    low[:, 1], high[:, 1] = -np.inf, random.random(len(low))
    if kind in SHARES:
        low[:, 0] = random.random(len(low))
        line = np.append(np.sort(places[:, 0]), 1.0)
        last = np.searchsorted(line[:-1], low[:, 0]) + max(len(places) // SHARES[kind], 1) - 1
        # Too few objects above: the range ends with the space.
        high[:, 0] = np.maximum(line[np.minimum(last, len(places))], low[:, 0])
    return low, high
