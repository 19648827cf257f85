"""The term store: room when it runs out, and no more of it than is needed."""

import numpy as np
import pytest

from skyband.kernels.heap import make_heap
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.cpm import CALLS, StoreQuery
from skyband.topk.kernels.scan import LARGEST, UNBOUNDED, Live, Published
from skyband.topk.kernels.score import PLACE, Contents, Questions
from skyband.topk.kernels.term_search import search_terms
from skyband.topk.term_store import LEAF, TermStore

UNIT = (0.0, 0.0, 1.0, 1.0)


def _contents(rng: np.random.Generator, n: int, codes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Contents:
    """Messages with none to five of these codes."""
    bags = [rng.permutation(codes)[: rng.integers(0, 6)] for _ in range(n)]
    counts = np.array([len(bag) for bag in bags], np.int64)
    return Contents(
        rng.random((2, n)),
        np.zeros(n),
        np.full(n, -1),
        np.cumsum(counts) - counts,
        counts,
        np.concatenate([np.zeros(0, np.int64), *bags]),
        np.concatenate([np.zeros(0), *(np.full(count, max(count, 1) ** -0.5) for count in counts)]),
        float(np.sqrt(2.0)),
    )


@pytest.mark.parametrize("leaf", [2, 16, LEAF])
def test_grows_and_shrinks_with_what_is_stored(leaf: int) -> None:
    rng = np.random.default_rng(leaf)
    contents = _contents(rng, 300, np.arange(20))
    term_store = TermStore(UNIT, leaf)
    oldest = 0
    for lo in range(0, 300, 50):
        term_store.insert(contents, 0, lo, lo + 50)
        term_store.check(np.arange(oldest, lo + 50), contents, 0)
        oldest = max(0, lo - 60)
        term_store.forget(contents, 0, oldest)
        term_store.check(np.arange(oldest, lo + 50), contents, 0)
    term_store.forget(contents, 0, 1000)
    term_store.check(np.zeros(0, np.int64), contents, 0)
    assert len(term_store.term_search.queue) > len(term_store.trees.nodes)


def test_a_store_that_drops_its_beginning() -> None:
    """Numbers stay when indices shrink and the base grows."""
    rng = np.random.default_rng(1)
    contents = _contents(rng, 90, np.arange(9))
    term_store = TermStore(UNIT, 4)
    term_store.insert(contents, 500, 10, 60)
    term_store.forget(contents, 500, 530)
    kept = contents._replace(
        point=np.ascontiguousarray(contents.point[:, 30:]),
        term_start=contents.term_start[30:],
        term_count=contents.term_count[30:],
    )
    term_store.insert(kept, 530, 30, 60)
    term_store.check(np.arange(530, 590), kept, 530)
    term_store.forget(kept, 530, 529)
    term_store.forget(kept, 530, 570)
    term_store.check(np.arange(570, 590), kept, 530)


def test_begins_anew_when_everything_was_forgotten() -> None:
    rng = np.random.default_rng(2)
    contents = _contents(rng, 20, np.arange(5))
    term_store = TermStore(UNIT, 4)
    term_store.insert(contents, 0, 0, 10)
    term_store.forget(contents, 0, 10)
    term_store.insert(contents, 700, 5, 20)
    term_store.check(np.arange(705, 720), contents, 700)
    term_store.forget(contents, 700, 710)
    term_store.check(np.arange(710, 720), contents, 700)


def test_memory_stays_the_same_as_words_come_and_go() -> None:
    rng = np.random.default_rng(3)
    term_store, sizes, before = TermStore(UNIT, 8), [], None
    for window in range(60):
        # Codes are used again for other words; now many words are rare, now few are common.
        codes = rng.permutation(400)[: rng.choice([3, 30, 300])]
        contents = _contents(rng, 60, codes)
        base = 60 * window
        if before is not None:
            term_store.forget(before, base - 60, base)
        term_store.insert(contents, base, 0, 60)
        before = contents
        sizes.append(term_store.n_bytes)
    term_store.check(np.arange(base, base + 60), contents, base)
    assert max(sizes[20:]) <= 1.2 * max(sizes[:20])


def test_is_searched() -> None:
    rng = np.random.default_rng(4)
    contents = _contents(rng, 200, np.arange(6))
    term_store = TermStore(UNIT, 8)
    term_store.insert(contents, 0, 0, 200)
    numbers = np.arange(200)
    published = Published(contents, Live(numbers, numbers, 0, 0, 0, numbers, 0))
    slots = np.zeros(BLOCK, np.int64)
    questions = Questions(
        np.full(1, PLACE, np.int8),
        np.full((1, 2, BLOCK), 0.5),
        np.zeros((1, 0, BLOCK)),
        np.zeros(0),
        np.full(BLOCK, 0.5),
        slots,
        slots,
        slots + 1,
        np.array([3]),
        np.ones(1),
    )
    heap = make_heap(300)
    ask = StoreQuery(0, 200, -LARGEST - 1, 300, UNBOUNDED, -1.0, np.inf, -np.inf, LARGEST)
    n = search_terms(term_store.trees, questions, published, ask, term_store.term_search, heap)
    said = {int(p) for p in numbers if 3 in contents.terms[contents.term_start[p] :][: contents.term_count[p]]}
    assert set(heap.items[:n].tolist()) == said
    assert (np.diff(heap.keys[:n]) >= 0.0).all()
    assert term_store.counts[CALLS] == 1
