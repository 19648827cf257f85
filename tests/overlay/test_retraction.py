"""Retractions travel the way of their publications, and what these kept out is handed over before anybody asks."""

from typing import Any

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.event import Accepted, Changed, Refused, Resumed, Retracted, TakenBack
from skyband.overlay.broker.home import HomeStep
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.retainer import Retainer
from skyband.overlay.simulate.run import default_mode, drawn, wrongs_of
from skyband.overlay.simulate.scenario import ScenarioShape
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES
from skyband.overlay.strategy.lease import HomeSide
from skyband.overlay.strategy.with_proxies import ProxyWatch
from tests.overlay.test_broker import Client, offer
from tests.overlay.test_home import NEAR, home, step
from tests.overlay.worlds import at, kinds, near, play, told, zone_map

EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
FILTERS = [name for name in EXACT if STRATEGIES[name].filters]
SMALL = ScenarioShape(n_brokers=5, n_subscriptions=5, n_publications=40, seconds=14, per_retraction=3)


@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_what_was_kept_out_enters_in_its_place(strategy: str, mode: str) -> None:
    """E has the nearest one, from A; the next one, from B, was held back elsewhere until A takes its own back."""
    clients = [(0.5, "E", near("s", 0.9, 0.9)), (3.2, "A", at("p", 0.9, 0.8)), (5.2, "B", at("q", 0.9, 0.6))]
    world = play([*clients, (7.2, "A", Retracted("p"))], strategy=strategy, mode=mode)
    assert told(world, "E") == [("s", "p", "enter"), ("s", "p", "leave"), ("s", "q", "enter")]
    assert world.audiences[0].taken_back == {"p": 1}


@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", FILTERS)
def test_what_nobody_has_is_taken_back_for_nothing(strategy: str, mode: str) -> None:
    """What a gate has refused costs no delivery when it is taken back, and no word about gates."""
    clients = [(0.5, "E", near("s", 0.9, 0.9)), (3.2, "A", at("p", 0.9, 0.8)), (5.2, "B", at("q", 0.9, 0.6))]
    clients += [(6.2, "B", at("r", 0.9, 0.5))]
    world = play([*clients, (7.2, "B", Retracted("r"))], strategy=strategy, mode=mode)
    assert told(world, "E") == [("s", "p", "enter")]
    assert "Proxy" not in kinds(world, since=7.2)


def test_a_retraction_is_durable_before_it_is_acknowledged() -> None:
    client = Client()
    client.do(near("s", 0.0, 0.0))
    client.do(offer(1, 1.0))
    client.do(offer(2, 2.0))
    taken_back, changed = client.told(Retracted(1))
    assert taken_back == TakenBack(1, 1)
    assert isinstance(changed, Changed)
    assert [row[1:3] for row in changed.rows] == [(1, "leave"), (2, "enter")]
    again = Client(records=tuple(client.records))
    heard = [row for what in again.told(Resumed(1)) for row in what.rows]
    assert heard == list(changed.rows)
    assert again.broker.home.top() == client.broker.home.top()
    assert again.broker.origin.own[1].retracted is not None
    (refused,) = again.told(Retracted(1))
    assert "was retracted already" in refused.reason


def test_an_id_that_was_taken_back_may_be_used_again() -> None:
    client = Client()
    client.do(near("s", 0.0, 0.0))
    client.do(offer(1, 1.0))
    client.do(Retracted(1))
    accepted, changed = client.told(offer(1, 3.0))
    assert accepted == Accepted(2, 1)
    assert changed.rows[0][1:3] == (1, "enter")
    assert client.told(Retracted(1))[0] == TakenBack(2, 1)


def test_what_was_published_elsewhere_or_nowhere_is_refused() -> None:
    (refused,) = Client().told(Retracted("x"))
    assert isinstance(refused, Refused)
    assert refused.reason == (
        "The publication 'x' is not known here: retract it where it was published, before it expires."
    )
    world = play([(1.2, "A", at("p", 0.5, 0.5)), (3.2, "B", Retracted("p"))], strategy="covering")
    assert "'p' is not known here" in world.audiences[1].refused[0]
    assert not any(audience.taken_back for audience in world.audiences)


@pytest.mark.parametrize("strategy", [*STRATEGIES])
def test_strategies_that_may_lose_answers_refuse_retractions(strategy: str) -> None:
    gates: list[Any] = ["staircase"] if strategy == "zone-leases" else ["staircase", "chance"]
    for each in gates:
        mode = default_mode(strategy, each)
        options = BrokerOptions(chart=Chart(1, []), strategy=strategy, zones=zone_map(1), mode=mode, gates=each)
        client = Client(options)
        client.do(offer(1))
        what: Any = client.told(Retracted(1))[0]
        keeps_all = strategy in EXACT and (each == "staircase" or strategy not in FILTERS)
        assert isinstance(what, TakenBack) == keeps_all
        reason = f"With the strategy {strategy} and these gates nobody knows"
        assert keeps_all or (isinstance(what, Refused) and reason in what.reason)


