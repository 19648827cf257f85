"""Publications by cell and the search over them, against sorting everything that is stored."""

from typing import NamedTuple

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.kernels.heap import Heap, make_heap
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.cell_store import (
    ARRIVED,
    OUTSIDE,
    CellPool,
    cells_of,
    check_cell_pool,
    make_cell_pool,
    places_of,
    put_in_cells,
)
from skyband.topk.kernels.cpm import CALLS, PUSHED, SCORED, VISITED, Frontier, StoreQuery, make_frontier, search
from skyband.topk.kernels.grid import fit_grid, make_grid
from skyband.topk.kernels.scan import COUNT, LARGEST, TIME, UNBOUNDED, Live, Published
from skyband.topk.kernels.score import CHEBYSHEV, COSINE, EUCLIDEAN, PLACE, SUM, Contents, Questions, score_run

NOTHING = np.zeros(0, np.int64)
KINDS = [EUCLIDEAN, CHEBYSHEV, SUM, COSINE]


def _norm(points: Floats) -> Floats:
    total = np.zeros(points.shape[1])
    for row in points:
        total += row * row
    return np.sqrt(total)


def _publish(points: Floats, rng: np.random.Generator, base: int = 0, head: int = 0, floor: int = 0) -> Published:
    """Points by dimension, with times and stamps in no order."""
    n = points.shape[1]
    stamps = rng.permutation(n).astype(np.int64)
    live = Live(stamps * 3 // 2, stamps, base, head, floor, base + np.argsort(stamps), 0)
    contents = Contents(points, _norm(points), NOTHING, NOTHING, NOTHING, NOTHING, np.zeros(0), 1.0)
    return Published(contents, live)


def _put_up(published: Published, n_cells: int, fitted: Floats | None = None) -> CellPool:
    """Cells with all that is stored, in a grid fitted to these points or to all."""
    contents, live = published
    box = contents.point if fitted is None else fitted
    grid = fit_grid(box.min(axis=1), box.max(axis=1), target_cells=n_cells)
    n = contents.point.shape[1]
    cells = np.zeros(n - live.head, np.int64)
    cells_of(grid, contents.point, live.head, n, cells)
    cell_pool = make_cell_pool(grid, len(contents.point), np.bincount(cells, minlength=int(np.prod(grid.n))), 0)
    assert put_in_cells(cell_pool, contents.point, live.base, live.head, n, live.base + live.head) == n
    check_cell_pool(cell_pool)
    return cell_pool


def _question(kind: int, centre: Floats, weight: Floats) -> Questions:
    """One subscription, in slot 3."""
    centres, weights = np.full((1, len(centre), BLOCK), np.nan), np.full((1, len(centre), BLOCK), np.nan)
    centres[0, :, 3], weights[0, :, 3] = centre, weight
    norms = np.full(BLOCK, _norm(centre[:, None])[0])
    none = np.zeros(0)
    return Questions(np.array([kind], np.int8), centres, weights, norms, none, NOTHING, NOTHING, NOTHING, NOTHING, none)


def _scores(kind: int, questions: Questions, contents: Contents) -> Floats:
    """What a user sees, for every publication."""
    total = np.zeros(contents.point.shape[1])
    for x, c, w in zip(contents.point, questions.centre[0, :, 3], questions.weight[0, :, 3], strict=True):
        if kind == EUCLIDEAN:
            total += (x - c) * (x - c)
        elif kind == CHEBYSHEV:
            total = np.maximum(total, w * abs(x - c))
        else:
            total += c * x
    if kind == EUCLIDEAN:
        return np.sqrt(total)
    lengths = questions.norm[3] * contents.norm
    return np.where(lengths > 0.0, total / np.where(lengths > 0.0, lengths, 1.0), 0.0) if kind == COSINE else total


def _sorted_out(scores: Floats, way: float, live: Live, ask: StoreQuery) -> list[tuple[float, int, int]]:
    """What `search` promises, by sorting."""
    found = []
    for p in range(live.head, ask.hi):
        age = live.ts[p] if ask.window_kind == TIME else live.stamp[p]
        entry = (ask.sign * float(scores[p]), -int(live.stamp[p]), p)
        if live.stamp[p] >= live.floor and age > ask.cut and way * scores[p] <= ask.limit:
            found.append(entry)
    last = (ask.last_key, -ask.last_stamp)
    return sorted(entry for entry in found if entry[:2] > last)[: max(ask.want, 0)]


def _found(heap: Heap, n: int) -> list[tuple[float, int, int]]:
    return list(zip(heap.keys[:n].tolist(), (-heap.stamps[:n]).tolist(), heap.items[:n].tolist(), strict=True))


class Case(NamedTuple):
    """A question put to a cell store, checked against sorting."""

    kind: int
    cell_pool: CellPool
    published: Published
    frontier: Frontier

    def check(self, centre: Floats, weight: Floats, ask: StoreQuery) -> list[tuple[float, int, int]]:
        questions = _question(self.kind, centre, weight)
        heap = make_heap(max(ask.want, 1))
        n = search(self.cell_pool, questions, self.published, ask, self.frontier, heap)
        found = _found(heap, n)
        way = 1.0 if self.kind <= CHEBYSHEV else -1.0
        scores = _scores(self.kind, questions, self.published.contents)
        assert found == _sorted_out(scores, way, self.published.live, ask)
        return found


def _case(kind: int, published: Published, n_cells: int, fitted: Floats | None = None) -> Case:
    cell_pool = _put_up(published, n_cells, fitted)
    return Case(kind, cell_pool, published, make_frontier(cell_pool))


def _ask(kind: int, published: Published, want: int) -> StoreQuery:
    """The best of everything."""
    way = 1.0 if kind <= CHEBYSHEV else -1.0
    hi = published.contents.point.shape[1]
    return StoreQuery(3, hi, -LARGEST - 1, want, UNBOUNDED, way, np.inf, -np.inf, LARGEST)


def _points(rng: np.random.Generator, dims: int, n: int, whole: bool) -> Floats:
    return rng.integers(0, 4, (dims, n)).astype(np.float64) if whole else rng.random((dims, n))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", range(1, 9))
def test_finds_the_best(dims: int, kind: int, whole: bool) -> None:
    rng = np.random.default_rng([dims, kind, whole])
    published = _publish(_points(rng, dims, 90, whole), rng, base=7, head=5, floor=3)
    case = _case(kind, published, 30)
    for want in (0, 1, 4, 30, 100):
        centre = _points(rng, dims, 1, whole)[:, 0] * (2.0 if want % 3 else -1.0)
        weight = rng.integers(1, 3, dims).astype(np.float64)
        ask = _ask(kind, published, want)
        first = case.check(centre, weight, ask)
        case.check(centre, weight, ask._replace(hi=60, cut=20, window_kind=COUNT))
        case.check(centre, weight, ask._replace(cut=40, window_kind=TIME))
        if first:
            key, recency, _ = first[len(first) // 2]
            case.check(centre, weight, ask._replace(last_key=key, last_stamp=-recency))
            # A Boolean subscription, whose limit is one of the scores.
            boolean = ask._replace(sign=0.0, limit=key)
            case.check(centre, weight, boolean)
            case.check(centre, weight, boolean._replace(last_key=0.0, last_stamp=50))


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM])
@pytest.mark.parametrize("dims", [1, 2, 3, 5, 14])
def test_visits_each_cell_once_when_everything_is_wanted(dims: int, kind: int) -> None:
    rng = np.random.default_rng([dims, kind])
    published = _publish(rng.normal(size=(dims, 60)), rng)
    case = _case(kind, published, 50)
    for centre in (rng.normal(size=dims), np.full(dims, 9.0), np.full(dims, -9.0), np.zeros(dims)):
        case.frontier.counts[:] = 0
        assert len(case.check(centre, np.ones(dims), _ask(kind, published, 61))) == 60
        scored, visited = case.frontier.counts[[SCORED, VISITED]]
        assert (scored, visited) == (60, len(case.cell_pool.cells))


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM])
@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_visits_few_cells_of_many(dims: int, kind: int) -> None:
    rng = np.random.default_rng([dims, kind])
    published = _publish(rng.random((dims, 3000)), rng)
    case = _case(kind, published, 400)
    for _ in range(20):
        centre = rng.random(dims) if kind != SUM else rng.normal(size=dims)
        case.check(centre, rng.uniform(0.5, 2.0, dims), _ask(kind, published, 9))
    counts = case.frontier.counts / case.frontier.counts[CALLS]
    assert len(case.cell_pool.cells) > 250
    assert counts[VISITED] < 25
    assert counts[SCORED] < 250
    assert counts[PUSHED] < 60


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM])
def test_a_tight_limit_keeps_a_boolean_search_small(kind: int) -> None:
    rng = np.random.default_rng(kind)
    published = _publish(rng.random((2, 1000)), rng)
    case = _case(kind, published, 200)
    limit = -1.9 if kind == SUM else 0.05
    case.check(
        np.ones(2) if kind == SUM else np.full(2, 0.5),
        np.ones(2),
        _ask(kind, published, 5)._replace(sign=0.0, limit=limit),
    )
    assert case.frontier.counts[VISITED] < 20
    case.check(np.zeros(2), np.ones(2), _ask(kind, published, 5)._replace(sign=0.0, limit=-np.inf))


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_points_and_queries_outside_of_the_box(kind: int, scale: float) -> None:
    rng = np.random.default_rng(kind)
    inside = rng.uniform(-1.0, 1.0, (3, 40))
    outside = rng.uniform(-1.0, 1.0, (3, 40)) * rng.choice([1.0, 5.0, 100.0], (3, 40))
    published = _publish(np.concatenate([inside, outside], axis=1) * scale / 100.0, rng)
    case = _case(kind, published, 64, fitted=inside * scale / 100.0)
    for far in (0.001, 0.01, 0.1, 1.0):
        for _ in range(5):
            centre = rng.uniform(-1.0, 1.0, 3) * far * scale
            case.check(centre, rng.uniform(0.0, 1.0, 3), _ask(kind, published, 7))


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM])
def test_a_crowd_in_one_cell(kind: int) -> None:
    rng = np.random.default_rng(kind)
    crowd = np.repeat(rng.random((2, 5)), 20, axis=1) * 1e-6
    published = _publish(np.concatenate([crowd, [[0.0, 1.0], [0.0, 1.0]]], axis=1), rng)
    case = _case(kind, published, 100)
    assert (case.cell_pool.cells[:, 2] - case.cell_pool.cells[:, 1]).max() == 101
    for centre in ([0.0, 0.0], [1.0, 1.0], [0.3, -0.2]):
        for want in (1, 30, 200):
            case.check(np.array(centre), np.ones(2), _ask(kind, published, want))


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM, COSINE])
def test_points_that_are_all_the_same_are_one_cell(kind: int) -> None:
    rng = np.random.default_rng(kind)
    published = _publish(np.full((2, 30), 0.25), rng)
    case = _case(kind, published, 100)
    assert len(case.cell_pool.cells) == 1
    case.check(np.array([0.5, 0.0]), np.ones(2), _ask(kind, published, 4))
    assert case.frontier.counts[[SCORED, VISITED]].tolist() == [30, 0]


