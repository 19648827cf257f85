"""What is to be known of changes before they are told: whose turn each is, and how many there are of each kind."""

from skyband.kernels.array import Bools, Int8s, Int64s
from skyband.kernels.compile import kernel

# The place behind the kinds of changes counts the first entries.
DELIVERIES = 3
N_TALLIES = 4


@kernel
def sum_up(slots: Int64s, ops: Int8s, first: Bools, turns: Int64s, turn: Int64s, tally: Int64s) -> bool:
    """Write down the turn of each change, and count them by kind; says whether the turns ascend."""
    ascends, before = True, -1
    for i in range(len(slots)):
        turn[i] = turns[slots[i]]
        ascends &= turn[i] >= before
        before = turn[i]
        tally[ops[i]] += 1
        tally[DELIVERIES] += first[i]
    return ascends


@kernel
def list_first(turn: Int64s, item: Int64s, first: Bools, to_turn: Int64s, to_item: Int64s, end: int) -> int:
    """Copy what is first to where lists end; returns where they end then."""
    for i in range(len(turn)):
        if first[i]:
            to_turn[end], to_item[end] = turn[i], item[i]
            end += 1
    return end
