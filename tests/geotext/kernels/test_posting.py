"""Postings: every bound against its inequality and against going without it; room that runs out; damage."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from skyband.geotext.kernels.posting import (
    BLOCK,
    CURVE,
    GATE,
    HIGH_X,
    KNOTS,
    LENGTH,
    LOW_Y,
    OWN,
    OWNER,
    PLACE,
    REST,
    START,
    SUM,
    TERM,
    TEXT,
    UNIT,
    N,
    PostedSubscriptions,
    bit_of,
    check_postings,
    other_bit_of,
    stretches_of,
)
from skyband.geotext.kernels.posting_search import N_COUNTS, MessageBatch, describe, read_all
from skyband.geotext.postings import PostingIndex
from skyband.kernels.array import Floats, Int64s
from skyband.topk.kernels.candidate import make_candidates
from skyband.topk.kernels.score import Contents, Questions
from tests.ranked.asking import (
    Pairs,
    Twin,
    contents_of,
    directed_of,
    pairs_of,
    questions_of,
    some_gates,
    some_places,
    some_words,
    words_of,
)


def unit_vectors(random: np.random.Generator, n: int, dims: int) -> Floats:
    """Of length 1 or nearly so, many of them with zeros, some with hardly anything but one number."""
    vectors = random.exponential(size=(n, dims)) ** random.choice([0.5, 1.0, 4.0], (n, 1))
    vectors[random.random((n, dims)) < random.choice([0.0, 0.3, 0.8], (n, 1))] = 0.0
    vectors[np.arange(n), random.integers(0, dims, n)] += 1e-3
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled * (1.0 + random.choice([-9e-7, 0.0, 9e-7], (n, 1)))


@pytest.mark.parametrize("dims", [1, 2, 3, 5, 12])
def test_what_is_left_bounds_the_relevance(dims: int) -> None:
    """The inequality of the module's first paragraphs, for the first keyword that a message shares."""
    random = np.random.default_rng(dims)
    asked, said = unit_vectors(random, 4_000, dims), unit_vectors(random, 4_000, dims)
    # A copy of the question is what comes nearest to the bound.
    said[:1_000] = asked[:1_000]
    shared = (asked > 0.0) & (said > 0.0)
    rows = np.flatnonzero(shared.any(axis=1))
    first = shared[rows].argmax(axis=1)
    later = np.arange(dims) > first[:, None]
    rest, others = np.where(later, asked[rows], 0.0), said[rows].copy()
    weight = others[np.arange(len(rows)), first].copy()
    others[np.arange(len(rows)), first] = 0.0
    by_length = np.linalg.norm(rest, axis=1) * np.sqrt(UNIT * UNIT - weight * weight)
    by_sum = rest.sum(axis=1) * others.max(axis=1)
    bound = asked[rows, first] * weight + np.minimum(by_length, by_sum)
    relevance = (asked[rows] * said[rows]).sum(axis=1)
    assert (relevance <= bound + 1e-12).all()
    # And what comes before it is worth nothing, so the length from there on bounds all of it.
    length = np.sqrt((np.where(np.arange(dims) >= first[:, None], asked[rows], 0.0) ** 2).sum(axis=1))
    assert (relevance <= length * UNIT).all()
    assert dims == 1 or (by_sum < by_length).any()
    assert dims < 3 or (by_sum > by_length).any()


def test_chords_lie_above_the_largest_line() -> None:
    random = np.random.default_rng(1)
    knots, distances = np.array(KNOTS), np.linspace(0.0, 1.0, 997)
    assert knots[0] == 0.0
    assert knots[-1] == 1.0
    assert (np.diff(knots) > 0.0).all()
    for _ in range(50):
        alphas, needs = random.random(BLOCK), random.uniform(-8.0, 2.0, BLOCK)
        largest = (alphas[:, None] * (1.0 - distances) - needs[:, None]).max(axis=0)
        curve = (alphas[:, None] * (1.0 - knots) - needs[:, None]).max(axis=0)
        assert (np.interp(distances, knots, curve) >= largest - 1e-12).all()


def test_terms_have_bits() -> None:
    terms = [*range(500), 2**20, 2**31 - 1]
    for hashed in (bit_of, other_bit_of):
        bits = [int(hashed(term)) for term in terms]
        assert all(bit.bit_count() == 1 and bit < 2**31 for bit in bits)
        assert len(set(bits)) == 31
    assert sum(bit_of(term) == bit_of(3) and other_bit_of(term) == other_bit_of(3) for term in terms) < 10


