"""Pages of cells: against plain comparisons, on random and on contrary subscriptions, as they come and go."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.bench.ranked_data import MATCHED, RankedData, boxes, sparse
from skyband.kernels.array import Bools, Floats
from skyband.ranked.kernels.cells import PAGE
from skyband.ranked.kernels.fitting import MAX, make_rule
from skyband.ranked.kernels.interval_scan import Events
from skyband.ranked.kernels.streams import RANDOM
from skyband.ranked.matcher import Access, Matcher, chosen_access
from skyband.ranked.rows import UNLIMITED, Subscriptions
from skyband.testing.machine import same

EXACT = make_rule("flat", "overlap", "sum", "exact")


class Asked:
    """Boxes with a score each, and what matches an event by plain comparisons."""

    def __init__(self, lo: Floats, hi: Floats, score: Floats) -> None:
        self.lo, self.hi, self.score = lo, hi, score

    def rows(self, chosen: Any) -> Subscriptions:
        """These subscriptions; the first dimension has all the weight."""
        lo, hi, (n, dims) = self.lo[chosen], self.hi[chosen], self.lo[chosen].shape
        weight = np.zeros((n, dims))
        weight[:, 0] = self.score[chosen]
        dim = np.tile(np.arange(dims, dtype=np.int32), n)
        flat = (lo.ravel(), hi.ravel(), weight.ravel())
        return Subscriptions(None, np.arange(n + 1) * dims, dim, *flat, np.full(n, UNLIMITED), dims)

    def best(self, low: Floats, high: Floats, k: int, live: Bools) -> list[int]:
        """The k best of those who are live, of equal scores the larger number first."""
        opened = (self.lo == -np.inf) & (self.hi == np.inf)
        met = (live[:, None] & (((self.lo <= high) & (low <= self.hi)) | opened)).all(axis=1)
        found = np.flatnonzero(met)
        best: list[int] = found[np.lexsort((-found, -self.score[found]))][:k].tolist()
        return best


def matcher(asked: Asked, access: Access = "cells") -> Matcher:
    """All of them, at once."""
    n, dims = asked.lo.shape
    found = Matcher(EXACT, dims, access=access)
    found.label = np.arange(n)
    found.add(np.arange(n), asked.rows(np.arange(n)))
    return found


def require_best(cells: Matcher, asked: Asked, low: Floats, high: Floats, ks: list[int], live: Bools) -> None:
    """The answers to these events are those of plain comparisons, and all invariants hold."""
    cells.check()
    found = cells.match(Events(low, high, np.array(ks)))
    for i, k in enumerate(ks):
        at = found.start[i]
        answer = found.slot[at : at + found.length[i]].tolist()
        assert answer == asked.best(low[i], high[i], k, live)
        assert found.score[at : at + found.length[i]].tolist() == asked.score[answer].tolist()


def random_boxes(random: np.random.Generator, n: int, dims: int, lattice: bool) -> Asked:
    """Boxes, of which some sides are open; on a lattice ends and scores coincide, and some have no width."""
    if lattice:
        lo, wide = (random.integers(0, most, (n, dims)).astype(np.float64) for most in (12, 5))
        score = random.integers(0, 3, n).astype(np.float64)
    else:
        lo, wide, score = random.random((n, dims)), random.random((n, dims)) * 0.6, random.random(n)
    hi = lo + wide
    lo[random.random((n, dims)) < 0.1] = -np.inf
    hi[random.random((n, dims)) < 0.1] = np.inf
    return Asked(lo, hi, score)


def random_events(random: np.random.Generator, n: int, dims: int, lattice: bool) -> tuple[Floats, Floats]:
    """Points and intervals, some beyond everything, and some without a dimension."""
    low = random.integers(-2, 38, (n, dims)) / 2 if lattice else random.random((n, dims)) * 1.8 - 0.1
    high = low + np.where(random.random((n, 1)) < 0.5, 0.0, random.random((n, dims)) * (4 if lattice else 0.3))
    missing = random.random((n, dims)) < 0.05
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


@pytest.mark.jit_only
@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 5])
def test_pages_come_and_go(dims: int, lattice: bool) -> None:
    """More than fit into two pages; then most of them leave, others move, and some come back one after the other."""
    random, n = np.random.default_rng([dims, lattice]), 2 * PAGE + 900
    asked, live = random_boxes(random, n, dims, lattice), np.ones(n, np.bool_)
    cells = matcher(asked)
    for turn in range(5):
        events = random_events(random, 12, dims, lattice)
        require_best(cells, asked, *events, random.choice([1, 3, 50, n], 12).tolist(), live)
        gone = random.choice(np.flatnonzero(live), 1800, replace=False)
        live[gone] = False
        cells.remove(gone)
        for back in np.split(gone[:300], [1, 2, 3, 40, 140]) if turn % 2 else ():
            live[back] = True
            cells.add(back, asked.rows(back))


def contrary() -> dict[str, Asked]:
    """Boxes that leave nothing to choose by, or next to nothing."""
    n, far = 40, np.finfo(float).max
    same, ramp = np.ones((n, 2)), np.arange(n, dtype=float)
    return {
        "all alike": Asked(same, same, np.ones(n)),
        "all open": Asked(-np.inf * same, np.inf * same, ramp % 3),
        "points in a row": Asked(ramp[:, None] * same, ramp[:, None] * same, np.zeros(n)),
        "as far as numbers go": Asked(-far * same, np.where(ramp[:, None] % 2 == 0, far, 1.0) * same, ramp % 5),
        "half lines": Asked(np.where(ramp[:, None] % 2 == 0, -np.inf, ramp[:, None]) * same, np.inf * same, np.ones(n)),
        "next to each other": Asked(same + ramp[:, None] * 2.0**-52, same + (ramp[:, None] + 1) * 2.0**-52, ramp % 2),
    }


@pytest.mark.parametrize("name", contrary())
def test_contrary_boxes(name: str) -> None:
    asked = contrary()[name]
    n, live = len(asked.score), np.ones(40, np.bool_)
    values = [0.0, 1.0, 1.0 + 2.0**-52, 1.0 + 2.0**-48, 17.0, 17.5, -np.finfo(float).max, np.finfo(float).max, np.nan]
    low = np.array([[a, b] for a in values for b in values])
    cells = matcher(asked)
    for k in (1, 7, n):
        require_best(cells, asked, low, low, [k] * len(low), live)
        high = np.where(np.isnan(low), np.nan, np.maximum(low, 20.0))
        require_best(cells, asked, low, high, [k] * len(low), live)
    cells.remove(np.arange(n))
    require_best(cells, asked, low[:1], low[:1], [n], np.zeros(n, np.bool_))
    cells.add(np.arange(3), asked.rows(np.arange(3)))
    require_best(cells, asked, low, low, [n] * len(low), np.arange(n) < 3)


def test_a_page_grows_one_by_one() -> None:
    """What comes after a page was cut may lie far from its cuts, and be the best of all."""
    random, n = np.random.default_rng(3), 150
    asked = random_boxes(random, n, 2, False)
    asked.lo[:] += np.arange(n)[:, None] / 50
    asked.hi[:] += np.arange(n)[:, None] / 50
    asked.score[:] = np.arange(n) // 4
    cells = Matcher(EXACT, 2, access="cells")
    cells.label = np.arange(n)
    for i in range(n):
        cells.add(np.array([i]), asked.rows([i]))
        low = random.random((2, 2)) * 4
        require_best(cells, asked, low, low, [1, 9], np.arange(n) <= i)


@pytest.mark.jit_only
@pytest.mark.parametrize("dims", [4, 10])
def test_few_are_looked_at(dims: int) -> None:
    """Hardly more than match, where the one dimension of an anchor leaves thousands; the engine's counters say so."""
    data = boxes(20_000, dims, 100)
    counted, n_found = {}, {}
    for access in ("anchor", "cells"):
        found = looked_at(data, access)
        counted[access], n_found[access] = found
    assert n_found["anchor"] == n_found["cells"]
    assert MATCHED / 1.3 <= n_found["cells"] <= MATCHED * 1.3
    assert counted["cells"] <= 2 * n_found["cells"]
    assert counted["cells"] <= counted["anchor"] / 10
    # Ten of up to all that match: not many more than the ten.
    assert looked_at(data, "cells", k=10)[0] <= 2 * 10


