"""Buffers: for each subscription a short row of its best live candidates, and what of it was already told.

A row lies in the pool at `start`: `size` entries, best first, in at most `capacity` places, then `k` places for entries
that were told as members and have gone since (`departed`). Entries are ordered by `sign * score` (smaller is better),
then by stamp (larger is better); `sign` is 0 for a Boolean subscription, whose matches differ in recency alone.

Invariants, between steps: the row holds exactly the best `size` of its live candidates; `whole` says that it holds all
of them, which it can only say while it is not full; `size >= min(k, live candidates)`; MEMBER marks the first k entries
and no others; no entry has departed.

Loops take the arrays they need out of their NamedTuples first: inside a loop each `buffers.score[at]` would count a
reference up and down.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Bytes, Floats, Int8s, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import worse

MEMBER = 1
DELIVERED = 2

ENTER = 0
LEAVE = 1
MOVE = 2


class Buffers(NamedTuple):
    """One row a slot; `score`, `item` and `mark` are the pool that the rows lie in."""

    start: Int64s
    capacity: Int64s
    k: Int64s
    size: Int64s
    departed: Int64s
    whole: Bools
    sign: Floats
    score: Floats
    item: Int64s
    mark: Bytes


class FoundChanges(NamedTuple):
    """Changes as they are found; `length[0]` are in use. `rank` is 0 on leave."""

    length: Int64s
    step: Int64s
    slot: Int64s
    item: Int64s
    op: Int8s
    score: Floats
    rank: Int32s
    first: Bools


class Ghosts(NamedTuple):
    """Delivered items that their row holds no longer, and that may yet return; `length[0]` are in use."""

    length: Int64s
    step: Int64s
    slot: Int64s
    item: Int64s


class Stamps(NamedTuple):
    """The recency of items: item i has `stamp[i - base]`."""

    stamp: Int64s
    base: int


def make_told(capacity: int) -> FoundChanges:
    """Room for `capacity` changes."""
    return FoundChanges(
        np.zeros(1, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int8),
        np.zeros(capacity),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.bool_),
    )


def make_ghosts(capacity: int) -> Ghosts:
    """Room for `capacity` ghosts."""
    return Ghosts(np.zeros(1, np.int64), *(np.zeros(capacity, np.int64) for _ in range(3)))


@kernel
def has_room(told: FoundChanges, ghosts: Ghosts, wanted: Int64s) -> bool:
    """Whether there is room for so many changes, and so many ghosts."""
    return told.length[0] + wanted[0] <= len(told.step) and ghosts.length[0] + wanted[1] <= len(ghosts.step)


@kernel
def place_of(buffers: Buffers, row: int, score: float, stamp: int, stamps: Stamps) -> int:
    """How many entries of the row are better than this candidate."""
    scores, items, recency = buffers.score, buffers.item, stamps.stamp
    start, sign = buffers.start[row], buffers.sign[row]
    i = buffers.size[row]
    while i > 0:
        at = start + i - 1
        if not worse(sign * scores[at], recency[items[at] - stamps.base], sign * score, stamp):
            break
        i -= 1
    return i


@kernel
def find_item(buffers: Buffers, row: int, item: int) -> int:
    """The position of an item in the row, or -1."""
    items, start = buffers.item, buffers.start[row]
    for i in range(buffers.size[row]):
        if items[start + i] == item:
            return i
    return -1


@kernel
def mark_all(buffers: Buffers, rows: Int64s, items: Int64s, held: Bools) -> None:
    """Mark the item of each pair of row and item as delivered; `held` says whether the row has it."""
    for i in range(len(rows)):
        position = find_item(buffers, rows[i], items[i])
        if position >= 0:
            buffers.mark[buffers.start[rows[i]] + position] |= np.uint8(DELIVERED)
            held[i] = True


@kernel
def find_departed(buffers: Buffers, row: int, item: int) -> int:
    """The pool index of an item among the departed, or -1."""
    start = buffers.start[row] + buffers.capacity[row]
    for at in range(start, start + buffers.departed[row]):
        if buffers.item[at] == item:
            return at
    return -1


@kernel
def remove_at(buffers: Buffers, row: int, position: int) -> None:
    """Take an entry out of the row; a member is kept among the departed until the step is settled."""
    scores, items, marks = buffers.score, buffers.item, buffers.mark
    start = buffers.start[row]
    gone = start + position
    if marks[gone] & MEMBER:
        to = start + buffers.capacity[row] + buffers.departed[row]
        scores[to], items[to] = scores[gone], items[gone]
        buffers.departed[row] += 1
    last = start + buffers.size[row] - 1
    for at in range(gone, last):
        scores[at], items[at], marks[at] = scores[at + 1], items[at + 1], marks[at + 1]
    buffers.size[row] -= 1


@kernel
def _is_outlived(buffers: Buffers, row: int, stamps: Stamps) -> bool:
    # k better and more recent entries: the last one can never be told again.
    items, recency, base = buffers.item, stamps.stamp, stamps.base
    start = buffers.start[row]
    last = start + buffers.size[row] - 1
    stamp = recency[items[last] - base]
    n_newer = 0
    for at in range(start, last):
        if recency[items[at] - base] > stamp:
            n_newer += 1
    return n_newer >= buffers.k[row]


@kernel
def note_lost(ghosts: Ghosts, step: int, row: int, item: int) -> None:
    """Note that a delivered item is held by its row no longer."""
    ghost = ghosts.length[0]
    ghosts.step[ghost], ghosts.slot[ghost], ghosts.item[ghost] = step, row, item
    ghosts.length[0] += 1


@kernel
def insert(
    buffers: Buffers,
    row: int,
    score: float,
    item: int,
    mark: int,
    stamps: Stamps,
    fades: bool,
    step: int,
    ghosts: Ghosts,
) -> bool:
    """Offer a live candidate to the row; returns whether the row took it.

    `fades` says that candidates expire in the order of their stamps, so that k better and newer ones end all hope.
    """
    position = place_of(buffers, row, score, stamps.stamp[item - stamps.base], stamps)
    size, capacity = buffers.size[row], buffers.capacity[row]
    if position == size and not buffers.whole[row]:
        return False
    scores, items, marks = buffers.score, buffers.item, buffers.mark
    start = buffers.start[row]
    if size == capacity:
        if marks[start + size - 1] & DELIVERED and not (fades and _is_outlived(buffers, row, stamps)):
            note_lost(ghosts, step, row, items[start + size - 1])
        remove_at(buffers, row, size - 1)
        size -= 1
    for at in range(start + size, start + position, -1):
        scores[at], items[at], marks[at] = scores[at - 1], items[at - 1], marks[at - 1]
    at = start + position
    scores[at], items[at], marks[at] = score, item, mark
    buffers.size[row] = size + 1
    if size + 1 == capacity:
        buffers.whole[row] = False
    return True


@kernel
def expire(buffers: Buffers, row: int, ages: Stamps, cut: int) -> int:
    """Remove every entry whose age is at most `cut`; returns the least age left, or the largest integer."""
    items, since, start = buffers.item, ages.stamp, buffers.start[row]
    i = 0
    oldest = np.iinfo(np.int64).max
    while i < buffers.size[row]:
        age = since[items[start + i] - ages.base]
        if age <= cut:
            remove_at(buffers, row, i)
        else:
            oldest = min(oldest, age)
            i += 1
    return oldest


@kernel
def drop_retracted(buffers: Buffers, row: int, stamps: Stamps) -> bool:
    """Remove every entry that was retracted, which is one with a stamp below 0; says whether there was one."""
    items, start, size = buffers.item, buffers.start[row], buffers.size[row]
    for i in range(size - 1, -1, -1):
        if stamps.stamp[items[start + i] - stamps.base] < 0:
            remove_at(buffers, row, i)
    return buffers.size[row] < size


@inlined
def tell(told: FoundChanges, step: int, row: int, item: int, op: int, score: float, rank: int, first: bool) -> None:
    """Note a change; `told` has room for it."""
    at = told.length[0]
    told.step[at], told.slot[at], told.item[at] = step, row, item
    told.op[at], told.score[at], told.rank[at], told.first[at] = op, score, rank, first
    told.length[0] += 1


@kernel
def sort_told(told: FoundChanges, lo: int, sign: float, recency: Int64s, base: int) -> None:
    """Sort the leaves of one row, a handful that begins at `lo`, by the order they were ranked in."""
    for i in range(lo + 1, told.length[0]):
        item, score = told.item[i], told.score[i]
        stamp = recency[item - base]
        j = i
        while j > lo and worse(sign * told.score[j - 1], recency[told.item[j - 1] - base], sign * score, stamp):
            told.item[j], told.score[j] = told.item[j - 1], told.score[j - 1]
            j -= 1
        told.item[j], told.score[j] = item, score


@kernel
def leave_all(rows: Int64s, buffers: Buffers, told: FoundChanges) -> None:
    """Tell that the members of these rows leave, best first; `told` has room for them."""
    for row in rows:
        start = buffers.start[row]
        for at in range(start, start + buffers.size[row]):
            if buffers.mark[at] & MEMBER:
                tell(told, 0, row, buffers.item[at], LEAVE, buffers.score[at], 0, False)


@kernel
def settle(buffers: Buffers, row: int, step: int, stamps: Stamps, told: FoundChanges) -> None:
    """Tell how the first k of the row differ from what was told before: leaves, then moves and enters by rank."""
    scores, items, marks = buffers.score, buffers.item, buffers.mark
    start, size = buffers.start[row], buffers.size[row]
    n_top = min(buffers.k[row], size)
    lo = told.length[0]
    for at in range(start + n_top, start + size):
        if marks[at] & MEMBER:
            marks[at] &= ~np.uint8(MEMBER)
            tell(told, step, row, items[at], LEAVE, scores[at], 0, False)
    first_departed = start + buffers.capacity[row]
    for at in range(first_departed, first_departed + buffers.departed[row]):
        position = find_item(buffers, row, items[at])
        if position < 0 or position >= n_top:
            tell(told, step, row, items[at], LEAVE, scores[at], 0, False)
    sort_told(told, lo, buffers.sign[row], stamps.stamp, stamps.base)
    for i in range(n_top):
        at = start + i
        if marks[at] & MEMBER:
            continue
        was = find_departed(buffers, row, items[at])
        if was < 0:
            tell(told, step, row, items[at], ENTER, scores[at], i + 1, not marks[at] & DELIVERED)
        elif scores[was] != scores[at]:
            tell(told, step, row, items[at], MOVE, scores[at], i + 1, False)
        marks[at] |= np.uint8(MEMBER | DELIVERED)
    buffers.departed[row] = 0


def check_row(buffers: Buffers, row: int, stamps: Stamps) -> None:
    """Assert the invariants of a row that can be seen without the candidates."""
    start, size, k = buffers.start[row], buffers.size[row], buffers.k[row]
    assert 0 <= size <= buffers.capacity[row]
    assert buffers.departed[row] == 0
    assert not (buffers.whole[row] and size == buffers.capacity[row])
    assert buffers.whole[row] or size >= k
    entries = range(start, start + size)
    keys = [(buffers.sign[row] * buffers.score[at], -stamps.stamp[buffers.item[at] - stamps.base]) for at in entries]
    assert keys == sorted(keys)
    assert len({int(buffers.item[at]) for at in entries}) == size
    for i, at in enumerate(entries):
        assert bool(buffers.mark[at] & MEMBER) == (i < k)
