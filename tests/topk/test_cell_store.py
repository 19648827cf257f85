"""The cell store: right after whatever arrives and goes, and fitted again only when that pays."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.contract import Horizon
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.heap import make_heap
from skyband.kernels.slots import BLOCK
from skyband.topk.cell_store import CellStore, few
from skyband.topk.kernels.cpm import CALLS, VISITED, StoreQuery, make_frontier, search
from skyband.topk.kernels.scan import LARGEST, UNBOUNDED
from skyband.topk.kernels.score import CHEBYSHEV, EUCLIDEAN, SUM, Questions, score_run
from skyband.topk.store import Arrivals, Store

NOTHING = np.zeros(0, np.int64)


class Stream:
    """A store with its cell store, and the best of it by sorting."""

    def __init__(self, dims: int, last: int, per_cell: int = 4, plain: int = 0) -> None:
        self.store = Store(dims, 1.0)
        self.cell_store = CellStore(dims, per_cell, plain)
        self.horizon = Horizon(n=last)
        self.now = 0
        self._n = 0

    def publish(self, points: Floats, delay: Int64s | int = 0) -> None:
        """Let points arrive a tick apart, some of them late."""
        n = len(points)
        ts = self.now + np.arange(n) - delay
        ids = pa.array(np.arange(self._n, self._n + n))
        nothing = np.zeros(n, np.int64)
        norms, offsets = np.zeros(n), np.zeros(n + 1, np.int64)
        self.store.append(Arrivals(ids, ts, points, norms, nothing, offsets, NOTHING, np.zeros(0)))
        self.cell_store.insert(self.store.contents, self.store.base, self.store.tail - n, self.store.tail)
        self._n += n
        self.now += n
        self.forget(self.horizon)

    def forget(self, horizon: Horizon) -> None:
        """Let go what lies outside of a horizon."""
        self.store.forget(self.now, horizon)
        self.cell_store.forget(self.store.base + self.store.head)

    def check(self, kind: int, centre: Floats, want: int) -> None:
        """Search, and compare with sorting."""
        store = self.store
        self.cell_store.check(store.base + store.indices(), store.contents, store.base)
        vectors = np.repeat(centre[None, :, None], BLOCK, axis=2)
        none = np.zeros(0)
        questions = Questions(
            np.array([kind], np.int8),
            vectors,
            np.ones_like(vectors),
            np.ones(BLOCK),
            none,
            NOTHING,
            NOTHING,
            NOTHING,
            NOTHING,
            none,
        )
        way = 1.0 if kind != SUM else -1.0
        ask = StoreQuery(0, store.tail, -LARGEST - 1, want, UNBOUNDED, way, np.inf, -np.inf, LARGEST)
        heap = make_heap(want)
        n = search(self.cell_store.cell_pool, questions, store.published, ask, self.cell_store.frontier, heap)
        directed = np.zeros(max(store.tail, 1))
        score_run(questions, 0, store.contents, 0, store.tail, np.zeros(1), directed)
        keys = np.sqrt(directed) if kind == EUCLIDEAN else directed
        best = sorted((keys[p], -store.stamp[p]) for p in store.indices().tolist())[:want]
        assert list(zip(heap.keys[:n].tolist(), (-heap.stamps[:n]).tolist(), strict=True)) == best


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.sampled_from([0, 1, 30])), max_size=8),
    st.sampled_from([EUCLIDEAN, CHEBYSHEV, SUM]),
    st.sampled_from([0, 20]),
)
def test_finds_the_best_whatever_comes_and_goes(
    dims: int, batches: list[tuple[int, int, int]], kind: int, plain: int
) -> None:
    """Small whole numbers, for ties; crowds in different places; late arrivals, up to more than a window late."""
    rng = np.random.default_rng(dims)
    stream = Stream(dims, last=25, plain=plain)
    for n, place, late in batches:
        delay = rng.integers(0, late + 1, n)
        stream.publish(rng.integers(0, 4, (n, dims)).astype(np.float64) + 10.0**place, delay)
        for want in (1, 5, 40):
            stream.check(kind, rng.integers(-2, 5, dims) + 10.0 ** rng.integers(0, 4), want)


@pytest.mark.parametrize("dims", [1, 2, 4, 8, 14])
def test_grows_and_shrinks(dims: int) -> None:
    rng = np.random.default_rng(dims)
    stream = Stream(dims, last=600)
    for kind in (EUCLIDEAN, CHEBYSHEV, SUM):
        stream.publish(rng.random((300, dims)))
        stream.check(kind, rng.random(dims), 9)
    n_cells = len(stream.cell_store.cell_pool.cells)
    assert n_cells > 25
    stream.forget(Horizon(n=40))
    stream.check(EUCLIDEAN, rng.random(dims), 9)
    stream.publish(rng.random((1, dims)))
    stream.check(SUM, rng.random(dims), 9)
    assert len(stream.cell_store.cell_pool.cells) < n_cells / 4
    stream.forget(Horizon(n=1))
    stream.publish(rng.random((2, dims)))
    stream.check(CHEBYSHEV, rng.random(dims), 9)


def test_a_steady_stream_is_fitted_once_in_a_while() -> None:
    rng = np.random.default_rng(5)
    stream = Stream(2, last=300)
    for _ in range(40):
        stream.publish(rng.random((50, 2)))
    # From one batch to six: the first, and after four times as many.
    assert stream.cell_store.n_fits == 2
    stream.check(EUCLIDEAN, rng.random(2), 9)


def test_a_stream_that_wanders_off_is_followed() -> None:
    rng = np.random.default_rng(6)
    stream = Stream(2, last=300)
    for step in range(60):
        stream.publish(rng.random((20, 2)) + step / 10.0)
        stream.check(EUCLIDEAN, rng.random(2) + step / 10.0, 5)
    cell_pool = stream.cell_store.cell_pool
    held = cell_pool.cells[:, 2] - cell_pool.cells[:, 1]
    assert held.max() < 60
    assert 5 < stream.cell_store.n_fits < 30
    counts = stream.cell_store.counts
    assert counts[CALLS] == 60
    assert counts[VISITED] < 12 * counts[CALLS]


def test_a_few_far_points_do_not_spoil_the_grid() -> None:
    rng = np.random.default_rng(7)
    stream = Stream(2, last=1000)
    points = rng.random((1000, 2))
    points[::250] = 1e9
    stream.publish(points)
    for kind in (EUCLIDEAN, CHEBYSHEV, SUM):
        stream.check(kind, rng.random(2), 9)
    stream.cell_store.counts[:] = 0
    stream.check(EUCLIDEAN, np.full(2, 0.4), 9)
    assert stream.cell_store.counts[VISITED] < 30


def test_few_publications_are_left_to_the_store() -> None:
    rng = np.random.default_rng(8)
    stream = Stream(2, last=400, plain=100)
    stream.publish(rng.random((100, 2)))
    small = stream.cell_store.n_bytes
    stream.check(EUCLIDEAN, rng.random(2), 9)
    assert stream.cell_store.n_fits == 0
    stream.publish(rng.random((100, 2)))
    stream.check(EUCLIDEAN, rng.random(2), 9)
    assert stream.cell_store.n_fits == 1
    assert stream.cell_store.n_bytes > 2 * small
    stream.forget(Horizon(n=20))
    stream.publish(rng.random((1, 2)))
    stream.check(EUCLIDEAN, rng.random(2), 9)
    assert stream.cell_store.n_bytes == small


def test_more_dimensions_make_more_publications_few() -> None:
    assert CellStore(4).cell_pool.plain == few(4) == 512
    assert few(8) == 16 * few(4)
    assert few(1000) < LARGEST


def test_threads_have_frontiers_of_their_own() -> None:
    stream = Stream(2, last=100)
    stream.publish(np.random.default_rng(9).random((100, 2)))
    other = make_frontier(stream.cell_store.cell_pool)
    mine = stream.cell_store.frontier
    assert [array.shape for array in other] == [array.shape for array in mine]
    assert not any(np.shares_memory(one, two) for one, two in zip(other, mine, strict=True))
