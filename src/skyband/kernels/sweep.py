"""Brute force over ranges: each change of an object is held against every subscription's range.

Work goes change by change over all blocks, since a row that runs short is searched for in the table of objects as it
is at that moment. Nothing is allocated: without room to tell, a call returns and is called again (see `scan`).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.kernels.buffer import (
    DELIVERED,
    Buffers,
    Ghosts,
    Stamps,
    Told,
    find_item,
    haunt,
    insert,
    remove_at,
    settle,
)
from skyband.kernels.compile import kernel
from skyband.kernels.heap import Heap, heap_push, heap_sort, worse
from skyband.kernels.slots import BLOCK


class Objects(NamedTuple):
    """The objects by slot: `x` is (dimension, object); `label` is larger for a larger id."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    alive: npt.NDArray[np.bool_]
    label: npt.NDArray[np.int64]


class ObjectChanges(NamedTuple):
    """What happens, in order: `end[t]` is the number of changes up to the end of step t; `x` is (change, dimension)."""

    object: npt.NDArray[np.int64]
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    alive: npt.NDArray[np.bool_]
    end: npt.NDArray[np.int64]


class Ranges(NamedTuple):
    """Ranges as (block, dimension, slot within block), both ends included, and which rows wait to be settled."""

    lo: npt.NDArray[np.float64]
    hi: npt.NDArray[np.float64]
    dirty: npt.NDArray[np.bool_]


class Inside(NamedTuple):
    """Scratch: which slots of a block hold a point before and after a change, a heap, and counts of searches."""

    before: npt.NDArray[np.bool_]
    after: npt.NDArray[np.bool_]
    heap: Heap
    counts: npt.NDArray[np.int64]


@kernel
def _holds(ranges: Ranges, block: int, x: npt.NDArray[np.float64], alive: bool, inside: npt.NDArray[np.bool_]) -> None:
    for i in range(BLOCK):
        inside[i] = alive
    if alive:
        for j in range(len(x)):
            lo, hi = ranges.lo[block, j], ranges.hi[block, j]
            for i in range(BLOCK):
                inside[i] &= (lo[i] <= x[j]) & (x[j] <= hi[i])


@kernel
def _update_row(
    buffers: Buffers,
    slot: int,
    object: int,
    y: float,
    alive: bool,
    taken: bool,
    objects: Objects,
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
        haunt(ghosts, step, slot, object)


@kernel
def _search(ranges: Ranges, buffers: Buffers, objects: Objects, n_objects: int, slot: int, scratch: Inside) -> None:
    """Add to the row the lowest objects in range that come after its last entry."""
    block, i = slot // BLOCK, slot % BLOCK
    start, size = buffers.start[slot], buffers.size[slot]
    room = buffers.capacity[slot] - size
    last_y, last_label = -np.inf, np.iinfo(np.int64).max
    if size > 0:
        last = start + size - 1
        last_y, last_label = buffers.score[last], objects.label[buffers.item[last]]
    n_kept, n_found = 0, 0
    for object in range(n_objects):
        if not objects.alive[object]:
            continue
        inside = True
        for j in range(objects.x.shape[0]):
            x = objects.x[j, object]
            inside &= (ranges.lo[block, j, i] <= x) & (x <= ranges.hi[block, j, i])
        if inside and worse(objects.y[object], objects.label[object], last_y, last_label):
            n_found += 1
            n_kept = heap_push(scratch.heap, n_kept, room, objects.y[object], objects.label[object], object)
    heap_sort(scratch.heap, n_kept)
    for n in range(n_kept):
        at = start + size + n
        buffers.score[at], buffers.item[at] = scratch.heap.keys[n], scratch.heap.items[n]
        buffers.mark[at] = 0
    buffers.size[slot] = size + n_kept
    buffers.whole[slot] = n_found == n_kept and n_kept < room
    scratch.counts[0] += 1
    scratch.counts[1] += n_objects


@kernel
def _change_object(
    change: int,
    n_blocks: int,
    ranges: Ranges,
    buffers: Buffers,
    objects: Objects,
    changes: ObjectChanges,
    step: int,
    scratch: Inside,
    ghosts: Ghosts,
) -> None:
    object, alive = changes.object[change], changes.alive[change]
    was_alive, x_before = objects.alive[object], objects.x[:, object].copy()
    objects.alive[object], objects.y[object] = alive, changes.y[change]
    objects.x[:, object] = changes.x[change]
    for block in range(n_blocks):
        _holds(ranges, block, x_before, was_alive, scratch.before)
        _holds(ranges, block, changes.x[change], alive, scratch.after)
        for i in range(BLOCK):
            if scratch.before[i] or scratch.after[i]:
                slot = block * BLOCK + i
                y = changes.y[change]
                _update_row(buffers, slot, object, y, alive, scratch.after[i], objects, step, ghosts)
                ranges.dirty[slot] = True


@kernel
def sweep(
    since: npt.NDArray[np.int64],
    n_blocks: int,
    ranges: Ranges,
    buffers: Buffers,
    objects: Objects,
    n_objects: int,
    changes: ObjectChanges,
    scratch: Inside,
    told: Told,
    ghosts: Ghosts,
) -> bool:
    """Work through the changes from `since`: step, change, and block to settle. False: make room and call again."""
    for step in range(since[0], len(changes.end)):
        for change in range(since[1], changes.end[step]):
            if len(ghosts.step) - ghosts.length[0] < 2 * n_blocks * BLOCK:
                since[0], since[1], since[2] = step, change, 0
                return False
            _change_object(change, n_blocks, ranges, buffers, objects, changes, step, scratch, ghosts)
        for block in range(since[2], n_blocks):
            n_tellable = 0
            for slot in range(block * BLOCK, (block + 1) * BLOCK):
                n_tellable += 2 * buffers.k[slot]
            if len(told.step) - told.length[0] < n_tellable:
                since[0], since[1], since[2] = step, changes.end[step], block
                return False
            for slot in range(block * BLOCK, (block + 1) * BLOCK):
                if ranges.dirty[slot]:
                    _settle_row(ranges, buffers, objects, n_objects, slot, step, scratch, told)
        since[1], since[2] = changes.end[step], 0
    return True


@kernel
def _settle_row(
    ranges: Ranges,
    buffers: Buffers,
    objects: Objects,
    n_objects: int,
    slot: int,
    step: int,
    scratch: Inside,
    told: Told,
) -> None:
    if buffers.size[slot] < buffers.k[slot] and not buffers.whole[slot]:
        _search(ranges, buffers, objects, n_objects, slot, scratch)
    settle(buffers, slot, step, Stamps(objects.label, 0), told)
    ranges.dirty[slot] = False


@kernel
def search_rows(
    slots: npt.NDArray[np.int64],
    ranges: Ranges,
    buffers: Buffers,
    objects: Objects,
    n_objects: int,
    scratch: Inside,
    told: Told,
) -> None:
    """The first answers of new slots; `told` has room for them."""
    for slot in slots:
        _settle_row(ranges, buffers, objects, n_objects, slot, 0, scratch, told)
