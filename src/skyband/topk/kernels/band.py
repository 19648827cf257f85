"""Bands: for each subscription the candidates that may still enter its top, in rows of varying length in one pool.

A row lies in the pool at `start`: `size` entries, best first, in `room` places. Entries are ordered by `sign * score`
(smaller is better), then by stamp (larger is better); `sign` is 0 for a Boolean subscription, whose matches differ in
recency alone. `state` holds the marks of an entry in its two lowest bits and, above them, how many entries of the row
are better and newer: its *dominators*. An entry with k of them can never enter the top and is evicted.

Invariants, between steps: a row is sorted and holds no item twice; MEMBER marks the first k entries and no others; in a
row that evicts by dominance every entry counts its dominators exactly and has fewer than k; rows do not overlap.
`bound` is the key up to which the row is complete: +inf if it holds every live candidate that may enter the top;
`bound_item` is what the bound was taken from, since a tie with it is decided by recency.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.buffer import ENTER, LEAVE, FoundChanges, sort_told, tell
from skyband.topk.kernels.deliveries import DeliverySet, remember

MEMBER = 1
DELIVERED = 2
MARKS = 3
ONE_DOMINATOR = 4
# Four classes for each power of two: 4, 5, 6, 7, 8, 10, 12, 14, 16 and so on.
N_CLASSES = 112
# The place of a publication in the order of all is its stamp, which is less by 2**62 for one that was retracted.
PLACE = (1 << 62) - 1
ROOMS = np.array([4 + room_class % 4 << room_class // 4 for room_class in range(N_CLASSES)], np.int64)


# Columns of `head`.
START = 0
ROOM = 1
SIZE = 2
K = 3
BOUND_ITEM = 4
N_HEAD = 5

# Columns of `gauge`.
SIGN = 0
BOUND = 1
N_GAUGE = 2


class Bands(NamedTuple):
    """One row a slot, with its whole numbers in `head` and its others in `gauge`; `score`, `item` and `state` are the
    pool. New rooms are made in an *arena*, the part of the pool that one thread has: `free` heads the rooms by class
    that were given up, and what was never used is from `end[0]` to `end[1]`.

    Few arrays on purpose: a call counts references for each array that it is given.
    """

    head: Int64s
    gauge: Floats
    score: Floats
    item: Int64s
    state: Int32s
    free: Int64s
    end: Int64s


class Recency(NamedTuple):
    """The stamps of items: item i has `stamp[i - base]`. `in_order` says that newcomers are newer than all else."""

    stamp: Int64s
    base: int
    in_order: bool


class Departed(NamedTuple):
    """Members that left a row since the last settling, `length[0]` of them."""

    length: Int64s
    item: Int64s
    score: Floats


def make_departed(capacity: int) -> Departed:
    """Room for `capacity` members."""
    return Departed(np.zeros(1, np.int64), np.zeros(capacity, np.int64), np.zeros(capacity))


@inlined
def _room_of(room_class: int) -> int:
    return (4 + room_class % 4) << (room_class // 4)


@kernel
def class_for(length: int) -> int:
    """The class of the smallest room for this many entries."""
    room_class = 0
    while _room_of(room_class + 3) < length:
        room_class += 4
    while _room_of(room_class) < length:
        room_class += 1
    return room_class


@kernel
def most_taken(length: int) -> int:
    """How many fresh places of the pool a row may take at most until it has room for this many entries."""
    return 8 * _room_of(class_for(length))


@kernel
def free_row(bands: Bands, slot: int) -> None:
    """Give up the row's room."""
    if bands.head[slot, ROOM] > 0:
        room_class = class_for(bands.head[slot, ROOM])
        bands.item[bands.head[slot, START]] = bands.free[room_class]
        bands.free[room_class] = bands.head[slot, START]
    bands.head[slot, ROOM] = bands.head[slot, SIZE] = 0


@kernel
def free_rows(slots: Int64s, bands: Bands) -> None:
    """Give up the room of these rows."""
    for slot in slots:
        free_row(bands, slot)


@kernel
def deal(frees: Int64s, items: Int64s, n: int, arena: int) -> int:
    """Deal the rooms that were given up to the first n arenas, evenly by class.

    Returns how many places this arena has got in classes of which it had none.
    """
    n_got = 0
    for room_class in range(frees.shape[1]):
        had_none, rooms, to = frees[arena, room_class] < 0, -1, 0
        for each in range(len(frees)):
            while frees[each, room_class] >= 0:
                room = frees[each, room_class]
                frees[each, room_class], items[room], rooms = items[room], rooms, room
        while rooms >= 0:
            room, rooms = rooms, items[rooms]
            items[room], frees[to, room_class] = frees[to, room_class], room
            if had_none and to == arena:
                n_got += _room_of(room_class)
            to = (to + 1) % n
    return n_got


