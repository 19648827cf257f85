"""Brute force over ranges: each change of an object is held against every subscription's range.

Work goes change by change over all blocks, since a row that runs short is searched for in the table of objects as it
is at that moment. Nothing is allocated: without room to tell, a call returns and is called again (see `scan`).
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.buffer import (
    DELIVERED,
    Buffers,
    FoundChanges,
    Ghosts,
    Stamps,
    find_item,
    has_room,
    insert,
    note_lost,
    remove_at,
    settle,
)


class ScanObjects(NamedTuple):
    """The objects by slot: `x` is (dimension, object); `label` is larger for a larger id."""

    x: Floats
    y: Floats
    alive: Bools
    label: Int64s


class ObjectChanges(NamedTuple):
    """What happens, in order: `end[t]` is the number of changes up to the end of step t; `x` is (change, dimension)."""

    object: Int64s
    x: Floats
    y: Floats
    alive: Bools
    end: Int64s


class Ranges(NamedTuple):
    """Ranges as (block, dimension, slot within block), both ends included.

    By (block, slot within block): `gate` is the largest y that can be in the row or enter it, `dirty` says that the row
    waits to be settled.
    """

    lo: Floats
    hi: Floats
    gate: Floats
    dirty: Bools


class Inside(NamedTuple):
    """Scratch: where an object was, the slots of a block that a change concerns by what was and by what is, a heap.

    `counts` adds up the rows searched from scratch, and the objects looked at on the way. `wanted` says how many
    changes and how many ghosts need room, where a kernel stopped for want of it.
    """

    x: Floats
    before: Bools
    after: Bools
    heap: Heap
    counts: Int64s
    wanted: Int64s


@kernel
def _mark_concerned(ranges: Ranges, block: int, x: Floats, y: float, alive: bool, marks: Bools) -> None:
    """Mark the slots of a block whose range holds x and whose row may hold y."""
    gate = ranges.gate[block]
    for i in range(BLOCK):
        marks[i] = alive & (y <= gate[i])
    if alive:
        lo, hi = ranges.lo[block], ranges.hi[block]
        for j in range(len(x)):
            for i in range(BLOCK):
                marks[i] &= (lo[j, i] <= x[j]) & (x[j] <= hi[j, i])


@inlined
def _set_gate(ranges: Ranges, buffers: Buffers, slot: int) -> None:
    # A row that is not whole admits only what is no worse than its last entry, and holds nothing worse.
    gate = np.inf
    if not buffers.whole[slot]:
        size = buffers.size[slot]
        gate = buffers.score[buffers.start[slot] + size - 1] if size > 0 else -np.inf
    ranges.gate[slot // BLOCK, slot % BLOCK] = gate


@kernel
def _update_row(
    buffers: Buffers,
    slot: int,
    object: int,
    y: float,
    alive: bool,
    taken: bool,
    objects: ScanObjects,
    step: int,
    ghosts: Ghosts,
) -> None:
    """Take the object out of the row, and offer it again if it is still in range."""
    mark = 0
    position = find_item(buffers, slot, object)
    if position >= 0:
        mark = buffers.mark[buffers.start[slot] + position] & DELIVERED
        remove_at(buffers, slot, position)
    kept = taken and insert(buffers, slot, y, object, mark, Stamps(objects.label, 0), False, step, ghosts)
    if mark and alive and not kept:
        note_lost(ghosts, step, slot, object)


@kernel
def _search(ranges: Ranges, buffers: Buffers, objects: ScanObjects, n_objects: int, slot: int, scratch: Inside) -> None:
    """Add to the row the lowest objects in range that come after its last entry."""
    block, i = slot // BLOCK, slot % BLOCK
    start, size = buffers.start[slot], buffers.size[slot]
    room = buffers.capacity[slot] - size
    last_y, last_label = -np.inf, np.iinfo(np.int64).max
    if size > 0:
        last = start + size - 1
        last_y, last_label = buffers.score[last], objects.label[buffers.item[last]]
    n_kept = 0
    x, y, alive, label, heap = objects.x, objects.y, objects.alive, objects.label, scratch.heap
    lo, hi = ranges.lo[block, :, i], ranges.hi[block, :, i]
    for object in range(n_objects):
        if not alive[object]:
            continue
        inside = True
        for j in range(len(lo)):
            inside &= (lo[j] <= x[j, object]) & (x[j, object] <= hi[j])
        if inside and worse(y[object], label[object], last_y, last_label):
            n_kept = heap_push(heap, n_kept, room, y[object], label[object], object)
    heap_sort(heap, n_kept)
    for n in range(n_kept):
        at = start + size + n
        buffers.score[at], buffers.item[at], buffers.mark[at] = heap.keys[n], heap.items[n], 0
    buffers.size[slot] = size + n_kept
    buffers.whole[slot] = n_kept < room
    scratch.counts[0] += 1
    scratch.counts[1] += n_objects


@kernel
def _change_object(
    change: int,
    n_blocks: int,
    ranges: Ranges,
    buffers: Buffers,
    objects: ScanObjects,
    changes: ObjectChanges,
    step: int,
    scratch: Inside,
    ghosts: Ghosts,
) -> None:
    object, alive = changes.object[change], changes.alive[change]
    was_alive, y_before, x_before = objects.alive[object], objects.y[object], scratch.x
    for j in range(len(x_before)):
        x_before[j] = objects.x[j, object]
        objects.x[j, object] = changes.x[change, j]
    objects.alive[object], objects.y[object] = alive, changes.y[change]
    x, y, before, after = changes.x[change], changes.y[change], scratch.before, scratch.after
    for block in range(n_blocks):
        _mark_concerned(ranges, block, x_before, y_before, was_alive, before)
        _mark_concerned(ranges, block, x, y, alive, after)
        for i in range(BLOCK):
            if before[i] or after[i]:
                slot = block * BLOCK + i
                _update_row(buffers, slot, object, y, alive, after[i], objects, step, ghosts)
                _set_gate(ranges, buffers, slot)
                ranges.dirty[block, i] = True


@kernel
def sweep(
    since: Int64s,
    n_blocks: int,
    ranges: Ranges,
    buffers: Buffers,
    objects: ScanObjects,
    n_objects: int,
    changes: ObjectChanges,
    scratch: Inside,
    told: FoundChanges,
    ghosts: Ghosts,
) -> bool:
    """Work through the changes from `since`: step, change, and block to settle. False: make room and call again."""
    wanted = scratch.wanted
    for step in range(since[0], len(changes.end)):
        wanted[0], wanted[1] = 0, 2 * n_blocks * BLOCK
        for change in range(since[1], changes.end[step]):
            if not has_room(told, ghosts, wanted):
                since[0], since[1], since[2] = step, change, 0
                return False
            _change_object(change, n_blocks, ranges, buffers, objects, changes, step, scratch, ghosts)
        for block in range(since[2], n_blocks):
            wanted[0], wanted[1] = 0, 0
            for slot in range(block * BLOCK, (block + 1) * BLOCK):
                wanted[0] += 2 * buffers.k[slot]
            if not has_room(told, ghosts, wanted):
                since[0], since[1], since[2] = step, changes.end[step], block
                return False
            for slot in range(block * BLOCK, (block + 1) * BLOCK):
                if ranges.dirty[block, slot % BLOCK]:
                    _settle_row(ranges, buffers, objects, n_objects, slot, step, scratch, told)
        since[1], since[2] = changes.end[step], 0
    return True


@kernel
def _settle_row(
    ranges: Ranges,
    buffers: Buffers,
    objects: ScanObjects,
    n_objects: int,
    slot: int,
    step: int,
    scratch: Inside,
    told: FoundChanges,
) -> None:
    if buffers.size[slot] < buffers.k[slot] and not buffers.whole[slot]:
        _search(ranges, buffers, objects, n_objects, slot, scratch)
    settle(buffers, slot, step, Stamps(objects.label, 0), told)
    _set_gate(ranges, buffers, slot)
    ranges.dirty[slot // BLOCK, slot % BLOCK] = False


@kernel
def search_rows(
    slots: Int64s,
    ranges: Ranges,
    buffers: Buffers,
    objects: ScanObjects,
    n_objects: int,
    scratch: Inside,
    told: FoundChanges,
) -> None:
    """The first answers of new slots; `told` has room for them."""
    for slot in slots:
        _settle_row(ranges, buffers, objects, n_objects, slot, 0, scratch, told)
