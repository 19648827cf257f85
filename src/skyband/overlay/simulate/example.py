"""The six brokers of the top-k/w paper's figures 9 to 14, run: E subscribes, and then A publishes.

What is sent is read from the trace of the running brokers, so that a drawing of it cannot say anything else.
"""

from typing import Any, NamedTuple

import numpy as np

from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.event import Offered, Subscribed
from skyband.overlay.broker.frame import COLUMNS, DELIVERING, PUBLISHING, SUBSCRIBING, UPDATING, UPKEEP, column_of
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.simulate.scenario import SECOND, Request, Scenario, Weather
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import strategy_named

LETTERS = "ABCDEF"
# A - C - D - E, with B at C and F at D.
SIX = Chart(6, [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)])
STEADY = Weather(least_delay=1_000, most_delay=1_000)
PUBLISHER, SUBSCRIBER = LETTERS.index("A"), LETTERS.index("E")
AT = 3 * SECOND


class Hop(NamedTuple):
    """A message from one broker to another one, counted under a column."""

    source: int
    target: int
    column: str


class StrategyScene(NamedTuple):
    """What is sent when something happens, in its order."""

    title: str
    hops: tuple[Hop, ...]


def run_example(strategy: str) -> BrokerWorld:
    """Let E subscribe to what is near the middle of B's zone, and A publish something there."""
    zones = ZoneMap(np.random.default_rng(1).random((200, 2)), len(LETTERS))
    x, y = (float(low + high) / 2 for low, high in zip(*_zone(zones, LETTERS.index("B")), strict=True))
    row = {"id": "s", "k": 1, "score": "euclidean", "point": [x, y], "window_us": 30 * SECOND}
    asked = (
        Request(SECOND, SUBSCRIBER, Subscribed(row)),
        Request(AT, PUBLISHER, Offered({"id": "p", "point": [x, y]})),
    )
    options: dict[str, Any] = {"chart": SIX, "tick": SECOND, "horizon": 30 * SECOND, "zones": zones, "mode": "eager"}
    if (strategy_named(strategy).filters and strategy != "zone-leases") or strategy == "informed-gossiping":
        # The figures let thresholds change with every publication that enters a top.
        options |= {"gates": "kth", "engine": "scan"}
    chosen = BrokerOptions(strategy=strategy, inform="nobody", fan_out=1, rounds=2, seed=2, **options)
    return BrokerWorld(Scenario(chosen, 1, asked, STEADY, (), 12 * SECOND, 12 * SECOND), keep_trace=True).run()


def scenes_of(strategy: str) -> list[StrategyScene]:
    """What is sent when E subscribes, when A publishes, and when the gate of E moves by that."""
    hops = [
        (sending.at, Hop(sending.source, sending.target, column_of(sending.frame)))
        for sending in run_example(strategy).sent
        if column_of(sending.frame) != UPKEEP
    ]
    early = tuple(hop for at, hop in hops if at < AT)
    late = [hop for at, hop in hops if at >= AT]
    travels = tuple(hop for hop in late if hop.column in (PUBLISHING, DELIVERING))
    moves = tuple(hop for hop in late if hop.column in (SUBSCRIBING, UPDATING))
    assert len(early) + len(travels) + len(moves) == sum(hop.column in COLUMNS for _, hop in hops)
    return [
        StrategyScene("E subscribes", early),
        StrategyScene("A publishes", travels),
        StrategyScene("the gate of E moves", moves),
    ]


def _zone(zones: ZoneMap, zone: int) -> tuple[Any, Any]:
    return np.clip(zones.low[zone], 0.0, 1.0), np.clip(zones.high[zone], 0.0, 1.0)
