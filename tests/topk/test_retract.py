"""What was retracted is in no top and is never found again, and only the rows that held it are looked at."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine, engines
from skyband.table import Rejected
from skyband.testing import contract_cases
from skyband.testing.machine import same, through_snapshot

Row = dict[str, Any]
NAMES = {family: [kind.name for kind in engines() if kind.family == family] for family in ("window", "geotext")}
EXACT = {family: [kind.name for kind in engines() if kind.family == family and kind.exact] for family in NAMES}
PAIRS = [(family, name) for family, names in EXACT.items() for name in names if name != "oracle"]
EVERY = [(family, name) for family, names in NAMES.items() for name in names]


def point(id: Any, ts: int, x: float) -> Row:
    return {"id": id, "ts": ts, "point": [x, 0.0]}


def near(id: Any, k: int, x: float = 0.0, **more: Any) -> Row:
    return {"id": id, "k": k, "score": "euclidean", "point": [x, 0.0], **more}


def message(id: Any, ts: int, x: float) -> Row:
    return {"id": id, "ts": ts, "x": min(x / 100, 1.0), "y": 0.0, "terms": ["a"], "weights": [1.0]}


def reader(id: Any, k: int, x: float = 0.0, **more: Any) -> Row:
    return {"id": id, "k": k, "x": x / 100, "y": 0.0, "alpha": 0.5, "terms": ["a"], "weights": [1.0], **more}


SAID = {"window": point, "geotext": message}
ASKED = {"window": near, "geotext": reader}


def rows(changes: pa.Table) -> list[tuple[Any, ...]]:
    """Who, what, which change, at which rank, and whether for the first time."""
    return [tuple(row[name] for name in ("publication", "op", "rank", "first")) for row in changes.to_pylist()]


def filled(family: str, name: str, heights: list[float], k: int = 2, **options: Any) -> AnyEngine:
    """An engine with one subscription, and a publication at each height, one second apart."""
    engine = skyband.open(family, name, **options)
    engine.subscribe([ASKED[family]("ann", k)])
    engine.publish([SAID[family](i, i, height) for i, height in enumerate(heights)])
    return engine


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_a_member_leaves_and_the_next_best_enters(family: str, name: str) -> None:
    engine = filled(family, name, [1.0, 2.0, 3.0, 4.0])
    assert rows(engine.retract(0)) == [(0, "leave", None, False), (2, "enter", 2, True)]
    assert engine.retract([0]).num_rows == 0
    assert engine.top()["publication"].to_pylist() == [1, 2]
    assert (engine.counters["retracted"], engine.counters["retracted_late"]) == (1, 1)
    assert engine.now == 3


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_what_comes_back_is_delivered_once(family: str, name: str) -> None:
    """Better and newer ones push the first two out for good, until they are retracted."""
    engine = filled(family, name, [4.0, 3.0], k=2)
    engine.publish([SAID[family](2, 2, 2.0)])
    engine.publish([SAID[family](3, 3, 1.0)])
    for i in range(4, 40):
        engine.publish([SAID[family](i, i, 90.0)])
    assert rows(engine.retract([3])) == [(3, "leave", None, False), (1, "enter", 2, False)]
    assert rows(through_snapshot(engine).retract([2])) == [(2, "leave", None, False), (0, "enter", 2, False)]
    assert rows(engine.retract([2, 1])) == [
        (2, "leave", None, False),
        (1, "leave", None, False),
        (0, "enter", 1, False),
        (39, "enter", 2, True),
    ]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_what_becomes_a_candidate_again_is_delivered_once(family: str, name: str) -> None:
    """It enters only later, when something else expires, and after a snapshot."""
    engine = filled(family, name, [1.0, 5.0, 2.0], k=1, window=skyband.Window.time(100))
    assert engine.counters["delivery"] == 1
    engine = skyband.open(family, name, window=skyband.Window.time(100))
    engine.subscribe([ASKED[family]("ann", 1)])
    for i, height in enumerate([5.0, 4.0, 1.0, 3.0]):
        engine.publish([SAID[family](i, 10 * i, height)])
    engine.publish([SAID[family](4, 35, 0.5)])
    assert rows(engine.retract(3)) == []
    assert rows(engine.retract(4)) == [(4, "leave", None, False), (2, "enter", 1, False)]
    assert rows(engine.retract(2)) == [(2, "leave", None, False), (1, "enter", 1, False)]
    engine = through_snapshot(engine)
    assert rows(engine.retract(1)) == [(1, "leave", None, False), (0, "enter", 1, False)]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_everything_may_be_retracted_and_published_again(family: str, name: str) -> None:
    engine = filled(family, name, [3.0, 1.0, 2.0])
    assert rows(engine.retract({0, 1, 2})) == [(1, "leave", None, False), (2, "leave", None, False)]
    assert engine.top().num_rows == 0
    changes = engine.publish([SAID[family](i, 2, height) for i, height in enumerate([3.0, 1.0, 2.0])])
    assert rows(changes) == [(1, "enter", 1, True), (2, "enter", 2, True)]
    engine.check()


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_a_retracted_publication_keeps_its_place_in_a_count_window(family: str, name: str) -> None:
    engine = filled(family, name, [1.0, 2.0, 3.0, 4.0], k=4, window=skyband.Window.count(3))
    assert engine.top()["publication"].to_pylist() == [1, 2, 3]
    assert rows(engine.retract([3])) == [(3, "leave", None, False)]
    assert rows(engine.publish([SAID[family](3, 3, 9.0)])) == [(1, "leave", None, False), (3, "enter", 2, True)]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_late_arrivals_take_their_place_around_what_was_retracted(family: str, name: str) -> None:
    engine, oracle = (skyband.open(family, each, window=skyband.Window.count(5)) for each in (name, "oracle"))
    for each in (engine, oracle):
        each.subscribe([ASKED[family]("ann", 3)])
    heights = np.random.default_rng(3).integers(0, 4, 60).astype(float).tolist()
    for i, height in enumerate(heights):
        row = SAID[family](i, 2 * i - (i % 4) * 3, height)
        same(engine.publish([row]), oracle.publish([row]))
        if i % 3 == 2:
            same(engine.retract([i - 1]), oracle.retract([i - 1]))
            again = SAID[family](i - 1, 2 * i - 4, height)
            same(engine.publish([again]), oracle.publish([again]))
            engine.check()
        if i % 10 == 9:
            engine = through_snapshot(engine)
        same(engine.top(), oracle.top())


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_boolean_subscriptions_go_back_to_older_matches(family: str, name: str) -> None:
    engine = skyband.open(family, name)
    threshold = 3.0 if family == "window" else 0.0
    engine.subscribe([ASKED[family]("ann", 2, threshold=threshold)])
    engine.publish([SAID[family](i, i, 1.0) for i in range(5)])
    assert rows(engine.retract([3])) == [(3, "leave", None, False), (2, "enter", 2, True)]
    assert rows(engine.retract([4, 2])) == [
        (4, "leave", None, False),
        (2, "leave", None, False),
        (1, "enter", 1, True),
        (0, "enter", 2, True),
    ]


@pytest.mark.parametrize("name", NAMES["window"])
def test_points_on_a_sphere(name: str) -> None:
    engine = skyband.open("window", name)
    engine.subscribe([{"id": "ann", "k": 1, "score": "geodesic", "point": [179.0, 0.0]}])
    engine.publish([{"id": i, "ts": i, "point": [lon, 0.0]} for i, lon in enumerate([-179.0, 170.0, 0.0])])
    assert rows(engine.retract(0)) == [(0, "leave", None, False), (1, "enter", 1, True)]


@pytest.mark.parametrize("name", NAMES["geotext"])
def test_messages_on_earth(name: str) -> None:
    engine = skyband.open("geotext", name, bounds="geographic")
    words = {"y": 0.0, "terms": ["a"], "weights": [1.0]}
    engine.subscribe([{"id": "ann", "k": 1, "x": 179.0, "alpha": 0.9} | words])
    engine.publish([{"id": i, "ts": i, "x": lon} | words for i, lon in enumerate([-179.0, 170.0, 0.0])])
    assert rows(engine.retract(0)) == [(0, "leave", None, False), (1, "enter", 1, True)]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_a_snapshot_of_nothing_but_what_was_retracted(family: str, name: str) -> None:
    for id in (1, "a"):
        engine = skyband.open(family, name)
        engine.subscribe([ASKED[family]("ann", 1)])
        engine.publish([SAID[family](id, 5, 1.0)])
        engine.retract(id)
        engine = through_snapshot(engine)
        engine.check()
        assert rows(engine.publish([SAID[family](id, 5, 2.0)])) == [(id, "enter", 1, True)]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_who_comes_later_does_not_see_it(family: str, name: str) -> None:
    engine = skyband.open(family, name, window="1h")
    engine.publish([SAID[family](i, i, float(i)) for i in range(4)])
    assert engine.retract([0, 2]).num_rows == 0
    engine.subscribe([ASKED[family]("ann", 1)])
    assert engine.top()["publication"].to_pylist() == [1]
    assert rows(engine.resize("ann", 3)) == [(3, "enter", 2, True)]
    restored = through_snapshot(engine)
    assert restored.top().equals(engine.top())
    assert rows(restored.resize("ann", 9)) == []


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_gates_are_widened(family: str, name: str) -> None:
    engine = filled(family, name, [1.0, 2.0, 3.0], k=1)
    before = engine.gate_changes()["gate"].to_pylist()
    assert engine.gate_changes().num_rows == 0
    engine.retract(0)
    (after,) = engine.gate_changes()["gate"].to_pylist()
    assert (after > before[0]) == (family == "window")
    assert after == engine.top()["score"].to_pylist()[0]
    engine.retract([1, 2])
    assert abs(engine.gates()["gate"].to_pylist()[0]) == float("inf")


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_nothing_to_retract(family: str, name: str) -> None:
    engine = skyband.open(family, name)
    assert engine.retract([]).num_rows == engine.retract("never").num_rows == 0
    engine.subscribe([ASKED[family]("ann", 1)])
    assert engine.retract(pa.array([1, 2])).num_rows == 0
    engine.publish([SAID[family]("a", 1, 1.0)])
    assert engine.retract(["b", "b"]).num_rows == 0
    assert engine.counters["retracted_late"] == 5
    with pytest.raises(ValueError, match="publications ids of this batch are integers") as caught:
        engine.retract([1])
    assert type(caught.value) is ValueError
    with pytest.raises(Rejected, match="id must not be null"):
        engine.retract(["a", None])
    with pytest.raises(ValueError, match="Ids are an integer, a text"):
        engine.retract({"id": "a"})
    assert engine.top().num_rows == 1


@pytest.mark.parametrize("family", ["ranges", "ranked"])
def test_other_families_refuse_it(family: str) -> None:
    for name in [kind.name for kind in engines() if kind.family == family]:
        with pytest.raises(ValueError, match=f"family {family} cannot be retracted; those of window and geotext can"):
            skyband.open(family, name).retract([1])


def n_holding(engine: AnyEngine, index: int) -> int:
    """How many rows hold the publication that came so many before."""
    at_work: Any = getattr(engine, "_engine", engine)
    pool = at_work._rows.pool(at_work._roster.in_turn())
    return sum(index in pool.item[start : start + n] for start, n in zip(pool.start, pool.n, strict=True))


@pytest.mark.jit_only
@pytest.mark.parametrize("n", [10, 1000])
@pytest.mark.parametrize(("family", "name"), [pair for pair in EVERY if pair[1] != "oracle"])
def test_only_the_rows_that_held_it_are_looked_at(family: str, name: str, n: int) -> None:
    """Each subscription has a corner of its own, whether there are ten or a thousand; few rows hold it."""
    engine = skyband.open(family, name)
    subscriptions = [near(i, 1, 1000.0 * i) for i in range(n)]
    publications = [point(2 * i + j, 2 * i + j, 1000.0 * i + j) for i in range(n) for j in range(2)]
    if family == "geotext":
        subscriptions = [reader(i, 1) | {"terms": [f"w{i}"]} for i in range(n)]
        publications = [message(2 * i + j, 0, float(j)) | {"terms": [f"w{i}"]} for i in range(n) for j in range(2)]
    engine.subscribe(subscriptions)
    engine.publish(publications)
    held, before = n_holding(engine, 8), engine.counters["scored"]
    assert [row["subscription"] for row in engine.retract(8).to_pylist()] == [4, 4]
    assert engine.counters["mended"] == held
    # Rows hold more than their top, but not the more of it the more subscriptions there are.
    assert held <= 7
    if name in ("cskyband", "sma", "tma", "skype", "ciq") or family == "geotext":
        assert engine.counters["scored"] - before <= 30


@pytest.mark.parametrize("case", [case for case in contract_cases() if case.engine.family in NAMES], ids=str)
def test_rows_are_whole_after_each_of_many(case: Any) -> None:
    """Everything is retracted, one by one in some order, with ties in score and in time."""
    random = np.random.default_rng(5)
    family = case.engine.family
    engine, oracle = case.open("raise"), case.open_oracle()
    for each in (engine, oracle):
        each.subscribe([ASKED[family](f"s{k}", k, float(k % 3)) for k in (1, 2, 3, 7, 100)])
        each.publish(
            [SAID[family](i, i // 3, float(height)) for i, height in enumerate([4, 1, 3, 1, 2, 4, 0, 2, 1, 3])]
        )
    for id in random.permutation(10).tolist():
        same(engine.retract(id), oracle.retract(id))
        same(engine.gates(), oracle.gates()) if case.window != "count" else None
        engine.check()
    same(engine.top(), oracle.top())
