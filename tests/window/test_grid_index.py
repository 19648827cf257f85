"""The grid index against scoring everything for everyone."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import CHEBYSHEV, COSINE, EUCLIDEAN, SUM, Contents, score_pair
from skyband.window.grid import GridIndex

Pairs = list[tuple[int, int, float]]

ROOM = 48


class Everything:
    """A twin of the index that scores every slot for every publication, in numpy."""

    def __init__(self, dims: int) -> None:
        self.kind = np.zeros(ROOM, np.int8)
        self.centre = np.zeros((ROOM, dims))
        self.weight = np.zeros((ROOM, dims))
        self.norm = np.zeros(ROOM)
        self.gate = np.full(ROOM, -np.inf)

    def directed(self, slot: int, contents: Contents) -> Floats:
        point, centre, kind = contents.point, self.centre[slot], self.kind[slot]
        directed = np.zeros(point.shape[1])
        for j in range(len(point)):
            if kind == EUCLIDEAN:
                directed += (point[j] - centre[j]) ** 2
            elif kind == CHEBYSHEV:
                directed = np.maximum(directed, self.weight[slot, j] * abs(point[j] - centre[j]))
            else:
                directed += centre[j] * point[j]
        if kind == COSINE:
            lengths = self.norm[slot] * contents.norm
            directed = np.divide(directed, lengths, out=np.zeros(len(lengths)), where=lengths > 0.0)
        return directed if kind <= CHEBYSHEV else -directed

    def pairs(self, contents: Contents, lo: int, hi: int) -> Pairs:
        found = []
        for slot in np.flatnonzero(self.gate > -np.inf):
            directed = self.directed(int(slot), contents)
            passed = np.flatnonzero((directed <= self.gate[slot]) & (directed != np.inf))
            found += [(int(p), int(slot), float(directed[p])) for p in passed if lo <= p < hi]
        return sorted(found)


def contents_of(points: Floats) -> Contents:
    """Publications with points, given by row."""
    nothing = np.zeros(0, np.int64)
    norms = np.sqrt((points * points).sum(axis=1))
    return Contents(np.ascontiguousarray(points.T), norms, nothing, nothing, nothing, nothing, np.zeros(0), 1.0)


def pairs_of(found: Candidates) -> Pairs:
    n = int(found.length[0])
    rows = zip(found.publication[:n].tolist(), found.slot[:n].tolist(), found.directed[:n].tolist(), strict=True)
    return sorted(rows)


class Twins:
    """An index and its twin, taken through the same moves."""

    def __init__(self, dims: int, seed: int, index: GridIndex, magnitude: float = 1.0, whole: bool = False) -> None:
        self.random = np.random.default_rng(seed)
        self.dims, self.magnitude, self.whole = dims, magnitude, whole
        self.index, self.everything = index, Everything(dims)
        self.used = np.zeros(ROOM, np.bool_)

    def numbers(self, *shape: int) -> Floats:
        """Numbers that repeat if `whole`."""
        if self.whole:
            return self.magnitude * self.random.integers(-2, 3, shape).astype(np.float64)
        return self.magnitude * self.random.normal(size=shape)

    def gates(self, slots: Int64s) -> Floats:
        """Gates that let a few pass, exactly on a score half of the time; some let nothing or everything pass."""
        gates = np.zeros(len(slots))
        points = contents_of(self.numbers(6, self.dims))
        for i, slot in enumerate(slots):
            scores = np.sort(self.everything.directed(slot, points))
            between = scores[0] * 0.5 + scores[1] * 0.5
            gates[i] = self.random.choice([-np.inf, np.inf, scores[0], scores[0], scores[1], between, between])
        return gates

    def add(self) -> None:
        slots = self.random.permutation(np.flatnonzero(~self.used))[: self.random.integers(1, 20)]
        n, twin = len(slots), self.everything
        twin.kind[slots] = self.random.integers(0, 4, n)
        twin.centre[slots], twin.weight[slots] = self.numbers(n, self.dims), self.random.random((n, self.dims))
        twin.centre[slots] *= self.random.random((n, self.dims)) < 0.9
        twin.norm[slots] = np.sqrt((twin.centre[slots] ** 2).sum(axis=1))
        twin.gate[slots] = gates = self.gates(slots)
        self.used[slots] = True
        vectors = (twin.centre[slots], twin.weight[slots])
        self.index.add(slots, twin.kind[slots], *vectors, twin.norm[slots], gates)

    def remove(self) -> None:
        slots = self.random.permutation(np.flatnonzero(self.used))[: self.random.integers(1, 10)]
        self.everything.gate[slots] = -np.inf
        self.used[slots] = False
        self.index.remove(slots)

    def adjust(self) -> None:
        slots = self.random.permutation(np.flatnonzero(self.used))[: self.random.integers(1, ROOM)]
        self.everything.gate[slots] = gates = self.gates(slots)
        self.index.adjust(slots, gates)

    def route(self) -> None:
        points = self.numbers(25, self.dims)
        points[:3] *= 10.0
        contents, lo = contents_of(points), int(self.random.integers(0, 10))
        found = self.index.route(contents, lo, 25, make_candidates(4))
        assert pairs_of(found) == self.everything.pairs(contents, lo, 25)
        assert (np.diff(found.publication[: found.length[0]]) >= 0).all()
        assert found.counts[0] <= (25 - lo) * int((self.everything.gate > -np.inf).sum())

    def step(self) -> None:
        moves = [self.add, self.remove, self.adjust, self.adjust, self.adjust]
        moves[self.random.integers(len(moves))]()
        self.index.check()
        self.route()


@pytest.mark.parametrize("dims", [1, 2, 3, 4, 5, 6, 7, 8, 16])
@pytest.mark.parametrize("whole", [False, True])
def test_finds_the_pairs_that_pass(dims: int, whole: bool) -> None:
    sample = np.random.default_rng(dims).normal(size=(50, dims))
    twins = Twins(dims, dims, GridIndex(dims, sample, target_cells=200), whole=whole)
    for _ in range(20):
        twins.step()


@pytest.mark.parametrize("magnitude", [1e-150, 1e75, 1e149])
def test_finds_the_pairs_of_any_magnitude(magnitude: float) -> None:
    sample = magnitude * np.random.default_rng(0).normal(size=(50, 2))
    twins = Twins(2, 1, GridIndex(2, sample, n_per_dim=7), magnitude)
    for _ in range(20):
        twins.step()


def test_publications_may_all_lie_beyond_the_grid() -> None:
    twins = Twins(2, 2, GridIndex(2, 100.0 + np.random.default_rng(0).random((9, 2)), n_per_dim=5))
    for _ in range(20):
        twins.step()
    assert twins.index.n_outside > 0


@pytest.mark.parametrize("sample", [np.zeros((0, 2)), np.ones((1, 2)), np.ones((5, 2))])
def test_a_sample_may_say_nothing(sample: Floats) -> None:
    twins = Twins(2, 3, GridIndex(2, sample))
    for _ in range(10):
        twins.step()


def test_a_grid_may_be_fitted_late_and_again() -> None:
    twins = Twins(2, 4, GridIndex(2, None, target_cells=64))
    for fitted in range(4):
        for _ in range(6):
            twins.step()
        before = twins.index.cell_updates
        twins.index.fit(twins.numbers(30, 2) * (fitted + 1))
        twins.index.check()
        assert twins.index.cell_updates == before
        assert twins.index.n_outside == 0
        twins.route()


def test_most_pairs_are_never_scored() -> None:
    random = np.random.default_rng(5)
    index, n = GridIndex(2, random.random((100, 2)), n_per_dim=20), 200
    kinds, centres = np.arange(n) % 3, random.random((n, 2))
    gates = np.select([kinds == EUCLIDEAN, kinds == CHEBYSHEV], [0.05**2, 0.05], -0.95 * centres.sum(axis=1))
    index.add(np.arange(n), kinds.astype(np.int8), centres, np.ones((n, 2)), np.ones(n), gates)
    index.check()
    found = index.route(contents_of(random.random((100, 2))), 0, 100, make_candidates(0))
    assert 0 < found.length[0] <= found.counts[0] < 100 * n / 20


def test_candidates_are_added_to_those_found_before() -> None:
    index = GridIndex(1, np.array([[0.0], [8.0]]), n_per_dim=8)
    ones = np.ones((3, 1))
    index.add(np.arange(3), np.zeros(3, np.int8), 3.0 * ones, ones, np.ones(3), np.full(3, 0.5))
    found = index.route(contents_of(np.array([[3.0], [3.5], [7.0], [2.0]])), 0, 1, make_candidates(1))
    found = index.route(contents_of(np.array([[3.0], [3.5], [7.0], [2.0]])), 1, 4, found)
    assert [(p, d) for p, _, d in pairs_of(found)] == [(0, 0.0)] * 3 + [(1, 0.25)] * 3
    assert index.route(contents_of(np.zeros((0, 1))), 0, 0, found) is found


def test_a_score_of_infinity_passes_no_gate() -> None:
    index = GridIndex(1, np.array([[0.0], [8.0]]), n_per_dim=8)
    ones = np.ones((2, 1))
    index.add(np.arange(2), np.array([EUCLIDEAN, CHEBYSHEV], np.int8), ones, ones, np.ones(2), np.full(2, np.inf))
    found = index.route(contents_of(np.array([[np.inf], [1.0]])), 0, 2, make_candidates(0))
    assert pairs_of(found) == [(1, 0, 0.0), (1, 1, 0.0)]


def test_counts_the_slots_whose_cells_change() -> None:
    index = GridIndex(1, np.array([[0.0], [40.0]]), n_per_dim=40)
    ones = np.ones((3, 1))
    index.add(np.arange(3), np.full(3, CHEBYSHEV, np.int8), 20.5 * ones, ones, np.ones(3), np.full(3, 1.0))
    assert index.cell_updates == 0
    index.adjust(np.array([2, 0, 1]), np.array([1.4, 1.6, 0.5]))
    assert index.cell_updates == 1
    index.adjust(np.arange(3), np.array([0.2, 1.6, np.inf]))
    assert index.cell_updates == 4
    index.remove(np.arange(3))
    assert index.cell_updates == 4
    index.check()


def test_a_slot_in_use_is_not_added_again() -> None:
    index = GridIndex(1, None)
    vector, one = np.ones((1, 1)), np.ones(1)
    index.add(np.zeros(1, np.int64), np.zeros(1, np.int8), vector, vector, one, one)
    with pytest.raises(ValueError, match="must be new"):
        index.add(np.zeros(1, np.int64), np.zeros(1, np.int8), vector, vector, one, one)
    index.remove(np.zeros(1, np.int64))
    index.add(np.zeros(1, np.int64), np.zeros(1, np.int8), vector, vector, one, one)


def test_memory_is_that_of_the_arrays() -> None:
    index = GridIndex(2, np.random.default_rng(6).random((10, 2)))
    empty = index.n_bytes
    vectors = np.random.default_rng(6).random((1000, 2))
    index.add(np.arange(1000), np.zeros(1000, np.int8), vectors, vectors, np.ones(1000), np.full(1000, 0.001))
    assert index.n_bytes > empty + 1000 * (7 * 8 + 2 * 16)


def test_the_same_moves_give_the_same_lists() -> None:
    found = []
    for _ in range(2):
        twins = Twins(3, 7, GridIndex(3, np.random.default_rng(7).normal(size=(50, 3))))
        for _ in range(5):
            twins.step()
        contents = contents_of(np.random.default_rng(8).normal(size=(30, 3)))
        into = twins.index.route(contents, 0, 30, make_candidates(0))
        found.append([array[: int(into.length[0])].tolist() for array in into[2:]])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", [EUCLIDEAN, CHEBYSHEV, SUM, COSINE])
def test_the_scores_are_those_of_score_pair(kind: int) -> None:
    random = np.random.default_rng(kind)
    centres, weights, points = random.normal(size=(20, 5)), random.random((20, 5)), random.normal(size=(10, 5))
    index, contents = GridIndex(5, points), contents_of(points)
    index.add(np.arange(20), np.full(20, kind, np.int8), centres, weights, np.ones(20), np.full(20, np.inf))
    found = pairs_of(index.route(contents, 0, 10, make_candidates(0)))
    assert len(found) == 200
    for p, slot, directed in found:
        assert directed == score_pair(kind, centres[slot], weights[slot], 1.0, points[p], contents.norm[p])
