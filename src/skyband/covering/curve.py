"""Points on a curve: the SFC array with as many nodes as it needs."""

from typing import Any

import numpy as np

from skyband.covering.kernels.curve import order_of
from skyband.covering.kernels.sfc import HEIGHT, INNER, LEAF, SIZE, SfcNodes, insert_all, make_array, remove_all
from skyband.covering.kernels.sfcbuild import build, check_array, curve_keys
from skyband.kernels.array import Int64s
from skyband.kernels.growth import resized, resized_all
from skyband.kernels.room import stops
from skyband.kernels.simd import Cells


class Curve:
    """An SFC array that grows, along the Z curve or the Hilbert curve.

    `array` is for the kernels, and is another one after an addition.
    """

    def __init__(self, dims: int, bits: int, hilbert: bool = False) -> None:
        self.dims = dims
        self.bits = bits
        self.hilbert = hilbert
        self.array = make_array(dims, bits, hilbert=hilbert)

    @property
    def size(self) -> int:
        """How many points there are."""
        return int(self.array.shape[SIZE])

    @property
    def n_places(self) -> int:
        """How many points there would be room for."""
        return int(self.array.leaves.child.size)

    def insert(self, cells: Cells, slots: Int64s) -> None:
        """Put in points, whose slots are not there yet."""
        for done in stops(lambda done: insert_all(self.array, cells, slots, done), len(slots)):
            self.make_room(len(slots) - done)

    def remove(self, cells: Cells, slots: Int64s) -> None:
        """Take points out, which are there with these cells."""
        n = remove_all(self.array, cells, slots)
        assert n == len(slots), "A point that is not on the curve was to be removed."

    def rebuild(self, cells: Cells, slots: Int64s) -> None:
        """Have these points instead."""
        slots, cells = np.asarray(slots, np.int64), np.asarray(cells)
        by_slot = np.argsort(slots, kind="stable")
        order = by_slot[order_of(curve_keys(cells[by_slot], self.bits, self.hilbert))]
        self.array = build(cells[order], slots[order], self.bits, hilbert=self.hilbert)

    def make_room(self, n: int) -> None:
        """Make more free nodes, enough for one more insertion at least and about enough for `n`."""
        array = self.array
        more = (n // 16 + 2, n // 256 + int(array.shape[HEIGHT]) + 4)
        leaves, inners = (_grown(nodes, more[kind]) for kind, nodes in ((LEAF, array.leaves), (INNER, array.inners)))
        free = list[Int64s]()
        for kind, (before, after) in enumerate(((array.leaves, leaves), (array.inners, inners))):
            n_free, new = int(array.n_free[kind]), np.arange(len(before.length), len(after.length))
            stack = np.zeros(len(after.length), np.int64)
            stack[: n_free + len(new)] = np.append(new[::-1], array.free[kind][:n_free])
            free.append(stack)
            array.n_free[kind] += len(new)
        self.array = array._replace(leaves=leaves, inners=inners, free=(free[LEAF], free[INNER]))

    def check(self, cells: Cells, slots: Int64s) -> None:
        """Assert the invariants, and that just these points are there."""
        keys = curve_keys(cells, self.bits, self.hilbert)
        assert check_array(self.array) == sorted(zip(map(tuple, keys.tolist()), slots.tolist(), strict=True))

    @property
    def n_bytes(self) -> int:
        """The size in bytes."""
        array = self.array
        parts: list[Any] = [array.leaves.length, array.leaves.upper, array.leaves.child, *array.inners, *array.free]
        return sum(part.nbytes for part in parts)


def _grown(nodes: SfcNodes, more: int) -> SfcNodes:
    """Nodes with at least so many more, and at least half as many again."""
    n = len(nodes.length) + max(more, len(nodes.length) // 2)
    longer = resized_all(nodes, n, ("length", "upper", "child", "key", "tie"))
    return longer._replace(lower=longer.upper if nodes.lower is nodes.upper else resized(nodes.lower, n))