def test_a_step_retracts_after_time_has_passed_and_before_what_comes() -> None:
    one = home()
    rows = [
        one.take(each)
        for each in (
            step(10, 0, begins=[NEAR]),
            step(20, 10, came=[{"id": 7, "ts": 15, "point": [2.0]}, {"id": 8, "ts": 16, "point": [3.0]}]),
            step(30, 20, retracted=[7], came=[{"id": 7, "ts": 25, "point": [1.0]}]),
        )
    ]
    assert [(row[1], row[2], row[5]) for row in rows[2]] == [
        (7, "leave", 30),
        (8, "enter", 30),
        (8, "leave", 30),
        (7, "enter", 30),
    ]
    one.take(step(31, 30, forgone=[8]))
    assert one.n_handed_changes == 0


def test_gates_are_those_without_what_will_be_taken_back() -> None:
    """Before and after a step, and whatever comes late meanwhile, as one engine has them that retracts at once."""
    came = [{"id": id, "ts": 12 + id, "point": [float(9 - id)]} for id in range(6)]
    steps: list[HomeStep] = [step(10, 0, begins=[NEAR]), step(20, 10, came=came)]
    one, other = home(), home()
    for each in steps:
        one.take(each)
        other.take(each)
    one.foresee([5])
    one.foresee([5, 4])
    other.engine.retract([4, 5])
    assert one.gates(20) == other.gates(20) == {1: 6.0}
    assert one.gates_of_now() == {1: 4.0}
    assert one.staircase(1) == other.staircase(1)
    late = {"id": 9, "ts": 18, "point": [5.5]}
    one.absorb(late)
    other.absorb(late)
    assert one.gates(25) == other.gates(25) == {1: 5.5}
    one.take(step(30, 20))
    other.take(step(30, 20))
    assert one.gates(35) == other.gates(35)
    one.take(step(36, 30, retracted=[5, 4]))
    one.foresee([])
    other.take(step(36, 30))
    assert one.gates(36) == one.gates_of_now() == other.gates(36)
    assert one.top() == other.top()


@pytest.mark.few(2)
@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_retractions_hold_in_any_weather(strategy: str, mode: str) -> None:
    for seed in range(40, 42):
        scenario = drawn(strategy, seed, SMALL, mode=mode)
        assert wrongs_of(scenario) == []
        world = BrokerWorld(scenario).run()
        assert sum(len(audience.taken_back) for audience in world.audiences) > 5


def _nothing(*given: Any) -> None:
    """What brokers do that are wrong on purpose."""


@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize(
    ("place", "name", "strategy"),
    [
        (ProxyWatch, "loosen", "covering"),
        (ProxyWatch, "loosen", "subscription-flooding"),
        (HomeSide, "loosen", "zone-leases"),
        (Retainer, "_again", "publication-flooding"),
        (Retainer, "_again", "zone-leases"),
    ],
)
def test_brokers_that_keep_gates_or_retractions_to_themselves_are_found(
    place: Any, name: str, strategy: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, _nothing)
    scenarios = (drawn(strategy, seed, SMALL, storm=False, mode=mode) for seed in range(20))
    assert any(wrongs_of(scenario) for scenario in scenarios)


@pytest.mark.parametrize("strategy", FILTERS)
def test_brokers_that_do_not_wait_for_what_is_handed_over_are_found(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With watermarks gates have to be those without it before the step, and not from then on."""
    monkeypatch.setattr("skyband.overlay.broker.home.Home.foresee", _nothing)
    scenarios = (drawn(strategy, seed, SMALL, storm=False, mode="watermark") for seed in range(20))
    assert any(wrongs_of(scenario) for scenario in scenarios)


class ForgetsRetractions(Broker):
    """Passes a retraction on before it is durable."""

    def write(self, kind: str, *fields: Any, then: Any) -> None:
        if kind == "retracted":
            then()
        super().write(kind, *fields, then=then if kind != "retracted" else lambda: None)


def test_retractions_that_are_acknowledged_too_soon_are_found() -> None:
    shape = SMALL._replace(n_crashes=12, per_retraction=1)
    scenarios = (drawn("publication-flooding", seed, shape, mode="eager") for seed in range(20))
    assert any(
        "back, and has lost that" in wrong for each in scenarios for wrong in wrongs_of(each, ForgetsRetractions)
    )
