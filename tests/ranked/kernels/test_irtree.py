"""IR-trees: every search gives what plain numpy gives, in order, and every change keeps the invariants."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int32s
from skyband.kernels.simd import images
from skyband.ranked.irtree import IrForest
from skyband.ranked.kernels.ircheck import check_tree
from skyband.ranked.kernels.irtree import DEPTH, TALLEST, next_ir, open_ir
from skyband.ranked.kernels.irupdate import find_ends
from skyband.ranked.kernels.parts import CRAMPED, END, HI, KEY, LO, OWNER, Parts, rounded_down, rounded_up

KINDS = ["uniform", "short", "nested", "disjoint", "equal", "points", "few", "open", "huge", "sorted"]


def draw(kind: str, random: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Intervals that are hard in some way."""
    i = np.arange(n, dtype=np.float64)
    if kind == "nested":
        return i, 2.0 * n - i
    if kind == "disjoint":
        return 3.0 * i, 3.0 * i + 1.0
    if kind == "equal":
        return np.full(n, 2.0), np.full(n, 5.0)
    if kind == "points":
        at = random.integers(0, 20, n).astype(np.float64)
        return at, at
    if kind == "huge":
        ends = random.choice([-1e150, -1e40, -3.5e38, -1.0, -5e-324, 0.0, 1e-60, 1.0, 3.5e38, 1e150], (2, n))
    elif kind == "few":
        ends = random.integers(0, 6, (2, n)).astype(np.float64)
    else:
        ends = random.random((2, n))
        if kind == "short":
            ends[1] = ends[0] + 0.01 * ends[1]
        if kind == "open":
            ends = np.sort(ends, axis=0)
            ends[0, random.random(n) < 0.3] = -np.inf
            ends[1, random.random(n) < 0.3] = np.inf
    low, high = ends.min(axis=0), ends.max(axis=0)
    return (np.sort(low), np.sort(low) + 0.001) if kind == "sorted" else (low, high)


def parts_of(low: Floats, high: Floats, key: Floats, dim: Int32s, random: np.random.Generator) -> Parts:
    """Parts of owners with labels in no order."""
    owner = random.permutation(len(low)).astype(np.float64)
    label = random.permutation(len(low)).astype(np.int64) * 7 - len(low)
    return Parts(np.stack([low, np.maximum(low, high), key, owner], axis=1), dim, key.copy(), label)


def drawn(kind: str, seed: int, n: int, n_dims: int = 1, n_keys: int = 5) -> Parts:
    """Parts of a kind whose keys tie now and then."""
    random = np.random.default_rng(seed)
    low, high = draw(kind, random, n)
    key = random.integers(0, n_keys, n).astype(np.float64)
    return parts_of(low, high, key, random.integers(0, n_dims, n).astype(np.int32), random)


def numbered(n: int) -> Int32s:
    return np.arange(n, dtype=np.int32)


def expected(parts: Parts, held: Int32s, dim: int, low: float, high: float) -> list[int]:
    """The parts that meet [low, high] when everything is rounded outward, in order."""
    facts = parts.fact[held]
    since, until = images(rounded_up(np.array([low])))[0], images(rounded_down(np.array([high])))[0]
    met = (images(rounded_down(facts[:, LO])) <= until) & (images(rounded_up(facts[:, HI])) >= since)
    met &= parts.dim[held] == dim
    order = np.lexsort((-parts.label[facts[:, OWNER].astype(np.int64)], -facts[:, KEY]))
    return [int(part) for part in held[order[met[order]]]]


def found(forest: IrForest, parts: Parts, dim: int, low: float, high: float, room: int = 0) -> list[int]:
    """What a search gives, to its end."""
    cursor = np.zeros(forest.width + room, np.int64)
    assert open_ir(forest.tree, dim, low, high, cursor) == 0
    answer = []
    while (part := next_ir(forest.tree, parts, cursor)) != END:
        answer.append(int(part))
    assert next_ir(forest.tree, parts, cursor) == END
    return answer


