"""Explanations over sliding windows: states by brute force, parts that add up, and nothing is left behind."""

import math
import re
from typing import Any

import pytest
from hypothesis import given

import skyband
from skyband.contract import Horizon
from skyband.contract.explanation import Explanation
from skyband.table import Settings, Window, WindowKind
from skyband.testing import Action, run_script, scripts
from skyband.topk.oracle import ContinuousOracle
from skyband.workload.draw import draws_of

FAMILIES = ["window", "geotext"]


def oracle_of(family: str) -> ContinuousOracle[Any, Any]:
    """An oracle after nothing."""
    kind = type(skyband.open(family, "oracle"))
    oracle = kind(Settings(dims=draws_of(family).dims, window=Window.time(5)))
    assert isinstance(oracle, ContinuousOracle)
    return oracle


@pytest.mark.parametrize("family", FAMILIES)
def test_states_and_what_is_ahead(family: str) -> None:
    @given(scripts(family))
    def check(actions: list[Action]) -> None:
        oracle = oracle_of(family)
        run_script(oracle, actions)
        retracted = {said.id for said, _ in oracle._retracted}
        for subscription, question in oracle._questions.items():
            us, n = (question.size if question.window == kind else 0 for kind in (WindowKind.TIME, WindowKind.COUNT))
            window = Horizon(us=us, n=n, unbounded=question.window == WindowKind.UNBOUNDED)
            inside = {said.id for said in oracle._within(oracle._placed, window)}
            told = [oracle.explain(subscription, said.id) for said in oracle._placed]
            for got in told:
                place = "live" if got.publication in inside else "expired"
                assert got.state == ("retracted" if got.publication in retracted else place)
                assert got.n_ahead == (None if got.rank is None else n_ahead(got, told, window.unbounded))

    check()


def n_ahead(got: Explanation, all_: list[Explanation], is_endless: bool) -> int:
    """How many have a better rank and are more recent, or stay for ever."""
    assert got.rank is not None
    assert got.ts is not None
    ahead = [one for one in all_ if one.rank is not None and one.rank < got.rank]
    return sum(is_endless or (one.ts, one.publication) > (got.ts, got.publication) for one in ahead)


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_add_up(family: str) -> None:
    @given(scripts(family))
    def check(actions: list[Action]) -> None:
        oracle = oracle_of(family)
        run_script(oracle, actions)
        asked = {row["id"]: row for action in actions if action.verb == "subscribe" for row in action.argument}
        for subscription, row in asked.items():
            for said in oracle._placed:
                got = oracle.explain(subscription, said.id)
                if got.score is not None:
                    assert math.isclose(combined(row.get("score"), got), got.score, rel_tol=1e-12, abs_tol=1e-12)

    check()


def combined(score: str | None, got: Explanation) -> float:
    """The score that the parts of an explanation come to."""
    contributions = [part.contribution for part in got.parts if not part.name.startswith("word")]
    if score == "chebyshev":
        return max(contributions)
    total = sum(contributions)
    return math.sqrt(total) if score == "euclidean" else total


@pytest.mark.parametrize("engine", ["scan", "skyband", "blocks"])
def test_a_preview_leaves_no_places_behind(engine: str) -> None:
    held = skyband.open("window", engine, window=Window.count(9))
    held.publish([{"id": i, "ts": i, "point": [10.0 * i, 5.0]} for i in range(5)])
    held.subscribe([{"id": "ann", "k": 1, "score": "euclidean", "point": [0.0, 0.0]}])
    before = held.memory()
    row = {"id": "bob", "k": 2, "score": "geodesic", "point": [11.0, 5.0]}
    previewed = held.preview([row]).to_pylist()
    assert held.memory() == before
    held.subscribe([row])
    assert held.top(["bob"]).to_pylist() == previewed


@pytest.mark.parametrize("engine", ["scan", "skype", "ciq"])
def test_a_preview_leaves_no_words_behind(engine: str) -> None:
    held = skyband.open("geotext", engine, window=Window.count(9))
    held.publish([{"id": i, "ts": i, "x": 0.1 * i, "y": 0.5, "terms": ["tea"], "weights": [1.0]} for i in range(5)])
    before = held.memory()
    row = {"id": "bob", "k": 2, "x": 0.0, "y": 0.5, "alpha": 0.5, "terms": ["unheard", "tea"], "weights": [0.6, 0.8]}
    previewed = held.preview([row]).to_pylist()
    assert [one["publication"] for one in previewed] == [0, 1]
    assert held.memory() == before
    held.subscribe([row])
    assert held.top(["bob"]).to_pylist() == previewed


@pytest.mark.parametrize("engine", ["skyband", "scan"])
def test_what_is_ahead_keeps_it_out_whatever_expires(engine: str) -> None:
    held = skyband.open("window", engine, window=Window.time(10))
    held.subscribe([{"id": "ann", "k": 2, "score": "sum", "weights": [1.0]}])
    held.publish([{"id": i, "ts": i, "point": [float(x)]} for i, x in enumerate([9, 1, 5, 2, 6, 3, 0, 4])])
    told = {i: held.explain("ann", i) for i in range(8)}
    entered = {i for i, got in told.items() if got.in_top}
    for now in range(8, 20):
        held.advance(now)
        entered |= set(held.top()["publication"].to_pylist())
    assert entered == {i for i, got in told.items() if got.n_ahead is not None and got.n_ahead < got.k}


