"""The one contract of all scored interval indexes: open a cursor for a value, then get the next part in order.

An index in use is made of *layers*: a large one that is built as a whole and does not change, a smaller one of the same
kind for what came later, and IR-trees for what came last, an old one that is being merged into one of the others and a
young one. Each hands out its parts in order, and so do they together. Which functions search a static index follows
from its type, when a kernel is compiled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from skyband.kernels.array import Floats, Int32s, Int64s
from skyband.kernels.compile import by_type, inlined, kernel
from skyband.ranked.kernels.intervaltree import IntervalTree, next_interval, open_interval
from skyband.ranked.kernels.irtree import IrTree, next_ir, open_ir
from skyband.ranked.kernels.packed import Packed, next_packed, open_packed
from skyband.ranked.kernels.parts import CRAMPED, END, HI, LO, Parts, ahead
from skyband.ranked.kernels.segmenttree import SegmentTree, next_segment, open_segment

# The row of a dimension: the heads of the four layers, then the cursor of the large one, then the others'.
LARGE, SMALL, OLD, YOUNG, CURSORS = range(5)


class Layers(NamedTuple):
    """The two static indexes and the two IR-trees, and where in a row the cursors of the last three begin.

    A layer without parts has no cursor: it begins where the next one does.
    """

    large: Any
    small: Any
    old: IrTree
    young: IrTree
    at_small: int
    at_old: int
    at_young: int


# Start a cursor for the value [low, high] of a dimension; answers 0, or CRAMPED if it needs more room.
open_cursor: Callable[..., int] = by_type(
    {Packed: open_packed, SegmentTree: open_segment, IntervalTree: open_interval, IrTree: open_ir}
)
# The next part in order, to 32 bits, or END.
getnext: Callable[..., int] = by_type(
    {Packed: next_packed, SegmentTree: next_segment, IntervalTree: next_interval, IrTree: next_ir}
)


@inlined
def _is_alone(layers: Layers, row: Int64s) -> bool:
    """Whether only the large layer has parts."""
    return layers.at_small == len(row)


@inlined
def open_layers(layers: Layers, parts: Parts, dim: int, low: float, high: float, row: Int64s) -> int:
    """Start the cursors of all layers; answers 0, or CRAMPED."""
    if _is_alone(layers, row):
        return open_cursor(layers.large, dim, low, high, row[CURSORS:])
    return _open_all(layers, parts, dim, low, high, row)


@kernel
def _open_all(layers: Layers, parts: Parts, dim: int, low: float, high: float, row: Int64s) -> int:
    at_small, at_old, at_young = layers.at_small, layers.at_old, layers.at_young
    for layer in range(CURSORS):
        row[layer] = END
    opened = open_cursor(layers.large, dim, low, high, row[CURSORS:at_small])
    if at_old > at_small:
        opened += open_cursor(layers.small, dim, low, high, row[at_small:at_old])
    if at_young > at_old:
        opened += open_ir(layers.old, dim, low, high, row[at_old:at_young])
    if len(row) > at_young:
        opened += open_ir(layers.young, dim, low, high, row[at_young:])
    if opened != 0:
        return CRAMPED
    row[LARGE] = getnext(layers.large, parts, row[CURSORS:at_small])
    if at_old > at_small:
        row[SMALL] = getnext(layers.small, parts, row[at_small:at_old])
    if at_young > at_old:
        row[OLD] = next_ir(layers.old, parts, row[at_old:at_young])
    if len(row) > at_young:
        row[YOUNG] = next_ir(layers.young, parts, row[at_young:])
    return 0


@inlined
def next_of_layers(layers: Layers, parts: Parts, row: Int64s) -> int:
    """The next part of all layers in order, to 32 bits, or END."""
    if _is_alone(layers, row):
        return getnext(layers.large, parts, row[CURSORS:])
    return _next_of_all(layers, parts, row)


@kernel
def _next_of_all(layers: Layers, parts: Parts, row: Int64s) -> int:
    best = LARGE
    for layer in range(SMALL, CURSORS):
        if row[layer] != END and (row[best] == END or ahead(parts, row[layer], row[best])):
            best = layer
    part = row[best]
    if part == END:
        return END
    if best == LARGE:
        row[LARGE] = getnext(layers.large, parts, row[CURSORS : layers.at_small])
    elif best == SMALL:
        row[SMALL] = getnext(layers.small, parts, row[layers.at_small : layers.at_old])
    elif best == OLD:
        row[OLD] = next_ir(layers.old, parts, row[layers.at_old : layers.at_young])
    else:
        row[YOUNG] = next_ir(layers.young, parts, row[layers.at_young :])
    return part


@kernel
def first_parts(tree: Any, parts: Parts, dim: int, values: Floats, cursor: Int64s, found: Int32s) -> int:
    """For each value the first parts that it meets, as many as there is room for; answers how many in all.

    Rows of `found` end with END where fewer are met.
    """
    fact = parts.fact
    n_found = 0
    for i in range(len(values)):
        value, n = values[i], 0
        open_cursor(tree, dim, value, value, cursor)
        while n < found.shape[1]:
            part = getnext(tree, parts, cursor)
            if part == END:
                found[i, n] = END
                break
            if fact[part, LO] <= value <= fact[part, HI]:
                found[i, n] = part
                n += 1
        n_found += n
    return n_found
