"""Questions about objects that rank before others, and how full a box is, held against numpy."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.boxes import Boxes
from skyband.ranges.kernels.boxrank import DISTANCE, BoxQuery, Field, best, first_above, make_asked, make_walk, surround
from skyband.ranges.kernels.boxsearch import count_inside
from skyband.ranges.kernels.boxtree import LAST
from skyband.ranges.kernels.message import FARTHEST

SEEDS = range(10)


def draw_field(random: np.random.Generator, n: int, dims: int, n_cells: int) -> Field:
    """Objects on a small grid, in a tree."""
    boxes = Boxes(dims + 1)
    x, y = random.integers(0, n_cells, (n, dims)).astype(float), random.integers(0, n_cells, n).astype(float)
    boxes.add(0, np.arange(n), np.column_stack([x, y]))
    return Field(boxes.trees, x, y, random.permutation(n))


def draw_asked(random: np.random.Generator, dims: int, n_cells: int) -> BoxQuery:
    """A box, with another one inside."""
    asked = make_asked(dims)
    sides = np.sort(random.integers(0, n_cells, (4, dims)).astype(float), axis=0)
    asked.low[:-1], asked.inner_low[:], asked.inner_high[:], asked.high[:-1] = sides
    asked.low[-1], asked.high[-1] = -np.inf, np.inf
    return asked


def those_before(field: Field, asked: BoxQuery, before: float, tie: int) -> Int64s:
    inside = ((asked.low[:-1] <= field.x) & (field.x <= asked.high[:-1])).all(axis=1)
    return np.flatnonzero(inside & ((field.y < before) | ((field.y == before) & (field.tie < tie))))


def distances(asked: BoxQuery, x: Floats) -> Floats:
    """The largest share of the way from the inner box to the outer one, over all sides."""
    shares = [np.zeros(len(x))]
    for j in range(x.shape[1]):
        for inner, outer, off in (
            (asked.inner_low[j], asked.low[j], x[:, j] < asked.inner_low[j]),
            (asked.inner_high[j], asked.high[j], x[:, j] > asked.inner_high[j]),
        ):
            shares.append(np.where(off, (x[:, j] - inner) / (outer - inner if outer != inner else 1.0), 0.0))
    return np.asarray(np.max(shares, axis=0), np.float64)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_are_those_of_numpy(seed: int, dims: int) -> None:
    random = np.random.default_rng(seed)
    n, n_cells = int(random.choice([0, 1, 40, 300])), int(random.integers(1, 30))
    field, walk = draw_field(random, n, dims, n_cells), make_walk(7)
    for _ in range(10):
        asked, before, tie = draw_asked(random, dims, n_cells), float(random.integers(0, n_cells)), n // 2
        wanted = those_before(field, asked, before, tie)
        for by in (DISTANCE, dims):
            values = field.y[wanted] if by == dims else distances(asked, field.x[wanted])
            order = np.lexsort((field.tie[wanted], values))[:7]
            asked.high[-1] = np.inf
            n_found = best(field, asked, by, before, tie, 7, walk)
            assert walk.slot[:n_found].tolist() == wanted[order].tolist()
            assert np.allclose(walk.value[:n_found], values[order], rtol=1e-12)


def test_distances_hold_where_a_side_is_infinite() -> None:
    field = draw_field(np.random.default_rng(1), 50, 2, 9)
    asked, walk = make_asked(2), make_walk(50)
    asked.low[:], asked.high[:] = -FARTHEST, FARTHEST
    asked.inner_low[:], asked.inner_high[:] = 4.0, 5.0
    assert best(field, asked, DISTANCE, np.inf, 0, 50, walk) == 50
    off = np.maximum(np.maximum(4.0 - field.x, field.x - 5.0).max(axis=1), 0.0)
    assert (np.diff(off[walk.slot]) >= 0.0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_above_is_that_of_numpy(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, n_cells = int(random.choice([0, 1, 40, 300])), int(random.integers(1, 12))
    field, walk = draw_field(random, n, 2, n_cells), make_walk(1)
    for _ in range(10):
        asked, before, tie = draw_asked(random, 2, n_cells), float(random.integers(0, n_cells)), n // 2
        above_tie = int(random.choice([-1, n // 3, LAST]))
        wanted = those_before(field, asked, before, tie)
        wanted = wanted[(field.x[wanted, 1] > asked.low[1]) | (field.tie[wanted] > above_tie)]
        order = np.lexsort((field.tie[wanted], field.x[wanted, 1]))
        found = first_above(field, asked, 1, above_tie, before, tie, walk)
        assert found == (wanted[order[0]] if len(wanted) else -1)


@pytest.mark.parametrize("seed", SEEDS)
def test_how_full_a_box_is(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.choice([1, 30, 400, 2000]))
    boxes, points = Boxes(4, 2, order="curve"), random.integers(0, 9, (n, 4)).astype(float)
    boxes.add(1, np.arange(n), points)
    low, high = np.zeros(4), np.zeros(4)
    surround(boxes.trees, 1, low, high)
    assert low.tolist() == points.min(axis=0).tolist()
    assert high.tolist() == points.max(axis=0).tolist()
    for _ in range(10):
        low, high = np.sort(random.integers(0, 9, (2, 4)).astype(float), axis=0)
        n_inside = int(((low <= points) & (points <= high)).all(axis=1).sum())
        for most in (n_inside, n_inside + 1):
            assert count_inside(boxes.trees, 1, low, high, most) == n_inside
        for most in range(min(n_inside, 5)):
            assert most < count_inside(boxes.trees, 1, low, high, most) <= n_inside
        assert count_inside(boxes.trees, 0, low, high, 0) == 0
