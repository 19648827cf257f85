"""A home whose last subscription ends while publications are on their way to it: whoever subscribes next needs them."""

from collections.abc import Iterator, Sequence

import pytest

from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.event import Rang, Retracted, Unsubscribed
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.run import wrongs_of
from skyband.overlay.simulate.scenario import SECOND, Crash, Scenario
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES
from tests.overlay.test_broker import Client, offer
from tests.overlay.worlds import Doing, at, near, scene

EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
# Two publications are made, and one of them is taken back.
BEGIN, END = 3.0, 3.6
HOME, OTHERS = "E", "AB"


def doing(ends: float, begins: float, again: str) -> list[Doing]:
    """The only subscription ends at a time, and another one, perhaps with the same id, begins at another time."""
    there = near("first", 0.9, 0.9, k=3)
    found = [
        (0.5, HOME, there),
        (BEGIN + 0.1, "A", at("p", 0.1, 0.8)),
        (BEGIN + 0.2, "B", at("q", 0.8, 0.1)),
        (BEGIN + 0.3, "A", Retracted("p")),
        (BEGIN + 0.3, "B", at("r", 0.3, 0.3)),
        (ends, HOME, Unsubscribed("first")),
        (begins, HOME, near(again, 0.2, 0.2, k=2)),
    ]
    return sorted(found, key=lambda each: each[0])


def moments(requests: Sequence[Doing], strategy: str, mode: str) -> list[float]:
    """When anything happens while publications are on their way, and a little later."""
    world = BrokerWorld(scene(requests, strategy=strategy, mode=mode), keep_trace=True).run()
    times = sorted({int(line.split()[0]) for line in world.trace})
    return [(time + i % 2) / SECOND for i, time in enumerate(times) if BEGIN * SECOND <= time <= END * SECOND]


def scenarios(strategy: str, mode: str, waits: Sequence[float], again: str) -> Iterator[tuple[float, Scenario]]:
    """The subscription ends at each of these moments, and the next one comes some time later."""
    for i, moment in enumerate(moments(doing(9.0, 10.0, "next"), strategy, mode)):
        yield moment, scene(doing(moment, moment + waits[i % len(waits)], again), strategy=strategy, mode=mode)


@pytest.mark.few(4)
@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_what_is_on_its_way_when_the_last_subscription_ends_is_there_for_the_next(strategy: str, mode: str) -> None:
    tried = list(scenarios(strategy, mode, [2.0], "next"))
    assert len(tried) > 10
    for moment, scenario in tried:
        assert wrongs_of(scenario) == [], f"ends at {moment}"


@pytest.mark.parametrize("strategy", ["subscription-flooding", "zone-leases"])
def test_homes_that_let_go_of_it_are_found(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STRATEGIES[strategy], "sends_once", False)
    assert any(wrongs_of(scenario) for _, scenario in scenarios(strategy, "eager", [2.0], "next"))


@pytest.mark.few(4)
@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_an_id_is_subscribed_again_for_something_else(strategy: str, mode: str) -> None:
    """Before anybody else has heard of its end, or after."""
    for moment, scenario in scenarios(strategy, mode, [0.000001, 0.0012, 0.4], "first"):
        assert wrongs_of(scenario) == [], f"ends at {moment}"


def stopped(scenario: Scenario, step: int) -> Iterator[tuple[int, Scenario]]:
    """Brokers stop at syncs, from the first publication on, so that the record is lost, or durable."""
    n_syncs = BrokerWorld(scenario).run().n_syncs
    for sync in range(5, n_syncs + 1, step):
        for durable in (False, True):
            crash = Crash(sync, -1, SECOND // 5, at_sync=True, durable=durable, unsynced="lost")
            yield sync, scenario.without(crashes=(crash,))


@pytest.mark.few(2)
@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_whoever_stops_meanwhile(strategy: str, mode: str) -> None:
    moment, scenario = list(scenarios(strategy, mode, [0.3], "first"))[5]
    for sync, each in stopped(scenario, 4):
        assert wrongs_of(each) == [], f"ends at {moment}, stops at sync {sync}"


@pytest.mark.soak
@pytest.mark.parametrize("again", ["next", "first"])
@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_whoever_stops_at_any_sync_meanwhile(strategy: str, mode: str, again: str) -> None:
    for moment, scenario in scenarios(strategy, mode, [0.3], again):
        for sync, each in stopped(scenario, 1):
            assert wrongs_of(each) == [], f"ends at {moment}, stops at sync {sync}"


def test_a_home_that_starts_again_answers_an_id_anew() -> None:
    """It stops when the end is on its disk, and in no step yet; so it does with a checkpoint after that."""
    for checkpoint in (6, 1000):
        options = BrokerOptions(
            chart=Chart(1, []), strategy="publication-flooding", mode="watermark", checkpoint=checkpoint
        )
        client = Client(options)
        client.do(near("s", 0.0, 0.0))
        pass_time(client)
        client.do(offer(1))
        pass_time(client)
        client.do(Unsubscribed("s"))
        client.do(near("s", 5.0, 5.0, k=2))
        again = Client(options, tuple(client.records))
        again.now = client.now
        for each in (client, again):
            pass_time(each)
            assert each.broker.home.begun == {"s"}
            assert [row[3] for row in each.broker.home.top()] == [pytest.approx(32**0.5)]
        ops = [[row[1:3] for _, row in each.broker.home.changes] for each in (client, again)]
        assert ops == [[(1, "enter"), (1, "leave"), (1, "enter")]] * 2


def pass_time(client: Client) -> None:
    """Two ticks."""
    for _ in range(2):
        client.now += SECOND
        client.do(Rang("tick"))
