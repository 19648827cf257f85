"""The engine scored: every index and every option against the oracle, while subscriptions come, go and change."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.ranked import scored
from skyband.ranked.engine import RankedEngine
from skyband.ranked.kernels.fitting import make_rule
from skyband.ranked.kernels.interval_scan import Events
from skyband.ranked.kernels.streams import RANDOM, SORTED
from skyband.ranked.layers import KINDS
from skyband.ranked.matcher import Matcher
from skyband.ranked.rows import UNLIMITED, Subscriptions
from skyband.ranked.scored import ScoredEngine
from skyband.testing.machine import same

DIMS = 4
OPTIONS: list[dict[str, Any]] = [
    {"access": "threshold"},
    {"matching": "exact", "access": "anchor"},
    {"matching": "exact", "access": "intersect"},
    {"combination": "min", "access": "threshold"},
    {"combination": "max", "emphasis": [1.0, 0.5, 0.0, 2.0], "access": "threshold"},
    {"access": "total"},
    {"combination": "min"},
    {"combination": "max", "fit": "share"},
    {"fit": "centre", "access": "threshold"},
    {"fit": "share", "access": "threshold"},
    {"fit": "share", "interval": "inside", "access": "threshold"},
    {"fit": "centre", "matching": "exact", "access": "anchor"},
    {"combination": "min", "matching": "exact", "fit": "share", "interval": "inside", "access": "anchor"},
]
TIERED: list[dict[str, Any]] = [
    {},
    {"fit": "centre", "emphasis": [1.0, 0.5, 0.0, 2.0]},
    {"fit": "share", "interval": "inside"},
]
CELLED: list[dict[str, Any]] = [
    {},
    {"fit": "centre", "emphasis": [1.0, 0.5, 0.0, 2.0]},
    {"combination": "min", "fit": "share", "interval": "inside"},
    {"combination": "max"},
]
OWN = ("index", "access", "delta")


def opened(**options: Any) -> tuple[ScoredEngine, RankedEngine]:
    """The engine, and the oracle for it."""
    engine = skyband.open("ranked", "scored", dims=DIMS, **options)
    oracle = skyband.open("ranked", "oracle", dims=DIMS, **{k: v for k, v in options.items() if k not in OWN})
    assert isinstance(engine, ScoredEngine)
    assert isinstance(oracle, RankedEngine)
    return engine, oracle


def subscription(random: np.random.Generator, id: Any) -> dict[str, Any]:
    """Intervals on a lattice in some of the dimensions, weights with many ties, now and then a budget."""
    dims = sorted(random.choice(DIMS, random.integers(1, DIMS + 1), replace=False).tolist())
    lo = random.integers(0, 8, len(dims)).astype(float)
    hi = lo + random.integers(0, 6, len(dims))
    sides = random.random((2, len(dims)))
    return {
        "id": id,
        "dims": dims,
        "lo": [None if open < 0.1 else x for open, x in zip(sides[0], lo.tolist(), strict=True)],
        "hi": [None if open < 0.1 else x for open, x in zip(sides[1], hi.tolist(), strict=True)],
        "weights": (random.integers(0, 5, len(dims)) / 4).tolist(),
        "budget": int(random.integers(0, 6)) if random.random() < 0.2 else None,
    }


def events(random: np.random.Generator, n: int, intervals: bool) -> list[dict[str, Any]]:
    """Points on the lattice and off it, dimensions missing, some intervals, k of their own."""
    rows: list[dict[str, Any]] = []
    for i in range(n):
        point = (random.integers(-1, 28, DIMS) / 2).tolist()
        wide = [x + float(random.integers(0, 4)) for x in point]
        missing = random.random(DIMS) < 0.15
        rows.append(
            {
                "id": i,
                "ts": i,
                "point": [None if gone else x for gone, x in zip(missing, point, strict=True)],
                "upper": [None if gone else x for gone, x in zip(missing, wide, strict=True)] if intervals else None,
                "k": int(random.choice([1, 2, 60])) if random.random() < 0.3 else None,
            }
        )
    return rows


def drive(engine: ScoredEngine, oracle: RankedEngine, seed: int, rounds: int, intervals: bool) -> bool:
    """Change subscriptions and publish events in turn, comparing all answers; whether any came during a merge."""
    random = np.random.default_rng(seed)
    during_merge = False
    for turn in range(rounds):
        known = oracle.budgets()["id"].to_pylist()
        new = [f"s{int(number)}" for number in random.choice(400, 25, replace=False)]
        both = (engine, oracle)
        for one in both:
            one.subscribe(
                [
                    subscription(np.random.default_rng([seed, turn, i]), id)
                    for i, id in enumerate(new)
                    if id not in known
                ]
            )
        known = oracle.budgets()["id"].to_pylist()
        gone = random.choice(known, len(known) // 8, replace=False).tolist()
        changed = [id for id in random.choice(known, len(known) // 8, replace=False).tolist() if id not in gone]
        for one in both:
            one.unsubscribe(gone)
            one.update(
                [subscription(np.random.default_rng([seed, turn, 1000 + i]), id) for i, id in enumerate(changed)]
            )
        during_merge |= engine._matcher.layers.merging
        rows = events(random, 12, intervals and turn % 2 == 1)
        same(engine.publish(rows), oracle.publish(rows))
        same(engine.budgets(), oracle.budgets())
        engine.check()
    return during_merge


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_under_changes(options: dict[str, Any]) -> None:
    engine, oracle = opened(k=5, delta=16, **options)
    assert drive(engine, oracle, seed=1, rounds=14, intervals=True)
    assert engine.counters["merges"] > 1


@pytest.mark.parametrize("options", TIERED, ids=str)
def test_tiers_under_changes(options: dict[str, Any]) -> None:
    engine, oracle = opened(k=5, access="tiers", **options)
    drive(engine, oracle, seed=5, rounds=10, intervals=True)


@pytest.mark.parametrize("options", CELLED, ids=str)
def test_cells_under_changes(options: dict[str, Any]) -> None:
    engine, oracle = opened(k=5, matching="exact", access="cells", **options)
    drive(engine, oracle, seed=5, rounds=10, intervals=True)


@pytest.mark.parametrize("options", TIERED, ids=str)
def test_descent_under_changes(options: dict[str, Any]) -> None:
    engine, oracle = opened(k=5, access="descent", **options)
    drive(engine, oracle, seed=7, rounds=10, intervals=True)


@pytest.mark.parametrize("index", KINDS[1:])
def test_every_index_under_changes(index: str) -> None:
    engine, oracle = opened(k=5, delta=16, index=index, access="threshold")
    drive(engine, oracle, seed=2, rounds=10, intervals=True)
    assert (engine.counters.get("merges", 0) > 1) == (index != "ir")


def test_a_restored_engine_goes_on_alike(tmp_path: Path) -> None:
    engine, oracle = opened(k=5, delta=16, matching="exact", emphasis=[1.0, 0.5, 2.0, 1.0])
    drive(engine, oracle, seed=3, rounds=4, intervals=False)
    engine.snapshot(tmp_path / "state")
    restored = ScoredEngine.restore(tmp_path / "state")
    drive(restored, oracle, seed=4, rounds=4, intervals=True)


def boxes(n: int, **more: Any) -> pa.Table:
    """Subscriptions that all want the same, ranked by their numbers."""
    columns = {"id": list(range(n)), "lo": [[0.0] * DIMS] * n, "hi": [[1.0] * DIMS] * n}
    columns["weights"] = [[i / 8] * DIMS for i in range(n)]
    return pa.table(columns | more)


def test_a_batch_uses_up_budgets_as_single_events_do() -> None:
    rows = [{"id": i, "ts": i, "point": [i % 3 / 2] * DIMS} for i in range(40)]
    together, apart = (opened(k=3, access=access)[0] for access in ("threshold", "tiers"))
    for engine in (together, apart):
        engine.subscribe(boxes(30, budget=[i % 4 for i in range(30)]))
    one_by_one = pa.concat_tables([apart.publish([row]).table() for row in rows])
    same(together.publish(rows), one_by_one)
    served = together.publish(rows)
    assert len(served) == 0, "All that was to be had is used up."
    assert set(together.budgets()["budget"].to_pylist()) == {0}
    together.update([{"id": 7, "budget": 1}])
    assert together.publish(rows)["subscription"].to_pylist() == [7]


def test_a_part_for_everything_is_met_by_events_that_lack_its_dimension() -> None:
    engine, oracle = opened(k=3)
    rows: list[dict[str, Any]] = [
        {"id": "all", "lo": [None] * DIMS, "hi": [None] * DIMS, "weights": [0.0, 2.0, 1.0, 0.0]},
        {"id": "one", "lo": [0.0, None, None, None], "hi": [1.0, None, None, None], "weights": [2.5, 0.0, 1.0, 0.0]},
        {"id": "nobody", "lo": [None] * DIMS, "hi": [None] * DIMS, "weights": [0.0] * DIMS},
    ]
    published = [{"id": 1, "ts": 1, "point": [0.5, None, None, None]}, {"id": 2, "ts": 1, "point": [None] * DIMS}]
    for one in (engine, oracle):
        one.subscribe(rows)
    got = engine.publish(published)
    same(got, oracle.publish(published))
    assert got["subscription"].to_pylist() == ["one", "all", "all", "one"]


def test_pieces_of_a_batch_make_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": i, "ts": i, "point": [i % 3 / 2] * DIMS, "k": i % 7 + 1} for i in range(40)]
    engines = [opened(k=3)[0] for _ in range(2)]
    answers = []
    for engine, room in zip(engines, (10**6, 9), strict=True):
        monkeypatch.setattr(scored, "ROWS_AT_ONCE", room)
        engine.subscribe(boxes(30, budget=[5] * 30))
        answers.append(engine.publish(rows))
    same(*answers)


def test_merge_takes_everything_in_at_once() -> None:
    engine, oracle = opened(k=5, access="threshold")
    for one in (engine, oracle):
        one.subscribe(boxes(20))
    assert engine.memory()["index"] > 0
    engine.merge()
    layers = engine._matcher.layers
    assert layers.n_merges == 1
    assert not layers.merging
    rows = [{"id": 1, "ts": 1, "point": [0.5] * DIMS}]
    same(engine.publish(rows), oracle.publish(rows))
    engine.merge()
    assert layers.n_merges == 1, "There was nothing to merge."


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"index": "b"}, "index is sopt, ir, r, segment or interval, not 'b'."),
        (
            {"access": "scan"},
            "access is auto, anchor, cells, descent, intersect, threshold, tiers or total, not 'scan'.",
        ),
        (
            {"access": "anchor"},
            "The access anchor is for exact matching; relaxed matching has descent, threshold, tiers and total.",
        ),
        (
            {"access": "tiers", "matching": "exact"},
            "The access tiers is for relaxed matching; exact matching has anchor, cells and intersect.",
        ),
        (
            {"access": "tiers", "combination": "max"},
            "Descent and tiers are for sums; other combinations have the access total.",
        ),
        ({"delta": 0}, "delta is an integer from 1 to 4611686018427387904, not 0."),
    ],
)
def test_options_are_checked(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        skyband.open("ranked", "scored", **options)


def made(n: int, d: int, matching: str, seed: int = 1, **options: Any) -> Matcher:
    """A matcher with short random intervals in every dimension."""
    random = np.random.default_rng(seed)
    if matching == "relaxed":
        options = {"access": "threshold"} | options
    matcher = Matcher(make_rule("flat", "overlap", "sum", matching), d, **options)
    matcher.label = np.arange(n)
    middle, half = random.random((n, d)), random.random((n, d)) * 0.1
    offsets, dim = np.arange(0, n * d + 1, d), np.tile(np.arange(d, dtype=np.int32), n)
    lo, hi = (middle - half).ravel(), (middle + half).ravel()
    rows = Subscriptions(None, offsets, dim, lo, hi, random.random(n * d), np.full(n, UNLIMITED), d)
    matcher.add(np.arange(n), rows)
    return matcher


def accesses(matcher: Matcher, k: int) -> tuple[float, float]:
    """Sorted and random accesses an event."""
    points = np.random.default_rng(9).random((50, matcher.layers.n_dims - 1))
    before = matcher.work.copy()
    matcher.match(Events(points, points, np.full(50, k)))
    done = (matcher.work - before) / 50
    return float(done[SORTED]), float(done[RANDOM])


def test_in_one_dimension_k_answers_take_k_accesses() -> None:
    for k in (1, 5, 20):
        n_sorted, n_random = accesses(made(2000, 1, "relaxed"), k)
        assert k <= n_sorted < k + 0.2
        assert n_random == 0


@pytest.mark.jit_only
def test_the_threshold_spares_most_of_what_events_meet() -> None:
    matcher = made(3000, 3, "relaxed")
    everything = accesses(matcher, 3000)[0]
    few = accesses(matcher, 1)[0]
    assert few < everything / 3


@pytest.mark.parametrize("constrained", [3, 2])
@pytest.mark.parametrize(("access", "weight"), [("threshold", 1.0), ("threshold", 0.1), ("total", 0.1)])
def test_ties_end_the_search(constrained: int, access: str, weight: float) -> None:
    """All weights alike, as they are by default: only labels tell subscriptions apart."""
    random = np.random.default_rng(6)
    n, d = 2000, 3
    dim = np.sort(random.permuted(np.tile(np.arange(d), (n, 1)), axis=1)[:, :constrained], axis=1)
    lo = random.random((n, constrained)) * 0.7
    rows = pa.table(
        {
            "id": [f"s{i}" for i in range(n)],
            "dims": dim.tolist(),
            "lo": lo.tolist(),
            "hi": (lo + 0.4).tolist(),
            "weights": [[weight] * constrained] * n,
        }
    )
    points = pa.table({"id": range(20), "ts": range(20), "point": random.random((20, d)).tolist()})
    engine = skyband.open("ranked", "scored", k=4, dims=d, access=access)
    scan = skyband.open("ranked", "scan", k=4, dims=d)
    for one in (engine, scan):
        one.subscribe(rows)
    same(engine.publish(points), scan.publish(points))
    n_met = 0.4 * n * constrained
    # Sums of 1 are exact; with 0.1 rounding might hide a tie, and all has to be looked at in turn.
    spared = access == "total" or weight == 1.0
    assert (engine.counters["sorted accesses"] / 20 < n_met / 8) == spared


@pytest.mark.jit_only
def test_an_anchor_takes_fewer_accesses_than_all_parts() -> None:
    by_anchor = accesses(made(3000, 4, "exact", access="anchor"), 2)
    by_all = accesses(made(3000, 4, "exact", access="intersect"), 2)
    assert by_anchor[0] < by_all[0] / 2
    assert by_all[1] == 0


@pytest.mark.jit_only
def test_a_bound_takes_no_more_keys_than_subscriptions_have_parts() -> None:
    """Sparse subscriptions in many dimensions: the sum of all keys would never fall below a score."""
    random = np.random.default_rng(7)
    n, d = 2000, 40
    dim = np.sort(random.permuted(np.tile(np.arange(d, dtype=np.int32), (n, 1)), axis=1)[:, :2], axis=1).ravel()
    matcher = Matcher(make_rule("flat", "overlap", "sum", "relaxed"), d, access="threshold")
    matcher.label = np.arange(n)
    lo = random.random(2 * n) * 0.5
    rows = Subscriptions(
        None, np.arange(0, 2 * n + 1, 2), dim, lo, lo + 0.5, random.random(2 * n), np.full(n, UNLIMITED), d
    )
    matcher.add(np.arange(n), rows)
    assert accesses(matcher, 1)[0] < 0.25 * accesses(matcher, n)[0]


def many(n: int, d: int, seed: int) -> tuple[Matcher, Matcher]:
    """Tiers, and the Threshold Algorithm over the same subscriptions."""
    return made(n, d, "relaxed", seed, access="tiers"), made(n, d, "relaxed", seed)


@pytest.mark.jit_only
def test_several_tiers_come_and_go() -> None:
    """More than fit into two tiers; then most of one leave, and its others move."""
    tiers, threshold = many(40_000, 2, seed=8)
    random = np.random.default_rng(8)
    points = random.random((40, 2))
    for turn in range(6):
        ks = random.integers(1, 30, 40)
        got, wanted = (matcher.match(Events(points, points, ks)) for matcher in (tiers, threshold))
        assert got.slot.tolist() == wanted.slot.tolist()
        assert got.score.tolist() == wanted.score.tolist()
        tiers.check()
        gone = random.choice(np.flatnonzero(tiers.pool.alive), 6000, replace=False)
        for matcher in (tiers, threshold):
            matcher.remove(gone)
        if turn % 2:
            back = gone[:500]
            lo = np.random.default_rng(turn).random(1000)
            rows = Subscriptions(
                None,
                np.arange(0, 1001, 2),
                np.tile(np.arange(2, dtype=np.int32), 500),
                lo,
                lo + 0.1,
                lo,
                np.full(500, UNLIMITED),
                2,
            )
            for matcher in (tiers, threshold):
                matcher.add(back, rows)


@pytest.mark.jit_only
def test_tiers_look_at_few() -> None:
    tiers, threshold = many(8000, 4, seed=9)
    assert accesses(tiers, 5)[1] < accesses(threshold, 5)[1] / 4


@pytest.mark.parametrize("access", ["threshold", "total", "tiers", "descent"])
def test_a_search_is_made_anew_when_anything_of_it_has_changed(access: str) -> None:
    """Rows come and go between events, one at a time, so that merges begin, go on and end between them."""
    random = np.random.default_rng(5)
    engines: list[Any] = [
        skyband.open("ranked", "scan", k=3),
        skyband.open("ranked", "scored", k=3, access=access, delta=4),
    ]
    for i in range(300):
        lo = random.integers(0, 9, 2).astype(float)
        row = {"id": i, "lo": lo.tolist(), "hi": (lo + random.integers(0, 5, 2)).tolist(), "weights": [1.0, 2.0]}
        event = {"id": i, "ts": i, "point": random.integers(0, 12, 2).astype(float).tolist()}
        if i % 3 == 0:
            event["k"] = int(random.integers(1, 6))
        wide = event | {"upper": [x + 2.0 for x in event["point"]]}
        answers = []
        for engine in engines:
            engine.subscribe(row)
            if i % 5 == 4:
                engine.unsubscribe(i - 3)
            if i % 11 == 10:
                engine.update({"id": i - 1, "budget": 2})
            answers.append([engine.publish(each).rows for each in (event, wide, event)])
        assert answers[0] == answers[1]
