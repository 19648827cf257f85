"""Room runs out at every place where it can: answers stay right, and what comes no further raises."""

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import engines as contract_engines
from skyband.covering import workload as covering
from skyband.geotext import workload as geotext
from skyband.kernels import room
from skyband.kernels.room import NoProgress, pauses, stops
from skyband.ranges import workload as ranges
from skyband.ranked import workload as ranked
from skyband.testing import check_stream
from skyband.testing.machine import same
from skyband.window import workload as window
from skyband.workload import Workload
from tests.choosing import places_of_tests

SOURCES = Path(skyband.__file__).parent
LOOPS = ("stops", "pauses")


def test_a_kernel_is_called_until_it_is_through() -> None:
    room_for = [2]
    stopped = []
    for done in stops(lambda done: min(done + room_for[0], 7), 7):
        stopped.append(done)
        room_for[0] += 1
    assert stopped == [2, 5]
    assert list(stops(lambda done: 3, 3)) == []


def test_no_progress_is_an_error_and_not_a_loop() -> None:
    with pytest.raises(NoProgress, match="came no further than 4"):
        list(stops(lambda done: 4, 7))
    with pytest.raises(NoProgress, match=r"came no further than \(1, 2\)"):
        list(pauses(lambda: False, lambda: (1, 2)))


def test_going_back_is_no_progress_either() -> None:
    places = iter([5, 3, 4, 9])
    with pytest.raises(NoProgress, match="came no further than 3"):
        list(stops(lambda done: next(places), 9))


def test_room_that_doubles_may_take_a_few_tries() -> None:
    places = iter([4, 4, 4, 9])
    assert list(stops(lambda done: next(places), 9, tries=3)) == [4, 4, 4]
    ends = iter([False, False, True])
    assert list(pauses(lambda: next(ends), lambda: (8,), tries=2)) == [(8,), (8,)]


