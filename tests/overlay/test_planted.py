"""Every broker that is wrong on purpose is found, and what is found is shown as short as it can be."""

from dataclasses import replace

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.simulate.run import drawn, simulate, wrongs_of
from skyband.overlay.simulate.scenario import Scenario, ScenarioShape
from tests.overlay.planted import PLANTED, AcceptsBeforeSync, WritesAfterTorn

SHAPE = ScenarioShape(n_brokers=4, n_crashes=8, n_publications=80)
MOST_SEEDS = 60


def rough(seed: int) -> Scenario:
    """Brokers that stop often, for a blink, while frames of their earlier lives are still on the way."""
    scenario = drawn("subscription-flooding", seed, SHAPE)
    crashes = tuple(crash._replace(downtime=20_000) for crash in scenario.crashes)
    weather = replace(scenario.weather, most_delay=900_000, lost=0.1, partitions=())
    return scenario.without(crashes=crashes, weather=weather)


@pytest.mark.few(4)
@pytest.mark.parametrize("wrong", PLANTED, ids=lambda wrong: wrong.__name__)
def test_a_planted_fault_is_found(wrong: type[Broker]) -> None:
    assert any(wrongs_of(rough(seed), wrong) for seed in range(MOST_SEEDS))


def test_brokers_that_are_right_are_not_accused() -> None:
    assert [wrongs_of(rough(seed)) for seed in range(6)] == [[]] * 6


def test_a_seed_that_goes_wrong_is_shown_in_few_lines() -> None:
    """The shortest trace says what happens, and ends with what is wrong."""
    shape = ScenarioShape(n_brokers=3, n_subscriptions=2, n_publications=20, seconds=8, n_crashes=4)
    small = [drawn("publication-flooding", seed, shape) for seed in range(MOST_SEEDS)]
    scenario = next(each for each in small if wrongs_of(each, AcceptsBeforeSync))
    outcome = simulate(scenario, AcceptsBeforeSync)
    assert outcome.wrongs
    assert any("crash" in line for line in outcome.shortest)
    assert "has lost it" in outcome.shortest[-1]
    asked = [line for line in outcome.shortest if "is asked to" in line]
    assert 1 <= len(asked) <= 5


def test_a_torn_record_is_cut_off() -> None:
    """The broker that leaves it there loses what it writes after it."""
    found = [wrong for seed in range(12) for wrong in wrongs_of(rough(seed), WritesAfterTorn)]
    assert any("has lost it" in wrong for wrong in found)