def test_different_squares_with_equal_roots_are_a_tie() -> None:
    """The more recent one lies in a cell whose bound is more than the square of the other one."""
    near, step = 1.25, np.sqrt(np.spacing(1.5625))
    squares = near * near, near * near + step * step
    assert squares[0] < squares[1]
    assert np.sqrt(squares[0]) == np.sqrt(squares[1])
    points = np.array([[near, near], [0.0, step]])
    contents = Contents(points, _norm(points), NOTHING, NOTHING, NOTHING, NOTHING, np.zeros(0), 1.0)
    stamps = np.arange(2, dtype=np.int64)
    published = Published(contents, Live(stamps, stamps, 0, 0, 0, stamps, 0))
    cell_pool = make_cell_pool(
        make_grid(np.array([0.0, 0.0]), np.array([near, step]), np.array([2, 2])), 2, np.ones(4, np.int64), 0
    )
    assert put_in_cells(cell_pool, points, 0, 0, 2, 0) == 2
    case = Case(EUCLIDEAN, cell_pool, published, make_frontier(cell_pool))
    found = case.check(np.zeros(2), np.ones(2), _ask(EUCLIDEAN, published, 1))
    assert found[0][2] == 1


def test_few_publications_are_looked_at_one_by_one() -> None:
    rng = np.random.default_rng(0)
    published = _publish(rng.random((2, 50)), rng)
    case = _case(EUCLIDEAN, published, 9)
    plain = case._replace(cell_pool=case.cell_pool._replace(plain=50))
    plain.check(np.zeros(2), np.ones(2), _ask(EUCLIDEAN, published, 3))
    assert case.frontier.counts.tolist() == [50, 0, 0, 1]
    case.check(np.zeros(2), np.ones(2), _ask(EUCLIDEAN, published, 3))
    assert case.frontier.counts[VISITED] > 0