@pytest.mark.parametrize("engine", ["oracle", "scan", "skyband"])
@pytest.mark.parametrize("column", ["window_us", "window_n"])
def test_a_window_wider_than_all_times(engine: str, column: str) -> None:
    held = skyband.open("window", engine)
    held.subscribe([{"id": "ann", "k": 1, "score": "sum", "weights": [1.0], column: 2**63 - 1}])
    held.publish([{"id": "a", "ts": -(2**60), "point": [3.0]}, {"id": "b", "ts": 2**60, "point": [2.0]}])
    got = held.explain("ann", "a")
    assert (got.in_top, got.expires_at) == (True, None)
    assert (got.notes == ("Its window holds everything.",)) == (column == "window_us")


def test_an_id_that_was_retracted_and_used_again_is_that_of_the_later_publication() -> None:
    engine = skyband.open("window", "skyband", window=Window.time(100))
    engine.subscribe([{"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}])
    engine.publish([{"id": "a", "ts": 1, "point": [3.0]}])
    engine.retract("a")
    assert engine.explain("ann", "a").state == "retracted"
    engine.publish([{"id": "a", "ts": 1, "point": [2.0]}])
    got = engine.explain("ann", "a")
    assert (got.state, got.score, got.in_top) == ("live", 2.0, True)


@pytest.mark.parametrize("engine", ["oracle", "scan", "skyband"])
def test_an_earlier_publication_may_have_an_id_that_was_retracted(engine: str) -> None:
    held = skyband.open("window", engine, window=Window.time(100))
    held.subscribe([{"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}])
    held.publish([{"id": "a", "ts": 5, "point": [3.0]}])
    held.retract("a")
    held.publish([{"id": "a", "ts": 3, "point": [2.0]}])
    got = held.explain("ann", "a")
    assert (got.state, got.ts, got.in_top) == ("live", 3, True)


@pytest.mark.parametrize("engine", ["oracle", "scan", "skyband"])
def test_matches_of_a_boolean_subscription_are_ranked_by_recency(engine: str) -> None:
    held = skyband.open("window", engine, window=Window.time(100))
    held.subscribe([{"id": "ann", "k": 1, "score": "sum", "weights": [1.0], "threshold": 2.0}])
    held.publish([{"id": i, "ts": i, "point": [x]} for i, x in enumerate([9.0, 2.0, 1.5])])
    told = [held.explain("ann", i) for i in range(3)]
    assert [got.rank for got in told] == [2, 1, None]
    assert [got.missed_by for got in told] == [None, None, None]
    assert told[2].conditions[-1].outside_by == 0.5
    assert "the most recent are in the top, whatever their scores" in told[0].text


def test_the_gate_that_prunes_is_told_as_it_was_made() -> None:
    engine = skyband.open("window", "tma")
    engine.subscribe([{"id": "ann", "k": 1, "score": "euclidean", "point": [0.0]}])
    engine.publish([{"id": i, "ts": i, "point": [x]} for i, x in enumerate([0.3, 0.7])])
    got = engine.explain("ann", 1)
    assert got.bound.pruned
    assert got.bound.limit == 0.3
    assert got.missed_by == 0.7 - 0.3
    assert "its gate prunes this publication for now" in got.text


@pytest.mark.parametrize(
    ("subscription", "publication", "sentence"),
    [
        ("eve", 1, "ids: row 1, column id, value 'eve': is not registered."),
        (["ann", "bob"], 1, "One subscription is explained at a time, not 2."),
        ("ann", "a", "The ids of publications are integers here, and 'a' is not."),
        ("ann", None, "The publication is named by its id, an integer or a text, not None."),
        ("ann", {"id": 1}, "The publication is named by its id, an integer or a text, not {'id': 1}."),
    ],
)
def test_what_cannot_be_explained(subscription: Any, publication: Any, sentence: str) -> None:
    engine = skyband.open("window", on_error="collect")
    engine.subscribe([{"id": id, "k": 1, "score": "sum", "weights": [1.0]} for id in ("ann", "bob")])
    engine.publish([{"id": 1, "ts": 1, "point": [3.0]}])
    before = engine.counters
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        engine.explain(subscription, publication)
    assert (engine.rejects, engine.counters) == ([], before)


def test_a_preview_of_bad_rows_is_refused_and_not_collected() -> None:
    engine = skyband.open("window", on_error="collect")
    with pytest.raises(skyband.Rejected, match=r"row 1, column k, value 0: k must be at least 1\."):
        engine.preview([{"id": "ann", "k": 0, "score": "sum", "weights": [1.0]}])
    assert engine.rejects == []
    with pytest.raises(ValueError, match="The family window previews against what is live: leave the publications out"):
        engine.preview([{"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}], [])


def test_a_preview_before_anything_is_published_is_empty() -> None:
    engine = skyband.open("window")
    assert engine.preview({"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}).to_pylist() == []
    assert engine.settings.dims is None
