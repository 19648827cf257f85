"""CIQ against brute force by place and words, to the last bit."""

import numpy as np
import pytest

import skyband.geotext.ciq
from skyband.geotext.ciq import CiqIndex
from skyband.kernels.array import Floats, Int64s
from skyband.table.settings import Bounds
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import Contents, Questions, score_run
from tests.ranked.asking import UNIT, contents_of, questions_of, some_words


def some_questions(random: np.random.Generator, places: Floats, vocabulary: int, least: int = 0) -> Questions:
    n = len(places)
    alphas = np.where(random.random(n) < 0.3, random.choice([0.0, 1.0, 1e-12, 1.0 - 1e-12], n), random.random(n))
    return questions_of(places, alphas, some_words(random, n, vocabulary, 5, least))


def directed_of(questions: Questions, contents: Contents) -> Floats:
    """By slot and publication."""
    n, n_codes = contents.point.shape[1], 1 + int(max(questions.terms.max(initial=0), contents.terms.max(initial=0)))
    directed, said = np.zeros((len(questions.alpha), n)), np.zeros(n_codes)
    for slot, row in enumerate(directed):
        score_run(questions, slot, contents, 0, n, said, row)
    return directed


def gates_for(random: np.random.Generator, n: int) -> Floats:
    """Gates of every sort: strict, lax, exactly zero, beyond any score, infinite."""
    odd = random.choice([0.0, -0.0, 0.3, -1.0, -1.1, -1e-9, 5.0, -1e150, 1e150, np.inf, -np.inf], n)
    return np.where(random.random(n) < 0.7, -random.random(n), odd)


