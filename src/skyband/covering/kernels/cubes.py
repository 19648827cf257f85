"""The standard cubes of an extremal rectangle, the largest first (covering paper, section 5).

The universe has 2**k cells along each of d dimensions, k being `bits`. An extremal rectangle has the side lengths L and
shares the universe's highest corner. Its greedy decomposition into standard cubes, which are the fewest that can be,
is walked in the paper's steps: the sides 2**i descending, the numbers m of dimensions along which a rectangle is one
cube wide, the choices `fd` of these dimensions, the rectangles `r` (Algorithm 1), the cubes of each (Algorithm 2).

A step changes a range of adjacent levels in few dimensions, so the keys are mended by masks that were made beforehand:
no bit is interleaved anew. Invariants between steps: `r[z]` is the place of a bit of L[z], equal
to i for the dimensions of fd and greater for those in `free`; `low[z]` is in the stretch of 2**r[z] cells which that
bit stands for, and a multiple of 2**i; `first` and `last` are the keys of the cube's lowest and highest cell.
"""

from typing import NamedTuple

import numpy as np

from skyband.covering.kernels.curve import Words, key_of, n_words, order_of, spread_table
from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel

END = -1

# The places of `state`.
LEVEL, N_FREE, N_OPTIONAL, SUBSET, ANY_BIT = 0, 1, 2, 3, 4

ZERO, ONE = np.uint64(0), np.uint64(1)
FULL = ~ZERO


class CubeWalk(NamedTuple):
    """Where an enumeration is: the cube of the last step in `low`, `first` and `last`, and all it takes to go on.

    `below` has, for a dimension and a level, the bits of a key that belong to lower levels of that dimension.
    """

    low: Int64s
    first: Words
    last: Words
    lengths: Int64s
    r: Int64s
    free: Int64s
    state: Int64s
    spread: Words
    below: Words