def values_of(parts: Parts, random: np.random.Generator, n: int) -> Floats:
    """Values at ends of intervals, next to them and between them."""
    ends = parts.fact[:, [LO, HI]].ravel()
    ends = np.append(ends[np.isfinite(ends)], [0.0, 0.5])
    at = random.choice(ends, n)
    return np.concatenate([at, np.nextafter(at, np.inf), (at + random.choice(ends, n)) / 2.0, [-1e200, 1e200]])


def compare(forest: IrForest, parts: Parts, held: Int32s, random: np.random.Generator, n: int = 4) -> None:
    """Hold a forest against brute force, for points and intervals, and check it."""
    forest.check(parts)
    assert sorted(check_tree(forest.tree, parts)) == sorted(held.tolist())
    assert forest.n == len(held)
    for value in values_of(parts, random, n):
        dim, other = int(random.integers(forest.n_dims)), random.choice(values_of(parts, random, 1))
        assert found(forest, parts, dim, value, value) == expected(parts, held, dim, value, value)
        low, high = min(value, other), max(value, other)
        assert found(forest, parts, dim, low, high, 40 * len(held)) == expected(parts, held, dim, low, high)


@pytest.mark.parametrize("n", [0, 1, 2, 29, 33, 400])
@pytest.mark.parametrize("kind", KINDS)
def test_a_built_forest_finds_what_brute_force_finds(kind: str, n: int) -> None:
    parts = drawn(kind, n, n, n_dims=1 + n % 3)
    forest = IrForest(1 + n % 3)
    forest.bulk(parts, numbered(n))
    compare(forest, parts, numbered(n), np.random.default_rng(1))


@pytest.mark.parametrize("kind", KINDS)
def test_parts_come_and_go(kind: str) -> None:
    n, random = 600, np.random.default_rng(2)
    parts, forest, held = drawn(kind, 3, n, n_dims=2), IrForest(1), np.zeros(0, np.int32)
    for step in range(24):
        rest = np.setdiff1d(numbered(n), held)
        # Growing at first, then shrinking, to nothing at last.
        come = random.choice(rest, min(len(rest), 60 if step < 12 else 15), replace=False)
        forest.insert(parts, come)
        held = np.concatenate([held, come])
        gone = random.choice(held, min(len(held), 15 if step < 12 else 80), replace=False)
        forest.remove(parts, gone)
        held = np.setdiff1d(held, gone)
        compare(forest, parts, held, random, 2)
    forest.remove(parts, held)
    compare(forest, parts, held[:0], random, 1)
    forest.insert(parts, numbered(n))
    compare(forest, parts, numbered(n), random, 2)


@pytest.mark.parametrize("order", ["up", pytest.param("down", marks=pytest.mark.jit_only), "inward"])
def test_sorted_insertions_keep_the_paths_short(order: str) -> None:
    n = 1200
    parts, forest = drawn("sorted", 4, n, n_keys=1000), IrForest(1)
    inward = np.argsort(-np.abs(np.arange(n) - n / 2)).astype(np.int32)
    turn = {"up": numbered(n), "down": numbered(n)[::-1].copy(), "inward": inward}[order]
    for ids in np.array_split(turn, 40):
        forest.insert(parts, ids)
        forest.check(parts)
    assert forest.tree.peak[DEPTH] <= 12
    compare(forest, parts, numbered(n), np.random.default_rng(5))
    for ids in np.array_split(turn, 40):
        forest.remove(parts, ids)
        forest.check(parts)
    assert forest.n == 0


def test_intervals_of_one_node_make_a_high_tree() -> None:
    n, random = 2000, np.random.default_rng(6)
    parts, forest = drawn("nested", 7, n, n_keys=10**6), IrForest(1)
    for ids in np.array_split(random.permutation(n).astype(np.int32), 10):
        forest.insert(parts, ids)
    assert forest.tree.peak[TALLEST] >= 2
    compare(forest, parts, numbered(n), random, 2)
    for ids in np.array_split(random.permutation(n).astype(np.int32)[: n - 3], 5):
        forest.remove(parts, ids)
        forest.check(parts)
    assert forest.n == 3


