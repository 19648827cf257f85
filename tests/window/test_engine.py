"""The engines of the top-k/w paper and ours: first cases, long streams, costs, and what PA gets wrong."""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine, Granularity, engines
from skyband.testing.machine import same
from skyband.topk.banded import Banded
from skyband.topk.chance import chance
from skyband.window import workload as window

EXACT = sorted(kind.name for kind in engines() if kind.family == "window" and kind.exact and issubclass(kind, Banded))
# Every policy with the index it is opened with, and each index once more with the other.
COMBINATIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in EXACT),
    ("sma", {"index": "blocks"}),
    ("blocks", {"index": "grid", "cells": 3}),
    ("sasf", {"b": 4}),
    ("kmax", {"kmax": 1.0}),
]
each = pytest.mark.parametrize(("name", "options"), COMBINATIONS, ids=str)


def _at(id: int, ts: int, x: float) -> dict[str, Any]:
    return {"id": id, "ts": ts, "point": [x]}


def _near(id: str, k: int, x: float = 0.0, **more: object) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [x]} | more


def _tops(engine: AnyEngine) -> dict[str, list[int]]:
    tops: dict[str, list[int]] = {}
    for row in engine.top().to_pylist():
        tops.setdefault(row["subscription"], []).append(row["publication"])
    return tops


def _rows(changes: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["publication"], row["op"], row["first"]) for row in changes.to_pylist()]


@each
def test_a_late_publication_takes_its_place_or_is_counted(name: str, options: dict[str, Any]) -> None:
    engine = skyband.open("window", name, window=skyband.Window.time(10), granularity="publication", **options)
    engine.subscribe([_near("ann", 2)])
    engine.publish([_at(1, 100, 5.0), _at(2, 101, 4.0)])
    assert _rows(engine.publish([_at(3, 95, 1.0)])) == [(1, "leave", False), (3, "enter", True)]
    assert _rows(engine.publish([_at(4, 91, 0.5)])) == []
    assert engine.counters["late"] == 1
    assert _rows(engine.advance(105)) == [(3, "leave", False), (1, "enter", False)]


@each
def test_two_that_expire_at_the_same_instant(name: str, options: dict[str, Any]) -> None:
    engine = skyband.open("window", name, window=skyband.Window.time(10), **options)
    engine.subscribe([_near("ann", 2)])
    engine.publish([_at(1, 100, 1.0), _at(2, 100, 2.0), _at(3, 101, 3.0), _at(4, 102, 4.0), _at(5, 103, 5.0)])
    assert _rows(engine.advance(110)) == [
        (1, "leave", False),
        (2, "leave", False),
        (3, "enter", True),
        (4, "enter", True),
    ]


@each
def test_k_larger_than_the_window(name: str, options: dict[str, Any]) -> None:
    engine = skyband.open("window", name, window=skyband.Window.count(3), **options)
    engine.subscribe([_near("ann", 50)])
    engine.publish([_at(i, i, float(-i)) for i in range(7)])
    assert _tops(engine) == {"ann": [4, 5, 6]}
    engine.check()


@each
def test_a_subscription_that_arrives_in_mid_stream(name: str, options: dict[str, Any]) -> None:
    engine = skyband.open("window", name, window=skyband.Window.count(4), **options)
    engine.publish([_at(i, i, float(i)) for i in range(6)])
    assert _rows(engine.subscribe([_near("ann", 2)])) == [(2, "enter", True), (3, "enter", True)]
    assert _rows(engine.publish([_at(6, 6, 9.0)])) == [(2, "leave", False), (4, "enter", True)]


@each
def test_another_k_while_running(name: str, options: dict[str, Any]) -> None:
    engine = skyband.open("window", name, window=skyband.Window.count(9), **options)
    engine.subscribe([_near("ann", 1), _near("bob", 2)])
    engine.publish([_at(i, i, float(9 - i)) for i in range(6)])
    assert _rows(engine.resize(["ann"], 3)) == [(4, "enter", True), (3, "enter", True)]
    assert _rows(engine.resize(["ann", "bob"], 1)) == [(4, "leave", False), (3, "leave", False), (4, "leave", False)]
    # What has left the top is new when it comes back with another k.
    assert _rows(engine.resize(["bob"], 2)) == [(4, "enter", True)]
    assert _tops(engine) == {"ann": [5], "bob": [5, 4]}