@kernel
def ensure_room(bands: Bands, slot: int, length: int) -> None:
    """Move the row to where it has room for `length` entries; the pool has room for that."""
    if length <= bands.head[slot, ROOM]:
        return
    room_class, size = class_for(length), bands.head[slot, SIZE]
    to = bands.free[room_class]
    if to >= 0:
        bands.free[room_class] = bands.item[to]
    else:
        to = bands.end[0]
        bands.end[0] += _room_of(room_class)
    scores, items, states, start = bands.score, bands.item, bands.state, bands.head[slot, START]
    for i in range(size):
        scores[to + i], items[to + i], states[to + i] = scores[start + i], items[start + i], states[start + i]
    free_row(bands, slot)
    bands.head[slot, START], bands.head[slot, ROOM], bands.head[slot, SIZE] = to, _room_of(room_class), size


@kernel
def lay_out_rows(bands: Bands, rooms: Int64s, into: Bands) -> None:
    """Copy all rows to another pool, one behind the other, each into a room of this length: of a class, or 0."""
    heads, to = bands.head, into.end[0]
    for slot in range(len(heads)):
        start = heads[slot, START]
        for i in range(heads[slot, SIZE]):
            into.score[to + i], into.item[to + i] = bands.score[start + i], bands.item[start + i]
            into.state[to + i] = bands.state[start + i]
        heads[slot, START], heads[slot, ROOM] = to, rooms[slot]
        to += rooms[slot]
    into.end[0] = to


@inlined
def place_in(bands: Bands, slot: int, key: float, stamp: int, recency: Recency) -> int:
    """How many entries of the row are better than this candidate."""
    scores, items, start, sign = bands.score, bands.item, bands.head[slot, START], bands.gauge[slot, SIGN]
    lo, hi = 0, bands.head[slot, SIZE]
    while lo < hi:
        middle = (lo + hi) // 2
        other = sign * scores[start + middle]
        if other > key or (other == key and recency.stamp[items[start + middle] - recency.base] < stamp):
            hi = middle
        else:
            lo = middle + 1
    return lo


@inlined
def depart(bands: Bands, at: int, departed: Departed) -> None:
    """Note that an entry leaves its row, if it was told as a member."""
    if bands.state[at] & MEMBER:
        n = departed.length[0]
        departed.item[n], departed.score[n] = bands.item[at], bands.score[at]
        departed.length[0] = n + 1


@inlined
def is_within(bands: Bands, slot: int, key: float, item: int, recency: Recency) -> bool:
    """Whether a candidate lies within the row's bound; a tie is decided by recency, like everything."""
    bound = bands.gauge[slot, BOUND]
    behind = bands.head[slot, BOUND_ITEM] - recency.base
    # What the bound was taken from may have been retracted since, and keeps its place.
    tied = behind < 0 or recency.stamp[item - recency.base] >= recency.stamp[behind] & PLACE
    return key < bound or (key == bound and tied)


@inlined
def _dominate(bands: Bands, slot: int, position: int, stamp: int, recency: Recency, departed: Departed) -> None:
    """Count a newcomer for the older entries behind its position, and evict those that have k dominators by now."""
    items, states, stamps = bands.item, bands.state, recency.stamp
    start, size = bands.head[slot, START], bands.head[slot, SIZE]
    full = bands.head[slot, K] * ONE_DOMINATOR
    n_full = 0
    for at in range(start + position, start + size):
        if recency.in_order or stamps[items[at] - recency.base] < stamp:
            states[at] += ONE_DOMINATOR
            if states[at] >= full:
                n_full += 1
    if n_full:
        keep_undominated(bands, slot, position, departed)


@inlined
def keep_undominated(bands: Bands, slot: int, first: int, departed: Departed) -> None:
    """Evict the entries from position `first` on that have k dominators."""
    scores, items, states, start = bands.score, bands.item, bands.state, bands.head[slot, START]
    full = bands.head[slot, K] * ONE_DOMINATOR
    to = start + first
    for at in range(start + first, start + bands.head[slot, SIZE]):
        if states[at] >= full:
            depart(bands, at, departed)
        else:
            scores[to], items[to], states[to] = scores[at], items[at], states[at]
            to += 1
    bands.head[slot, SIZE] = to - start


@inlined
def _write(bands: Bands, slot: int, position: int, score: float, item: int, state: int) -> None:
    size = bands.head[slot, SIZE]
    ensure_room(bands, slot, size + 1)
    scores, items, states = bands.score, bands.item, bands.state
    at, end = bands.head[slot, START] + position, bands.head[slot, START] + size
    while end > at:
        scores[end], items[end], states[end] = scores[end - 1], items[end - 1], states[end - 1]
        end -= 1
    scores[at], items[at], states[at] = score, item, state
    bands.head[slot, SIZE] = size + 1