def looked_at(data: RankedData, access: Access, k: int = 20_000) -> tuple[float, float]:
    """How many subscriptions an event looks at, and how many match."""
    found = Matcher(EXACT, data.dims, access=access)
    found.label = np.arange(data.n)
    found.add(np.arange(data.n), data.rows)
    answer = found.match(data.events(100, k))
    return float(found.work[RANDOM]) / 100, float(answer.length.mean())


def test_a_page_that_cannot_beat_the_answer_is_not_looked_at() -> None:
    n = PAGE + 100
    ramp = np.arange(n, dtype=np.float64)
    asked = Asked(np.zeros((n, 1)), np.ones((n, 1)), ramp)
    cells, inside = matcher(asked), np.full((2, 1), 0.5)
    require_best(cells, asked, inside, inside, [1, 3], np.ones(n, np.bool_))
    assert cells.work.tolist() == [2, 4]
    # An event that no page reaches looks into none.
    cells.match(Events(inside + 1.0, inside + 1.0, np.array([1, 3])))
    assert cells.work.tolist() == [2, 4]


@pytest.mark.jit_only
def test_ties_end_the_search() -> None:
    """All scores alike, as they are by default: labels order pages and places, so that k answers take little more."""
    random = np.random.default_rng(6)
    lo = random.random((3 * PAGE, 2)) * 0.5
    cells = matcher(Asked(lo, lo + 0.5, np.ones(3 * PAGE)))
    points = random.random((40, 2)) * 0.5 + 0.25
    cells.match(Events(points, points, np.full(40, 5)))
    assert cells.work[RANDOM] <= 40 * 5 * 3