@each
def test_boolean_subscriptions_are_told_every_match(name: str, options: dict[str, Any]) -> None:
    engine = skyband.open("window", name, granularity="publication", **options)
    engine.subscribe([{"id": "ann", "score": "euclidean", "point": [0.0], "threshold": 2.0}])
    told = _rows(engine.publish([_at(1, 1, 1.0), _at(2, 2, 3.0), _at(3, 3, 2.0), _at(4, 4, 0.0)]))
    assert [row[0] for row in told if row[1] == "enter"] == [1, 3, 4]
    assert all(first for _, op, first in told if op == "enter")


@each
def test_nothing_is_there(name: str, options: dict[str, Any]) -> None:
    engine = skyband.open("window", name, window=skyband.Window.count(4), **options)
    assert len(engine.advance(5)) == 0
    assert len(engine.top()) == 0
    assert len(engine.subscribe([_near("ann", 2)])) == 0
    assert len(engine.unsubscribe(["ann"])) == 1 - 1
    assert len(engine.publish([_at(1, 9, 1.0)])) == 0
    engine.check()


def test_an_option_that_makes_no_sense_is_refused() -> None:
    for name, options in (
        ("kmax", {"kmax": 0.5}),
        ("sasf", {"b": 0}),
        ("blocks", {"index": "tree"}),
        ("sma", {"cells": 0}),
        ("pa", {"sigma": 1.0}),
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            skyband.open("window", name, **options).subscribe([_near("ann", 2)])


def _workload(**options: Any) -> tuple[pa.Table, pa.Table]:
    made = window.generate(window.Options(**options))
    return made.subscriptions, made.publications


def _told(engine: AnyEngine, dims: int) -> tuple[list[pa.Table], pa.Table]:
    """What an engine tells of a stream, and where it ends; subscriptions come in three parts."""
    subscriptions, publications = _workload(
        n_subscriptions=150,
        n_publications=2400,
        window_n=600,
        score="mixed",
        dims=dims,
        boolean_share=0.1,
        k=4,
        seed=dims,
    )
    told = []
    for start in range(0, len(publications), 300):
        if start < 900:
            told.append(engine.subscribe(subscriptions.slice(start // 6, 50)))
        told.append(engine.publish(publications.slice(start, 300)))
    return told, engine.top()


@cache
def _scanned(dims: int, granularity: Granularity) -> tuple[list[pa.Table], pa.Table, int]:
    scan = skyband.open("window", "scan", granularity=granularity)
    return *_told(scan, dims), scan.counters["delivery"]


STREAMS: list[tuple[int, Granularity]] = [
    (1, "publication"),
    (2, "batch"),
    (4, "publication"),
    (8, "batch"),
    (20, "publication"),
]
LONG = [
    # A third of the time of all of them; sma has a grid in 20 dimensions too.
    pytest.param(
        *combination, *stream, marks=pytest.mark.soak if combination[1].get("cells") and stream[0] == 20 else ()
    )
    for combination in [*COMBINATIONS[:-1], ("sasf", {"b": 700})]
    for stream in STREAMS
]


@pytest.mark.jit_only
@pytest.mark.parametrize(("name", "options", "dims", "granularity"), LONG, ids=str)
def test_a_long_stream_equals_scan(name: str, options: dict[str, Any], dims: int, granularity: Granularity) -> None:
    ours = skyband.open("window", name, granularity=granularity, **options)
    told, top = _told(ours, dims)
    wanted, wanted_top, delivered = _scanned(dims, granularity)
    for got, expected in zip(told, wanted, strict=True):
        same(got, expected)
    ours.check()
    same(top, wanted_top)
    assert ours.counters["delivery"] == delivered


@pytest.mark.jit_only
def test_what_each_policy_costs() -> None:
    """The trade of the papers, counted: a longer row is touched more often and searched for less often."""
    subscriptions, publications = _workload(n_subscriptions=300, n_publications=12_000, window_n=2000, seed=5)
    counted = {}
    for name in ("tma", "sma", "cskyband", "kmax", "skyband", "sasf"):
        options: dict[str, Any] = {"b": 200} if name == "sasf" else {}
        engine = skyband.open("window", name, **options)
        for start in range(0, 4000, 500):
            engine.publish(publications.slice(start, 500))
        engine.subscribe(subscriptions)
        before = engine.counters
        for start in range(4000, len(publications), 500):
            engine.publish(publications.slice(start, 500))
        counted[name] = {counter: n - before.get(counter, 0) for counter, n in engine.counters.items()}
    searches = {name: counts["reevaluated"] for name, counts in counted.items()}
    candidates = {name: counts["candidates"] for name, counts in counted.items()}
    assert searches["tma"] > searches["sma"] > searches["cskyband"] > searches["kmax"] > 0
    assert searches["skyband"] == 0
    assert candidates["tma"] <= candidates["sma"] < candidates["kmax"] < candidates["skyband"] == 300 * 8000
    assert len({counts["delivery"] for counts in counted.values()}) == 1
    # An index looks at a small part of all pairs.
    assert counted["sma"]["scored"] < 300 * 8000 / 3


@pytest.mark.jit_only
@pytest.mark.parametrize("sigma", [0.1, 0.01, 0.001])
def test_what_pa_gets_wrong_is_at_most_sigma(sigma: float) -> None:
    """Entries that PA misses, and those it tells in their place, among all that are told."""
    wrong = n = 0
    for seed in range(3):
        subscriptions, publications = _workload(
            n_subscriptions=400, n_publications=9_000, window_n=600, k=5, dims=2, seed=seed
        )
        told: list[set[tuple[str, str]]] = []
        both: list[tuple[str, dict[str, Any]]] = [("blocks", {}), ("pa", {"sigma": sigma})]
        for name, options in both:
            engine = skyband.open("window", name, granularity="publication", **options)
            engine.subscribe(subscriptions)
            pairs: set[tuple[str, str]] = set()
            for start in range(0, len(publications), 500):
                changes = engine.publish(publications.slice(start, 500))
                entered = changes.filter(changes["first"])
                pairs.update(zip(entered["subscription"].to_pylist(), entered["publication"].to_pylist(), strict=True))
            told.append(pairs)
            if name == "pa":
                assert engine.counters["candidates"] < 400 * 9_000 / 4
        wrong += len(told[0] ^ told[1])
        n += len(told[0])
    assert n > 50_000
    assert wrong <= sigma * n


@pytest.mark.jit_only
def test_deliveries_and_scores_are_about_those_of_the_paper() -> None:
    """Table 1 with fewer subscriptions and a shorter stream, held against what `window-figure16 --size full` has.

    That is 379 deliveries in a million and a k-th score of 0.084; the paper has 385 and 0.09. While the first window
    fills everything is better than what is there; from then on each window brings as many.
    """
    n_live, n_windows = 40_000, 2
    subscriptions, publications = _workload(n_subscriptions=100, n_publications=(1 + n_windows) * n_live, seed=2)
    engine = skyband.open("window", "blocks", granularity="publication")
    engine.subscribe(subscriptions)
    scores, delivered = [], []
    for start in range(0, len(publications), 2000):
        engine.publish(publications.slice(start, 2000))
        delivered.append(engine.counters["delivery"] / 100)
        if start >= n_live:
            top = engine.top()
            scores.append(float(np.mean(top["score"].to_numpy()[top["rank"].to_numpy() == 9])))
    first = delivered[n_live // 2000 - 1]
    in_a_window = (delivered[-1] - first) / n_windows
    assert np.mean(scores) == pytest.approx(0.084, abs=0.003)
    assert first + 24 * in_a_window == pytest.approx(379, rel=0.04)
    # A publication is delivered with the chance that it enters the top, summed over where it may rank on arrival.
    assert in_a_window == pytest.approx(sum(chance(9, rank, 0, 1.0) for rank in range(200)), rel=0.05)
