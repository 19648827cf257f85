"""Commands are judged in their order: each finds the subscriptions as the ones before it have left them.

A subscription that is registered has the number of its zone, and NOBODY is where there is none. Turns count those that
were ever registered.
"""

from typing import NamedTuple

from skyband.kernels.array import Bools, Int8s, Int32s, Int64s
from skyband.kernels.compile import kernel

NOBODY = -1
# What commands ask for, and why one is refused.
SUBSCRIBE, UNSUBSCRIBE, RESIZE = 0, 1, 2
FINE, REGISTERED, UNKNOWN, BARRED = 0, 1, 2, 3


class ZoneMembers(NamedTuple):
    """By slot, the zone and the turn of each subscription."""

    zone: Int32s
    turn: Int64s


class CommandRows(NamedTuple):
    """Commands: what they ask for, the slots of their ids (-1 for none), the zones of new ones, and who is barred."""

    op: Int8s
    slot: Int64s
    zone: Int64s
    is_barred: Bools


class Ruling(NamedTuple):
    """What becomes of commands: why one is refused, and the zone and turn of the subscription of the others."""

    fault: Int8s
    zone: Int64s
    turn: Int64s


@kernel
def judge_commands(asked: CommandRows, members: ZoneMembers, next_turn: int, ruling: Ruling) -> int:
    """Register, withdraw and look up, in the order of the commands; returns the next turn."""
    for i in range(len(asked.op)):
        slot = asked.slot[i]
        is_there = slot >= 0 and members.zone[slot] != NOBODY
        if asked.op[i] != SUBSCRIBE:
            ruling.fault[i] = FINE if is_there else UNKNOWN
        elif is_there:
            ruling.fault[i] = REGISTERED
        elif asked.is_barred[i]:
            ruling.fault[i] = BARRED
        else:
            ruling.fault[i] = FINE
            members.zone[slot], members.turn[slot] = asked.zone[i], next_turn
            next_turn += 1
        if ruling.fault[i] == FINE:
            ruling.zone[i], ruling.turn[i] = members.zone[slot], members.turn[slot]
            if asked.op[i] == UNSUBSCRIBE:
                members.zone[slot] = NOBODY
    return next_turn


@kernel
def repeat_commands(op: Int8s, slot: Int64s, zone: Int64s, turn: Int64s, members: ZoneMembers) -> None:
    """Register and withdraw what was registered and withdrawn before, in the same order."""
    for i in range(len(op)):
        if op[i] == SUBSCRIBE:
            members.zone[slot[i]], members.turn[slot[i]] = zone[i], turn[i]
        elif op[i] == UNSUBSCRIBE:
            members.zone[slot[i]] = NOBODY
