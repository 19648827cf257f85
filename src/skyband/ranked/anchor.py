"""Anchors: the one part of each subscription that exact matching finds it by.

A subscription that has to be met in all its parts needs to be indexed in one dimension only, best in that which the
fewest events meet; the other parts are looked at when it turns up. How many meet a part is guessed from how many ends
of other intervals lie in it, since people ask where something is to be found.
"""

from collections.abc import Iterator

import numpy as np

from skyband.kernels.array import Bools, Floats, Int32s, Int64s
from skyband.kernels.ragged import owners_of

# So many ends of each dimension are kept.
SAMPLE = 1024


class Anchors:
    """A sorted sample of the ends of intervals for each dimension, those that came first."""

    def __init__(self, n_dims: int) -> None:
        self._ends = [np.zeros(0) for _ in range(n_dims)]

    def learn(self, dim: Int32s, lo: Floats, hi: Floats) -> None:
        """Take ends of new parts into samples that are not full."""
        for j, its_own in _by_dim(dim, np.arange(len(dim))):
            room = SAMPLE - len(self._ends[j])
            if room > 0:
                ends = np.column_stack([lo[its_own], hi[its_own]]).ravel()
                ends = ends[np.isfinite(ends)]
                step = max(len(ends) // room, 1)
                self._ends[j] = np.sort(np.concatenate([self._ends[j], ends[::step][:room]]))

    def choose(self, offsets: Int64s, dim: Int32s, lo: Floats, hi: Floats, eligible: Bools) -> Bools:
        """For each part, whether it is its subscription's anchor: the eligible one that seems to be met least."""
        crowd = np.full(len(dim), np.inf)
        for j, chosen in _by_dim(dim, np.flatnonzero(eligible)):
            ends = self._ends[j]
            inside = np.searchsorted(ends, hi[chosen], "right") - np.searchsorted(ends, lo[chosen], "left")
            crowd[chosen] = inside / max(len(ends), 1)
        sizes = np.diff(offsets)
        owner = owners_of(sizes)
        least = np.full(len(sizes), np.inf)
        np.minimum.at(least, owner, crowd)
        candidates = np.flatnonzero(eligible & (crowd == least[owner]))
        anchors = np.zeros(len(dim), np.bool_)
        anchors[candidates[np.unique(owner[candidates], return_index=True)[1]]] = True
        return anchors


def _by_dim(dim: Int32s, chosen: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Each dimension of the chosen parts, and those of them that are in it."""
    order = chosen[np.argsort(dim[chosen], kind="stable")]
    dims, starts = np.unique(dim[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    yield from ((j, order[start:end]) for j, start, end in zip(dims.tolist(), starts.tolist(), ends, strict=False))