class Twin:
    """A CiqIndex, and beside it the gates of the slots that it should know."""

    def __init__(self, questions: Questions, bounds: Bounds = UNIT, depth: int = 2) -> None:
        self.index = CiqIndex(bounds, depth)
        self.bounds = bounds
        self.questions = questions
        self.gates = np.full(len(questions.alpha), -np.inf)
        self.present = np.zeros(len(questions.alpha), np.bool_)

    def add(self, slots: Int64s, gates: Floats) -> None:
        self.index.add(slots, self.questions, gates)
        self.present[slots], self.gates[slots] = True, gates

    def remove(self, slots: Int64s) -> None:
        self.index.remove(slots)
        self.present[slots], self.gates[slots] = False, -np.inf

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        self.index.adjust(slots, gates)
        self.gates[slots] = gates

    def check(self, contents: Contents, room: int = 3) -> Candidates:
        """Route the messages in two calls, and compare."""
        self.index.check()
        n_messages, before = contents.point.shape[1], self.index.counters
        into = self.index.route(contents, 0, n_messages // 2, make_candidates(room))
        into = self.index.route(contents, n_messages // 2, n_messages, into)
        n, directed = int(into.length[0]), directed_of(self.questions, contents)
        passes = (directed <= self.gates[:, None]) & (directed != np.inf) & self.present[:, None]
        slots, publications = np.nonzero(passes)
        by_slot = np.lexsort((into.publication[:n], into.slot[:n]))
        assert np.array_equal(into.slot[by_slot], slots)
        assert np.array_equal(into.publication[by_slot], publications)
        # Bit for bit, so that 0.0 is not -0.0.
        assert np.array_equal(into.directed[by_slot].view(np.int64), directed[slots, publications].view(np.int64))
        assert (np.diff(into.publication[:n]) >= 0).all()
        counted = {name: count - before[name] for name, count in self.index.counters.items()}
        assert counted["accepted"] == n <= counted["verified"] == into.counts[0] <= counted["postings"]
        return into


def any_places(random: np.random.Generator, n: int, bounds: Bounds, depth: int) -> Floats:
    """Within the bounds: anywhere, on the borders of cells, and on the outer edges and corners."""
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    share = random.random((n, 2))
    on_border = random.random((n, 2)) < 0.4
    share[on_border] = random.integers(0, 2**depth + 1, on_border.sum()) / 2**depth
    places: Floats = np.clip(low + (high - low) * share, low, high)
    return places


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_pairs_equal_brute_force_while_subscriptions_come_and_go(depth: int) -> None:
    random = np.random.default_rng(depth)
    n = 120
    questions = some_questions(random, any_places(random, n, UNIT, depth), 25)
    contents = contents_of(any_places(random, 12, UNIT, depth), some_words(random, 12, 30, 9))
    twin = Twin(questions, depth=depth)
    twin.check(contents)
    for _ in range(8):
        absent, present = random.permutation(np.flatnonzero(~twin.present)), np.flatnonzero(twin.present)
        twin.add(absent[: n // 4], gates_for(random, len(absent[: n // 4])))
        twin.check(contents)
        twin.remove(random.permutation(present)[: n // 8])
        present = random.permutation(np.flatnonzero(twin.present))[: n // 3]
        twin.adjust(present, gates_for(random, len(present)))
        twin.check(contents)
    twin.remove(np.flatnonzero(twin.present))
    assert twin.check(contents).length[0] == 0


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(-1e150, -1e150, 1e150, 1e150),
        Bounds(-1e-150, 0, 1e-150, 1e-150),
        Bounds(1e9, -1e9, 1e9 + 1e-6, 1e9),
        Bounds(1.0, 1.0, np.nextafter(1.0, 2.0), 5.0),
        Bounds(-180, -90, 180, 90),
    ],
)
def test_bounds_of_any_size(bounds: Bounds) -> None:
    random = np.random.default_rng(7)
    questions = some_questions(random, any_places(random, 80, bounds, 3), 10)
    contents = contents_of(any_places(random, 12, bounds, 3), some_words(random, 12, 10, 6), bounds)
    for depth in (1, 3):
        twin = Twin(questions, bounds, depth)
        twin.add(np.arange(80), gates_for(random, 80))
        twin.check(contents)


def test_gates_equal_to_scores_let_them_pass() -> None:
    random = np.random.default_rng(8)
    questions = some_questions(random, any_places(random, 100, UNIT, 2), 12, least=1)
    contents = contents_of(any_places(random, 10, UNIT, 2), some_words(random, 10, 12, 8, least=3))
    directed = directed_of(questions, contents)
    for depth in (1, 2, 3):
        twin = Twin(questions, depth=depth)
        twin.add(np.arange(100), np.full(100, -np.inf))
        for p in range(10):
            twin.adjust(np.arange(100), directed[:, p])
            twin.check(contents)
            twin.adjust(np.arange(100), np.nextafter(directed[:, p], -np.inf))
            twin.check(contents)


def test_everybody_at_one_place() -> None:
    random = np.random.default_rng(9)
    for place in ((0.5, 0.5), (0.0, 1.0), (1.0, 1.0), (0.3, 0.3)):
        questions = some_questions(random, np.full((90, 2), place), 8)
        twin = Twin(questions, depth=3)
        twin.add(np.arange(90), gates_for(random, 90))
        twin.check(contents_of(np.full((6, 2), place), some_words(random, 6, 8, 5)))
        twin.check(contents_of(any_places(random, 6, UNIT, 3), some_words(random, 6, 8, 5)))


def test_places_out_of_bounds_are_found() -> None:
    random = np.random.default_rng(10)
    questions = some_questions(random, random.normal(0.5, 1.0, (100, 2)), 10)
    twin = Twin(questions)
    twin.add(np.arange(100), gates_for(random, 100))
    twin.check(contents_of(random.normal(0.5, 2.0, (20, 2)), some_words(random, 20, 10, 5)))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_only_words_or_only_places_count(alpha: float) -> None:
    random = np.random.default_rng(11)
    places, words = any_places(random, 100, UNIT, 2), some_words(random, 100, 10, 4)
    twin = Twin(questions_of(places, np.full(100, alpha), words))
    twin.add(np.arange(100), -random.random(100))
    into = twin.check(contents_of(any_places(random, 20, UNIT, 2), some_words(random, 20, 10, 5)))
    assert into.length[0] > 0


def test_gates_that_admit_everybody_and_nobody() -> None:
    random = np.random.default_rng(12)
    questions = some_questions(random, random.random((60, 2)), 6, least=1)
    contents = contents_of(random.random((5, 2)), some_words(random, 5, 6, 6, least=1))
    twin = Twin(questions)
    twin.add(np.arange(60), np.full(60, np.inf))
    assert twin.check(contents).length[0] == (directed_of(questions, contents) != np.inf).sum()
    twin.adjust(np.arange(60), np.full(60, -np.inf))
    into = twin.check(contents)
    assert (into.length[0], into.counts[0]) == (0, 0)


def test_messages_without_words_or_with_unknown_ones_find_nothing() -> None:
    random = np.random.default_rng(13)
    questions = some_questions(random, random.random((40, 2)), 5)
    twin = Twin(questions)
    twin.add(np.arange(40), np.full(40, np.inf))
    words = some_words(random, 10, 5, 3, least=1)
    unknown = words._replace(terms=words.terms + 1_000)
    assert twin.check(contents_of(random.random((10, 2)), unknown)).length[0] == 0
    assert twin.index.counters["postings"] == 0
    assert twin.check(contents_of(random.random((10, 2)), some_words(random, 10, 5, 0))).length[0] == 0
    assert twin.index.route(contents_of(random.random((10, 2)), words), 4, 4, make_candidates(0)).length[0] == 0


def test_subscriptions_without_words_are_never_reached() -> None:
    random = np.random.default_rng(14)
    twin = Twin(questions_of(random.random((30, 2)), random.random(30), some_words(random, 30, 5, 0)))
    twin.add(np.arange(30), np.full(30, np.inf))
    assert twin.check(contents_of(random.random((10, 2)), some_words(random, 10, 5, 5))).length[0] == 0
    twin.remove(np.arange(30))
    twin.index.check()


def test_nothing_added_and_nothing_removed_is_nothing() -> None:
    random = np.random.default_rng(15)
    questions, none = some_questions(random, random.random((3, 2)), 5), np.zeros(0, np.int64)
    twin = Twin(questions)
    twin.add(none, np.zeros(0))
    twin.adjust(none, np.zeros(0))
    twin.remove(none)
    twin.check(contents_of(random.random((3, 2)), some_words(random, 3, 5, 5)))


def test_questions_may_move_between_calls() -> None:
    random = np.random.default_rng(16)
    places = random.random((20, 2))
    questions = some_questions(random, places, 5, least=1)
    contents = contents_of(random.random((8, 2)), some_words(random, 8, 5, 5))
    twin = Twin(questions)
    twin.add(np.arange(10), np.full(10, -0.3))
    shift = np.full(7, 3, np.int64)
    twin.questions = questions._replace(
        term_start=questions.term_start + 7,
        terms=np.concatenate([shift, questions.terms]),
        term_weights=np.concatenate([np.ones(7), questions.term_weights]),
    )
    questions.terms[:], questions.term_weights[:] = 0, 0.0
    twin.add(np.arange(10, 20), np.full(10, -0.3))
    twin.check(contents)


def test_subscriptions_one_by_one_equal_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(17)
    questions = some_questions(random, random.random((70, 2)), 40)
    contents, gates = contents_of(random.random((8, 2)), some_words(random, 8, 40, 9)), gates_for(random, 70)
    monkeypatch.setattr(skyband.geotext.ciq, "CHUNK", 16)
    whole, single = Twin(questions), Twin(questions)
    whole.add(np.arange(70), gates)
    for slot in random.permutation(70):
        single.add(np.array([slot]), gates[[slot]])
    pairs = [twin.check(contents) for twin in (whole, single)]
    n = int(pairs[0].length[0])
    assert np.array_equal(pairs[0].slot[:n], pairs[1].slot[:n])
    for slot in random.permutation(70)[:60]:
        single.remove(np.array([slot]))
    single.check(contents)


def test_memory_and_words_are_given_back() -> None:
    random = np.random.default_rng(18)
    n = 400
    questions = some_questions(random, random.random((n, 2)), 2_000)
    twin = Twin(questions)
    twin.add(np.arange(n), gates_for(random, n))
    full = twin.index.n_bytes
    twin.remove(np.arange(10, n))
    assert twin.index.n_bytes < full / 3
    twin.check(contents_of(random.random((5, 2)), some_words(random, 5, 2_000, 9)))
    # Words that come and go leave neither terms nor lists behind.
    for turn in range(12):
        slots = np.arange(10, 110)
        twin.questions = questions._replace(terms=(questions.terms + 131 * turn) % 2_000)
        twin.index.add(slots, twin.questions, np.full(100, -0.2))
        twin.index.remove(slots)
    assert twin.index.n_bytes < full
    twin.index.check()


def test_more_slots_cost_their_bytes() -> None:
    random = np.random.default_rng(19)
    questions = some_questions(random, random.random((200, 2)), 50, least=1)
    sizes = []
    for depth in (1, 2, 3):
        twin = Twin(questions, depth=depth)
        twin.add(np.arange(200), gates_for(random, 200))
        n_postings = int(questions.term_count.sum()) * (3 * depth + 1)
        sizes.append(twin.index.n_bytes)
        assert sizes[-1] >= 8 * n_postings + 200 * (4 * 4 * depth + 48) + 16 * len(questions.terms)
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("depth", [-1, 0, 9])
def test_depth_has_limits(depth: int) -> None:
    with pytest.raises(ValueError, match="depth is an integer from 1 to 8"):
        CiqIndex(UNIT, depth)