def test_messages_are_described() -> None:
    random = np.random.default_rng(2)
    words = words_of([[], [7], [1, 2], [5, 3, 9]], [[], [1.0], [2.0, 2.0], [3.0, 1.0, 2.0]])
    contents = contents_of(random.random((4, 2)), words)
    index = PostingIndex(-1.0, 0.5, 4.0)
    batch = index._batch(contents, 0, 4)
    weight = 14**-0.5
    places = (contents.point.T - [-1.0, 0.5]) / 4.0
    assert np.allclose(batch.messages[:, :2], places, atol=1e-6)
    assert np.allclose(batch.messages[:, 2:], [[0, 0], [1, 0], [0.5**0.5] * 2, [3 * weight, 2 * weight]], atol=1e-6)
    assert batch.bits[0].tolist() == [0, 0]
    assert batch.bits[3, 0] == bit_of(5) | bit_of(3) | bit_of(9)
    assert batch.bits[3, 1] == other_bit_of(5) | other_bit_of(3) | other_bit_of(9)
    assert contents.terms[batch.places].tolist() == [1, 2, 3, 5, 7, 9]
    assert batch.of.tolist() == [2, 2, 3, 3, 1, 3]
    again = batch._replace(messages=batch.messages[:2].copy(), bits=batch.bits[:2].copy())
    describe(contents, 2, 4, index._index.space, again)
    assert np.array_equal(again.messages, batch.messages[2:])
    assert np.array_equal(again.bits, batch.bits[2:])


class Blunt(PostingIndex):
    """An index without bits: every posting and every message seems to have every word."""

    def _batch(self, contents: Contents, lo: int, hi: int) -> MessageBatch:
        batch = super()._batch(contents, lo, hi)
        batch.bits[:] = 2**31 - 1
        self._index.postings.bits[:] = 2**31 - 1
        self._index.postings.more_bits[:] = 2**31 - 1
        return batch


class Unsummed(PostingIndex):
    """An index whose rests are bounded by their lengths alone."""

    def _batch(self, contents: Contents, lo: int, hi: int) -> MessageBatch:
        self._index.postings.sum[:] = 1e6
        self._index.postings.summary[:, SUM] = 1e6
        return super()._batch(contents, lo, hi)


class Unsummarised(PostingIndex):
    """An index whose blocks may all hold somebody."""

    def _batch(self, contents: Contents, lo: int, hi: int) -> MessageBatch:
        self._index.postings.summary[:, CURVE:] = 1e6
        return super()._batch(contents, lo, hi)


class Everywhere(PostingIndex):
    """An index that posts everybody under all words."""

    def _write(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        super()._write(slots, questions, gates)
        self._index.weights[:, LENGTH] = 1e4


def asked(random: np.random.Generator, n: int, vocabulary: int) -> tuple[Questions, Contents]:
    """Subscriptions to few words, whose lists have several blocks, and messages."""
    words = some_words(random, n, vocabulary, 5, least=1)
    questions = questions_of(some_places(random, n), random.random(n), words)
    return questions, contents_of(some_places(random, 12), some_words(random, 12, vocabulary, 6, least=1))


def counted(index: PostingIndex, questions: Questions, contents: Contents) -> tuple[Pairs, dict[str, int]]:
    """The pairs, and what it took, with gates that let through about one of twenty."""
    gates = np.quantile(directed_of(questions, contents), 0.05, axis=1, method="lower")
    index.add(np.arange(len(gates)), questions, gates)
    return pairs_of(index, contents, room=1 << 14), index.counters


@pytest.mark.parametrize(
    ("unpruned", "saved"),
    [(Blunt, "passed"), (Unsummed, "passed"), (Unsummarised, "blocks read"), (Everywhere, "entries")],
)
@pytest.mark.parametrize("vocabulary", [5, 40])
def test_each_bound_saves_work_and_loses_nothing(unpruned: type[PostingIndex], saved: str, vocabulary: int) -> None:
    questions, contents = asked(np.random.default_rng(3), 700, vocabulary)
    box = (0.0, 0.0, contents.diagonal)
    pairs, counts = counted(PostingIndex(*box), questions, contents)
    all_pairs, all_counts = counted(unpruned(*box), questions, contents)
    assert pairs == all_pairs
    assert len(pairs.slots) > 300
    assert counts[saved] < all_counts[saved]
    assert all(counts[name] <= all_counts[name] for name in ("blocks read", "entries", "passed", "verified"))
    assert unpruned is not Unsummarised or all_counts["blocks skipped"] == 0 < counts["blocks skipped"]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, None])
