"""Brokers under a seeded scheduler, held against one central engine: what must hold of every run."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.frame import Proxy
from skyband.overlay.simulate.central import central_engine, read_disks
from skyband.overlay.simulate.property import check_tops
from skyband.overlay.simulate.run import default_mode, drawn, simulate, wrongs_of
from skyband.overlay.simulate.scenario import Scenario, ScenarioShape
from skyband.overlay.simulate.shrink import shrink
from skyband.overlay.simulate.watcher import retainers
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES
from tests.overlay.worlds import STEADY

SMALL = ScenarioShape(n_brokers=5, n_subscriptions=5, n_publications=40, seconds=14)
EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
GOSSIP = [name for name in STRATEGIES if name.endswith("gossiping")]
N_SOAK, N_GROUP = 1000, 50


def steady(strategy: str, seed: int, **options: object) -> BrokerWorld:
    """A run in which nothing depends on how many messages there are."""
    return BrokerWorld(drawn(strategy, seed, SMALL, storm=False, **options).without(weather=STEADY)).run()


def changes(world: BrokerWorld) -> list[list[tuple[object, ...]]]:
    """What clients were told, broker by broker."""
    return [[row for _, row in audience.changes] for audience in world.audiences]


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["watermark", "eager"])
@pytest.mark.parametrize("strategy", EXACT)
def test_nothing_is_lost_in_any_weather(strategy: str, mode: str, seed: int) -> None:
    """Delays, losses, repeats, partitions, and crashes at any time: tops, and with watermarks rows, are right."""
    outcome = simulate(drawn(strategy, seed, SMALL, mode=mode), shrinks=False)
    assert outcome.wrongs == []
    assert outcome.n_changes > 0


def mode_of(strategy: str, seed: int) -> str:
    """One seed in four answers without waiting, where a strategy can wait at all."""
    return "eager" if seed % 4 == 0 else default_mode(strategy)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(100, 100 + N_SOAK, N_GROUP))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_properties_hold_over_many_seeds(strategy: str, first: int) -> None:
    """A thousand seeds for each strategy with their twins, in groups, so that a soak that is stopped can go on."""
    for seed in range(first, first + N_GROUP):
        wrongs = wrongs_of(drawn(strategy, seed, mode=mode_of(strategy, seed)), twins=True)
        assert wrongs == [], f"seed {seed}"


@pytest.mark.few(18)
@pytest.mark.parametrize("first", range(0, 36, 4))
@pytest.mark.parametrize("strategy", EXACT)
def test_all_properties_hold_over_some_seeds(strategy: str, first: int) -> None:
    for seed in range(first, first + 4):
        assert wrongs_of(drawn(strategy, seed, SMALL, mode=mode_of(strategy, seed))) == [], f"seed {seed}"


@pytest.mark.parametrize(("strategy", "seed"), [("covering", 1014), ("zone-leases", 52), ("zone-leases", 158)])
def test_seeds_that_went_wrong_once(strategy: str, seed: int) -> None:
    assert simulate(drawn(strategy, seed), shrinks=False).wrongs == []


@pytest.mark.few(2)
@pytest.mark.parametrize("strategy", EXACT)
def test_messages_with_words_are_routed_too(strategy: str) -> None:
    """The family geotext, by the same brokers."""
    outcome = simulate(drawn(strategy, 3, SMALL, family="geotext", engine="scan"), shrinks=False)
    assert outcome.wrongs == []
    assert outcome.n_changes > 0


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name not in EXACT])
def test_what_may_lose_answers_breaks_no_promise(strategy: str) -> None:
    """Nothing that was accepted is lost where it was accepted, and nothing is told twice."""
    assert simulate(drawn(strategy, 1, SMALL), shrinks=False).wrongs == []


@pytest.mark.parametrize("strategy", GOSSIP)
def test_gossip_is_answered_for_what_has_come(strategy: str) -> None:
    """A home that gets a part of the publications has the tops of one engine that gets the same part."""
    world = steady(strategy, 2, fan_out=1, rounds=2)
    ledger, engine = read_disks(world), central_engine(world)
    assert sum(len(broker.home.seen) for broker in world.brokers if broker) < 5 * len(ledger.publications)
    for broker in world.brokers:
        assert broker is not None
        if not broker.home.subscriptions:
            continue
        keys = broker.home.seen
        came = [each.row for other in world.brokers if other for each in other.origin.own.values() if each.key in keys]
        engine = central_engine(world)
        engine.publish(came)
        engine.advance(broker.home.applied)
        engine.subscribe([asked.row for asked in broker.home.subscriptions.values()])
        mine = [row for row in broker.home.top() if row[0] in broker.home.subscriptions]
        assert sorted(mine) == sorted(tuple(row.values()) for row in engine.top().to_pylist())


@pytest.mark.parametrize("strategy", GOSSIP)
def test_gossip_loses_nothing_if_everybody_tells_everybody(strategy: str) -> None:
    """Its stated bound: with a fan-out of the highest degree, and as many rounds as brokers, nobody is left out."""
    assert list(check_tops(steady(strategy, 4, fan_out=SMALL.n_brokers, rounds=SMALL.n_brokers))) == []


@pytest.mark.parametrize("strategy", ["subscription-flooding", "covering", "zone-leases"])
def test_updates_of_gates_that_are_never_sent_cost_traffic_only(strategy: str) -> None:
    """The changes are the same whether what comes in vain is worth a word at once or never."""
    eager, silent = (steady(strategy, 5, patience=patience) for patience in (1, 10**9))
    assert changes(eager) == changes(silent)
    assert any(changes(eager))
    assert eager.tally.messages["delivering"] <= silent.tally.messages["delivering"]
    assert eager.tally.messages["updating"] > silent.tally.messages["updating"]


def test_leases_of_zones_out_of_reach_end() -> None:
    """A zone whose lease is old is answered by its end if the true gate does not reach it: nothing there can matter."""
    scenario = drawn("zone-leases", 6, storm=False, mode="eager").without(weather=STEADY)
    world = BrokerWorld(scenario, keep_trace=True).run()
    zones, n_ended = scenario.options.zones, 0
    assert zones is not None
    for sending in world.sent:
        proxy = sending.frame
        if isinstance(proxy, Proxy) and proxy.closes is not None and proxy.closes <= sending.at + 1:
            assert sending.target not in zones.reached(proxy.asked, proxy.steps[-1][1])
            n_ended += 1
    assert n_ended > 0
    assert list(check_tops(world)) == []


def test_covering_on_and_off_give_equal_changes() -> None:
    """And fewer subscriptions travel with it."""
    on, off = (steady("covering", 6, covering=covering) for covering in (True, False))
    assert changes(on) == changes(off)
    assert on.tally.messages["subscribing"] != off.tally.messages["subscribing"]


@pytest.mark.parametrize("strategy", EXACT)
def test_little_credit_is_enough(strategy: str) -> None:
    """Queues stay within credit, and nobody waits for ever."""
    assert simulate(drawn(strategy, 7, SMALL, credit=2, beat=100_000), shrinks=False).wrongs == []


def test_what_is_older_than_anybody_needs_is_not_kept() -> None:
    world = steady("publication-flooding", 8, mode="eager")
    limit = world.now - world.scenario.options.horizon - world.scenario.options.tick
    kept = [each.ts for broker in world.brokers for retainer in retainers(broker) for each in retainer.publications()]
    assert all(ts > limit for ts in kept)


def test_the_same_seed_gives_the_same_trace() -> None:
    first, second = (simulate(drawn("zone-leases", 9, SMALL), shrinks=False) for _ in range(2))
    assert first.digest == second.digest != 0
    assert first.n_events == second.n_events


@pytest.mark.few(1)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_trace_does_not_depend_on_how_texts_are_hashed(strategy: str) -> None:
    code = (
        "from skyband.overlay.simulate.run import drawn, simulate;"
        "from skyband.overlay.simulate.scenario import ScenarioShape;"
        f"print([simulate(drawn({strategy!r}, seed, ScenarioShape(5, 5, 30, 10)), shrinks=False).digest "
        "for seed in range(3)])"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_a_scenario_is_shrunk_to_what_it_takes() -> None:
    """What goes wrong here is that two publications and a subscription are asked for at broker 0."""
    scenario = drawn("publication-flooding", 10, SMALL)

    def goes_wrong(smaller: Scenario) -> bool:
        rows = [request.what for request in smaller.requests if request.broker == 0]
        return sum(type(row).__name__ == "Offered" for row in rows) >= 2

    shrunk = shrink(scenario, goes_wrong)
    assert len(shrunk.requests) == 2
    assert shrunk.crashes == ()
    assert shrunk.weather.partitions == ()


def test_default_modes_wait_where_they_can() -> None:
    assert {name: default_mode(name) for name in STRATEGIES} == {
        name: "watermark" if strategy.waits else "eager" for name, strategy in STRATEGIES.items()
    }
    assert default_mode("covering", "chance") == "eager"


@pytest.mark.parametrize("strategy", ["rendezvous", "basic-gossiping", "informed-gossiping"])
def test_what_cannot_wait_says_so(strategy: str) -> None:
    options = drawn(strategy, 0, SMALL).options
    with pytest.raises(ValueError, match="cannot say when all publications up to a time are there"):
        Broker(0, replace(options, mode="watermark"))


def test_other_gates_cannot_wait_either() -> None:
    options = drawn("covering", 0, SMALL).options
    with pytest.raises(ValueError, match="only if gates are staircases"):
        Broker(0, replace(options, gates="chance"))
