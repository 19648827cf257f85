"""What takes a second run of the same scenario: updates that are meddled with, covering off, the same trace again.

Each twin has to pass by itself too. The calm twin is the scenario without any trouble, in which messages are counted.
"""

from collections.abc import Collection, Iterator

from skyband.overlay.broker.broker import Broker
from skyband.overlay.simulate.meddle import meddled
from skyband.overlay.simulate.property import COUNTS, Property, check_run, promises_all
from skyband.overlay.simulate.scenario import Scenario, Weather
from skyband.overlay.simulate.watcher import RunWatcher
from skyband.overlay.simulate.world import BrokerWorld, MakeBroker
from skyband.overlay.strategy import strategy_named
from skyband.overlay.strategy.covering import CoveringRouting

STEADY = Weather(least_delay=1_000, most_delay=1_000)


def check_twins(scenario: Scenario, make: MakeBroker = Broker, first: BrokerWorld | None = None) -> list[str]:
    """All that does not hold of the other runs of a scenario, with the number of each property.

    A run that there is, and in which nobody was meddled with, is compared with and not made again.
    """
    wrongs = list(check_trace(scenario, make, first))
    calm, watcher = scenario.without(weather=STEADY, crashes=()), RunWatcher()
    undisturbed = BrokerWorld(calm, make, watcher, digests=False).run()
    wrongs += (f"Without any trouble: {wrong}" for wrong in check_run(undisturbed, watcher))
    if strategy_named(scenario.options.strategy).filters and scenario.options.gates == "staircase":
        wrongs += check_updates(scenario, make)
    if strategy_named(scenario.options.strategy) is CoveringRouting:
        wrongs += check_covering(calm, make, undisturbed if calm.options.covering else None)
    return wrongs


def check_alone(scenario: Scenario, make: MakeBroker = Broker, left_out: Collection[Property] = ()) -> list[str]:
    """What does not hold of one run."""
    watcher = RunWatcher()
    return check_run(BrokerWorld(scenario, make, watcher, digests=False).run(), watcher, left_out)


def check_updates(scenario: Scenario, make: MakeBroker = Broker) -> Iterator[str]:
    """Property 5: whether updates of gates are dropped, repeated or late, answers are those of one engine."""
    # What is dropped is counted nowhere.
    for wrong in check_alone(scenario, meddled(make), left_out=(COUNTS,)):
        yield f"Property 5 (updates): where they are dropped, repeated and late, {wrong}"


def check_covering(scenario: Scenario, make: MakeBroker = Broker, first: BrokerWorld | None = None) -> Iterator[str]:
    """Property 6: covering on and off give equal changes.

    In eager mode something worse may be told before the right thing comes, and covering changes which: only what
    holds of any run has to hold without it.
    """
    if scenario.options.mode == "eager":
        for wrong in check_alone(scenario.with_options(covering=False), make):
            yield f"Property 6 (covering): where nothing is covered, {wrong}"
        return
    on = first or BrokerWorld(scenario.with_options(covering=True), make, digests=False).run()
    off = BrokerWorld(scenario.with_options(covering=False), make, digests=False).run()
    if promises_all(on):
        for number, (mine, its) in enumerate(zip(on.audiences, off.audiences, strict=True)):
            if mine.changes != its.changes:
                yield f"Property 6 (covering): broker {number} tells something else if nothing is covered."


def check_trace(scenario: Scenario, make: MakeBroker = Broker, first: BrokerWorld | None = None) -> Iterator[str]:
    """Property 10: the same seed gives the same trace."""
    first = first or BrokerWorld(scenario, make).run()
    second = BrokerWorld(scenario, make).run()
    if (first.digest, first.n_events) != (second.digest, second.n_events):
        yield f"Property 10 (trace): it is {first.digest:08x} once, and then {second.digest:08x}."
