"""Cells of interest against the enumeration of all cells."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import grown
from skyband.topk.kernels.candidate import make_candidates
from skyband.topk.kernels.cell_index import (
    EVERYWHERE,
    EXTRA,
    KINDS,
    NOWHERE,
    SHARE,
    STRETCH,
    CellIndex,
    CellLists,
    _position,
    adjust,
    cell_band,
    cell_bounds,
    check_cell_index,
    entries,
    make_cell_index,
    make_found,
    make_lists,
    make_look,
    make_path,
    match,
    repacked,
)
from skyband.topk.kernels.grid import Grid, cell_bound, fit_grid, make_grid, n_cells
from skyband.topk.kernels.score import CHEBYSHEV, COSINE, EUCLIDEAN, SUM, Contents


def unlisted(kinds: Int64s, centres: Floats, weights: Floats) -> CellIndex:
    """Slots that are in no list yet."""
    n, dims = centres.shape
    cell_index = CellIndex._make(grown(array, n) for array in make_cell_index(dims))
    cell_index.gate[:], cell_index.inner[:], cell_index.outer[:], cell_index.n_listed[:] = (
        -np.inf,
        np.inf,
        -np.inf,
        NOWHERE,
    )
    cell_index.kind[:], cell_index.centre[:], cell_index.weight[:], cell_index.norm[:] = kinds, centres, weights, 1.0
    return cell_index


def move(grid: Grid, cell_index: CellIndex, lists: CellLists, slots: Int64s, gates: Floats) -> tuple[CellLists, int]:
    """Adjust, with a larger pool whenever it is full; returns the lists and the number of updates."""
    n_updates, done = np.zeros(1, np.int64), 0
    path, found = make_path(len(grid.n)), make_found(int(n_cells(grid)))
    while True:
        done = adjust(slots, gates, done, grid, cell_index, lists, path, found, n_updates)
        if done == len(slots):
            return lists, int(n_updates[0])
        check_cell_index(grid, cell_index, lists)
        lists = repacked(lists)


def random_grid(random: np.random.Generator, dims: int, cells: int = 100) -> Grid:
    low = random.normal(size=dims)
    return fit_grid(low, low + random.random(dims), target_cells=cells)


def random_vectors(random: np.random.Generator, grid: Grid, n: int, dims: int) -> tuple[Floats, Floats]:
    """Centres in the grid and around it, some on its lines, with zeros among centres and weights."""
    centres = random.normal(size=(n, dims))
    for j in range(len(grid.n)):
        lines = grid.low[j] + grid.side[j] * random.integers(0, grid.n[j] + 1, n)
        within = grid.low[j] + grid.side[j] * grid.n[j] * random.random(n)
        centres[:, j] = np.choose(random.integers(0, 3, n), [centres[:, j], lines, within])
    centres[random.random((n, dims)) < 0.1] = 0.0
    return centres, random.random((n, dims)) * random.integers(0, 2, (n, dims))


def gates_around(bounds: Floats) -> list[float]:
    """Gates equal to bounds, a little less, a little more, and at the ends."""
    near = [np.nextafter(bounds, -np.inf), bounds, np.nextafter(bounds, np.inf)]
    return [-np.inf, np.inf, -1e300, 1e300, *np.concatenate(near)]


@pytest.mark.parametrize("dims", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM])
def test_the_band_holds_the_gates_with_the_same_cells(kind: int, dims: int) -> None:
    random = np.random.default_rng(dims)
    for _ in range(5):
        grid = random_grid(random, dims)
        for centre, weight in zip(*random_vectors(random, grid, 4, dims), strict=True):
            bounds = cell_bounds(grid, kind, centre, weight)
            for gate in gates_around(random.choice(np.unique(bounds), 5)):
                inner, outer = cell_band(grid, kind, centre, weight, gate)
                assert inner == bounds[bounds <= gate].max(initial=-np.inf)
                assert outer == bounds[bounds > gate].min(initial=np.inf)


def test_the_band_of_what_cells_say_nothing_about() -> None:
    one, many = fit_grid(np.zeros(0), np.zeros(0)), fit_grid(np.zeros(2), np.ones(2), target_cells=16)
    vector = np.array([1.0, 0.0, 1.0])
    assert cell_band(many, COSINE, vector, vector, 0.0) == (-np.inf, np.inf)
    assert cell_band(many, SUM, vector, vector, 0.0) == (-np.inf, np.inf)
    assert cell_band(one, EUCLIDEAN, vector, vector, 0.0) == (0.0, np.inf)
    assert cell_band(one, EUCLIDEAN, vector, vector, -1.0) == (-np.inf, 0.0)


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM, COSINE])
def test_bounds_are_those_of_the_grid_but_for_half_planes_at_the_border(kind: int) -> None:
    random = np.random.default_rng(kind)
    grid = random_grid(random, 3)
    for centre, weight in zip(*random_vectors(random, grid, 10, 4), strict=True):
        bounds = cell_bounds(grid, kind, centre, weight)
        unbounded = np.array([cell_bound(grid, kind, centre, weight, cell) for cell in range(n_cells(grid))])
        if kind == SUM:
            bounds[unbounded == -np.inf] = -np.inf
        assert (bounds == unbounded).all()


@pytest.mark.parametrize("dims", [1, 2, 4, 16])
@pytest.mark.parametrize("cells", [1, 5, 64, 200])
def test_lists_follow_the_gates(cells: int, dims: int) -> None:
    random = np.random.default_rng(cells + dims)
    n = 24
    grid = random_grid(random, dims, cells)
    centres, weights = random_vectors(random, grid, n, dims)
    cell_index = unlisted(random.integers(0, 4, n), centres, weights)
    lists = make_lists(int(n_cells(grid)))
    for _ in range(25):
        slots = random.permutation(n)[: random.integers(1, n)]
        gates = cell_index.gate[slots] + random.normal(size=len(slots)) * 10.0 ** random.integers(-3, 1)
        for i, slot in enumerate(slots):
            bounds = cell_bounds(grid, int(cell_index.kind[slot]), centres[slot], weights[slot])
            if not np.isfinite(gates[i]) or random.random() < 0.3:
                gates[i] = random.choice(gates_around(random.choice(bounds, 2)))
            elif random.random() < 0.3:
                gates[i] = random.choice(np.sort(bounds)[: len(bounds) // 3 + 1])
        lists, _ = move(grid, cell_index, lists, slots, gates)
        assert (cell_index.gate[slots] == gates).all()
        check_cell_index(grid, cell_index, lists)
    lists, _ = move(grid, cell_index, lists, np.arange(n), np.full(n, -np.inf))
    check_cell_index(grid, cell_index, lists)
    assert lists.length.sum() == 0


def test_a_gate_that_stays_in_its_band_changes_no_cells() -> None:
    grid = make_grid(np.zeros(2), np.ones(2), np.array([10, 10]))
    cell_index = unlisted(np.zeros(1, np.int64), np.full((1, 2), 4.5), np.ones((1, 2)))
    slot = np.zeros(1, np.int64)
    lists, n_updates = move(grid, cell_index, make_lists(100), slot, np.array([0.25]))
    assert (n_updates, cell_index.n_listed[0]) == (1, 5)
    assert (cell_index.inner[0], cell_index.outer[0]) == (0.25, 0.5)
    before = [array.copy() for array in lists]
    lists, n_updates = move(grid, cell_index, lists, slot, np.array([np.nextafter(0.5, 0.0)]))
    assert n_updates == 0
    assert all((a == b).all() for a, b in zip(before, lists, strict=True))
    lists, n_updates = move(grid, cell_index, lists, slot, np.array([0.5]))
    assert (n_updates, cell_index.n_listed[0]) == (1, 9)
    lists, n_updates = move(grid, cell_index, lists, slot, np.array([np.nextafter(0.25, 0.0)]))
    assert (n_updates, cell_index.n_listed[0]) == (1, 1)


@pytest.mark.parametrize(
    "moves",
    [
        # Of 80 cells at most 20 are listed: with 19 it is, with 21 it goes everywhere, and it comes back with 9.
        [(9.0, 19), (9.49, 19), (9.5, EVERYWHERE), (8.0, EVERYWHERE), (4.5, EVERYWHERE), (4.49, 9), (9.0, 19)],
        # How far it has to come back is not known of a slot that was without a gate from the start.
        [(np.inf, EVERYWHERE), (9.0, 19), (np.inf, EVERYWHERE), (30.0, EVERYWHERE), (9.0, EVERYWHERE), (4.0, 9)],
        [(9.5, EVERYWHERE), (np.inf, EVERYWHERE), (9.0, EVERYWHERE), (0.0, 1), (-1.0, 0), (np.inf, EVERYWHERE)],
        [(np.inf, EVERYWHERE), (-np.inf, NOWHERE), (0.0, 1), (np.inf, EVERYWHERE), (-1e300, 0)],
    ],
)
def test_a_slot_goes_everywhere_and_comes_back_later(moves: list[tuple[float, int]]) -> None:
    assert 80 // SHARE == 20
    grid = make_grid(np.zeros(1), np.ones(1), np.array([80]))
    cell_index = unlisted(np.full(1, CHEBYSHEV), np.full((1, 1), 40.5), np.ones((1, 1)))
    lists, slot = make_lists(80), np.zeros(1, np.int64)
    for gate, n_listed in moves:
        lists, _ = move(grid, cell_index, lists, slot, np.array([gate]))
        check_cell_index(grid, cell_index, lists)
        assert cell_index.n_listed[0] == n_listed, gate


def test_half_planes_are_listed_in_few_cells_and_outside() -> None:
    grid = make_grid(np.zeros(4), np.full(4, 0.25), np.full(4, 4))
    cell_index = unlisted(np.full(1, SUM), np.ones((1, 4)), np.ones((1, 4)))
    lists, _ = move(grid, cell_index, make_lists(256), np.zeros(1, np.int64), np.array([-3.6]))
    assert cell_index.n_listed[0] == 5
    assert lists.length[-1] == 1
    assert lists.length[-EXTRA:-1].sum() == 0
    check_cell_index(grid, cell_index, lists)


def test_a_half_plane_beyond_the_grid_is_listed_outside() -> None:
    grid = make_grid(np.zeros(2), np.ones(2), np.array([4, 4]))
    cell_index = unlisted(np.full(1, SUM), np.ones((1, 2)), np.ones((1, 2)))
    lists, slot = make_lists(16), np.zeros(1, np.int64)
    for gate, n_listed, n_outside in [(-9.0, 0, 1), (-np.inf, NOWHERE, 0), (-8.0, 1, 1), (-8.5, 0, 1), (-1e300, 0, 1)]:
        lists, n_updates = move(grid, cell_index, lists, slot, np.array([gate]))
        check_cell_index(grid, cell_index, lists)
        assert (cell_index.n_listed[0], lists.length[-1]) == (n_listed, n_outside)
        assert n_updates == (gate in (-8.0, -8.5))


def test_kinds_without_cells_are_everywhere_or_nowhere() -> None:
    grid = make_grid(np.zeros(1), np.ones(1), np.array([10]))
    centres = np.ones((2, 3))
    cell_index = unlisted(np.array([COSINE, SUM]), centres, centres)
    lists, slots = make_lists(10), np.arange(2)
    for gate, n_listed in [
        (-np.inf, NOWHERE),
        (-1.0, EVERYWHERE),
        (np.inf, EVERYWHERE),
        (3.0, EVERYWHERE),
        (-np.inf, NOWHERE),
    ]:
        lists, _ = move(grid, cell_index, lists, slots, np.full(2, gate))
        assert cell_index.n_listed.tolist() == [n_listed] * 2
        check_cell_index(grid, cell_index, lists)


def test_a_full_pool_leaves_everything_as_it_was() -> None:
    random = np.random.default_rng(6)
    grid = fit_grid(np.zeros(2), np.ones(2), target_cells=100)
    cell_index = unlisted(np.zeros(9, np.int64), random.random((9, 2)), np.ones((9, 2)))
    lists, n_updates = make_lists(100), np.zeros(1, np.int64)
    slots, gates = np.arange(9), np.full(9, 0.03)
    assert adjust(slots, gates, 0, grid, cell_index, lists, make_path(2), make_found(100), n_updates) == 0
    assert lists.length.sum() == n_updates[0] == 0
    assert (cell_index.gate == -np.inf).all()
    check_cell_index(grid, cell_index, lists)


def test_a_repacked_pool_has_no_holes_and_shrinks() -> None:
    random = np.random.default_rng(7)
    grid = fit_grid(np.zeros(2), np.ones(2), target_cells=64)
    cell_index = unlisted(np.zeros(300, np.int64), random.random((300, 2)), np.ones((300, 2)))
    lists, _ = move(grid, cell_index, make_lists(64), np.arange(300), np.full(300, 0.01))
    lists, _ = move(grid, cell_index, lists, np.arange(290), np.full(290, -np.inf))
    smaller = repacked(lists)
    assert len(smaller.pool) < len(lists.pool) / 2
    check_cell_index(grid, cell_index, smaller)
    for of in range(len(lists.start)):
        assert entries(smaller, of).tolist() == entries(lists, of).tolist()


@pytest.mark.parametrize("n", [1, 5, STRETCH - 1, STRETCH, STRETCH + 1, 2 * STRETCH, 200])
def test_finds_the_position_of_each_slot(n: int) -> None:
    pool = np.random.default_rng(n).permutation(1000)[: n + 10].astype(np.int32)
    lists = CellLists(pool, np.zeros(2, np.int64), np.array([3]), np.array([n]), np.array([n]))
    assert [_position(lists, 0, slot) for slot in pool[3 : 3 + n]] == list(range(n))


def test_without_room_a_match_stops_before_the_publication() -> None:
    grid = make_grid(np.zeros(1), np.ones(1), np.array([4]))
    cell_index = unlisted(np.zeros(3, np.int64), np.array([[0.5], [0.5], [2.5]]), np.ones((3, 1)))
    lists, _ = move(grid, cell_index, make_lists(4), np.arange(3), np.full(3, 0.1))
    nothing = np.zeros(0, np.int64)
    points = np.array([[2.5, 0.5, 0.6, 9.0]])
    contents = Contents(points, np.zeros(4), nothing, nothing, nothing, nothing, np.zeros(0), 1.0)
    look, into = make_look(1), make_candidates(3)
    assert match(contents, 0, 4, grid, cell_index, lists, look, into) == 2
    assert into.publication[: into.length[0]].tolist() == [0, 1, 1]
    assert into.counts[0] == 3
    into.length[0] = 0
    assert match(contents, 2, 4, grid, cell_index, lists, look, into) == 4
    assert into.slot[: into.length[0]].tolist() == [0, 1]
    assert into.counts[0] == 5
    assert look.n_outside[0] == 1
    assert len(lists.start) == KINDS * 4 + EXTRA
