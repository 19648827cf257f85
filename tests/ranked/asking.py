"""Subscriptions and messages by place and words as kernels want them, and an index of postings beside brute force."""

from typing import NamedTuple

import numpy as np

from skyband.geotext.postings import PostingIndex
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.slots import BLOCK
from skyband.table.settings import Bounds
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import PLACE, Contents, Questions, score_run

UNIT = Bounds(0, 0, 1, 1)


class Words(NamedTuple):
    """Terms and weights of some rows, laid end to end."""

    starts: Int64s
    counts: Int64s
    terms: Int64s
    weights: Floats


def words_of(bags: list[list[int]], weights: list[list[float]]) -> Words:
    """These terms, with these weights scaled to unit length."""
    counts = np.array([len(bag) for bag in bags], np.int64)
    scaled = [np.array(row) / np.linalg.norm(row) for row in weights if row]
    terms = np.array([term for bag in bags for term in bag], np.int64)
    return Words(np.cumsum(counts) - counts, counts, terms, np.concatenate([np.zeros(0), *scaled]))


def some_words(random: np.random.Generator, n: int, vocabulary: int, most: int, least: int = 0) -> Words:
    """Up to `most` distinct terms a row, small codes more often, with weights of length 1 or nearly so."""
    bags, weights = [], []
    for n_terms in random.integers(least, most + 1, n).tolist():
        drawn = np.unique((random.random(3 * n_terms) ** 3 * vocabulary).astype(np.int64))
        bags.append(random.permutation(drawn)[:n_terms].tolist())
        weights.append((random.exponential(size=len(bags[-1])) ** 2 + 1e-6).tolist())
    words = words_of(bags, weights)
    # As much as the input allows.
    lengths = 1.0 + random.choice([0.0, 9e-7, -9e-7], n)
    return words._replace(weights=words.weights * np.repeat(lengths, words.counts))


def contents_of(places: Floats, words: Words, bounds: Bounds = UNIT) -> Contents:
    """Messages at these places, in these words."""
    n = len(places)
    return Contents(
        np.ascontiguousarray(places.T), np.zeros(n), np.full(n, 1, np.int64), *words, diagonal=bounds.diagonal
    )


def questions_of(places: Floats, alphas: Floats, words: Words) -> Questions:
    """Row i asks at slot i."""
    n, n_blocks = len(places), -(-len(places) // BLOCK)
    centre = np.zeros((n_blocks, 2, BLOCK))
    centre[np.arange(n) // BLOCK, :, np.arange(n) % BLOCK] = places
    kinds, weight = np.full(n_blocks, PLACE, np.int8), np.zeros((n_blocks, 0, BLOCK))
    return Questions(kinds, centre, weight, np.zeros(n), alphas, np.full(n, 1, np.int64), *words)


def some_alphas(random: np.random.Generator, n: int) -> Floats:
    """Anything from 0 to 1, the ends often."""
    odd = random.choice([0.0, 1.0, 1e-12, 1.0 - 1e-12], n)
    return np.where(random.random(n) < 0.3, odd, random.random(n))


def some_places(random: np.random.Generator, n: int, bounds: Bounds = UNIT) -> Floats:
    """Within the bounds: anywhere, near to each other, on the edges and in the corners."""
    low, high = np.array(bounds[:2]), np.array(bounds[2:])
    share = random.random((n, 2))
    share[random.random((n, 2)) < 0.2] = random.choice([0.0, 1.0])
    near = random.random(n) < 0.3
    share[near] = 0.4 + 0.01 * random.random((near.sum(), 2))
    places: Floats = np.clip(low + (high - low) * share, low, high)
    return places


def some_gates(random: np.random.Generator, n: int) -> Floats:
    """Gates of every sort: strict, lax, exactly zero, beyond any score, infinite."""
    odd = random.choice([0.0, -0.0, 0.3, -1.0, -1.1, -1e-9, 5.0, -1e150, 1e150, np.inf, -np.inf], n)
    return np.where(random.random(n) < 0.7, -random.random(n), odd)


def directed_of(questions: Questions, contents: Contents) -> Floats:
    """Exact scores by slot and message."""
    n, n_codes = contents.point.shape[1], 1 + int(max(questions.terms.max(initial=0), contents.terms.max(initial=0)))
    directed, said = np.zeros((len(questions.alpha), n)), np.zeros(n_codes)
    for slot, row in enumerate(directed):
        score_run(questions, slot, contents, 0, n, said, row)
    return directed


class Pairs(NamedTuple):
    """Whom messages reach, by slot and then message."""

    slots: list[int]
    publications: list[int]
    directed: list[float]


def pairs_of(index: PostingIndex, contents: Contents, room: int = 3) -> Pairs:
    """What the index finds for all messages, in one call."""
    into = index.route(contents, 0, contents.point.shape[1], make_candidates(room))
    n = int(into.length[0])
    order = np.lexsort((into.publication[:n], into.slot[:n]))
    return Pairs(into.slot[order].tolist(), into.publication[order].tolist(), into.directed[order].tolist())


class Twin:
    """An index of postings, and beside it the gates of the slots that it should know."""

    def __init__(self, questions: Questions, bounds: Bounds = UNIT) -> None:
        self.index = PostingIndex(bounds.x_min, bounds.y_min, bounds.diagonal)
        self.questions = questions
        self.gates = np.full(len(questions.alpha), -np.inf)
        self.present = np.zeros(len(questions.alpha), np.bool_)

    @property
    def slots(self) -> Int64s:
        return np.flatnonzero(self.present)

    @property
    def free(self) -> Int64s:
        return np.flatnonzero(~self.present)

    def add(self, slots: Int64s, gates: Floats) -> None:
        self.index.add(slots, self.questions, gates)
        self.present[slots], self.gates[slots] = True, gates
        self.index.check()

    def remove(self, slots: Int64s) -> None:
        self.index.remove(slots)
        self.present[slots], self.gates[slots] = False, -np.inf
        self.index.check()

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        self.index.adjust(slots, gates)
        self.gates[slots] = gates
        self.index.check()

    def check(self, contents: Contents, room: int = 3) -> Candidates:
        """Route the messages in two calls, and compare."""
        n_messages, before = contents.point.shape[1], self.index.counters
        into = self.index.route(contents, 0, n_messages // 2, make_candidates(room))
        n_first = int(into.length[0])
        into = self.index.route(contents, n_messages // 2, n_messages, into)
        n, directed = int(into.length[0]), directed_of(self.questions, contents)
        passes = (directed <= self.gates[:, None]) & (directed != np.inf) & self.present[:, None]
        slots, publications = np.nonzero(passes)
        by_slot = np.lexsort((into.publication[:n], into.slot[:n]))
        assert np.array_equal(into.slot[by_slot], slots)
        assert np.array_equal(into.publication[by_slot], publications)
        # Bit for bit, so that 0.0 is not -0.0.
        assert np.array_equal(into.directed[by_slot].view(np.int64), directed[slots, publications].view(np.int64))
        for found in (into.publication[:n_first], into.publication[n_first:n]):
            assert (np.diff(found) >= 0).all()
        counted = {name: count - before[name] for name, count in self.index.counters.items()}
        assert counted["accepted"] == n <= counted["verified"] == into.counts[0] <= counted["passed"]
        assert counted["passed"] <= counted["entries"]
        return into
