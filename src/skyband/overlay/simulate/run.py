"""Running scenarios: a seed, or many, for one strategy, with what went wrong and the shortest trace of it."""

from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple, Protocol

from skyband.overlay.broker.broker import Broker
from skyband.overlay.simulate.property import check_run
from skyband.overlay.simulate.scenario import Scenario, ScenarioShape, draw_scenario
from skyband.overlay.simulate.shrink import shrink
from skyband.overlay.simulate.tally import Sent
from skyband.overlay.simulate.twin import check_twins
from skyband.overlay.simulate.watcher import RunWatcher
from skyband.overlay.simulate.world import BrokerWorld, MakeBroker
from skyband.overlay.strategy import strategy_named

BREAKDOWNS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What a broker may raise when it is wrong."""


class WorldView(Protocol):
    """Somebody who looks on: at the begin of a run, after every event, and at the end."""

    def begin(self) -> None:
        """A run begins."""

    def __call__(self, world: BrokerWorld, broker: Broker) -> None:
        """Something has happened to a broker."""

    def end(self, world: BrokerWorld) -> None:
        """The run has come to its end."""


class Outcome(NamedTuple):
    """What came of a seed: events and the processor's seconds they took, messages, the trace's digest, and wrongs.

    `links` counts messages by who sent them to whom, upkeep left out.
    """

    seed: int
    n_events: int
    seconds: float
    columns: dict[str, Sent]
    n_changes: int
    digest: int
    wrongs: list[str]
    shortest: list[str]
    links: dict[tuple[int, int], int]


def wrongs_of(scenario: Scenario, make: MakeBroker = Broker, twins: bool = False) -> list[str]:
    """What is wrong with a run, and with its twins if these are wanted; a broker that breaks down is wrong too."""
    watcher = RunWatcher()
    world = BrokerWorld(scenario, make, watcher)
    try:
        return check_run(world.run(), watcher) or (check_twins(scenario, make, world) if twins else [])
    except BREAKDOWNS as error:
        return [f"At {world.now} a broker breaks down: {error!r}."]


def simulate(
    scenario: Scenario,
    make: MakeBroker = Broker,
    shrinks: bool = True,
    note: Callable[[str], None] | None = None,
    view: WorldView | None = None,
    twins: bool = False,
) -> Outcome:
    """Run a scenario and check it, with its twins if these are wanted; one that goes wrong is made as short as it can
    be, with its trace."""
    watcher, since = RunWatcher(), process_time()
    world, shortest = BrokerWorld(scenario, make, watcher if view is None else _both(watcher, view)), list[str]()
    try:
        world.run()
        seconds = process_time() - since
        wrongs = check_run(world, watcher) or (check_twins(scenario, make, world) if twins else [])
    except BREAKDOWNS as error:
        seconds, wrongs = process_time() - since, [f"At {world.now} a broker breaks down: {error!r}."]
    if view is not None:
        view.end(world)
    if wrongs and shrinks:
        if note is not None:
            note(f"Seed {scenario.seed} goes wrong: looking for the shortest trace.")
        shortest = trace_of(shrink(scenario, lambda smaller: bool(wrongs_of(smaller, make, twins))), make)
    n_changes = sum(len(audience.changes) for audience in world.audiences)
    sent = world.tally.columns()
    return Outcome(
        scenario.seed,
        world.n_events,
        seconds,
        sent,
        n_changes,
        world.digest,
        wrongs,
        shortest,
        dict(world.tally.by_link),
    )


def _both(watcher: RunWatcher, view: WorldView) -> Callable[[BrokerWorld, Broker], None]:
    view.begin()

    def look(world: BrokerWorld, broker: Broker) -> None:
        watcher(world, broker)
        view(world, broker)

    return look


def trace_of(scenario: Scenario, make: MakeBroker = Broker) -> list[str]:
    """What happens in a scenario, a line for each event, and what is wrong with it at the end."""
    world = BrokerWorld(scenario, make, keep_trace=True)
    try:
        world.run()
    except BREAKDOWNS as error:
        return [*world.trace, f"At {world.now} a broker breaks down: {error!r}."]
    return [*world.trace, *check_run(world)]


def default_mode(strategy: str, gates: str = "staircase") -> Any:
    """Watermarks where a strategy can wait, and its gates lose nothing."""
    its = strategy_named(strategy)
    return "watermark" if its.waits and (gates == "staircase" or not its.filters) else "eager"


def drawn(strategy: str, seed: int, shape: ScenarioShape | None = None, storm: bool = True, **options: Any) -> Scenario:
    """A scenario for a strategy; one that cannot make good what is lost is spared storms."""
    options.setdefault("mode", default_mode(strategy, options.get("gates", "staircase")))
    return draw_scenario(seed, shape, storm and strategy_named(strategy).recovers, strategy=strategy, **options)
