"""The index of the Skype paper against brute force, to the last bit, with each bound on its own."""

from collections.abc import Iterable

import numpy as np
import pytest

from skyband.geotext.igpt import ALL, IgptIndex
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import PLACE, Contents, Questions, score_run

Bounds = tuple[float, float, float, float]

UNIT = (0.0, 0.0, 1.0, 1.0)
N_WORDS = 30


class Bag:
    """Places and words of some rows; the words of row i are `terms[start[i] : start[i] + count[i]]`."""

    def __init__(self, places: Floats, words: list[list[int]], random: np.random.Generator) -> None:
        self.places = places
        self.count = np.array([len(row) for row in words], np.int64)
        self.start = np.cumsum(self.count) - self.count
        self.terms = np.array([word for row in words for word in row], np.int64)
        self.weights = np.zeros(len(self.terms))
        for start, count in zip(self.start.tolist(), self.count.tolist(), strict=True):
            weights = random.exponential(size=count) + 0.05
            self.weights[start : start + count] = weights / np.sqrt((weights * weights).sum()) * (1.0 + 9e-7)

    @property
    def signature(self) -> Int64s:
        return np.array(
            [np.bitwise_or.reduce(1 << (row % 60), initial=0) for row in np.split(self.terms, self.start[1:])]
        )


def draw_words(random: np.random.Generator, n: int, most: int, vocabulary: int = N_WORDS) -> list[list[int]]:
    """Rows of up to `most` different words, in no order; large codes are rare."""
    shares = 1.0 / np.arange(1, vocabulary + 1)
    return [
        random.choice(
            vocabulary, min(int(random.integers(0, most + 1)), vocabulary), False, shares / shares.sum()
        ).tolist()
        for _ in range(n)
    ]


def contents_of(bag: Bag, bounds: Bounds = UNIT) -> Contents:
    point = np.ascontiguousarray(bag.places.T)
    diagonal = float(np.hypot(bounds[2] - bounds[0], bounds[3] - bounds[1]))
    nothing = np.zeros(len(bag.places))
    return Contents(point, nothing, bag.signature, bag.start, bag.count, bag.terms, bag.weights, diagonal)


def messages(
    random: np.random.Generator, n: int, most: int = 8, bounds: Bounds = UNIT, vocabulary: int = N_WORDS
) -> Contents:
    low, high = np.array(bounds).reshape(2, 2)
    return contents_of(
        Bag(low + random.random((n, 2)) * (high - low), draw_words(random, n, most, vocabulary), random), bounds
    )


def gates_for(random: np.random.Generator, n: int) -> Floats:
    """Gates of every sort: strict, lax, exactly zero, beyond any score, infinite."""
    usual = -random.uniform(0.3, 1.0, n)
    odd = random.choice([0.0, -0.0, 0.3, -1.0, -1.1, -1e-9, 5.0, -1e150, 1e150, np.inf, -np.inf], n)
    return np.where(random.random(n) < 0.8, usual, odd)


def alphas_for(random: np.random.Generator, n: int) -> Floats:
    odd = random.choice([0.0, 1.0, 0.5, 1e-12, 1.0 - 1e-12], n)
    return np.where(random.random(n) < 0.8, random.random(n), odd)


