"""The kernels of the tree of blocks: boxes, gates on the way up, visits, and bounds that hold to the last bit."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import (
    CHEBYSHEV,
    COSINE,
    EUCLIDEAN,
    SUM,
    TINY,
    Contents,
    Questions,
    score_pair,
    score_tile,
)
from skyband.window.kernels.block_tree import (
    FANOUT,
    FAR,
    BlockNodes,
    Seats,
    Visits,
    enclose,
    move_gates,
    score_visits,
    visit_all,
)

KINDS = [EUCLIDEAN, CHEBYSHEV, SUM, COSINE]
# Two levels of nodes above the blocks.
N_BLOCKS = FANOUT + 2
MAGNITUDES = [1e-162, 1e-160, 1e-140, 1e-75, 1.0, 1e16, 1e150]


def norms_of(vectors: Floats) -> Floats:
    total = np.zeros(len(vectors))
    for column in vectors.T:
        total += column * column
    return np.sqrt(total)


def contents_of(points: Floats) -> Contents:
    nothing = np.zeros(0, np.int64)
    point = np.ascontiguousarray(points.T)
    return Contents(point, norms_of(points), nothing, nothing, nothing, nothing, np.zeros(0), 1.0)


class Planted:
    """Seats at given places, their slots numbered from 1000 on, under empty nodes."""

    def __init__(self, kind: int, places: Int64s, centres: Floats, weights: Floats, n_blocks: int = N_BLOCKS) -> None:
        self.kind, self.places = kind, places
        self.centres, self.weights, self.norms = centres, weights, norms_of(centres)
        dims = centres.shape[1]
        counts = [n_blocks]
        while len(counts) == 1 or counts[-1] > 1:
            counts.append(-(-counts[-1] // FANOUT))
        n_nodes = sum(counts[1:])
        by_seat = (n_blocks, FANOUT)
        self.seats = Seats(
            np.zeros((n_blocks, dims, FANOUT)),
            np.zeros((n_blocks, dims, FANOUT)),
            np.zeros(by_seat),
            np.full(by_seat, -np.inf),
            np.full(by_seat, -1, np.int64),
        )
        self.nodes = BlockNodes(
            np.full((n_nodes, dims, FANOUT), FAR),
            np.full((n_nodes, dims, FANOUT), -FAR),
            np.full((n_nodes, dims, FANOUT), FAR),
            np.full((n_nodes, FANOUT), -np.inf),
            np.array([0, *np.cumsum([0, *counts[1:-1]])], np.int64),
            np.array(counts, np.int64),
        )
        block, seat = places // FANOUT, places % FANOUT
        self.seats.centre[block, :, seat], self.seats.weight[block, :, seat] = centres, weights
        self.seats.norm[block, seat], self.seats.slot[block, seat] = self.norms, 1000 + np.arange(len(places))
        enclose(kind, self.seats, self.nodes, places)

    def move(self, gates: Floats) -> None:
        move_gates(self.seats, self.nodes, self.places, gates)

    def visits(self, room: int = 4 * N_BLOCKS) -> Visits:
        whole = (np.zeros(1, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64))
        return Visits(*whole, np.zeros(N_BLOCKS + 3 * FANOUT, np.int64), np.zeros(FANOUT))

    def visit(self, contents: Contents, lo: int, hi: int, visits: Visits) -> int:
        return visit_all(lo, hi, self.kind, self.nodes, contents, np.zeros(len(contents.point)), visits)

    def score(self, contents: Contents, since: int, order: Int64s, visits: Visits, into: Candidates) -> int:
        point = np.zeros(len(contents.point))
        return score_visits(since, order, self.kind, self.seats, contents, visits, point, into)

    def route(self, contents: Contents) -> Candidates:
        n = len(contents.norm)
        visits, into = self.visits(n * N_BLOCKS), make_candidates(n * N_BLOCKS * FANOUT)
        assert self.visit(contents, 0, n, visits) == n
        n_visits = int(visits.length[0])
        assert self.score(contents, 0, np.arange(n_visits), visits, into) == n_visits
        return into

    def directed(self, contents: Contents, publication: int) -> Floats:
        """The scores of all seats taken, by the kernel for single pairs."""
        point, norm = contents.point[:, publication].copy(), float(contents.norm[publication])
        rows = zip(self.centres, self.weights, self.norms.tolist(), strict=True)
        return np.array([score_pair(self.kind, c, w, n, point, norm) for c, w, n in rows])


def planted(kind: int, random: np.random.Generator, n: int, dims: int, magnitude: float = 1.0) -> Planted:
    """Seats here and there; a vector is zero, and two are the same."""
    places = np.sort(random.choice(N_BLOCKS * FANOUT, n, replace=False))
    centres = magnitude * random.normal(size=(n, dims))
    centres[0] = 0.0
    centres[1] = centres[-1]
    return Planted(kind, places, centres, random.random((n, dims)))


def blocks_of(visits: Visits) -> list[tuple[int, int]]:
    n = int(visits.length[0])
    return list(zip(visits.publication[:n].tolist(), visits.block[:n].tolist(), strict=True))


def pairs_of(found: Candidates) -> list[tuple[int, int, float]]:
    n = int(found.length[0])
    columns = (found.publication[:n], found.slot[:n], found.directed[:n])
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_enclose_exactly_what_lies_below(kind: int) -> None:
    tree = planted(kind, np.random.default_rng(kind), 90, 3)
    points = tree.centres.copy()
    low, high = points.copy(), points.copy()
    if kind == COSINE:
        low[1:] = high[1:] = points[1:] / tree.norms[1:, np.newaxis]
        low[0], high[0] = -FAR, FAR
    nodes = tree.nodes
    for level, span in ((1, FANOUT), (2, FANOUT * FANOUT)):
        for child in range(int(nodes.n[level - 1])):
            at, i = int(nodes.first[level]) + child // FANOUT, child % FANOUT
            below = tree.places // span == child
            assert np.array_equal(nodes.low[at, :, i], low[below].min(axis=0, initial=FAR))
            assert np.array_equal(nodes.high[at, :, i], high[below].max(axis=0, initial=-FAR))
            if kind == CHEBYSHEV:
                assert np.array_equal(nodes.weight[at, :, i], tree.weights[below].min(axis=0, initial=FAR))
    assert (nodes.gate == -np.inf).all()


@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_gate_that_equals_a_score_is_reached(kind: int, magnitude: float) -> None:
    """One seat has a gate, exactly at its score, so a bound too high by one bit would lose the pair."""
    for dims in (1, 2, 5, 20):
        random = np.random.default_rng([kind, dims, int(np.log10(magnitude)) + 200])
        tree = planted(kind, random, 12, dims, magnitude)
        points = random.normal(size=(6, dims)) * random.choice(MAGNITUDES, (6, 1))
        points[:2] = tree.centres[2:4] * [[1.0], [-3.0]]
        points[2, 0] = tree.centres[5, 0]
        points[3] = 0.0
        contents = contents_of(points)
        for publication in range(len(points)):
            directed = tree.directed(contents, publication)
            seat = int(random.integers(len(directed)))
            gates = np.full(len(directed), -np.inf)
            gates[seat] = directed[seat]
            tree.move(gates)
            visits = tree.visits()
            tree.visit(contents, publication, publication + 1, visits)
            assert blocks_of(visits) == [(publication, int(tree.places[seat]) // FANOUT)]
            into = make_candidates(FANOUT)
            tree.score(contents, 0, np.zeros(1, np.int64), visits, into)
            assert pairs_of(into) == [(publication, 1000 + seat, directed[seat])]


@pytest.mark.parametrize("length", [0.0, 5e-324, 1e-162, 1e-150, TINY / 2, 2 * TINY, 1e150])
def test_cosines_of_vectors_of_any_length(length: float) -> None:
    """Where lengths underflow nothing is known of the rounding, and everyone is looked at."""
    random = np.random.default_rng(4)
    for dims in (1, 3):
        centres = random.normal(size=(20, dims)) * random.choice([0.0, 1e-162, 1e-150, 1e-130, 1.0, 1e150], (20, 1))
        tree = Planted(COSINE, np.arange(20) * 100, centres, np.zeros((20, dims)))
        contents = contents_of(np.concatenate([length * random.normal(size=(3, dims)), np.full((1, dims), length)]))
        for publication in range(4):
            directed = tree.directed(contents, publication)
            for gate in (-0.5, -0.0, 0.3, 1.0):
                tree.move(np.full(20, gate))
                found = pairs_of(tree.route(contents))
                wanted = [(1000 + slot, float(directed[slot])) for slot in np.flatnonzero(directed <= gate).tolist()]
                assert sorted((slot, score) for p, slot, score in found if p == publication) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_other_kernels(kind: int) -> None:
    random = np.random.default_rng(kind)
    n, dims = 40, 4
    tree = Planted(kind, np.arange(n), random.normal(size=(n, dims)), random.random((n, dims)), n_blocks=1)
    contents = contents_of(random.normal(size=(5, dims)))
    tree.move(np.full(n, np.inf))
    found = tree.route(contents)
    assert found.counts[0] == 5 * FANOUT
    centre, weight, norm = np.zeros((1, dims, BLOCK)), np.zeros((1, dims, BLOCK)), np.zeros(BLOCK)
    centre[0, :, :n], weight[0, :, :n], norm[:n] = tree.centres.T, tree.weights.T, tree.norms
    nothing, numbers = np.zeros(0, np.int64), np.zeros(0)
    questions = Questions(
        np.array([kind], np.int8), centre, weight, norm, numbers, nothing, nothing, nothing, nothing, numbers
    )
    tile = np.zeros((5, BLOCK))
    score_tile(questions, 0, contents, 0, 5, np.zeros(1), tile)
    for publication, slot, directed in pairs_of(found):
        assert np.float64(directed).tobytes() == tile[publication, slot - 1000].tobytes()
        assert np.float64(directed).tobytes() == tree.directed(contents, publication)[slot - 1000].tobytes()
    assert found.length[0] == 5 * n


@pytest.mark.parametrize("kind", KINDS)
def test_everyone_within_his_gate_is_found(kind: int) -> None:
    random = np.random.default_rng(kind)
    tree = planted(kind, random, 120, 2)
    contents = contents_of(random.normal(size=(8, 2)))
    directed = np.array([tree.directed(contents, publication) for publication in range(8)])
    for share in (0.0, 0.05, 0.5, 1.0, 0.1, 0.0):
        gates = np.quantile(directed, share, axis=0)
        gates[random.random(120) < 0.1] = np.inf
        gates[random.random(120) < 0.1] = -np.inf
        tree.move(gates)
        wanted = [(p, 1000 + s, directed[p, s]) for p, s in np.argwhere(directed <= gates).tolist()]
        assert sorted(pairs_of(tree.route(contents))) == wanted


def test_a_visit_waits_until_there_is_room() -> None:
    """Visits stop before a publication that may need more places than are left, and go on with it."""
    random = np.random.default_rng(0)
    tree, contents = planted(EUCLIDEAN, random, 100, 2), contents_of(random.normal(size=(9, 2)))
    tree.move(np.full(100, 0.5))
    whole = tree.visits(9 * N_BLOCKS)
    assert tree.visit(contents, 0, 9, whole) == 9
    assert [publication for publication, _ in blocks_of(whole)] == sorted(p for p, _ in blocks_of(whole))
    parts, since = list[tuple[int, int]](), 0
    visits = tree.visits(N_BLOCKS + 5)
    while since < 9:
        visits.length[0] = 0
        before, since = since, tree.visit(contents, since, 9, visits)
        assert since > before
        assert since == 9 or visits.length[0] > 5
        parts += blocks_of(visits)
    assert sorted(parts) == sorted(blocks_of(whole))
    full = tree.visits(N_BLOCKS - 1)
    assert tree.visit(contents, 3, 9, full) == 3
    assert full.length[0] == 0
    assert tree.visit(contents, 4, 4, full) == 4


def test_scoring_waits_until_there_is_room() -> None:
    random = np.random.default_rng(1)
    tree, contents = planted(SUM, random, 150, 3), contents_of(random.normal(size=(4, 3)))
    tree.move(np.full(150, 0.1))
    whole = tree.route(contents)
    visits = tree.visits()
    tree.visit(contents, 0, 4, visits)
    order = np.arange(int(visits.length[0]))
    done, parts, n_scored = 0, list[tuple[int, int, float]](), 0
    while done < len(order):
        into = make_candidates(FANOUT + 3)
        before, done = done, tree.score(contents, done, order, visits, into)
        assert done > before
        parts += pairs_of(into)
        n_scored += int(into.counts[0])
    assert parts == pairs_of(whole)
    assert n_scored == whole.counts[0] == FANOUT * len(order)
    none = make_candidates(FANOUT - 1)
    assert tree.score(contents, 2, order, visits, none) == 2
    assert (none.length[0], none.counts[0]) == (0, 0)


def test_candidates_are_added_in_the_order_of_the_visits() -> None:
    tree = Planted(CHEBYSHEV, np.array([3, FANOUT, 5 * FANOUT]), np.ones((3, 1)), np.ones((3, 1)))
    contents = contents_of(np.array([[1.0], [1.5], [4.0]]))
    tree.move(np.array([1.0, 0.25, 9.0]))
    visits, into = tree.visits(), make_candidates(4 * FANOUT)
    tree.visit(contents, 0, 3, visits)
    assert sorted(blocks_of(visits)) == [(0, 0), (0, 1), (0, 5), (1, 0), (1, 5), (2, 5)]
    order = np.lexsort((visits.publication[:6], visits.block[:6]))
    into.slot[0], into.length[0] = 7, 1
    tree.score(contents, 0, order, visits, into)
    found = [(0, 1000, 0.0), (1, 1000, 0.5), (0, 1001, 0.0), (0, 1002, 0.0), (1, 1002, 0.5), (2, 1002, 3.0)]
    assert pairs_of(into) == [(0, 7, 0.0), *found]


def test_gates_move_at_once_and_no_look_moves_them() -> None:
    """Two blocks below one node and one below another; gates by level are those of the children of each node."""
    places = np.array([0, 1, FANOUT, FANOUT * FANOUT])
    tree = Planted(EUCLIDEAN, places, np.zeros((4, 1)), np.zeros((4, 1)))
    gate, near = tree.nodes.gate, contents_of(np.zeros((1, 1)))

    def above() -> list[float]:
        """What the nodes have of the three blocks, and the root of the two nodes."""
        return [*gate[0, :2].tolist(), float(gate[1, 0]), *gate[2, :2].tolist()]

    for gates, wanted in (
        ([1.0, 2.0, 3.0, -np.inf], [2.0, 3.0, -np.inf, 3.0, -np.inf]),
        ([9.0, 2.0, 1.0, 4.0], [9.0, 1.0, 4.0, 9.0, 4.0]),
        ([9.0, 9.0, 1.0, 4.0], [9.0, 1.0, 4.0, 9.0, 4.0]),
        ([5.0, 0.5, -np.inf, -np.inf], [5.0, -np.inf, -np.inf, 5.0, -np.inf]),
        ([-np.inf, 0.5, 7.0, -np.inf], [0.5, 7.0, -np.inf, 7.0, -np.inf]),
        ([-np.inf] * 4, [-np.inf] * 5),
    ):
        tree.move(np.array(gates))
        assert above() == wanted
        assert tree.route(near).counts[0] == FANOUT * sum(gate > -np.inf for gate in wanted[:3])
        assert above() == wanted
    assert tree.seats.gate.ravel()[places].tolist() == [-np.inf] * 4


def test_gates_of_infinity() -> None:
    tree = Planted(SUM, np.array([0, 1, 64]), np.ones((3, 2)), np.ones((3, 2)))
    contents = contents_of(np.array([[-1e150, -1e150], [0.0, 0.0], [1e150, 1e150]]))
    tree.move(np.full(3, -np.inf))
    nothing = tree.route(contents)
    assert (nothing.length[0], nothing.counts[0]) == (0, 0)
    tree.move(np.full(3, np.inf))
    assert tree.route(contents).length[0] == 9
    tree.move(np.array([-np.inf, np.inf, -np.inf]))
    assert [slot for _, slot, _ in pairs_of(tree.route(contents))] == [1001] * 3