@inlined
def insert_undominated(bands: Bands, slot: int, score: float, item: int, recency: Recency, departed: Departed) -> int:
    """Offer a candidate to a row that evicts by dominance; returns its position, or -1 if k entries dominate it."""
    items, stamps, start = bands.item, recency.stamp, bands.head[slot, START]
    stamp = stamps[item - recency.base]
    position = place_in(bands, slot, bands.gauge[slot, SIGN] * score, stamp, recency)
    n_dominators = 0
    if not recency.in_order:
        for at in range(start, start + position):
            if stamps[items[at] - recency.base] > stamp:
                n_dominators += 1
        if n_dominators >= bands.head[slot, K]:
            return -1
    if position < bands.head[slot, SIZE]:
        _dominate(bands, slot, position, stamp, recency, departed)
    _write(bands, slot, position, score, item, n_dominators * ONE_DOMINATOR)
    return position


@kernel
def insert_best(bands: Bands, slot: int, capacity: int, score: float, item: int, recency: Recency) -> int:
    """Offer a candidate to a row of the `capacity` best; returns its position, or -1 if it comes after all of them.

    A row that is full is left with one entry too many, for the caller to drop.
    """
    size, stamp = bands.head[slot, SIZE], recency.stamp[item - recency.base]
    position = place_in(bands, slot, bands.gauge[slot, SIGN] * score, stamp, recency)
    if position == size and (bands.gauge[slot, BOUND] < np.inf or size >= capacity):
        bands.gauge[slot, BOUND] = -np.inf
        return -1
    _write(bands, slot, position, score, item, 0)
    return position


@kernel
def drop_last(bands: Bands, slot: int, departed: Departed) -> None:
    """Let go of the row's worst entry; the row is not complete any more."""
    depart(bands, bands.head[slot, START] + bands.head[slot, SIZE] - 1, departed)
    bands.head[slot, SIZE] -= 1
    bands.gauge[slot, BOUND] = -np.inf


@kernel
def is_outlived(bands: Bands, slot: int, recency: Recency) -> bool:
    """Whether k entries of the row are better and newer than its last one, which then never returns."""
    items, stamps, base = bands.item, recency.stamp, recency.base
    start, last = bands.head[slot, START], bands.head[slot, START] + bands.head[slot, SIZE] - 1
    stamp, n_newer = stamps[items[last] - base], 0
    for at in range(start, last):
        if stamps[items[at] - base] > stamp:
            n_newer += 1
    return n_newer >= bands.head[slot, K]


@inlined
def insert(
    bands: Bands,
    slot: int,
    capacity: int,
    score: float,
    item: int,
    recency: Recency,
    departed: Departed,
    deliveries: DeliverySet,
    turn: int,
) -> int:
    """Offer a candidate to a row of the `capacity` best, or, where that is 0, to one that evicts by dominance.

    Returns its position, or -1 if the row did not take it. What a row of the best lets go of is remembered if it was
    delivered and may return.
    """
    if capacity == 0:
        position = -1
        if is_within(bands, slot, bands.gauge[slot, SIGN] * score, item, recency):
            position = insert_undominated(bands, slot, score, item, recency, departed)
        return position
    position = insert_best(bands, slot, capacity, score, item, recency)
    if position >= 0 and bands.head[slot, SIZE] > capacity:
        last = bands.head[slot, START] + capacity
        if bands.state[last] & DELIVERED and not is_outlived(bands, slot, recency):
            remember(deliveries, turn, bands.item[last])
        drop_last(bands, slot, departed)
    return position


@kernel
def mark_rows(bands: Bands, slots: Int64s, items: Int64s, held: Bools) -> None:
    """Mark the item of each pair of slot and item as delivered; `held` says whether the row has it."""
    for i in range(len(slots)):
        start = bands.head[slots[i], START]
        for at in range(start, start + bands.head[slots[i], SIZE]):
            if bands.item[at] == items[i]:
                bands.state[at] |= np.int32(DELIVERED)
                held[i] = True
                break


@kernel
def tighten(bands: Bands, slot: int, length: int, departed: Departed) -> None:
    """Cut a long row to the best so many, and bound it there.

    As safe as a search that looked for that many: what is better than the bound is in the row or dominated.
    """
    cut_row(bands, slot, length, departed)
    last = bands.head[slot, START] + length - 1
    bands.gauge[slot, BOUND] = bands.gauge[slot, SIGN] * bands.score[last]
    bands.head[slot, BOUND_ITEM] = bands.item[last]