def test_the_only_one_of_a_block_is_found(alpha: float | None) -> None:
    """All the others ask for too much, so a summary that offers a little too little would hide the one."""
    random = np.random.default_rng(4)
    n = 4 * BLOCK
    bags = [[0, *(1 + random.permutation(5)[: random.integers(0, 4)]).tolist()] for _ in range(n)]
    words = words_of(bags, [(random.exponential(size=len(bag)) + 0.01).tolist() for bag in bags])
    alphas = random.random(n) if alpha is None else np.full(n, alpha)
    twin = Twin(questions_of(some_places(random, n), alphas, words))
    contents = contents_of(some_places(random, 10), some_words(random, 10, 6, 6, least=1))
    directed, shut = directed_of(twin.questions, contents), np.full(n, -1.0)
    twin.add(np.arange(n), shut)
    for slot in random.permutation(n)[:40]:
        reached = np.flatnonzero(directed[slot] != np.inf)
        if not len(reached):
            continue
        p = int(random.choice(reached))
        twin.index.adjust(np.array([slot]), directed[slot, [p]])
        pairs = pairs_of(twin.index, contents)
        assert (slot, p) in zip(pairs.slots, pairs.publications, strict=True)
        twin.index.adjust(np.array([slot]), shut[[slot]])
    twin.index.check()