def test_the_engine_says_how_many_were_looked_at() -> None:
    engine = skyband.open("ranked", "scored", k=2, matching="exact", dims=2)
    engine.subscribe([{"id": i, "lo": [i, i], "hi": [i + 5, i + 5]} for i in range(50)])
    answer = engine.publish([{"id": 1, "ts": 1, "point": [20, 20]}])
    assert answer["subscription"].to_pylist() == [20, 19]
    assert engine.counters["random accesses"] == 2
    assert engine.counters["sorted accesses"] == 1


def test_unicode_ids_and_k_beyond_everything() -> None:
    engine = skyband.open("ranked", "scored", k=1000, matching="exact", dims=2)
    scan = skyband.open("ranked", "scan", k=1000, matching="exact", dims=2)
    names = ["é", "e", "", "日本", "🙂", "z" * 300]
    rows = pa.table({"id": names, "lo": [[0.0, None]] * 6, "hi": [[1.0, 2.0]] * 6, "weights": [[1.0, 1.0]] * 6})
    events = [{"id": i, "ts": 1, "point": point} for i, point in enumerate([[0.5, 1.0], [None, 1.0], [0.5, 3.0]])]
    for one in (engine, scan):
        one.subscribe(rows)
        one.update([{"id": "日本", "weights": [3.0, 0.5]}])
        one.unsubscribe(["e"])
    same(engine.publish(events), scan.publish(events))
    assert len(engine.publish(events)) == 5


def test_cells_are_for_several_dimensions_by_default() -> None:
    assert [chosen_access("auto", EXACT, dims) for dims in (1, 2, 16, 17)] == ["anchor", "cells", "cells", "anchor"]


