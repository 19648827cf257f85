"""How many events of a simulated network one core takes in a second: brokers, scheduler, engines and checks.

An event is one call of a broker's `step`. The time is the processor's. What homes spend in their engines is taken by a
clock around these calls, so that what the simulator and the brokers take by themselves is known too.
"""

from collections.abc import Callable, Iterable, Iterator
from time import process_time_ns
from typing import Any, NamedTuple, TypeVar

from skyband.bench.experiment import Progress, Size
from skyband.bench.row import Row, measured
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.run import drawn
from skyband.overlay.simulate.scenario import ScenarioShape
from skyband.overlay.simulate.watcher import RunWatcher
from skyband.overlay.simulate.world import BrokerWorld, MakeBroker
from skyband.overlay.strategy import STRATEGIES

SEED = 1
ENGINE_CALLS = ("take", "absorb", "gates", "staircase")
Result = TypeVar("Result")

SHAPES: dict[Size, ScenarioShape] = {
    "toy": ScenarioShape(n_brokers=4, n_subscriptions=3, n_publications=20, seconds=6),
    "small": ScenarioShape(n_brokers=16, n_subscriptions=16, n_publications=1_000, seconds=30),
    "full": ScenarioShape(n_brokers=32, n_subscriptions=16, n_publications=4_000, seconds=60),
}


class EventPoint(NamedTuple):
    """One strategy at a size, in any weather; with or without the checks that are made after every event."""

    shape: ScenarioShape
    strategy: str
    is_checked: bool


class EngineClock:
    """The time that homes spend in their engines, in nanoseconds."""

    def __init__(self) -> None:
        self.elapsed = 0

    def around(self, call: Callable[..., Result]) -> Callable[..., Result]:
        """The same call, whose time is counted."""

        def timed(*given: Any) -> Result:
            since = process_time_ns()
            found = call(*given)
            self.elapsed += process_time_ns() - since
            return found

        return timed

    def maker(self) -> MakeBroker:
        """Makes brokers whose engines are timed."""

        def make(number: int, options: BrokerOptions) -> Broker:
            broker = Broker(number, options)
            for name in ENGINE_CALLS:
                setattr(broker.home, name, self.around(getattr(broker.home, name)))
            return broker

        return make


def event_points(shape: ScenarioShape) -> Iterator[EventPoint]:
    """All strategies, each without checks first."""
    for strategy in STRATEGIES:
        for is_checked in (False, True):
            yield EventPoint(shape, strategy, is_checked)


def label_of(point: EventPoint) -> str:
    """The name of a strategy, with the checks if there are any."""
    return f"{point.strategy}, {'checked' if point.is_checked else 'without checks'}"


def run_events(point: EventPoint, progress: Progress) -> Iterable[Row]:
    """Let a network run to its end, after a short one that warms up."""
    progress(label_of(point))
    _world(point._replace(shape=SHAPES["toy"]), EngineClock()).run()
    clock = EngineClock()
    world, since = _world(point, clock), process_time_ns()
    world.run()
    elapsed = process_time_ns() - since
    columns = world.tally.columns()
    measures = {
        "events": world.n_events,
        "messages": sum(sent.messages for sent in columns.values()),
        "per_second": world.n_events / elapsed * 1e9,
        "engine_share": clock.elapsed / elapsed,
        "per_second_without_engines": world.n_events / max(elapsed - clock.elapsed, 1) * 1e9,
    }
    parameters = point.shape._asdict() | {"mode": world.scenario.options.mode, "checks": point.is_checked, "seed": SEED}
    yield measured(f"events, {point.strategy}", point.strategy, parameters, [elapsed], world.n_events, measures)


def _world(point: EventPoint, clock: EngineClock) -> BrokerWorld:
    scenario, watch = drawn(point.strategy, SEED, point.shape), RunWatcher() if point.is_checked else None
    return BrokerWorld(scenario, clock.maker(), watch, with_bytes=point.is_checked, digests=point.is_checked)
