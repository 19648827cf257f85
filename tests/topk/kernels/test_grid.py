"""The geometry of a grid: where points lie, and bounds that no score falls below, to the last bit."""

import itertools

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.topk.kernels.grid import (
    MOST_CELLS,
    WIDEST,
    Grid,
    box_bound,
    cell_bound,
    cell_of,
    check_grid,
    coordinate,
    edge_high,
    edge_low,
    fit_grid,
    make_grid,
    n_cells,
)
from skyband.topk.kernels.score import CHEBYSHEV, COSINE, EUCLIDEAN, SUM, score_pair

MAGNITUDES = [1e-300, 1e-3, 1.0, 1e16, 1e150]


def random_grid(random: np.random.Generator, dims: int, magnitude: float, cells: int = 60) -> Grid:
    """A grid over an extent of a magnitude, not around 0."""
    low = magnitude * random.normal(size=dims)
    return fit_grid(low, low + magnitude * random.random(dims), target_cells=cells)


def points_around(random: np.random.Generator, grid: Grid, dims: int, magnitude: float, n: int) -> Floats:
    """Points within the grid and far beyond it, and on its lines and beside them."""
    points = magnitude * random.normal(size=(n, dims))
    for j in range(len(grid.n)):
        lines = grid.low[j] + grid.side[j] * random.integers(0, grid.n[j] + 1, n)
        beside = np.nextafter(lines, random.choice([-np.inf, np.inf], n))
        within = grid.low[j] + grid.n[j] * grid.side[j] * random.random(n)
        points[:, j] = np.choose(random.integers(0, 4, n), [points[:, j], lines, beside, within])
    return points


@pytest.mark.parametrize("dims", [*range(9), 11, 12, 13, 16, 40])
@pytest.mark.parametrize("target", [1, 2, 3, 10, 4096])
def test_has_no_more_cells_than_wanted(dims: int, target: int) -> None:
    grid = fit_grid(np.zeros(dims), np.ones(dims), target_cells=target)
    check_grid(grid)
    assert n_cells(grid) <= target
    assert len(grid.n) <= min(dims, WIDEST)
    if dims > 0:
        assert 2 * n_cells(grid) > target


def test_cells_are_shared_out_evenly() -> None:
    assert fit_grid(np.zeros(4), np.ones(4)).n.tolist() == [8, 8, 8, 8]
    assert fit_grid(np.zeros(3), np.ones(3), target_cells=40).n.tolist() == [4, 3, 3]
    assert fit_grid(np.zeros(2), np.ones(2), n_per_dim=5).n.tolist() == [5, 5]
    crowded = fit_grid(np.zeros(16), np.ones(16), n_per_dim=10)
    assert n_cells(crowded) == 10**6 <= MOST_CELLS


def test_a_dimension_without_extent_is_left_whole() -> None:
    grid = fit_grid(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 3.0]), target_cells=10)
    check_grid(grid)
    assert grid.n.tolist() == [1, 10]
    assert grid.side.tolist() == [1.0, 0.2]
    assert len(fit_grid(np.ones(3), np.ones(3)).n) == 0
    assert fit_grid(np.ones(2), np.ones(2), n_per_dim=3).side.tolist() == [1.0, 1.0]
    # An extent so small that its parts are 0.
    check_grid(fit_grid(np.zeros(1), np.full(1, 5e-324), target_cells=10))


def test_the_grid_reaches_over_what_it_was_fitted_to() -> None:
    random = np.random.default_rng(1)
    for magnitude, cells in itertools.product(MAGNITUDES, [1, 7, 1000]):
        for _ in range(100):
            low = magnitude * random.normal(size=2)
            high = low + magnitude * random.random(2) * 10.0 ** random.integers(-12, 2)
            grid = fit_grid(low, high, target_cells=cells)
            reached = grid.low + grid.n * grid.side
            assert (reached >= high[: len(grid.n)]).all()


@pytest.mark.parametrize("magnitude", MAGNITUDES)
def test_a_point_lies_between_the_edges_of_its_coordinate(magnitude: float) -> None:
    random = np.random.default_rng(2)
    for _ in range(10):
        grid = random_grid(random, 2, magnitude)
        for point in points_around(random, grid, 2, magnitude, 40):
            cell = 0
            for j, x in enumerate(point):
                c = coordinate(grid, j, x)
                assert 0 <= c < grid.n[j]
                assert edge_low(grid, j, c) <= x < edge_high(grid, j, c)
                cell += c * grid.stride[j]
            assert cell_of(grid, point) == cell