def test_lists_grow_and_shrink() -> None:
    random = np.random.default_rng(5)
    n = 5 * BLOCK
    twin = Twin(questions_of(some_places(random, n), random.random(n), words_of([[3]] * n, [[1.0]] * n)))
    for slot in range(n):
        twin.add(np.array([slot]), np.full(1, -0.5))
        lists = twin.index._index.lists
        assert lists.size[3] == slot + 1 <= lists.room[3] <= 2 * (slot + 1)
        assert lists.room[3] < BLOCK or lists.start[3] % BLOCK == 0
    for slot in random.permutation(n):
        twin.remove(np.array([slot]))
    assert not twin.index._index.lists.room.any()
    # Holes are used before a list is given more room.
    twin.add(np.arange(n), np.zeros(n))
    room = int(twin.index._index.lists.room[3])
    for _ in range(3):
        some = random.permutation(n)[: n // 2]
        twin.remove(some)
        twin.add(some, np.zeros(len(some)))
        assert twin.index._index.lists.room[3] == room


def test_a_block_that_everybody_has_left() -> None:
    random = np.random.default_rng(7)
    n = 6 * BLOCK
    twin = Twin(questions_of(some_places(random, n), random.random(n), words_of([[3]] * n, [[1.0]] * n)))
    contents = contents_of(some_places(random, 6), words_of([[3]] * 6, [[1.0]] * 6))
    twin.add(np.arange(n), -random.random(n))
    for block in (0, 2, 5):
        first = int(twin.index._index.lists.start[3]) + block * BLOCK
        held = twin.index._index.postings.keyword[first : first + BLOCK]
        twin.remove(twin.index._index.keywords[held, OWNER].astype(np.int64))
        twin.check(contents)
    assert twin.index._index.lists.n_gone[3] == 3 * BLOCK
    twin.add(twin.free, -random.random(3 * BLOCK))
    twin.check(contents)


def test_stretches_fill_the_pool() -> None:
    random = np.random.default_rng(6)
    questions, _ = asked(random, 400, 60)
    index = PostingIndex(0.0, 0.0, 1.0)
    for _ in range(6):
        index.add(np.arange(400), questions, some_gates(random, 400))
        index.remove(random.permutation(400))
        stretches = stretches_of(index._index.lists, index._index.postings)
        assert stretches[0, 0] == 0
        assert np.array_equal(stretches[1:, 0], stretches[:-1, 1])
        assert stretches[-1, 1] == index._index.postings.used[0]


@pytest.mark.parametrize("n_pending", [BLOCK, 100])
def test_reading_goes_on_where_it_stopped(n_pending: int) -> None:
    random = np.random.default_rng(n_pending)
    questions, contents = asked(random, 150, 12)
    index = PostingIndex(0.0, 0.0, contents.diagonal)
    index.add(np.arange(150), questions, np.full(150, np.inf))
    wanted = pairs_of(index, contents, room=1 << 14)
    batch, counts = index._batch(contents, 0, 12), np.zeros(2 * N_COUNTS, np.int64)
    at, of, offered = np.zeros(n_pending, np.int64), np.zeros(n_pending, np.int64), np.zeros(n_pending, np.float32)
    pending = index._pending._replace(at=at, of=of, offered=offered)
    terms, found = contents.terms[batch.places], []
    done, room, n_stops = 0, 1, 0
    while done < len(terms) or pending.n[0]:
        into = make_candidates(room)
        done = read_all(done, index._index, contents, 0, batch, pending, counts, into)
        # It stops only between two lists.
        assert done in (0, len(terms)) or terms[done] != terms[done - 1]
        n = int(into.length[0])
        found += list(zip(into.slot[:n].tolist(), into.publication[:n].tolist(), strict=True))
        room, n_stops = 2 * room if n == 0 else room, n_stops + 1
    assert sorted(found) == list(zip(wanted.slots, wanted.publications, strict=True))
    assert n_stops > 5


def _wrong(part: str, *at: Any, value: float) -> Callable[[PostedSubscriptions], None]:
    """Damage to one number, or a few."""

    def damage(index: PostedSubscriptions) -> None:
        array = index
        for name in part.split("."):
            array = getattr(array, name)
        array[at] = value  # type: ignore[index]  # an array by now

    return damage


def _first_posted(index: PostedSubscriptions) -> int:
    return int(np.flatnonzero(index.keywords[:, PLACE] >= 0)[0])


def _summary(column: int, value: float) -> Callable[[PostedSubscriptions], None]:
    """Damage to the summary of every block of long lists."""

    def damage(index: PostedSubscriptions) -> None:
        index.postings.summary[:, column] = value

    return damage


def _unpost(index: PostedSubscriptions) -> None:
    index.keywords[_first_posted(index), PLACE] = -1


def _misplace(index: PostedSubscriptions) -> None:
    at, other = np.flatnonzero(index.keywords[:, PLACE] >= 0)[:2]
    index.keywords[at, PLACE] = index.keywords[other, PLACE]


def _mistake_the_term(index: PostedSubscriptions) -> None:
    index.keywords[_first_posted(index), TERM] += 1


def _swap_own(index: PostedSubscriptions) -> None:
    slot = int(np.flatnonzero(index.holders[:, N] > 1)[0])
    start = int(index.holders[slot, START])
    index.keywords[start, OWN] = index.keywords[start + 1, OWN]


def _dig_a_hole(index: PostedSubscriptions) -> None:
    index.lists.n_gone[np.argmax(index.lists.size)] += 1


def _fill_a_hole(index: PostedSubscriptions) -> None:
    term = int(np.flatnonzero(index.lists.room > index.lists.size)[0])
    index.postings.need[index.lists.start[term] + index.lists.size[term]] = 0.5


def _ask_for_less(index: PostedSubscriptions) -> None:
    index.postings.need[index.keywords[_first_posted(index), PLACE]] -= 1e-3


def _run_in_a_circle(index: PostedSubscriptions) -> None:
    room_class = int(np.flatnonzero(index.postings.free >= 0)[0])
    index.postings.keyword[index.postings.free[room_class]] = index.postings.free[room_class]


def _lose_a_stretch(index: PostedSubscriptions) -> None:
    index.postings.free[np.flatnonzero(index.postings.free >= 0)[0]] = -1


def _change_hands(index: PostedSubscriptions) -> None:
    index.keywords[_first_posted(index), OWNER] += 1


DAMAGES: dict[str, Callable[[PostedSubscriptions], None]] = {
    "a keyword is no longer posted": _unpost,
    "two keywords are posted at one place": _misplace,
    "a posting is in the list of another word": _mistake_the_term,
    "a keyword belongs to somebody else": _change_hands,
    "a subscription's own order is lost": _swap_own,
    "a hole is not counted": _dig_a_hole,
    "a hole asks for something": _fill_a_hole,
    "a posting asks for less than its subscription": _ask_for_less,
    "gates close and nobody is taken down": _wrong("holders", slice(None), GATE, value=-np.inf),
    "gates open and nobody is posted": _wrong("holders", slice(None), GATE, value=np.inf),
    "a list of free stretches runs in a circle": _run_in_a_circle,
    "a stretch belongs to nobody": _lose_a_stretch,
    "the pool ends too early": _wrong("postings.used", 0, value=BLOCK),
    "a box is too small to the right": _summary(HIGH_X, 0.0),
    "a box is too small below": _summary(LOW_Y, 1.0),
    "a summary's text is too small": _summary(TEXT, 0.0),
    "a summary's rest is too small": _summary(REST, 0.0),
    "a summary's sum is too small": _summary(SUM, 0.0),
    "a curve is too low at its first knot": _summary(CURVE, -1.0),
    "a curve is too low at its last knot": _summary(-1, -1.0),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_check_notices_damage(damage: str) -> None:
    random = np.random.default_rng(8)
    questions, _ = asked(random, 300, 30)
    index = PostingIndex(0.0, 0.0, 2**0.5)
    index.add(np.arange(300), questions, -random.random(300))
    index.remove(np.arange(0, 300, 7))
    index.check()
    DAMAGES[damage](index._index)
    with pytest.raises(AssertionError):
        check_postings(index._index)
