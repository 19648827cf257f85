"""Ranked batches divided among threads: the same answers, costs and budgets as one thread has."""

from typing import Any

import pyarrow as pa
import pytest

import skyband
from skyband.ranked import workload
from skyband.ranked.matcher import EVENTS_A_THREAD
from skyband.testing.thread import eager

OPTIONS: list[dict[str, Any]] = [
    {"access": "tiers"},
    {"access": "descent", "index": "sopt"},
    {"access": "total", "combination": "max"},
    {"access": "threshold", "index": "ir"},
    {"access": "threshold", "index": "segment"},
    {"matching": "exact", "access": "cells"},
    {"matching": "exact", "access": "anchor"},
    {"matching": "exact", "access": "intersect", "index": "interval"},
]


def drawn(budget: int, n: int = 3000, n_events: int = 4 * EVENTS_A_THREAD + 1) -> tuple[pa.Table, pa.Table]:
    """Subscriptions, with budgets or without, and events of which some are intervals and some lack a dimension."""
    made = workload.generate(
        workload.Options(
            n_subscriptions=n,
            n_publications=n_events,
            dims=3,
            constrained=2,
            n_cells=20,
            ties=True,
            budget=budget,
            missing_share=0.1,
            interval_share=0.3,
            seed=budget + 7,
        )
    )
    return made.subscriptions, made.publications


def answered(engine: Any, subscriptions: pa.Table, events: pa.Table) -> list[Any]:
    """What an engine answers, and what it has done for that."""
    engine.subscribe(subscriptions)
    n = len(events) // 2
    answers = [engine.publish(events.slice(0, n)), engine.publish(events.slice(n))]
    engine.check()
    return [*answers, engine.budgets(), engine.counters]


@pytest.mark.parametrize("budget", [0, 4])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_threads_change_nothing(options: dict[str, Any], budget: int) -> None:
    subscriptions, events = drawn(budget)
    one, *others = (
        answered(skyband.open("ranked", "scored", k=5, dims=3, threads=n, **options), subscriptions, events)
        for n in (1, 2, 3)
    )
    assert len(one[0]) > 0
    assert all(other == one for other in others)


@pytest.mark.parametrize("budget", [0, 4])
@pytest.mark.parametrize("fit", ["flat", "centre"])
def test_threads_change_nothing_for_scan(fit: str, budget: int) -> None:
    subscriptions, events = drawn(budget, n=600, n_events=101)
    options: dict[str, Any] = {"k": 5, "fit": fit}
    one = answered(skyband.open("ranked", "scan", dims=3, threads=1, **options), subscriptions, events)
    with eager():
        assert answered(skyband.open("ranked", "scan", dims=3, threads=3, **options), subscriptions, events) == one


def test_what_threads_work_with_is_counted() -> None:
    subscriptions, events = drawn(0)
    used = []
    for threads in (1, 2):
        engine = skyband.open("ranked", "scored", dims=3, access="threshold", threads=threads)
        answered(engine, subscriptions, events)
        used.append(engine.memory()["threads"])
    assert 3000 * 8 < used[0] < used[1] <= 2.1 * used[0]


def test_a_few_events_stay_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions, events = drawn(0)
    engine = skyband.open("ranked", "scored", dims=3, threads=2)
    engine.subscribe(subscriptions)

    def never(*_: object) -> None:
        raise AssertionError("a thread was started")

    monkeypatch.setattr("threading.Thread.start", never)
    assert len(engine.publish(events.slice(0, 2 * EVENTS_A_THREAD - 1)))
    with pytest.raises(AssertionError, match="a thread was started"):
        engine.publish(events.slice(0, 2 * EVENTS_A_THREAD))


def test_an_error_in_a_thread_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions, events = drawn(0)
    engine = skyband.open("ranked", "scored", dims=3, access="tiers", threads=2)
    engine.subscribe(subscriptions)
    expected = engine.publish(events)

    def fail(*_: object) -> None:
        raise MemoryError("no memory is left")

    with monkeypatch.context() as patch:
        patch.setattr("skyband.ranked.matcher.match_in_tiers", fail)
        with pytest.raises(MemoryError, match="no memory is left"):
            engine.publish(events)
    assert engine.publish(events) == expected
