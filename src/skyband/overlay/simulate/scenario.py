"""Scenarios: who publishes and subscribes when, and what goes wrong meanwhile; all of it drawn from a seed.

Points have small whole coordinates, so that scores tie and publications expire together: the hard cases.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from skyband.contract.family import FAMILIES
from skyband.overlay.broker.chart import CHARTS
from skyband.overlay.broker.event import Offered, Retracted, Subscribed, Unsubscribed
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.simulate.disk import Unsynced

SECOND = 1_000_000
SIDE = 10
CHECKPOINTS = (3, 17, 1000)
HEALING = 8 * SECOND
"""After so long brokers are up, and have told each other what was lost."""
WORDS = ("tea", "jazz", "rain", "tram", "moon")


class Request(NamedTuple):
    """What a client does at a broker at a time."""

    at: int
    broker: int
    what: Offered | Retracted | Subscribed | Unsubscribed


class Crash(NamedTuple):
    """A broker stops, and starts again after a while, with what is on its disk.

    `at` is a time; with `at_sync` it is the number of a sync, counted over all brokers, and the broker that asks for it
    stops before (or, with `durable`, after) it is done. Of what was not synced a first part survives, and perhaps the
    next record in part, by "chance"; or all of it is "lost"; or all but a part of the first record, which is "torn".
    """

    at: int
    broker: int
    downtime: int
    at_sync: bool = False
    durable: bool = False
    unsynced: Unsynced = "chance"


class Switch(NamedTuple):
    """All brokers are given other options, such as a chart with one more broker, or without the last one.

    At its time the first of them stops and starts again with these, and one after another follows after a `lag`. A
    broker that leaves is drained before, and all wait for that.
    """

    at: int
    options: BrokerOptions
    lag: int = SECOND // 4


class Partition(NamedTuple):
    """Nothing passes between the brokers of one side and the others for a time."""

    since: int
    until: int
    side: frozenset[int]


@dataclass(frozen=True)
class Weather:
    """What the network does: delays in microseconds, slow links as multiples of these, shares lost and repeated."""

    least_delay: int = 1_000
    most_delay: int = 50_000
    lost: float = 0.0
    repeated: float = 0.0
    slow: Mapping[tuple[int, int], int] = field(default_factory=dict)
    sync_delay: int = 500
    partitions: tuple[Partition, ...] = ()


CALM = Weather()
STORM = Weather(most_delay=700_000, lost=0.15, repeated=0.1)


@dataclass(frozen=True)
class Scenario:
    """All that a run depends on; `requests` are in the order of time.

    With watermarks it ends when all homes have come to the time `settled`, and otherwise when all is quiet after it; at
    `until` in any case.
    """

    options: BrokerOptions
    seed: int
    requests: tuple[Request, ...]
    weather: Weather = CALM
    crashes: tuple[Crash, ...] = ()
    settled: int = 40 * SECOND
    until: int = 90 * SECOND
    switches: tuple[Switch, ...] = ()

    def without(self, **changes: Any) -> "Scenario":
        """The same with other parts."""
        return replace(self, **changes)

    def with_options(self, **changes: Any) -> "Scenario":
        """The same with other options of its brokers."""
        return replace(self, options=replace(self.options, **changes))

    @property
    def is_calm(self) -> bool:
        """Whether nothing is lost, repeated or cut off, and nobody stops."""
        return not (
            self.weather.lost or self.weather.repeated or self.weather.partitions or self.crashes or self.switches
        )


class ScenarioShape(NamedTuple):
    """How large a scenario is: `seconds` is how long clients are busy, and `rest` how long things may take then.

    One publication in `per_retraction` is taken back; none if that is 0.
    """

    n_brokers: int = 6
    n_subscriptions: int = 6
    n_publications: int = 60
    seconds: int = 24
    rest: int = 60
    n_crashes: int = 2
    chart: str = "random-tree"
    per_retraction: int = 6


def draw_scenario(seed: int, shape: ScenarioShape | None = None, storm: bool = True, **options: Any) -> Scenario:
    """A scenario from a seed; options are those of brokers."""
    chance, shape = random.Random(seed), shape or ScenarioShape()
    chart = CHARTS[shape.chart](shape.n_brokers, seed)
    family = options.get("family", "window")
    draw = draw_of(family)
    places = np.array([draw.place(chance) for _ in range(64)], np.float64)
    broker_options = BrokerOptions(
        chart=chart,
        seed=seed,
        zones=ZoneMap(places, shape.n_brokers),
        **{"tick": SECOND, "horizon": 9 * SECOND, "checkpoint": CHECKPOINTS[seed % len(CHECKPOINTS)]} | options,
    )
    requests = _requests(chance, shape, draw, broker_options.tick)
    is_eager = broker_options.mode == "eager"
    requests += _last_requests(random.Random(seed + 1), shape, draw) if is_eager else ()
    requests = _with_retractions(random.Random(seed + 2), requests, shape)
    # Whoever is down, or cut off, at the end has time to catch up.
    weather = _storm(chance, shape) if storm else CALM
    crashes = _crashes(chance, shape, broker_options) if storm else ()
    # With watermarks past the widest window, so that all expires once more; else while tops are full.
    settled = shape.seconds * SECOND + (broker_options.horizon if not is_eager else HEALING + SECOND)
    until = (shape.seconds + shape.rest) * SECOND
    return Scenario(broker_options, seed, requests, weather, crashes, settled, until)


def _requests(chance: random.Random, shape: ScenarioShape, draw: "FamilyDraw", tick: int) -> tuple[Request, ...]:
    end, requests = shape.seconds * SECOND, []
    for id in range(shape.n_subscriptions):
        broker, at = chance.randrange(shape.n_brokers), chance.choice([0, 0, chance.randrange(end)])
        requests.append(Request(at, broker, Subscribed(draw.subscription(chance, id, tick))))
        if chance.random() < 0.2:
            requests.append(Request(chance.randrange(at, end + 1), broker, Unsubscribed(id)))
    for id in range(shape.n_publications):
        row = {"id": id} | draw.content(chance)
        requests.append(Request(chance.randrange(end), chance.randrange(shape.n_brokers), Offered(row)))
    return tuple(sorted(requests, key=lambda request: request.at))


def _with_retractions(
    chance: random.Random, requests: tuple[Request, ...], shape: ScenarioShape
) -> tuple[Request, ...]:
    """Some clients take back what they have published, at once or a while later, and now and then twice."""
    found = list(requests)
    for request in requests:
        if isinstance(request.what, Offered) and shape.per_retraction and not chance.randrange(shape.per_retraction):
            for _ in range(chance.choice([1, 1, 1, 2])):
                at = request.at + chance.randrange(chance.choice([SECOND // 10, 3 * SECOND]))
                found.append(Request(at, request.broker, Retracted(request.what.row["id"])))
    return tuple(sorted(found, key=lambda request: request.at))


def _last_requests(chance: random.Random, shape: ScenarioShape, draw: "FamilyDraw") -> tuple[Request, ...]:
    """Publications once all has healed, so that tops are not empty when they are compared."""
    since, found = shape.seconds * SECOND + HEALING - SECOND, []
    for id in range(shape.n_publications, shape.n_publications + shape.n_publications // 4 + 1):
        row = {"id": id} | draw.content(chance)
        found.append(Request(since + chance.randrange(SECOND), chance.randrange(shape.n_brokers), Offered(row)))
    return tuple(sorted(found, key=lambda request: request.at))


def _storm(chance: random.Random, shape: ScenarioShape) -> Weather:
    end = shape.seconds * SECOND
    since = chance.randrange(end)
    side = frozenset(chance.sample(range(shape.n_brokers), max(1, shape.n_brokers // 3)))
    cut = Partition(since, min(end, since + chance.randrange(1, 6) * SECOND), side)
    slow = {(chance.randrange(shape.n_brokers), chance.randrange(shape.n_brokers)): 4}
    lost, repeated = chance.choice([0.0, 0.05, 0.2]), chance.choice([0.0, 0.1])
    return Weather(1_000, chance.choice([20_000, 300_000]), lost, repeated, slow, 2_000, (cut,))


def _crashes(chance: random.Random, shape: ScenarioShape, options: BrokerOptions) -> tuple[Crash, ...]:
    crashes = []
    for _ in range(shape.n_crashes):
        downtime = chance.randrange(SECOND // 10, 5 * SECOND)
        if chance.random() < 0.5:
            at = chance.randrange(shape.n_brokers, 3 * (shape.n_publications + shape.n_subscriptions) // 2)
            crashes.append(Crash(at, -1, downtime, True, chance.random() < 0.5))
        else:
            at = chance.randrange(shape.seconds * SECOND)
            crashes.append(Crash(at, chance.randrange(shape.n_brokers), downtime))
    return tuple(crashes)


class FamilyDraw:
    """How the rows of the window family are drawn."""

    def place(self, chance: random.Random) -> list[float]:
        """Where a publication is."""
        return [float(chance.randrange(SIDE)), float(chance.randrange(SIDE))]

    def content(self, chance: random.Random) -> dict[str, Any]:
        """What a publication holds besides its id."""
        return {"point": self.place(chance)}

    def subscription(self, chance: random.Random, id: int, tick: int) -> dict[str, Any]:
        """A subscription, one in four of them Boolean."""
        score = chance.choice(["euclidean", "euclidean", "chebyshev", "sum", "cosine"])
        row = {"id": id, "k": chance.randrange(1, 4), "score": score, "window_us": chance.randrange(2, 9) * tick}
        row["weights" if score in ("sum", "cosine") else "point"] = [float(chance.randrange(SIDE)) for _ in range(2)]
        if chance.random() < 0.25:
            row["threshold"] = {"sum": 60.0, "cosine": 0.9}.get(score, 3.0)
        return row


class MessageDraw(FamilyDraw):
    """How the rows of the geotext family are drawn: places in the unit square, and one to three of few words."""

    def place(self, chance: random.Random) -> list[float]:
        """Where a message is from."""
        return [chance.randrange(SIDE) / SIDE, chance.randrange(SIDE) / SIDE]

    def content(self, chance: random.Random) -> dict[str, Any]:
        """What a message holds besides its id."""
        x, y = self.place(chance)
        return {"x": x, "y": y} | self._words(chance)

    def subscription(self, chance: random.Random, id: int, tick: int) -> dict[str, Any]:
        """A subscription by place and words."""
        row = {"id": id, "k": chance.randrange(1, 4), "window_us": chance.randrange(2, 9) * tick}
        return row | self.content(chance) | {"alpha": chance.choice([0.0, 0.5, 0.8])}

    def _words(self, chance: random.Random) -> dict[str, Any]:
        terms = chance.sample(WORDS, chance.randrange(1, 4))
        return {"terms": terms, "weights": [len(terms) ** -0.5] * len(terms)}


def draw_of(family: str) -> FamilyDraw:
    """How rows of a family are drawn, by what its publications hold."""
    schema = FAMILIES[family].publications
    return MessageDraw() if schema is not None and "terms" in schema.names else FamilyDraw()
