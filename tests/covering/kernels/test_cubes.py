"""Standard cubes against a recursive quadtree, and against the figures of the covering paper."""

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest

from skyband.covering.kernels.cubes import (
    END,
    CubeWalk,
    check_walk,
    make_walk,
    n_cubes,
    next_cube,
    rectangles,
    runs,
    start_walk,
    volume,
    write_cubes,
)
from skyband.covering.kernels.curve import keys_of, n_words
from skyband.kernels.array import Int64s

Cube = tuple[int, tuple[int, ...]]


def cubes_of(lengths: Int64s, bits: int) -> list[Cube]:
    """All cubes in the order they come, with the walk checked on the way."""
    walk, found = make_walk(len(lengths), bits), []
    start_walk(lengths, walk)
    while (level := next_cube(walk)) != END:
        check_walk(walk, level)
        found.append((int(level), tuple(walk.low.tolist())))
    assert next_cube(walk) == END
    assert next_cube(walk) == END
    return found


def quadtree(lengths: Int64s, bits: int) -> set[Cube]:
    """The twin: a node within the region is a cube, one that overlaps it is cut, along one dimension after another."""
    corner = [(1 << bits) - int(length) for length in lengths]
    found: set[Cube] = set()

    def visit(level: int, low: tuple[int, ...]) -> None:
        side = 1 << level
        if any(at + side <= start for at, start in zip(low, corner, strict=True)):
            return
        if all(at >= start for at, start in zip(low, corner, strict=True)):
            found.add((level, low))
            return
        for child in np.ndindex(*[2] * len(low)):
            visit(level - 1, tuple(at + side // 2 * half for at, half in zip(low, child, strict=True)))

    visit(bits, (0,) * len(corner))
    return found


def random_lengths(dims: int, bits: int, seed: int) -> Int64s:
    """Lengths anywhere, with the least, the greatest and powers of two more often than by chance."""
    random = np.random.default_rng((dims, bits, seed))
    lengths = random.integers(1, (1 << bits) + 1, dims)
    kind = random.integers(0, 8, dims)
    lengths = np.where(kind == 0, 1, np.where(kind == 1, 1 << bits, lengths))
    return np.where(kind == 2, 1 << random.integers(0, bits + 1, dims), lengths).astype(np.int64)


def check_cubes(lengths: Int64s, bits: int) -> None:
    cubes = cubes_of(lengths, bits)
    dims, numbers = len(lengths), n_cubes(lengths)
    levels = [level for level, _ in cubes]
    assert levels == sorted(levels, reverse=True)
    assert [levels.count(i) for i in range(len(numbers))] == numbers
    assert len(levels) == sum(numbers)
    assert sum(1 << level * dims for level in levels) == volume(lengths)
    assert len(set(cubes)) == len(cubes)
    # The twin's cubes are disjoint, and the fewest there can be.
    assert set(cubes) == quadtree(lengths, bits)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("dims", "bits"), [(1, 1), (1, 9), (2, 1), (2, 5), (3, 4), (4, 3), (5, 2), (6, 2), (7, 1)])
def test_cubes_are_those_of_a_quadtree(dims: int, bits: int, seed: int) -> None:
    check_cubes(random_lengths(dims, bits, seed), bits)


@pytest.mark.parametrize("bits", [1, 3])
def test_every_rectangle_of_a_small_universe(bits: int) -> None:
    for sides in np.ndindex(1 << bits, 1 << bits):
        check_cubes(np.array(sides, np.int64) + 1, bits)


@pytest.mark.parametrize(("dims", "bits"), [(1, 32), (2, 9), (8, 16), (8, 32), (16, 16), (32, 8)])
def test_extremes(dims: int, bits: int) -> None:
    whole = np.full(dims, 1 << bits, np.int64)
    assert cubes_of(whole, bits) == [(bits, (0,) * dims)]
    assert runs(whole, bits) == 1
    least = np.ones(dims, np.int64)
    assert cubes_of(least, bits) == [(0, ((1 << bits) - 1,) * dims)]
    assert n_cubes(least) == [1]
    assert n_cubes(whole) == [0] * bits + [1]


def test_a_slab_is_as_many_cells_as_it_is_wide() -> None:
    check_cubes(np.array([1, 64]), 6)
    assert cubes_of(np.array([64, 1]), 6) == [(0, (at, 63)) for at in range(64)]


@pytest.mark.parametrize(("dims", "bits"), [(8, 16), (8, 32), (16, 16), (32, 8), (9, 28)])
def test_beginnings_of_long_walks(dims: int, bits: int) -> None:
    random = np.random.default_rng(dims)
    for _ in range(3):
        lengths, walk = random.integers(1 << (bits - 1), 1 << bits, dims), make_walk(dims, bits)
        start_walk(lengths, walk)
        seen, covered = set(), 0
        for _ in range(60):
            level = next_cube(walk)
            check_walk(walk, level)
            covered += 1 << level * dims
            seen.add((int(level), *walk.low.tolist()))
        assert len(seen) == 60
        assert covered <= np.prod(lengths.astype(object))


def test_numbers_of_a_long_walk() -> None:
    lengths, bits = np.array([41, 64, 13, 22]), 6
    n, numbers = sum(n_cubes(lengths)), n_cubes(lengths)
    walk, levels, firsts, lasts = written(lengths, bits, n)
    assert np.bincount(levels, minlength=len(numbers)).tolist() == numbers
    assert next_cube(walk) == END
    # In the order of the curve: none overlaps the next, and all are within the region.
    order = np.argsort(firsts[:, 0])
    assert (lasts[order, 0][:-1] < firsts[order, 0][1:]).all()
    assert int((lasts - firsts + np.uint64(1)).sum()) == volume(lengths)


def written(lengths: Int64s, bits: int, n: int) -> tuple[CubeWalk, Int64s, np.ndarray, np.ndarray]:
    """A walk over the first n cubes."""
    walk, words = make_walk(len(lengths), bits), n_words(len(lengths), bits)
    levels, firsts, lasts = np.empty(n, np.int64), np.empty((n, words), np.uint64), np.empty((n, words), np.uint64)
    start_walk(lengths, walk)
    assert write_cubes(walk, levels, firsts, lasts) == min(n, sum(n_cubes(lengths)))
    return walk, levels, firsts, lasts


def test_writing_stops_at_the_end() -> None:
    _, levels, firsts, lasts = written(np.array([7, 5]), 3, 99)
    cubes = cubes_of(np.array([7, 5]), 3)
    lows = np.array([low for _, low in cubes])
    assert levels[: len(cubes)].tolist() == [level for level, _ in cubes]
    assert np.array_equal(firsts[: len(cubes)], keys_of(lows, 3))
    highs = lows + (1 << levels[: len(cubes), None]) - 1
    assert np.array_equal(lasts[: len(cubes)], keys_of(highs, 3))


def test_runs_of_the_paper() -> None:
    assert runs(np.array([256, 256]), 9) == 1
    for bits in [9, 10, 16, 32]:
        assert runs(np.array([257, 257]), bits) == 385


@pytest.mark.parametrize(("dims", "bits"), [(1, 6), (2, 4), (3, 3), (4, 2)])
def test_runs_are_those_of_the_cells(dims: int, bits: int) -> None:
    cells = np.array(list(np.ndindex(*[1 << bits] * dims)))
    keys = keys_of(cells, bits)[:, 0]
    for seed in range(8):
        lengths = random_lengths(dims, bits, seed)
        inside = np.sort(keys[(cells >= (1 << bits) - lengths).all(axis=1)])
        assert runs(lengths, bits) == 1 + sum(b != a + 1 for a, b in pairwise(inside.tolist()))


@pytest.mark.parametrize("bits", [13, 32])
def test_runs_across_words(bits: int) -> None:
    # 5 dimensions of 13 bits: the word boundary is within a level.
    whole = 1 << bits
    assert runs(np.array([whole // 2] * 5), bits) == 1
    assert runs(np.array([whole // 2, *[whole] * 4]), bits) == 1
    assert runs(np.array([*[whole] * 4, whole // 2]), bits) == 16


def fixed_dims(lengths: Int64s, i: int) -> Iterator[tuple[int, ...]]:
    """FixedDim(L, i, m) for every m: the choices of dimensions that have a bit at i."""
    nonzero = [z for z, length in enumerate(lengths.tolist()) if length >> i & 1]
    for m in range(1, len(nonzero) + 1):
        yield from combinations(nonzero, m)


def printed(lengths: Int64s, i: int, fd: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Algorithm 1 as the paper prints it: free dimensions start at their highest bit, wherever that is."""
    highest = [i if z in fd else length.bit_length() - 1 for z, length in enumerate(lengths.tolist())]
    r, free = list(highest), [z for z in range(len(lengths)) if z not in fd]
    while True:
        yield tuple(r)
        for z in free:
            lower = [at for at in range(i + 1, r[z]) if lengths[z] >> at & 1]
            r[z] = max(lower, default=highest[z])
            if lower:
                break
        else:
            return


def mended(lengths: Int64s, i: int, fd: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The same, but nothing where the highest bit of a free dimension is not above i."""
    if all(z in fd or length >> (i + 1) for z, length in enumerate(lengths.tolist())):
        yield from printed(lengths, i, fd)


def n_cells(rectangles: list[tuple[int, ...]]) -> int:
    return sum(1 << sum(r) for r in rectangles)


def test_algorithm_1_as_printed_repeats_a_rectangle() -> None:
    lengths = np.array([7, 5])
    found = {i: [r for fd in fixed_dims(lengths, i) for r in printed(lengths, i, fd)] for i in (2, 1, 0)}
    assert found[2] == [(2, 2)] * 3
    assert (found[1], found[0]) == ([(1, 2)], [(0, 2), (2, 0), (1, 0), (0, 0)])
    assert sum(map(n_cells, found.values())) == 67
    assert sum(n_cells(rectangles(lengths, 3, i)) for i in (2, 1, 0)) == 35


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_algorithm_1_with_its_start_mended_is_what_is_walked(dims: int) -> None:
    for seed in range(8):
        lengths = random_lengths(dims, 5, seed)
        for i in range(len(n_cubes(lengths))):
            twin = [r for fd in fixed_dims(lengths, i) for r in mended(lengths, i, fd)]
            assert sorted(rectangles(lengths, 5, i)) == sorted(twin)


def test_rectangles_of_the_paper() -> None:
    lengths = np.array([7, 5])
    assert rectangles(lengths, 3, 0) == [(0, 2), (2, 0), (1, 0), (0, 0)]
    assert rectangles(lengths, 3, 1) == [(1, 2)]
    assert rectangles(lengths, 3, 2) == [(2, 2)]
    assert rectangles(lengths, 3, 3) == []
    assert rectangles(np.array([4, 4]), 3, 1) == []


def test_cubes_of_a_rectangle_of_the_paper() -> None:
    lengths, found = np.array([7, 5]), []
    walk = make_walk(2, 3)
    start_walk(lengths, walk)
    while next_cube(walk) != END:
        if walk.r.tolist() == [1, 0]:
            found.append(tuple(walk.low.tolist()))
    assert found == [(0b010, 0b011), (0b011, 0b011)]


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_rectangles_share_out_the_cubes(dims: int) -> None:
    for seed in range(5):
        lengths = random_lengths(dims, 5, seed)
        for i, number in enumerate(n_cubes(lengths)):
            found = rectangles(lengths, 5, i)
            assert len(set(found)) == len(found)
            assert sum(1 << (sum(r) - i * dims) for r in found) == number
            fixed = [r.count(i) for r in found]
            assert fixed == sorted(fixed)
            assert all(n >= 1 for n in fixed)
