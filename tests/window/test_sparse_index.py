"""The cosine index against brute force over dense vectors, to the last bit."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.kernels.array import Floats
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import COSINE, Contents
from skyband.window.kernels.sparse import EVERYWHERE, LISTED, NOWHERE
from skyband.window.sparse import SparseIndex


def norms_of(vectors: Floats) -> Floats:
    total = np.zeros(len(vectors))
    for column in vectors.T:
        total += column * column
    return np.sqrt(total)


def contents_of(points: Floats) -> Contents:
    nothing = np.zeros(0, np.int64)
    point = np.ascontiguousarray(points.T)
    return Contents(point, norms_of(points), nothing, nothing, nothing, nothing, np.zeros(0), 1.0)


def directed_of(vectors: Floats, points: Floats) -> Floats:
    """Minus the cosine of each vector and each point, added up dimension by dimension."""
    total = np.zeros((len(vectors), len(points)))
    for j in range(vectors.shape[1]):
        total += vectors[:, j, None] * points[None, :, j]
    lengths = norms_of(vectors)[:, None] * norms_of(points)[None, :]
    return np.where(lengths > 0.0, -(total / np.where(lengths > 0.0, lengths, 1.0)), -0.0)


def sparse_vectors(random: np.random.Generator, n: int, dims: int, n_numbers: int, zipf: float = 1.0) -> Floats:
    """Vectors with a few numbers that are not zero, some negative, in dimensions of very different popularity."""
    weights = 1.0 / np.arange(1, dims + 1) ** zipf
    vectors = np.zeros((n, dims))
    for row in vectors:
        chosen = random.choice(dims, min(n_numbers, dims), replace=False, p=weights / weights.sum())
        row[chosen] = random.exponential(size=len(chosen)) * np.where(random.random(len(chosen)) < 0.2, -1.0, 1.0)
    return vectors


class Twin:
    """A SparseIndex, and beside it the dense vectors and gates that it should know."""

    def __init__(self, dims: int) -> None:
        self.index = SparseIndex(dims)
        self.dims = dims
        self.vectors: dict[int, Floats] = {}
        self.gates: dict[int, float] = {}

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        return np.array(sorted(self.vectors), np.int64)

    def add(self, slots: npt.NDArray[np.int64], vectors: Floats, gates: Floats) -> None:
        kinds = np.full(len(slots), COSINE, np.int8)
        self.index.add(slots, kinds, vectors, np.ones_like(vectors), norms_of(vectors), gates)
        self.vectors |= dict(zip(slots.tolist(), vectors, strict=True))
        self.gates |= dict(zip(slots.tolist(), gates.tolist(), strict=True))

    def remove(self, slots: npt.NDArray[np.int64]) -> None:
        self.index.remove(slots)
        for slot in slots.tolist():
            del self.vectors[slot], self.gates[slot]

    def adjust(self, slots: npt.NDArray[np.int64], gates: Floats) -> None:
        self.index.adjust(slots, gates)
        self.gates |= dict(zip(slots.tolist(), gates.tolist(), strict=True))

    def check(self, points: Floats, room: int = 3) -> Candidates:
        """Route the points in two calls, and compare."""
        self.index.check()
        contents, half = contents_of(points), len(points) // 2
        into = self.index.route(contents, 0, half, make_candidates(room))
        into = self.index.route(contents, half, len(points), into)
        n = int(into.length[0])
        slots = self.slots
        vectors = np.array([self.vectors[slot] for slot in slots.tolist()]).reshape(-1, self.dims)
        gates = np.array([self.gates[slot] for slot in slots.tolist()])
        directed = directed_of(vectors, points)
        rows, publications = np.nonzero((directed <= gates[:, None]) & (directed != np.inf))
        by_slot = np.lexsort((into.publication[:n], into.slot[:n]))
        assert np.array_equal(into.slot[by_slot], slots[rows])
        assert np.array_equal(into.publication[by_slot], publications)
        # Bit for bit, so that 0.0 is not -0.0.
        assert np.array_equal(into.directed[by_slot].view(np.int64), directed[rows, publications].view(np.int64))
        assert (np.diff(into.publication[:n]) >= 0).all()
        assert n <= into.counts[0] <= len(slots) * len(points)
        return into


def gates_for(random: np.random.Generator, n: int) -> Floats:
    """Gates of every sort: strict, lax, exactly zero, beyond any cosine, infinite."""
    usual = -random.random(n)
    odd = random.choice([0.0, -0.0, 0.3, -1.0, -1.1, -1e-9, 5.0, np.inf, -np.inf], n)
    return np.where(random.random(n) < 0.7, usual, odd)


@pytest.mark.parametrize(
    ("dims", "n_numbers"), [(1, 1), (2, 1), (3, 3), (8, 8), (20, 4), (40, 40), (300, 6), (2000, 5), (2000, 30)]
)
def test_pairs_equal_brute_force(dims: int, n_numbers: int) -> None:
    random = np.random.default_rng(dims + n_numbers)
    twin = Twin(dims)
    twin.add(np.arange(60), sparse_vectors(random, 60, dims, n_numbers), gates_for(random, 60))
    points = sparse_vectors(random, 12, dims, 2 * n_numbers)
    points[3] = 0.0
    twin.check(points)
    for _ in range(4):
        slots = random.permutation(60)[:30]
        twin.adjust(slots, gates_for(random, 30))
        twin.check(points)


@pytest.mark.parametrize("dims", [3, 30])
def test_slots_come_and_go(dims: int) -> None:
    random = np.random.default_rng(dims)
    twin = Twin(dims)
    twin.check(np.zeros((3, dims)))
    for _ in range(25):
        free = np.setdiff1d(random.permutation(80), twin.slots)[: random.integers(0, 20)]
        vectors = sparse_vectors(random, len(free), dims, int(random.integers(1, 6)))
        twin.add(free, vectors, gates_for(random, len(free)))
        some = random.permutation(twin.slots)
        twin.adjust(some[::2], gates_for(random, len(some[::2])))
        twin.remove(some[: random.integers(0, 15)])
        twin.check(sparse_vectors(random, 4, dims, 6))


def test_entries_are_laid_end_to_end_again() -> None:
    random = np.random.default_rng(12)
    twin = Twin(50)
    for n_numbers in (30, 1, 2, 30, 1, 30):
        free = np.setdiff1d(np.arange(40), twin.slots)
        for slots in np.array_split(free, 4):
            twin.add(slots, sparse_vectors(random, len(slots), 50, n_numbers), gates_for(random, len(slots)))
        twin.check(sparse_vectors(random, 3, 50, 20))
        twin.remove(random.permutation(40)[: 38 - n_numbers // 10])
    for _ in range(80):
        twin.add(np.array([41]), sparse_vectors(random, 1, 50, 30), np.array([-0.1]))
        twin.remove(np.array([41]))
    assert len(twin.index.vectors.dim) < 2000
    twin.check(sparse_vectors(random, 3, 50, 20))


def test_gates_equal_to_a_score_let_it_pass() -> None:
    random = np.random.default_rng(7)
    for dims, n_numbers in [(6, 6), (50, 5)]:
        vectors, points = sparse_vectors(random, 40, dims, n_numbers), sparse_vectors(random, 10, dims, 9)
        points[0], points[1], points[2] = vectors[0], 3.0 * vectors[1], -vectors[2]
        twin = Twin(dims)
        twin.add(np.arange(40), vectors, np.full(40, -np.inf))
        for p in range(10):
            directed = directed_of(vectors, points)[:, p]
            twin.adjust(np.arange(40), directed)
            found = twin.check(points)
            n_found = (found.publication[: found.length[0]] == p).sum()
            assert n_found == 40
            twin.adjust(np.arange(40), np.nextafter(directed, -np.inf))
            found = twin.check(points)
            assert (found.publication[: found.length[0]] != p).all()


def test_a_tail_that_just_reaches_is_not_missed() -> None:
    # What is left of a vector, alone: its cosine is the norm of that tail, where Cauchy and Schwarz are equal.
    random = np.random.default_rng(11)
    vectors = sparse_vectors(random, 30, 25, 8)
    twin = Twin(25)
    twin.add(np.arange(30), vectors, np.full(30, -0.5))
    order = twin.index._index.order.dims.copy()
    for n_cut in range(1, 25, 3):
        points = vectors.copy()
        points[:, order[:n_cut]] = 0.0
        twin.adjust(np.arange(30), np.diagonal(directed_of(vectors, points)).copy())
        found = twin.check(points)
        pairs = zip(found.slot[: found.length[0]].tolist(), found.publication.tolist(), strict=False)
        assert {(slot, slot) for slot in range(30)} <= set(pairs)


@pytest.mark.parametrize("magnitude", [1e-165, 1e-161, 3e-155, 1e-150, 1e-140, 1e-100, 1e100, 1e150])
def test_any_magnitude(magnitude: float) -> None:
    random = np.random.default_rng(3)
    vectors, points = sparse_vectors(random, 30, 12, 4), sparse_vectors(random, 10, 12, 6)
    # No number beyond the magnitude; every other one far below it.
    vectors, points = vectors / np.abs(vectors).max(), points / np.abs(points).max()
    vectors[::2] *= magnitude
    points[::3] *= magnitude
    vectors[5, :3], points[4, :2] = 1e-160, 1e-158
    twin = Twin(12)
    twin.add(np.arange(30), vectors, gates_for(random, 30))
    for _ in range(5):
        twin.check(points)
        twin.adjust(np.arange(30), gates_for(random, 30))
    directed = directed_of(vectors, points)
    for p in range(10):
        twin.adjust(np.arange(30), directed[:, p].copy())
        twin.check(points)
    twin.remove(np.array([3, 4]))
    twin.check(points)


def test_zero_vectors_score_zero() -> None:
    vectors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    twin = Twin(2)
    twin.add(np.arange(4), vectors, np.array([0.0, 0.0, -1e-300, -0.0]))
    found = twin.check(np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    assert found.length[0] == 3 + 3 + 2
    twin.adjust(np.array([0, 2]), np.array([-0.5, np.inf]))
    twin.check(np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))


def test_equal_vectors_and_small_integers() -> None:
    random = np.random.default_rng(5)
    vectors, points = random.integers(-1, 3, (50, 6)).astype(float), random.integers(-1, 2, (20, 6)).astype(float)
    twin = Twin(6)
    twin.add(np.arange(50), vectors, -random.integers(0, 5, 50) / 4.0)
    twin.check(points)
    twin.adjust(np.arange(50), -random.integers(-1, 6, 50) / 4.0)
    twin.check(points)


def test_small_moves_are_free() -> None:
    random = np.random.default_rng(1)
    twin = Twin(200)
    slots = np.arange(100)
    twin.add(slots, sparse_vectors(random, 100, 200, 5), np.full(100, -0.6))
    for t in (0.61, 0.58, 0.65, 0.6):
        twin.adjust(slots, np.full(100, -t))
        twin.check(sparse_vectors(random, 4, 200, 9))
    assert twin.index.moves == 0
    twin.adjust(slots, np.full(100, -0.5))
    twin.adjust(slots, np.full(100, -0.7))
    assert twin.index.moves == 200
    twin.check(sparse_vectors(random, 4, 200, 9))


def test_homes_follow_the_gate() -> None:
    random = np.random.default_rng(2)
    twin = Twin(100)
    twin.add(np.arange(50), sparse_vectors(random, 50, 100, 4, zipf=0.0), np.full(50, -0.5))
    home = twin.index._index.homes.home
    assert (home == LISTED).all()
    moves = [(np.inf, EVERYWHERE), (-0.9, LISTED), (0.0, EVERYWHERE), (-1.5, NOWHERE), (-np.inf, NOWHERE)]
    for gate, expected in moves:
        twin.adjust(np.arange(50), np.full(50, gate))
        assert (home == expected).all()
        twin.check(sparse_vectors(random, 4, 100, 9))


def test_dense_vectors_are_not_listed() -> None:
    random = np.random.default_rng(4)
    twin = Twin(20)
    twin.add(np.arange(80), random.normal(size=(80, 20)), np.full(80, -0.5))
    assert (twin.index._index.homes.home == EVERYWHERE).all()
    twin.check(random.normal(size=(6, 20)))


def test_the_order_of_dimensions_is_renewed() -> None:
    random = np.random.default_rng(6)
    twin = Twin(40)
    twin.add(np.arange(20), sparse_vectors(random, 20, 40, 5), np.full(20, -0.4))
    before = twin.index._index.order.dims.copy()
    for _ in range(4):
        twin.check(sparse_vectors(random, 10, 40, 7)[:, ::-1].copy())
    assert not np.array_equal(before, twin.index._index.order.dims)


def test_same_calls_same_pairs() -> None:
    outcomes = []
    for _ in range(2):
        random = np.random.default_rng(8)
        twin = Twin(60)
        twin.add(np.arange(40), sparse_vectors(random, 40, 60, 5), gates_for(random, 40))
        twin.remove(np.arange(5, 15))
        found = twin.check(sparse_vectors(random, 10, 60, 9))
        n = int(found.length[0])
        outcomes.append((found.slot[:n].tolist(), found.publication[:n].tolist(), int(found.counts[0])))
        assert twin.index.n_bytes > 0
    assert outcomes[0] == outcomes[1]


def test_few_pairs_are_scored_on_sparse_data() -> None:
    random = np.random.default_rng(9)
    index, n = SparseIndex(500), 600
    vectors, points = sparse_vectors(random, n, 500, 5), sparse_vectors(random, 30, 500, 12)
    index.add(np.arange(n), np.full(n, COSINE, np.int8), vectors, vectors, norms_of(vectors), np.full(n, -0.6))
    into = index.route(contents_of(points), 0, 30, make_candidates(1))
    assert into.length[0] == (directed_of(vectors, points) <= -0.6).sum() > 0
    assert into.counts[0] < 0.08 * n * 30
