"""The index of postings against brute force by place and words, to the last bit."""

from typing import Any

import numpy as np
import pytest

import skyband.geotext.postings
from skyband.geotext.kernels.posting import BLOCK
from skyband.geotext.postings import PostingIndex
from skyband.table.settings import Bounds
from skyband.testing.thread import eager
from skyband.topk.kernels.candidate import make_candidates
from tests.ranked.asking import (
    Twin,
    Words,
    contents_of,
    directed_of,
    pairs_of,
    questions_of,
    some_alphas,
    some_gates,
    some_places,
    some_words,
    words_of,
)


def some_twin(
    random: np.random.Generator, n: int, vocabulary: int, most: int = 5, least: int = 0, bounds: Bounds | None = None
) -> Twin:
    """Subscriptions of every sort, none of them in yet."""
    bounds = bounds or Bounds(0, 0, 1, 1)
    words = some_words(random, n, vocabulary, most, least)
    return Twin(questions_of(some_places(random, n, bounds), some_alphas(random, n), words), bounds)


def come_and_go(twin: Twin, random: np.random.Generator) -> None:
    """Some come, some go, some gates move."""
    n = len(twin.present)
    new = random.permutation(twin.free)[: n // 4]
    twin.add(new, some_gates(random, len(new)))
    twin.remove(random.permutation(twin.slots)[: n // 8])
    some = random.permutation(twin.slots)[: n // 3]
    twin.adjust(some, some_gates(random, len(some)))


@pytest.mark.parametrize(("n", "vocabulary"), [(1, 1), (3, 2), (20, 3), (120, 25), (200, 400)])
def test_pairs_equal_brute_force_while_subscriptions_come_and_go(n: int, vocabulary: int) -> None:
    random = np.random.default_rng(n)
    twin = some_twin(random, n, vocabulary)
    contents = contents_of(some_places(random, 12), some_words(random, 12, vocabulary + 2, 9))
    twin.check(contents)
    for _ in range(8):
        come_and_go(twin, random)
        twin.check(contents)
    twin.remove(twin.slots)
    assert twin.check(contents).length[0] == 0


@pytest.mark.parametrize("vocabulary", [6, pytest.param(300, marks=pytest.mark.jit_only)])
def test_lists_of_many_blocks(vocabulary: int) -> None:
    """Few words make long lists, so that summaries decide and lists are sorted."""
    random = np.random.default_rng(vocabulary)
    twin = some_twin(random, 3_200, vocabulary, least=1)
    contents = contents_of(some_places(random, 8), some_words(random, 8, vocabulary, 9, least=1))
    twin.add(random.permutation(3_200), -(random.random(3_200) ** 0.2))
    twin.check(contents, room=3_000)
    for _ in range(2):
        come_and_go(twin, random)
        twin.check(contents, room=3_000)
    twin.adjust(twin.slots, -(random.random(len(twin.slots)) ** 0.1))
    before = twin.index.counters
    twin.check(contents)
    counted = {name: count - before[name] for name, count in twin.index.counters.items()}
    assert counted["blocks read"] > 0
    assert counted["blocks skipped"] > 0
    twin.remove(twin.slots[::3])
    twin.check(contents)


def test_a_word_that_everybody_has() -> None:
    random = np.random.default_rng(1)
    n = 300
    words = some_words(random, n, 40, 3)
    bags = [[100, *words.terms[start : start + count]] for start, count in zip(words.starts, words.counts, strict=True)]
    shared = words_of(bags, [random.exponential(size=len(bag)).tolist() for bag in bags])
    twin = Twin(questions_of(some_places(random, n), some_alphas(random, n), shared))
    twin.add(np.arange(n), some_gates(random, n))
    said = words_of([[100], [100, 3], [3], [7, 100, 0]] * 3, [[1.0], [1e-3, 1.0], [1.0], [0.3, 0.2, 0.9]] * 3)
    twin.check(contents_of(some_places(random, 12), said))
    twin.adjust(np.arange(n), np.full(n, np.inf))
    assert twin.check(contents_of(some_places(random, 12), said)).length[0] > 9 * n


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
    twin = some_twin(random, 150, 4, bounds=bounds)
    contents = contents_of(some_places(random, 12, bounds), some_words(random, 12, 4, 4), bounds)
    twin.add(np.arange(150), some_gates(random, 150))
    twin.check(contents)
    twin.adjust(np.arange(150), -(random.random(150) ** 0.3))
    twin.check(contents)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("vocabulary", [3, 30])
def test_only_words_or_only_places_count(alpha: float, vocabulary: int) -> None:
    random = np.random.default_rng(11)
    places, words = some_places(random, 300), some_words(random, 300, vocabulary, 4)
    twin = Twin(questions_of(places, np.full(300, alpha), words))
    contents = contents_of(some_places(random, 16), some_words(random, 16, vocabulary, 5))
    twin.add(np.arange(300), -random.random(300))
    assert twin.check(contents).length[0] > 0
    for gate in (-1.0, -1.0 - 1e-6, 0.0, np.nextafter(0.0, 1.0)):
        twin.adjust(np.arange(300), np.full(300, gate))
        twin.check(contents)


def test_everybody_at_one_place() -> None:
    random = np.random.default_rng(9)
    for place in ((0.5, 0.5), (0.0, 1.0), (1.0, 1.0), (0.3, 0.3)):
        words = some_words(random, 200, 3, 3)
        twin = Twin(questions_of(np.full((200, 2), place), some_alphas(random, 200), words))
        twin.add(np.arange(200), some_gates(random, 200))
        twin.check(contents_of(np.full((6, 2), place), some_words(random, 6, 3, 3)))
        twin.check(contents_of(some_places(random, 6), some_words(random, 6, 3, 3)))


def test_everybody_asks_the_same() -> None:
    n = 5 * BLOCK
    words = words_of([[4, 2, 9]] * n, [[3.0, 2.0, 1.0]] * n)
    twin = Twin(questions_of(np.full((n, 2), 0.25), np.full(n, 0.5), words))
    contents = contents_of(
        np.array([[0.25, 0.25], [0.9, 0.9]] * 3),
        words_of([[9], [4, 2, 9], [2]] * 2, [[1.0], [3.0, 2.0, 1.0], [1.0]] * 2),
    )
    twin.add(np.arange(n), np.full(n, -0.5))
    twin.check(contents)
    for gate in np.unique(directed_of(twin.questions, contents)[0]).tolist():
        twin.adjust(np.arange(n), np.full(n, gate))
        assert twin.check(contents).length[0] >= n
        twin.adjust(np.arange(0, n, 2), np.full(-(-n // 2), np.nextafter(gate, -np.inf)))
        twin.check(contents)


@pytest.mark.parametrize("vocabulary", [3, 14])
def test_gates_a_hair_beside_a_score(vocabulary: int) -> None:
    random = np.random.default_rng(vocabulary)
    n = 150
    twin = some_twin(random, n, vocabulary, least=1)
    contents = contents_of(some_places(random, 8), some_words(random, 8, vocabulary, 8, least=2))
    directed = directed_of(twin.questions, contents)
    twin.add(np.arange(n), np.full(n, -np.inf))
    for p in range(8):
        # In both directions: gates that open and gates that close.
        for gates in (directed[:, p], np.nextafter(directed[:, p], -np.inf), np.nextafter(directed[:, p], np.inf)):
            twin.adjust(np.arange(n), gates)
            twin.check(contents)


def test_gates_that_admit_everybody_and_nobody() -> None:
    random = np.random.default_rng(12)
    twin = some_twin(random, 150, 6, least=1)
    contents = contents_of(random.random((5, 2)), some_words(random, 5, 6, 6, least=1))
    twin.add(np.arange(150), np.full(150, np.inf))
    assert twin.check(contents).length[0] == (directed_of(twin.questions, contents) != np.inf).sum()
    twin.adjust(np.arange(150), np.full(150, -np.inf))
    into = twin.check(contents)
    assert (into.length[0], into.counts[0]) == (0, 0)
    # Nobody is posted, and everything is back when the gates open again.
    assert twin.index.counters["entries"] == twin.index.counters["passed"]
    twin.adjust(np.arange(150), np.full(150, np.inf))
    twin.check(contents)


def test_messages_without_words_or_with_unknown_ones_find_nothing() -> None:
    random = np.random.default_rng(13)
    twin = some_twin(random, 40, 5)
    twin.add(np.arange(40), np.full(40, np.inf))
    words = some_words(random, 10, 5, 3, least=1)
    unknown = words._replace(terms=words.terms + 1_000)
    assert twin.check(contents_of(random.random((10, 2)), unknown)).length[0] == 0
    assert twin.index.counters["entries"] == 0
    assert twin.check(contents_of(random.random((10, 2)), some_words(random, 10, 5, 0))).length[0] == 0
    assert twin.index.route(contents_of(random.random((10, 2)), words), 4, 4, make_candidates(0)).length[0] == 0
    silent = words_of([[], [1], [], [], [2, 1], []], [[], [1.0], [], [], [1.0, 1.0], []])
    twin.check(contents_of(random.random((6, 2)), silent))


def test_subscriptions_without_words_are_never_reached() -> None:
    random = np.random.default_rng(14)
    twin = Twin(questions_of(random.random((30, 2)), random.random(30), some_words(random, 30, 5, 0)))
    twin.add(np.arange(30), np.full(30, np.inf))
    assert twin.check(contents_of(random.random((10, 2)), some_words(random, 10, 5, 5))).length[0] == 0
    twin.adjust(np.arange(30), np.zeros(30))
    twin.remove(np.arange(30))


def test_nothing_added_and_nothing_removed_is_nothing() -> None:
    random = np.random.default_rng(15)
    twin, none = some_twin(random, 3, 5), np.zeros(0, np.int64)
    twin.add(none, np.zeros(0))
    twin.adjust(none, np.zeros(0))
    twin.remove(none)
    contents = contents_of(random.random((3, 2)), some_words(random, 3, 5, 5))
    twin.check(contents)
    assert twin.index.counters == dict.fromkeys(twin.index.counters, 0)


@pytest.mark.parametrize("n_words", [1, 40])
def test_few_words_and_many(n_words: int) -> None:
    random = np.random.default_rng(n_words)
    n = 100
    bags = [random.permutation(60)[:n_words].tolist() for _ in range(n)]
    words = words_of(bags, [random.exponential(size=n_words).tolist() for _ in range(n)])
    twin = Twin(questions_of(some_places(random, n), some_alphas(random, n), words))
    said = some_words(random, 9, 60, 60)
    contents = contents_of(some_places(random, 9), said)
    twin.add(np.arange(n), some_gates(random, n))
    twin.check(contents)
    twin.adjust(np.arange(n), -(random.random(n) ** 0.2))
    twin.check(contents)
    # One word of forty at a time.
    each = contents_of(some_places(random, 60), words_of([[term] for term in range(60)], [[1.0]] * 60))
    twin.check(each)


def test_weights_so_small_that_their_squares_are_nothing() -> None:
    """Among others in one call a word may weigh less than rounding does; it is posted all the same."""
    n = 40_000
    tiny = 1.8e-6
    words = words_of([[0, 1]] * n, [[tiny, 1.0]] * n)
    twin = Twin(questions_of(np.full((n, 2), 0.5), np.zeros(n), words))
    contents = contents_of(np.full((2, 2), 0.5), words_of([[0], [1]], [[1.0], [1.0]]))
    some = np.arange(0, n, 997)
    gates = np.full(n, -np.inf)
    gates[some] = -words.weights[0]
    twin.index.add(np.arange(n), twin.questions, gates)
    assert pairs_of(twin.index, contents).slots == np.repeat(some, 2).tolist()


def test_questions_may_move_between_calls() -> None:
    random = np.random.default_rng(16)
    twin = some_twin(random, 20, 5, least=1)
    questions = twin.questions._replace(
        terms=twin.questions.terms.copy(), term_weights=twin.questions.term_weights.copy()
    )
    contents = contents_of(random.random((8, 2)), some_words(random, 8, 5, 5))
    twin.questions = questions
    twin.add(np.arange(10), np.full(10, -0.3))
    twin.questions = questions._replace(
        term_start=questions.term_start + 7,
        terms=np.concatenate([np.full(7, 3, np.int64), questions.terms]),
        term_weights=np.concatenate([np.ones(7), questions.term_weights]),
    )
    questions.terms[:], questions.term_weights[:] = 0, 0.0
    twin.add(np.arange(10, 20), np.full(10, -0.3))
    twin.check(contents)


def test_a_slot_is_taken_again_by_somebody_else() -> None:
    random = np.random.default_rng(17)
    twin = some_twin(random, 60, 6, least=1)
    contents = contents_of(some_places(random, 8), some_words(random, 8, 6, 5, least=1))
    twin.add(np.arange(60), some_gates(random, 60))
    for _ in range(6):
        some = random.permutation(60)[:25]
        twin.remove(some)
        twin.add(some, some_gates(random, 25))
        twin.check(contents)
    twin.remove(np.arange(60))
    other = some_twin(random, 60, 6, most=2)
    twin.questions = other.questions
    twin.add(np.arange(60), np.full(60, np.inf))
    twin.check(contents)


def test_subscriptions_one_by_one_equal_all_at_once() -> None:
    random = np.random.default_rng(18)
    whole = some_twin(random, 90, 8)
    single = Twin(whole.questions)
    gates = some_gates(random, 90)
    contents = contents_of(random.random((8, 2)), some_words(random, 8, 8, 9))
    whole.add(np.arange(90), gates)
    for slot in random.permutation(90):
        single.add(np.array([slot]), gates[[slot]])
    assert pairs_of(whole.index, contents) == pairs_of(single.index, contents)
    for slot in random.permutation(90)[:80]:
        single.remove(np.array([slot]))
    single.check(contents)


def test_keywords_of_those_who_left_are_dropped() -> None:
    random = np.random.default_rng(19)
    twin = some_twin(random, 2_000, 50, least=1)
    contents = contents_of(some_places(random, 5), some_words(random, 5, 50, 9))
    twin.add(np.arange(2_000), some_gates(random, 2_000))
    before = twin.index.n_bytes
    order = random.permutation(2_000)
    for start in range(0, 1_800, 300):
        twin.remove(order[start : start + 300])
    twin.check(contents)
    after = twin.index.n_bytes
    assert after < before
    twin.adjust(twin.slots, some_gates(random, 200))
    twin.add(np.sort(order[:400]), some_gates(random, 400))
    twin.check(contents)
    twin.remove(twin.slots)
    twin.add(np.arange(5), np.full(5, np.inf))
    twin.check(contents)


@pytest.mark.parametrize("pending", [BLOCK, BLOCK + 1, 50, 128])
@pytest.mark.parametrize("room", [0, 40])
def test_more_than_there_is_room_for(pending: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates and pending postings run out of room in the midst of lists, long ones and short ones."""
    monkeypatch.setattr(skyband.geotext.postings, "PENDING", pending)
    random = np.random.default_rng(pending)
    for n, vocabulary in ((40, 30), (150, 12), (200, 2)):
        twin = some_twin(random, n, vocabulary)
        contents = contents_of(some_places(random, 9), some_words(random, 9, vocabulary, 6))
        twin.add(np.arange(n), np.full(n, np.inf))
        twin.check(contents, room)
        twin.adjust(np.arange(n), some_gates(random, n))
        twin.check(contents, room)


def test_candidates_of_others_are_kept() -> None:
    random = np.random.default_rng(20)
    twin = some_twin(random, 80, 5)
    contents = contents_of(some_places(random, 6), some_words(random, 6, 5, 5))
    twin.add(np.arange(80), np.full(80, np.inf))
    into = make_candidates(5)
    into.slot[:], into.publication[:], into.directed[:] = 70 + np.arange(5), 99, 0.5
    into.length[0], into.counts[0] = 5, 11
    found = twin.index.route(contents, 0, 6, into)
    assert found.slot[:5].tolist() == [70, 71, 72, 73, 74]
    assert (found.publication[:5] == 99).all()
    assert found.counts[0] == 11 + twin.index.counters["verified"]
    assert found.length[0] == 5 + twin.index.counters["accepted"]


def test_all_lists_are_sorted_when_too_many_want_it() -> None:
    random = np.random.default_rng(21)
    twin = some_twin(random, 700, 3)
    twin.index._index = twin.index._index._replace(stale=np.zeros(2, np.int64))
    contents = contents_of(some_places(random, 6), some_words(random, 6, 3, 3))
    twin.add(np.arange(700), np.full(700, -0.6))
    for _ in range(4):
        twin.adjust(np.arange(700), -(random.random(700) ** 0.3))
        assert not twin.index._index.stale_end.any()
        twin.check(contents)


@pytest.mark.parametrize("threads", [2, 3, 9])
def test_threads_find_the_same(threads: int) -> None:
    """The same pairs and the same counts, also where there was no room for a list at first."""

    def routed(threads: int, room: int) -> tuple[Any, ...]:
        random = np.random.default_rng(24)
        twin = some_twin(random, 900, 30)
        contents = contents_of(some_places(random, 40), some_words(random, 40, 30, 5))
        twin.add(np.arange(900), some_gates(random, 900))
        into = twin.index.route(contents, 0, 25, make_candidates(room), threads)
        into = twin.index.route(contents, 25, 26, into, threads)
        into = twin.index.route(contents, 26, 40, into, threads)
        n = int(into.length[0])
        order = np.argsort(into.slot[:n], kind="stable")
        return *(array[:n][order].tolist() for array in into[2:]), int(into.counts[0]), twin.index.counters

    one = routed(1, 100_000)
    assert len(one[0]) > 1000
    with eager():
        assert routed(threads, 100_000) == routed(threads, 3) == routed(1, 3) == one


def test_same_calls_same_pairs() -> None:
    answers = []
    for _ in range(2):
        random = np.random.default_rng(22)
        twin = some_twin(random, 300, 9)
        contents = contents_of(some_places(random, 6), some_words(random, 6, 9, 5))
        twin.add(np.arange(300), some_gates(random, 300))
        into = twin.index.route(contents, 0, 6, make_candidates(9))
        n = int(into.length[0])
        answers.append((into.slot[:n].tolist(), into.publication[:n].tolist(), twin.index.counters))
    assert answers[0] == answers[1]


@pytest.mark.jit_only
def test_memory_stays_the_same_as_subscriptions_and_words_come_and_go() -> None:
    random = np.random.default_rng(23)
    twin = some_twin(random, 400, 100, least=1)
    sizes = []
    for turn in range(30):
        twin.questions = twin.questions._replace(terms=(twin.questions.terms + 37 * turn) % 200)
        twin.index.add(np.arange(400), twin.questions, some_gates(random, 400))
        for _ in range(2):
            twin.index.adjust(np.arange(400), some_gates(random, 400))
        twin.index.check()
        twin.index.remove(np.arange(400))
        twin.index.check()
        sizes.append(twin.index.n_bytes)
    assert max(sizes[20:]) <= 1.1 * max(sizes[:20])


def test_an_index_counts_its_bytes() -> None:
    random = np.random.default_rng(24)
    index = PostingIndex(0.0, 0.0, 1.0)
    empty = index.n_bytes
    words: Words = some_words(random, 500, 50, 5, least=1)
    index.add(np.arange(500), questions_of(random.random((500, 2)), random.random(500), words), np.zeros(500))
    assert index.n_bytes > empty + 500 * 6 * 8 + len(words.terms) * (16 + 16 + 4)
