"""The trees of points and boxes: updates keep every invariant, and every question has the answer of plain numpy."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.sort_keys import curve_keys, float_key, float_keys
from skyband.ranges.kernels.boxbuild import build, check_trees, dismantle, n_packed
from skyband.ranges.kernels.boxsearch import any_inside, count_inside, first_k, least, report, snap
from skyband.ranges.kernels.boxtree import (
    FANOUT,
    INNER,
    LEAF,
    PACKED,
    Trees,
    insert_item,
    insert_items,
    make_trees,
    remove_item,
    remove_items,
    set_coordinate,
    set_coordinates,
)

FARTHEST = float(np.finfo(np.float64).max)
N_SLOTS = 2000


class Items(NamedTuple):
    """What a tree holds, item by item: the twin of a tree."""

    key: Int64s
    slot: Int64s
    low: Floats
    high: Floats

    def take(self, chosen: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> "Items":
        low = self.low[chosen]
        return Items(self.key[chosen], self.slot[chosen], low, low if self.high is self.low else self.high[chosen])


def draw(kind: str, random: np.random.Generator, n: int, dims: int) -> Floats:
    """Points that are hard in some way."""
    if kind == "same":
        return np.full((n, dims), 7.0)
    if kind == "few":
        return random.integers(0, 3, (n, dims)).astype(np.float64)
    if kind == "huge":
        return random.choice([-FARTHEST, -1e150, -5e-324, 0.0, 5e-324, 1e150, FARTHEST], (n, dims))
    points = random.random((n, dims))
    return np.sort(points, axis=0) if kind == "sorted" else points


KINDS = ["uniform", "same", "few", "huge", "sorted"]


def items_of(kind: str, random: np.random.Generator, n: int, dims: int, order: str, boxes: bool = False) -> Items:
    """Items with slots in no order, and keys of an order."""
    low = draw(kind, random, n, dims)
    high = np.maximum(low, draw(kind, random, n, dims)) if boxes else low
    slot = random.permutation(N_SLOTS)[:n]
    extent = low.min(axis=0, initial=FARTHEST), low.max(axis=0, initial=-FARTHEST)
    key = float_keys(low[:, 0]) if order == "first" else curve_keys(low, *extent)
    return Items(key, slot, low, high)


def built(items: Items, n_trees: int = 1, t: int = 0, spare: int = 0) -> Trees:
    """A tree built from items, with so many nodes to spare of either kind."""
    n_leaves, n_inners = n_packed(len(items.key))
    is_box = items.high is not items.low
    trees = make_trees(items.low.shape[1], n_trees, n_leaves + spare, n_inners + spare, is_box)
    build(trees, t, *items, np.lexsort((items.slot, items.key)), np.zeros(n_leaves, np.int64))
    return trees


def grown_one_by_one(items: Items, n_trees: int = 1, t: int = 0) -> Trees:
    is_box = items.high is not items.low
    trees = make_trees(items.low.shape[1], n_trees, 2 + len(items.key) // 8, 20, is_box)
    assert insert_items(0, trees, t, *items) == len(items.key)
    return trees


def held(trees: Trees, t: int) -> list[tuple[int, int, list[float], list[float]]]:
    """What a tree holds, in its order; nothing is changed."""
    nodes = [int(trees.root[t])] if trees.height[t] >= 0 else []
    for _ in range(int(trees.height[t])):
        nodes = [int(child) for node in nodes for child in trees.inners.child[node, : trees.inners.length[node]]]
    leaves = trees.leaves
    return [
        (int(leaves.key[n, i]), int(leaves.slot[n, i]), leaves.low[n, :, i].tolist(), leaves.high[n, :, i].tolist())
        for n in nodes
        for i in range(leaves.length[n])
    ]


def listed(items: Items) -> list[tuple[int, int, list[float], list[float]]]:
    return sorted(zip(*(column.tolist() for column in items), strict=True))


def check_equal(trees: Trees, t: int, items: Items) -> None:
    check_trees(trees)
    assert held(trees, t) == listed(items)


def box_of(kind: str, random: np.random.Generator, dims: int) -> tuple[Floats, Floats]:
    """A box between two points of a kind; sometimes empty, a point, or unbounded."""
    one, other = draw(kind, random, 1, dims)[0], draw(kind, random, 1, dims)[0]
    how = random.integers(8)
    if how == 0:
        return one, other
    if how == 1:
        return one, one
    low, high = np.minimum(one, other), np.maximum(one, other)
    if how == 2:
        low[random.integers(dims)] = -np.inf
        high[random.integers(dims)] = np.inf
    return low, high


class Asked(NamedTuple):
    """A box, and which items are inside."""

    low: Floats
    high: Floats
    inside: npt.NDArray[np.bool_]


def ask(items: Items, low: Floats, high: Floats) -> Asked:
    inside = ((items.low <= high) & (items.high >= low) & (low <= high).all()).all(axis=1)
    return Asked(low, high, np.asarray(inside))


def check_snap(trees: Trees, t: int, items: Items, asked: Asked) -> None:
    low, high, inside = asked
    out_low, out_high = np.zeros(len(low)), np.zeros(len(low))
    assert snap(trees, t, low, high, out_low, out_high) == inside.any()
    if inside.any():
        assert np.array_equal(out_low, np.maximum(items.low[inside], low).min(axis=0))
        assert np.array_equal(out_high, np.minimum(items.high[inside], high).max(axis=0))


def check_report(trees: Trees, t: int, items: Items, asked: Asked) -> None:
    low, high, inside = asked
    n = int(inside.sum())
    assert any_inside(trees, t, low, high) == (n > 0)
    assert count_inside(trees, t, low, high) == n
    out = np.full(3 + n, -7)
    assert report(trees, t, low, high, out, 3) == 3 + n
    assert out[:3].tolist() == [-7, -7, -7]
    assert sorted(out[3:].tolist()) == sorted(items.slot[inside].tolist())
    if n > 0:
        assert report(trees, t, low, high, out[:-1].copy(), 3) == -1


def check_least(
    trees: Trees, t: int, items: Items, asked: Asked, dim: int, after: tuple[float, int, int], tie: Int64s
) -> None:
    places = list(zip(items.low[:, dim].tolist(), tie[items.slot].tolist(), items.slot.tolist(), strict=True))
    wanted = min(
        (place for place, inside in zip(places, asked.inside, strict=True) if inside and place > after), default=None
    )
    assert least(trees, t, asked.low, asked.high, dim, *after, tie) == (-1 if wanted is None else wanted[-1])


def check_first(
    trees: Trees, t: int, items: Items, asked: Asked, west: bool, k: int, dim: int, before: float, tie: Int64s
) -> None:
    before_tie = N_SLOTS // 2
    values, ties = items.low[:, dim], tie[items.slot]
    found = asked.inside & ((values < before) | ((values == before) & (ties < before_tie)))
    out = np.full(k + 2, -7)
    n = first_k(trees, t, asked.low, asked.high, west, k, dim, before, before_tie, tie, out, 1)
    slots = out[1 : 1 + n].tolist()
    assert n == min(k, int(found.sum()))
    assert len(set(slots)) == n
    assert set(slots) <= set(items.slot[found].tolist())
    place = dict(zip(items.slot.tolist(), items.low[:, 0].tolist(), strict=True))
    assert [place[slot] for slot in slots] == sorted(items.low[found, 0].tolist(), reverse=west)[:k]
    assert out[[0, *range(1 + n, k + 2)]].tolist() == [-7] * (k + 2 - n)


def check_answers(kind: str, random: np.random.Generator, trees: Trees, t: int, items: Items, order: str) -> None:
    """Ask about boxes, some of them around items, everything that can be asked."""
    tie, dims, is_box = random.permutation(N_SLOTS), items.low.shape[1], items.high is not items.low
    for _ in range(12):
        low, high = box_of(kind, random, dims)
        asked = ask(items, low, high)
        check_snap(trees, t, items, asked)
        check_report(trees, t, items, asked)
        dim, pivot = int(random.integers(dims)), float(draw(kind, random, 1, 1)[0, 0])
        if len(items.slot) > 0 and random.random() < 0.7:
            pivot = float(random.choice(items.low[:, dim]))
        if not is_box:
            after = pivot, int(random.integers(N_SLOTS)), int(random.integers(N_SLOTS))
            check_least(trees, t, items, asked, dim, after, tie)
            # Several of one tie come by their slots.
            check_least(trees, t, items, asked, dim, (pivot, after[1] // 8, after[2]), tie // 8)
        if not is_box and order == "first":
            west, k = bool(random.integers(2)), int(random.integers(0, 40))
            check_first(trees, t, items, asked, west, k, dim, pivot, tie)


@pytest.mark.parametrize("order", ["first", "curve"])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_brute_force(kind: str, order: str) -> None:
    for n, dims in [(0, 1), (1, 2), (2, 3), (FANOUT, 1), (FANOUT + 1, 2), (PACKED**2 + 300, 2), (500, 4)]:
        random = np.random.default_rng([KINDS.index(kind), n, dims])
        items = items_of(kind, random, n, dims, order)
        trees = built(items)
        check_equal(trees, 0, items)
        check_answers(kind, random, trees, 0, items, order)


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_count_as_far_as_they_lie_inside(kind: str) -> None:
    for n, dims in [(1, 1), (100, 2), (PACKED**2 + 100, 2), (300, 3)]:
        random = np.random.default_rng([KINDS.index(kind), n, dims, 5])
        items = items_of(kind, random, n, dims, "curve", boxes=True)
        trees = built(items) if n > 100 else grown_one_by_one(items)
        check_equal(trees, 0, items)
        check_answers(kind, random, trees, 0, items, "curve")


@pytest.mark.parametrize("boxes", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_random_updates_keep_every_invariant(kind: str, boxes: bool) -> None:
    random = np.random.default_rng([KINDS.index(kind), boxes])
    for order, dims in (("first", 2), ("curve", 3)):
        items = items_of(kind, random, 900, dims, order, boxes)
        trees = make_trees(dims, 2, 120, 30, boxes)
        inside = np.zeros(len(items.key), np.bool_)
        for share in (0.2, 0.9, 0.5, 0.02, 0.4, 0.0):
            wanted = random.random(len(inside)) < share
            for i in random.permutation(np.flatnonzero(wanted & ~inside)):
                assert insert_item(trees, 1, items.key[i], items.slot[i], items.low[i], items.high[i])
            for i in random.permutation(np.flatnonzero(inside & ~wanted)):
                assert remove_item(trees, 1, items.key[i], items.slot[i])
                assert not remove_item(trees, 1, items.key[i], items.slot[i])
            inside = wanted
            check_equal(trees, 1, items.take(inside))
            check_answers(kind, random, trees, 1, items.take(inside), order)
        assert trees.n_free.tolist() == [120, 30]


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_coordinate_moves_the_boxes_above(kind: str) -> None:
    random = np.random.default_rng(KINDS.index(kind))
    items = items_of(kind, random, PACKED**2 + 50, 2, "first")
    trees, values = built(items), draw(kind, random, PACKED**2 + 50, 1)[:, 0]
    for i in random.permutation(len(values))[:60]:
        assert set_coordinate(trees, 0, items.key[i], items.slot[i], 1, values[i])
        items.low[i, 1] = values[i]
        check_trees(trees)
    assert set_coordinates(0, trees, 0, items.key, items.slot, 1, values) == len(values)
    items.low[:, 1] = values
    check_equal(trees, 0, items)
    check_answers(kind, random, trees, 0, items, "first")
    missing = np.append(items.slot[:5], N_SLOTS)
    assert set_coordinates(0, trees, 0, np.append(items.key[:5], 0), missing, 1, values) == 5
    assert remove_items(0, trees, 0, np.append(items.key[:5], 0), missing) == 5
    check_equal(trees, 0, items.take(np.arange(5, len(values))))


@pytest.mark.parametrize("insertion", ["ascending", "descending", "inward"])
@pytest.mark.parametrize("removal", ["ascending", "descending", "inward"])
def test_items_come_and_go_in_order(insertion: str, removal: str) -> None:
    """Nodes split and empty at their ends; what is left after each removal is checked on the way."""
    n = 600
    inward = np.stack([np.arange(n // 2), n - 1 - np.arange(n // 2)], axis=1).ravel()
    orders = {"ascending": np.arange(n), "descending": np.arange(n)[::-1].copy(), "inward": inward}
    places = np.stack([np.arange(n, dtype=np.float64), np.arange(n) % 7.0], axis=1)
    items = Items(float_keys(places[:, 0]), np.arange(n), places, places)
    trees = grown_one_by_one(items.take(orders[insertion]))
    check_equal(trees, 0, items)
    for done, i in enumerate(orders[removal]):
        assert remove_item(trees, 0, items.key[i], items.slot[i])
        if done % 40 == 0 or done > n - 40:
            check_equal(trees, 0, items.take(orders[removal][done + 1 :]))
    assert trees.height.tolist() == [-1]


def test_trees_share_their_nodes() -> None:
    random = np.random.default_rng(0)
    own = [items_of("few", random, n, 2, "first") for n in (200, 0, 40, 500)]
    trees = make_trees(2, 4, 120, 30)
    for i in range(500):
        for t, items in enumerate(own):
            if i < len(items.key):
                assert insert_item(trees, t, items.key[i], items.slot[i], items.low[i], items.high[i])
    for t, items in enumerate(own):
        check_equal(trees, t, items)
        check_answers("few", random, trees, t, items, "first")
    keys, slots, low = np.zeros(200, np.int64), np.zeros(200, np.int64), np.zeros((200, 2))
    dismantle(trees, 0, keys, slots, low, low)
    assert list(zip(keys.tolist(), slots.tolist(), low.tolist(), low.tolist(), strict=True)) == listed(own[0])
    assert trees.size.tolist() == [0, 0, 40, 500]
    check_equal(trees, 3, own[3])


def test_without_room_nothing_changes() -> None:
    """One leaf too few, or one inner node, and the tree stays as it is."""
    random = np.random.default_rng(3)
    items = items_of("uniform", random, 3 * FANOUT, 2, "first")
    nowhere = make_trees(2)
    assert not insert_item(nowhere, 0, items.key[0], items.slot[0], items.low[0], items.high[0])
    assert nowhere.height.tolist() == [-1]
    for n_leaves, n_inners in [(1, 5), (2, 0), (2, 5)]:
        trees = make_trees(2, 1, n_leaves, n_inners)
        done = insert_items(0, trees, 0, *items)
        assert FANOUT <= done < len(items.key)
        assert trees.n_free[LEAF] == 0 or trees.n_free[INNER] == 0
        check_equal(trees, 0, items.take(np.arange(done)))


def test_building_packs_nodes_evenly() -> None:
    for n in (0, 1, PACKED, PACKED + 1, 2 * PACKED + 1, PACKED**2, PACKED**2 + 1):
        items = items_of("uniform", np.random.default_rng(n), n, 1, "first")
        trees = built(items)
        check_equal(trees, 0, items)
        assert trees.n_free.tolist() == [0, 0]
        lengths = trees.leaves.length
        assert n == 0 or PACKED >= lengths.max() >= lengths.min() >= lengths.max() - 1


def test_keys_of_numbers_have_their_order() -> None:
    random = np.random.default_rng(1)
    ends = [-FARTHEST, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, FARTHEST]
    values = np.concatenate([ends, random.normal(size=50), -np.exp(random.normal(0, 100, 50))])
    keys = float_keys(values)
    assert np.array_equal(keys[:, np.newaxis] < keys, values[:, np.newaxis] < values)
    assert [float_key(value) for value in values.tolist()] == keys.tolist()


def interleaved(cells: list[int], bits: int) -> int:
    return sum((cell >> i & 1) << (i * len(cells) + j) for j, cell in enumerate(cells) for i in range(bits))


@pytest.mark.parametrize("dims", range(1, 9))
def test_curve_keys_interleave_the_bits_of_cells(dims: int) -> None:
    random, bits = np.random.default_rng(dims), 63 // dims
    # Exactly on cells, of which a number has room for so many.
    fine = min(bits, 50)
    cells = random.integers(0, 2**fine, (20, dims))
    points = np.ldexp(cells, -fine)
    keys = curve_keys(points, np.zeros(dims), np.ones(dims))
    wanted = [interleaved([cell << (bits - fine) for cell in row], bits) for row in cells.tolist()]
    assert keys.tolist() == wanted
    low, high = np.zeros(dims), np.ones(dims)
    outside = np.stack([low - 1e150, high * FARTHEST, low - FARTHEST])
    first, last, other = curve_keys(outside, low, high).tolist()
    assert first == other == 0
    top = int(np.nextafter(2.0**bits, 0.0))
    assert last == interleaved([top] * dims, bits)


def test_curve_keys_of_extents_without_width_or_of_all_numbers() -> None:
    points = np.array([[-FARTHEST, 3.0], [0.0, 3.0], [FARTHEST, 4.0]])
    keys = curve_keys(points, points.min(axis=0), np.array([FARTHEST, 3.0]))
    assert keys[0] == 0
    assert keys[0] < keys[1] < keys[2]
    assert curve_keys(points[:, :1], np.array([5.0]), np.array([5.0])).tolist() == [0, 0, 0]
    assert curve_keys(points[:0], np.zeros(2), np.ones(2)).tolist() == []
    points.flags.writeable = False
    assert np.array_equal(curve_keys(points, points.min(axis=0), np.array([FARTHEST, 3.0])), keys)


def test_a_check_notices_a_box_that_is_too_wide() -> None:
    trees = built(items_of("uniform", np.random.default_rng(0), 100, 2, "first"))
    trees.inners.low[trees.root[0], 1, 0] -= 1.0
    with pytest.raises(AssertionError):
        check_trees(trees)


@pytest.mark.jit_only
def test_a_high_tree_grows_and_shrinks() -> None:
    """Four levels: inner nodes that are no roots split, empty, and are used again."""
    random = np.random.default_rng(7)
    places = random.random((60_000, 2))
    items = Items(float_keys(np.sort(places[:, 0])), np.arange(len(places)), places, places)
    trees = make_trees(2, 1, 5000, 400)
    # Ascending keys leave every node half full, so that the tree is as high as it can be.
    assert insert_items(0, trees, 0, *items) == len(places)
    assert trees.height[0] == 3
    check_equal(trees, 0, items)
    goes = random.permutation(len(places))
    for since, until in [(0, 30_000), (30_000, 55_000), (55_000, 59_990), (59_990, 60_000)]:
        gone, rest = items.take(goes[since:until]), items.take(goes[until:])
        assert remove_items(0, trees, 0, gone.key, gone.slot) == until - since
        check_equal(trees, 0, rest)
    assert insert_items(0, trees, 0, *items.take(goes)) == len(places)
    check_equal(trees, 0, items)
