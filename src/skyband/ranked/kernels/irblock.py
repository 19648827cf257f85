"""The blocks of IR-trees: R-trees over intervals in the order of `ahead`, which grow and shrink an entry at a time.

Blocks have no more units than they need: a full one moves to a larger one, and one of 32 entries is split. A split
leaves 16 entries in a block and it takes 16 more to split it again, so no number of insertions makes an R-tree higher
than HIGHEST. `skyband.ranked.kernels.irtree` states the invariants.
"""

from typing import NamedTuple

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.simd import LANES
from skyband.ranked.kernels.irtree import FRESH, GIVEN_UP, NONE, ROOMIEST, UNIT, IrBlocks, whole
from skyband.ranked.kernels.parts import Parts, ahead

HALF = LANES // 2
HIGHEST = 16
# Units that a change of an R-tree, and of the bucket that it may split, needs at most.
RESERVE = ROOMIEST * (HIGHEST + 4)

# Rows of `way`, by level: the block and the entry in it; ROOT has the root and the height of the tree it leads through.
AT_BLOCK, AT_ENTRY, ROOT = range(3)


class IrEntry(NamedTuple):
    """A part, or a block, and its ends."""

    part: int
    low: int
    high: int


@inlined
def give_block(blocks: IrBlocks, block: int, units: int) -> None:
    """Give up a block, or the end of one."""
    blocks.part[block * UNIT] = blocks.free[units]
    blocks.free[units] = block
    blocks.units[block], blocks.size[block] = units, 0
    blocks.used[GIVEN_UP] += units


@kernel
def take_block(blocks: IrBlocks, units: int) -> int:
    """An empty block: one that was given up, the beginning of a larger one, or a new one, for which there is room."""
    free, used = blocks.free, blocks.used
    found = units
    while found <= ROOMIEST and free[found] < 0:
        found += 1
    if found <= ROOMIEST:
        block = free[found]
        free[found] = blocks.part[block * UNIT]
        used[GIVEN_UP] -= found
        if found > units:
            give_block(blocks, block + units, found - units)
    else:
        block = used[FRESH]
        used[FRESH] += units
    blocks.units[block], blocks.size[block] = units, 0
    return block


@inlined
def copy_entries(blocks: IrBlocks, source: int, n: int, to: int) -> None:
    """Copy entries from one place to another."""
    part, low, high = blocks.part, blocks.low, blocks.high
    for i in range(n):
        part[to + i], low[to + i], high[to + i] = part[source + i], low[source + i], high[source + i]


@kernel
def put_entry(blocks: IrBlocks, block: int, at: int, entry: IrEntry) -> int:
    """Put an entry into a block of less than 32, which may have to move; returns where it is."""
    part, low, high, n = blocks.part, blocks.low, blocks.high, whole(blocks.size[block])
    if n == UNIT * whole(blocks.units[block]):
        wider = take_block(blocks, whole(blocks.units[block]) + 1)
        copy_entries(blocks, block * UNIT, n, wider * UNIT)
        give_block(blocks, block, whole(blocks.units[block]))
        block = wider
    start = block * UNIT
    for place in range(start + n, start + at, -1):
        part[place], low[place], high[place] = part[place - 1], low[place - 1], high[place - 1]
    part[start + at], low[start + at], high[start + at] = entry.part, entry.low, entry.high
    blocks.size[block] = n + 1
    return block


@inlined
def _drop_entry(blocks: IrBlocks, block: int, at: int) -> int:
    """Take an entry out of a block; returns how many are left."""
    n, place = whole(blocks.size[block]) - 1, block * UNIT + at
    copy_entries(blocks, place + 1, n - at, place)
    blocks.size[block] = n
    return n


@inlined
def extent_of(blocks: IrBlocks, block: int) -> IrEntry:
    """A block as an entry of the one above it."""
    low, high, start = blocks.low, blocks.high, block * UNIT
    least, most = low[start], high[start]
    for place in range(start + 1, start + whole(blocks.size[block])):
        least, most = min(least, low[place]), max(most, high[place])
    return IrEntry(int(block), whole(least), whole(most))


@inlined
def first_part(entries: Int32s, place: int, level: int) -> int:
    """The first part of the entry at this place, of a block at this level."""
    found = whole(entries[place])
    for _ in range(level):
        found = whole(entries[found * UNIT])
    return found


