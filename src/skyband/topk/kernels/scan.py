"""The brute-force loop: every arrival is scored for every subscription, a short row is searched again from scratch.

Blocks of subscriptions are independent: a call works on the blocks it is given and touches no other row, so several
threads may run disjoint ranges. Nothing is allocated: when there is no room left to tell changes the call returns how
far it came and is called again. A *step* is what changes are netted over: a whole batch, or one publication.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int8s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.buffer import (
    Buffers,
    FoundChanges,
    Ghosts,
    Stamps,
    drop_retracted,
    expire,
    has_room,
    insert,
    settle,
)
from skyband.topk.kernels.score import Contents, Questions, direction, gate_of, raw_score, score_run, score_tile

UNBOUNDED = 0
TIME = 1
COUNT = 2
# Publications scored at a time: for a block of slots, few enough to stay in the first cache, and for one slot.
TILE = 8
RUN = 1024
LARGEST = np.iinfo(np.int64).max
# A retracted publication keeps its place in the order of all, and its stamp is less than any floor by this much.
RETRACTED = 1 << 62


class Rules(NamedTuple):
    """For each slot, what it admits: `gate` bounds directed scores, `limit` is the directed threshold or +inf.

    `oldest` is no more than the least age in the slot's row (a time for time windows, a stamp for count windows, the
    largest integer where there is none or nothing ends): stamps may have risen since. `due` bounds, for each block, the
    time and the stamp at which an entry of one of its rows is over.
    """

    gate: Floats
    limit: Floats
    window_kind: Int8s
    window_size: Int64s
    oldest: Int64s
    due: Int64s


class Live(NamedTuple):
    """The stored publications by order of arrival: when, and how recent. `base` is the number of the first one.

    `floor` is the least stamp that is still live; below it everything is forgotten. `timeline` has the numbers of the
    publications from the oldest to the most recent: the one with stamp s is `timeline[s - origin]`. One that was
    retracted is still there, and has the stamp s - RETRACTED, which is below the floor.
    """

    ts: Int64s
    stamp: Int64s
    base: int
    head: int
    floor: int
    timeline: Int64s
    origin: int


class Steps(NamedTuple):
    """The steps of a call: step t ends before the publication with index `end[t]`, at `now[t]`, when all stamps
    below `stamps_end[t]` have been given out.

    `first` is the index of the first arrival; what is told in step t is told as of step `offset + t`.
    """

    first: int
    offset: int
    end: Int64s
    now: Int64s
    stamps_end: Int64s


class SubscriberRows(NamedTuple):
    """All that is kept of subscriptions, by slot."""

    questions: Questions
    rules: Rules
    buffers: Buffers


class Published(NamedTuple):
    """All that is kept of publications, by order of arrival."""

    contents: Contents
    live: Live


class Scratch(NamedTuple):
    """Working space: weights by term, scores of a tile and of a run, rows to settle, a heap.

    `counts` adds up the rows searched from scratch, the publications scored on the way, and the rows that held what
    was retracted. `wanted` says how many changes and how many ghosts need room, where a kernel stopped for want of it.
    """

    said: Floats
    tile: Floats
    run: Floats
    dirty: Bools
    heap: Heap
    counts: Int64s
    wanted: Int64s


@inlined
def _cut(rules: Rules, slot: int, now: int, stamps_end: int) -> int:
    """The largest age that is over, in the unit of the slot's window; the least integer where nothing ends."""
    if rules.window_kind[slot] == UNBOUNDED:
        return -LARGEST - 1
    latest = now if rules.window_kind[slot] == TIME else stamps_end - 1
    return latest - rules.window_size[slot]


@kernel
def _ages(rules: Rules, slot: int, live: Live) -> Stamps:
    if rules.window_kind[slot] == TIME:
        return Stamps(live.ts, live.base)
    return Stamps(live.stamp, live.base)


@inlined
def _note_age(rules: Rules, slot: int, live: Live, index: int) -> None:
    if rules.window_kind[slot] != UNBOUNDED:
        age = live.ts[index] if rules.window_kind[slot] == TIME else live.stamp[index]
        rules.oldest[slot] = min(rules.oldest[slot], age)
        _note_due(rules, slot)


@inlined
def _note_due(rules: Rules, slot: int) -> None:
    if rules.oldest[slot] < LARGEST:
        block, unit = slot // BLOCK, rules.window_kind[slot] - TIME
        rules.due[block, unit] = min(rules.due[block, unit], rules.oldest[slot] + rules.window_size[slot])


