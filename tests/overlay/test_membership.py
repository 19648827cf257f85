"""Brokers join and leave while others run, by a new chart; those with different charts refuse each other."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.event import Drained, Offered, Received, Refused, Send, Started, Subscribed, Synced, Tell
from skyband.overlay.broker.frame import FLOW, Envelope, Silence
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.simulate.run import drawn, wrongs_of
from skyband.overlay.simulate.scenario import SECOND, SIDE, FamilyDraw, Request, Scenario, ScenarioShape, Switch
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES

EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
SHAPE = ScenarioShape(n_brokers=4, n_subscriptions=5, n_publications=50, seconds=16)
JOINS, LEAVES = 6 * SECOND, 9 * SECOND


def changed(options: BrokerOptions, n_brokers: int) -> BrokerOptions:
    """The same with so many brokers: the last one is linked with the first, or gone."""
    links = [link for link in options.chart.links if max(link) < n_brokers]
    links += [(number, 0) for number in range(options.chart.n_brokers, n_brokers)]
    places = np.random.default_rng(n_brokers).integers(0, SIDE, (64, 2)).astype(np.float64)
    return replace(options, chart=Chart(n_brokers, links), zones=ZoneMap(places, n_brokers))


def joined(scenario: Scenario) -> Scenario:
    """With a broker that joins, takes clients and publications, and leaves again."""
    chance, draw, new = random.Random(scenario.seed), FamilyDraw(), scenario.options.chart.n_brokers
    more = [Request(JOINS, new, Subscribed(draw.subscription(chance, 100, SECOND)))]
    for id in range(1000, 1012):
        at = JOINS + chance.randrange(8 * SECOND)
        more.append(Request(at, new, Offered({"id": id} | draw.content(chance))))
    switches = Switch(JOINS, changed(scenario.options, new + 1)), Switch(LEAVES, scenario.options)
    requests = tuple(sorted((*scenario.requests, *more), key=lambda request: request.at))
    return scenario.without(requests=requests, switches=switches)


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("storm", [False, True])
@pytest.mark.parametrize("strategy", EXACT)
def test_brokers_join_and_leave_while_all_runs(strategy: str, storm: bool, seed: int) -> None:
    """Nothing is lost and nothing told twice; with watermarks logs are those of one engine, row for row."""
    scenario = joined(drawn(strategy, seed, SHAPE, storm=storm))
    assert wrongs_of(scenario) == []
    world = BrokerWorld(scenario).run()
    assert len(world.members) == SHAPE.n_brokers
    assert world.brokers[SHAPE.n_brokers] is None
    newcomer = world.audiences[SHAPE.n_brokers]
    # A newcomer that stops meanwhile may be about to leave before its clients get through.
    assert storm or (newcomer.accepted and newcomer.taken.keys() == {100})
    assert len(newcomer.accepted) == 12 or any("about to leave" in reason for reason in newcomer.refused)
    assert any("another chart" in reason for audience in world.audiences for reason in audience.refused)


def test_a_broker_is_free_when_nothing_depends_on_it() -> None:
    """It has said before what it still has."""
    scenario = joined(drawn("zone-leases", 3, SHAPE, storm=False))
    told: list[Drained] = []

    class Watched(Broker):
        def tell(self, what: Any) -> None:
            super().tell(what)
            told.extend([what] if isinstance(what, Drained) else [])

    BrokerWorld(scenario, Watched).run()
    assert not told[0].is_free
    assert told[0].n_publications > 0
    assert told[-1] == Drained(0, 0, True)
    assert [each.is_free for each in told] == [False] * (len(told) - 1) + [True]


def test_a_broker_that_leaves_too_soon_loses_what_it_has() -> None:
    class Careless(Broker):
        def tell(self, what: Any) -> None:
            super().tell(what._replace(is_free=True) if isinstance(what, Drained) else what)

    assert any(wrongs_of(joined(drawn("covering", seed, SHAPE, storm=False)), Careless) for seed in range(8))


def test_what_comes_from_another_chart_is_not_taken() -> None:
    """Even where both sides live their first lives, and know each other's incarnations."""
    options = drawn("publication-flooding", 1, SHAPE, storm=False).options
    broker = Broker(0, options)
    broker.step(0, Started())
    broker.step(1, Synced(1))
    peer = options.chart.tree[0][0]
    envelopes = [
        Envelope(peer, 1, 1, FLOW, number, Silence(SECOND, 0), (0, 0, 0), changed(options, 5).chart.version)
        for number in (1, 2)
    ]
    told = [effect for each in envelopes for effect in broker.step(2, Received(each))]
    reason = f"Broker {peer} has another chart: give all brokers the same."
    assert [effect.what for effect in told if isinstance(effect, Tell)] == [Refused(reason)]
    assert not any(isinstance(effect, Send) for effect in told)
    assert not broker.sessions.session(peer).lanes[FLOW].n_taken
    broker.step(3, Received(envelopes[0]._replace(chart=options.chart.version)))
    assert broker.sessions.session(peer).lanes[FLOW].n_taken == 1
