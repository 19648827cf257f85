"""Counted messages beside the formulas: right brokers agree with them, and each formula accuses one that is wrong."""

from typing import Any

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.frame import Frame, Proxy, PublicationFrame, Withdraw, column_of
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.fact import n_links_below
from skyband.overlay.simulate.run import drawn, wrongs_of
from skyband.overlay.simulate.scenario import Scenario, ScenarioShape
from skyband.overlay.simulate.world import MakeBroker
from skyband.overlay.strategy import STRATEGIES
from tests.overlay.test_properties import numbers
from tests.overlay.worlds import STEADY

SMALL = ScenarioShape(n_brokers=5, n_subscriptions=6, n_publications=40, seconds=14)


def calm(strategy: str, seed: int, **options: Any) -> Scenario:
    """A scenario in which nothing goes wrong."""
    return drawn(strategy, seed, SMALL, storm=False, **options).without(weather=STEADY)


def with_frames(copies: Any) -> MakeBroker:
    """Brokers that send a frame as often as they are told; it is counted each time."""

    def made(number: int, options: BrokerOptions) -> Broker:
        broker = Broker(number, options)
        send = broker.sessions.send

        def sends(peer: int, lane: int, frame: Frame) -> None:
            for _ in range(copies(frame)):
                send(peer, lane, frame)

        broker.sessions.send = sends  # type: ignore[method-assign]
        return broker

    return made


@pytest.mark.few(7)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_counts_are_those_of_the_formulas(strategy: str, seed: int) -> None:
    assert wrongs_of(calm(strategy, seed)) == []


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        ("covering", {"covering": False}),
        ("rendezvous", {"inform": "nobody"}),
        ("subscription-flooding", {"gates": "chance"}),
        ("informed-gossiping", {"gates": "chance", "fan_out": 1}),
    ],
)
def test_counts_are_those_of_the_formulas_however_brokers_work(strategy: str, options: dict[str, Any]) -> None:
    for seed in range(4):
        assert wrongs_of(calm(strategy, seed, mode="eager", **options)) == []


WRONG: list[tuple[str, str, dict[str, Any]]] = [
    ("publication-flooding", "publishing", {}),
    ("subscription-flooding", "subscribing", {}),
    ("subscription-flooding", "updating", {}),
    ("covering", "subscribing", {"covering": False}),
    ("rendezvous", "subscribing", {}),
    ("rendezvous", "publishing", {"inform": "nobody"}),
    ("rendezvous", "delivering", {}),
    ("rendezvous", "updating", {}),
    ("basic-gossiping", "publishing", {}),
    ("informed-gossiping", "subscribing", {}),
    ("informed-gossiping", "delivering", {}),
    ("informed-gossiping", "updating", {}),
    ("zone-leases", "publishing", {}),
]


@pytest.mark.parametrize(("strategy", "column", "options"), WRONG)
def test_brokers_that_say_things_twice_are_accused(strategy: str, column: str, options: dict[str, Any]) -> None:
    twice = with_frames(lambda frame: 2 if column_of(frame) == column else 1)
    found = (wrongs_of(calm(strategy, seed, mode="eager", **options), twice) for seed in range(8))
    assert any("11" in numbers(wrongs) and any(column in wrong for wrong in wrongs) for wrongs in found)


@pytest.mark.parametrize(
    ("strategy", "what"),
    [
        ("covering", PublicationFrame),
        ("covering", Proxy),
        ("subscription-flooding", PublicationFrame),
        ("zone-leases", Proxy),
        ("rendezvous", Withdraw),
    ],
)
def test_brokers_that_say_nothing_are_accused(strategy: str, what: type[Any]) -> None:
    """They tell something of every publication that enters at home, and hear of none that others have."""
    silent = with_frames(lambda frame: 0 if isinstance(frame, what) else 1)
    found = [wrongs_of(calm(strategy, seed, mode="eager"), silent) for seed in range(8)]
    assert any(found)
    if what is not PublicationFrame:
        assert any("11" in numbers(wrongs) for wrongs in found)


def test_links_that_lead_to_several_homes_count_once() -> None:
    chart = Chart(6, [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)])
    assert n_links_below(chart, 0, -1, {4, 5}) == 4
    assert n_links_below(chart, 0, -1, {0}) == 0
    assert n_links_below(chart, 3, -1, {0, 1, 2, 3, 4, 5}) == 5
