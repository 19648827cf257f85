"""Searches in the term store, against scoring and sorting everything that is stored."""

from typing import NamedTuple

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.kernels.heap import make_heap
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.cpm import CALLS, PUSHED, SCORED, VISITED, StoreQuery
from skyband.topk.kernels.scan import COUNT, LARGEST, TIME, UNBOUNDED, Live, Published
from skyband.topk.kernels.score import PLACE, Contents, Questions, score_run
from skyband.topk.kernels.term_bound import TermSearch, make_term_search
from skyband.topk.kernels.term_search import search_terms
from skyband.topk.kernels.term_store import TermTrees, check_trees, forget, insert, make_trees

N_CODES = 40
SLOT = BLOCK + 3
UNIT = (0.0, 0.0, 1.0, 1.0)


def _unit(weights: Floats) -> Floats:
    return np.asarray(weights / np.sqrt((weights * weights).sum()))


def _publish(points: Floats, bags: list[list[int]], rng: np.random.Generator, base: int = 0) -> Published:
    """Messages with these terms, and times and stamps in no order."""
    n, counts = len(bags), np.array([len(bag) for bag in bags], np.int64)
    # Few different weights, for ties.
    weights = [_unit(rng.integers(1, 4, len(bag)).astype(float)) for bag in bags if bag]
    contents = Contents(
        np.ascontiguousarray(points.T),
        np.zeros(n),
        np.full(n, -1),
        np.cumsum(counts) - counts,
        counts,
        np.array([term for bag in bags for term in bag], np.int64),
        np.concatenate([np.zeros(0), *weights]),
        float(np.sqrt(2.0)),
    )
    stamps = rng.permutation(n).astype(np.int64)
    return Published(contents, Live(stamps * 3 // 2, stamps, base, 0, 0, base + np.argsort(stamps), 0))


def _bags(rng: np.random.Generator, n: int, most: int = 5) -> list[list[int]]:
    """Some words are much more common than others, and some messages have none."""
    ranks = np.minimum(rng.zipf(1.3, (n, most)) - 1, N_CODES - 5)
    return [list(dict.fromkeys(row[: rng.integers(0, most + 1)].tolist())) for row in ranks]


def _fill(published: Published, most: int, bounds: tuple[float, float, float, float] = UNIT) -> TermTrees:
    """Trees with all that is stored; the last five codes are unknown to them."""
    n = max(published.contents.point.shape[1], 64)
    trees = make_trees(bounds, most)._replace(
        words=np.zeros((N_CODES - 3, 4), np.int32),
        nodes=np.zeros((400 * n, 4), np.int32),
        cells=np.zeros((100 * n, 3), np.int64),
        entries=np.zeros((60 * n, 2), np.int64),
    )
    contents, live = published
    end = contents.point.shape[1]
    assert insert(trees, contents, live.base, live.head, end) == end
    check_trees(trees, live.base + live.head)
    return trees


def _question(place: Floats, alpha: float, terms: list[int], weights: Floats) -> Questions:
    centre, alphas = np.full((2, 2, BLOCK), np.nan), np.full(2 * BLOCK, np.nan)
    centre[1, :, 3], alphas[SLOT] = place, alpha
    starts, counts = np.zeros(2 * BLOCK, np.int64), np.zeros(2 * BLOCK, np.int64)
    starts[SLOT], counts[SLOT] = 2, len(terms)
    return Questions(
        np.full(2, PLACE, np.int8),
        centre,
        np.zeros((2, 0, BLOCK)),
        np.zeros(0),
        alphas,
        np.full(2 * BLOCK, -1),
        starts,
        counts,
        np.array([7, 7, *terms], np.int64),
        np.concatenate([[0.5, 0.5], weights]),
    )


def _ask(published: Published, want: int) -> StoreQuery:
    return StoreQuery(
        SLOT, published.contents.point.shape[1], -LARGEST - 1, want, UNBOUNDED, -1.0, np.inf, -np.inf, LARGEST
    )


def _sorted_out(directed: Floats, live: Live, ask: StoreQuery) -> list[tuple[float, int, int]]:
    """What `search_terms` promises, by sorting."""
    found = []
    for p in range(live.head, ask.hi):
        age = live.ts[p] if ask.window_kind == TIME else live.stamp[p]
        if directed[p] < np.inf and directed[p] <= ask.limit and live.stamp[p] >= live.floor and age > ask.cut:
            found.append((ask.sign * -float(directed[p]), -int(live.stamp[p]), p))
    last = (ask.last_key, -ask.last_stamp)
    return sorted(entry for entry in found if entry[:2] > last)[: max(ask.want, 0)]


class Case(NamedTuple):
    """Questions put to a term store, checked against sorting."""

    trees: TermTrees
    published: Published
    term_search: TermSearch

    def check(self, questions: Questions, ask: StoreQuery) -> list[tuple[float, int, int]]:
        contents, live = self.published
        n, heap, directed = contents.point.shape[1], make_heap(max(ask.want, 1)), np.zeros(contents.point.shape[1])
        score_run(questions, SLOT, contents, 0, n, np.zeros(N_CODES), directed)
        kept = search_terms(self.trees, questions, self.published, ask, self.term_search, heap)
        rows = zip(heap.keys[:kept].tolist(), (-heap.stamps[:kept]).tolist(), heap.items[:kept].tolist(), strict=True)
        found = list(rows)
        assert found == _sorted_out(directed, live, ask)
        return found


def _case(published: Published, most: int, entries: int = 64) -> Case:
    trees = _fill(published, most)
    return Case(trees, published, make_term_search(trees, most_entries=entries))


def _any_question(rng: np.random.Generator, alpha: float | None = None) -> Questions:
    terms = list(dict.fromkeys(np.minimum(rng.zipf(1.3, rng.integers(1, 7)) - 1, N_CODES - 1).tolist()))
    weights = _unit(rng.integers(1, 4, len(terms)).astype(float))
    return _question(rng.random(2), rng.random() if alpha is None else alpha, terms, weights)


@pytest.mark.parametrize("most", [2, 8, 64])
@pytest.mark.parametrize("entries", [0, 20, 4096])
def test_finds_the_best(most: int, entries: int) -> None:
    rng = np.random.default_rng([most, entries])
    published = _publish(rng.random((300, 2)), _bags(rng, 300), rng)
    case = _case(published, most, entries)
    for i in range(20):
        questions = _any_question(rng, alpha=[0.0, 1.0, None][i % 3])
        case.check(questions, _ask(published, int(rng.choice([1, 5, 35, 400]))))
    assert case.term_search.counts[CALLS] == 20


@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_windows_limits_and_what_comes_after_the_last(sign: float) -> None:
    rng = np.random.default_rng(int(sign) + 5)
    # Coordinates of a coarse grid: many scores are equal.
    published = _publish(rng.integers(0, 4, (250, 2)) / 4.0, _bags(rng, 250), rng, base=1000)
    live = published.live._replace(head=40, floor=60)
    published = published._replace(live=live)
    case = _case(published, 4, 32)
    for i in range(30):
        questions = _any_question(rng)
        ask = _ask(published, 6)._replace(
            sign=sign,
            hi=int(rng.integers(150, 251)),
            window_kind=[UNBOUNDED, TIME, COUNT][i % 3],
            cut=int(rng.integers(0, 200)) if i % 3 else -LARGEST - 1,
            limit=float(rng.choice([np.inf, -0.3, -0.6, -np.inf])),
        )
        found = case.check(questions, ask)
        for _ in range(3):
            if found:
                ask = ask._replace(last_key=found[-1][0], last_stamp=-found[-1][1])
                found = case.check(questions, ask)


def test_a_limit_that_is_met_exactly() -> None:
    rng = np.random.default_rng(2)
    published = _publish(rng.random((200, 2)), _bags(rng, 200), rng)
    case = _case(published, 8)
    for _ in range(10):
        questions = _any_question(rng)
        for key, _, _ in case.check(questions, _ask(published, 8)):
            for limit in (key, np.nextafter(key, -np.inf)):
                case.check(questions, _ask(published, 8)._replace(limit=limit))
                case.check(questions, _ask(published, 8)._replace(limit=limit, sign=0.0))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_everybody_at_one_place(alpha: float) -> None:
    rng = np.random.default_rng(3)
    published = _publish(np.full((120, 2), 0.7), _bags(rng, 120), rng)
    case = _case(published, 4, 32)
    for _ in range(8):
        case.check(_any_question(rng, alpha), _ask(published, 9))


def test_words_that_nobody_says() -> None:
    rng = np.random.default_rng(4)
    published = _publish(rng.random((60, 2)), _bags(rng, 60), rng)
    case = _case(published, 4)
    unknown = [N_CODES - 1, N_CODES - 4]
    assert case.check(_question(np.zeros(2), 0.5, unknown, _unit(np.ones(2))), _ask(published, 5)) == []
    assert case.term_search.counts.tolist() == [0, 0, 0, 1]
    case.check(_question(np.zeros(2), 0.5, [*unknown, 0], _unit(np.ones(3))), _ask(published, 5))
    case.check(_question(np.zeros(2), 0.5, [], np.zeros(0)), _ask(published, 5))


def test_nothing_stored_and_nothing_wanted() -> None:
    rng = np.random.default_rng(5)
    empty = _publish(np.zeros((0, 2)), [], rng)
    assert _case(empty, 4).check(_any_question(rng), _ask(empty, 5)) == []
    published = _publish(rng.random((20, 2)), [[]] * 10 + [[0]] * 10, rng)
    case = _case(published, 4)
    assert case.check(_question(np.zeros(2), 0.5, [0], np.ones(1)), _ask(published, 0)) == []
    assert len(case.check(_question(np.zeros(2), 0.5, [0], np.ones(1)), _ask(published, 20))) == 10


def test_lengths_that_are_not_quite_one() -> None:
    """As far from unit length as input may be: bounds must not rule out what scores a little more than 1."""
    rng = np.random.default_rng(6)
    published = _publish(np.full((64, 2), 0.5), [[0, 1]] * 64, rng)
    published.contents.term_weights[:] *= np.repeat(1.0 + rng.choice([-1e-6, 0.0, 1e-6], 64), 2)
    case = _case(published, 2, 0)
    for weights in (np.array([3.0, 1.0]), np.array([1.0, 1.0]), np.array([1.0, 0.3])):
        questions = _question(np.full(2, 0.5), 0.0, [0, 1], _unit(weights) * (1.0 + 1e-6))
        for want in (1, 10, 64):
            case.check(questions, _ask(published, want))


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_bounds_of_any_size_and_places_out_of_them(scale: float) -> None:
    rng = np.random.default_rng(7)
    points = rng.uniform(-1.5, 1.5, (150, 2)) * scale
    published = _publish(points, _bags(rng, 150), rng)
    published = published._replace(contents=published.contents._replace(diagonal=float(np.sqrt(8.0)) * scale))
    trees = _fill(published, 4, (-scale, -scale, scale, scale))
    case = Case(trees, published, make_term_search(trees))
    for _ in range(15):
        questions = _any_question(rng)
        questions.centre[1, :, 3] = rng.uniform(-2.0, 2.0, 2) * scale
        case.check(questions, _ask(published, 7))


def test_a_subscription_with_more_words_than_there_is_room_for() -> None:
    rng = np.random.default_rng(8)
    published = _publish(rng.random((100, 2)), _bags(rng, 100), rng)
    trees = _fill(published, 8)
    case = Case(trees, published, make_term_search(trees, most_words=3))
    for n_terms in (3, 4):
        questions = _question(rng.random(2), 0.4, list(range(n_terms)), _unit(np.ones(n_terms)))
        case.check(questions, _ask(published, 9))
        case.check(questions, _ask(published, 9)._replace(window_kind=COUNT, cut=50))
    assert case.term_search.counts[SCORED] > 100


def test_after_forgetting() -> None:
    rng = np.random.default_rng(9)
    published = _publish(rng.random((300, 2)), _bags(rng, 300), rng, base=2**31 - 150)
    trees = _fill(published, 4)
    term_search = make_term_search(trees)
    for head in range(0, 301, 60):
        if head:
            forget(trees, published.contents, published.live.base, head - 60, head)
        live = published.live._replace(head=head)
        case = Case(trees, published._replace(live=live), term_search)
        for _ in range(4):
            case.check(_any_question(rng), _ask(published, 12))


@pytest.mark.jit_only
def test_looks_at_few_of_many() -> None:
    rng = np.random.default_rng(10)
    published = _publish(rng.random((3000, 2)), _bags(rng, 3000), rng)
    case = _case(published, 16, 4096)
    for _ in range(10):
        case.check(_any_question(rng, 0.6), _ask(published, 5))
    counts = case.term_search.counts / 10
    assert counts[SCORED] < 150
    assert counts[VISITED] < 60
    assert counts[SCORED] < counts[PUSHED] < 300


@pytest.mark.jit_only
@pytest.mark.parametrize("n_words", [1, 2, 4])
def test_promises_keep_entries_out_of_the_queue(n_words: int) -> None:
    """A search for what comes after something that is better than all goes without promises, to the same answer."""
    rng = np.random.default_rng([12, n_words])
    published = _publish(rng.random((3000, 2)), _bags(rng, 3000), rng)
    with_promises, without = _case(published, 16, 4096), _case(published, 16, 4096)
    for i in range(20):
        # Popular words, which many messages have together.
        questions = _question(rng.random(2), 0.1 * (i % 10), list(range(n_words)), _unit(rng.random(n_words) + 0.1))
        ask = _ask(published, 7)._replace(window_kind=COUNT, cut=int(rng.integers(0, 2000)))
        assert with_promises.check(questions, ask) == without.check(questions, ask._replace(last_key=-2.0))
    counts = [case.term_search.counts for case in (with_promises, without)]
    assert 4 * counts[0][PUSHED] < 3 * counts[1][PUSHED]
    assert counts[0][SCORED] <= counts[1][SCORED]


def test_a_boolean_search_passes_over_what_is_less_recent() -> None:
    rng = np.random.default_rng(11)
    published = _publish(rng.random((400, 2)), [[0]] * 400, rng)
    stamps = np.arange(400)
    published = published._replace(live=published.live._replace(stamp=stamps, ts=stamps, timeline=stamps))
    case = _case(published, 512, 512)
    case.check(_question(np.zeros(2), 0.5, [0], np.ones(1)), _ask(published, 5)._replace(sign=0.0, limit=0.0))
    assert case.term_search.counts.tolist() == [5, 1, 0, 1]