def test_places_and_words_are_looked_at_one_by_one() -> None:
    rng = np.random.default_rng(4)
    n, n_terms = 20, 3
    published = _publish(rng.random((2, n)), rng)
    contents = published.contents._replace(
        signature=np.ones(n, np.int64),
        term_start=np.arange(n, dtype=np.int64),
        term_count=np.ones(n, np.int64),
        terms=rng.integers(0, n_terms, n),
        term_weights=rng.uniform(0.1, 1.0, n),
        diagonal=2.0,
    )
    published = published._replace(contents=contents)
    integers = np.zeros(BLOCK, np.int64)
    questions = _question(PLACE, rng.random(2), np.ones(2))._replace(
        alpha=np.full(BLOCK, 0.5),
        signature=integers + 1,
        term_start=integers,
        term_count=integers + 2,
        terms=np.arange(2, dtype=np.int64),
        term_weights=np.array([0.5, 0.25]),
    )
    cell_pool = _put_up(published, 4)
    frontier = make_frontier(cell_pool)._replace(said=np.zeros(n_terms))
    heap, directed, ask = make_heap(6), np.zeros(n), _ask(PLACE, published, 6)
    score_run(questions, 3, contents, 0, n, np.zeros(n_terms), directed)
    found = _found(heap, search(cell_pool, questions, published, ask, frontier, heap))
    matching = published.live._replace(stamp=np.where(directed < np.inf, published.live.stamp, -1))
    assert found == _sorted_out(-directed, -1.0, matching, ask)
    assert len(found) == 6


