"""Changes as kernels find them, slot by slot, become the columns of an answer: by step, and then by turn."""

from typing import NamedTuple

from skyband.kernels.array import Bools, Floats, Int8s, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.buffer import FoundChanges

# The place behind the kinds of changes counts the first entries.
DELIVERIES = 3
N_TALLIES = 4

# How far changes are in the order of an answer, as they were found: by turn where the steps are mixed, or not at all.
IN_ORDER = 2
IN_TURN = 1
MIXED = 0


class ChangeColumns(NamedTuple):
    """Changes in the order of an answer; `turn` is that of the slot, and `at` the time of the step."""

    slot: Int64s
    item: Int64s
    op: Int8s
    score: Floats
    rank: Int32s
    at: Int64s
    first: Bools
    turn: Int64s


@inlined
def _copy(found: FoundChanges, i: int, times: Int64s, turns: Int64s, into: ChangeColumns, to: int) -> None:
    slot = found.slot[i]
    into.slot[to], into.item[to], into.op[to] = slot, found.item[i], found.op[i]
    into.score[to], into.rank[to], into.first[to] = found.score[i], found.rank[i], found.first[i]
    into.at[to], into.turn[to] = times[found.step[i]], turns[slot]


@kernel
def lay_out(found: FoundChanges, times: Int64s, turns: Int64s, into: ChangeColumns, tally: Int64s) -> int:
    """Copy changes as they were found, and count them by kind; says how far they are in order."""
    in_order, in_turn, step, turn = True, True, -1, -1
    for i in range(len(into.slot)):
        _copy(found, i, times, turns, into, i)
        in_turn &= into.turn[i] >= turn
        in_order &= found.step[i] > step or (found.step[i] == step and into.turn[i] >= turn)
        step, turn = found.step[i], into.turn[i]
        tally[into.op[i]] += 1
        tally[DELIVERIES] += into.first[i]
    return IN_ORDER if in_order else IN_TURN if in_turn else MIXED


@kernel
def lay_out_by(order: Int64s, found: FoundChanges, times: Int64s, turns: Int64s, into: ChangeColumns) -> None:
    """Copy changes in this order."""
    for to in range(len(order)):
        _copy(found, order[to], times, turns, into, to)


@kernel
def list_first(turn: Int64s, item: Int64s, first: Bools, to_turn: Int64s, to_item: Int64s, end: int) -> int:
    """Copy what is first to where lists end; returns where they end then."""
    for i in range(len(turn)):
        if first[i]:
            to_turn[end], to_item[end] = turn[i], item[i]
            end += 1
    return end
