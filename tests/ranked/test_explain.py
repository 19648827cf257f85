"""Explanations and previews of ranked: as the oracle answers an event that asks for all, in every mode."""

import copy
import math
from typing import Any

import pytest
from hypothesis import given

import skyband
from skyband.contract import AnyEngine
from skyband.testing import Action, Case, contract_cases, run_script, scripts
from skyband.testing.machine import same

CASES = [case for case in contract_cases(rare=True) if case.engine.family == "ranked"]
EVERYBODY = 1_000_000


def answered(oracle: AnyEngine, event: dict[str, Any]) -> list[tuple[Any, float]]:
    """Whom an event reaches, and with what score; the budgets of the oracle are as before."""
    found = copy.deepcopy(oracle).publish([event]).to_pylist()
    return [(row["subscription"], row["score"]) for row in found]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_explanations_are_the_oracles(case: Case) -> None:
    @given(scripts("ranked"))
    def check(actions: list[Action]) -> None:
        engine, oracle = case.open("raise"), case.open_oracle()
        for each in (engine, oracle):
            run_script(each, actions)
        before = (engine.budgets().to_pylist(), engine.counters, engine.memory())  # type: ignore[attr-defined]
        events = [row for action in actions if action.verb == "publish" for row in action.argument][:4]
        rows = [row for action in actions if action.verb == "subscribe" for row in action.argument]
        for event in events:
            competing, answer = answered(oracle, event | {"k": EVERYBODY}), answered(oracle, event)
            for row in rows:
                check_one(engine, oracle, row["id"], event, competing, answer)
        assert (engine.budgets().to_pylist(), engine.counters, engine.memory()) == before  # type: ignore[attr-defined]

    check()


def check_one(
    engine: AnyEngine, oracle: AnyEngine, subscription: Any, event: dict[str, Any], competing: Any, answer: Any
) -> None:
    """One explanation against whom the event reaches, and against that of the oracle."""
    got, wanted = engine.explain(subscription, event), oracle.explain(subscription, event)
    assert [getattr(got, name) for name in ("parts", "conditions", "score", "k")] == [
        getattr(wanted, name) for name in ("parts", "conditions", "score", "k")
    ]
    names = [name for name, _ in competing]
    rank = names.index(subscription) + 1 if subscription in names else None
    assert (got.rank, got.n_competing) == (rank, len(names))
    assert got.in_top == ((subscription, got.score) in answer)
    assert got.kth_score == (competing[got.k - 1][1] if got.k <= len(competing) else None)
    if rank is not None:
        assert got.score == competing[rank - 1][1]
        assert (got.missed_by is None) == got.in_top
    if got.missed_by is not None:
        assert got.missed_by == got.kth_score - got.score  # type: ignore[operator]
    if got.bound.pruned:
        assert not got.in_top


@pytest.mark.parametrize("case", CASES[:4], ids=str)
def test_previews_are_what_would_be_answered(case: Case) -> None:
    @given(scripts("ranked"))
    def check(actions: list[Action]) -> None:
        engine, oracle = case.open("raise"), case.open_oracle()
        for each in (engine, oracle):
            run_script(each, actions)
        events = [row for action in actions if action.verb == "publish" for row in action.argument][:4]
        rows = [row for action in actions if action.verb == "subscribe" for row in action.argument]
        for row in (row | {"id": f"new {row['id']}"} for row in rows if events):
            one = copy.deepcopy(oracle)
            one.subscribe([row])
            wanted = [found for found in one.publish(events).to_pylist() if found["subscription"] == row["id"]]
            assert engine.preview([row], events).to_pylist() == wanted

    check()