class Twin:
    """An IgptIndex, and beside it what subscriptions ask and their gates, for the plain scan."""

    def __init__(self, bounds: Bounds = UNIT, n_slots: int = 2 * BLOCK, **options: object) -> None:
        self.bounds = bounds
        self.index = IgptIndex(bounds, **options)  # type: ignore[arg-type]  # options have different types
        n_blocks = -(-n_slots // BLOCK)
        self.questions = Questions(
            np.full(n_blocks, PLACE, np.int8),
            np.zeros((n_blocks, 2, BLOCK)),
            np.zeros((0, 0, 0)),
            np.zeros(0),
            np.zeros(n_blocks * BLOCK),
            np.zeros(n_blocks * BLOCK, np.int64),
            np.zeros(n_blocks * BLOCK, np.int64),
            np.zeros(n_blocks * BLOCK, np.int64),
            np.zeros(0, np.int64),
            np.zeros(0),
        )
        self.gates: dict[int, float] = {}

    @property
    def slots(self) -> Int64s:
        return np.array(sorted(self.gates), np.int64)

    def free(self) -> Int64s:
        return np.setdiff1d(np.arange(len(self.questions.alpha)), self.slots)

    def add(self, slots: Int64s, bag: Bag, alphas: Floats, gates: Floats) -> None:
        asked = self.questions
        asked.centre[slots // BLOCK, :, slots % BLOCK] = bag.places
        asked.alpha[slots], asked.signature[slots] = alphas, bag.signature
        asked.term_start[slots], asked.term_count[slots] = len(asked.terms) + bag.start, bag.count
        self.questions = asked._replace(
            terms=np.concatenate([asked.terms, bag.terms]),
            term_weights=np.concatenate([asked.term_weights, bag.weights]),
        )
        self.index.add(slots, self.questions, gates)
        self.gates |= dict(zip(slots.tolist(), gates.tolist(), strict=True))

    def add_any(self, random: np.random.Generator, slots: Int64s, most: int = 5, vocabulary: int = N_WORDS) -> None:
        n, (low, high) = len(slots), np.array(self.bounds).reshape(2, 2)
        bag = Bag(low + random.random((n, 2)) * (high - low), draw_words(random, n, most, vocabulary), random)
        self.add(slots, bag, alphas_for(random, n), gates_for(random, n))

    def remove(self, slots: Int64s) -> None:
        self.index.remove(slots)
        for slot in slots.tolist():
            del self.gates[slot]

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        self.index.adjust(slots, gates)
        self.gates |= dict(zip(slots.tolist(), gates.tolist(), strict=True))

    def directed(self, contents: Contents) -> Floats:
        n = contents.point.shape[1]
        directed, most = (
            np.zeros((len(self.gates), n)),
            1 + max(self.questions.terms.max(initial=0), contents.terms.max(initial=0)),
        )
        said = np.zeros(most)
        for row, slot in enumerate(self.slots.tolist()):
            score_run(self.questions, slot, contents, 0, n, said, directed[row])
        return directed

    def check(self, contents: Contents, room: int = 3) -> Candidates:
        """Route the messages in two calls, and compare."""
        self.index.check()
        n_messages = contents.point.shape[1]
        into = self.index.route(contents, 0, n_messages // 2, make_candidates(room))
        into = self.index.route(contents, n_messages // 2, n_messages, into)
        self.index.check()
        n, slots = int(into.length[0]), self.slots
        gates = np.array([self.gates[slot] for slot in slots.tolist()])
        directed = self.directed(contents)
        rows, publications = np.nonzero((directed <= gates[:, None]) & (directed != np.inf))
        by_slot = np.lexsort((into.publication[:n], into.slot[:n]))
        assert np.array_equal(into.slot[by_slot], slots[rows])
        assert np.array_equal(into.publication[by_slot], publications)
        assert np.array_equal(into.directed[by_slot].view(np.int64), directed[rows, publications].view(np.int64))
        assert (np.diff(into.publication[:n]) >= 0).all()
        assert n <= into.counts[0] <= len(slots) * n_messages
        return into


SETTINGS: Iterable[frozenset[str]] = [
    ALL,
    frozenset(),
    *(frozenset([name]) for name in sorted(ALL)),
    *(ALL - {name} for name in sorted(ALL)),
]


@pytest.mark.parametrize(
    "prunings", SETTINGS, ids=lambda some: "+".join(sorted(some)) if len(some) < 5 else f"{len(some)} of 8"
)
def test_slots_come_and_go(prunings: frozenset[str]) -> None:
    random = np.random.default_rng(len(prunings))
    twin = Twin(capacity=5, groups=3, prunings=prunings)
    twin.check(messages(random, 2))
    for _ in range(8):
        twin.add_any(random, random.permutation(twin.free())[: random.integers(0, 40)])
        some = random.permutation(twin.slots)
        twin.adjust(some[::2], gates_for(random, len(some[::2])))
        twin.check(messages(random, 3))
        twin.remove(some[: random.integers(0, 25)])
        twin.check(messages(random, 3))


@pytest.mark.parametrize("capacity", [1, 2, 50])
@pytest.mark.parametrize("groups", [1, 4])
def test_leaves_split_and_merge(capacity: int, groups: int) -> None:
    random = np.random.default_rng(capacity)
    twin = Twin(capacity=capacity, groups=groups)
    for n in (60, 1, 1, 70, 3):
        twin.add_any(random, random.permutation(twin.free())[:n])
        twin.check(messages(random, 3))
    splits = twin.index.counters["splits"]
    assert splits > 0
    for n in (1, 60, 40, 30, 4):
        twin.remove(random.permutation(twin.slots)[:n])
        twin.check(messages(random, 3))
    assert len(twin.slots) == 0
    assert twin.index.counters["merges"] == splits
    twin.add_any(random, np.arange(30))
    twin.check(messages(random, 3))


@pytest.mark.jit_only
def test_a_thousand_subscriptions() -> None:
    random = np.random.default_rng(4)
    twin = Twin(n_slots=1500, capacity=100)
    for slots in np.array_split(random.permutation(1500), [900, 950, 951]):
        twin.add_any(random, slots, vocabulary=200)
        twin.check(messages(random, 3, vocabulary=250))
    twin.adjust(np.arange(1500), gates_for(random, 1500))
    twin.check(messages(random, 6, vocabulary=250))
    twin.remove(random.permutation(1500)[:900])
    twin.check(messages(random, 6, vocabulary=250))


@pytest.mark.parametrize("n_places", [1, 2])
def test_everybody_at_one_place(n_places: int) -> None:
    random = np.random.default_rng(5)
    places = random.random((n_places, 2))
    twin = Twin(capacity=2)
    for slots in np.array_split(np.arange(70), [30, 31]):
        bag = Bag(places[random.integers(0, n_places, len(slots))], draw_words(random, len(slots), 4), random)
        twin.add(slots, bag, alphas_for(random, len(slots)), gates_for(random, len(slots)))
        said = draw_words(random, 8, 6)
        twin.check(contents_of(Bag(np.concatenate([places[[0] * 4], random.random((4, 2))]), said, random)))
    twin.remove(np.arange(0, 70, 2))
    twin.check(messages(random, 5))
    twin.remove(np.arange(1, 70, 2))
    twin.check(messages(random, 5))
    assert twin.index.counters["merges"] == twin.index.counters["splits"] > 15


@pytest.mark.parametrize(
    "bounds",
    [
        (-1e150, -1e150, 1e150, 1e150),
        (0.0, 0.0, 1e-100, 1e-100),
        (1e15, 1e15, 1e15 + 4.0, 1e15 + 4.0),
        (3.0, -2.0, 3.0, 5.0),
        (0.0, 0.0, 1e-9, 1e9),
    ],
)
def test_any_bounds(bounds: Bounds) -> None:
    random = np.random.default_rng(6)
    twin = Twin(bounds, capacity=4)
    twin.add_any(random, np.arange(80))
    low, high = np.array(bounds).reshape(2, 2)
    said = contents_of(
        Bag(low + random.integers(0, 3, (12, 2)) / 2 * (high - low), draw_words(random, 12, 8), random), bounds
    )
    twin.check(said)
    for p in range(12):
        twin.adjust(np.arange(80), np.nan_to_num(twin.directed(said)[:, p], posinf=0.0))
        twin.check(said)


def test_places_on_lines_and_outside_of_the_bounds() -> None:
    random = np.random.default_rng(7)
    twin = Twin(capacity=3)
    places = random.integers(-8, 17, (90, 2)) / 8.0
    twin.add(
        np.arange(90), Bag(places, draw_words(random, 90, 4), random), alphas_for(random, 90), gates_for(random, 90)
    )
    said = contents_of(Bag(random.integers(-16, 33, (12, 2)) / 16.0, draw_words(random, 12, 8), random))
    twin.check(said)
    for p in range(12):
        twin.adjust(np.arange(90), np.nan_to_num(twin.directed(said)[:, p], posinf=0.0))
        twin.check(said)


@pytest.mark.parametrize("prunings", [ALL, frozenset()])
def test_gates_equal_to_a_score_let_it_pass(prunings: frozenset[str]) -> None:
    random = np.random.default_rng(8)
    twin = Twin(capacity=8, prunings=prunings)
    slots = np.arange(60)
    twin.add_any(random, slots)
    said = messages(random, 10)
    for p in range(10):
        directed = twin.directed(said)[:, p]
        shares = directed < np.inf
        twin.adjust(slots[shares], directed[shares])
        found = twin.check(said)
        assert (found.publication[: found.length[0]] == p).sum() == shares.sum()
        twin.adjust(slots[shares], np.nextafter(directed[shares], -np.inf))
        found = twin.check(said)
        assert not np.isin(
            slots[shares], found.slot[: found.length[0]][found.publication[: found.length[0]] == p]
        ).any()


def one(words: list[int], weights: list[float], place: tuple[float, float] = (0.5, 0.5)) -> Bag:
    bag = Bag(np.array([place]), [words], np.random.default_rng(0))
    bag.weights = np.array(weights)
    return bag


def test_a_word_whose_group_was_skipped_is_not_forgotten() -> None:
    # The paper's Algorithm 1 loses this pair: word 2 is skipped with its group, and what is seen of the others is 2/3.
    twin = Twin(prunings=frozenset(["groups", "unseen"]), groups=1)
    third = [3.0**-0.5] * 3
    twin.add(np.array([0]), one([1, 2, 3], third), np.zeros(1), np.array([-0.9]))
    twin.add(np.array([1]), one([1], [1.0]), np.zeros(1), np.array([np.inf]))
    twin.add(np.array([2]), one([3], [1.0]), np.zeros(1), np.array([np.inf]))
    found = twin.check(contents_of(one([1, 2, 3], third)))
    assert found.length[0] == 3
    assert twin.index.counters["groups"] == 1


def test_no_words_and_unknown_words() -> None:
    random = np.random.default_rng(9)
    twin = Twin()
    twin.add(np.arange(3), Bag(random.random((3, 2)), [[], [3], [4, 2]], random), np.full(3, 0.5), np.full(3, np.inf))
    said = contents_of(Bag(random.random((5, 2)), [[], [900], [3, 900], [2, 3, 4], []], random))
    assert twin.check(said).length[0] == 3
    twin.remove(np.array([1]))
    # The code of a word that nobody has any more is given to another word.
    twin.add(np.array([7]), Bag(random.random((1, 2)), [[3]], random), np.ones(1), np.array([np.inf]))
    assert twin.check(said).length[0] == 3
    twin.remove(np.array([0, 2, 7]))
    assert twin.check(said).length[0] == 0


def test_nobody_is_added_or_removed() -> None:
    random = np.random.default_rng(15)
    twin, nobody, none = Twin(), np.zeros(0, np.int64), np.zeros(0)
    for _ in range(2):
        twin.index.add(nobody, twin.questions, none)
        twin.index.adjust(nobody, none)
        twin.index.remove(nobody)
        twin.check(messages(random, 3))
        twin.add_any(random, twin.free()[:5])


def test_any_number_of_candidates_has_room() -> None:
    random = np.random.default_rng(10)
    twin = Twin(n_slots=2500, capacity=1000)
    n = 2500
    bag = Bag(random.random((n, 2)), [[1, 2]] * n, random)
    twin.add(np.arange(n), bag, random.random(n), np.full(n, np.inf))
    said = contents_of(Bag(random.random((4, 2)), [[1], [2], [1, 2], [0]], random))
    into = twin.index.route(said, 0, 4, make_candidates(0))
    assert into.length[0] == into.counts[0] == 3 * n
    assert twin.index.counters["accepted"] == twin.index.counters["verified"] == 3 * n
    assert twin.index.counters["entries"] == 4 * n


def test_groups_follow_the_subscriptions() -> None:
    random = np.random.default_rng(11)
    twin = Twin(groups=4)
    for slots, low in [(np.arange(40), 0.0), (np.arange(40, 60), 0.9), (np.arange(60, 200), 0.9)]:
        bag = Bag(random.random((len(slots), 2)), draw_words(random, len(slots), 4), random)
        twin.add(slots, bag, random.uniform(low, 1.0, len(slots)), gates_for(random, len(slots)))
        twin.check(messages(random, 3))
    sizes = np.bincount(twin.index._index.asks.group[:200])
    assert sizes.tolist() == [50, 50, 50, 50]


# For each bound: the counter that shows what it prunes, the bounds it needs beside it, and the least and largest alpha.
SHOWN = {
    "cells": ("cells", {"outer"}, 0.8, 1.0),
    "groups": ("groups", set(), 0.0, 0.3),
    "termination": ("terminated", set(), 0.0, 0.3),
    "prefix": ("prefix", set(), 0.0, 0.3),
    "max_weight": ("prefix", {"prefix"}, 0.0, 0.3),
    "inner": ("prefix", {"prefix"}, 0.5, 0.9),
    "outer": ("prefix", {"prefix"}, 0.5, 0.9),
    "unseen": ("unseen", set(), 0.0, 0.3),
}


@pytest.mark.parametrize("name", sorted(ALL))
def test_each_bound_prunes_and_loses_nothing(name: str) -> None:
    counter, beside, low, high = SHOWN[name]
    counted, pairs = [], []
    for prunings in (frozenset(beside), frozenset(beside | {name}), ALL - {name}, ALL):
        random = np.random.default_rng(12)
        twin = Twin(n_slots=512, capacity=20, prunings=prunings)
        bag = Bag(random.random((512, 2)), draw_words(random, 512, 5), random)
        twin.add(np.arange(512), bag, random.uniform(low, high, 512), -random.uniform(0.75, 0.95, 512))
        said = messages(random, 12)
        found = twin.check(said)
        n = int(found.length[0])
        pairs.append(sorted(zip(found.publication[:n].tolist(), found.slot[:n].tolist(), strict=True)))
        counted.append(twin.index.counters)
    assert pairs[0] == pairs[1] == pairs[2] == pairs[3]
    assert len(pairs[0]) > 0
    assert counted[1][counter] > counted[0][counter]
    assert counted[1]["verified"] < counted[0]["verified"] or name in ("groups", "termination")
    assert counted[1]["entries"] <= counted[0]["entries"]
    assert counted[3]["verified"] < 0.2 * 512 * 12


def test_same_calls_same_pairs() -> None:
    outcomes = []
    for _ in range(2):
        random = np.random.default_rng(13)
        twin = Twin(capacity=6)
        twin.add_any(random, np.arange(90))
        twin.remove(np.arange(5, 35))
        found = twin.check(messages(random, 6))
        n = int(found.length[0])
        outcomes.append(
            (found.slot[:n].tolist(), found.publication[:n].tolist(), twin.index.counters, twin.index.n_bytes)
        )
    assert outcomes[0] == outcomes[1]


def test_terms_are_laid_end_to_end_again() -> None:
    random = np.random.default_rng(14)
    twin = Twin()
    twin.add_any(random, np.arange(20))
    for _ in range(60):
        twin.add(
            np.array([41]), Bag(random.random((1, 2)), [list(range(20))], random), np.full(1, 0.5), np.full(1, -0.4)
        )
        twin.check(messages(random, 1))
        twin.remove(np.array([41]))
    assert len(twin.index._index.asks.terms) < 200
    assert twin.index.n_bytes < 200_000


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Each of prunings is .*, not 'luck'\."):
        IgptIndex(UNIT, prunings=frozenset(["luck"]))
    for capacity, groups in [(0, 10), (1000, 0), (1000, 101)]:
        with pytest.raises(ValueError, match=r"capacity is an integer from 1 to|groups is an integer from 1 to 100"):
            IgptIndex(UNIT, capacity, groups)
