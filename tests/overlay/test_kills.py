"""Each broker is stopped at each of its syncs: nothing that was accepted is lost, nothing is told twice."""

from functools import cache
from typing import Any

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.simulate.run import drawn, wrongs_of
from skyband.overlay.simulate.scenario import SECOND, Crash, Scenario, ScenarioShape
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES
from tests.overlay.planted import AcceptsBeforeSync, TellsBeforeSync, WritesAfterTorn

SMALL = ScenarioShape(n_brokers=3, n_subscriptions=3, n_publications=12, seconds=6, n_crashes=0, rest=30)
EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
DOWNTIME = SECOND // 3
# What becomes of the record that is to be synced, and when the next broker stops after that, counted in syncs.
FATES: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "lost": ({"unsynced": "lost"}, ()),
    "torn": ({"unsynced": "torn"}, ()),
    "durable": ({"durable": True}, ()),
    "again": ({"unsynced": "torn"}, (1, 2)),
}


@cache
def small(strategy: str, mode: str) -> Scenario:
    """A scenario in which nothing goes wrong."""
    return drawn(strategy, 2, SMALL, storm=False, mode=mode, checkpoint=6)


def killed_at(scenario: Scenario, sync: int, fate: str) -> Scenario:
    """The same with a broker that stops at a sync, and one that stops soon after."""
    how, more = FATES[fate]
    crashes = tuple(Crash(at, -1, DOWNTIME, at_sync=True, **how) for at in (sync, *(sync + after for after in more)))
    return scenario.without(crashes=crashes)


@pytest.mark.few(2)
@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_any_broker_may_stop_at_any_sync(strategy: str, mode: str) -> None:
    scenario = small(strategy, mode)
    world = BrokerWorld(scenario, keep_trace=True).run()
    assert world.n_syncs > 25
    assert all(len(disk.history) > 3 for disk in world.disks)
    for sync in range(1, world.n_syncs + 1):
        for fate in FATES:
            assert wrongs_of(killed_at(scenario, sync, fate)) == [], f"at sync {sync}, {fate}"


def test_each_sync_is_one_that_a_broker_stops_at() -> None:
    scenario = small("covering", "watermark")
    n_syncs = BrokerWorld(scenario).run().n_syncs
    stopped = []
    for sync in range(1, n_syncs + 1):
        trace = BrokerWorld(killed_at(scenario, sync, "lost"), keep_trace=True).run().trace
        (crash,) = [line for line in trace if line.endswith("crash")]
        stopped.append(int(crash.split()[1]))
    assert set(stopped) == {0, 1, 2}


@pytest.mark.parametrize(
    ("wrong", "fate"), [(AcceptsBeforeSync, "lost"), (TellsBeforeSync, "lost"), (WritesAfterTorn, "torn")]
)
def test_brokers_that_are_wrong_about_syncs_are_found(wrong: type[Broker], fate: str) -> None:
    scenario = small("publication-flooding", "eager")
    n_syncs = BrokerWorld(scenario).run().n_syncs
    assert any(wrongs_of(killed_at(scenario, sync, fate), wrong) for sync in range(1, n_syncs + 1))