@pytest.mark.parametrize("matching", ["relaxed", "exact"])
@pytest.mark.parametrize("interval", ["overlap", "inside"])
def test_what_fails_is_named_with_how_far_it_is_off(matching: str, interval: str) -> None:
    engine = skyband.open("ranked", "scored", matching=matching, interval=interval)
    engine.subscribe([{"id": "ann", "lo": [0.0, 2.0, None], "hi": [5.0, 3.0, 1.0], "weights": [1.0, 2.0, 4.0]}])
    got = engine.explain("ann", {"id": "e", "ts": 1, "point": [1.0, 3.25, None]})
    assert [(one.name, one.met, one.outside_by) for one in got.conditions] == [
        ("point[0]", True, 0.0),
        ("point[1]", False, 0.25),
        ("point[2] is given", False, None),
    ]
    assert got.matches == got.in_top == (matching == "relaxed")
    assert [part.contribution for part in got.parts] == [1.0, 0.0, 0.0]


def test_an_interval_that_reaches_out_is_off_by_its_end() -> None:
    engine = skyband.open("ranked", "scan", interval="inside")
    engine.subscribe([{"id": "ann", "lo": [0.0], "hi": [5.0]}])
    got = engine.explain("ann", {"id": "e", "ts": 1, "point": [1.0], "upper": [7.0]})
    assert (got.conditions[0].value, got.conditions[0].outside_by) == (7.0, 2.0)
    engine = skyband.open("ranked", "scan")
    engine.subscribe([{"id": "ann", "lo": [0.0], "hi": [5.0]}])
    got = engine.explain("ann", {"id": "e", "ts": 1, "point": [6.0], "upper": [math.nextafter(7.0, 8.0)]})
    assert (got.conditions[0].value, got.conditions[0].outside_by) == (6.0, 1.0)


def test_a_budget_that_is_used_up_is_the_reason() -> None:
    engine = skyband.open("ranked")
    engine.subscribe([{"id": "ann", "lo": [0.0], "hi": [5.0], "budget": 1}])
    event = {"id": "e", "ts": 1, "point": [1.0]}
    assert engine.explain("ann", event).in_top
    engine.publish([event])
    got = engine.explain("ann", event)
    assert (got.in_top, got.matches, got.rank) == (False, True, None)
    assert "It does not meet the condition: there is some of its budget left." in got.text


@pytest.mark.parametrize(
    ("subscription", "publication", "sentence"),
    [
        ("ann", "e", "The family ranked keeps no publications, so that 'e' cannot be looked up"),
        ("ann", 7, "The family ranked keeps no publications, so that 7 cannot be looked up"),
        ("ann", {"id": "e", "ts": 1, "point": [1.0, 2.0]}, "point"),
        (
            "ann",
            [{"id": i, "ts": 1, "point": [1.0]} for i in range(2)],
            "One publication is explained at a time, not 2",
        ),
    ],
)
def test_what_cannot_be_explained(subscription: Any, publication: Any, sentence: str) -> None:
    engine = skyband.open("ranked")
    engine.subscribe([{"id": "ann", "lo": [0.0], "hi": [5.0]}])
    with pytest.raises(ValueError, match=sentence):
        engine.explain(subscription, publication)


def test_a_preview_needs_events_and_as_many_dimensions() -> None:
    engine = skyband.open("ranked")
    row = {"id": "ann", "lo": [0.0, 0.0], "hi": [5.0, 5.0]}
    with pytest.raises(ValueError, match="The family ranked keeps no publications: give some that the preview"):
        engine.preview([row])
    with pytest.raises(ValueError, match="The event has 1 dimensions, and the subscription 2: both need as many"):
        engine.preview([row], [{"id": 1, "ts": 1, "point": [1.0]}])
    told = engine.preview([row], [{"id": 1, "ts": 1, "point": [1.0, 9.0]}])
    assert told.to_pylist() == [{"event": 1, "subscription": "ann", "score": 1.0, "rank": 1}]
    assert engine.settings.dims is None


def test_the_same_preview_twice() -> None:
    engine = skyband.open("ranked", k=1)
    engine.subscribe([{"id": "ann", "lo": [0.0], "hi": [5.0], "budget": 1}])
    events = [{"id": i, "ts": i, "point": [1.0]} for i in range(3)]
    row = {"id": "abe", "lo": [0.0], "hi": [5.0]}
    first = engine.preview(row, events)
    assert [one["event"] for one in first.to_pylist()] == [1, 2]
    same(engine.preview(row, events), first)
