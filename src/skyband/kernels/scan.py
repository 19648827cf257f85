"""The brute-force loop: every arrival is scored for every subscription, a short row is searched again from scratch.

Blocks of subscriptions are independent: a call works on the blocks it is given and touches no other row, so several
threads may run disjoint ranges. Nothing is allocated: when there is no room left to tell changes the call returns how
far it came and is called again. A *step* is what changes are netted over: a whole batch, or one publication.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.buffer import Buffers, Ghosts, Stamps, Told, expire, insert, settle, tell_all_leave
from skyband.kernels.compile import kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.kernels.score import (
    Contents,
    Questions,
    direction,
    gate_of,
    raw_score,
    say,
    score_block,
    score_run,
    unsay,
)
from skyband.kernels.slots import BLOCK

TIME = 1
COUNT = 2
RUN = 1024
LARGEST = np.iinfo(np.int64).max


class Rules(NamedTuple):
    """For each slot, what it admits: `gate` bounds directed scores, `limit` is the directed threshold or +inf.

    `oldest` is the least age in the slot's row (a time for time windows, a stamp for count windows).
    """

    gate: npt.NDArray[np.float64]
    limit: npt.NDArray[np.float64]
    window_kind: npt.NDArray[np.int8]
    window_size: npt.NDArray[np.int64]
    oldest: npt.NDArray[np.int64]


class Live(NamedTuple):
    """The stored publications by order of arrival: when, and how recent. `base` is the number of the first one.

    `floor` is the least stamp that is still live; below it everything is forgotten.
    """

    ts: npt.NDArray[np.int64]
    stamp: npt.NDArray[np.int64]
    base: int
    head: int
    floor: int


class Steps(NamedTuple):
    """The steps of a call: step t ends before the publication with index `end[t]`, at `now[t]`, when all stamps
    below `stamps_end[t]` have been given out.

    `first` is the index of the first arrival; what is told in step t is told as of step `offset + t`.
    """

    first: int
    offset: int
    end: npt.NDArray[np.int64]
    now: npt.NDArray[np.int64]
    stamps_end: npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """Working space, and `counts`: rows searched again, publications scored on the way."""

    said: npt.NDArray[np.float64]
    directed: npt.NDArray[np.float64]
    dirty: npt.NDArray[np.bool_]
    heap: Heap
    counts: npt.NDArray[np.int64]


@kernel
def _cut(rules: Rules, slot: int, now: int, stamps_end: int) -> int:
    """The largest age that is over, in the unit of the slot's window; -1 - LARGEST where nothing ends."""
    if rules.window_kind[slot] == TIME:
        return now - rules.window_size[slot]
    if rules.window_kind[slot] == COUNT:
        return stamps_end - rules.window_size[slot] - 1
    return -LARGEST - 1


@kernel
def _ages(rules: Rules, slot: int, live: Live) -> Stamps:
    if rules.window_kind[slot] == TIME:
        return Stamps(live.ts, live.base)
    return Stamps(live.stamp, live.base)


