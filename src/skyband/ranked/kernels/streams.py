"""Streams: the cursors of one event, one for each dimension that it has, and a heap of them by their next parts.

The last dimension stands for no dimension of events: it holds what every event meets. Invariants: `n` streams are in
use; in the heap no stream comes before its parent at `(i - 1) // 2`, by the order of the parts at their heads.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranked.kernels.fitting import Rule, meets
from skyband.ranked.kernels.getnext import Layers, next_of_layers, open_layers
from skyband.ranked.kernels.parts import CRAMPED, END, HI, LO, Parts, ahead

# The entries of `work`: parts that cursors handed out, and subscriptions that were looked at as a whole.
SORTED, RANDOM = range(2)


class Streams(NamedTuple):
    """By dimension a row of cursors; by stream its dimension, the part at its head and the key it came to."""

    cursor: Int64s
    dim: Int64s
    head: Int64s
    bound: Floats
    heap: Int64s
    work: Int64s


def make_streams(n_dims: int, width: int) -> Streams:
    """Room for a stream in each dimension, whose cursors are so wide."""
    cursor, places = np.zeros((n_dims, width), np.int64), np.zeros((3, n_dims), np.int64)
    return Streams(cursor, places[0], places[1], np.zeros(n_dims), places[2], np.zeros(2, np.int64))


@inlined
def open_streams(
    layers: Layers, parts: Parts, size: Int64s, low: Floats, high: Floats, inside: bool, streams: Streams
) -> int:
    """Open a stream for each dimension that the event has and some part is indexed in; how many, or CRAMPED."""
    n = 0
    for dim in range(len(size)):
        # A missing dimension is NaN. What holds an interval holds its lower end.
        if size[dim] > 0 and low[dim] <= high[dim]:
            upper = low[dim] if inside else high[dim]
            if open_layers(layers, parts, dim, low[dim], upper, streams.cursor[n]) == CRAMPED:
                return CRAMPED
            streams.dim[n] = dim
            n += 1
    return n


@inlined
def pull(layers: Layers, parts: Parts, low: Floats, high: Floats, rule: Rule, streams: Streams, stream: int) -> int:
    """The next part of a stream that the event meets, or END."""
    fact, dim = parts.fact, streams.dim[stream]
    while True:
        part = next_of_layers(layers, parts, streams.cursor[stream])
        if part == END:
            return END
        streams.work[SORTED] += 1
        if meets(fact[part, LO], fact[part, HI], low[dim], high[dim], rule.inside):
            return part


@kernel
def make_heap_of_streams(parts: Parts, streams: Streams, n: int) -> int:
    """Put the streams that have a head into the heap; answers how many."""
    kept = 0
    for stream in range(n):
        if streams.head[stream] != END:
            streams.heap[kept] = stream
            kept += 1
    for i in range(kept // 2 - 1, -1, -1):
        sink(parts, streams, kept, i)
    return kept


@kernel
def sink(parts: Parts, streams: Streams, n: int, i: int) -> None:
    """Move the stream at a place of the heap down to where it belongs."""
    heap, head = streams.heap, streams.head
    stream = heap[i]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and ahead(parts, head[heap[child + 1]], head[heap[child]]):
            child += 1
        if not ahead(parts, head[heap[child]], head[stream]):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = stream
