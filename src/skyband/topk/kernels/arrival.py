"""How arrivals are written into a store: what they say at the end of its arrays, and their place in the timeline."""

from typing import NamedTuple

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import kernel
from skyband.topk.kernels.score import Contents


class ArrivalRows(NamedTuple):
    """What arrivals say: points by row, and terms as lists laid end to end."""

    ts: Int64s
    points: Floats
    norms: Floats
    signatures: Int64s
    offsets: Int64s
    terms: Int64s
    weights: Floats


class StoredTimes(NamedTuple):
    """The times and stamps of what is stored, and their order."""

    ts: Int64s
    stamp: Int64s
    timeline: Int64s


class StoreEnds(NamedTuple):
    """Where arrivals go: the first index, term and place of the timeline, and what makes a number and a stamp of it.

    To be in order, all have to be later than `latest`.
    """

    tail: int
    term: int
    place: int
    base: int
    origin: int
    latest: int


@kernel
def write_arrivals(rows: ArrivalRows, ends: StoreEnds, times: StoredTimes, into: Contents) -> bool:
    """Write arrivals to the ends of arrays that have room; says whether each of them is later than all before it.

    Those that are have their places in the timeline then, and their stamps; otherwise stamps are 0.
    """
    ts, stamps, timeline = times
    points, to_points, latest, in_order = rows.points, into.point, ends.latest, True
    for i in range(len(rows.ts)):
        at = ends.tail + i
        for j in range(points.shape[1]):
            to_points[j, at] = points[i, j]
        into.norm[at], into.signature[at] = rows.norms[i], rows.signatures[i]
        into.term_start[at], into.term_count[at] = ends.term + rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]
        ts[at], stamps[at], timeline[ends.place + i] = rows.ts[i], ends.origin + ends.place + i, ends.base + at
        in_order &= rows.ts[i] > latest
        latest = rows.ts[i]
    for i in range(len(rows.terms)):
        into.terms[ends.term + i], into.term_weights[ends.term + i] = rows.terms[i], rows.weights[i]
    if not in_order:
        stamps[ends.tail : ends.tail + len(rows.ts)] = 0
    return in_order