@kernel
def _set_gate(questions: Questions, rules: Rules, buffers: Buffers, slot: int) -> None:
    kind = questions.kinds[slot // BLOCK]
    key = rules.limit[slot]
    if buffers.sign[slot] != 0.0 and not buffers.whole[slot]:
        size = buffers.size[slot]
        if size == 0:
            key = -np.inf
        else:
            worst = buffers.sign[slot] * buffers.score[buffers.start[slot] + size - 1]
            key = min(key, worst)
    rules.gate[slot] = gate_of(kind, key)


@kernel
def _refill(
    questions: Questions,
    rules: Rules,
    buffers: Buffers,
    contents: Contents,
    live: Live,
    slot: int,
    hi: int,
    cut: int,
    scratch: Scratch,
) -> None:
    """Add to the row the best live publications that come after its last entry."""
    kind = questions.kinds[slot // BLOCK]
    size, room = buffers.size[slot], buffers.capacity[slot] - buffers.size[slot]
    start, sign = buffers.start[slot], buffers.sign[slot]
    ages = _ages(rules, slot, live)
    last_key, last_stamp = -np.inf, LARGEST
    if size > 0:
        last = start + size - 1
        last_key, last_stamp = sign * buffers.score[last], live.stamp[buffers.item[last] - live.base]
    n_kept = 0
    n_found = 0
    lo = live.head
    while lo < hi:
        end = min(lo + RUN, hi)
        score_run(questions, slot, contents, lo, end, scratch.said, scratch.directed)
        scratch.counts[1] += end - lo
        for p in range(lo, end):
            directed = scratch.directed[p - lo]
            if live.stamp[p] < live.floor or ages.stamp[p] <= cut or directed == np.inf:
                continue
            score = raw_score(kind, directed)
            if direction(kind) * score > rules.limit[slot]:
                continue
            key = sign * score
            if worse(key, live.stamp[p], last_key, last_stamp):
                n_found += 1
                n_kept = heap_push(scratch.heap, n_kept, room, key, live.stamp[p], p)
        lo = end
    heap_sort(scratch.heap, n_kept)
    for i in range(n_kept):
        p = scratch.heap.items[i]
        at = start + size + i
        score_run(questions, slot, contents, p, p + 1, scratch.said, scratch.directed)
        buffers.score[at] = raw_score(kind, scratch.directed[0])
        buffers.item[at] = p + live.base
        buffers.mark[at] = 0
        rules.oldest[slot] = min(rules.oldest[slot], ages.stamp[p])
    buffers.size[slot] = size + n_kept
    buffers.whole[slot] = n_found == n_kept and n_kept < room
    scratch.counts[0] += 1


@kernel
def _settle_block(
    questions: Questions,
    rules: Rules,
    buffers: Buffers,
    contents: Contents,
    live: Live,
    block: int,
    step: int,
    steps: Steps,
    scratch: Scratch,
    told: Told,
) -> None:
    for i in range(BLOCK):
        slot = block * BLOCK + i
        cut = _cut(rules, slot, steps.now[step], steps.stamps_end[step])
        if rules.oldest[slot] <= cut:
            rules.oldest[slot] = expire(buffers, slot, _ages(rules, slot, live), cut)
            scratch.dirty[i] = True
        if scratch.dirty[i]:
            if buffers.size[slot] < buffers.k[slot] and not buffers.whole[slot]:
                _refill(questions, rules, buffers, contents, live, slot, steps.end[step], cut, scratch)
            settle(buffers, slot, steps.offset + step, Stamps(live.stamp, live.base), told)
            _set_gate(questions, rules, buffers, slot)
            scratch.dirty[i] = False


@kernel
def _arrive(
    questions: Questions,
    rules: Rules,
    buffers: Buffers,
    contents: Contents,
    live: Live,
    block: int,
    publication: int,
    step: int,
    scratch: Scratch,
    ghosts: Ghosts,
) -> None:
    """Offer one publication to the slots of a block."""
    kind = questions.kinds[block]
    score_block(questions, block, contents, publication, scratch.said, scratch.directed)
    gate = rules.gate[block * BLOCK : (block + 1) * BLOCK]
    for i in range(BLOCK):
        if scratch.directed[i] <= gate[i] and scratch.directed[i] < np.inf:
            slot = block * BLOCK + i
            score = raw_score(kind, scratch.directed[i])
            if direction(kind) * score > rules.limit[slot]:
                continue
            item = publication + live.base
            stamps = Stamps(live.stamp, live.base)
            if insert(buffers, slot, score, item, 0, stamps, True, step, ghosts):
                age = live.ts[publication] if rules.window_kind[slot] == TIME else live.stamp[publication]
                rules.oldest[slot] = min(rules.oldest[slot], age)
                _set_gate(questions, rules, buffers, slot)
                scratch.dirty[i] = True


@kernel
def scan(
    n_blocks: int,
    since: npt.NDArray[np.int64],
    questions: Questions,
    rules: Rules,
    buffers: Buffers,
    contents: Contents,
    live: Live,
    steps: Steps,
    scratch: Scratch,
    told: Told,
    ghosts: Ghosts,
) -> bool:
    """Work through the steps for the blocks from `since[0]` (in it from step `since[1]`) up to `n_blocks`.

    Returns False, with `since` set to where to go on, when `told` or `ghosts` has no room for the next step.
    """
    for block in range(since[0], n_blocks):
        n_tellable, n_entries = 0, 0
        for slot in range(block * BLOCK, (block + 1) * BLOCK):
            n_tellable += 2 * buffers.k[slot]
            n_entries += buffers.capacity[slot]
        for step in range(since[1], len(steps.end)):
            told_room = len(told.step) - told.length[0]
            if told_room < n_tellable or len(ghosts.step) - ghosts.length[0] < n_entries:
                since[0], since[1] = block, step
                return False
            begin = steps.first if step == 0 else steps.end[step - 1]
            for publication in range(begin, steps.end[step]):
                say(contents, publication, scratch.said)
                told_as = steps.offset + step
                _arrive(questions, rules, buffers, contents, live, block, publication, told_as, scratch, ghosts)
                unsay(contents, publication, scratch.said)
            _settle_block(questions, rules, buffers, contents, live, block, step, steps, scratch, told)
        since[1] = 0
    return True


@kernel
def fill(
    slots: npt.NDArray[np.int64],
    done: int,
    questions: Questions,
    rules: Rules,
    buffers: Buffers,
    contents: Contents,
    live: Live,
    steps: Steps,
    scratch: Scratch,
    told: Told,
) -> int:
    """The first answers of new slots, from `slots[done]` on; returns how many of them are done (see `scan`)."""
    for i in range(done, len(slots)):
        slot = slots[i]
        if len(told.step) - told.length[0] < 2 * buffers.k[slot]:
            return i
        cut = _cut(rules, slot, steps.now[0], steps.stamps_end[0])
        _refill(questions, rules, buffers, contents, live, slot, steps.end[0], cut, scratch)
        settle(buffers, slot, 0, Stamps(live.stamp, live.base), told)
        _set_gate(questions, rules, buffers, slot)
    return len(slots)


@kernel
def refresh_oldest(rules: Rules, buffers: Buffers, live: Live) -> None:
    """Find the least age of each row of a count window again, after late arrivals have moved the stamps."""
    for slot in range(len(rules.oldest)):
        if rules.window_kind[slot] == COUNT:
            oldest = LARGEST
            for at in range(buffers.start[slot], buffers.start[slot] + buffers.size[slot]):
                oldest = min(oldest, live.stamp[buffers.item[at] - live.base])
            rules.oldest[slot] = oldest


@kernel
def leave_all(slots: npt.NDArray[np.int64], buffers: Buffers, told: Told) -> None:
    """Tell that the members of these slots leave; `told` has room for them."""
    for slot in slots:
        tell_all_leave(buffers, slot, told)
