"""Gates: what they refuse is in no top, what was held back is handed over in time, and nothing is lost by that."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skyband
from skyband.contract import AnyEngine, engines, find_engine
from skyband.table import Settings, Window
from skyband.testing import Action, Case, contract_cases, scripts
from skyband.testing.machine import same, through_snapshot
from skyband.topk.oracle import ContinuousOracle
from tests.topk.holding import Gates, Holding, deliveries, gates_from, gates_of, rows_of

CONTINUOUS = [case for case in contract_cases() if case.engine.family in ("window", "geotext")]
CASES = [case for case in CONTINUOUS if case.window != "count"]
BY_BATCH = [case for case in CASES if case.granularity == "batch"]
BY_PUBLICATION = [case for case in CASES if case.granularity == "publication"]
EXPIRING = [case for case in CASES if case.window == "time"]
EXPIRING_BY_BATCH = [case for case in EXPIRING if case.granularity == "batch"]
NAMES = [engine.name for engine in engines() if engine.family == "window"]


def timed(action: Action) -> Action:
    """The action with subscriptions that all have gates."""
    if action.verb != "subscribe":
        return action
    return action._replace(argument=[row | {"window_n": None} for row in action.argument])


def in_batches(family: str) -> st.SearchStrategy[list[Action]]:
    return scripts(family).map(lambda actions: [timed(action) for action in actions])


def one_by_one(family: str) -> st.SearchStrategy[list[Action]]:
    """Scripts that publish each row alone."""

    def split(action: Action) -> list[Action]:
        return [Action("publish", [row]) for row in action.argument] if action.verb == "publish" else [timed(action)]

    return scripts(family).map(lambda actions: [part for action in actions for part in split(action)])


@pytest.mark.few(6)
@pytest.mark.parametrize("case", EXPIRING, ids=str)
def test_nothing_changes_if_what_was_held_back_comes_before_its_time(case: Case) -> None:
    """Row for row: an engine that is spared what its gates refuse tells the same, in the same steps."""

    @given(one_by_one(case.engine.family))
    def check(actions: list[Action]) -> None:
        holding = Holding(case.open("raise"), case.open_oracle())
        for action in actions:
            got, wanted = holding.play(action, lambda at: gates_of(holding.home.gates(at=at)))
            assert got == wanted
            assert rows_of(holding.home.top()) == rows_of(holding.oracle.top())

    check()


@pytest.mark.few(5)
@pytest.mark.parametrize("case", BY_PUBLICATION, ids=str)
def test_nothing_changes_by_staircases_of_long_ago(case: Case) -> None:
    """A filter far away that has heard of staircases only now and then."""

    @given(one_by_one(case.engine.family), st.randoms(use_true_random=False))
    def check(actions: list[Action], random: Any) -> None:
        holding = Holding(case.open("raise"), case.open_oracle())
        heard: dict[Any, pa.Table] = {}
        for action in actions:
            got, wanted = holding.play(action, lambda at: gates_from(pa.concat_tables(heard.values()), at))
            assert got == wanted
            for id in holding.oracle._questions:
                # A staircase does not foresee that something is retracted.
                if id not in heard or action.verb == "retract" or random.random() < 0.2:
                    heard[id] = holding.home.staircase([id])

    check()


@pytest.mark.few(3)
@pytest.mark.parametrize("case", EXPIRING_BY_BATCH, ids=str)
def test_nothing_changes_in_batches_that_end_at_the_same_time(case: Case) -> None:
    """What is handed over goes into the batch, and so does its latest publication, which brings the time."""

    @given(in_batches(case.engine.family))
    def check(actions: list[Action]) -> None:
        holding = Holding(case.open("raise"), case.open_oracle())
        for action in actions:
            if action.verb != "publish":
                got, wanted = holding.play(action, lambda at: gates_of(holding.home.gates(at=at)))
                assert got == wanted
                continue
            wanted = rows_of(holding.hear(action))
            gates = gates_of(holding.home.gates(at=holding.oracle.now))
            latest = max(action.argument, key=lambda row: row["ts"])
            rows = [row for row in holding.held() if row is not latest and holding.passes(row, gates)]
            assert rows_of(holding.send([*rows, latest])) == wanted

    check()


@pytest.mark.few(3)
@pytest.mark.parametrize("case", EXPIRING_BY_BATCH, ids=str)
def test_tops_are_the_same_if_what_was_held_back_comes_after_the_gate_has_widened(case: Case) -> None:
    """All that is delivered by one engine is delivered, and the changes of gates add up to the gates."""

    @given(in_batches(case.engine.family))
    def check(actions: list[Action]) -> None:
        holding = Holding(case.open("raise"), case.open_oracle())
        home, told = holding.home, Gates()
        got, wanted = set(), set()
        for action in actions:
            wanted |= deliveries(holding.hear(action))
            if action.verb in ("subscribe", "retract"):
                got |= deliveries(getattr(home, action.verb)(action.argument))
            new = [row for row in holding.held() if action.verb == "publish" and row in action.argument]
            got |= deliveries(holding.send([row for row in new if holding.passes(row, told)]))
            got |= deliveries(holding.follow())
            told |= gates_of(home.gate_changes())
            got |= deliveries(holding.hand_over(told))
            told |= gates_of(home.gate_changes())
            assert rows_of(home.top()) == rows_of(holding.oracle.top())
            assert told == gates_of(home.gates())
        assert got >= wanted

    check()


@pytest.mark.few(5)
@pytest.mark.parametrize("case", BY_BATCH, ids=str)
def test_gates_are_the_oracles_now_and_never_narrower_later(case: Case) -> None:
    @given(in_batches(case.engine.family))
    def check(actions: list[Action]) -> None:
        engine, oracle = case.open("raise"), case.open_oracle()
        for action in actions:
            for each in (engine, oracle):
                getattr(each, action.verb)(action.argument)
            same(engine.gate_changes(), oracle.gate_changes())
            same(engine.gates(), oracle.gates())
            same(through_snapshot(engine).gates(), oracle.gates())
            check_later(engine, oracle)

    check()


def check_later(engine: AnyEngine, oracle: AnyEngine) -> None:
    """At times to come: gates are as the staircase says, and at least as wide as those of everything live."""
    assert isinstance(oracle, ContinuousOracle)
    stairs, least_stairs = engine.staircase(), oracle.staircase()
    for later in range(14):
        at = (oracle.now or 0) + later
        gates, least = gates_of(engine.gates(at=at)), gates_of(oracle.gates(at=at))
        assert gates == gates_from(stairs, at)
        assert least == gates_from(least_stairs, at)
        for id, gate in gates.items():
            wider = gate > least[id] if oracle._questions[id].ascending else gate < least[id]
            assert gate == least[id] or (wider and engine.name != "skyband")


def stream(family: str, random: np.random.Generator, n: int) -> list[Action]:
    """A long stream of few different scores, whose times often repeat."""
    subscriptions, rows = [], []
    for k in (1, 3, 9):
        x, y = (random.integers(0, 3, 2) / 2).tolist()
        words = {"x": x, "y": y, "alpha": 0.5, "terms": ["a"], "weights": [1.0]}
        asked = {"score": "euclidean", "point": [x, y]} if family == "window" else words
        subscriptions.append({"id": k, "k": k} | asked)
    for i, ts in enumerate(np.cumsum(random.integers(0, 2, n)).tolist()):
        x, y = (random.integers(0, 9, 2) / 8).tolist()
        words = {"x": x, "y": y, "terms": ["a", "b"][: 1 + i % 2], "weights": [[1.0], [0.6, 0.8]][i % 2]}
        rows.append({"id": i, "ts": ts} | ({"point": [x, y]} if family == "window" else words))
    return [Action("subscribe", subscriptions), *(Action("publish", [row]) for row in rows)]


@pytest.mark.few(3)
@pytest.mark.jit_only
@pytest.mark.parametrize("case", EXPIRING_BY_BATCH, ids=str)
def test_long_streams_are_told_alike(case: Case) -> None:
    """Rows are cut and searched again on the way, and now and then another k is asked for."""
    random, settings = np.random.default_rng(7), Settings(window=Window.time(60))
    oracle = find_engine(case.engine.family, "oracle")(settings, granularity=case.granularity)
    home = case.engine(settings, granularity=case.granularity, **dict(case.options))
    holding, n_held = Holding(home, oracle), 0
    for turn, action in enumerate(stream(case.engine.family, random, 300)):
        got, wanted = holding.play(action, lambda at: gates_of(home.gates(at=at)))
        assert got == wanted
        n_held += len(holding.held())
        if turn % 50 == 49:
            holding.hand_over()
            k = int(random.integers(1, 12))
            assert rows_of(home.resize([3], k)) == rows_of(oracle.resize([3], k))
    assert n_held > 0


POINTS = [(1, 10, 0.1), (2, 20, 0.5), (3, 112, 9.0)]
ANN = {"id": "ann", "k": 1, "score": "euclidean", "point": [0.0]}


def delivered(name: str, keep: bool) -> list[Any]:
    """What a subscriber is delivered behind a filter that keeps what it refused, or throws it away."""
    engine = skyband.open("window", name, window=skyband.Window.time(100))
    engine.subscribe([ANN])
    held: list[dict[str, Any]] = []
    found = []
    for id, ts, x in POINTS:
        (gate,) = engine.gates(["ann"], at=ts)["gate"].to_pylist()
        held.append({"id": id, "ts": ts, "point": [x]})
        good = [row for row in held if row["point"][0] <= gate]
        held = [row for row in held if row not in good and keep]
        for changes in (engine.publish(good), engine.advance(ts)):
            found += changes.filter(changes["first"])["publication"].to_pylist()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_what_the_kth_score_refused_is_delivered_when_members_expire(name: str) -> None:
    assert delivered(name, keep=True) == [1, 2]
    assert delivered(name, keep=False) == [1, 3]


def test_changes_of_gates_are_told_once() -> None:
    engine = skyband.open("window", "blocks", window=skyband.Window.time(10))
    engine.subscribe([ANN, ANN | {"id": "bob", "k": 2}])
    assert rows_of(engine.gate_changes()) == [gate("ann", math.inf), gate("bob", math.inf)]
    assert rows_of(engine.gate_changes()) == []
    engine.publish([{"id": 1, "ts": 1, "point": [3.0]}])
    assert rows_of(engine.gate_changes()) == [gate("ann", 3.0)]
    engine.publish([{"id": 2, "ts": 2, "point": [5.0]}])
    assert rows_of(engine.gate_changes()) == [gate("bob", 5.0)]
    engine.resize(["bob"], 1)
    engine.advance(11)
    assert rows_of(engine.gate_changes()) == [gate("ann", 5.0)]
    engine.resize(["bob"], 3)
    assert rows_of(engine.gate_changes()) == [gate("bob", math.inf)]


def gate(id: str, score: float | None) -> dict[str, Any]:
    return {"subscription": id, "gate": score}


def test_gates_of_those_who_come_and_go() -> None:
    engine = skyband.open("window", "scan")
    assert rows_of(engine.gate_changes()) == []
    engine.subscribe([ANN])
    engine.unsubscribe(["ann"])
    assert rows_of(engine.gate_changes()) == []
    engine.subscribe([ANN, ANN | {"id": "bob"}])
    assert rows_of(engine.gate_changes()) == [gate("ann", math.inf), gate("bob", math.inf)]
    engine.unsubscribe(["ann", "bob"])
    engine.subscribe([ANN])
    assert rows_of(engine.gate_changes()) == [gate("bob", None), gate("ann", math.inf)]
    assert rows_of(engine.gates()) == [gate("ann", math.inf)]


def test_an_engine_that_is_not_asked_notes_nothing() -> None:
    engine = skyband.open("window", "scan")
    engine.subscribe([ANN])
    engine.gates()
    engine.publish([{"id": 1, "ts": 1, "point": [3.0]}])
    assert engine._watch is None


@pytest.mark.parametrize("name", NAMES)
def test_a_count_window_has_no_gate(name: str) -> None:
    engine = skyband.open("window", name)
    engine.subscribe([ANN, ANN | {"id": "bob", "window_n": 3}])
    for ask in (engine.gates, engine.staircase, engine.gate_changes):
        with pytest.raises(ValueError, match="The subscription 'bob' has a count window, in which every publication"):
            ask()
    assert rows_of(engine.gates(["ann"])) == [gate("ann", math.inf)]
    engine.unsubscribe(["bob"])
    assert rows_of(engine.gate_changes()) == [gate("ann", math.inf)]


@pytest.mark.parametrize("family", ["ranges", "ranked"])
def test_families_without_gates_say_so(family: str) -> None:
    engine = skyband.open(family)
    for ask in (engine.gates, engine.staircase, engine.gate_changes):
        with pytest.raises(ValueError, match=f"Subscriptions of the family {family} have no gates"):
            ask()


@pytest.mark.parametrize(
    ("at", "why"),
    [
        (4, "known from now on: it is 5 already, and 4"),
        (2**62, "too far away"),
        (7.5, "integer of microseconds"),
        (True, "integer"),
    ],
)
def test_gates_are_asked_for_from_now_on(at: Any, why: str) -> None:
    engine = skyband.open("window", "scan")
    engine.subscribe([ANN])
    engine.advance(5)
    with pytest.raises(ValueError, match=why):
        engine.gates(at=at)
    with pytest.raises(skyband.Rejected, match="is not registered"):
        engine.gates(["bob"])