@inlined
def _n_until(blocks: IrBlocks, parts: Parts, block: int, level: int, part: int) -> int:
    """How many entries of a block begin no later than a part."""
    entries, start = blocks.part, block * UNIT
    least, most = 0, whole(blocks.size[block])
    while least < most:
        middle = (least + most) // 2
        if ahead(parts, part, first_part(entries, start + middle, level)):
            most = middle
        else:
            least = middle + 1
    return least


@kernel
def lead(blocks: IrBlocks, parts: Parts, root: int, height: int, part: int, way: Int64s) -> None:
    """Note the way down an R-tree to where a part is, or would follow."""
    block = root
    way[ROOT, 0], way[ROOT, 1] = root, height
    for level in range(height, -1, -1):
        at = _n_until(blocks, parts, block, level, part) - 1
        if level > 0:
            at = max(at, 0)
        way[AT_BLOCK, level], way[AT_ENTRY, level] = block, at
        if level > 0:
            block = whole(blocks.part[block * UNIT + at])


@inlined
def _place_above(way: Int64s, level: int) -> int:
    """The place of the entry that leads to the way's block at this level."""
    return way[AT_BLOCK, level + 1] * UNIT + way[AT_ENTRY, level + 1]


@inlined
def _write_entry(blocks: IrBlocks, place: int, entry: IrEntry) -> None:
    blocks.part[place], blocks.low[place], blocks.high[place] = entry.part, entry.low, entry.high


@inlined
def _halve(blocks: IrBlocks, block: int) -> int:
    """Move the second half of a full block into another; returns that one. Either has a unit to spare."""
    other = take_block(blocks, HALF // UNIT + 1)
    copy_entries(blocks, block * UNIT + HALF, HALF, other * UNIT)
    blocks.size[block] = blocks.size[other] = HALF
    kept = HALF // UNIT + 1
    blocks.units[block] = kept
    give_block(blocks, block + kept, ROOMIEST - kept)
    return other


@kernel
def insert_entry(blocks: IrBlocks, entry: IrEntry, way: Int64s) -> None:
    """Put a part into the R-tree that the way leads through, behind the way's end; ROOT of the way is kept."""
    for level in range(1, way[ROOT, 1] + 1):
        place = way[AT_BLOCK, level] * UNIT + way[AT_ENTRY, level]
        blocks.low[place] = min(blocks.low[place], entry.low)
        blocks.high[place] = max(blocks.high[place], entry.high)
    level = 0
    while True:
        block, at, is_root = way[AT_BLOCK, level], way[AT_ENTRY, level] + 1, level == way[ROOT, 1]
        if blocks.size[block] < LANES:
            moved = put_entry(blocks, block, at, entry)
            if is_root:
                way[ROOT, 0] = moved
            else:
                blocks.part[_place_above(way, level)] = moved
            return
        other = _halve(blocks, block)
        if at > HALF:
            put_entry(blocks, other, at - HALF, entry)
        else:
            put_entry(blocks, block, at, entry)
        if is_root:
            root = take_block(blocks, 1)
            put_entry(blocks, root, 0, extent_of(blocks, block))
            put_entry(blocks, root, 1, extent_of(blocks, other))
            way[ROOT, 0], way[ROOT, 1] = root, level + 1
            return
        _write_entry(blocks, _place_above(way, level), extent_of(blocks, block))
        entry = extent_of(blocks, other)
        level += 1


@kernel
def remove_entry(blocks: IrBlocks, part: int, way: Int64s) -> bool:
    """Take the part at the way's end out of the R-tree; False if it is another. ROOT of the way is kept."""
    block, at, height = way[AT_BLOCK, 0], way[AT_ENTRY, 0], way[ROOT, 1]
    if at < 0 or blocks.part[block * UNIT + at] != part:
        return False
    level = 0
    while _drop_entry(blocks, way[AT_BLOCK, level], way[AT_ENTRY, level]) == 0:
        give_block(blocks, way[AT_BLOCK, level], whole(blocks.units[way[AT_BLOCK, level]]))
        level += 1
        if level > height:
            way[ROOT, 0], way[ROOT, 1] = NONE, 0
            return True
    for below in range(level, height):
        _write_entry(blocks, _place_above(way, below), extent_of(blocks, way[AT_BLOCK, below]))
    root = way[ROOT, 0]
    while height > 0 and blocks.size[root] == 1:
        child = whole(blocks.part[root * UNIT])
        give_block(blocks, root, whole(blocks.units[root]))
        root, height = child, height - 1
    way[ROOT, 0], way[ROOT, 1] = root, height
    return True
