"""The inbox: rows of subscriptions that are kept from messages alone, as the ranges paper has it (section II-A).

A message reaches the rows of its group whose point lies in its box. A row that holds the object takes the new y, or
lets go of it if it is gone; another takes the object in if it is among the best k then. What a row is after a step is
told once, at the end of the step.

Invariants, between steps: a row has at most k entries and is `whole` if it has fewer; each is a member and delivered;
no row is dirty. Nothing is allocated: without room to tell or to remember, a call returns and is called again.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.ranges.kernels.boxsearch import report
from skyband.ranges.kernels.boxtree import Trees
from skyband.ranges.kernels.deliveries import Pairs, bury, has_room, remember, remembers
from skyband.ranges.kernels.message import GONE, Messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.topk.kernels.buffer import (
    ENTER,
    LEAVE,
    Buffers,
    FoundChanges,
    Stamps,
    find_item,
    place_of,
    remove_at,
    settle,
)

# Places of `progress`: the next message, the step that is open, how many rows are dirty in it and how many of those are
# settled (-1 before the dead are buried), and the number of the first step, counted over all verbs.
MESSAGE = 0
STEP = 1
N_DIRTY = 2
SETTLED = 3
FIRST_STEP = 4

# Places of `counts`: messages received, and those of them that changed nothing in the row.
RECEIVED = 0
DISCARDED = 1


class Inbox(NamedTuple):
    """Room for the slots that a message reaches, and for those that are dirty; both hold every slot there is.

    `wanted` says how many changes and how many pairs need room, where a kernel stopped for want of it.
    """

    receivers: Int64s
    dirty: Int64s
    is_dirty: Bools
    progress: Int64s
    counts: Int64s
    wanted: Int64s


def make_inbox() -> Inbox:
    """An inbox without rows."""
    progress = np.array([0, 0, 0, -1, 0], np.int64)
    nothing = np.zeros(0, np.int64)
    return Inbox(nothing, nothing, np.zeros(0, np.bool_), progress, np.zeros(2, np.int64), np.zeros(2, np.int64))


@inlined
def _put_in(buffers: Buffers, row: int, object: int, y: float, stamps: Stamps) -> bool:
    """Make an object that the row does not hold an entry, if it is among the best k."""
    place, size = place_of(buffers, row, y, stamps.stamp[object], stamps), buffers.size[row]
    k = buffers.k[row]
    if place == k:
        return False
    if size == k:
        remove_at(buffers, row, size - 1)
        size -= 1
    scores, items, marks, start = buffers.score, buffers.item, buffers.mark, buffers.start[row]
    for at in range(start + size, start + place, -1):
        scores[at], items[at], marks[at] = scores[at - 1], items[at - 1], marks[at - 1]
    at = start + place
    scores[at], items[at], marks[at] = y, object, 0
    buffers.size[row] = size + 1
    return True


@kernel
def hear(buffers: Buffers, row: int, object: int, y: float, stamps: Stamps) -> bool:
    """Let a row take a message; returns whether that changed it."""
    position = find_item(buffers, row, object)
    if position < 0:
        return y != GONE and _put_in(buffers, row, object, y, stamps)
    if buffers.score[buffers.start[row] + position] == y:
        return False
    remove_at(buffers, row, position)
    if y != GONE:
        _put_in(buffers, row, object, y, stamps)
    return True


@inlined
def _deliver(messages: Messages, message: int, trees: Trees, buffers: Buffers, stamps: Stamps, inbox: Inbox) -> None:
    receivers, is_dirty, progress = inbox.receivers, inbox.is_dirty, inbox.progress
    object, y = messages.object[message], messages.y[message]
    n = report(trees, messages.group[message], messages.low[message], messages.high[message], receivers, 0)
    inbox.counts[RECEIVED] += n
    for i in range(n):
        row = receivers[i]
        if not hear(buffers, row, object, y, stamps):
            inbox.counts[DISCARDED] += 1
        elif not is_dirty[row]:
            is_dirty[row] = True
            inbox.dirty[progress[N_DIRTY]] = row
            progress[N_DIRTY] += 1


@kernel
def tell_row(
    buffers: Buffers, row: int, steps: tuple[int, int], stamps: Stamps, pairs: Pairs, told: FoundChanges
) -> None:
    """Tell how a row changed in a step, which has a number in this verb and one of all; there is room for it.

    A living object that the row lets go of is remembered; one that died in this step is not, even if it was born again.
    """
    since = told.length[0]
    settle(buffers, row, steps[0], stamps, told)
    for at in range(since, told.length[0]):
        object = told.item[at]
        if told.op[at] == ENTER:
            told.first[at] = not remembers(pairs, row, object)
        elif told.op[at] == LEAVE and pairs.death[object] != steps[1]:
            remember(pairs, row, object)
    buffers.size[row] = min(buffers.size[row], buffers.k[row])
    buffers.whole[row] = buffers.size[row] < buffers.k[row]


@inlined
def _can_tell(buffers: Buffers, row: int, pairs: Pairs, told: FoundChanges, wanted: Int64s) -> bool:
    """Whether a row can be told; how many changes and how many pairs that takes is written down.

    Everything that the row holds or held may have been told as a member: a row may just have been asked for less.
    """
    wanted[1] = buffers.size[row] + buffers.departed[row]
    wanted[0] = buffers.k[row] + wanted[1]
    return told.length[0] + wanted[0] <= len(told.step) and has_room(pairs, wanted[1])


@inlined
def _close(
    changes: ObjectChanges, buffers: Buffers, stamps: Stamps, pairs: Pairs, inbox: Inbox, told: FoundChanges
) -> bool:
    """End a step: bury those who died in it and tell every dirty row. False: make room and call again."""
    progress, dirty = inbox.progress, inbox.dirty
    step = progress[STEP]
    steps = (step, progress[FIRST_STEP] + step)
    if progress[SETTLED] < 0:
        for change in range(changes.end[step - 1] if step > 0 else 0, changes.end[step]):
            if not changes.alive[change]:
                bury(pairs, changes.object[change], steps[1])
        progress[SETTLED] = 0
    for i in range(progress[SETTLED], progress[N_DIRTY]):
        row = dirty[i]
        if not _can_tell(buffers, row, pairs, told, inbox.wanted):
            progress[SETTLED] = i
            return False
        tell_row(buffers, row, steps, stamps, pairs, told)
        inbox.is_dirty[row] = False
    progress[STEP], progress[N_DIRTY], progress[SETTLED] = step + 1, 0, -1
    return True


@kernel
def receive(
    messages: Messages,
    changes: ObjectChanges,
    trees: Trees,
    buffers: Buffers,
    stamps: Stamps,
    pairs: Pairs,
    inbox: Inbox,
    told: FoundChanges,
) -> bool:
    """Take a portion of the messages that some changes made. False: make room and call again."""
    progress = inbox.progress
    for message in range(progress[MESSAGE], messages.length[0]):
        while messages.event[message] >= changes.end[progress[STEP]]:
            if not _close(changes, buffers, stamps, pairs, inbox, told):
                progress[MESSAGE] = message
                return False
        _deliver(messages, message, trees, buffers, stamps, inbox)
    progress[MESSAGE] = 0
    return True


@kernel
def finish(
    changes: ObjectChanges, buffers: Buffers, stamps: Stamps, pairs: Pairs, inbox: Inbox, told: FoundChanges
) -> bool:
    """End all steps, after the last message. False: make room and call again."""
    progress = inbox.progress
    while progress[STEP] < len(changes.end):
        if not _close(changes, buffers, stamps, pairs, inbox, told):
            return False
    progress[FIRST_STEP] += len(changes.end)
    progress[STEP] = 0
    return True


@kernel
def tell_rows(
    since: int, rows: Int64s, buffers: Buffers, stamps: Stamps, pairs: Pairs, inbox: Inbox, told: FoundChanges
) -> int:
    """Tell rows from `since` on, as one step; returns the first that there is no room for."""
    for i in range(since, len(rows)):
        if not _can_tell(buffers, rows[i], pairs, told, inbox.wanted):
            return i
        tell_row(buffers, rows[i], (0, inbox.progress[FIRST_STEP]), stamps, pairs, told)
    return len(rows)


@kernel
def hear_all(rows: Int64s, objects: Int64s, ys: Floats, buffers: Buffers, stamps: Stamps) -> None:
    """Let rows take objects one by one, without telling."""
    for i in range(len(rows)):
        hear(buffers, rows[i], objects[i], ys[i], stamps)


@kernel
def keep_in_time(objects: Int64s, ts: Int64s, last: Int64s, kept: Int64s) -> int:
    """Number the changes that are no older than what is known of their object by then; returns how many."""
    n = 0
    for change in range(len(objects)):
        if ts[change] >= last[objects[change]]:
            last[objects[change]] = ts[change]
            kept[n] = change
            n += 1
    return n