RELAXED = make_rule("flat", "overlap", "sum", "relaxed")


def test_descent_is_for_many_dimensions_by_default() -> None:
    ways = [chosen_access("auto", RELAXED, dims) for dims in (1, 2, 16, 17)]
    assert ways == ["threshold", "tiers", "tiers", "descent"]
    assert chosen_access("auto", RELAXED._replace(combination=MAX), 17) == "total"


@pytest.mark.parametrize("n_asked", [0, 1, 3, 7])
def test_descent_finds_what_the_threshold_algorithm_does(n_asked: int) -> None:
    """Fewer parts than are at hand, and more; some open, some that weigh nothing, and many ties."""
    random, n, dims = np.random.default_rng(n_asked), 300, 20
    order = np.argsort(random.random((n, dims)), axis=1)[:, :n_asked]
    dim = np.sort(order, axis=1).ravel().astype(np.int32)
    lo, wide = (random.integers(0, most, n * n_asked).astype(np.float64) for most in (6, 4))
    hi = lo + wide
    lo[random.random(len(lo)) < 0.2], hi[random.random(len(hi)) < 0.2] = -np.inf, np.inf
    weight, budget = random.integers(0, 4, n * n_asked).astype(float), np.full(n, UNLIMITED)
    budget[::7] = 2
    rows = Subscriptions(None, np.arange(n + 1) * n_asked, dim, lo, hi, weight, budget, dims)
    low = random.integers(-1, 8, (40, dims)).astype(float)
    low[random.random(low.shape) < 0.1] = np.nan
    high = np.where(random.random((40, 1)) < 0.5, low, low + random.integers(0, 3, low.shape))
    answers = []
    for access in ("descent", "threshold"):
        found = Matcher(RELAXED, dims, access=access)
        found.label = np.arange(n)
        found.add(np.arange(n), rows)
        found.remove(np.arange(0, n, 5))
        found.check()
        answers.append(found.match(Events(low, high, np.tile([1, 4, 50, n], 10))))
    for one, other in zip(*answers, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.jit_only
def test_descent_looks_at_few() -> None:
    data = sparse(20_000, 100, 3, 50)
    counted = {}
    for access in ("total", "descent"):
        found = Matcher(RELAXED, data.dims, access=access)
        found.label = np.arange(data.n)
        found.add(np.arange(data.n), data.rows)
        found.match(data.events(50, 20))
        counted[access] = found.work[RANDOM] / 50
    assert counted["descent"] < counted["total"] / 5
    assert counted["descent"] < data.n / 40


@pytest.mark.parametrize("matching", ["exact", "relaxed"])
def test_of_equal_scores_the_largest_id_comes_first_however_small(matching: str) -> None:
    """The least of all integers has no opposite; it is the last of equals all the same."""
    ids = [-(2**63), 2**63 - 1, 0, -1, *range(5, 200)]
    access = "cells" if matching == "exact" else "descent"
    engine = skyband.open("ranked", "scored", k=3, matching=matching, dims=2, access=access)
    engine.subscribe([{"id": id, "lo": [0.0, 0.0], "hi": [1.0, 1.0]} for id in ids])
    engine.check()
    first = [{"id": 1, "ts": 1, "point": [0.5, 0.5], "k": 1}]
    assert engine.publish(first)["subscription"].to_pylist() == [2**63 - 1]
    engine.unsubscribe([2**63 - 1])
    everyone = [{"id": 2, "ts": 1, "point": [0.5, 0.5], "k": 300}]
    assert engine.publish(everyone)["subscription"].to_pylist() == sorted(set(ids) - {2**63 - 1}, reverse=True)
    few = [{"id": 3, "ts": 1, "point": [0.5, 0.5]}]
    assert engine.publish(few)["subscription"].to_pylist() == [199, 198, 197]
