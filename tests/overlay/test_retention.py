"""How long publications are kept: until all homes have acknowledged them, or for as long as others wait for a home."""

from typing import Any

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.frame import Acknowledge
from skyband.overlay.broker.retention import Retention
from skyband.overlay.simulate.central import read_disks
from skyband.overlay.simulate.property import check_tops
from skyband.overlay.simulate.run import drawn, wrongs_of
from skyband.overlay.simulate.scenario import SECOND, Crash, Scenario, ScenarioShape, Weather
from skyband.overlay.simulate.watcher import retainers
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES

EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
SHAPE = ScenarioShape(n_brokers=5, n_subscriptions=6, n_publications=80, seconds=30, n_crashes=0)
GRACE = 4 * SECOND
DOWN, UP = 8 * SECOND, 24 * SECOND


def away(strategy: str, seed: int, **options: Any) -> Scenario:
    """One broker is away for four times as long as others wait for it."""
    scenario = drawn(strategy, seed, SHAPE, mode="watermark", **{"grace": GRACE} | options)
    crash = Crash(DOWN, seed % SHAPE.n_brokers, UP - DOWN)
    return scenario.without(weather=Weather(), crashes=(crash,), settled=45 * SECOND)


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strategy", EXACT)
def test_a_home_that_was_away_for_too_long_says_what_was_given_up(strategy: str, seed: int) -> None:
    """It is right again afterwards, and homes that say nothing have missed nothing."""
    scenario = away(strategy, seed)
    world = BrokerWorld(scenario).run()
    assert wrongs_of(scenario) == []
    assert list(check_tops(world)) == []
    lapses = [lapse for audience in world.audiences for lapse in audience.lapses]
    assert lapses
    times = [row["ts"] for row in read_disks(world).publications]
    for lapse in lapses:
        assert lapse.since < lapse.until <= UP + 4 * SECOND
        needed = [ts for ts in times if lapse.since - scenario.options.horizon < ts <= lapse.until]
        assert 0 < lapse.n_lost <= len(needed)


@pytest.mark.parametrize("strategy", EXACT)
def test_with_enough_grace_nothing_is_given_up(strategy: str) -> None:
    scenario = away(strategy, 1, grace=60 * SECOND)
    assert wrongs_of(scenario) == []
    assert not any(audience.lapses for audience in BrokerWorld(scenario).run().audiences)


@pytest.mark.parametrize("strategy", EXACT)
def test_what_all_homes_have_acknowledged_goes(strategy: str) -> None:
    """Logs hold about a horizon, and not the whole grace, once everybody is up again."""
    world = BrokerWorld(away(strategy, 2, grace=600 * SECOND)).run()
    options = world.scenario.options
    limit = world.now - options.horizon - options.horizon // 4 - 4 * options.tick
    assert limit > options.horizon
    for broker in world.brokers:
        assert broker is not None
        assert all(each.ts > limit for each in broker.origin.own.values())
        for retainer in retainers(broker):
            assert all(each.ts > limit for each in retainer.publications())
        assert broker.retention.least > world.now - options.horizon


def test_acknowledgements_are_the_least_over_the_subtree() -> None:
    scenario = drawn("covering", 3, SHAPE, storm=False)
    broker = Broker(0, scenario.options)
    neighbours = scenario.options.chart.tree[0]
    for until, peer in enumerate(neighbours, 5):
        broker.retention.take(peer, Acknowledge(until))
    broker.retention._own = 7
    assert broker.retention.least == 5
    broker.retention.renew(neighbours[0])
    assert broker.retention.least < 0


class ForgetsTooSoon(Retention):
    """Takes its own home for the least."""

    @property
    def least(self) -> int:
        return self._broker.now


def test_a_broker_that_waits_for_nobody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.overlay.broker.broker.Retention", ForgetsTooSoon)
    assert any(wrongs_of(away("covering", seed, grace=60 * SECOND)) for seed in range(12))
