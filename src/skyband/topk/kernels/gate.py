"""Gates read off rows of candidates: the k-th best of those that are live at a time, and the steps in which it widens.

A row is sorted, best first, so the gate at a time t is the score of the k-th entry that is not over by then. Let T(i)
be the k-th latest end of life among the first i entries. It never falls with i, and the gate at t is the score of the
first entry i with t < T(i): one walk along the row, with a heap of k ends, finds all steps.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push

# The span of what never ends, and its end.
FOR_EVER = np.iinfo(np.int64).max


class CandidateRows(NamedTuple):
    """Rows of candidates: row i has `n[i]` entries from `start[i]` on, and the gate is that of the `k[i]`-th of them.

    An entry lives for `span[i]` microseconds from its time on, `ts[item - base]`. While fewer than k entries are live
    the gate is `widest[i]`.
    """

    start: Int64s
    n: Int64s
    k: Int64s
    span: Int64s
    widest: Floats
    item: Int64s
    score: Floats
    ts: Int64s
    base: int


class Stairs(NamedTuple):
    """Steps: whose row it is, from which time on, and the gate."""

    row: Int64s
    at: Int64s
    gate: Floats


@inlined
def _end(kept: CandidateRows, row: int, at: int) -> int:
    """The time at which an entry is over."""
    span = kept.span[row]
    return FOR_EVER if span == FOR_EVER else kept.ts[kept.item[at] - kept.base] + span


@kernel
def read_gates(kept: CandidateRows, time: int, gates: Floats) -> None:
    """Write down the gate of each row at a time."""
    for row in range(len(kept.n)):
        gates[row] = kept.widest[row]
        n_live = 0
        for at in range(kept.start[row], kept.start[row] + kept.n[row]):
            n_live += _end(kept, row, at) > time
            if n_live == kept.k[row]:
                gates[row] = kept.score[at]
                break


@inlined
def _step(stairs: Stairs, n: int, row: int, at: int, gate: float) -> int:
    """Write down a step, unless the gate stays as it was; returns how many there are."""
    if n > 0 and stairs.row[n - 1] == row and stairs.gate[n - 1] == gate:
        return n
    stairs.row[n], stairs.at[n], stairs.gate[n] = row, at, gate
    return n + 1


@kernel
def read_stairs(kept: CandidateRows, now: int, heap: Heap, stairs: Stairs) -> int:
    """Write down the steps of each row from now on; returns how many. There is one more than entries at most."""
    n_steps = 0
    for row in range(len(kept.n)):
        since, n_ends, k = now, 0, kept.k[row]
        for at in range(kept.start[row], kept.start[row] + kept.n[row]):
            n_ends = heap_push(heap, n_ends, k, 0.0, _end(kept, row, at), at)
            if n_ends == k and heap.stamps[0] > since:
                n_steps = _step(stairs, n_steps, row, since, kept.score[at])
                since = heap.stamps[0]
        if since < FOR_EVER:
            n_steps = _step(stairs, n_steps, row, since, kept.widest[row])
    return n_steps
