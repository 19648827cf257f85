"""How members are divided into blocks of a tier, or pages: again and again in two, so that much can be said of each.

Ends are shares between 0 and 1 of what lies below them, so that the length of an interval is about the chance that an
event meets it. The expected bound of a block is then the sum over dimensions of the length of its extent times its
greatest weight. How often a page is looked at is expected to be the product of these lengths. A group is divided at the
median of that end, of a dimension and a side, for which a sample of the group says that what is expected of the two is
least together.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Float32s, Int64s
from skyband.kernels.compile import inlined, kernel

SAMPLE = 64


class DividedMembers(NamedTuple):
    """By member and twice the dimension (lower end, upper end) shares, by member and dimension weights.

    Where a member asks for nothing its lower end is 1 and its upper end 0. `size` members make a block or a page, of
    which the `product` of the lengths is expected, or the sum of bounds.
    """

    end: Float32s
    weight: Float32s
    size: int
    product: bool


class Corner(NamedTuple):
    """Scratch for a sample: keys, and for both halves the extents and weights by dimension."""

    key: Float32s
    lo: Float32s
    hi: Float32s
    weight: Float32s


def make_corner(n_dims: int) -> Corner:
    """Scratch for so many dimensions."""
    return Corner(np.zeros(SAMPLE, np.float32), *(np.zeros((2, n_dims), np.float32) for _ in range(3)))


@kernel
def divide(members: DividedMembers, order: Int64s, start: int, stop: int, stack: Int64s, corner: Corner) -> None:
    """Put the members from `start` to `stop` of the order into such an order that every `size` of them lie close."""
    n = 2
    stack[0], stack[1] = start, stop
    while n > 0:
        first, last = stack[n - 2], stack[n - 1]
        n -= 2
        if last - first > members.size:
            coordinate = _choose(members, order, first, last, corner)
            n_blocks = (last - first + members.size - 1) // members.size
            middle = first + (n_blocks + 1) // 2 * members.size
            _select(members.end, coordinate, order, first, last, middle)
            stack[n], stack[n + 1], stack[n + 2], stack[n + 3] = first, middle, middle, last
            n += 4


@kernel
def _choose(members: DividedMembers, order: Int64s, first: int, last: int, corner: Corner) -> int:
    """The end to divide by."""
    n_sample = min(SAMPLE, last - first)
    best, least = 0, np.inf
    for coordinate in range(members.end.shape[1]):
        _sorted_sample(members.end, coordinate, order, first, last, n_sample, corner.key)
        if corner.key[0] == corner.key[n_sample - 1]:
            continue
        cost = _expected(members, order, first, last, n_sample, coordinate, corner.key[n_sample // 2], corner)
        if cost < least:
            best, least = coordinate, cost
    return best


@kernel
def _sorted_sample(
    end: Float32s, coordinate: int, order: Int64s, first: int, last: int, n_sample: int, key: Float32s
) -> None:
    for i in range(n_sample):
        value = end[order[first + i * (last - first) // n_sample], coordinate]
        j = i
        while j > 0 and key[j - 1] > value:
            key[j] = key[j - 1]
            j -= 1
        key[j] = value


@kernel
def _expected(
    members: DividedMembers,
    order: Int64s,
    first: int,
    last: int,
    n_sample: int,
    coordinate: int,
    cut: float,
    corner: Corner,
) -> float:
    """What is expected of the two halves of a sample together."""
    end, weight, n_dims = members.end, members.weight, members.weight.shape[1]
    for j in range(n_dims):
        for side in range(2):
            corner.lo[side, j], corner.hi[side, j], corner.weight[side, j] = 1.0, 0.0, 0.0
    for i in range(n_sample):
        member = order[first + i * (last - first) // n_sample]
        side = 0 if end[member, coordinate] < cut else 1
        for j in range(n_dims):
            corner.lo[side, j] = min(corner.lo[side, j], end[member, 2 * j])
            corner.hi[side, j] = max(corner.hi[side, j], end[member, 2 * j + 1])
            corner.weight[side, j] = max(corner.weight[side, j], weight[member, j])
    return _product(corner, n_dims) if members.product else _sum(corner, n_dims)


@inlined
def _length(corner: Corner, side: int, dim: int) -> float:
    return max(corner.hi[side, dim] - corner.lo[side, dim], np.float32(0.0))


@inlined
def _sum(corner: Corner, n_dims: int) -> float:
    total = 0.0
    for j in range(n_dims):
        for side in range(2):
            total += _length(corner, side, j) * corner.weight[side, j]
    return total


@inlined
def _product(corner: Corner, n_dims: int) -> float:
    total = 0.0
    for side in range(2):
        chance = 1.0
        for j in range(n_dims):
            chance *= _length(corner, side, j)
        total += chance
    return total


@inlined
def _swap(order: Int64s, i: int, j: int) -> None:
    order[i], order[j] = order[j], order[i]


@kernel
def _select(end: Float32s, coordinate: int, order: Int64s, first: int, last: int, middle: int) -> None:
    """Let no member before the middle have a greater coordinate than one from it on."""
    low, high = first, last - 1
    while low < high:
        pivot = end[order[low + (high - low) // 2], coordinate]
        i, j = low, high
        while i <= j:
            while end[order[i], coordinate] < pivot:
                i += 1
            while end[order[j], coordinate] > pivot:
                j -= 1
            if i <= j:
                _swap(order, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