@pytest.mark.parametrize("dims", [1, 3])
def test_cells_take_in_and_drop(dims: int) -> None:
    """A crowd that moves from cell to cell: stretches fill, move down and grow."""
    rng = np.random.default_rng(dims)
    grid = fit_grid(np.zeros(dims), np.ones(dims), target_cells=8)
    cell_pool = make_cell_pool(grid, dims, np.full(int(np.prod(grid.n)), 3), 0)
    cell_pool = cell_pool._replace(numbers=np.zeros(2000, np.int64), points=np.zeros((2000, dims)))
    laid_out = int(cell_pool.used[0])
    points = np.clip(rng.normal(np.arange(400) / 400.0, 0.05, (dims, 400)), -0.1, 1.0)
    for lo in range(0, 400, 5):
        oldest = max(0, lo - 12)
        assert put_in_cells(cell_pool, points, 0, lo, lo + 5, oldest) == lo + 5
        check_cell_pool(cell_pool)
        held = np.sort(cell_pool.numbers[places_of(cell_pool)])
        assert np.array_equal(held[held >= oldest], np.arange(oldest, lo + 5))
    assert laid_out < cell_pool.used[0]
    assert cell_pool.tally[ARRIVED] == 400
    assert cell_pool.tally[OUTSIDE] == (points < 0.0).any(axis=0).sum() > 0


def test_no_room_in_the_pool() -> None:
    grid = fit_grid(np.zeros(1), np.ones(1), target_cells=2)
    cell_pool = make_cell_pool(grid, 1, np.zeros(2, np.int64), 0)
    points = np.full((1, 100), 0.25)
    reached = put_in_cells(cell_pool, points, 0, 0, 100, 0)
    assert 4 <= reached < 100
    check_cell_pool(cell_pool)
    assert cell_pool.numbers[places_of(cell_pool)].tolist() == list(range(reached))
    # What is forgotten makes room for the rest.
    assert put_in_cells(cell_pool, points, 0, reached, reached + 2, reached) == reached + 2
    assert cell_pool.numbers[places_of(cell_pool)].tolist() == [reached, reached + 1]


def test_a_stretch_stays_where_it_is_if_the_pool_has_no_shorter_one() -> None:
    grid = fit_grid(np.zeros(1), np.zeros(1))
    cell_pool = make_cell_pool(grid, 1, np.array([3]), 0)
    points = np.arange(20.0)[None]
    assert put_in_cells(cell_pool, points, 0, 0, 8, 0) == 8
    assert put_in_cells(cell_pool, points, 0, 8, 9, 7) == 9
    check_cell_pool(cell_pool)
    assert cell_pool.cells.tolist() == [[0, 0, 2, 8]]
    assert cell_pool.numbers[:2].tolist() == [7, 8]