@inlined
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
def _collect(
    subscribers: SubscriberRows,
    published: Published,
    slot: int,
    hi: int,
    cut: int,
    scratch: Scratch,
) -> int:
    """Put the best live publications that come after the row's last entry into the heap; returns how many."""
    questions, rules, buffers = subscribers
    contents, live = published
    kind, sign = questions.kinds[slot // BLOCK], buffers.sign[slot]
    size, room = buffers.size[slot], buffers.capacity[slot] - buffers.size[slot]
    ages, heap, directed = _ages(rules, slot, live).stamp, scratch.heap, scratch.run
    last_key, last_stamp = -np.inf, LARGEST
    if size > 0:
        last = buffers.start[slot] + size - 1
        last_key, last_stamp = sign * buffers.score[last], live.stamp[buffers.item[last] - live.base]
    bound = gate_of(kind, rules.limit[slot])
    n_kept = 0
    for lo in range(live.head, hi, RUN):
        end = min(lo + RUN, hi)
        score_run(questions, slot, contents, lo, end, scratch.said, directed)
        for i in range(end - lo):
            if directed[i] > bound or directed[i] == np.inf:
                continue
            p = lo + i
            if live.stamp[p] < live.floor or ages[p] <= cut:
                continue
            score = raw_score(kind, directed[i])
            key = sign * score
            if direction(kind) * score <= rules.limit[slot] and worse(key, live.stamp[p], last_key, last_stamp):
                n_kept = heap_push(heap, n_kept, room, key, live.stamp[p], p)
                if n_kept == room and sign != 0.0:
                    bound = min(bound, gate_of(kind, heap.keys[0]))
    scratch.counts[1] += max(hi - live.head, 0)
    heap_sort(heap, n_kept)
    return n_kept


@kernel
def _refill(
    subscribers: SubscriberRows,
    published: Published,
    slot: int,
    hi: int,
    cut: int,
    scratch: Scratch,
) -> None:
    """Search everything live for the row, which is left full or whole."""
    questions, rules, buffers = subscribers
    contents, live = published
    n_kept = _collect(subscribers, published, slot, hi, cut, scratch)
    kind, end = questions.kinds[slot // BLOCK], buffers.start[slot] + buffers.size[slot]
    for i in range(n_kept):
        p = scratch.heap.items[i]
        # The key of a Boolean subscription is 0 whatever the score, so the score is computed once more.
        score_run(questions, slot, contents, p, p + 1, scratch.said, scratch.run)
        buffers.score[end + i] = raw_score(kind, scratch.run[0])
        buffers.item[end + i] = p + live.base
        buffers.mark[end + i] = 0
        _note_age(rules, slot, live, p)
    buffers.size[slot] += n_kept
    buffers.whole[slot] = buffers.size[slot] < buffers.capacity[slot]
    scratch.counts[0] += 1


@kernel
def _settle_row(
    subscribers: SubscriberRows,
    published: Published,
    slot: int,
    step: int,
    steps: Steps,
    scratch: Scratch,
    told: FoundChanges,
) -> None:
    """Search for the row if it runs short, and tell."""
    questions, rules, buffers = subscribers
    live = published.live
    if buffers.size[slot] < buffers.k[slot] and not buffers.whole[slot]:
        cut = _cut(rules, slot, steps.now[step], steps.stamps_end[step])
        _refill(subscribers, published, slot, steps.end[step], cut, scratch)
    settle(buffers, slot, steps.offset + step, Stamps(live.stamp, live.base), told)
    _set_gate(questions, rules, buffers, slot)


@kernel
def _expire_block(
    rules: Rules, buffers: Buffers, live: Live, block: int, now: int, stamps_end: int, dirty: Bools
) -> None:
    """Take out of the rows what is over, and mark those rows."""
    rules.due[block, 0] = rules.due[block, 1] = LARGEST
    for i in range(BLOCK):
        slot = block * BLOCK + i
        cut = _cut(rules, slot, now, stamps_end)
        if rules.oldest[slot] <= cut:
            rules.oldest[slot] = expire(buffers, slot, _ages(rules, slot, live), cut)
            dirty[i] = True
        _note_due(rules, slot)


@inlined
def _is_wanted(gate: Floats, directed: Floats, row: int) -> bool:
    """Whether the gate of any slot of a block lets its score pass."""
    for i in range(BLOCK):
        if directed[row, i] <= gate[i]:
            return True
    return False


@inlined
def _offer(
    subscribers: SubscriberRows,
    live: Live,
    block: int,
    gate: Floats,
    publication: int,
    row: int,
    step: int,
    scratch: Scratch,
    ghosts: Ghosts,
) -> bool:
    """Offer a publication to the slots of a block that may want it; returns whether any took it."""
    questions, rules, buffers = subscribers
    kind, taken = questions.kinds[block], False
    tile, limit, dirty, stamps = scratch.tile, rules.limit, scratch.dirty, Stamps(live.stamp, live.base)
    for i in range(BLOCK):
        directed = tile[row, i]
        if directed > gate[i] or directed == np.inf:
            continue
        slot = block * BLOCK + i
        score = raw_score(kind, directed)
        if direction(kind) * score > limit[slot]:
            continue
        if insert(buffers, slot, score, publication + live.base, 0, stamps, True, step, ghosts):
            _note_age(rules, slot, live, publication)
            _set_gate(questions, rules, buffers, slot)
            dirty[i] = taken = True
    return taken


@kernel
def _most_told(buffers: Buffers, block: int, wanted: Int64s) -> None:
    """How many changes and how many ghosts a step can bring in a block, at most."""
    wanted[:] = 0
    for slot in range(block * BLOCK, (block + 1) * BLOCK):
        wanted[0] += 2 * buffers.k[slot]
        wanted[1] += buffers.capacity[slot]


@kernel
def _scan_block(
    block: int,
    first_step: int,
    subscribers: SubscriberRows,
    published: Published,
    steps: Steps,
    scratch: Scratch,
    told: FoundChanges,
    ghosts: Ghosts,
) -> int:
    """Work through the steps for one block; returns the first one that there was no room for."""
    questions, rules, buffers = subscribers
    contents, live = published
    gate, dirty = rules.gate[block * BLOCK : (block + 1) * BLOCK], scratch.dirty
    _most_told(buffers, block, scratch.wanted)
    publication = steps.first if first_step == 0 else steps.end[first_step - 1]
    scored_from, scored_to = publication, publication
    for step in range(first_step, len(steps.end)):
        if not has_room(told, ghosts, scratch.wanted):
            return step
        touched = False
        while publication < steps.end[step]:
            if publication == scored_to:
                scored_from, scored_to = publication, min(publication + TILE, steps.end[-1])
                score_tile(questions, block, contents, scored_from, scored_to, scratch.said, scratch.tile)
            row = publication - scored_from
            if _is_wanted(gate, scratch.tile, row):
                told_as = steps.offset + step
                touched |= _offer(subscribers, live, block, gate, publication, row, told_as, scratch, ghosts)
            publication += 1
        if rules.due[block, 0] <= steps.now[step] or rules.due[block, 1] < steps.stamps_end[step]:
            _expire_block(rules, buffers, live, block, steps.now[step], steps.stamps_end[step], dirty)
            touched = True
        if touched:
            for i in range(BLOCK):
                if dirty[i]:
                    slot = block * BLOCK + i
                    _settle_row(subscribers, published, slot, step, steps, scratch, told)
                    dirty[i] = False
    return len(steps.end)


@kernel
def scan(
    since: Int64s,
    n_blocks: int,
    subscribers: SubscriberRows,
    published: Published,
    steps: Steps,
    scratch: Scratch,
    told: FoundChanges,
    ghosts: Ghosts,
) -> bool:
    """Work through the steps for the blocks from `since[0]` (in it from step `since[1]`) up to `n_blocks`.

    Returns False, with `since` set to where to go on, when `told` or `ghosts` has no room for the next step;
    `scratch.wanted` says how much it needs.
    """
    for block in range(since[0], n_blocks):
        reached = _scan_block(block, since[1], subscribers, published, steps, scratch, told, ghosts)
        if reached < len(steps.end):
            since[0], since[1] = block, reached
            return False
        since[1] = 0
    return True


@kernel
def fill(
    slots: Int64s,
    done: int,
    subscribers: SubscriberRows,
    published: Published,
    steps: Steps,
    scratch: Scratch,
    told: FoundChanges,
) -> int:
    """The answers of slots that are new or ask for another k, from `slots[done]` on (see `scan`).

    Returns how many of them are done.
    """
    buffers = subscribers.buffers
    for i in range(done, len(slots)):
        slot = slots[i]
        scratch.wanted[0], scratch.wanted[1] = buffers.k[slot] + max(buffers.k[slot], buffers.size[slot]), 0
        if told.length[0] + scratch.wanted[0] > len(told.step):
            return i
        _settle_row(subscribers, published, slot, 0, steps, scratch, told)
    return len(slots)


@inlined
def _find_oldest(rules: Rules, buffers: Buffers, live: Live, slot: int) -> None:
    """Find the least age of a row again."""
    ages, oldest = live.ts if rules.window_kind[slot] == TIME else live.stamp, LARGEST
    for at in range(buffers.start[slot], buffers.start[slot] + buffers.size[slot]):
        oldest = min(oldest, ages[buffers.item[at] - live.base])
    rules.oldest[slot] = oldest
    _note_due(rules, slot)


@kernel
def mend(
    slots: Int64s,
    done: int,
    subscribers: SubscriberRows,
    published: Published,
    steps: Steps,
    scratch: Scratch,
    told: FoundChanges,
) -> int:
    """Take what was retracted out of the rows of slots, from `slots[done]` on (see `scan`), and fill them again.

    Returns how many of them are done.
    """
    rules, buffers, live = subscribers.rules, subscribers.buffers, published.live
    stamps = Stamps(live.stamp, live.base)
    for i in range(done, len(slots)):
        slot = slots[i]
        scratch.wanted[0], scratch.wanted[1] = 2 * buffers.k[slot], 0
        if told.length[0] + scratch.wanted[0] > len(told.step):
            return i
        if drop_retracted(buffers, slot, stamps):
            if rules.window_kind[slot] != UNBOUNDED:
                _find_oldest(rules, buffers, live, slot)
            _settle_row(subscribers, published, slot, 0, steps, scratch, told)
            scratch.counts[2] += 1
    return len(slots)
