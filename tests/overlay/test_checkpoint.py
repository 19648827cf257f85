"""Checkpoints: disks stay short, brokers that start again take few steps, and nothing that matters is left out."""

import json
from typing import Any

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.checkpoint import KIND
from skyband.overlay.broker.event import Started, Trim
from skyband.overlay.broker.home import Home, HomeStep
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.record import unpack_record, whole_records
from skyband.overlay.simulate.run import drawn, wrongs_of
from skyband.overlay.simulate.scenario import ScenarioShape
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES
from skyband.table import Settings
from tests.overlay.test_home import STEPS

SMALL = ScenarioShape(n_brokers=3, n_subscriptions=3, n_publications=60, seconds=12, n_crashes=8)
EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
EVERY = 5


class TakesPendingForCome(Broker):
    """Writes down of what is in no step yet that it has come."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        saved = self.home.saved

        def hasty(pending: Any, retracting: Any = frozenset()) -> dict[str, Any]:
            return saved(set(), retracting)

        self.home.saved = hasty  # type: ignore[method-assign]


class ForgetsNumbers(Broker):
    """Counts its publications anew from those that are kept."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        saved = self.origin.saved
        self.origin.saved = lambda: saved() | {"n": len(saved()["own"])}  # type: ignore[method-assign]


class TrimsTooSoon(Broker):
    """Trims before the checkpoint is durable."""

    def write(self, kind: str, *fields: Any, then: Any) -> None:
        if kind == KIND:
            then()
        super().write(kind, *fields, then=then if kind != KIND else lambda: None)


@pytest.mark.parametrize("strategy", EXACT)
def test_a_disk_stays_short_and_starts_fast(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = drawn(strategy, 4, SMALL, checkpoint=EVERY)
    world = BrokerWorld(scenario).run()
    assert wrongs_of(scenario) == []
    for disk in world.disks:
        assert len(disk.history) > 4 * EVERY
        # One checkpoint may be on its way while others records are written.
        assert len(disk.records) <= 3 * EVERY
    steps: list[int] = []
    take = Home.take

    def counted(home: Home, step: HomeStep) -> Any:
        steps.append(step.at)
        return take(home, step)

    monkeypatch.setattr(Home, "take", counted)
    for number, disk in enumerate(world.disks):
        steps.clear()
        again = Broker(number, scenario.options)
        effects = again.step(world.now, Started(tuple(disk.records)))
        before = world.broker(number)
        assert len(steps) <= 2 * EVERY
        assert again.home.top() == before.home.top()
        assert again.home.n_changes == before.home.n_changes
        assert again.registrations.known.keys() == before.registrations.known.keys()
        kinds = [record[0] for record in whole_records(disk.records)]
        last = max(i for i, kind in enumerate(kinds) if kind == KIND)
        assert [effect.n_records for effect in effects if isinstance(effect, Trim)] == [last] * (last > 0)


def test_a_home_goes_on_from_what_it_saved() -> None:
    """Through JSON, after each step."""
    for cut in range(len(STEPS) + 1):
        one, again = (Home("window", "scan", Settings(), 100, {}) for _ in range(2))
        for step in STEPS[:cut]:
            one.take(step)
        again.restore(json.loads(json.dumps(one.saved(set()))))
        assert again.has_engine == one.has_engine
        for step in STEPS[cut:]:
            assert again.take(step) == one.take(step)
        assert again.changes == one.changes
        assert again.top() == one.top()


@pytest.mark.parametrize("wrong", [TakesPendingForCome, ForgetsNumbers, TrimsTooSoon])
def test_checkpoints_that_leave_something_out_are_found(wrong: type[Broker]) -> None:
    shape = SMALL._replace(seconds=20)
    found = (wrongs_of(drawn("zone-leases", seed, shape, checkpoint=2), wrong) for seed in range(20))
    assert any(found)


def test_a_torn_checkpoint_is_none() -> None:
    """The records before it are still there."""
    scenario = drawn("covering", 5, SMALL, checkpoint=EVERY)
    disk = BrokerWorld(scenario).run().disks[0]
    at = max(i for i, record in enumerate(disk.history) if (unpack_record(record) or [""])[0] == KIND)
    torn = (*disk.history[:at], disk.history[at][:-1])
    broker = Broker(0, scenario.options)
    broker.step(0, Started(torn))
    whole = Broker(0, scenario.options)
    whole.step(0, Started(tuple(disk.history[: at + 1])))
    assert broker.home.changes == whole.home.changes
    assert broker.home.top() == whole.home.top()
    assert broker.home.begun == whole.home.begun
    assert broker.origin.saved()["n"] == whole.origin.saved()["n"]
