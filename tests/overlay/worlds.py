"""Small worlds for tests: what is published and asked for when, at brokers with letters, in calm weather."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.event import Offered, Subscribed
from skyband.overlay.broker.frame import COLUMNS, UPKEEP, column_of
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.simulate.scenario import SECOND, Request, Scenario, Weather
from skyband.overlay.simulate.world import BrokerWorld

Columns = tuple[str, ...]
Doing = tuple[float, str, Any]
"""When, at which broker, and what a client does."""
LETTERS = "ABCDEF"
# A - C - D - E, with B at C and F at D.
SIX = Chart(6, [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)])
STEADY = Weather(least_delay=1_000, most_delay=1_000)


def zone_map(n_brokers: int = 6, seed: int = 1) -> ZoneMap:
    """Zones of the unit square."""
    return ZoneMap(np.random.default_rng(seed).random((200, 2)), n_brokers)


def near(id: Any, x: float, y: float, k: int = 1, **more: Any) -> Subscribed:
    """A subscription to what is nearest to a place."""
    return Subscribed({"id": id, "k": k, "score": "euclidean", "point": [x, y], "window_us": 30 * SECOND} | more)


def at(id: Any, x: float, y: float) -> Offered:
    """A publication at a place."""
    return Offered({"id": id, "point": [x, y]})


def scene(requests: Sequence[Doing], seconds: int = 12, **options: Any) -> Scenario:
    """Clients do something at times in seconds, at brokers by their letters."""
    given: dict[str, Any] = {
        "chart": SIX,
        "tick": SECOND,
        "horizon": 30 * SECOND,
        "zones": zone_map(),
        "mode": "eager",
    } | options
    asked = tuple(Request(int(when * SECOND), LETTERS.index(letter), what) for when, letter, what in requests)
    return Scenario(BrokerOptions(**given), 1, asked, STEADY, (), seconds * SECOND, seconds * SECOND)


def play(requests: Sequence[Doing], seconds: int = 12, **options: Any) -> BrokerWorld:
    """The same, as it has run."""
    return BrokerWorld(scene(requests, seconds, **options), keep_trace=True).run()


def links(world: BrokerWorld, since: float = 0.0, until: float = 99.0, columns: Columns = COLUMNS[:-1]) -> list[str]:
    """The messages of some columns in a part of the run, as "A>C", in the order in which they were sent."""
    return [
        f"{LETTERS[sending.source]}>{LETTERS[sending.target]}"
        for sending in world.sent
        if since * SECOND <= sending.at < until * SECOND and column_of(sending.frame) in columns
    ]


def told(world: BrokerWorld, letter: str) -> list[tuple[Any, Any, str]]:
    """Subscription, publication and op of the changes that clients of a broker were told."""
    return [(row[0], row[1], row[2]) for _, row in world.audiences[LETTERS.index(letter)].changes]


def kinds(world: BrokerWorld, since: float = 0.0, until: float = 99.0) -> list[str]:
    """What was sent, without upkeep: the names of frames."""
    return [
        type(sending.frame).__name__
        for sending in world.sent
        if since * SECOND <= sending.at < until * SECOND and column_of(sending.frame) != UPKEEP
    ]
