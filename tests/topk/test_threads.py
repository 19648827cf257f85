"""Rows divided among threads: the same changes in the same order, tops, counters and snapshots as one thread has."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skyband
from skyband.contract import engines
from skyband.geotext import workload as geotext
from skyband.kernels import room
from skyband.testing.thread import eager
from skyband.topk.row_task import CANDIDATES_A_THREAD
from skyband.window import workload as window
from skyband.workload import Workload

NAMES = [
    (kind.family, kind.name)
    for kind in engines()
    if kind.family in ("window", "geotext") and kind.name not in ("oracle", "auto")
]


def made(family: str, n: int = 900, n_publications: int = 400) -> Workload:
    """Subscriptions in several blocks, and publications of which the window holds a third."""
    options: dict[str, Any] = {"n_subscriptions": n, "n_publications": n_publications, "k": 3, "seed": 5}
    if family == "window":
        return window.generate(window.Options(**options, dims=2))
    return geotext.generate(geotext.Options(**options, vocabulary=60))


def course(engine: Any, tables: Workload, size: int = 60) -> list[Any]:
    """What an engine answers to all its verbs, and what that cost."""
    subscriptions, publications = tables.subscriptions, tables.publications
    n, said = len(subscriptions) // 2, publications["id"]
    answers = [engine.subscribe(subscriptions.slice(0, n))]
    for lo in range(0, len(publications), size):
        answers.append(engine.publish(publications.slice(lo, size)))
        if lo == 2 * size:
            answers += [engine.subscribe(subscriptions.slice(n)), engine.resize(subscriptions["id"].slice(0, 99), 5)]
            answers.append(engine.retract(said.slice(lo, 20)))
        if lo == 3 * size:
            answers.append(engine.unsubscribe(subscriptions["id"].slice(n // 2, n)))
    engine.check()
    return [*answers, engine.top(), engine.counters]


@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize(("family", "name"), NAMES)
def test_threads_change_nothing(family: str, name: str, granularity: Any) -> None:
    def opened(threads: int) -> Any:
        counted = skyband.Window.count(130)
        return skyband.open(family, name, window=counted, granularity=granularity, threads=threads)

    tables = made(family)
    one = course(opened(1), tables)
    assert any(len(answer) for answer in one[1:-2])
    with eager():
        assert course(opened(3), tables) == one


@pytest.mark.parametrize(("family", "name"), NAMES)
def test_threads_that_run_out_of_room_change_nothing(family: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(threads: int) -> Any:
        return skyband.open(family, name, window=skyband.Window.count(50), granularity="publication", threads=threads)

    tables = made(family, 300, 120)
    one = course(opened(1), tables, 30)
    monkeypatch.setattr(room, "CRAMPED", True)
    with eager():
        assert course(opened(3), tables, 30) == one
    assert course(opened(1), tables, 30) == one


@pytest.mark.parametrize("family", ["window", "geotext"])
def test_a_snapshot_does_not_tell_how_many_threads_there_were(family: str, tmp_path: Path) -> None:
    tables = made(family)
    with eager():
        for threads in (1, 3):
            engine = skyband.open(family, "blocks", window=skyband.Window.count(130), threads=threads)
            engine.subscribe(tables.subscriptions)
            engine.publish(tables.publications.slice(0, 200))
            engine.snapshot(tmp_path / str(threads))
        one, three = tmp_path / "1", tmp_path / "3"
        assert {path.name: path.read_bytes() for path in one.iterdir()} == {
            path.name: path.read_bytes() for path in three.iterdir()
        }
        engines = [skyband.restore(one, threads=2), skyband.restore(three, threads=1)]
        answers = [engine.publish(tables.publications.slice(200)) for engine in engines]
    assert [engine.threads for engine in engines] == [2, 1]
    assert len(answers[0])
    assert answers[0] == answers[1]


def test_rooms_of_those_who_come_and_go_are_used_again() -> None:
    tables = made("window", 4000)
    engine = skyband.open("window", "blocks", window=skyband.Window.count(130), threads=3)
    engine.publish(tables.publications.slice(0, 200))
    sizes = []
    with eager():
        for _ in range(12):
            engine.subscribe(tables.subscriptions)
            engine.check()
            engine.unsubscribe(tables.subscriptions["id"])
            sizes.append(engine.memory()["rows"])
    for turn in range(12):
        engine.threads = 1 + turn % 2
        engine.subscribe(tables.subscriptions)
        engine.unsubscribe(tables.subscriptions["id"])
        sizes.append(engine.memory()["rows"])
    assert sizes[-1] <= 1.3 * sizes[2]


@pytest.mark.parametrize("family", ["window", "geotext"])
def test_what_threads_work_with_is_counted(family: str) -> None:
    tables = made(family)
    used = []
    for threads in (1, 2, 4):
        engine = skyband.open(family, "blocks", threads=threads)
        with eager():
            course(engine, tables)
        used.append(engine.memory()["threads"])
    assert used[0] == 0 < used[1] < used[2]


def test_small_calls_stay_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = made("window", CANDIDATES_A_THREAD // 8, 20)
    engine = skyband.open("window", "blocks", threads=2)
    engine.subscribe(tables.subscriptions)

    def never(*_: object) -> None:
        raise AssertionError("a thread was started")

    monkeypatch.setattr("threading.Thread.start", never)
    for i in range(10, 20):
        engine.publish({name: tables.publications[name].slice(i, 1) for name in tables.publications.column_names})


def fail(*_: object) -> None:
    raise MemoryError("no memory is left")


@pytest.mark.parametrize("kernel", ["step", "answer"])
def test_an_error_in_a_thread_is_told_once_and_no_thread_is_left(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = made("window")
    engine = skyband.open("window", "blocks", threads=3)
    engine.subscribe(tables.subscriptions.slice(0, 300))
    before = threading.active_count()
    monkeypatch.setattr(f"skyband.topk.row_task.{kernel}", fail)
    act, given = (
        (engine.publish, tables.publications[:20])
        if kernel == "step"
        else (engine.subscribe, tables.subscriptions[300:])
    )
    with eager(), pytest.raises(MemoryError, match="no memory is left"):
        act(given)
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_goes_on_with_threads() -> None:
    tables = made("window")

    def ends_well(act: Callable[[], bool]) -> bool:
        child = os.fork()
        if child == 0:
            os._exit(0 if act() else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    with eager():
        engine, twin = (skyband.open("window", "blocks", threads=n) for n in (2, 1))
        for each in (engine, twin):
            each.subscribe(tables.subscriptions)
            each.publish(tables.publications.slice(0, 200))
        expected = twin.publish(tables.publications.slice(200))
        assert ends_well(lambda: engine.publish(tables.publications.slice(200)) == expected)
        assert engine.publish(tables.publications.slice(200)) == expected


def test_all_cores_are_taken_unless_it_is_said_otherwise() -> None:
    assert skyband.open("window").threads == skyband.open("ranked").threads >= 1
    assert skyband.open("geotext", threads=7).threads == 7
    with pytest.raises(ValueError, match="threads is an integer from 1 to 1024, not 0"):
        skyband.open("window", threads=0)