def test_sides_may_be_lost_in_the_magnitude_of_the_first_line() -> None:
    grid = make_grid(np.array([1e16]), np.array([0.3]), np.array([50]))
    for x in 1e16 + 2.0 * np.arange(-3, 12):
        c = coordinate(grid, 0, x)
        assert edge_low(grid, 0, c) <= x < edge_high(grid, 0, c)


def test_border_cells_have_no_end() -> None:
    grid = make_grid(np.zeros(1), np.ones(1), np.array([3]))
    edges = [(edge_low(grid, 0, c), edge_high(grid, 0, c)) for c in range(3)]
    assert edges == [(-np.inf, 1.0), (1.0, 2.0), (2.0, np.inf)]
    assert [coordinate(grid, 0, x) for x in (-1e150, 0.0, 1.0, 1.5, 2.0, 1e150)] == [0, 0, 1, 1, 2, 2]


def test_no_dimension_is_one_cell() -> None:
    grid = fit_grid(np.zeros(0), np.zeros(0))
    assert n_cells(grid) == 1
    assert cell_of(grid, np.ones(3)) == 0
    vector = np.ones(3)
    assert [cell_bound(grid, kind, vector, vector, 0) for kind in range(4)] == [0.0, 0.0, -np.inf, -np.inf]
    assert cell_bound(grid, SUM, np.zeros(3), vector, 0) == 0.0


@pytest.mark.parametrize("dims", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM, COSINE])
def test_no_score_falls_below_the_bounds(kind: int, magnitude: float, dims: int) -> None:
    random = np.random.default_rng(dims)
    for _ in range(4):
        grid = random_grid(random, dims, magnitude)
        centres = points_around(random, grid, dims, magnitude, 4)
        centres[random.random(centres.shape) < 0.2] = 0.0
        weight = random.random(dims) * random.integers(0, 2, dims)
        for centre in centres:
            if kind == SUM and dims > len(grid.n) and random.random() < 0.5:
                centre[len(grid.n) :] = 0.0
            for point in points_around(random, grid, dims, magnitude, 10):
                at = np.array([coordinate(grid, j, point[j]) for j in range(len(grid.n))], np.int64)
                first, last = random.integers(0, at + 1), random.integers(at, grid.n)
                exact = score_pair(kind, centre, weight, 1.0, point, 1.0)
                bound = cell_bound(grid, kind, centre, weight, cell_of(grid, point))
                around = box_bound(grid, kind, centre, weight, first, last)
                assert around <= bound <= exact
                assert box_bound(grid, kind, centre, weight, at, at) == bound


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV])
def test_the_nearest_point_of_a_cell_has_its_bound(kind: int) -> None:
    random = np.random.default_rng(3)
    grid = random_grid(random, 3, 1.0)
    for centre in points_around(random, grid, 3, 1.0, 10):
        weight = random.random(3)
        for cell in range(n_cells(grid)):
            at = cell // grid.stride % grid.n
            low = [edge_low(grid, j, c) for j, c in enumerate(at)]
            high = [edge_high(grid, j, c) for j, c in enumerate(at)]
            nearest = np.clip(centre, low, high)
            exact = score_pair(kind, centre, weight, 1.0, nearest, 1.0)
            assert cell_bound(grid, kind, centre, weight, cell) == exact


def test_the_best_corner_of_a_cell_has_its_bound() -> None:
    random = np.random.default_rng(4)
    grid = make_grid(np.zeros(2), np.ones(2), np.array([4, 4]))
    weight = np.ones(2)
    for _ in range(20):
        centre = random.normal(size=2)
        for cell in range(16):
            at = cell // grid.stride % grid.n
            bound = cell_bound(grid, SUM, centre, weight, cell)
            if (at[centre > 0.0] == 3).any() or (at[centre < 0.0] == 0).any():
                assert bound == -np.inf
            else:
                assert bound == score_pair(SUM, centre, weight, 1.0, np.where(centre > 0.0, at + 1.0, 1.0 * at), 1.0)


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM])
def test_the_bound_of_a_box_is_that_of_its_best_cell(kind: int) -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        grid = random_grid(random, 2, 1.0)
        centre, weight = points_around(random, grid, 2, 1.0, 1)[0], random.random(2)
        first = random.integers(0, grid.n)
        last = random.integers(first, grid.n)
        coordinates = itertools.product(*(range(a, b + 1) for a, b in zip(first, last, strict=True)))
        cells = [int(at @ grid.stride) for at in coordinates]
        bounds = [cell_bound(grid, kind, centre, weight, cell) for cell in cells]
        assert box_bound(grid, kind, centre, weight, first, last) == min(bounds)
