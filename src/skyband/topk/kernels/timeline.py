"""The timeline: stored publications from the oldest to the most recent, and how arrivals take their place in it.

`timeline[i]` is the number of a publication, whose time is `ts[number - base]`. Times never fall along the timeline,
and the stamps of what lies there are consecutive. What arrives out of order moves what is behind it, and nothing else.
"""

from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel


@inlined
def _first_from(timeline: Int64s, ts: Int64s, base: int, lo: int, hi: int, least: int) -> int:
    """The first place from lo to hi whose time is no less."""
    while lo < hi:
        middle = (lo + hi) // 2
        if ts[timeline[middle] - base] < least:
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel
def find_times(times: Int64s, timeline: Int64s, ts: Int64s, base: int, lo: int, first: Int64s, after: Int64s) -> None:
    """For each time the first place, from lo to the end, that is no earlier, and the first that is later."""
    for i in range(len(times)):
        first[i] = _first_from(timeline, ts, base, lo, len(timeline), times[i])
        after[i] = _first_from(timeline, ts, base, first[i], len(timeline), times[i] + 1)


@kernel
def put_in_place(numbers: Int64s, places: Int64s, timeline: Int64s, end: int, stamps: Int64s, base: int) -> int:
    """Put numbers before what lies at these ascending places of the timeline, which ends at `end` and has room.

    The stamps of what is moved on rise by as many places. Returns how many are moved.
    """
    at = end
    for i in range(len(numbers) - 1, -1, -1):
        while at > places[i]:
            at -= 1
            moved = timeline[at]
            timeline[at + i + 1] = moved
            stamps[moved - base] += i + 1
        timeline[at + i] = numbers[i]
    return end - at


@kernel
def count_newer_before(ranks: Int64s, tree: Int64s, counts: Int64s) -> None:
    """For each row how many of those before it have a higher rank; ranks are a permutation.

    `tree` has a place more than there are rows, all zero: place p counts the rows with the last `p & -p` ranks below p.
    """
    n = len(ranks)
    for i in range(n):
        n_lower, place = 0, ranks[i] + 1
        while place > 0:
            n_lower += tree[place]
            place -= place & -place
        counts[i] = i - n_lower
        place = ranks[i] + 1
        while place <= n:
            tree[place] += 1
            place += place & -place
