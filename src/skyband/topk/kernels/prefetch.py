"""Asking for memory ahead: rows lie far apart, and waiting for many at once takes little longer than for one."""

from skyband.kernels.array import Int64s
from skyband.kernels.compile import kernel
from skyband.topk.kernels.band import BOUND, SIZE, START
from skyband.topk.kernels.workspace import BandSubscribers

# Numbers in a cache line.
LINE = 8


@kernel
def ask_for(slots: Int64s, lo: int, hi: int, subscribers: BandSubscribers) -> int:
    """Ask for the memory of some slots at once; what comes back means nothing.

    Each slot's numbers are far apart. A processor waits for many places at a time as long as none tells it where the
    next one is, so these loops cost little more than one wait, and what follows finds everything near.
    """
    rules, bands, turns, depths = subscribers.rules, subscribers.bands, subscribers.turn, subscribers.settings.depth
    starts, gates, limits, oldest = bands.head, rules.gate, rules.limit, rules.oldest
    kinds, sizes, gauges = rules.window_kind, rules.window_size, bands.gauge
    seen = 0
    for i in range(lo, hi):
        slot = slots[i]
        seen += starts[slot, START] + turns[slot] + depths[slot] + kinds[slot]
        seen += (oldest[slot] > 0) + (sizes[slot] > 0)
        seen += (gates[slot] > 0.0) + (limits[slot] > 0.0) + (gauges[slot, BOUND] > 0.0)
    scores, items, states = bands.score, bands.item, bands.state
    for i in range(lo, hi):
        start, size = starts[slots[i], START], starts[slots[i], SIZE]
        for at in range(start, start + size, LINE):
            seen += items[at] + states[at] + (scores[at] > 0.0)
    return seen