def make_walk(dims: int, bits: int) -> CubeWalk:
    """A walk at its end; it can be started again and again."""
    words = n_words(dims, bits)
    below = np.zeros((dims, bits + 1, words), np.uint64)
    for j in range(dims):
        for level in range(bits):
            bit = level * dims + dims - 1 - j
            below[j, level + 1] = below[j, level]
            below[j, level + 1, words - 1 - bit // 64] |= ONE << np.uint64(bit % 64)
    low, lengths, r, free = (np.zeros(dims, np.int64) for _ in range(4))
    first, last = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    return CubeWalk(low, first, last, lengths, r, free, np.zeros(5, np.int64), spread_table(dims), below)


@inlined
def bit_length(number: int) -> int:
    """The paper's b(x): the number of bits of a whole number below 2**52, and 0 for 0."""
    # The exponent of the number as a float; half of one is added so that 0 has the exponent -1.
    return int(np.float64(number + 0.5).view(np.int64) >> 52) - 1022


@kernel
def start_walk(lengths: Int64s, walk: CubeWalk) -> None:
    """Go to the beginning; each length is from 1 to 2**bits."""
    least = lengths[0]
    any_bit = 0
    for j in range(len(lengths)):
        walk.lengths[j] = lengths[j]
        least = min(least, lengths[j])
        any_bit |= lengths[j]
    _leave_level(walk.state, bit_length(least))
    walk.state[ANY_BIT] = any_bit


@inlined
def _leave_level(state: Int64s, level: int) -> None:
    state[LEVEL], state[N_FREE], state[N_OPTIONAL], state[SUBSET] = level, 0, 0, 0


@inlined
def next_cube(walk: CubeWalk) -> int:
    """The level i of the next cube, whose sides are 2**i, or END."""
    if enum_std_cube(walk) or enumerate_rectangle(walk) or next_fixed_dim(walk) or next_level(walk):
        return walk.state[LEVEL]
    return END


@inlined
def _flip(walk: CubeWalk, z: int, start: int, stop: int) -> None:
    """Invert the levels from `start` to `stop` of a dimension in the keys."""
    first, last, lower, upper = walk.first, walk.last, walk.below[z, start], walk.below[z, stop]
    for word in range(len(first)):
        mask = lower[word] ^ upper[word]
        first[word] ^= mask
        last[word] ^= mask


@inlined
def enum_std_cube(walk: CubeWalk) -> bool:
    """Algorithm 2: the next cube of the rectangle r; after the last one it is the first one again, and False.

    The bits of c[z] below r[z] - i are counted up, dimension after dimension with a carry from one to the next.
    """
    low, r, free, state = walk.low, walk.r, walk.free, walk.state
    level = state[LEVEL]
    for i in range(state[N_FREE]):
        z = free[i]
        before, top = low[z], r[z]
        # Adding one inverts a run of bits that starts at `level`.
        stop = bit_length(before ^ (before + (1 << level)))
        carries = stop > top
        stop = min(stop, top)
        low[z] = before ^ ((1 << stop) - (1 << level))
        _flip(walk, z, level, stop)
        if not carries:
            return True
    return False


@kernel
def enumerate_rectangle(walk: CubeWalk) -> bool:
    """Algorithm 1: the next rectangle of fd, with its first cube; after the last one it is the first one, and False.

    The paper's slip is where it starts: at the highest bit of a free dimension, also where that is i, which repeats a
    rectangle of a larger fd (of 7 x 5, r = (2, 2) two times more: 67 cells for 35). There is no such fd here.
    """
    lengths, r, free, level = walk.lengths, walk.r, walk.free, walk.state[LEVEL]
    for i in range(walk.state[N_FREE]):
        z = free[i]
        rest = (lengths[z] & ((1 << r[z]) - 1)) >> (level + 1)
        if rest:
            _move_stretch(walk, z, level + bit_length(rest))
            return True
        above = lengths[z] >> (r[z] + 1)
        while above:
            # Bit by bit, for the way back inverts the same ranges of levels as the way here.
            _move_stretch(walk, z, r[z] + bit_length(above & -above))
            above = lengths[z] >> (r[z] + 1)
    return False


@inlined
def _move_stretch(walk: CubeWalk, z: int, to: int) -> None:
    """Change r[z] to the next higher or lower bit of L[z]; low[z] is at the start of its stretch, before and after."""
    # Equation 1 for both bits: they differ in the levels between them and in their own ones, and in all of these.
    start, stop = min(walk.r[z], to), max(walk.r[z], to) + 1
    walk.low[z] ^= (1 << stop) - (1 << start)
    _flip(walk, z, start, stop)
    walk.r[z] = to


@kernel
def next_fixed_dim(walk: CubeWalk) -> bool:
    """The next fd of FixedDim(L, i, m), or the first one of the next m; False after the last m."""
    state = walk.state
    subset, n = state[SUBSET], state[N_OPTIONAL]
    lowest = subset & -subset
    carried = subset + lowest
    # The next larger number with as many bits: the lowest run of ones gives one to the left, the rest goes far right.
    following = carried | ((subset ^ carried) >> (bit_length(lowest) + 1))
    if subset == 0 or following >> n:
        m = 1
        while subset:
            subset &= subset - 1
            m += 1
        if m > n:
            return False
        following = (1 << m) - 1
    state[SUBSET] = following
    _fix(walk)
    return True


@kernel
def next_level(walk: CubeWalk) -> bool:
    """The next lower i for which D_i is not empty, with the first fd that has rectangles; False at the end."""
    lengths, state = walk.lengths, walk.state
    rest = state[ANY_BIT] & ((1 << state[LEVEL]) - 1)
    _leave_level(state, max(bit_length(rest) - 1, 0))
    if rest == 0:
        return False
    level, must_fix = state[LEVEL], False
    for j in range(len(lengths)):
        if lengths[j] >> (level + 1) == 0:
            must_fix = True
        else:
            state[N_OPTIONAL] += (lengths[j] >> level) & 1
    # m is at least 1.
    state[SUBSET] = 0 if must_fix else 1
    _fix(walk)
    return True


@inlined
def _fix(walk: CubeWalk) -> None:
    """Go to the first cube of the first rectangle of fd.

    A dimension whose highest bit is at i is in every fd: left free it has no bit above i, and there are no rectangles.
    The subset is of the other ones that have a bit at i.
    """
    lengths, r, free, low, state, first, last = (
        walk.lengths, walk.r, walk.free, walk.low, walk.state, walk.first, walk.last,
    )  # fmt: skip
    dims, bits, level, subset = len(lengths), walk.below.shape[1] - 1, state[LEVEL], state[SUBSET]
    n_free = 0
    for z in range(dims):
        length = lengths[z]
        is_free = True
        if length >> (level + 1) == 0:
            is_free = False
        elif (length >> level) & 1:
            is_free = subset & 1 == 0
            subset >>= 1
        r[z] = bit_length(length) - 1 if is_free else level
        # Equation 1 in one number. Algorithm 2 has a 1 at place r[z] where it must be at r[z] - i.
        low[z] = (1 << bits) - (length >> r[z] << r[z])
        if is_free:
            free[n_free] = z
            n_free += 1
    state[N_FREE] = n_free
    key_of(low, bits, walk.spread, first)
    for word in range(len(first)):
        n_inside = min(max(dims * level - 64 * (len(first) - 1 - word), 0), 64)
        last[word] = first[word] | (FULL >> np.uint64(64 - n_inside) if n_inside else ZERO)


@inlined
def volume(lengths: Int64s) -> float:
    """How many cells a rectangle has."""
    cells = 1.0
    for j in range(len(lengths)):
        cells *= float(lengths[j])
    return cells


def n_cubes(lengths: Int64s) -> list[int]:
    """N_i, the numbers of cubes with sides 2**i, by Lemma 3.4; there are none larger than the last one."""
    sides = [int(length) for length in lengths]
    numbers = []
    for i in range(min(sides).bit_length()):
        inside = inside_above = 1
        for side in sides:
            inside *= side >> i
            inside_above *= side >> (i + 1) << 1
        numbers.append(inside - inside_above)
    return numbers


@kernel
def write_cubes(walk: CubeWalk, levels: Int64s, firsts: Words, lasts: Words) -> int:
    """Write the next cubes, as many as there are rows, and return how many there were."""
    first, last = walk.first, walk.last
    for i in range(len(levels)):
        levels[i] = next_cube(walk)
        if levels[i] == END:
            return i
        for word in range(len(first)):
            firsts[i, word], lasts[i, word] = first[word], last[word]
    return len(levels)


def runs(lengths: Int64s, bits: int) -> int:
    """How many runs of the Z curve a rectangle is: cubes that touch along the curve are one."""
    n, dims = sum(n_cubes(lengths)), len(lengths)
    walk = make_walk(dims, bits)
    start_walk(np.asarray(lengths, np.int64), walk)
    firsts, lasts = (np.empty((n, n_words(dims, bits)), np.uint64) for _ in range(2))
    write_cubes(walk, np.empty(n, np.int64), firsts, lasts)
    order = order_of(firsts)
    # The key after the last one of a cube: a word is counted up where all those that are less significant are full.
    full = np.logical_and.accumulate(lasts[order, :0:-1] == FULL, axis=1)[:, ::-1]
    after = lasts[order] + np.append(full, np.ones((n, 1), np.bool_), axis=1)
    return n - int((after[:-1] == firsts[order[1:]]).all(axis=1).sum())


def rectangles(lengths: Int64s, bits: int, i: int) -> list[tuple[int, ...]]:
    """The vectors r of the rectangles that D_i is made of, in the order they are walked in."""
    walk = make_walk(len(lengths), bits)
    start_walk(np.asarray(lengths, np.int64), walk)
    found: list[tuple[int, ...]] = []
    if walk.state[LEVEL] <= i or not walk.state[ANY_BIT] >> i & 1:
        return found
    walk.state[LEVEL] = i + 1
    next_level(walk)
    while True:
        found.append(tuple(walk.r.tolist()))
        if not (enumerate_rectangle(walk) or next_fixed_dim(walk)):
            return found


def check_walk(walk: CubeWalk, level: int) -> None:
    """Assert the invariants after a step to a cube of this level."""
    dims, bits = len(walk.low), walk.below.shape[1] - 1
    key = np.empty_like(walk.first)
    free = walk.free[: walk.state[N_FREE]].tolist()
    assert level == walk.state[LEVEL]
    for z in range(dims):
        place, start = int(walk.r[z]), (1 << bits) - (int(walk.lengths[z]) >> int(walk.r[z]) << int(walk.r[z]))
        assert walk.lengths[z] >> place & 1
        assert place > level if z in free else place == level
        assert start <= walk.low[z] < start + (1 << place)
        assert walk.low[z] % (1 << level) == 0
    key_of(walk.low, bits, walk.spread, key)
    assert np.array_equal(key, walk.first)
    key_of(walk.low + (1 << level) - 1, bits, walk.spread, key)
    assert np.array_equal(key, walk.last)