def _calls(module: Path) -> Iterator[tuple[str, str]]:
    """Where a module calls kernels again: the names of the module and of the innermost method."""

    def walk(node: ast.AST, inside: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            name = child.name if isinstance(child, ast.FunctionDef) else inside
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id in LOOPS:
                yield str(module.relative_to(SOURCES)), inside
            yield from walk(child, name)

    yield from walk(ast.parse(module.read_text()), "")


SITES = {site for module in SOURCES.rglob("*.py") if module.name != "room.py" for site in _calls(module)}


class Stops(Counter[tuple[str, str]]):
    """How often each place had too little room, and in which kernels' steps."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[tuple[str, str], set[Any]] = {}

    def note(self, site: tuple[str, str], place: Any) -> None:
        self[site] += 1
        self.places.setdefault(site, set()).add(place)


@pytest.fixture
def cramped(monkeypatch: pytest.MonkeyPatch) -> Stops:
    """No more room than is asked for, and none to begin with; counts who ran out of it."""
    monkeypatch.setattr(room, "CRAMPED", True)
    counted = Stops()

    def counting(loop: Callable[..., Iterator[Any]], module: str) -> Callable[..., Iterator[Any]]:
        def count(call: Callable[..., Any], *arguments: Any, **options: Any) -> Iterator[Any]:
            site = module, sys._getframe(1).f_code.co_name
            for place in loop(call, *arguments, **options):
                counted.note(site, place)
                yield place

        return count

    for module in SOURCES.rglob("*.py"):
        if module.name != "room.py" and any(True for _ in _calls(module)):
            name = ".".join(("skyband", *module.relative_to(SOURCES).with_suffix("").parts))
            for loop in LOOPS:
                monkeypatch.setattr(
                    f"{name}.{loop}", counting(getattr(room, loop), str(module.relative_to(SOURCES))), raising=False
                )
    return counted


def _answer(family: str, name: str, tables: Workload, size: int, n_parts: int = 15, **options: Any) -> None:
    """Take a workload through an engine and through Scan, batch by batch; half of the subscriptions go at last."""
    engines = [skyband.open(family, name, **options), skyband.open(family, "scan")]
    n = len(tables.subscriptions)
    for verb, table, at_once in (
        ("subscribe", tables.subscriptions, n // n_parts),
        ("publish", tables.publications, size),
    ):
        for lo in range(0, len(table), at_once):
            got, wanted = (getattr(engine, verb)(table.slice(lo, at_once)) for engine in engines)
            assert got.equals(wanted)
    gone = tables.subscriptions["id"].slice(n // 2)
    got, wanted = (engine.unsubscribe(gone) for engine in engines)
    assert got.equals(wanted)
    engines[0].check()


def _many_points() -> None:
    options = window.Options(n_subscriptions=700, n_publications=600, dims=2, k=4, score="mixed", rate=1e6)
    for name in ("blocks", "cskyband", "tma"):
        _answer("window", name, window.generate(options), 200)


def _many_retractions() -> None:
    """Everyone loses the best two and is given two others."""
    asked = [{"id": i, "k": 2, "score": "euclidean", "point": [0.0]} for i in range(200)]
    said = [{"id": i, "ts": i, "point": [float(i)]} for i in range(6)]
    answers = []
    for name in ("oracle", "scan", "blocks"):
        engine = skyband.open("window", name)
        engine.publish(said)
        # Subscriptions are answered one by one, so that there is no room for the changes of all.
        engine.subscribe(asked)
        answers.append(engine.retract([0, 1]))
        engine.check()
    assert len(answers[0]) == 4 * len(asked)
    for answer in answers[1:]:
        same(answer, answers[0])


def _many_directions() -> None:
    """Long vectors of few numbers, which have an index of their own."""
    random = np.random.default_rng(1)
    points = np.where(random.random((800, 40)) < 0.1, random.integers(1, 4, (800, 40)), 0).astype(float).tolist()
    asked = [{"id": i, "k": 3, "score": "cosine", "point": point} for i, point in enumerate(points[:500])]
    said = [{"id": i, "ts": i, "point": point} for i, point in enumerate(points[500:])]
    made = Workload("window", pa.Table.from_pylist(asked), pa.Table.from_pylist(said), {})
    _answer("window", "blocks", made, 100)


def _many_messages() -> None:
    options = geotext.Options(n_subscriptions=900, n_publications=700, vocabulary=60, n_cities=3, k=3)
    for name in ("blocks", "skype", "ciq"):
        _answer("geotext", name, geotext.generate(options), 350)


def _many_objects() -> None:
    made = ranges.generate(ranges.Options(n_subscriptions=300, n_objects=300, n_events=80, k=5, delete_share=0.2))
    for options in ({}, {"batch": False}, {"algorithm": "unicast"}, {"algorithm": "dense", "servers": 2}):
        _answer("ranges", "paint", made, 40, **options)
    plane = ranges.generate(ranges.Options(n_subscriptions=200, n_objects=200, n_events=60, k=5, dims=2))
    _answer("ranges", "paint", plane, 50)
    half_open = plane.subscriptions.to_pylist()
    for row in half_open:
        row["lo"] = [row["lo"][0], -np.inf]
    _answer(
        "ranges",
        "paint",
        plane._replace(subscriptions=pa.Table.from_pylist(half_open, plane.subscriptions.schema)),
        50,
        shape="1.5",
    )


def _many_intervals() -> None:
    options = ranked.Options(n_subscriptions=1500, n_publications=60, dims=2, k=5, interval_share=0.5, budget=3)
    for index in ("ir", "sopt"):
        _answer("ranked", "scored", ranked.generate(options), 20, n_parts=3, index=index, access="threshold")


def _many_boxes() -> None:
    made = covering.generate(covering.Options(n_subscriptions=600, dims=2, covered_share=0.5))
    for search in ("corners", "jumps"):
        cover = skyband.CoverSet(search=search)
        for lo in range(0, 600, 100):
            cover.add(made.subscriptions.slice(lo, 100))
        cover.check()


def _streams() -> None:
    for seed in range(6):
        for family in ("window", "geotext", "ranges"):
            check_stream(family, seed)


@pytest.mark.jit_only
@pytest.mark.changed(*places_of_tests("tests/kernels/test_room.py"))
def test_answers_are_right_where_every_kernel_runs_out_of_room(cramped: Stops) -> None:
    for scene in (
        _streams,
        _many_points,
        _many_retractions,
        _many_directions,
        _many_messages,
        _many_objects,
        _many_intervals,
        _many_boxes,
    ):
        scene()
    assert SITES - cramped.keys() == set()
    # In the middle of a subscription's steps too, not only before it.
    assert any(place[-1] > 0 for place in cramped.places["topk/banded.py", "_do"] if len(place) > 1)


CONTINUOUS = [
    (kind.family, kind.name) for kind in contract_engines() if kind.family in ("window", "geotext") and kind.exact
]
NEAR: dict[str, dict[str, Any]] = {
    "window": {"score": "euclidean", "point": [0.0]},
    "geotext": {"x": 0.0, "y": 0.0, "alpha": 0.5, "terms": ["jazz"], "weights": [1.0]},
}


def _at(family: str, i: int) -> dict[str, Any]:
    """A publication whose place is that far away."""
    if family == "window":
        return {"id": i, "ts": i, "point": [float(i)]}
    return {"id": i, "ts": i, "x": i / 200, "y": 0.0, "terms": ["jazz"], "weights": [1.0]}


@pytest.mark.parametrize(("family", "name"), CONTINUOUS)
@pytest.mark.parametrize("is_cramped", [False, True])
def test_rows_grow_while_each_publication_is_farther_than_the_last(
    family: str, name: str, is_cramped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "CRAMPED", is_cramped)
    engines = [skyband.open(family, each, window=skyband.Window.count(100)) for each in (name, "oracle")]
    for engine in engines:
        engine.subscribe([{"id": 1, "k": 30} | NEAR[family]])
    for i in range(150):
        got, wanted = (engine.publish([_at(family, i)]) for engine in engines)
        assert got.equals(wanted)


def _asked_for_many(family: str) -> Workload:
    if family == "ranges":
        return ranges.generate(ranges.Options(n_subscriptions=3, n_objects=250, n_events=50, k=200))
    options: dict[str, Any] = {"n_subscriptions": 3, "n_publications": 300, "k": 200, "window_n": 250}
    if family == "window":
        return window.generate(window.Options(**options, dims=1))
    return geotext.generate(geotext.Options(**options, vocabulary=20))


@pytest.mark.parametrize(("family", "name"), [*CONTINUOUS, ("ranges", "paint"), ("ranges", "scan")])
def test_many_members_leave_when_little_is_asked_for(family: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is withdrawn is told and remembered: far more than the new k, which alone room was once made for."""
    monkeypatch.setattr(room, "CRAMPED", True)
    engines, made = [skyband.open(family, each) for each in (name, "oracle")], _asked_for_many(family)
    for engine in engines:
        engine.subscribe(made.subscriptions)
        engine.publish(made.publications)
    for k in (1, 150, 2):
        got, wanted = (engine.resize(made.subscriptions["id"], k) for engine in engines)
        assert got.equals(wanted)
        engines[0].check()
