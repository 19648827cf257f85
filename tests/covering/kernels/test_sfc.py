"""The SFC array against a sorted list of pairs: steps at random, orders and ties that are hard on a tree, the walk."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.covering.kernels.curve import keys_of, order_of
from skyband.covering.kernels.sfc import HEIGHT, INNER, LEAF, SIZE, SFCArray, insert_all, make_array, remove_all
from skyband.covering.kernels.sfcbuild import Pair, build, check_array, n_packed
from skyband.covering.kernels.sfcwalk import NONE, descend, next_leaf
from skyband.kernels.array import Int64s
from skyband.kernels.simd import LANES, Cells


def kind_of(bits: int) -> npt.DTypeLike:
    return np.uint16 if bits <= 16 else np.uint32


def draw(random: np.random.Generator, n: int, dims: int, bits: int) -> Cells:
    """Cells with each bit of a key as likely as not."""
    return random.integers(0, 1 << bits, (n, dims)).astype(kind_of(bits))


def pairs_of(cells: Cells, slots: Int64s, bits: int) -> list[Pair]:
    """The twin: the sorted array of the paper."""
    return sorted(zip(map(tuple, keys_of(cells, bits).tolist()), slots.tolist(), strict=True))


def pairs_in(array: SFCArray, leaf: int, bits: int) -> list[Pair]:
    n = int(array.leaves.length[leaf])
    return pairs_of(array.leaves.upper[leaf, :, :n].T, array.leaves.child[leaf, :n].astype(np.int64), bits)


def walk_from(array: SFCArray, key: list[int], bits: int) -> list[Pair]:
    """The pairs of all leaves from a key on: only the first leaf may have any before it.

    Each leaf is asserted to come after its separator, and that after the leaf before.
    """
    found = list[Pair]()
    leaf = descend(array, np.array(key, np.uint64)) if array.shape[HEIGHT] >= 0 else NONE
    while leaf != NONE:
        found += pairs_in(array, leaf, bits)
        leaf = next_leaf(array)
        if leaf != NONE:
            separator = tuple(array.pair.tolist())
            assert found[-1][0] <= separator <= pairs_in(array, leaf, bits)[0][0]
            assert tuple(key) <= separator
    return found


def check_same(array: SFCArray, cells: Cells, slots: Int64s, bits: int) -> None:
    """Assert the invariants, and that the array holds these points."""
    check_array(array)
    assert array.shape[SIZE] == len(slots)
    assert walk_from(array, [0] * len(array.pair), bits) == pairs_of(cells, slots, bits)


def put(array: SFCArray, cells: Cells, slots: Int64s) -> None:
    assert insert_all(array, cells, slots, 0) == len(slots)


def sorted_order(cells: Cells, bits: int) -> Int64s:
    return order_of(keys_of(cells, bits))


@pytest.mark.parametrize(("dims", "bits"), [(1, 2), (2, 4), (32, 8), (4, 3), (8, 16), (8, 32), (9, 28)])
def test_random_steps(dims: int, bits: int) -> None:
    random = np.random.default_rng((dims, bits))
    n = 400
    cells, array, is_in = draw(random, n, dims, bits), make_array(dims, bits, 120, 30), np.zeros(n, np.bool_)
    for step in range(9):
        chosen = random.permutation(n)[: int(random.integers(1, n))]
        # It is nearly full, then nearly empty, again and again.
        chosen = chosen[is_in[chosen]] if step % 3 == 2 else chosen[~is_in[chosen]]
        if step % 3 == 2:
            assert remove_all(array, cells[chosen], chosen) == len(chosen)
        else:
            put(array, cells[chosen], chosen)
        is_in[chosen] = step % 3 != 2
        check_same(array, cells[is_in], np.flatnonzero(is_in), bits)


@pytest.mark.parametrize("way", ["ascending", "descending", "outwards"])
def test_orders_of_insertion_and_removal(way: str) -> None:
    n, bits = 1100, 6
    cells = draw(np.random.default_rng(3), n, 2, bits)
    order = sorted_order(cells, bits)
    if way == "descending":
        order = order[::-1].copy()
    elif way == "outwards":
        order = order[np.argsort(np.abs(np.arange(n) - n // 2), kind="stable")]
    array = make_array(2, bits, 100, 40)
    put(array, cells[order], order)
    check_same(array, cells, np.arange(n), bits)
    assert array.shape[HEIGHT] == 2
    assert remove_all(array, cells[order[:-40]], order[:-40]) == n - 40
    check_same(array, cells[order[-40:]], order[-40:], bits)


@pytest.mark.parametrize("way", [1, -1])
def test_one_cell_a_thousand_times(way: int) -> None:
    n, bits = 1200, 16
    cells: Cells = np.full((n, 2), 40_000, np.uint16)
    array, slots = make_array(2, bits, 100, 40), np.arange(n)[::way].copy()
    put(array, cells, slots)
    check_same(array, cells, slots, bits)
    gone = np.random.default_rng(4).permutation(n)[:1100]
    assert remove_all(array, cells[gone], gone) == len(gone)
    check_same(array, cells[: n - len(gone)], np.setdiff1d(slots, gone), bits)
    assert remove_all(array, cells[gone], gone) == 0


def test_emptied_and_refilled() -> None:
    random, bits, array = np.random.default_rng(5), 16, make_array(2, 16, 40, 20)
    for n in (1, LANES, LANES + 1, 300):
        cells, slots = draw(random, n, 2, bits), random.permutation(n)
        put(array, cells, slots)
        check_same(array, cells, slots, bits)
        assert remove_all(array, cells, slots) == n
        check_same(array, cells[:0], slots[:0], bits)
        assert array.shape[HEIGHT] == -1
        assert array.n_free.tolist() == [40, 20]
        assert remove_all(array, cells, slots) == 0


def test_what_is_not_there_is_not_removed() -> None:
    cells: Cells = np.array([[1, 1], [1, 1], [3, 0], [0, 3]], np.uint16)
    array, slots = make_array(2, 2, 4, 4), np.array([7, 5, 9, 2])
    put(array, cells, slots)
    assert remove_all(array, cells, np.array([6, 8, 0, 1])) == 0
    check_same(array, cells, slots, 2)


def test_an_insertion_stops_before_nodes_run_out() -> None:
    random, bits, array = np.random.default_rng(6), 16, make_array(2, 16, 8, 4)
    cells, slots = draw(random, 300, 2, bits), np.arange(300)
    done = insert_all(array, cells, slots, 0)
    assert LANES < done < 300
    assert insert_all(array, cells, slots, done) == done
    check_same(array, cells[:done], slots[:done], bits)
    assert insert_all(make_array(2, 16), cells, slots, 0) == 0


@pytest.mark.parametrize("n", [0, 1, 28, 29, 32, 28 * 28, 28 * 28 + 1, 1000])
def test_build(n: int) -> None:
    random, bits = np.random.default_rng(n), 3
    cells, slots = draw(random, n, 4, bits), random.permutation(2 * n)[:n]
    # By key and, of equal keys, by slot.
    order = np.argsort(slots)
    order = order[sorted_order(cells[order], bits)]
    array = build(cells[order], slots[order], bits, 60, 20)
    check_same(array, cells, slots, bits)
    used = n_packed(n)
    assert (array.n_free[LEAF], array.n_free[INNER]) == (60, 20)
    assert (len(array.leaves.length), len(array.inners.length)) == (used[0] + 60, used[1] + 20)
    more = draw(random, 300, 4, bits)
    put(array, more, 2 * n + np.arange(300))
    check_same(array, np.concatenate([cells, more]), np.append(slots, 2 * n + np.arange(300)), bits)
    assert remove_all(array, cells, slots) == n
    check_same(array, more, 2 * n + np.arange(300), bits)


def test_the_walk_from_any_key() -> None:
    random, bits = np.random.default_rng(7), 2
    cells, slots = draw(random, 1000, 4, bits), np.arange(1000)
    array = make_array(4, bits, 100, 40)
    put(array, cells, slots)
    # Separators stay where points have gone.
    gone = random.permutation(1000)[:700]
    remove_all(array, cells[gone], gone)
    left = np.setdiff1d(slots, gone)
    pairs = pairs_of(cells[left], left, bits)
    for key in range(256):
        found = walk_from(array, [key], bits)
        assert found == pairs[len(pairs) - len(found) :]
        assert len(found) >= sum(pair[0] >= (key,) for pair in pairs)


def test_no_walk_through_nothing() -> None:
    array = make_array(2, 16, 2, 2)
    assert next_leaf(array) == NONE
    put(array, np.zeros((1, 2), np.uint16), np.zeros(1, np.int64))
    for key in (0, 2**32 - 1):
        assert walk_from(array, [key], 16) == [((0,), 0)]