@kernel
def remember_behind(bands: Bands, slot: int, length: int, deliveries: DeliverySet, turn: int) -> None:
    """Remember what a row has behind the best so many that was delivered, since it is to be cut there."""
    start = bands.head[slot, START]
    for at in range(start + length, start + bands.head[slot, SIZE]):
        if bands.state[at] & DELIVERED:
            remember(deliveries, turn, bands.item[at])


@inlined
def expire_row(bands: Bands, slot: int, ages: Int64s, base: int, cut: int, departed: Departed) -> int:
    """Remove every entry whose age is at most `cut`; returns the least age left, or the largest integer."""
    scores, items, states, start = bands.score, bands.item, bands.state, bands.head[slot, START]
    oldest = np.iinfo(np.int64).max
    to = start
    for at in range(start, start + bands.head[slot, SIZE]):
        age = ages[items[at] - base]
        if age <= cut:
            depart(bands, at, departed)
            continue
        oldest = min(oldest, age)
        if to < at:
            scores[to], items[to], states[to] = scores[at], items[at], states[at]
        to += 1
    bands.head[slot, SIZE] = to - start
    return oldest


@kernel
def best_retracted(bands: Bands, slot: int, stamps: Int64s, base: int) -> int:
    """The position of the row's best entry that was retracted, which has a stamp below 0; -1 if there is none."""
    items, start = bands.item, bands.head[slot, START]
    for i in range(bands.head[slot, SIZE]):
        if stamps[items[start + i] - base] < 0:
            return i
    return -1


@kernel
def cut_row(bands: Bands, slot: int, length: int, departed: Departed) -> None:
    """Let go of all entries but the best so many."""
    start = bands.head[slot, START]
    for at in range(start + length, start + bands.head[slot, SIZE]):
        depart(bands, at, departed)
    bands.head[slot, SIZE] = length


@kernel
def leave_rows(slots: Int64s, bands: Bands, told: FoundChanges) -> None:
    """Tell that the members of these rows leave, best first; `told` has room for them."""
    for slot in slots:
        start = bands.head[slot, START]
        for at in range(start, start + min(bands.head[slot, K], bands.head[slot, SIZE])):
            tell(told, 0, slot, bands.item[at], LEAVE, bands.score[at], 0, False)


@inlined
def _find(items: Int64s, lo: int, hi: int, item: int) -> int:
    for at in range(lo, hi):
        if items[at] == item:
            return at
    return -1


@inlined
def settle_row(bands: Bands, slot: int, step: int, recency: Recency, departed: Departed, told: FoundChanges) -> int:
    """Tell how the first k entries differ from what was told before: leaves, then enters by rank.

    Returns how many enters were told last, which the caller may yet find to be no first ones.
    """
    scores, items, states = bands.score, bands.item, bands.state
    start, size = bands.head[slot, START], bands.head[slot, SIZE]
    end = start + min(bands.head[slot, K], size)
    lo = told.length[0]
    for at in range(end, start + size):
        if states[at] & MEMBER:
            states[at] &= ~np.int32(MEMBER)
            tell(told, step, slot, items[at], LEAVE, scores[at], 0, False)
    for i in range(departed.length[0]):
        back = _find(items, start, end, departed.item[i])
        if back < 0:
            tell(told, step, slot, departed.item[i], LEAVE, departed.score[i], 0, False)
        else:
            states[back] |= np.int32(MEMBER | DELIVERED)
    if told.length[0] > lo + 1:
        sort_told(told, lo, bands.gauge[slot, SIGN], recency.stamp, recency.base)
    departed.length[0] = 0
    n_enters = 0
    for at in range(start, end):
        if states[at] & MEMBER == 0:
            tell(told, step, slot, items[at], ENTER, scores[at], at - start + 1, states[at] & DELIVERED == 0)
            states[at] |= np.int32(MEMBER | DELIVERED)
            n_enters += 1
    return n_enters


def check_band(bands: Bands, slot: int, recency: Recency, dominance: bool) -> None:
    """Assert the invariants of a row that can be seen without the candidates."""
    start, size, k, sign = bands.head[slot, START], bands.head[slot, SIZE], bands.head[slot, K], bands.gauge[slot, SIGN]
    assert 0 <= size <= bands.head[slot, ROOM]
    entries = range(start, start + size)
    stamps = [int(recency.stamp[bands.item[at] - recency.base]) for at in entries]
    keys = [(float(sign * bands.score[at]), -stamp) for at, stamp in zip(entries, stamps, strict=True)]
    assert keys == sorted(keys)
    assert len({int(bands.item[at]) for at in entries}) == size
    for i, at in enumerate(entries):
        assert bool(bands.state[at] & MEMBER) == (i < k)
        if dominance:
            n_dominators = sum(stamp > stamps[i] for stamp in stamps[:i])
            assert bands.state[at] // ONE_DOMINATOR == n_dominators < k
