"""The steps of a staircase, read at a time: which gate holds, and when the next one does."""

from bisect import bisect_right

from skyband.overlay.broker.frame import Steps

FOR_EVER = 1 << 62
NEVER = -FOR_EVER


def gate_at(steps: Steps, at: int) -> float:
    """The gate that steps have for a time; before the first one it is that of the first."""
    i = bisect_right(steps, (at, float("inf"))) - 1
    return steps[i if i > 0 else 0][1]


def next_step(steps: Steps, at: int) -> int:
    """When the gate of steps next widens after a time."""
    i = max(bisect_right(steps, (at, float("inf"))), 1)
    return steps[i][0] if i < len(steps) else FOR_EVER
