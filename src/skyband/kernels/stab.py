"""Brute force over intervals: each event is held against every subscription, dimension by dimension."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.compile import kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort
from skyband.kernels.slots import BLOCK


class Intervals(NamedTuple):
    """Intervals and weights as (block, dimension, slot within block); `label` is larger for a larger id.

    A slot that is not in use has an empty interval in every dimension.
    """

    lo: npt.NDArray[np.float64]
    hi: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    label: npt.NDArray[np.int64]


class Found(NamedTuple):
    """For each event its best slots and their scores; `length` of them are in use."""

    length: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]


@kernel
def score_interval_block(
    intervals: Intervals,
    block: int,
    point: npt.NDArray[np.float64],
    score: npt.NDArray[np.float64],
    n_inside: npt.NDArray[np.int64],
) -> None:
    """The sum of the weights of the matching dimensions of a block's slots, and how many match."""
    for i in range(BLOCK):
        score[i] = 0.0
        n_inside[i] = 0
    for j in range(len(point)):
        lo, hi, weight = intervals.lo[block, j], intervals.hi[block, j], intervals.weight[block, j]
        x = point[j]
        for i in range(BLOCK):
            # NaN, a missing dimension, lies in no interval.
            if (lo[i] <= x) & (x <= hi[i]):
                score[i] += weight[i]
                n_inside[i] += 1


@kernel
def stab(
    points: npt.NDArray[np.float64],
    n_needed: int,
    intervals: Intervals,
    n_blocks: int,
    heap: Heap,
    score: npt.NDArray[np.float64],
    n_inside: npt.NDArray[np.int64],
    found: Found,
) -> None:
    """The best slots for each point, of those that match in `n_needed` dimensions or more; k is the room in `found`."""
    k = found.slot.shape[1]
    for event in range(len(points)):
        n = 0
        for block in range(n_blocks):
            score_interval_block(intervals, block, points[event], score, n_inside)
            for i in range(BLOCK):
                if n_inside[i] >= n_needed and (n < k or -score[i] <= heap.keys[0]):
                    slot = block * BLOCK + i
                    n = heap_push(heap, n, k, -score[i], intervals.label[slot], slot)
        heap_sort(heap, n)
        found.length[event] = n
        for i in range(n):
            found.slot[event, i], found.score[event, i] = heap.items[i], -heap.keys[i]
