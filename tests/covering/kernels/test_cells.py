"""Cells of numbers: their order is kept for the hardest numbers, and rounding never makes a covering of none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.covering.grid import WHOLE, CoverGrid, Domain
from skyband.covering.kernels.cells import cell_of
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import kernel

LARGEST = float(np.finfo(np.float64).max)
NUMBERS = [0.0, 5e-324, 1e-323, 2.5e-308, 1e-160, 0.1, 1.0, 1.0 + 2**-52, 3.0, 65_535.0, 2.0**53, 1e150, 1e308, LARGEST]
NUMBERS += [-number for number in NUMBERS]

SAMPLES = {
    "nothing": np.zeros((0, 2)),
    "one number": np.full((3, 2), [-7.0, 7.0]),
    "the largest number": np.full((3, 2), [-LARGEST, LARGEST]),
    "unlimited": np.full((3, 2), np.inf),
    "denormals": np.array([[-5e-324, 1e-323], [0.0, 4e-323], [1e-320, 1e-308]]),
    "neighbours": np.array([[-1.0, 1.0 + 2**-52], [-1.0, 1.0 + 2**-51], [-(1.0 + 2**-52), 3.0]]),
    "all": np.array([[-number, number] for number in NUMBERS]),
    "many": np.random.default_rng(1).normal(size=(500, 2)),
}
DOMAINS = [
    Domain(0.0, 1.0),
    Domain(-LARGEST, LARGEST),
    Domain(0.0, 5e-324),
    Domain(-1e-310, 1e-310),
    Domain(1e308, LARGEST),
    Domain(-(2.0**53), 2.0**53, integer=True),
]
GRIDS = [CoverGrid([WHOLE], bits, sample) for sample in SAMPLES.values() for bits in (2, 5, 16, 32)]
GRIDS += [CoverGrid([domain], bits, np.zeros((0, 2))) for domain in DOMAINS for bits in (2, 16)]


@kernel
def write_cells_of(axes: Any, numbers: Floats, cells: Int64s) -> None:
    for i in range(len(numbers)):
        cells[i] = cell_of(axes, 0, numbers[i])


def cells_of(grid: CoverGrid, numbers: Floats) -> Int64s:
    cells = np.zeros(len(numbers), np.int64)
    write_cells_of(grid.axes, numbers, cells)
    return cells


def hard_numbers(grid: CoverGrid) -> Floats:
    """Numbers of all sizes, the knots, what lies between them, and the neighbours of all of these."""
    half = np.unique(grid.axes.half[0])
    between = half[:-1] + np.diff(half) * 0.5
    with np.errstate(over="ignore"):
        numbers = np.concatenate([NUMBERS, 2.0 * half, 2.0 * between, [-np.inf, np.inf]])
        near = [np.nextafter(numbers, to) for to in (-np.inf, np.inf)]
    return np.unique(np.concatenate([numbers, *near]))


@pytest.mark.parametrize("grid", GRIDS)
def test_cells_never_fall(grid: CoverGrid) -> None:
    cells = cells_of(grid, hard_numbers(grid))
    assert (np.diff(cells) >= 0).all()
    # The infinities have cells of their own.
    assert (cells[0], cells[-1]) == (0, grid.top)
    assert cells[1:-1].min() == 1
    assert cells[1:-1].max() <= grid.top - 1


def test_cells_share_out_a_domain_evenly() -> None:
    grid = CoverGrid([Domain(0.0, 13.0)], 4, np.zeros((0, 2)))
    numbers = np.arange(0.0, 13.0, 0.25)
    assert np.array_equal(cells_of(grid, numbers), 1 + np.floor(numbers))
    assert cells_of(grid, np.array([-1.0, 13.0, 99.0])).tolist() == [1, 14, 14]


def test_cells_share_out_a_sample_evenly() -> None:
    values = np.exp(np.random.default_rng(2).normal(scale=20.0, size=4000))
    grid = CoverGrid([WHOLE], 8, np.stack([-values[::2], values[1::2]], axis=1))
    assert np.bincount(cells_of(grid, values), minlength=256)[1:-1].max() < 80


@pytest.mark.parametrize(("low", "high", "bits"), [(0, 15, 4), (-5, 9, 4), (-40_000, 25_535, 16), (3, 4, 2)])
def test_integers_are_told_apart(low: int, high: int, bits: int) -> None:
    grid = CoverGrid([Domain(low, high, integer=True)], bits, np.zeros((0, 2)))
    assert grid.axes.tells_apart.all()
    numbers = np.unique(np.append(np.linspace(low, high, 50).astype(np.int64), [low + 1, high - 1]))
    assert np.array_equal(cells_of(grid, numbers.astype(np.float64)), numbers - low)
    points = np.stack([-numbers, numbers], axis=1).astype(np.float64)
    for rounding in (-1, 0, 1):
        cells = grid.cells(points, rounding)
        assert np.array_equal(cells, np.stack([grid.top - (numbers - low), numbers - low], axis=1))


def test_integers_far_out_are_told_apart_with_room_for_each() -> None:
    low = 2.0**53 - 100
    grid = CoverGrid([Domain(low, 2.0**53, integer=True)], 7, np.zeros((0, 2)))
    assert cells_of(grid, low + np.arange(101.0)).tolist() == list(range(101))


def test_integers_without_room_share_cells() -> None:
    grid = CoverGrid([Domain(0, 16, integer=True)], 4, np.zeros((0, 2)))
    assert not grid.axes.tells_apart.any()
    cells = cells_of(grid, np.arange(17.0))
    assert (cells.min(), cells.max()) == (1, 14)


numbers = st.sampled_from(NUMBERS) | st.floats(allow_nan=False) | st.integers(-4, 4).map(float)
rows = st.lists(st.tuples(numbers, numbers, numbers, numbers), min_size=1, max_size=20)
domains = st.sampled_from(
    [WHOLE, Domain(-3.0, np.inf), Domain(-np.inf, 3.0), Domain(-LARGEST, LARGEST), Domain(-1.0, 1.0)]
)


@given(rows, st.tuples(domains, domains), st.integers(2, 16), st.integers(0, 20))
def test_rounding_never_makes_a_covering(
    rows: list[tuple[float, ...]], domains: tuple[Domain, Domain], bits: int, n_sampled: int
) -> None:
    points = np.array(rows)
    # Most of what a grid holds is not what it was fitted to.
    grid = CoverGrid(domains, bits, points[:n_sampled])
    stored, up, down = (grid.cells(points, rounding).astype(np.int64) for rounding in (0, 1, -1))
    dominates = (points[:, None] >= points[None]).all(axis=2)
    assert not ((stored[:, None] >= up[None]).all(axis=2) & ~dominates).any()
    assert not ((stored[:, None] <= down[None]).all(axis=2) & ~dominates.T).any()
    assert not (dominates & ~(stored[:, None] >= stored[None]).all(axis=2)).any()
    assert (np.minimum(stored, down) >= 0).all()
    assert (np.maximum(stored, up) <= grid.top).all()


integers = st.integers(0, 15).map(float)


@given(st.lists(st.tuples(integers, integers), min_size=1, max_size=20))
def test_of_integers_with_room_cells_cover_what_is_covered(rows: list[tuple[float, float]]) -> None:
    points = np.array(rows) * [-1.0, 1.0]
    grid = CoverGrid([Domain(0, 15, integer=True)], 4, points)
    stored, asked = grid.cells(points), grid.cells(points, 1)
    dominates = (points[:, None] >= points[None]).all(axis=2)
    assert np.array_equal((stored[:, None] >= asked[None]).all(axis=2), dominates)