def test_parts_that_are_not_there_are_not_removed() -> None:
    parts, forest = drawn("uniform", 8, 100, n_dims=3), IrForest(1)
    forest.remove(parts, numbered(100))
    forest.insert(parts, numbered(50))
    forest.remove(parts, numbered(100)[50:])
    compare(forest, parts, numbered(50), np.random.default_rng(9))


def test_a_dimension_without_parts_is_at_its_end() -> None:
    parts, forest = drawn("uniform", 10, 10), IrForest(2)
    forest.bulk(parts, numbered(10))
    assert found(forest, parts, 1, 0.5, 0.5) == found(forest, parts, 7, 0.0, 1.0) == []


def test_a_short_cursor_is_cramped() -> None:
    parts, forest = drawn("disjoint", 11, 300), IrForest(1)
    forest.bulk(parts, numbered(300))
    assert open_ir(forest.tree, 0, 1.0, 1.0, np.zeros(3, np.int64)) == CRAMPED
    assert open_ir(forest.tree, 0, 0.0, 900.0, np.zeros(forest.width, np.int64)) == CRAMPED


def test_an_interval_with_nothing_in_it_is_held_as_a_point() -> None:
    parts, forest = drawn("equal", 12, 50), IrForest(1)
    parts.fact[:, HI] = 1.0
    forest.bulk(parts, numbered(50))
    assert len(found(forest, parts, 0, 2.0, 2.0)) == 50
    forest.remove(parts, numbered(50))
    assert forest.n == 0


@pytest.mark.jit_only
@pytest.mark.parametrize("kind", KINDS)
def test_a_built_forest_takes_little_memory(kind: str) -> None:
    n = 20_000
    parts, forest = drawn(kind, 13, n), IrForest(1)
    forest.bulk(parts, numbered(n))
    assert forest.n_bytes <= 16.5 * n + 30_000


def test_memory_is_given_back() -> None:
    n = 4000
    parts, forest = drawn("short", 14, n), IrForest(1)
    forest.bulk(parts, numbered(n))
    before = forest.n_bytes
    forest.remove(parts, numbered(n)[100:])
    assert forest.n_bytes < before / 2
    compare(forest, parts, numbered(100), np.random.default_rng(15))


def test_many_small_dimensions_are_not_made_anew_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1500
    parts, forest = drawn("uniform", 16, n), IrForest(1)
    parts.dim[:] = numbered(n)
    forest.bulk(parts, numbered(n))
    monkeypatch.setattr(forest, "bulk", lambda *_: pytest.fail("The forest was made anew."))
    for part in range(5):
        forest.remove(parts, numbered(n)[part : part + 1])
        forest.insert(parts, numbered(n)[part : part + 1])
    compare(forest, parts, numbered(n), np.random.default_rng(17), 2)


def test_ends_are_those_that_numpy_rounds() -> None:
    """Numbers of 32 bits, those between them, and beyond all of them."""
    random = np.random.default_rng(3)
    plain = np.concatenate([random.normal(size=50), random.normal(size=50) * 1e39, [0.0, -0.0, np.inf, -np.inf, 1e-50]])
    near = plain[:50].astype(np.float32).astype(np.float64)
    numbers = np.concatenate([plain, near])
    fact = np.zeros((len(numbers), 4))
    fact[:, LO], fact[:, HI] = numbers, random.permutation(numbers)
    ids, ends = random.permutation(len(numbers)).astype(np.int32), np.empty((2, len(numbers)), np.int32)
    find_ends(fact, ids, ends)
    low, high = images(rounded_down(fact[ids, LO])), images(rounded_up(fact[ids, HI]))
    assert (ends == [low, np.maximum(low, high)]).all()
